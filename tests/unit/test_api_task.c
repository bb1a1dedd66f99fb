/* SPDX-License-Identifier: Apache-2.0 */
/* The code that all tasks share, over a task of the test; the test plays transport and daemon. */
#include "api/core/context.h"
#include "api/core/task.h"
#include "api/http/page.h"
#include "api/http/waiter.h"
#include "daemon/core/object.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/transport.h"

enum errand_state { ERRAND_RUNNING, ERRAND_DONE, ERRAND_FAILED };

struct errand {
	struct vbd_object object; /* first member */
	enum errand_state state;
	int cancelled;
};

static struct {
	struct vbd_api api;
	struct vbd_daemon daemon;
	struct vbd_registry kept_objects; /* empty */
	struct vbd_request req;
	struct errand errand;
	struct vbd_link queue; /* holds the errand, so that the loop never frees it */
	int answered;	       /* number of parked requests that were answered */
	uint64_t timeout_ms;
	vbd_request_cb on_timeout, on_gone;
	void *park_arg;
	enum vbd_status park_status;
	enum vbd_status fail_with;
} test;

/* --- a transport ----------------------------------------------------------------------------- */

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)req;
	if (test.park_status != VBD_OK)
		return vbd_error_set(err, test.park_status, "no");
	test.timeout_ms = timeout_ms;
	test.on_timeout = on_timeout;
	test.on_gone = on_gone;
	test.park_arg = arg;
	return VBD_OK;
}

static void answered(struct vbd_request *req)
{
	(void)req;
	test.answered++;
}

static const struct vbd_transport transport = {.park = park, .answered = answered};

/* --- a task ---------------------------------------------------------------------------------- */

static void encode(struct vbd_encoder *out, const void *task)
{
	const struct errand *errand = task;

	vbd_put_u64(out, "id", errand->object.id);
	vbd_put_u64(out, "state", errand->state);
}

static void tell_problem(const struct vbd_object *task, struct vbd_error *ret_err)
{
	(void)task;
	(void)vbd_error_set(ret_err, test.fail_with, "it went wrong");
}

static void cancel(struct vbd_object *task)
{
	((struct errand *)task)->cancelled++;
}

static const struct vbd_kind errand_kind = {
	.cancel = cancel,
	.problem = tell_problem,
};

static const struct vbd_member members[] = {
	{"id", true, VBD_ROLE_READ}, {"state", false, VBD_ROLE_READ}, {NULL, false, VBD_ROLE_NONE}};
static const struct vbd_page_state states[] = {
	{"running", false}, {"done", true}, {"failed", true}, {NULL, false}};

static uint64_t state_of(const void *task)
{
	return ((const struct errand *)task)->state;
}

static const struct vbd_task_kind kind = {
	.kind = VBD_KIND_TRANSFER,
	.done = VBD_STATES(ERRAND_DONE),
	.failed = VBD_STATES(ERRAND_FAILED),
	.page.members = members,
	.page.states = states,
	.page.state_of = state_of,
	.page.encode = encode,
};

static const struct vbd_route route = {.task = &kind};

/* --- requests -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct vbd_registry *registry = &test.daemon.registries[VBD_KIND_TRANSFER];
	struct vbd_error err = {0};

	(void)state;
	vbd_registry_fini(registry);
	memset(&test, 0, sizeof(test));
	vbd_registry_init(registry, "errand", "errands", "objects");
	registry->limit = 10;
	registry->kind = &errand_kind;
	registry->last_id = 6;
	vbd_list_init(&test.errand.object.watches);
	test.errand.object.registry = registry;
	registry->daemon = &test.daemon;
	test.daemon.kept_objects = &test.kept_objects;
	vbd_list_init(&test.queue);
	vbd_list_append(&test.queue, &test.errand.object.reap.link);
	assert_int_equal(vbd_registry_add(registry, NULL, &test.errand.object, "", &err), VBD_OK);
	test.api.daemon = &test.daemon;
	(void)snprintf(test.daemon.server_id, sizeof(test.daemon.server_id), "run");
	test.fail_with = VBD_E_CANCELLED;
	test.req = (struct vbd_request){.transport = &transport,
		.role = VBD_ROLE_CONTROL,
		.method = VBD_METHOD_POST,
		.route = &route,
		.ref = "7",
		.context = &test.api};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_memory_fail_nth(0);
	vbd_request_fini(&test.req);
	vbd_registry_fini(&test.daemon.registries[VBD_KIND_TRANSFER]);
	return 0;
}

#define TASK_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

/* POSTs, with `Prefer: wait=` if @wait_s is not 0. Returns the HTTP status, or 0 while the request
 * waits. */
static unsigned int post(unsigned int wait_s)
{
	test.req.wait_ms = UINT64_C(1000) * wait_s;
	test.req.wait_asked = wait_s != 0;
	vbd_task_answer(&test.req, &kind, &test.errand);
	return test.req.reply.status;
}

static unsigned int delete_and_wait(unsigned int wait_s)
{
	test.req.method = VBD_METHOD_DELETE;
	test.req.wait_ms = UINT64_C(1000) * wait_s;
	test.req.wait_asked = wait_s != 0;
	vbd_task_delete(&test.req);
	return test.req.reply.status;
}

static void becomes(enum errand_state state)
{
	test.errand.state = state;
	vbd_watch_notify(&test.errand.object.watches, false);
}

static bool answer_has(const char *text)
{
	return memmem(test.req.reply.body, test.req.reply.body_bytes, text, strlen(text)) != NULL;
}

static void assert_answer(unsigned int status, const char *text)
{
	vbd_request_settle(&test.req);
	assert_int_equal(test.req.reply.status, status);
	if (text)
		assert_true(answer_has(text));
	else
		assert_int_equal(test.req.reply.body_bytes, 0);
	assert_true(vbd_list_empty(&test.errand.object.watches));
}

static void assert_location(const char *location)
{
	const char *header = vbd_reply_find_header(&test.req.reply, "Location");

	if (location)
		assert_string_equal(header, location);
	else
		assert_null(header);
}

/* --- GET and DELETE -------------------------------------------------------------------------- */

TASK_TEST(test_task__it_is_shown)
{
	test.req.method = VBD_METHOD_GET;
	vbd_task_get(&test.req);
	assert_answer(200, "\"id\":7");
}

/* --- waiting for a state --------------------------------------------------------------------- */

static void get(const char *query)
{
	static char text[64];

	(void)snprintf(text, sizeof(text), "/v1/errands/7%s", query);
	assert_int_equal(vbd_uri_parse(text, &test.req.uri, NULL), VBD_OK);
	test.req.method = VBD_METHOD_GET;
	test.req.wait_ms = 5000;
	vbd_task_get(&test.req);
}

TASK_TEST(test_task__a_state_that_is_there_is_not_waited_for)
{
	get("?until=running&wait_ms=5000");
	assert_answer(200, "\"id\":7");
}

TASK_TEST(test_task__a_get_waits_until_the_state_is_there)
{
	get("?until=done&wait_ms=5000");
	assert_int_equal(test.req.reply.status, 0);
	vbd_object_counted(&test.errand.object);
	assert_int_equal(test.req.reply.status, 0);
	test.errand.state = ERRAND_DONE;
	vbd_object_changed(&test.errand.object);
	assert_answer(200, "\"state\":1");
}

TASK_TEST(test_task__a_get_does_not_wait_for_what_can_not_come)
{
	get("?until=done&wait_ms=5000");
	test.errand.state = ERRAND_FAILED;
	vbd_object_changed(&test.errand.object);
	assert_answer(200, "\"state\":2");
}

TASK_TEST(test_task__a_get_whose_time_is_over_has_the_present_state)
{
	get("?until=ended&wait_ms=5000");
	test.on_timeout(&test.req, test.park_arg);
	assert_answer(200, "\"state\":0");
}

TASK_TEST(test_task__a_get_of_what_is_deleted_meanwhile_is_not_found)
{
	get("?until=ended&wait_ms=5000");
	vbd_watch_notify(&test.errand.object.watches, true);
	assert_answer(404, "deleted");
}

TASK_TEST(test_task__a_get_waits_for_any_change_but_of_counters)
{
	get("?until=changed&wait_ms=5000");
	vbd_object_counted(&test.errand.object);
	assert_int_equal(test.req.reply.status, 0);
	vbd_object_changed(&test.errand.object);
	assert_answer(200, "\"state\":0");
}

TASK_TEST(test_task__a_state_that_no_errand_has_is_refused)
{
	get("?until=melted&wait_ms=5000");
	assert_answer(400, "changed, open, ended, running, done, failed");
}

TASK_TEST(test_task__a_wait_needs_a_state)
{
	get("?wait_ms=5000");
	assert_answer(400, "until");
}

/* --- conditions ------------------------------------------------------------------------------ */

TASK_TEST(test_task__a_client_that_has_the_object_gets_no_object)
{
	unit_set_header(&test.req, VBD_HEADER_IF_NONE_MATCH, "\"run-errand-7-0\"");
	get("");
	assert_int_equal(test.req.reply.status, 304);
	assert_null(test.req.reply.content_type);
	/* For its length: MHD sends no body with a 304. */
	assert_non_null(test.req.reply.body);
	assert_string_equal(vbd_reply_find_header(&test.req.reply, "ETag"), "\"run-errand-7-0\"");
}

TASK_TEST(test_task__a_client_with_an_old_tag_waits_for_no_change)
{
	vbd_object_changed(&test.errand.object);
	unit_set_header(&test.req, VBD_HEADER_IF_NONE_MATCH, "\"run-errand-7-0\"");
	get("?until=changed&wait_ms=5000");
	assert_answer(200, "\"id\":7");
}

TASK_TEST(test_task__an_object_that_has_changed_is_not_deleted)
{
	unit_set_header(&test.req, VBD_HEADER_IF_MATCH, "W/\"run-errand-7-1\", \"run-errand-7-0\"");
	vbd_object_changed(&test.errand.object);
	test.req.method = VBD_METHOD_DELETE;
	vbd_task_delete(&test.req);
	assert_answer(412, "changed_meanwhile");
	assert_int_equal(test.errand.cancelled, 0);
}

TASK_TEST(test_task__an_object_that_is_as_known_is_cancelled)
{
	unit_set_header(
		&test.req, VBD_HEADER_IF_MATCH, "\"other\" , \"run-errand-7-0\" \t,\"more\"");
	vbd_task_cancel(&test.req);
	assert_int_equal(test.errand.cancelled, 1);
}

TASK_TEST(test_task__what_is_not_there_is_a_problem)
{
	const struct vbd_request again = test.req;

	vbd_registry_remove(test.errand.object.registry, &test.errand.object);
	vbd_task_get(&test.req);
	assert_answer(404, "there is no errand '7'");
	vbd_request_fini(&test.req);
	test.req = again;
	vbd_task_delete(&test.req);
	assert_answer(404, "not_found");
	assert_int_equal(test.errand.cancelled, 0);
	assert_false(test.errand.object.deleted);
}

TASK_TEST(test_task__a_deletion_cancels_what_runs)
{
	vbd_task_delete(&test.req);
	assert_answer(202, "\"id\":7");
	assert_int_equal(test.errand.cancelled, 1);
	assert_true(test.errand.object.deleted);
}

TASK_TEST(test_task__a_deletion_frees_what_has_ended)
{
	static const enum errand_state ended[] = {ERRAND_DONE, ERRAND_FAILED};

	for (size_t i = 0; i < VBD_ARRAY_LEN(ended); i++) {
		(void)set_up(NULL);
		test.errand.state = ended[i];
		test.errand.object.ended = true;
		vbd_task_delete(&test.req);
		assert_answer(204, NULL);
		assert_int_equal(test.errand.cancelled, 0);
		assert_true(test.errand.object.deleted);
	}
}

/* --- POST ------------------------------------------------------------------------------------ */

TASK_TEST(test_task__without_a_wait_its_state_is_told)
{
	static const struct {
		enum errand_state state;
		unsigned int status;
	} cases[] = {{ERRAND_RUNNING, 202}, {ERRAND_DONE, 201}, {ERRAND_FAILED, 202}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		(void)set_up(NULL);
		test.errand.state = cases[i].state;
		assert_int_equal(post(0), cases[i].status);
		assert_answer(cases[i].status, "\"id\":7");
		assert_location("/v1/errands/7");
		vbd_request_fini(&test.req);
	}
}

TASK_TEST(test_task__who_waits_is_told_when_it_is_done)
{
	assert_int_equal(post(10), 0);
	assert_int_equal(test.timeout_ms, 10000);
	becomes(ERRAND_RUNNING);
	assert_int_equal(test.req.reply.status, 0);
	becomes(ERRAND_DONE);
	assert_answer(201, "\"id\":7");
	assert_location("/v1/errands/7");
	assert_int_equal(test.answered, 1);
}

TASK_TEST(test_task__who_waits_is_told_why_it_failed)
{
	assert_int_equal(post(10), 0);
	becomes(ERRAND_FAILED);
	assert_answer(424, "it went wrong");
	assert_location("/v1/errands/7");
}

/* A client that repeated the request would do all again. */
TASK_TEST(test_task__a_failure_never_looks_like_a_refusal)
{
	for (int status = 1; status < VBD_STATUS_COUNT; status++) {
		test.fail_with = (enum vbd_status)status;
		test.errand.state = ERRAND_RUNNING;
		assert_int_equal(post(10), 0);
		becomes(ERRAND_FAILED);
		assert_answer(424, vbd_status_code((enum vbd_status)status));
		assert_location("/v1/errands/7");
		assert_true(test.req.acted);
		vbd_reply_fini(&test.req.reply);
	}
}

TASK_TEST(test_task__a_wait_that_is_over_tells_the_state)
{
	assert_int_equal(post(10), 0);
	test.on_timeout(&test.req, test.park_arg);
	assert_answer(202, "\"id\":7");
	assert_location("/v1/errands/7");
}

TASK_TEST(test_task__its_deletion_answers_who_waits)
{
	assert_int_equal(post(10), 0);
	vbd_watch_notify(&test.errand.object.watches, true);
	assert_answer(404, "the transfer was deleted in the meantime");
	assert_int_equal(test.answered, 1);
}

/* The answer is kept for a repetition with the same Idempotency-Key. */
TASK_TEST(test_task__a_client_that_leaves_leaves_an_answer)
{
	assert_int_equal(post(10), 0);
	test.req.abandoned = true; /* the server does this when the client disconnects */
	test.on_gone(&test.req, test.park_arg);
	assert_answer(202, "\"id\":7");
	assert_int_equal(test.answered, 0);
	becomes(ERRAND_DONE);
}

TASK_TEST(test_task__without_memory_to_wait_its_state_is_told)
{
	fake_memory_fail_nth(1);
	assert_int_equal(post(10), 202);
	assert_true(fake_memory_failed());
	assert_answer(202, "\"id\":7");
	assert_location("/v1/errands/7");
	assert_null(test.park_arg);
}

TASK_TEST(test_task__where_too_many_wait_its_state_is_told)
{
	test.park_status = VBD_E_TOO_MANY_REQUESTS;
	assert_int_equal(post(10), 202);
	assert_answer(202, "\"id\":7");
}

TASK_TEST(test_task__what_ends_at_once_takes_no_memory_to_wait)
{
	test.errand.state = ERRAND_DONE;
	test.park_status = VBD_E_INTERNAL;
	assert_int_equal(post(10), 201);
	assert_null(test.park_arg);
}

/* --- DELETE that waits ----------------------------------------------------------------------- */

TASK_TEST(test_task__a_deletion_is_told_when_the_record_is_gone)
{
	assert_int_equal(delete_and_wait(10), 0);
	becomes(ERRAND_FAILED);
	assert_int_equal(test.req.reply.status, 0);
	vbd_watch_notify(&test.errand.object.watches, true);
	assert_answer(204, NULL);
}

TASK_TEST(test_task__a_deletion_that_takes_longer_is_under_way)
{
	assert_int_equal(delete_and_wait(0), 202);
	assert_answer(202, "\"id\":7");
	vbd_request_fini(&test.req);
	(void)set_up(NULL);
	assert_int_equal(delete_and_wait(10), 0);
	test.on_timeout(&test.req, test.park_arg);
	assert_answer(202, "\"id\":7");
}

TASK_TEST(test_task__a_deletion_without_memory_to_wait_is_under_way)
{
	fake_memory_fail_nth(1);
	assert_int_equal(delete_and_wait(10), 202);
	assert_true(fake_memory_failed());
	assert_answer(202, "\"id\":7");
}

/* --- cancel ---------------------------------------------------------------------------------- */

static unsigned int cancel_and_wait(unsigned int wait_s)
{
	test.req.wait_ms = UINT64_C(1000) * wait_s;
	test.req.wait_asked = wait_s != 0;
	vbd_task_cancel(&test.req);
	return test.req.reply.status;
}

TASK_TEST(test_task__a_cancel_ends_what_runs_and_keeps_it)
{
	assert_int_equal(cancel_and_wait(10), 0);
	assert_int_equal(test.errand.cancelled, 1);
	becomes(ERRAND_RUNNING);
	assert_int_equal(test.req.reply.status, 0);
	becomes(ERRAND_FAILED);
	assert_answer(200, "\"id\":7");
	assert_false(test.errand.object.deleted);
}

TASK_TEST(test_task__a_cancel_without_a_wait_is_under_way)
{
	assert_int_equal(cancel_and_wait(0), 202);
	assert_answer(202, "\"id\":7");
}

TASK_TEST(test_task__a_cancel_of_what_has_ended_changes_nothing)
{
	test.errand.state = ERRAND_DONE;
	test.errand.object.ended = true;
	assert_int_equal(cancel_and_wait(0), 200);
	assert_answer(200, "\"id\":7");
	assert_int_equal(test.errand.cancelled, 0);
}

TASK_TEST(test_task__a_deletion_answers_who_waits_for_a_cancel)
{
	assert_int_equal(cancel_and_wait(10), 0);
	vbd_watch_notify(&test.errand.object.watches, true);
	assert_answer(404, "the transfer was deleted in the meantime");
}

/* --- requests that start nothing ------------------------------------------------------------- */

static void answer_never(struct vbd_waiter *waiter, enum vbd_wake why)
{
	(void)waiter;
	(void)why;
}

TASK_TEST(test_waiter__a_get_without_memory_to_wait_is_told_so)
{
	struct vbd_waiter waiter = {.answer = answer_never};

	test.req.method = VBD_METHOD_GET;
	fake_memory_fail_nth(1);
	vbd_waiter_run(&waiter, sizeof(waiter), &test.req, &test.errand.object.watches, 10);
	assert_answer(507, "no memory to wait");
}
