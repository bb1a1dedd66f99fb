/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the configuration file, as JSON. */
#include "daemon/config/config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static char folder[SCRATCH_PATH_BYTES];

static enum vbd_status load(
	const char *text, struct vbd_config_specs *ret_specs, struct vbd_error *err)
{
	static struct vbd_config config;
	char path[SCRATCH_PATH_BYTES + 16];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/verbsd.yaml", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	vbd_config_init(&config);
	return vbd_config_load(&config, path, ret_specs, err);
}

static struct vbd_config_specs loaded(const char *text)
{
	struct vbd_config_specs specs = {0};
	struct vbd_error err = {0};

	if (load(text, &specs, &err) != VBD_OK)
		fail_msg("%s", err.text);
	return specs;
}

/* @text: the end of the error's, behind the name of the file */
static void refuse(const char *yaml, enum vbd_status status, const char *key, const char *text)
{
	struct vbd_config_specs specs = {.count = 7};
	struct vbd_error err = {0};
	const char *found;

	assert_int_equal(load(yaml, &specs, &err), status);
	assert_int_equal(specs.count, 7);
	assert_string_equal(err.pointer, key);
	found = strstr(err.text, "verbsd.yaml:");
	assert_non_null(found);
	assert_string_equal(found + strlen("verbsd.yaml:"), text);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

#define SPECS_TEST(name) TEST_WITH(name, void *no_fixture, setup, teardown)

SPECS_TEST(test_specs__each_item_is_of_its_list_and_line)
{
	struct vbd_config_specs specs =
		loaded("connections:\n- name: c\nworkers: 2\nlisteners:\n- name: a\n-\n  name: b\n"
		       "buffers:\n");

	assert_int_equal(specs.count, 3);
	assert_string_equal(specs.items[0].list, "connections");
	assert_int_equal(specs.items[0].line, 2);
	assert_string_equal(specs.items[0].body, "{\"name\":\"c\"}");
	assert_string_equal(specs.items[1].list, "listeners");
	assert_int_equal(specs.items[1].line, 5);
	assert_int_equal(specs.items[2].line, 7);
	assert_string_equal(specs.items[2].body, "{\"name\":\"b\"}");
	assert_non_null(strstr(specs.path, "/verbsd.yaml"));
	vbd_config_specs_fini(&specs);
	assert_int_equal(specs.count, 0);
	assert_null(specs.items);
}

SPECS_TEST(test_specs__a_file_without_lists_has_no_items)
{
	static const char *const files[] = {
		"", "# nothing\n", "workers: 2\n", "listeners:\nbuffers: []\n"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(files); i++) {
		struct vbd_config_specs specs = loaded(files[i]);

		assert_int_equal(specs.count, 0);
		vbd_config_specs_fini(&specs);
	}
}

SPECS_TEST(test_specs__values_become_those_of_json)
{
	static const struct {
		const char *yaml, *json;
	} rows[] = {
		{"a: 5", "\"a\":5"},
		{"a: 0", "\"a\":0"},
		{"a: -5", "\"a\":-5"},
		{"a: 05", "\"a\":\"05\""},
		{"a: 5x", "\"a\":\"5x\""},
		{"a: '-'", "\"a\":\"-\""},
		{"a: 1.5", "\"a\":\"1.5\""},
		{"a: '5'", "\"a\":\"5\""},
		{"a: \"true\"", "\"a\":\"true\""},
		{"a: true", "\"a\":true"},
		{"a: false", "\"a\":false"},
		{"a: null", "\"a\":null"},
		{"a: ~", "\"a\":null"},
		{"a:", "\"a\":null"},
		{"a: ''", "\"a\":\"\""},
		{"a: yes", "\"a\":\"yes\""},
		{"a: \"x\\\"y\\\\z\\x1f\\x01 \\u00e9\"",
			"\"a\":\"x\\\"y\\\\z\\u001F\\u0001 \u00e9\""},
		{"a: \"5\\0\"", "\"a\":\"5\\u0000\""},
		{"size_bytes: 4KiB", "\"size_bytes\":4096"},
		{"size_bytes: 4", "\"size_bytes\":4"},
		{"size_bytes: '4KiB'", "\"size_bytes\":\"4KiB\""},
		{"size_bytes: many", "\"size_bytes\":\"many\""},
		{"size: 4KiB", "\"size\":\"4KiB\""},
		{"_bytes: 4KiB", "\"_bytes\":\"4KiB\""},
		{"timeout_ms: 2s", "\"timeout_ms\":2000"},
		{"timeout_ms: soon", "\"timeout_ms\":\"soon\""},
		{"timeout: 2s", "\"timeout\":\"2s\""},
		{"sizes_bytes: [4KiB]", "\"sizes_bytes\":[\"4KiB\"]"},
		{"a: [1, two, [], {}]", "\"a\":[1,\"two\",[],{}]"},
		{"a: {b: 1, c_ms: 1s}", "\"a\":{\"b\":1,\"c_ms\":1000}"},
		{"'a\"b': 1", "\"a\\\"b\":1"},
	};
	char yaml[128], json[128];

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_config_specs specs;

		(void)snprintf(yaml, sizeof(yaml), "buffers:\n- %s\n", rows[i].yaml);
		(void)snprintf(json, sizeof(json), "{%s}", rows[i].json);
		specs = loaded(yaml);
		assert_int_equal(specs.count, 1);
		assert_string_equal(specs.items[0].body, json);
		vbd_config_specs_fini(&specs);
	}
}

SPECS_TEST(test_specs__what_is_no_list_of_mappings_is_refused)
{
	refuse("workers: 2\nlisteners: 5\n", VBD_E_WRONG_TYPE, "listeners",
		"2: listeners: needs a list");
	refuse("buffers: {a: 1}\n", VBD_E_WRONG_TYPE, "buffers", "1: buffers: needs a list");
	refuse("connections:\n- name: a\n- b\n", VBD_E_WRONG_TYPE, "connections",
		"3: connections: an item is a mapping of keys");
	refuse("buffers:\n- ? [a]\n  : 1\n", VBD_E_BAD_VALUE, "buffers",
		"2: buffers: a key is one text");
	refuse("buffers:\n- name: a\n  name: b\n", VBD_E_BAD_VALUE, "buffers.name",
		"3: buffers.name: is there already");
	/* The first fault ends the look. */
	refuse("buffers: 1\nlisteners: 2\n", VBD_E_WRONG_TYPE, "buffers",
		"1: buffers: needs a list");
}

/* An item that has @depth mappings or lists, one in the other. */
static void nest(char *yaml, int depth, const char *open, const char *close)
{
	strcpy(yaml, "buffers:\n- {a: ");
	for (int i = 1; i < depth; i++)
		strcat(yaml, open);
	strcat(yaml, "1");
	for (int i = 1; i < depth; i++)
		strcat(yaml, close);
	strcat(yaml, "}\n");
}

SPECS_TEST(test_specs__an_item_is_so_deep)
{
	static const char *const brackets[][2] = {{"{a: ", "}"}, {"[", "]"}};
	struct vbd_config_specs specs;
	char yaml[128];

	for (size_t i = 0; i < VBD_ARRAY_LEN(brackets); i++) {
		nest(yaml, 7, brackets[i][0], brackets[i][1]);
		specs = loaded(yaml);
		assert_int_equal(specs.count, 1);
		vbd_config_specs_fini(&specs);
		nest(yaml, 8, brackets[i][0], brackets[i][1]);
		refuse(yaml, VBD_E_BAD_VALUE, "buffers",
			"2: buffers: an item is too long or too deep");
	}
}

/* A part of the file that is referred to often makes a long item of a short file. */
SPECS_TEST(test_specs__an_item_is_so_long)
{
	static char yaml[8192];
	size_t used =
		(size_t)snprintf(yaml, sizeof(yaml), "buffers:\n- a: &text %0*d\n  b: [1", 2000, 0);

	for (int i = 0; i < 40; i++)
		used += (size_t)snprintf(yaml + used, sizeof(yaml) - used, ", *text");
	strcat(yaml, "]\n");
	refuse(yaml, VBD_E_BAD_VALUE, "buffers", "2: buffers: an item is too long or too deep");
}

SPECS_TEST(test_specs__there_are_so_many)
{
	static char yaml[32768];
	struct vbd_config_specs specs;
	size_t used = (size_t)snprintf(yaml, sizeof(yaml), "buffers:\n");

	for (int i = 0; i < VBD_SPECS_MAX; i++)
		used += (size_t)snprintf(yaml + used, sizeof(yaml) - used, "- {a: 1}\n");
	specs = loaded(yaml);
	assert_int_equal(specs.count, VBD_SPECS_MAX);
	vbd_config_specs_fini(&specs);
	(void)snprintf(yaml + used, sizeof(yaml) - used, "connections: [{}]\n");
	refuse(yaml, VBD_E_TOO_LONG, "connections",
		"1026: connections: listeners, buffers, connections and exports are more "
		"than 1024 together");
}
