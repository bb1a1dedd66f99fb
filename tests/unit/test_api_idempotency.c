/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/idempotency.h"

#include "api/http/uri.h"
#include "tests/unit/unit.h"

static struct vbd_idem *idem;
static uint64_t ticket;

static int set_up(void **state)
{
	(void)state;
	idem = vbd_idem_create(4, "00000000000000a1", NULL);
	return idem ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_idem_destroy(idem);
	return 0;
}

#define IDEMPOTENCY_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

static struct vbd_idem_request request_of(const char *key, const char *body)
{
	return (struct vbd_idem_request){
		.key = key,
		.method = "POST",
		.target = "/v1/buffers",
		.caller = "control",
		.body = body,
		.body_bytes = strlen(body),
	};
}

static enum vbd_status begin(const char *key, const char *body, uint64_t now_ns,
	struct vbd_idem_entry **entry, struct vbd_reply *reply)
{
	const struct vbd_idem_request request = request_of(key, body);

	*entry = NULL;
	*reply = (struct vbd_reply){0};
	return vbd_idem_begin(idem, &request, now_ns, entry, reply, &ticket, NULL);
}

static void answer(struct vbd_idem_entry *entry, unsigned int status, const char *body)
{
	struct vbd_reply reply = {
		.status = status,
		.content_type = "application/json",
		.static_body = body,
		.body_bytes = strlen(body),
	};

	vbd_reply_add_header(&reply, "Location", "/v1/buffers/7");
	vbd_idem_store(entry, &reply);
}

static void make(const char *key, uint64_t now_ns)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	assert_int_equal(begin(key, "{}", now_ns, &entry, &reply), VBD_OK);
	assert_non_null(entry);
	answer(entry, 201, "{}");
}

IDEMPOTENCY_TEST(test_idempotency__a_repeat_gets_the_first_answer)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	assert_int_equal(begin("k", "{\"a\":1}", 1, &entry, &reply), VBD_OK);
	answer(entry, 201, "made");
	assert_int_equal(begin("k", "{\"a\":1}", 2, &entry, &reply), VBD_OK);
	assert_null(entry);
	assert_int_equal(reply.status, 201);
	assert_int_equal(reply.body_bytes, 4);
	assert_memory_equal(reply.body, "made", 4);
	assert_string_equal(vbd_reply_find_header(&reply, "Location"), "/v1/buffers/7");
	vbd_reply_fini(&reply);
}

IDEMPOTENCY_TEST(test_idempotency__a_running_request_conflicts)
{
	struct vbd_idem_entry *first, *entry;
	struct vbd_reply reply;

	assert_int_equal(begin("k", "{}", 1, &first, &reply), VBD_OK);
	assert_int_equal(begin("k", "{}", 2, &entry, &reply), VBD_E_IDEMPOTENCY_CONFLICT);
	vbd_idem_delete(first);
	assert_int_equal(begin("k", "{}", 3, &entry, &reply), VBD_OK);
	assert_non_null(entry);
	vbd_idem_delete(entry);
}

IDEMPOTENCY_TEST(test_idempotency__another_request_with_the_key_mismatches)
{
	struct vbd_idem_request request = request_of("k", "{}");
	struct vbd_idem_entry *entry;
	struct vbd_reply reply = {0};

	make("k", 1);
	assert_int_equal(begin("k", "{ }", 2, &entry, &reply), VBD_E_IDEMPOTENCY_MISMATCH);
	request.target = "/v1/listeners";
	assert_int_equal(vbd_idem_begin(idem, &request, 2, &entry, &reply, &ticket, NULL),
		VBD_E_IDEMPOTENCY_MISMATCH);
}

static enum vbd_status begin_with(const char *query, const char *if_match)
{
	struct vbd_idem_request request = request_of("k", "{}");
	struct vbd_idem_entry *entry;
	struct vbd_reply reply = {0};
	struct vbd_uri uri;
	char target[64];
	enum vbd_status status;

	(void)snprintf(target, sizeof(target), "/v1/objects?%s", query);
	assert_int_equal(vbd_uri_parse(target, &uri, NULL), VBD_OK);
	request.uri = &uri;
	request.if_match = if_match;
	status = vbd_idem_begin(idem, &request, 1, &entry, &reply, &ticket, NULL);
	if (status == VBD_OK && entry)
		answer(entry, 200, "{}");
	vbd_reply_fini(&reply);
	return status;
}

IDEMPOTENCY_TEST(test_idempotency__what_decides_what_is_done_is_of_the_request)
{
	assert_int_equal(begin_with("all=true&dry_run=true&wait_ms=5", NULL), VBD_OK);
	assert_int_equal(begin_with("all=true&dry_run=true&wait_ms=9", NULL), VBD_OK);
	assert_int_equal(begin_with("all=true&dry_run=true", NULL), VBD_OK);
	assert_int_equal(begin_with("all=true", NULL), VBD_E_IDEMPOTENCY_MISMATCH);
	assert_int_equal(begin_with("all=true&dry_run=true", "\"7\""), VBD_E_IDEMPOTENCY_MISMATCH);
}

IDEMPOTENCY_TEST(test_idempotency__an_answer_is_kept_whatever_its_status)
{
	static const unsigned int statuses[] = {202, 409, 424, 500, 503, 507};
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	for (size_t i = 0; i < VBD_ARRAY_LEN(statuses); i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "k%zu", i);
		assert_int_equal(begin(key, "{}", 1, &entry, &reply), VBD_OK);
		answer(entry, statuses[i], "failed");
		assert_int_equal(begin(key, "{}", 2, &entry, &reply), VBD_OK);
		assert_null(entry);
		assert_int_equal(reply.status, statuses[i]);
		vbd_reply_fini(&reply);
	}
}

IDEMPOTENCY_TEST(test_idempotency__a_request_that_did_nothing_runs_again)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	assert_int_equal(begin("k", "{}", 1, &entry, &reply), VBD_OK);
	vbd_idem_delete(entry);
	assert_int_equal(begin("k", "{\"a\":1}", 2, &entry, &reply), VBD_OK);
	assert_non_null(entry);
	vbd_idem_delete(entry);
	assert_int_equal(vbd_idem_count(idem), 0);
}

IDEMPOTENCY_TEST(test_idempotency__entries_grow_old)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	make("k", 1);
	assert_int_equal(begin("k", "{}", VBD_IDEM_AGE_MAX_NS, &entry, &reply), VBD_OK);
	assert_null(entry);
	vbd_reply_fini(&reply);
	assert_int_equal(begin("k", "{}", VBD_IDEM_AGE_MAX_NS + 1, &entry, &reply), VBD_OK);
	assert_non_null(entry);
	vbd_idem_delete(entry);
}

IDEMPOTENCY_TEST(test_idempotency__the_oldest_goes_first_and_running_ones_stay)
{
	struct vbd_idem_entry *running, *entry;
	struct vbd_reply reply;

	assert_int_equal(begin("running", "{}", 1, &running, &reply), VBD_OK);
	make("a", 2);
	make("b", 3);
	make("c", 4);
	make("d", 5);
	assert_int_equal(vbd_idem_count(idem), 4);
	assert_int_equal(begin("a", "{}", 6, &entry, &reply), VBD_OK);
	assert_non_null(entry); /* was forgotten */
	vbd_idem_delete(entry);
	assert_int_equal(begin("running", "{}", 7, &entry, &reply), VBD_E_IDEMPOTENCY_CONFLICT);
	vbd_idem_delete(running);
}

static enum vbd_status begin_by(
	const char *caller, const char *key, struct vbd_idem_entry **entry, struct vbd_reply *reply)
{
	struct vbd_idem_request request = request_of(key, "{}");

	request.caller = caller;
	*reply = (struct vbd_reply){0};
	return vbd_idem_begin(idem, &request, 5, entry, reply, &ticket, NULL);
}

IDEMPOTENCY_TEST(test_idempotency__a_caller_with_many_keys_pushes_out_its_own)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;
	char key[16];

	assert_int_equal(begin_by("few", "mine", &entry, &reply), VBD_OK);
	answer(entry, 201, "{}");
	for (int i = 0; i < 20; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(begin_by("many", key, &entry, &reply), VBD_OK);
		answer(entry, 201, "{}");
	}
	assert_int_equal(vbd_idem_count(idem), 4);
	assert_int_equal(begin_by("few", "mine", &entry, &reply), VBD_OK);
	assert_null(entry);
	vbd_reply_fini(&reply);
	assert_int_equal(begin_by("many", "k19", &entry, &reply), VBD_OK);
	assert_null(entry);
	vbd_reply_fini(&reply);
}

IDEMPOTENCY_TEST(test_idempotency__a_repeat_is_found_in_a_full_store)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	make("a", 1);
	make("b", 2);
	make("c", 3);
	make("d", 4);
	assert_int_equal(begin("a", "{}", 5, &entry, &reply), VBD_OK);
	assert_null(entry);
	assert_int_equal(reply.status, 201);
	vbd_reply_fini(&reply);
	assert_int_equal(vbd_idem_count(idem), 4);
}

IDEMPOTENCY_TEST(test_idempotency__with_all_running_a_new_key_hits_the_limit)
{
	struct vbd_idem_entry *running[4], *entry;
	struct vbd_reply reply;
	char key[16];

	for (int i = 0; i < 4; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(begin(key, "{}", 1, &running[i], &reply), VBD_OK);
	}
	assert_int_equal(begin("more", "{}", 1, &entry, &reply), VBD_E_TOO_MANY_REQUESTS);
	for (int i = 0; i < 4; i++)
		vbd_idem_delete(running[i]);
}

IDEMPOTENCY_TEST(test_idempotency__requests_that_run_push_out_no_key_of_another)
{
	struct vbd_idem_entry *running[3], *entry;
	struct vbd_reply reply;

	assert_int_equal(begin_by("few", "mine", &entry, &reply), VBD_OK);
	answer(entry, 201, "{}");
	assert_int_equal(begin_by("many", "k0", &running[0], &reply), VBD_OK);
	assert_int_equal(begin_by("many", "k1", &running[1], &reply), VBD_OK);
	assert_int_equal(begin_by("many", "k2", &running[2], &reply), VBD_OK);
	assert_int_equal(begin_by("many", "k3", &entry, &reply), VBD_E_TOO_MANY_REQUESTS);
	assert_int_equal(begin_by("few", "mine", &entry, &reply), VBD_OK);
	assert_null(entry);
	vbd_reply_fini(&reply);
	assert_int_equal(begin_by("few", "another", &entry, &reply), VBD_OK);
	assert_non_null(entry);
	vbd_idem_delete(entry);
	for (int i = 0; i < 3; i++)
		vbd_idem_delete(running[i]);
}

IDEMPOTENCY_TEST(test_idempotency__bad_keys_are_refused)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;
	char key[VBD_IDEM_KEY_MAX + 2];

	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	assert_int_equal(begin(key, "{}", 1, &entry, &reply), VBD_E_TOO_LONG);
	key[VBD_IDEM_KEY_MAX] = '\0';
	assert_int_equal(begin(key, "{}", 1, &entry, &reply), VBD_OK);
	vbd_idem_delete(entry);
	assert_int_equal(begin("", "{}", 1, &entry, &reply), VBD_E_BAD_VALUE);
	assert_int_equal(begin("a b", "{}", 1, &entry, &reply), VBD_E_BAD_VALUE);
	assert_int_equal(begin("\xc3\xa9", "{}", 1, &entry, &reply), VBD_E_BAD_VALUE);
	assert_int_equal(begin("a ", "{}", 1, &entry, &reply), VBD_E_BAD_VALUE);
	assert_int_equal(begin("\x7f", "{}", 1, &entry, &reply), VBD_E_BAD_VALUE);
	assert_int_equal(begin("!~", "{}", 1, &entry, &reply), VBD_OK);
	vbd_idem_delete(entry);
}

/* Keep an answer of @bytes with the key. */
static void keep(const char *key, size_t bytes)
{
	struct vbd_reply reply = {.status = 200, .content_type = "text/plain"};
	struct vbd_idem_entry *entry;

	assert_int_equal(begin(key, "{}", 1, &entry, &reply), VBD_OK);
	reply.static_body = calloc(1, bytes);
	reply.body_bytes = bytes;
	assert_non_null(reply.static_body);
	vbd_idem_store(entry, &reply);
	free((void *)(uintptr_t)reply.static_body);
}

IDEMPOTENCY_TEST(test_idempotency__answers_have_so_many_bytes_together)
{
	struct vbd_idem_entry *entry;
	struct vbd_reply reply;

	keep("a", VBD_IDEM_BYTES_MAX - 2);
	keep("b", 1);
	assert_int_equal(vbd_idem_count(idem), 2);
	/* A byte is left. */
	keep("c", 1);
	assert_int_equal(vbd_idem_count(idem), 3);
	assert_int_equal(begin("d", "{}", 1, &entry, &reply), VBD_OK);
	assert_int_equal(vbd_idem_count(idem), 3);
	vbd_idem_delete(entry);
	assert_int_equal(begin("b", "{}", 1, &entry, &reply), VBD_OK);
	assert_null(entry);
	assert_int_equal(reply.body_bytes, 1);
	vbd_reply_fini(&reply);
}
