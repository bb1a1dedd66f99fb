/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written, and the sieve that holds members back. */
#include "api/core/task.h"
#include "api/json/writer.h"
#include "base/clock.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/document.h"

static void writes(struct vbd_encoder *out, const char *expected)
{
	size_t len = 0;
	char *text = vbd_encode_end(out, &len);

	assert_non_null(text);
	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
	free(text);
}

TEST(test_writer__objects_and_arrays_nest)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "a", 1);
	vbd_begin_object(&out, "b");
	vbd_begin_array(&out, "c");
	vbd_put_null(&out, NULL);
	vbd_begin_object(&out, NULL);
	vbd_end(&out);
	vbd_begin_array(&out, NULL);
	vbd_end(&out);
	vbd_put_bool(&out, NULL, true);
	vbd_end(&out);
	vbd_put_bool(&out, "d", false);
	vbd_end(&out);
	vbd_put_text_or_null(&out, "e", "");
	writes(&out, "{\"a\":1,\"b\":{\"c\":[null,{},[],true],\"d\":false},\"e\":null}");
}

TEST(test_writer__the_members_of_two_documents_are_joined)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_encoder more = vbd_encode_begin();
	struct vbd_encoder none = vbd_encode_begin();

	vbd_put_u64(&more, "b", 2);
	vbd_begin_array(&more, "c");
	vbd_end(&more);
	vbd_put_u64(&out, "a", 1);
	vbd_encode_join(&out, &none);
	vbd_encode_join(&out, &more);
	assert_null(more.bytes);
	vbd_put_u64(&out, "d", 3);
	writes(&out, "{\"a\":1,\"b\":2,\"c\":[],\"d\":3}");
	out = vbd_encode_begin();
	more = vbd_encode_begin();
	vbd_put_null(&more, "a");
	vbd_encode_join(&out, &more);
	writes(&out, "{\"a\":null}");
}

TEST(test_writer__a_document_can_end_with_a_newline)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t len = 0;
	char *line = vbd_encode_end_line(&out, &len);

	assert_int_equal(len, 3);
	assert_memory_equal(line, "{}\n", 3);
	free(line);
}

TEST(test_writer__numbers_are_those_of_jansson)
{
	static const int64_t numbers[] = {0, 1, -1, 9, 10, 99, 100, INT64_MAX, INT64_MIN};
	struct vbd_encoder out = vbd_encode_begin();
	json_t *list = json_array(), *json;

	vbd_begin_array(&out, "list");
	for (size_t i = 0; i < VBD_ARRAY_LEN(numbers); i++) {
		vbd_put_i64(&out, NULL, numbers[i]);
		assert_int_equal(json_array_append_new(list, json_integer(numbers[i])), 0);
	}
	vbd_end(&out);
	json = document_end(&out);
	assert_true(json_equal(json_object_get(json, "list"), list));
	json_decref(json);
	json_decref(list);
}

TEST(test_writer__hex_has_the_digits_asked_for)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_hex(&out, "a", 0, 1);
	vbd_put_hex(&out, "b", 0x1a71, 8);
	vbd_put_hex(&out, "c", UINT64_MAX, 1);
	vbd_put_hex(&out, "d", 1, 16);
	writes(&out, "{\"a\":\"0x0\",\"b\":\"0x00001a71\",\"c\":\"0xffffffffffffffff\","
		     "\"d\":\"0x0000000000000001\"}");
}

TEST(test_writer__a_time_is_that_of_the_wall_clock)
{
	struct vbd_encoder out = vbd_encode_begin();
	uint64_t now_ns = vbd_clock_mono_ns();
	char text[VBD_TIME_TEXT_BYTES];
	json_t *json;

	vbd_put_time(&out, "never", 0);
	vbd_put_time(&out, "now", now_ns);
	json = document_end(&out);
	assert_true(json_is_null(json_object_get(json, "never")));
	assert_string_equal(
		json_string_value(json_object_get(json, "now")), vbd_clock_format(now_ns, text));
	json_decref(json);
}

/* Write a text as a name and as a value, and compare both with jansson's. */
static void same_as_jansson(const char *text, size_t len)
{
	struct vbd_encoder out = vbd_encode_begin();
	json_t *json;

	vbd_put_utf8(&out, "text", text, len);
	vbd_put_text(&out, text, text);
	json = document_end(&out);
	assert_int_equal(json_string_length(json_object_get(json, "text")), len);
	assert_memory_equal(json_string_value(json_object_get(json, "text")), text, len);
	if (strlen(text) == len)
		assert_string_equal(json_string_value(json_object_get(json, text)), text);
	json_decref(json);
}

TEST(test_writer__every_byte_is_escaped_as_by_jansson)
{
	char text[] = "<?>";

	for (unsigned int c = 0; c < 0x80; c++) {
		text[1] = (char)c;
		same_as_jansson(text, 3);
	}
	same_as_jansson("", 0);
	same_as_jansson("\\\"\\", 3);
}

TEST(test_writer__an_escape_is_found_at_every_place)
{
	static const char specials[] = {'"', '\\', '\n', 0x1f};
	char text[32];

	for (size_t len = 1; len < 26; len++) {
		for (size_t at = 0; at < len * sizeof(specials); at++) {
			memset(text, 'x', sizeof(text));
			text[len] = '\0';
			text[at / sizeof(specials)] = specials[at % sizeof(specials)];
			same_as_jansson(text, len);
		}
	}
}

TEST(test_writer__characters_of_every_length_stay)
{
	static const char *const texts[] = {"\xc2\x80", "caf\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\x7f", "\xe2\x80\xa8 \"\xc3\xa9\"\n"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++)
		same_as_jansson(texts[i], strlen(texts[i]));
}

TEST(test_writer__any_text_can_go_into_json)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "cut", "caf\xc3\xa9 \xc3");
	vbd_put_text(&out, "quoted", "\"\xff\"\n");
	vbd_put_text(&out, "null", NULL);
	writes(&out, "{\"cut\":\"caf\xc3\xa9 ?\",\"quoted\":\"\\\"?\\\"?\",\"null\":null}");
}

TEST(test_writer__a_long_document_grows)
{
	struct vbd_encoder out = vbd_encode_begin();
	json_t *json;

	vbd_begin_array(&out, "list");
	for (uint64_t i = 0; i < 100000; i++)
		vbd_put_u64(&out, NULL, i);
	vbd_end(&out);
	json = document_end(&out);
	assert_int_equal(json_array_size(json_object_get(json, "list")), 100000);
	json_decref(json);
}

static void write_some(struct vbd_encoder *out)
{
	char text[300];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 100; i++) {
		vbd_begin_object(out, "object");
		vbd_begin_array(out, "array");
		vbd_put_text(out, NULL, text);
		vbd_put_text(out, NULL, "\xff");
		vbd_put_u64(out, NULL, 17);
		vbd_end(out);
		vbd_end(out);
	}
}

TEST(test_writer__without_memory_there_is_no_document)
{
	unsigned int failures = 0;
	bool failed = true;

	for (unsigned int n = 1; failed; n++) {
		struct vbd_encoder out;
		size_t len = 0;
		char *text;

		fake_memory_fail_nth(n);
		out = vbd_encode_begin();
		write_some(&out);
		text = vbd_encode_end(&out, &len);
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		assert_int_equal(text == NULL, failed);
		free(text);
		failures += failed;
	}
	assert_true(failures > 5);
}

TEST(test_writer__a_dropped_document_leaves_nothing)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_begin_array(&out, "list");
	vbd_encode_drop(&out);
	vbd_encode_drop(&out);
	assert_null(out.bytes);
}

/* --- the sieve ------------------------------------------------------------------------------- */

static void put_thing(struct vbd_encoder *out)
{
	vbd_put_u64(out, "id", 1);
	vbd_begin_object(out, "qp");
	vbd_put_u64(out, "depth", 2);
	vbd_put_u64(out, "psn", 3);
	vbd_end(out);
	vbd_begin_array(out, "ports");
	for (uint64_t i = 0; i < 2; i++) {
		vbd_begin_object(out, NULL);
		vbd_put_u64(out, "num", i);
		vbd_begin_object(out, "state");
		vbd_put_u64(out, "psn", 4);
		vbd_end(out);
		vbd_end(out);
	}
	vbd_end(out);
	vbd_put_null(out, "peer");
}

static void passes(struct vbd_sieve *sieve, const char *expected)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_encode_through(&out, sieve);
	put_thing(&out);
	writes(&out, expected);
}

TEST(test_sieve__an_empty_one_holds_nothing_back)
{
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	passes(&sieve, "{\"id\":1,\"qp\":{\"depth\":2,\"psn\":3},\"ports\":[{\"num\":0,\"state\":"
		       "{\"psn\":4}},{\"num\":1,\"state\":{\"psn\":4}}],\"peer\":null}");
}

TEST(test_sieve__kept_are_a_member_and_all_in_it)
{
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	vbd_sieve_keep(&sieve, "qp");
	vbd_sieve_keep(&sieve, "ports");
	passes(&sieve,
		"{\"qp\":{\"depth\":2,\"psn\":3},\"ports\":[{\"num\":0,\"state\":{\"psn\":4}},"
		"{\"num\":1,\"state\":{\"psn\":4}}]}");
	vbd_sieve_begin(&sieve);
	vbd_sieve_keep(&sieve, "id");
	vbd_sieve_keep(&sieve, "peer");
	passes(&sieve, "{\"id\":1,\"peer\":null}");
}

TEST(test_sieve__a_name_that_only_begins_so_is_another)
{
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	vbd_sieve_keep(&sieve, "i");
	vbd_sieve_keep(&sieve, "idx");
	vbd_sieve_keep(&sieve, "pee");
	vbd_sieve_keep(&sieve, "qp");
	vbd_sieve_hide(&sieve, "qp.dep");
	vbd_sieve_hide(&sieve, "qp.psn");
	passes(&sieve, "{\"qp\":{\"depth\":2}}");
}

TEST(test_sieve__hidden_wins_over_kept)
{
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	vbd_sieve_keep(&sieve, "qp");
	vbd_sieve_keep(&sieve, "ports");
	vbd_sieve_hide(&sieve, "qp.psn");
	vbd_sieve_hide(&sieve, "*.state.psn");
	vbd_sieve_hide(&sieve, "id");
	passes(&sieve, "{\"qp\":{\"depth\":2},\"ports\":[{\"num\":0,\"state\":{}},{\"num\":1,"
		       "\"state\":{}}]}");
}

TEST(test_sieve__any_name_is_a_star)
{
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	vbd_sieve_hide(&sieve, "*.psn");
	vbd_sieve_hide(&sieve, "ports.*");
	passes(&sieve, "{\"id\":1,\"qp\":{\"depth\":2},\"ports\":[{},{}],\"peer\":null}");
}

TEST(test_sieve__holds_for_one_object_of_a_document)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_sieve sieve;

	vbd_sieve_begin(&sieve);
	vbd_sieve_keep(&sieve, "peer");
	vbd_put_u64(&out, "id", 1);
	vbd_begin_array(&out, "items");
	for (int i = 0; i < 2; i++) {
		vbd_begin_object(&out, NULL);
		vbd_encode_through(&out, &sieve);
		assert_true(vbd_encode_wants(&out, "peer"));
		assert_false(vbd_encode_wants(&out, "id"));
		put_thing(&out);
		vbd_encode_through(&out, NULL);
		vbd_end(&out);
	}
	vbd_end(&out);
	vbd_put_u64(&out, "next", 2);
	writes(&out, "{\"id\":1,\"items\":[{\"peer\":null},{\"peer\":null}],\"next\":2}");
}

static void fits(const struct vbd_member *members)
{
	size_t hidden = 0;

	for (; members->path; members++) {
		unsigned int parts = 1;

		for (const char *at = members->path; *at; at++)
			parts += *at == '.';
		assert_in_range(parts, 1, VBD_SIEVE_DEPTH_MAX - 1);
		hidden += members->role > VBD_ROLE_READ;
	}
	assert_in_range(hidden, 0, VBD_SIEVE_NAMES_MAX);
}

TEST(test_sieve__has_room_for_the_members_of_the_contract)
{
	fits(vbd_device_members);
#define FITS(sym, singular, plural, open, kept) fits(vbd_##singular##_members);
	VBD_KIND_MAP(FITS)
#undef FITS
}
