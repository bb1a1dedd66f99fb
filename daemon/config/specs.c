/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/specs.h"

#include "base/text.h"
#include "daemon/config/config_yaml.h"

#include <ctype.h>

/* A list may refer to one part of the file often, so that its JSON would be much longer. */
#define BODY_MAX_BYTES (64 * 1024)
#define DEPTH_MAX      8

struct reader {
	const char *path;
	yaml_document_t document;
	struct vbd_config_specs specs;
	struct vbd_error *err;
};

static enum vbd_status refuse(struct reader *reader, const yaml_node_t *node, const char *key,
	enum vbd_status status, const char *what)
{
	return vbd_error_input(reader->err, status, key, "%s:%zu: %s: %s",
		vbd_text_path(reader->path).text, node->start_mark.line + 1, key, what);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const unsigned char *text, size_t len)
{
	(void)fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			(void)fprintf(out, "\\%c", text[i]);
		else if (text[i] < 0x20)
			(void)fprintf(out, "\\u%04x", text[i]);
		else
			(void)fputc(text[i], out);
	}
	(void)fputc('"', out);
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

static bool is_integer(const char *text)
{
	const char *digits = text + (text[0] == '-');
	size_t len = strlen(digits);

	return len > 0 && strspn(digits, "0123456789") == len && (digits[0] != '0' || len == 1);
}

static bool is_word(const char *text)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* @key: of the member whose value it is; "" for an item of a list. */
static void put_scalar(FILE *out, const yaml_node_t *node, const char *key)
{
	const char *text = (const char *)node->data.scalar.value;
	size_t len = node->data.scalar.length;
	uint64_t number;

	if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || strlen(text) != len)
		put_text(out, node->data.scalar.value, len);
	else if (is_integer(text) || is_word(text))
		(void)fputs(text, out);
	else if (!text[0] || strcmp(text, "~") == 0)
		(void)fputs("null", out);
	else if (ends_with(key, "_bytes") && vbd_parse_size(text, &number))
		(void)fprintf(out, "%llu", (unsigned long long)number);
	else if (ends_with(key, "_ms") && vbd_parse_duration(text, "ms", &number))
		(void)fprintf(out, "%llu", (unsigned long long)number);
	else
		put_text(out, node->data.scalar.value, len);
}

static bool put_node(
	struct reader *reader, FILE *out, const yaml_node_t *node, const char *key, int depth);

static bool put_members(struct reader *reader, FILE *out, const yaml_node_t *node, int depth)
{
	bool fits = true;

	(void)fputc('{', out);
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top && fits; pair++) {
		const yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);

		if (name->type != YAML_SCALAR_NODE)
			return false;
		if (pair > node->data.mapping.pairs.start)
			(void)fputc(',', out);
		put_text(out, name->data.scalar.value, name->data.scalar.length);
		(void)fputc(':', out);
		fits = put_node(reader, out, yaml_document_get_node(&reader->document, pair->value),
			(const char *)name->data.scalar.value, depth);
	}
	(void)fputc('}', out);
	return fits;
}

static bool put_items(struct reader *reader, FILE *out, const yaml_node_t *node, int depth)
{
	bool fits = true;

	(void)fputc('[', out);
	for (yaml_node_item_t *item = node->data.sequence.items.start;
		item < node->data.sequence.items.top && fits; item++) {
		if (item > node->data.sequence.items.start)
			(void)fputc(',', out);
		fits = put_node(
			reader, out, yaml_document_get_node(&reader->document, *item), "", depth);
	}
	(void)fputc(']', out);
	return fits;
}

/* False if it is too deep or too long, or a key is no text. */
static bool put_node(
	struct reader *reader, FILE *out, const yaml_node_t *node, const char *key, int depth)
{
	if (depth == 0 || ftell(out) > BODY_MAX_BYTES)
		return false;
	if (node->type == YAML_MAPPING_NODE)
		return put_members(reader, out, node, depth - 1);
	if (node->type == YAML_SEQUENCE_NODE)
		return put_items(reader, out, node, depth - 1);
	put_scalar(out, node, key);
	return true;
}

/* --- the lists ------------------------------------------------------------------------------- */

static struct vbd_config_spec *add(struct vbd_config_specs *specs)
{
	struct vbd_config_spec *items =
		reallocarray(specs->items, specs->count + 1, sizeof(specs->items[0]));

	if (!items)
		return NULL;
	specs->items = items;
	items[specs->count] = (struct vbd_config_spec){0};
	return &items[specs->count++];
}

static enum vbd_status read_item(struct reader *reader, const char *list, const yaml_node_t *node)
{
	struct vbd_config_spec *spec;
	size_t bytes = 0;
	FILE *out;
	bool fits;

	if (node->type != YAML_MAPPING_NODE)
		return refuse(reader, node, list, VBD_E_WRONG_TYPE, "an item is a mapping of keys");
	if (reader->specs.count == VBD_SPECS_MAX)
		return refuse(reader, node, list, VBD_E_TOO_LONG,
			"listeners, buffers and connections are more than 1024 together");
	spec = add(&reader->specs);
	out = spec ? open_memstream(&spec->body, &bytes) : NULL;
	if (!out)
		return refuse(reader, node, list, VBD_E_NO_MEMORY, "no memory");
	spec->list = list;
	spec->line = (unsigned int)node->start_mark.line + 1;
	fits = put_node(reader, out, node, "", DEPTH_MAX);
	if (fclose(out) != 0 || !spec->body)
		return refuse(reader, node, list, VBD_E_NO_MEMORY, "no memory");
	return fits ? VBD_OK
		    : refuse(reader, node, list, VBD_E_BAD_VALUE,
			      "an item is too long or too deep");
}

static enum vbd_status read_list(struct reader *reader, const char *list, const yaml_node_t *node)
{
	enum vbd_status status = VBD_OK;

	/* All of it may be commented out. */
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return VBD_OK;
	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(reader, node, list, VBD_E_WRONG_TYPE, "needs a list");
	for (yaml_node_item_t *item = node->data.sequence.items.start;
		item < node->data.sequence.items.top && status == VBD_OK; item++)
		status = read_item(reader, list, yaml_document_get_node(&reader->document, *item));
	return status;
}

static enum vbd_status read_lists(struct reader *reader)
{
	static const char *const lists[] = {
		VBD_SPEC_LISTENERS, VBD_SPEC_BUFFERS, VBD_SPEC_CONNECTIONS};
	yaml_node_t *root = yaml_document_get_root_node(&reader->document);
	enum vbd_status status = VBD_OK;

	if (!root || root->type != YAML_MAPPING_NODE)
		return VBD_OK;
	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
		pair < root->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);

		for (size_t i = 0; i < VBD_ARRAY_LEN(lists) && status == VBD_OK; i++) {
			if (key->type == YAML_SCALAR_NODE &&
				strcmp((const char *)key->data.scalar.value, lists[i]) == 0)
				status = read_list(reader, lists[i],
					yaml_document_get_node(&reader->document, pair->value));
		}
	}
	return status;
}

enum vbd_status vbd_config_specs_load(
	const char *path, struct vbd_config_specs *ret_specs, struct vbd_error *err)
{
	struct reader reader = {.path = path, .err = err};
	enum vbd_status status = vbd_config_load_yaml(path, &reader.document, err);

	if (status != VBD_OK)
		return status;
	(void)snprintf(reader.specs.path, sizeof(reader.specs.path), "%s", path);
	status = read_lists(&reader);
	yaml_document_delete(&reader.document);
	if (status == VBD_OK)
		*ret_specs = reader.specs;
	else
		vbd_config_specs_fini(&reader.specs);
	return status;
}

void vbd_config_specs_fini(struct vbd_config_specs *specs)
{
	for (size_t i = 0; i < specs->count; i++)
		free(specs->items[i].body);
	free(specs->items);
	*specs = (struct vbd_config_specs){0};
}
