/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/decode.h"
#include "api/json/parse.h"

#include "base/text.h"
#include "daemon/core/registry.h"
#include "tests/unit/unit.h"

struct inner {
	uint64_t addr;
	uint32_t key;
};

struct outer {
	const char *name;
	char text[5];
	uint8_t small;
	uint16_t port;
	uint32_t depth;
	uint64_t big;
	bool on;
	uint32_t colour;
	uint8_t colours;
	struct vbd_json_ref ref;
	struct inner inner;
	bool inner_seen;
};

static const char *const colour_names[] = {"red", NULL, "blue"};

static const struct vbd_field inner_fields[] = {
	{.name = "addr",
		.type = VBD_FIELD_HEX,
		.required = true,
		VBD_FIELD_AT(struct inner, addr),
		.max = UINT64_MAX},
	{.name = "key", .type = VBD_FIELD_HEX, VBD_FIELD_AT(struct inner, key), .max = UINT32_MAX},
};

static const struct vbd_field outer_fields[] = {
	{.name = "name",
		.type = VBD_FIELD_STRING,
		VBD_FIELD_AT(struct outer, name),
		.min = 1,
		.max = 5,
		.check = vbd_name_valid,
		.check_text = VBD_NAME_RULE},
	{.name = "text", .type = VBD_FIELD_TEXT, VBD_FIELD_AT(struct outer, text), .max = 4},
	{.name = "small", .type = VBD_FIELD_UINT, VBD_FIELD_AT(struct outer, small), .max = 255},
	{.name = "port",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct outer, port),
		.min = 1,
		.max = 65535},
	{.name = "depth",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct outer, depth),
		.max = UINT32_MAX},
	{.name = "big", .type = VBD_FIELD_UINT, VBD_FIELD_AT(struct outer, big), .max = INT64_MAX},
	{.name = "on", .type = VBD_FIELD_BOOL, VBD_FIELD_AT(struct outer, on)},
	{.name = "colour",
		.type = VBD_FIELD_ENUM,
		VBD_FIELD_AT(struct outer, colour),
		.names = colour_names,
		.n_names = VBD_ARRAY_LEN(colour_names)},
	{.name = "colours",
		.type = VBD_FIELD_ENUM_SET,
		VBD_FIELD_AT(struct outer, colours),
		.names = colour_names,
		.n_names = VBD_ARRAY_LEN(colour_names)},
	{.name = "ref", .type = VBD_FIELD_REF, VBD_FIELD_AT(struct outer, ref)},
	{.name = "in/n~er",
		.type = VBD_FIELD_OBJECT,
		VBD_FIELD_AT(struct outer, inner),
		.fields = inner_fields,
		.n_fields = VBD_ARRAY_LEN(inner_fields),
		VBD_FIELD_SEEN(struct outer, inner_seen)},
};

static json_t *parse(const char *text)
{
	json_t *json = NULL;

	assert_int_equal(vbd_json_parse(text, strlen(text), &json, NULL), VBD_OK);
	return json;
}

static enum vbd_status decode(const char *text, struct outer *outer, struct vbd_error *err)
{
	json_t *json = parse(text);
	enum vbd_status status = vbd_decode_at(json, VBD_FIELDS(outer_fields), "", outer, err);

	outer->name = NULL; /* points into the JSON that is freed next */
	outer->ref.name = NULL;
	json_decref(json);
	return status;
}

static void refused(const char *text, enum vbd_status status, const char *pointer, const char *says)
{
	struct outer outer = {0};
	struct vbd_error err = {0};

	assert_int_equal(decode(text, &outer, &err), status);
	assert_int_equal(err.status, status);
	assert_string_equal(err.pointer, pointer);
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

TEST(test_decode__every_type_lands_in_its_field)
{
	json_t *json = parse("{\"name\":\"a.b-c\",\"text\":\"four\",\"small\":255,\"port\":7471,"
			     "\"depth\":4294967295,"
			     "\"big\":9223372036854775807,\"on\":true,\"colour\":\"blue\","
			     "\"colours\":[\"blue\",\"red\"],\"ref\":7,"
			     "\"in/n~er\":{\"addr\":\"0xffffffffffffffff\",\"key\":\"0x1a71\"}}");
	struct outer outer = {0};

	assert_int_equal(vbd_decode_at(json, VBD_FIELDS(outer_fields), "", &outer, NULL), VBD_OK);
	assert_string_equal(outer.name, "a.b-c");
	assert_string_equal(outer.text, "four");
	assert_int_equal(outer.small, 255);
	assert_int_equal(outer.port, 7471);
	assert_int_equal(outer.depth, UINT32_MAX);
	assert_true(outer.big == INT64_MAX);
	assert_true(outer.on);
	assert_int_equal(outer.colour, 2);
	assert_int_equal(outer.colours, 5);
	assert_true(outer.ref.id == 7);
	json_object_set_new(json, "ref", json_pack("{s:i, s:n}", "id", 8, "name"));
	json_object_set_new(json, "small", json_null());
	assert_int_equal(vbd_decode_at(json, VBD_FIELDS(outer_fields), "", &outer, NULL), VBD_OK);
	assert_true(outer.ref.id == 8);
	assert_int_equal(outer.small, 255);
	assert_null(outer.ref.name);
	assert_true(vbd_given(json, "port"));
	assert_false(vbd_given(json, "small"));
	assert_false(vbd_given(json, "other"));
	assert_false(vbd_given(NULL, "port"));
	assert_true(outer.inner.addr == UINT64_MAX);
	assert_int_equal(outer.inner.key, 0x1a71);
	assert_true(outer.inner_seen);
	json_decref(json);
}

/* JSON Schema: an integer is a number without a fraction, however it is written. */
TEST(test_decode__an_integer_may_look_like_a_fraction)
{
	json_t *json = parse("{\"small\":25e1,\"port\":7471.0,\"depth\":0.0,\"ref\":{\"id\":7.0,"
			     "\"name\":null},\"big\":9007199254740992.0}");
	struct outer outer = {.depth = 1};

	assert_int_equal(vbd_decode_at(json, VBD_FIELDS(outer_fields), "", &outer, NULL), VBD_OK);
	assert_int_equal(outer.small, 250);
	assert_int_equal(outer.port, 7471);
	assert_int_equal(outer.depth, 0);
	assert_true(outer.ref.id == 7);
	assert_true(outer.big == INT64_C(1) << 53);
	json_decref(json);
	json = parse("[[1.0, [2.0], {\"a\": 3.0}], 4.5, 1e300]");
	assert_true(json_is_integer(json_array_get(json_array_get(json, 0), 0)));
	assert_true(
		json_is_integer(json_object_get(json_array_get(json_array_get(json, 0), 2), "a")));
	assert_true(json_is_real(json_array_get(json, 1)));
	assert_true(json_is_real(json_array_get(json, 2)));
	json_decref(json);
}

TEST(test_decode__absent_members_keep_their_defaults)
{
	struct outer outer = {.depth = 64, .on = true, .colour = 2};

	assert_int_equal(decode("{}", &outer, NULL), VBD_OK);
	assert_int_equal(outer.depth, 64);
	assert_true(outer.on);
	assert_int_equal(outer.colour, 2);
	assert_false(outer.inner_seen);
	assert_int_equal(vbd_decode_at(NULL, VBD_FIELDS(outer_fields), "", &outer, NULL), VBD_OK);
}

TEST(test_decode__an_unknown_member_is_named_by_its_pointer)
{
	refused("{\"colr\":1}", VBD_E_UNKNOWN_FIELD, "/colr", "/colr");
	refused("{\"in/n~er\":{\"addr\":\"0x1\",\"x\":1}}", VBD_E_UNKNOWN_FIELD, "/in~1n~0er/x",
		"");
	refused("{\"a/b\":1}", VBD_E_UNKNOWN_FIELD, "/a~1b", "");
}

TEST(test_decode__a_missing_member_is_named_by_its_pointer)
{
	refused("{\"in/n~er\":{}}", VBD_E_MISSING_FIELD, "/in~1n~0er/addr", "missing");
}

TEST(test_decode__a_wrong_type_says_what_it_must_be)
{
	refused("[]", VBD_E_WRONG_TYPE, "", "the body must be an object, not an array");
	refused("\"x\"", VBD_E_WRONG_TYPE, "", "not a string");
	refused("{\"name\":true}", VBD_E_WRONG_TYPE, "/name", "must be a string, not a boolean");
	refused("{\"ref\":{\"id\":7,\"kind\":\"pd\"}}", VBD_E_WRONG_TYPE, "/ref",
		"an id or a name");
	refused("{\"ref\":{\"name\":\"x\"}}", VBD_E_WRONG_TYPE, "/ref", "an id or a name");
	refused("{\"small\":\"1\"}", VBD_E_WRONG_TYPE, "/small", "must be an integer");
	refused("{\"small\":1.5}", VBD_E_WRONG_TYPE, "/small", "not a fraction");
	refused("{\"big\":9007199254740994.0}", VBD_E_WRONG_TYPE, "/big", "not a fraction");
	refused("{\"small\":256.0}", VBD_E_OUT_OF_RANGE, "/small", "256");
	refused("{\"small\":-1.0}", VBD_E_OUT_OF_RANGE, "/small", "-1");
	refused("{\"on\":1}", VBD_E_WRONG_TYPE, "/on", "true or false");
	refused("{\"colour\":1}", VBD_E_WRONG_TYPE, "/colour", "a string");
	refused("{\"colours\":\"red\"}", VBD_E_WRONG_TYPE, "/colours", "an array");
	refused("{\"colours\":[\"red\",1]}", VBD_E_WRONG_TYPE, "/colours/1", "a string");
	refused("{\"ref\":true}", VBD_E_WRONG_TYPE, "/ref", "an id or a name");
	refused("{\"in/n~er\":[]}", VBD_E_WRONG_TYPE, "/in~1n~0er", "an object");
	refused("{\"in/n~er\":{\"addr\":1}}", VBD_E_WRONG_TYPE, "/in~1n~0er/addr", "hex digits");
}

TEST(test_decode__a_number_out_of_range_says_the_range)
{
	refused("{\"small\":256}", VBD_E_OUT_OF_RANGE, "/small", "from 0 to 255, not 256");
	refused("{\"small\":-1}", VBD_E_OUT_OF_RANGE, "/small", "not -1");
	refused("{\"port\":0}", VBD_E_OUT_OF_RANGE, "/port", "from 1 to 65535");
	refused("{\"ref\":0}", VBD_E_OUT_OF_RANGE, "/ref", "from 1 on");
	refused("{\"in/n~er\":{\"addr\":\"0x1\",\"key\":\"0x100000000\"}}", VBD_E_OUT_OF_RANGE,
		"/in~1n~0er/key", "at most 0xffffffff");
	refused("{\"in/n~er\":{\"addr\":\"0x10000000000000000\"}}", VBD_E_OUT_OF_RANGE,
		"/in~1n~0er/addr", "at most");
}

TEST(test_decode__a_value_outside_its_set_says_the_set)
{
	refused("{\"colour\":\"green\"}", VBD_E_BAD_VALUE, "/colour",
		"one of: red, blue; not 'green'");
	refused("{\"colours\":[\"red\",\"green\"]}", VBD_E_BAD_VALUE, "/colours/1", "red, blue");
	refused("{\"colours\":[\"red\",\"red\"]}", VBD_E_BAD_VALUE, "/colours/1", "twice");
	refused("{\"name\":\"\"}", VBD_E_BAD_VALUE, "/name", "at least 1");
	refused("{\"name\":\"7up\"}", VBD_E_BAD_VALUE, "/name", "must start with a letter");
	refused("{\"ref\":\"\"}", VBD_E_BAD_VALUE, "/ref", "empty");
	refused("{\"in/n~er\":{\"addr\":\"0xAB\"}}", VBD_E_BAD_VALUE, "/in~1n~0er/addr",
		"lower-case");
	refused("{\"in/n~er\":{\"addr\":\"0x\"}}", VBD_E_BAD_VALUE, "/in~1n~0er/addr", "");
	refused("{\"in/n~er\":{\"addr\":\"12\"}}", VBD_E_BAD_VALUE, "/in~1n~0er/addr", "");
}

TEST(test_decode__all_faults_are_told_in_order)
{
	static const struct {
		enum vbd_status status;
		const char *pointer;
	} faults_of[] = {
		{VBD_E_OUT_OF_RANGE, "/small"},
		{VBD_E_UNKNOWN_FIELD, "/prt"},
		{VBD_E_WRONG_TYPE, "/colours/0"},
		{VBD_E_BAD_VALUE, "/colours/1"},
		{VBD_E_BAD_VALUE, "/colours/3"},
		{VBD_E_UNKNOWN_FIELD, "/in~1n~0er/x"},
		{VBD_E_MISSING_FIELD, "/in~1n~0er/addr"},
	};
	json_t *json = parse("{\"small\":256,\"prt\":1,\"depth\":9,"
			     "\"colours\":[1,\"green\",\"red\",\"red\"],"
			     "\"in/n~er\":{\"x\":1}}");
	struct outer outer = {0};
	struct vbd_faults faults = {0};
	struct vbd_error err = {0};

	assert_int_equal(vbd_decode_all(json, "", outer_fields, VBD_ARRAY_LEN(outer_fields), &outer,
				 &faults, &err),
		VBD_E_OUT_OF_RANGE);
	assert_int_equal(faults.total, VBD_ARRAY_LEN(faults_of));
	assert_int_equal(faults.count, VBD_ARRAY_LEN(faults_of));
	for (size_t i = 0; i < faults.count; i++) {
		assert_int_equal(faults.items[i].status, faults_of[i].status);
		assert_string_equal(faults.items[i].pointer, faults_of[i].pointer);
	}
	assert_string_equal(err.pointer, "/small");
	assert_int_equal(outer.depth, 9);
	assert_false(outer.inner_seen);
	vbd_faults_fini(&faults);
	json_decref(json);
}

TEST(test_decode__too_many_faults_are_counted)
{
	json_t *json = json_object();
	struct outer outer = {0};
	struct vbd_faults faults = {0};

	for (int i = 0; i < 100; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "x%d", i);
		(void)json_object_set_new(json, name, json_null());
	}
	assert_int_equal(vbd_decode_all(json, "/at/3", outer_fields, VBD_ARRAY_LEN(outer_fields),
				 &outer, &faults, NULL),
		VBD_E_UNKNOWN_FIELD);
	assert_int_equal(faults.total, 100);
	assert_int_equal(faults.count, VBD_FAULTS_MAX);
	assert_string_equal(faults.items[31].pointer, "/at/3/x31");
	vbd_faults_fini(&faults);
	json_decref(json);
}

void __real_vbd_similar_try(struct vbd_similar *similar, const char *name);
void __wrap_vbd_similar_try(struct vbd_similar *similar, const char *name);

static size_t comparisons;

void __wrap_vbd_similar_try(struct vbd_similar *similar, const char *name)
{
	comparisons++;
	__real_vbd_similar_try(similar, name);
}

TEST(test_decode__no_more_faults_are_looked_into_than_are_told)
{
	json_t *json = json_object();
	json_t *colours = json_array();
	struct outer outer = {0};
	struct vbd_faults faults = {0};

	for (int i = 0; i < 20000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "prt%d", i);
		(void)json_object_set_new(json, name, json_null());
	}
	comparisons = 0;
	assert_int_equal(vbd_decode_all(json, "", outer_fields, VBD_ARRAY_LEN(outer_fields), &outer,
				 &faults, NULL),
		VBD_E_UNKNOWN_FIELD);
	assert_true(faults.total >= 20000);
	assert_true(comparisons <= VBD_FAULTS_MAX * VBD_ARRAY_LEN(outer_fields));
	json_decref(json);

	json = json_object();
	for (int i = 0; i < 20000; i++)
		(void)json_array_append_new(colours, json_string("mauve"));
	(void)json_object_set_new(json, "colours", colours);
	assert_int_equal(vbd_decode_all(json, "", outer_fields, VBD_ARRAY_LEN(outer_fields), &outer,
				 &faults, NULL),
		VBD_E_BAD_VALUE);
	assert_true(faults.total <= VBD_FAULTS_MAX + VBD_ARRAY_LEN(outer_fields));
	vbd_faults_fini(&faults);
	json_decref(json);
}

TEST(test_decode__a_misspelt_member_is_told_what_was_meant)
{
	refused("{\"prt\":1}", VBD_E_UNKNOWN_FIELD, "/prt", "did you mean port?");
	refused("{\"in/n~er\":{\"addr\":\"0x1\",\"kye\":1}}", VBD_E_UNKNOWN_FIELD, "/in~1n~0er/kye",
		"did you mean key?");
}

TEST(test_decode__length_counts_characters)
{
	refused("{\"name\":\"abcdef\"}", VBD_E_TOO_LONG, "/name", "6 characters; at most 5");
	refused("{\"text\":\"abcde\"}", VBD_E_TOO_LONG, "/text", "5 characters; at most 4");
	refused("{\"text\":\"\u00e4\u00f6\u00fc\"}", VBD_E_TOO_LONG, "/text", "6 bytes; at most 4");
	/* Five characters of two bytes each: short enough, but not letters of a name. */
	refused("{\"name\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}", VBD_E_BAD_VALUE, "/name",
		"letter");
}

TEST(test_decode__a_pointer_too_long_for_its_room_is_cut)
{
	char text[400];
	struct outer outer = {0};
	struct vbd_error err = {0};

	memset(text, '~', sizeof(text));
	memcpy(text, "{\"", 2);
	memcpy(text + sizeof(text) - 5, "\":1}", 5);
	assert_int_equal(decode(text, &outer, &err), VBD_E_UNKNOWN_FIELD);
	assert_true(strlen(err.pointer) < sizeof(err.pointer));
}

static void parse_refused(const char *text, enum vbd_status status, const char *says)
{
	struct vbd_error err = {0};
	json_t *json = NULL;

	assert_int_equal(vbd_json_parse(text, strlen(text), &json, &err), status);
	assert_null(json);
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

TEST(test_json_parse__a_broken_document_is_told_by_line_and_column)
{
	parse_refused("{\n \"a\": }", VBD_E_MALFORMED_JSON, "line 2, column");
	parse_refused("{\"a\":1,\"a\":2}", VBD_E_MALFORMED_JSON, "duplicate");
	parse_refused("{\"a\":NaN}", VBD_E_MALFORMED_JSON, "line 1");
	parse_refused("{\"a\":\"\\u0000\"}", VBD_E_MALFORMED_JSON, "\\u0000");
	parse_refused("{} x", VBD_E_MALFORMED_JSON, "line 1");
	parse_refused("\xef\xbb\xbf{}", VBD_E_MALFORMED_JSON, "line 1");
	parse_refused("{\"a\":\"\xff\"}", VBD_E_BAD_UTF8, "line 1");
	parse_refused("{\"a\":\"\xed\xa0\x80\"}", VBD_E_BAD_UTF8, "line 1");
	parse_refused("{\"a\":9223372036854775808}", VBD_E_OUT_OF_RANGE, "line 1");
}

TEST(test_json_parse__deep_nesting_is_an_error_and_no_more)
{
	static char text[100000];
	struct vbd_error err = {0};
	json_t *json = NULL;

	memset(text, '[', sizeof(text));
	assert_int_equal(vbd_json_parse(text, sizeof(text), &json, &err), VBD_E_MALFORMED_JSON);
}
