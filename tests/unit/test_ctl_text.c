/* SPDX-License-Identifier: Apache-2.0 */
/* verbsctl's forms of texts, numbers and JSON, at the bounds of each. */
#include "tests/unit/unit.h"

#include "base/text.h"
#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/view.h"

/* --- texts ----------------------------------------------------------------------------------- */

/* Texts of one character and what is at the bounds of each form. */
static const struct {
	const char *bytes, *safe;
	bool utf8;
} characters[] = {
	{" ", " ", true},
	{"\x1f", "\\x1f", true},
	{"\x1b", "\\x1b", true},
	{"\n", "\\n", true},
	{"\t", "\\t", true},
	{"\r", "\\x0d", true},
	{"~", "~", true},
	{"\x7f", "\\x7f", true},
	{"\xc2\x80", "\\u0080", true},
	{"\xc2\x9f", "\\u009f", true},
	{"\xc2\xa0", "\xc2\xa0", true},
	{"\xdf\xbf", "\xdf\xbf", true},
	{"\xe0\xa0\x80", "\xe0\xa0\x80", true},
	{"\xef\xbf\xbf", "\xef\xbf\xbf", true},
	{"\xf0\x90\x80\x80", "\xf0\x90\x80\x80", true},
	{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", true},
	/* the neighbours of the surrogates, and surrogates */
	{"\xed\x9f\xbf", "\xed\x9f\xbf", true},
	{"\xee\x80\x80", "\xee\x80\x80", true},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", false},
	{"\xed\xbf\xbf", "\\xed\\xbf\\xbf", false},
	/* overlong, too large, no first byte, cut off, a wrong byte */
	{"\xc1\xbf", "\\xc1\\xbf", false},
	{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf", false},
	{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf", false},
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false},
	{"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80", false},
	{"\x80", "\\x80", false},
	{"\xbf", "\\xbf", false},
	{"\xc3", "\\xc3", false},
	{"\xe6\xbc", "\\xe6\\xbc", false},
	{"\xf0\x90\x80", "\\xf0\\x90\\x80", false},
	{"\xc3z", "\\xc3z", false},
	{"\xe6\xbcz", "\\xe6\\xbcz", false},
	/* marks that turn the direction of writing, and their neighbours */
	{"\xd8\x9b", "\xd8\x9b", true},
	{"\xd8\x9c", "\\u061c", true},
	{"\xd8\x9d", "\xd8\x9d", true},
	{"\xe2\x80\x8d", "\xe2\x80\x8d", true},
	{"\xe2\x80\x8e", "\\u200e", true},
	{"\xe2\x80\x8f", "\\u200f", true},
	{"\xe2\x80\x90", "\xe2\x80\x90", true},
	{"\xe2\x80\xa7", "\xe2\x80\xa7", true},
	{"\xe2\x80\xa8", "\\u2028", true},
	{"\xe2\x80\xae", "\\u202e", true},
	{"\xe2\x80\xaf", "\xe2\x80\xaf", true},
	{"\xe2\x81\xa5", "\xe2\x81\xa5", true},
	{"\xe2\x81\xa6", "\\u2066", true},
	{"\xe2\x81\xa9", "\\u2069", true},
	{"\xe2\x81\xaa", "\xe2\x81\xaa", true},
	{"\xef\xbb\xbe", "\xef\xbb\xbe", true},
	{"\xef\xbb\xbf", "\\ufeff", true},
	{"\xef\xbc\x80", "\xef\xbc\x80", true},
};

TEST(test_text__utf8_is_told_from_other_bytes)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(characters); i++) {
		const char *bytes = characters[i].bytes;

		if (vbd_utf8_valid(bytes, strlen(bytes)) != characters[i].utf8)
			fail_msg("%s", characters[i].safe);
	}
}

TEST(test_text__what_steers_a_terminal_is_escaped_and_nothing_else)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(characters); i++) {
		const char *bytes = characters[i].bytes;
		char *before = vbd_ctl_format("a%sb", bytes);
		char *after = vbd_ctl_format("a%sb", characters[i].safe);

		assert_string_equal(vbd_ctl_text_safe(bytes), characters[i].safe);
		assert_string_equal(vbd_ctl_text_safe(before), after);
	}
	assert_string_equal(vbd_ctl_text_safe_bytes("a\0b", 3), "a\\x00b");
	assert_string_equal(vbd_ctl_text_safe_bytes("abc", 2), "ab");
}

/* JSON keeps its value: its own escapes stay, and unsafe characters become escapes of JSON. */
TEST(test_text__json_keeps_its_lines_and_its_value)
{
	assert_string_equal(
		vbd_ctl_text_safe_json("{\n\t\"a\": \"\xc3\xa4\xc2\x9f\x7f\xe2\x80\xae\"\n}"),
		"{\n\t\"a\": \"\xc3\xa4\\u009f\\u007f\\u202e\"\n}");
	assert_string_equal(vbd_ctl_text_safe_json("\"\x80 \""), "\"\\u0080 \"");
}

TEST(test_text__a_part_of_a_path_is_percent_encoded)
{
	assert_string_equal(vbd_ctl_text_percent("azAZ09-._~"), "azAZ09-._~");
	assert_string_equal(vbd_ctl_text_percent("a/b ?#%&=+"), "a%2Fb%20%3F%23%25%26%3D%2B");
	assert_string_equal(vbd_ctl_text_percent("\xc3\xa4\x7f\x80"), "%C3%A4%7F%80");
	assert_string_equal(vbd_ctl_text_percent(""), "");
}

/* --- numbers --------------------------------------------------------------------------------- */

TEST(test_text__bytes_have_the_largest_unit_that_fits)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{1048524, "1023.9 KiB"},
		{1048525, "1.0 MiB"}, /* 1023.95 KiB */
		{UINT64_C(3) << 29, "1.5 GiB"},
		{UINT64_C(1) << 40, "1.0 TiB"},
		{UINT64_C(1) << 50, "1.0 PiB"},
		{UINT64_C(1) << 60, "1.0 EiB"},
		{UINT64_MAX, "16.0 EiB"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		assert_string_equal(vbd_ctl_text_of_bytes(cases[i].bytes), cases[i].text);
}

TEST(test_text__times_have_the_largest_unit_that_fits)
{
	static const struct {
		uint64_t ns;
		const char *text, *span;
	} cases[] = {
		{0, "0 ns", "0 ns"},
		{999, "999 ns", "999 ns"},
		{1000, "1.000 us", "1.000 us"},
		{999999, "999.999 us", "999.999 us"},
		{1000000, "1.000 ms", "1.000 ms"},
		{999999999, "1000.000 ms", "1000.000 ms"},
		{1000000000, "1.000 s", "1.000 s"},
		{UINT64_C(59999000000), "59.999 s", "59.999 s"},
		{UINT64_C(60000000000), "60.000 s", "0:01:00"},
		{UINT64_C(3599999000000), "3599.999 s", "0:59:59"},
		{UINT64_C(3600000000000), "3600.000 s", "1:00:00"},
		{UINT64_C(360125000000000), "360125.000 s", "100:02:05"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		assert_string_equal(vbd_ctl_text_of_ns(cases[i].ns), cases[i].text);
		assert_string_equal(vbd_ctl_text_of_span(cases[i].ns), cases[i].span);
	}
}

TEST(test_text__hex_has_1_to_16_digits_behind_0x)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0x0", 0},
		{"0x9", 9},
		{"0xaF", 0xaf},
		{"0x0123456789abcdef", UINT64_C(0x0123456789abcdef)},
		{"0xffffffffffffffff", UINT64_MAX},
	};
	static const char *const bad[] = {"", "0", "0x", "1x1", "0X1", "12", "0xg", "0x1g", "0x 1",
		"0x11112222333344445", "0x1 "};
	uint64_t value;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		value = 77;
		assert_true(vbd_ctl_parse_hex(good[i].text, &value));
		assert_true(value == good[i].value);
	}
	value = 77;
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_ctl_parse_hex(bad[i], &value))
			fail_msg("\"%s\" passes", bad[i]);
	}
	assert_int_equal(value, 77);
}

TEST(test_text__a_time_is_whole_or_refused)
{
	static const char *const bad[] = {"", "2026-01-02", "2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05.00000000Z", "2026-01-02T03:04:05.000000006",
		"2026-01-02T03:04:05.000000006Zz", "1969-12-31T23:59:59.000000000Z",
		"2026-1-02T03:04:05.0000000006Z"};
	uint64_t ns = 77;

	assert_true(vbd_ctl_parse_time("1970-01-01T00:00:00.000000000Z", &ns));
	assert_int_equal(ns, 0);
	assert_true(vbd_ctl_parse_time("1970-02-01T01:02:03.000000004Z", &ns));
	assert_true(ns == (UINT64_C(31) * 86400 + 3723) * 1000000000 + 4);
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_ctl_parse_time(bad[i], &ns))
			fail_msg("\"%s\" passes", bad[i]);
	}
}

/* --- hex ------------------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t len;
	const char *text;
} encoded[] = {
	{"", 0, ""},
	{"\x00", 1, "00"},
	{"\xff", 1, "ff"},
	{"\xff\xfe", 2, "fffe"},
	{"\x01\x23\x45\x67\x89\xab\xcd\xef", 8, "0123456789abcdef"},
};

TEST(test_hex__bytes_become_text_and_bytes_again)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(encoded); i++) {
		/* The sanitizer watches the end of memory from malloc. */
		char *exact = malloc(encoded[i].len + !encoded[i].len);
		char *bytes = NULL;
		size_t len = 99;

		assert_non_null(exact);
		memcpy(exact, encoded[i].bytes, encoded[i].len);
		assert_string_equal(vbd_ctl_hex_encode(exact, encoded[i].len), encoded[i].text);
		free(exact);
		assert_true(vbd_ctl_hex_decode(encoded[i].text, &bytes, &len));
		assert_int_equal(len, encoded[i].len);
		assert_memory_equal(bytes, encoded[i].bytes, len);
		assert_int_equal(bytes[len], 0);
	}
}

TEST(test_hex__what_is_cut_or_foreign_is_refused)
{
	static const char *const bad[] = {"0", "000", "0g", "g0", "0 ", " 0", "+1", "0x", "-1"};
	char *bytes = NULL;
	size_t len;

	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_ctl_hex_decode(bad[i], &bytes, &len))
			fail_msg("\"%s\" passes", bad[i]);
	}
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *json_of(const char *text)
{
	json_t *json = vbd_ctl_json_keep(json_loads(text, JSON_DECODE_ANY, NULL));

	assert_non_null(json);
	return json;
}

TEST(test_json__members_are_found_by_path)
{
	json_t *object = json_of("{\"a\": {\"b\": {\"c\": 7}, \"n\": null, \"s\": \"x\"}, "
				 "\"zero\": 0, \"less\": -1, \"real\": 1.5}");

	assert_ptr_equal(vbd_ctl_json_at(object, ""), object);
	assert_int_equal(vbd_ctl_json_uint(object, "a.b.c"), 7);
	assert_true(vbd_ctl_json_has_uint(object, "zero"));
	assert_false(vbd_ctl_json_has_uint(object, "less"));
	assert_int_equal(vbd_ctl_json_uint(object, "less"), 0);
	assert_false(vbd_ctl_json_has_uint(object, "real"));
	assert_false(vbd_ctl_json_has_uint(object, "a.s"));
	assert_null(vbd_ctl_json_at(object, "a.n"));
	assert_null(vbd_ctl_json_at(object, "a.b.c.d"));
	assert_null(vbd_ctl_json_at(object, "b"));
	assert_null(vbd_ctl_json_at(NULL, "a"));
	assert_string_equal(vbd_ctl_json_text(object, "a.s"), "x");
	assert_null(vbd_ctl_json_text(object, "zero"));
	assert_true(vbd_ctl_json_is(object, "a.s", "x"));
	assert_false(vbd_ctl_json_is(object, "a.s", "y"));
	assert_false(vbd_ctl_json_is(object, "zero", "0"));
}

TEST(test_json__members_are_set_by_path)
{
	json_t *object = json_of("{\"a\": {\"b\": 1}}");
	json_t *wanted = json_of("{\"a\": {\"b\": 2, \"c\": {\"d\": 3}}, \"e\": 4}");

	vbd_ctl_json_set(object, "a.b", json_integer(2));
	vbd_ctl_json_set(object, "a.c.d", json_integer(3));
	vbd_ctl_json_set(object, "e", json_integer(4));
	assert_true(json_equal(object, wanted));
}

/* A name of 63 bytes is found, and a longer one is not taken for it. */
TEST(test_json__a_name_in_a_path_has_its_whole_length)
{
	char name[66];
	json_t *object = vbd_ctl_json_new();

	memset(name, 'n', sizeof(name));
	name[63] = '\0';
	assert_int_equal(json_object_set_new(object, name, json_integer(5)), 0);
	assert_int_equal(vbd_ctl_json_uint(object, name), 5);
	name[62] = '\0';
	assert_null(vbd_ctl_json_at(object, name));
}

static void assert_written(
	void (*put)(FILE *out, const json_t *value), const char *json, const char *wanted)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *value = json_of(json);

	assert_non_null(out);
	put(out, value);
	(void)fclose(out);
	assert_string_equal(vbd_ctl_keep(text, free), wanted);
}

TEST(test_json__is_written_whole_or_on_one_line)
{
	assert_written(vbd_ctl_json_put, "{\"a\": [1, \"\xc2\x9f\"]}",
		"{\n  \"a\": [\n    1,\n    \"\\u009f\"\n  ]\n}\n");
	assert_written(vbd_ctl_json_put_line, "{\"a\": [1, 2]}", "{\"a\":[1,2]}\n");
	assert_written(vbd_ctl_json_put_line, "\"x\"", "\"x\"\n");
}

TEST(test_counters__bytes_count_once_and_on_their_side)
{
	json_t *counters = json_of(
		"{\"send\": {\"bytes\": 1}, \"send_imm\": {\"bytes\": 10}, \"write\": {\"bytes\": "
		"100}, \"write_imm\": {\"bytes\": 1000}, \"recv\": {\"bytes\": 10000}, \"read\": "
		"{\"bytes\": 100000}, \"fetch_add\": {\"bytes\": 8}}");

	assert_int_equal(vbd_ctl_payload_bytes(counters, VBD_CTL_SENDS), 1111);
	assert_int_equal(vbd_ctl_payload_bytes(counters, VBD_CTL_RECEIVES), 110000);
	assert_int_equal(vbd_ctl_payload_bytes(NULL, VBD_CTL_SENDS), 0);
}

/* --- cells ----------------------------------------------------------------------------------- */

/* Fills the field in braces from an object. */
static void assert_filled(const char *text, const char *object, const char *wanted)
{
	assert_string_equal(vbd_ctl_fill(json_of(object), text), wanted);
}

TEST(test_cell__each_value_has_the_form_of_its_column)
{
	assert_filled("{x}", "{\"x\": \"a\\nb\"}", "a\\nb");
	assert_filled("{x}", "{\"x\": null}", "-");
	assert_filled("{x}", "{\"x\": 7}", "7");
	assert_filled("{x}", "{\"x\": {\"id\": 7, \"name\": \"x\"}}", "x");
	assert_filled("{x}", "{\"x\": {\"id\": 7, \"name\": null}}", "7");
	assert_filled("{x}", "{\"x\": {\"id\": 7, \"name\": \"x\", \"more\": 1}}",
		"{\"id\":7,\"name\":\"x\",\"more\":1}");
	assert_filled("{x}", "{\"x\": {\"id\": 7, \"nom\": \"x\"}}", "{\"id\":7,\"nom\":\"x\"}");
	assert_filled("{x}", "{\"x\": {\"ID\": 7, \"name\": \"x\"}}", "{\"ID\":7,\"name\":\"x\"}");
	assert_filled("{x:count}", "{\"x\": 7}", "7");
	assert_filled("{x:count}", "{\"x\": -7}", "0");
	assert_filled("{qpn}", "{\"qpn\": 255}", "0xff");
	assert_filled("{qpn}", "{\"qpn\": \"x\"}", "-");
	assert_filled("{x:bytes}", "{\"x\": 2048}", "2.0 KiB");
	assert_filled("{x:bytes}", "{\"x\": null}", "-");
	assert_filled("{x:ns}", "{\"x\": 1500}", "1.500 us");
	assert_filled("{x:ns}", "{\"x\": \"x\"}", "-");
	assert_filled("{x:ms}", "{\"x\": 1234567}", "1.235");
	assert_filled("{x:ms}", "{\"x\": null}", "-");
	assert_filled("{x_ms}", "{\"x_ms\": 336}", "336 ms");
	assert_filled("{x_ms}", "{\"x_ms\": null}", "-");
	assert_filled("{x}", "{\"x\": []}", "-");
	assert_filled("{x}", "{\"x\": [\"a\", 2, null]}", "a,2,-");
	assert_filled(
		"{x:endpoint}", "{\"x\": {\"addr\": \"10.0.0.1\", \"port\": 7}}", "10.0.0.1:7");
	assert_filled(
		"{x:endpoint}", "{\"x\": {\"addr\": \"fe80::1\", \"port\": 7}}", "[fe80::1]:7");
	assert_filled("{x:endpoint}", "{\"x\": {\"addr\": null, \"port\": 7}}", "-");
}

TEST(test_cell__only_a_time_is_shortened_as_one)
{
	assert_filled("{x_at}", "{\"x_at\": \"2026-01-02T03:04:05.678900006Z\"}",
		"2026-01-02T03:04:05.678Z");
	assert_filled("{x_at}", "{\"x_at\": \"2026-01-02T03:04:05.678900006z\"}",
		"2026-01-02T03:04:05.678900006z");
	assert_filled("{x_at}", "{\"x_at\": \"2026-01-02T03:04:05.67890000xZ\"}",
		"2026-01-02T03:04:05.67890000xZ");
	assert_filled(
		"{x_at}", "{\"x_at\": \"2026-01-02T03:04:05.6789Z\"}", "2026-01-02T03:04:05.6789Z");
	assert_filled("{x_at}", "{\"x_at\": null}", "-");
}

/* --- operands -------------------------------------------------------------------------------- */

static void make_body(void *arg)
{
	(void)vbd_ctl_args_body(arg);
}

TEST(test_args__an_operand_is_utf8)
{
	static const struct vbd_ctl_command command = {
		.noun = "buffers", .verb = "create", .usage = "NAME", .members = "name"};
	char good[] = "\xc3\xa9", bad[] = "\xc3";
	char *operands[] = {good};
	struct vbd_ctl_args args = {.command = &command,
		.called = "buffers create",
		.operands = operands,
		.operand_count = 1};

	assert_string_equal(
		json_string_value(json_object_get(vbd_ctl_args_body(&args), "name")), good);
	operands[0] = bad;
	assert_int_equal(vbd_ctl_try(make_body, &args), VBD_CTL_USAGE);
}

TEST(test_text__times_are_read_as_verbsd_writes_them)
{
	uint64_t ns = 0;

	assert_true(vbd_ctl_parse_time("1970-01-02T00:00:01.000000007Z", &ns));
	assert_int_equal(ns, UINT64_C(86401000000007));
	assert_true(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789Z", &ns));
	assert_int_equal(ns, UINT64_C(1772600767123456789));
	assert_false(vbd_ctl_parse_time("", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07Z", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123Z", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789Zx", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789+01:00", &ns));
}

TEST(test_text__spans_are_clocks_from_a_minute_on)
{
	assert_string_equal(vbd_ctl_text_of_span(1500000), "1.500 ms");
	assert_string_equal(vbd_ctl_text_of_span(UINT64_C(59500000000)), "59.500 s");
	assert_string_equal(vbd_ctl_text_of_span(UINT64_C(60000000000)), "0:01:00");
	assert_string_equal(vbd_ctl_text_of_span(UINT64_C(90061) * 1000000000), "25:01:01");
}
