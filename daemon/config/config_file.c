/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <jansson.h>

/* Aliases may repeat a part of the file, so the JSON of a list may be much longer than the file. */
#define BODY_MAX_BYTES ((size_t)64 * 1024)
#define DEPTH_MAX      8

/* A configuration while it is loaded. */
struct loading {
	struct vbd_config config;
	struct vbd_config_specs specs;
	const char *list; /* the list that is being read: VBD_SPEC_LISTENERS, etc. */
};

/* All of a section or a list may be commented out. */
static bool is_null_node(const yaml_node_t *node)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < VBD_ARRAY_LEN(words); i++) {
		if (strcmp((const char *)node->data.scalar.value, words[i]) == 0)
			return true;
	}
	return false;
}

/* In place of an alias libyaml gives the node that it names, which stands before @before. */
static bool is_alias(const yaml_node_t *node, const yaml_node_t *before)
{
	return node->start_mark.index < before->start_mark.index;
}

/* --- the keys -------------------------------------------------------------------------------- */

static enum vbd_status set_config_key(struct vbd_yaml *yaml, const yaml_node_t *node,
	struct vbd_config *config, const char *key, const char *value)
{
	struct vbd_error cause = {0};

	if (vbd_config_set(config, key, value, &cause) == VBD_OK)
		return VBD_OK;
	return vbd_yaml_refuse(yaml, node, cause.status, cause.pointer, "%s", cause.text);
}

static enum vbd_status refuse_value(struct vbd_yaml *yaml, const yaml_node_t *node,
	enum vbd_status status, const char *key, const char *reason)
{
	return vbd_yaml_refuse(yaml, node, status, key, "%s: %s", key, reason);
}

/* A list of texts while it is read. */
struct texts {
	struct vbd_config *config;
	const char *key;
	const yaml_node_t *list;
	char joined[4096]; /* by commas */
};

/* Set the list again with each further item, so that an error has the line of the item. */
static enum vbd_status set_list_item(struct vbd_yaml *yaml, const yaml_node_t *item, void *arg)
{
	struct texts *texts = arg;
	const char *text = vbd_yaml_text(item);
	size_t len = strlen(texts->joined);

	if (!text || is_alias(item, texts->list))
		return refuse_value(
			yaml, texts->list, VBD_E_BAD_VALUE, texts->key, "needs a list of texts");
	if (len + strlen(text) + 2 > sizeof(texts->joined))
		return refuse_value(yaml, item, VBD_E_TOO_LONG, texts->key, "too long");
	(void)snprintf(
		texts->joined + len, sizeof(texts->joined) - len, "%s%s", len ? "," : "", text);
	return set_config_key(yaml, item, texts->config, texts->key, texts->joined);
}

static enum vbd_status set_value(
	struct vbd_yaml *yaml, const yaml_node_t *node, struct vbd_config *config, const char *key)
{
	const struct vbd_config_key *found = vbd_config_find_key(key);
	const struct vbd_config_list *list = found ? found->list : NULL;
	bool must_be_list = list && !list->may_be_text;
	struct texts texts = {.config = config, .key = key, .list = node};
	enum vbd_status status;

	if (list && node->type == YAML_SEQUENCE_NODE) {
		status = set_config_key(yaml, node, config, key, "");
		return status ? status : vbd_yaml_each_item(yaml, node, key, set_list_item, &texts);
	}
	if (must_be_list && is_null_node(node))
		return VBD_OK;
	if (is_null_node(node))
		return refuse_value(
			yaml, node, VBD_E_BAD_VALUE, key, "has no value; \"\" is the empty one");
	if (must_be_list || (list && node->type != YAML_SCALAR_NODE))
		return vbd_yaml_refuse_shape(yaml, node, key, "a list");
	if (node->type != YAML_SCALAR_NODE)
		return vbd_yaml_refuse_shape(yaml, node, key, "one value");
	if (!vbd_yaml_text(node))
		return refuse_value(yaml, node, VBD_E_BAD_VALUE, key, "has a NUL");
	return set_config_key(yaml, node, config, key, vbd_yaml_text(node));
}

/* --- the lists of objects -------------------------------------------------------------------- */

/* A mapping or a list of an item while it is read. */
struct level {
	json_t *json;	    /* an object or an array */
	const char *path;   /* key of the list of the item */
	int depth;	    /* levels that may be below this one */
	size_t *left_bytes; /* about so much JSON the item may still have */
};

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/* @name: of the member whose value it is; "" for an item of a list. */
static json_t *scalar_json(const yaml_node_t *node, const char *name)
{
	const char *text = (const char *)node->data.scalar.value;
	size_t len = node->data.scalar.length;
	uint64_t number;
	json_t *json;

	if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || strlen(text) != len)
		return json_stringn(text, len);
	if (!text[0] || strcmp(text, "~") == 0)
		return json_null();
	if (ends_with(name, "_bytes") && vbd_parse_size(text, &number))
		return json_integer((json_int_t)number);
	if (ends_with(name, "_ms") && vbd_parse_duration(text, "ms", &number))
		return json_integer((json_int_t)number);
	json = json_loads(text, JSON_DECODE_ANY, NULL); /* a number or a word of JSON */
	if (json && !json_is_real(json))
		return json;
	json_decref(json);
	return json_string(text);
}

static enum vbd_status add_json_pair(
	struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *level);
static enum vbd_status add_json_item(struct vbd_yaml *yaml, const yaml_node_t *item, void *level);

/* Adds the JSON of a node to that of @above. */
static enum vbd_status add_json_node(
	struct vbd_yaml *yaml, const yaml_node_t *node, const char *name, const struct level *above)
{
	struct level level = {
		.path = above->path, .depth = above->depth - 1, .left_bytes = above->left_bytes};
	size_t bytes = node->type == YAML_SCALAR_NODE ? node->data.scalar.length + 4 : 4;
	int rc;

	if (level.depth < 0 || bytes > *level.left_bytes)
		return refuse_value(
			yaml, node, VBD_E_BAD_VALUE, level.path, "an item is too long or too deep");
	*level.left_bytes -= bytes;
	level.json = node->type == YAML_SCALAR_NODE    ? scalar_json(node, name)
		     : node->type == YAML_MAPPING_NODE ? json_object()
						       : json_array();
	rc = json_is_array(above->json) ? json_array_append_new(above->json, level.json)
					: json_object_set_new(above->json, name, level.json);
	if (rc != 0)
		return refuse_value(yaml, node, VBD_E_NO_MEMORY, level.path, "no memory");
	if (node->type == YAML_MAPPING_NODE)
		return vbd_yaml_each_pair(yaml, node, level.path, add_json_pair, &level);
	if (node->type == YAML_SEQUENCE_NODE)
		return vbd_yaml_each_item(yaml, node, level.path, add_json_item, &level);
	return VBD_OK;
}

static enum vbd_status add_json_pair(
	struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *level)
{
	return add_json_node(yaml, pair->value, pair->name, level);
}

static enum vbd_status add_json_item(struct vbd_yaml *yaml, const yaml_node_t *item, void *level)
{
	return add_json_node(yaml, item, "", level);
}

static enum vbd_status add_spec(struct vbd_yaml *yaml, const yaml_node_t *node, void *arg)
{
	struct loading *loading = arg;
	struct vbd_config_specs *specs = &loading->specs;
	size_t left_bytes = BODY_MAX_BYTES;
	const struct level level = {.json = json_array(),
		.path = loading->list,
		.depth = DEPTH_MAX,
		.left_bytes = &left_bytes};
	struct vbd_config_spec *items =
		reallocarray(specs->items, specs->count + 1, sizeof(*items));
	struct vbd_config_spec spec = {
		.list = loading->list, .line = (unsigned int)node->start_mark.line + 1};
	enum vbd_status status;

	specs->items = items ? items : specs->items;
	if (node->type != YAML_MAPPING_NODE)
		status = refuse_value(yaml, node, VBD_E_WRONG_TYPE, loading->list,
			"an item is a mapping of keys");
	else if (specs->count == VBD_SPECS_MAX)
		status = refuse_value(yaml, node, VBD_E_TOO_LONG, loading->list,
			"listeners, buffers, connections and exports are more than 1024 together");
	else
		status = add_json_node(yaml, node, "", &level);
	if (status == VBD_OK)
		spec.body = json_dumps(json_array_get(level.json, 0), JSON_COMPACT);
	json_decref(level.json);
	if (status == VBD_OK && (!items || !spec.body)) {
		free(spec.body);
		status = refuse_value(yaml, node, VBD_E_NO_MEMORY, loading->list, "no memory");
	}
	if (status == VBD_OK)
		items[specs->count++] = spec;
	return status;
}

static enum vbd_status read_spec_list(
	struct vbd_yaml *yaml, const yaml_node_t *list, struct loading *loading)
{
	/* All of a list may be commented out. */
	if (list->type == YAML_SCALAR_NODE && list->data.scalar.length == 0)
		return VBD_OK;
	if (list->type != YAML_SEQUENCE_NODE)
		return refuse_value(yaml, list, VBD_E_WRONG_TYPE, loading->list, "needs a list");
	return vbd_yaml_each_item(yaml, list, loading->list, add_spec, loading);
}

/* --- the file -------------------------------------------------------------------------------- */

static bool is_section(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < vbd_config_key_count; i++) {
		const char *key = vbd_config_keys[i].name;

		if (strncmp(key, name, len) == 0 && key[len] == '.')
			return true;
	}
	return false;
}

/* The name of a list of objects in VBD_SPEC_LISTENERS, etc.; NULL for another key. */
static const char *spec_list_name(const char *name)
{
	static const char *const lists[] = {
		VBD_SPEC_LISTENERS, VBD_SPEC_BUFFERS, VBD_SPEC_CONNECTIONS, VBD_SPEC_EXPORTS};

	for (size_t i = 0; i < VBD_ARRAY_LEN(lists); i++) {
		if (strcmp(name, lists[i]) == 0)
			return lists[i];
	}
	return NULL;
}

static enum vbd_status read_pair(struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *arg)
{
	struct loading *loading = arg;
	bool at_top = strcmp(pair->name, pair->path) == 0;

	loading->list = at_top ? spec_list_name(pair->name) : NULL;
	if (loading->list)
		return read_spec_list(yaml, pair->value, loading);
	if (is_alias(pair->value, pair->key))
		return refuse_value(
			yaml, pair->key, VBD_E_BAD_VALUE, pair->path, "aliases are not allowed");
	if (!at_top || !is_section(pair->name))
		return set_value(yaml, pair->value, &loading->config, pair->path);
	if (is_null_node(pair->value))
		return VBD_OK;
	return vbd_yaml_each_pair(yaml, pair->value, pair->name, read_pair, loading);
}

enum vbd_status vbd_config_load(struct vbd_config *config, const char *path,
	struct vbd_config_specs *ret_specs, struct vbd_error *err)
{
	struct vbd_yaml yaml = {.path = path, .key = "", .err = err};
	struct loading loading = {.config = *config};
	enum vbd_status status = vbd_yaml_load(&yaml);
	const yaml_node_t *root;

	if (status != VBD_OK)
		return status;
	(void)snprintf(loading.specs.path, sizeof(loading.specs.path), "%s", path);
	root = yaml_document_get_root_node(&yaml.document);
	if (root && !is_null_node(root))
		status = vbd_yaml_each_pair(&yaml, root, "", read_pair, &loading);
	yaml_document_delete(&yaml.document);
	if (status != VBD_OK) {
		vbd_config_specs_fini(&loading.specs);
		return status;
	}
	*config = loading.config;
	*ret_specs = loading.specs;
	return VBD_OK;
}

void vbd_config_specs_fini(struct vbd_config_specs *specs)
{
	for (size_t i = 0; i < specs->count; i++)
		free(specs->items[i].body);
	free(specs->items);
	*specs = (struct vbd_config_specs){0};
}
