/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "base/text.h"
#include "daemon/config/config_parts.h"
#include "daemon/config/config_yaml.h"
#include "daemon/config/specs.h"

struct reader {
	const char *path;
	yaml_document_t document;
	struct vbd_config *config;
	struct vbd_error *err;
};

static enum vbd_status refuse(
	struct reader *reader, const yaml_node_t *node, const struct vbd_error *cause)
{
	return vbd_error_input(reader->err, cause->status, cause->pointer, "%s:%zu: %s",
		vbd_text_path(reader->path).text, node->start_mark.line + 1, cause->text);
}

static enum vbd_status refuse_value(struct reader *reader, const yaml_node_t *node,
	enum vbd_status status, const char *key, const char *what)
{
	struct vbd_error cause = {0};

	(void)vbd_error_input(&cause, status, key, "%s: %s", key[0] ? key : "the file", what);
	return refuse(reader, node, &cause);
}

static enum vbd_status refuse_shape(
	struct reader *reader, const yaml_node_t *node, const char *key, const char *wanted)
{
	char what[80];

	(void)snprintf(what, sizeof(what), "needs %s, not %s", wanted,
		node->type == YAML_SEQUENCE_NODE  ? "a list"
		: node->type == YAML_MAPPING_NODE ? "a mapping of keys"
						  : "one value");
	return refuse_value(reader, node, VBD_E_BAD_VALUE, key, what);
}

static yaml_node_t *node_of(struct reader *reader, int index)
{
	return yaml_document_get_node(&reader->document, index);
}

/* All of a section or a list may be commented out. */
static bool is_nothing(const yaml_node_t *node)
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

/* An alias is the node that it names, which stands before it. */
static bool is_alias(const yaml_node_t *node, const yaml_node_t *before)
{
	return node->start_mark.index < before->start_mark.index;
}

/* --- values ---------------------------------------------------------------------------------- */

static enum vbd_status set(
	struct reader *reader, const yaml_node_t *node, const char *key, const char *value)
{
	struct vbd_error cause = {0};

	if (vbd_config_set(reader->config, key, value, &cause) == VBD_OK)
		return VBD_OK;
	return refuse(reader, node, &cause);
}

/* The list is set once more with each of its items, so that an error has the line of its item. */
static enum vbd_status set_list(struct reader *reader, const yaml_node_t *list, const char *key)
{
	char joined[4096] = "";
	size_t len = 0;
	enum vbd_status status = set(reader, list, key, "");

	for (yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top && status == VBD_OK; item++) {
		const yaml_node_t *node = node_of(reader, *item);
		const char *text = vbd_yaml_text(node);

		if (!text || is_alias(node, list))
			return refuse_value(
				reader, list, VBD_E_BAD_VALUE, key, "needs a list of texts");
		if (len + strlen(text) + 2 > sizeof(joined))
			return refuse_value(reader, node, VBD_E_TOO_LONG, key, "too long");
		len += (size_t)snprintf(
			joined + len, sizeof(joined) - len, "%s%s", len ? "," : "", text);
		status = set(reader, node, key, joined);
	}
	return status;
}

static enum vbd_status set_value(struct reader *reader, const yaml_node_t *node, const char *key)
{
	enum vbd_config_kind kind = vbd_config_kind_of(key);
	bool may_be_list = kind == VBD_CONFIG_HOSTS || kind == VBD_CONFIG_LISTEN;

	if (may_be_list && node->type == YAML_SEQUENCE_NODE)
		return set_list(reader, node, key);
	if (kind == VBD_CONFIG_HOSTS && is_nothing(node))
		return VBD_OK;
	if (is_nothing(node))
		return refuse_value(
			reader, node, VBD_E_BAD_VALUE, key, "has no value; \"\" is the empty one");
	if (kind == VBD_CONFIG_HOSTS || (may_be_list && node->type != YAML_SCALAR_NODE))
		return refuse_shape(reader, node, key, "a list");
	if (node->type != YAML_SCALAR_NODE)
		return refuse_shape(reader, node, key, "one value");
	if (!vbd_yaml_text(node))
		return refuse_value(reader, node, VBD_E_BAD_VALUE, key, "has a NUL");
	return set(reader, node, key, vbd_yaml_text(node));
}

/* --- mappings -------------------------------------------------------------------------------- */

static bool is_section(const char *name)
{
	for (enum vbd_config_section at = VBD_CONFIG_TOP + 1; at < VBD_CONFIG_SECTION_COUNT; at++) {
		if (strcmp(name, vbd_config_section_name(at)) == 0)
			return true;
	}
	return false;
}

/* specs.c reads these lists. */
static bool is_spec(const char *name)
{
	return strcmp(name, VBD_SPEC_LISTENERS) == 0 || strcmp(name, VBD_SPEC_BUFFERS) == 0 ||
	       strcmp(name, VBD_SPEC_CONNECTIONS) == 0;
}

static enum vbd_status set_pairs(
	struct reader *reader, const yaml_node_t *mapping, const char *section);

static enum vbd_status set_pair(struct reader *reader, const yaml_node_t *mapping,
	const yaml_node_pair_t *pair, const char *section)
{
	const yaml_node_t *key = node_of(reader, pair->key);
	const yaml_node_t *value = node_of(reader, pair->value);
	const char *name = vbd_yaml_text(key);
	char whole[120];

	if (!name)
		return refuse_value(reader, key, VBD_E_BAD_VALUE, section, "a key is one text");
	(void)snprintf(whole, sizeof(whole), "%s%s%s", section, *section ? "." : "", name);
	if (vbd_yaml_is_repeated(&reader->document, mapping, pair))
		return refuse_value(reader, key, VBD_E_BAD_VALUE, whole, "is there already");
	if (!*section && is_spec(name))
		return VBD_OK;
	if (is_alias(value, key))
		return refuse_value(reader, key, VBD_E_BAD_VALUE, whole, "aliases are not allowed");
	return !*section && is_section(name) ? set_pairs(reader, value, name)
					     : set_value(reader, value, whole);
}

static enum vbd_status set_pairs(
	struct reader *reader, const yaml_node_t *mapping, const char *section)
{
	enum vbd_status status = VBD_OK;

	if (is_nothing(mapping))
		return VBD_OK;
	if (mapping->type != YAML_MAPPING_NODE)
		return refuse_shape(reader, mapping, section, "a mapping of keys");
	for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
		pair < mapping->data.mapping.pairs.top && status == VBD_OK; pair++)
		status = set_pair(reader, mapping, pair, section);
	return status;
}

enum vbd_status vbd_config_load(struct vbd_config *config, const char *path, struct vbd_error *err)
{
	struct vbd_config changed = *config;
	struct reader reader = {.path = path, .config = &changed, .err = err};
	enum vbd_status status = vbd_config_load_yaml(path, &reader.document, err);
	const yaml_node_t *root;

	if (status != VBD_OK)
		return status;
	root = yaml_document_get_root_node(&reader.document);
	status = root ? set_pairs(&reader, root, "") : VBD_OK;
	yaml_document_delete(&reader.document);
	if (status == VBD_OK)
		*config = changed;
	return status;
}
