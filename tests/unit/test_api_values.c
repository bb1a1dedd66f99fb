/* SPDX-License-Identifier: Apache-2.0 */
/* The small parsers of headers and texts: Prefer, Range, encodings, UTF-8. */
#include "api/http/header.h"
#include "api/http/request.h"
#include "api/json/codec.h"
#include "base/text.h"
#include "tests/unit/document.h"

TEST(test_prefer__respond_async_is_found_among_others)
{
	static const char *const good[] = {"respond-async", "Respond-Async",
		"wait=5, respond-async", "foo=\"a, b\",respond-async;x=1",
		" respond-async , wait=1", "respond-async=\"\"", "respond-async = \"\" ; x, a"};
	static const char *const ignored[] = {"", "wait=5", "respond-asynchronously",
		"x=\"respond-async\"", "respond", "foo=respond-async", "respond-async=no",
		"respond-async=\"a\"", "respond-async=\"\"a"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++)
		assert_true(vbd_prefer_async(good[i]));
	for (size_t i = 0; i < VBD_ARRAY_LEN(ignored); i++)
		assert_false(vbd_prefer_async(ignored[i]));
	assert_false(vbd_prefer_async(NULL));
}

TEST(test_prefer__wait_is_found_among_others)
{
	static const struct {
		const char *value;
		unsigned int wait_s;
	} good[] = {
		{"wait=10", 10},
		{"WAIT = 0", 0},
		{"respond-async, wait=5", 5},
		{"foo=\"a, wait=9\", wait=3", 3},
		{"wait=\"7\"", 7},
		{"wait=60", 60},
		{"wait=61", 60},
		{"wait=99999999999999999999", 60},
		{"wait=4; foo", 4},
		{"wait=x, wait=2", 2},
		{"wait=\"\\0\"", 0},
		{"wait=\"1\\2\" ; a", 12},
	};
	static const char *const ignored[] = {"", "wait", "wait=", "wait=-1", "wait=1.5",
		"waiter=3", "wait=\"3", "wait=\"3\\\"", "wait=\\3", "wait=\"\"", "foo=\"wait=3\"",
		"await=3"};
	unsigned int wait_s;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		wait_s = 1000;
		assert_true(vbd_prefer_wait(good[i].value, &wait_s));
		assert_int_equal(wait_s, good[i].wait_s);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(ignored); i++) {
		if (vbd_prefer_wait(ignored[i], &wait_s))
			fail_msg("'%s' passes", ignored[i]);
	}
	assert_false(vbd_prefer_wait(NULL, &wait_s));
}

TEST(test_range__one_range_is_a_part)
{
	static const struct {
		const char *value;
		uint64_t first, length_bytes;
	} parts[] = {
		{"bytes=0-0", 0, 1},
		{"bytes=0-99", 0, 100},
		{"bytes=0-1000", 0, 100},
		{"bytes=99-", 99, 1},
		{"bytes=10-19", 10, 10},
		{"bytes=-1", 99, 1},
		{"bytes=-1000", 0, 100},
		{"BYTES=5-", 5, 95},
		{"bytes=0-99999999999999999999999", 0, 100},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(parts); i++) {
		uint64_t first = 0, length_bytes = 0;

		assert_int_equal(vbd_range_parse(parts[i].value, 100, &first, &length_bytes),
			VBD_RANGE_PART);
		assert_true(first == parts[i].first);
		assert_true(length_bytes == parts[i].length_bytes);
	}
}

TEST(test_range__what_is_not_one_range_is_the_whole)
{
	static const char *const whole[] = {"bytes=", "bytes=-", "bytes=5-4", "bytes=1-2,3-4",
		"lines=1-2", "bytes 1-2", "bytes=a-b", "bytes=1", "bytes=1-2x"};
	uint64_t first = 7, length_bytes = 7;

	assert_int_equal(vbd_range_parse(NULL, 100, &first, &length_bytes), VBD_RANGE_WHOLE);
	for (size_t i = 0; i < VBD_ARRAY_LEN(whole); i++)
		assert_int_equal(
			vbd_range_parse(whole[i], 100, &first, &length_bytes), VBD_RANGE_WHOLE);
	assert_true(first == 7 && length_bytes == 7);
}

TEST(test_range__behind_the_end_is_outside)
{
	uint64_t first, length_bytes;

	assert_int_equal(
		vbd_range_parse("bytes=100-", 100, &first, &length_bytes), VBD_RANGE_OUTSIDE);
	assert_int_equal(vbd_range_parse("bytes=99999999999999999999-", 100, &first, &length_bytes),
		VBD_RANGE_OUTSIDE);
	assert_int_equal(
		vbd_range_parse("bytes=-0", 100, &first, &length_bytes), VBD_RANGE_OUTSIDE);
}

static void encodes(const char *bytes, size_t len, enum vbd_encoding asked, enum vbd_encoding used,
	const char *text)
{
	enum vbd_encoding encoding = vbd_codec_choose((const uint8_t *)bytes, len, asked);
	struct vbd_encoder out = vbd_encode_begin();
	json_t *json;

	assert_int_equal(encoding, used);
	vbd_put_data(&out, "data", (const uint8_t *)bytes, len, encoding);
	json = document_end(&out);
	assert_string_equal(json_string_value(json_object_get(json, "data")), text);
	json_decref(json);
}

TEST(test_codec__bytes_become_text_where_that_is_possible)
{
	encodes("hi\n", 3, VBD_ENCODING_AUTO, VBD_ENCODING_TEXT, "hi\n");
	encodes("", 0, VBD_ENCODING_AUTO, VBD_ENCODING_TEXT, "");
	encodes("", 0, VBD_ENCODING_HEX, VBD_ENCODING_HEX, "");
	encodes("a\0b", 3, VBD_ENCODING_AUTO, VBD_ENCODING_BASE64, "YQBi");
	encodes("\xff", 1, VBD_ENCODING_TEXT, VBD_ENCODING_BASE64, "/w==");
	encodes("\x0a\xff", 2, VBD_ENCODING_HEX, VBD_ENCODING_HEX, "0aff");
	encodes("\x1b[31m", 5, VBD_ENCODING_AUTO, VBD_ENCODING_BASE64, "G1szMW0=");
}

TEST(test_codec__text_becomes_bytes_again)
{
	static const struct {
		const char *text;
		enum vbd_encoding encoding;
		const char *bytes;
		size_t len;
	} cases[] = {
		{"h\xc3\xa9", VBD_ENCODING_TEXT, "h\xc3\xa9", 3},
		{"", VBD_ENCODING_TEXT, "", 0},
		{"", VBD_ENCODING_BASE64, "", 0},
		{"YQBi", VBD_ENCODING_BASE64, "a\0b", 3},
		{"/w==", VBD_ENCODING_BASE64, "\xff", 1},
		{"0aFF", VBD_ENCODING_HEX, "\x0a\xff", 2},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		uint8_t *bytes = NULL;
		size_t len = 99;

		assert_int_equal(vbd_codec_decode(cases[i].text, cases[i].encoding, 16, "/data",
					 &bytes, &len, NULL),
			VBD_OK);
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(bytes, cases[i].bytes, len);
		free(bytes);
	}
}

TEST(test_codec__bad_text_is_refused_by_pointer)
{
	static const struct {
		const char *text;
		enum vbd_encoding encoding;
		enum vbd_status status;
	} cases[] = {
		{"YQB", VBD_ENCODING_BASE64, VBD_E_BAD_VALUE},
		{"YQ=B", VBD_ENCODING_BASE64, VBD_E_BAD_VALUE},
		{"Y===", VBD_ENCODING_BASE64, VBD_E_BAD_VALUE},
		{"YQ B", VBD_ENCODING_BASE64, VBD_E_BAD_VALUE},
		{"YQ-_", VBD_ENCODING_BASE64, VBD_E_BAD_VALUE},
		{"abc", VBD_ENCODING_HEX, VBD_E_BAD_VALUE},
		{"0x", VBD_ENCODING_HEX, VBD_E_BAD_VALUE},
		{"abcdefghi", VBD_ENCODING_TEXT, VBD_E_TOO_LONG},
		{"000000000000000000", VBD_ENCODING_HEX, VBD_E_TOO_LONG},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct vbd_error err = {0};
		uint8_t *bytes = NULL;
		size_t len;

		if (vbd_codec_decode(cases[i].text, cases[i].encoding, 8, "/data", &bytes, &len,
			    &err) != cases[i].status)
			fail_msg("'%s' gives %s", cases[i].text, vbd_status_code(err.status));
		assert_string_equal(err.pointer, "/data");
		assert_null(bytes);
	}
}

TEST(test_utf8__only_the_shortest_forms_are_valid)
{
	static const char *const good[] = {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2\x41",
		"\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "\xfe", "a\xff"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++)
		assert_true(vbd_utf8_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++)
		assert_false(vbd_utf8_valid(bad[i], strlen(bad[i])));
	assert_int_equal(vbd_utf8_length("h\xc3\xa9\xf0\x90\x80\x80"), 3);
}

TEST(test_utf8__control_characters_are_not_printable)
{
	assert_true(vbd_utf8_printable("a\tb\r\n\xc2\xa0", 7));
	assert_false(vbd_utf8_printable("a\0b", 3));
	assert_false(vbd_utf8_printable("\x1b", 1));
	assert_false(vbd_utf8_printable("\x7f", 1));
	assert_false(vbd_utf8_printable("\xc2\x85", 2));
	assert_false(vbd_utf8_printable("\xc2", 1));
}

TEST(test_utf8__marks_that_turn_text_around_are_not_printable)
{
	static const char *const bad[] = {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f",
		"\xe2\x80\xa8", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
	static const char *const good[] = {
		"\xd8\x9b", "\xe2\x80\x90", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x82\xac"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		assert_false(vbd_utf8_printable(bad[i], strlen(bad[i])));
		assert_false(vbd_utf8_line(bad[i], strlen(bad[i])));
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++)
		assert_true(vbd_utf8_line(good[i], strlen(good[i])));
	assert_false(vbd_utf8_line("a\tb", 3));
	assert_false(vbd_utf8_line("a\0b", 3));
}

/* Two names that differ in such a character only look the same. */
TEST(test_utf8__characters_that_show_nothing_are_in_no_name)
{
	static const char *const bad[] = {u8"\u00ad", u8"\u034f", u8"\u115f", u8"\u17b4",
		u8"\u180e", u8"\u200b", u8"\u200d", u8"\u2060", u8"\u2065", u8"\u206f", u8"\u2800",
		u8"\u3164", u8"\ufe0f", u8"\ufeff", u8"\uffa0", u8"\ufff9", u8"\U0001bca3",
		u8"\U0001d173", u8"\U000e0000", u8"\U000e0041", u8"\U000e007f", u8"\U000e01ef",
		u8"\U000e0fff"};
	static const char *const good[] = {u8"\u00ac", u8"\u00ae", u8"\u0350", u8"\u0600",
		u8"\u1161", u8"\u180a", u8"\u2801", u8"\ufe10", u8"\ufffc", u8"\U0001f600",
		u8"\U000dffff", u8"\U000e1000"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		assert_true(vbd_utf8_printable(bad[i], strlen(bad[i])));
		assert_false(vbd_utf8_line(bad[i], strlen(bad[i])));
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++)
		assert_true(vbd_utf8_line(good[i], strlen(good[i])));
}
