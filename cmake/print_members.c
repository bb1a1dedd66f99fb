/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: print_members openapi.yaml…
 * Prints C tables of the members of the objects that lists have: their names, nested with dots,
 * whether the short form of the object has them, and the least role that sees them: `x-role` of
 * the member, or `read`. The lists are those of objects whose schema has `x-short`, the names of
 * the members of the short form. What a schema takes from another file is left out.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define PATH_MAX_BYTES 256
#define DEPTH_MAX      6

static yaml_document_t document;

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "print_members: %s: %s\n", what, name);
	exit(1);
}

static const char *text_of(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static yaml_node_t *member_of(const yaml_node_t *node, const char *name)
{
	if (!node || node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top; pair++) {
		if (strcmp(text_of(yaml_document_get_node(&document, pair->key)), name) == 0)
			return yaml_document_get_node(&document, pair->value);
	}
	return NULL;
}

/* Follow `$ref: '#/a/b'`. */
static yaml_node_t *resolve(yaml_node_t *node)
{
	const yaml_node_t *ref = member_of(node, "$ref");
	yaml_node_t *at = yaml_document_get_root_node(&document);
	char pointer[PATH_MAX_BYTES];

	if (!ref)
		return node;
	if (*text_of(ref) != '#')
		return NULL;
	(void)snprintf(pointer, sizeof(pointer), "%s", text_of(ref));
	for (char *part = strtok(pointer + 2, "/"); part && at; part = strtok(NULL, "/"))
		at = member_of(at, part);
	if (!at)
		fail("no such schema", text_of(ref));
	return resolve(at);
}

static void print_members(
	yaml_node_t *schema, const char *prefix, const yaml_node_t *brief, int depth);

/* "operate" -> "VBD_ROLE_OPERATE" */
static void print_role(const yaml_node_t *schema)
{
	const char *role = text_of(member_of(schema, "x-role"));

	printf("VBD_ROLE_");
	for (const char *at = *role ? role : "read"; *at; at++)
		putchar(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
}

static bool has_text(const yaml_node_t *list, const char *text)
{
	if (!list || list->type != YAML_SEQUENCE_NODE)
		return false;
	for (yaml_node_item_t *item = list->data.sequence.items.start;
		item < list->data.sequence.items.top; item++) {
		if (strcmp(text_of(yaml_document_get_node(&document, *item)), text) == 0)
			return true;
	}
	return false;
}

static void print_member(yaml_node_t *schema, const char *prefix, const char *name,
	const yaml_node_t *brief, int depth)
{
	char path[PATH_MAX_BYTES];

	(void)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name);
	printf("\t{\"%s\", %s, ", path, has_text(brief, name) ? "true" : "false");
	print_role(schema);
	printf("},\n");
	print_members(schema, path, NULL, depth + 1);
}

/* The members of all alternatives of `anyOf`, `oneOf` and `allOf`. */
static void print_alternatives(yaml_node_t *schema, const char *prefix, int depth)
{
	static const char *const words[] = {"anyOf", "oneOf", "allOf"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const yaml_node_t *list = member_of(schema, words[i]);

		if (!list || list->type != YAML_SEQUENCE_NODE)
			continue;
		for (yaml_node_item_t *item = list->data.sequence.items.start;
			item < list->data.sequence.items.top; item++)
			print_members(
				yaml_document_get_node(&document, *item), prefix, NULL, depth);
	}
}

static void print_members(
	yaml_node_t *schema, const char *prefix, const yaml_node_t *brief, int depth)
{
	const yaml_node_t *properties;
	yaml_node_t *any;

	schema = resolve(schema);
	if (!schema || depth > DEPTH_MAX)
		return;
	properties = member_of(schema, "properties");
	for (yaml_node_pair_t *pair = properties ? properties->data.mapping.pairs.start : NULL;
		pair && pair < properties->data.mapping.pairs.top; pair++)
		print_member(yaml_document_get_node(&document, pair->value), prefix,
			text_of(yaml_document_get_node(&document, pair->key)), brief, depth);
	any = member_of(schema, "additionalProperties");
	if (any && any->type == YAML_MAPPING_NODE)
		print_member(any, prefix, "*", NULL, depth);
	print_members(member_of(schema, "items"), prefix, NULL, depth);
	print_alternatives(schema, prefix, depth);
}

/* "UdPeer" -> "ud_peer" */
static void print_snake(const char *name)
{
	for (const char *at = name; *at; at++) {
		bool upper = *at >= 'A' && *at <= 'Z';

		if (upper && at > name)
			putchar('_');
		putchar(upper ? *at - 'A' + 'a' : *at);
	}
}

static void print_table(const char *kind, yaml_node_t *schema)
{
	printf("const struct vbd_member vbd_");
	print_snake(kind);
	printf("_members[] = {\n");
	print_members(schema, "", member_of(schema, "x-short"), 0);
	printf("\t{NULL, false, VBD_ROLE_NONE},\n};\n\n");
}

/* If the operation is a list of objects, print their members. */
static void print_operation(const yaml_node_t *operation)
{
	static const char *const way[] = {"responses", "200", "content", "application/json",
		"schema", "properties", "items", "items"};
	yaml_node_t *at = (yaml_node_t *)operation;
	yaml_node_t *schema;

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++)
		at = member_of(at, way[i]);
	schema = member_of(at, "$ref") ? resolve(at) : NULL;
	if (member_of(schema, "x-short"))
		print_table(strrchr(text_of(member_of(at, "$ref")), '/') + 1, schema);
}

static void print_file(const char *name)
{
	FILE *file = fopen(name, "r");
	const yaml_node_t *paths;
	yaml_parser_t parser;

	if (!file || !yaml_parser_initialize(&parser))
		fail("can't read", name);
	yaml_parser_set_input_file(&parser, file);
	if (!yaml_parser_load(&parser, &document))
		fail("no YAML", name);
	paths = member_of(yaml_document_get_root_node(&document), "paths");
	if (!paths)
		fail("no paths", name);
	for (yaml_node_pair_t *pair = paths->data.mapping.pairs.start;
		pair < paths->data.mapping.pairs.top; pair++)
		print_operation(member_of(yaml_document_get_node(&document, pair->value), "get"));
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	(void)fclose(file);
}

int main(int argc, char **argv)
{
	printf("/* Printed by print_members from the contract. */\n"
	       "#include \"api/core/task.h\"\n\n");
	for (int i = 1; i < argc; i++)
		print_file(argv[i]);
	return 0;
}
