/* SPDX-License-Identifier: Apache-2.0 */
/* Records of earlier runs: their bodies read and written again. */
#include "api/http/archive.h"

#include "base/status.h"
#include "tests/unit/document.h"

/* A record with the body @body, JSON with ' for ". */
static struct vbd_record *record_with(const char *body)
{
	struct vbd_record *record = calloc(1, sizeof(*record));
	char *text = strdup(body);

	assert_non_null(record);
	assert_non_null(text);
	for (char *quote = text; (quote = strchr(quote, '\''));)
		*quote = '"';
	record->object.id = 7;
	record->server_id = "0123456789abcdef";
	record->state = "done";
	record->end_code = "";
	record->body = record->row = text;
	return record;
}

static struct vbd_archived opened(const char *body)
{
	struct vbd_archived archived;

	assert_true(vbd_archived_open(&archived, record_with(body)));
	return archived;
}

static void closed(struct vbd_archived *archived)
{
	vbd_archived_close(archived);
	assert_null(archived->body);
	vbd_record_free((struct vbd_record *)(uintptr_t)archived->record);
}

/* Ends the document and compares it with JSON with ' for ". */
static void expect(struct vbd_encoder *out, const char *expected)
{
	json_t *wanted = document_of(expected);
	json_t *document = document_end(out);
	char *text = json_dumps(document, JSON_COMPACT);

	if (!json_equal(document, wanted))
		fail_msg("%s instead of %s", text, expected);
	free(text);
	json_decref(document);
	json_decref(wanted);
}

static void put_member(
	struct vbd_encoder *out, const struct vbd_archived *archived, const char *name)
{
	vbd_put_json(out, name, json_object_get(archived->body, name));
}

TEST(test_archive__only_an_object_can_be_read)
{
	static const char *const bodies[] = {"", "[]", "1", "{", "{'a':1}x"};
	struct vbd_archived archived;

	for (size_t i = 0; i < VBD_ARRAY_LEN(bodies); i++) {
		struct vbd_record *record = record_with(bodies[i]);

		assert_false(vbd_archived_open(&archived, record));
		vbd_record_free(record);
	}
}

TEST(test_archive__each_type_of_value_comes_back)
{
	struct vbd_archived archived =
		opened("{'state':'done','text':'a\\u00e9\\n','none':null,'yes':true,'no':false,"
		       "'list':[1,[],{'deep':[-2]}],'least':-9223372036854775808,"
		       "'most':9223372036854775807,'desired':{'a':1},'explanation':{'why':'x'}}");
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_json_members(&out, archived.body);
	expect(&out, "{'state':'done','text':'a\\u00e9\\n','none':null,'yes':true,'no':false,"
		     "'list':[1,[],{'deep':[-2]}],'least':-9223372036854775808,"
		     "'most':9223372036854775807,'desired':null,'server_id':'0123456789abcdef'}");
	out = vbd_encode_begin();
	vbd_put_json_members(&out, archived.explanation);
	expect(&out, "{'why':'x','server_id':'0123456789abcdef'}");
	out = vbd_encode_begin();
	put_member(&out, &archived, "yes");
	put_member(&out, &archived, "unknown");
	expect(&out, "{'yes':true,'unknown':null}");
	closed(&archived);
}

/* Its run did not end it. */
TEST(test_archive__one_that_was_left_open_is_shown_as_dead)
{
	struct vbd_record *record =
		record_with("{'state':'running','end_code':null,'error':null,'ended_at':null,"
			    "'waits_for':'peer','bytes':5}");
	struct vbd_archived archived;
	struct vbd_encoder out = vbd_encode_begin();
	json_t *document, *expected;

	record->state = "failed";
	record->end_code = "daemon_died";
	record->ended_wall_ns = UINT64_C(1700000000) * 1000000000;
	assert_true(vbd_archived_open(&archived, record));
	put_member(&out, &archived, "state");
	put_member(&out, &archived, "end_code");
	put_member(&out, &archived, "ended_at");
	put_member(&out, &archived, "waits_for");
	put_member(&out, &archived, "bytes");
	expect(&out, "{'state':'failed','end_code':'daemon_died','ended_at':"
		     "'2023-11-14T22:13:20.000000000Z','waits_for':null,'bytes':5}");
	out = vbd_encode_begin();
	put_member(&out, &archived, "error");
	document = document_end(&out);
	expected = json_pack("{s:{s:s, s:s, s:s, s:n}}", "error", "code", "daemon_died", "detail",
		vbd_status_text(VBD_E_DAEMON_DIED), "hint", vbd_status_hint(VBD_E_DAEMON_DIED),
		"first");
	assert_true(json_equal(document, expected));
	json_decref(document);
	json_decref(expected);
	closed(&archived);
}

TEST(test_archive__times_are_read_to_the_nanosecond)
{
	static const struct {
		const char *body;
		uint64_t ns;
	} rows[] = {
		{"{'at':'1970-01-01T00:00:01Z'}", 1000000000},
		{"{'at':'1970-01-01T00:00:01.5Z'}", 1500000000},
		{"{'at':'1970-01-01T00:00:00.000000001Z'}", 1},
		{"{'at':'1970-01-01T00:00:00.123456789Z'}", 123456789},
		{"{'at':'1970-01-01T00:00:00.9876543210Z'}", 987654321},
		{"{'at':'1970-01-02T00:00:00.000Z'}", UINT64_C(86400000000000)},
		{"{'at':'2023-11-14T22:13:20.25Z'}", UINT64_C(1700000000250000000)},
		{"{'at':'yesterday'}", 0},
		{"{'at':null}", 0},
		{"{}", 0},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_archived archived = opened(rows[i].body);

		assert_int_equal(vbd_archived_time_ns(&archived, "at"), rows[i].ns);
		closed(&archived);
	}
}

TEST(test_archive__a_number_is_an_integer_or_an_id)
{
	struct vbd_archived archived =
		opened("{'bytes':12,'buffer':{'id':9,'name':''},'none':null,'text':'x'}");

	assert_int_equal(vbd_archived_number(&archived, "bytes"), 12);
	assert_int_equal(vbd_archived_number(&archived, "buffer"), 9);
	assert_int_equal(vbd_archived_number(&archived, "none"), 0);
	assert_int_equal(vbd_archived_number(&archived, "unknown"), 0);
	assert_string_equal(vbd_archived_text(&archived, "text"), "x");
	assert_string_equal(vbd_archived_text(&archived, "none"), "");
	assert_string_equal(vbd_archived_text(&archived, "unknown"), "");
	closed(&archived);
}

TEST(test_archive__a_reference_is_found_at_any_depth)
{
	struct vbd_archived archived =
		opened("{'connection':{'id':3},'sges':[{'buffer':{'id':5}},{'buffer':{'id':6}}],"
		       "'buffer':null,'batch':4,'peer':{'id':'7'}}");

	assert_true(vbd_archived_refers(&archived, "connection", 3));
	assert_false(vbd_archived_refers(&archived, "connection", 5));
	assert_true(vbd_archived_refers(&archived, "buffer", 5));
	assert_true(vbd_archived_refers(&archived, "buffer", 6));
	assert_false(vbd_archived_refers(&archived, "buffer", 3));
	assert_false(vbd_archived_refers(&archived, "buffer", 7));
	/* A number is no reference. */
	assert_false(vbd_archived_refers(&archived, "batch", 4));
	assert_false(vbd_archived_refers(&archived, "id", 3));
	closed(&archived);
}
