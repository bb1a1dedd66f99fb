/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/openapi.h"

#include "tests/unit/unit.h"

/* Both documents of the contract; the caller frees the text. */
static char *read_contract(void)
{
	static const char *const names[] = {
		VBD_SOURCE_DIR "/openapi.yaml", VBD_SOURCE_DIR "/openapi-extra.yaml"};
	size_t len = 0, bytes_max = 2 << 20;
	char *text = calloc(1, bytes_max);

	assert_non_null(text);
	for (size_t i = 0; i < 2; i++) {
		FILE *file = fopen(names[i], "r");

		assert_non_null(file);
		len += fread(text + len, 1, bytes_max - len - 1, file);
		assert_true(feof(file));
		(void)fclose(file);
	}
	return text;
}

/* A YAML list, perhaps behind "&anchor": "[a, b,\n c]", or lines of "- a" up to another line. */
static void read_values(const char *at, struct openapi_enum *list)
{
	static const char word[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	bool brackets;

	at += strspn(at, " \n");
	if (*at == '&')
		at += 1 + strspn(at + 1, word);
	at += strspn(at, " \n");
	brackets = *at == '[';
	at += brackets ? 1 : 0;
	for (;;) {
		size_t len;

		at += strspn(at, " ,\n");
		if (!brackets && *at == '-')
			at += 1 + strspn(at + 1, " ");
		else if (!brackets)
			return;
		len = strspn(at, word);
		if (len == 0)
			return;
		assert_true(list->count < OPENAPI_ENUM_MAX && len < sizeof(list->values[0]));
		memcpy(list->values[list->count++], at, len);
		at += len;
	}
}

/* The enum, or x-extensible-enum, below the schema, or below a property of the schema. */
static void read_enum(const char *schema, const char *property, struct openapi_enum *ret_enum)
{
	char *text = read_contract();
	const char *schemas = strstr(text, "\n  schemas:\n");
	char head[80];
	const char *at;

	memset(ret_enum, 0, sizeof(*ret_enum));
	(void)snprintf(head, sizeof(head), "\n    %s:", schema);
	assert_non_null(schemas);
	at = strstr(schemas, head);
	assert_non_null(at);
	if (property) {
		(void)snprintf(head, sizeof(head), " %s: {", property);
		at = strstr(at, head);
		assert_non_null(at);
	}
	at = strstr(at, "enum:");
	assert_non_null(at);
	read_values(at + strlen("enum:"), ret_enum);
	free(text);
	assert_true(ret_enum->count > 0);
}

void openapi_read_enum(const char *schema, struct openapi_enum *ret_enum)
{
	read_enum(schema, NULL, ret_enum);
}

void openapi_read_property_enum(
	const char *schema, const char *property, struct openapi_enum *ret_enum)
{
	read_enum(schema, property, ret_enum);
}

/* The lines below "properties:" of the schema; the caller frees @ret_contract. */
static const char *find_properties(const char *schema, char **ret_contract)
{
	const char *schemas, *at;
	char head[80];

	*ret_contract = read_contract();
	schemas = strstr(*ret_contract, "\n  schemas:\n");
	assert_non_null(schemas);
	(void)snprintf(head, sizeof(head), "\n    %s:\n", schema);
	at = strstr(schemas, head);
	assert_non_null(at);
	at = strstr(at, "\n      properties:");
	assert_non_null(at);
	return strchr(at + 1, '\n') + 1;
}

#define INDENT "        "

void openapi_read_properties(const char *schema, struct openapi_enum *ret_names)
{
	char *contract;
	const char *at = find_properties(schema, &contract);

	memset(ret_names, 0, sizeof(*ret_names));
	for (; strncmp(at, INDENT, strlen(INDENT)) == 0; at = strchr(at, '\n') + 1) {
		const char *name = at + strlen(INDENT);
		size_t len = strcspn(name, ":\n");

		if (*name == ' ')
			continue;
		assert_true(
			ret_names->count < OPENAPI_ENUM_MAX && len < sizeof(ret_names->values[0]));
		memcpy(ret_names->values[ret_names->count++], name, len);
	}
	free(contract);
}

/* The lines below that of the property, up to the next one, as one with commas. */
static void read_block(const char *at, char ret_text[OPENAPI_PROPERTY_BYTES])
{
	size_t used = 0;

	while (strncmp(at, INDENT "  ", strlen(INDENT "  ")) == 0) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, "\n");
		if (used + len + 2 > OPENAPI_PROPERTY_BYTES)
			break;
		memcpy(ret_text + used, at, len);
		used += len;
		ret_text[used++] = ',';
		at += len + 1;
	}
	ret_text[used] = '\0';
}

void openapi_read_property(
	const char *schema, const char *property, char ret_text[OPENAPI_PROPERTY_BYTES])
{
	char *contract;
	const char *at = find_properties(schema, &contract);
	char head[80];

	(void)snprintf(head, sizeof(head), INDENT "%s:", property);
	at = strstr(at, head);
	assert_non_null(at);
	at += strlen(head);
	if (*at == '\n')
		read_block(at + 1, ret_text);
	else
		(void)snprintf(ret_text, OPENAPI_PROPERTY_BYTES, "%.*s,",
			(int)strcspn(at + strlen(" {"), "\n") - 1, at + strlen(" {"));
	free(contract);
}

bool openapi_enum_has(const struct openapi_enum *list, const char *value)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->values[i], value) == 0)
			return true;
	}
	return false;
}

/* The member is on the line of its type, or on the line before. */
static void name_of_line(const char *line, const char *before, char ret_name[64])
{
	const bool own = strstr(line, ": {$ref") || strstr(line, ": {anyOf: [{$ref");
	const char *from = own ? line : before;

	from += strspn(from, " ");
	(void)snprintf(ret_name, 64, "%.*s", (int)strcspn(from, ":"), from);
}

void openapi_each_ref(void (*each)(const char *schema, const char *member, void *arg), void *arg)
{
	char *text = read_contract();
	char *rest = text, *line, *before = text;
	char schema[64] = "", member[64];

	while ((line = strsep(&rest, "\n"))) {
		if (strspn(line, " ") == 4 && line[strlen(line) - 1] == ':')
			name_of_line(line, line, schema);
		if (strstr(line, "#/components/schemas/Ref'")) {
			name_of_line(line, before, member);
			each(schema, member, arg);
		}
		before = line;
	}
	free(text);
}
