/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a long event log, over a whole daemon on the fake provider: searched over several turns.
 */
#include "api/core/common_json.h"
#include "api/core/handlers.h"
#include "tests/unit/client.h"

/* Several times what a part looks at. */
#define EVENTS 7000

static struct client test;

static uint64_t log_event(struct svc *svc, enum vbd_event_type type)
{
	return vbd_eventlog_append(svc->daemon->eventlog, &(const struct vbd_event){.type = type},
		"event of the test");
}

static void ask(struct svc *svc, const char *target, uint64_t wait_ms)
{
	test.svc = svc;
	client_prepare(&test, VBD_METHOD_GET, target);
	test.req.wait_ms = wait_ms;
	vbd_list_events(&test.req);
	/* A request that waits for its turn has no deadline. */
	assert_int_equal(test.timeout_ms != 0, test.on_timeout != NULL);
}

static json_t *body(void)
{
	json_t *json = json_loadb(
		test.req.reply.body, test.req.reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);

	assert_int_equal(test.req.reply.status, 200);
	assert_non_null(json);
	vbd_request_fini(&test.req);
	(void)json_object_del(json, "now_ns");
	return json;
}

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	for (int i = 0; i < EVENTS && rc == 0; i++)
		(void)log_event(svc, VBD_EVENT_DAEMON_STARTED);
	return rc;
}

#define EVENTS_TEST(name) TEST_WITH(name, struct svc *svc, setup, svc_teardown)

EVENTS_TEST(test_api_events__a_long_search_takes_several_turns)
{
	json_t *at_once, *in_turns;

	(void)log_event(svc, VBD_EVENT_DAEMON_STOPPING);
	svc->daemon->turns.budget_ns = UINT64_MAX;
	ask(svc, "/v1/events?type=daemon_stopping&after=oldest", 0);
	assert_int_equal(client_await(&test), 0);
	at_once = body();
	assert_int_equal(json_array_size(json_object_get(at_once, "items")), 1);
	svc->daemon->turns.budget_ns = 0;
	ask(svc, "/v1/events?type=daemon_stopping&after=oldest", 0);
	assert_true(client_await(&test) >= EVENTS / 2000);
	in_turns = body();
	assert_true(json_equal(at_once, in_turns));
	json_decref(at_once);
	json_decref(in_turns);
}

EVENTS_TEST(test_api_events__a_long_page_is_written_over_several_turns)
{
	json_t *at_once, *in_turns;

	svc->daemon->turns.budget_ns = UINT64_MAX;
	ask(svc, "/v1/events?limit=1000&after=oldest", 0);
	at_once = body();
	assert_int_equal(json_array_size(json_object_get(at_once, "items")), 1000);
	svc->daemon->turns.budget_ns = 0;
	ask(svc, "/v1/events?limit=1000&after=oldest", 0);
	assert_true(client_await(&test) >= 10);
	in_turns = body();
	assert_true(json_equal(at_once, in_turns));
	json_decref(at_once);
	json_decref(in_turns);
}

EVENTS_TEST(test_api_events__a_page_that_just_fits_ends_with_the_log)
{
	uint64_t last;
	json_t *page;

	(void)log_event(svc, VBD_EVENT_DAEMON_STOPPING);
	last = log_event(svc, VBD_EVENT_DAEMON_STARTED);
	ask(svc, "/v1/events?type=daemon_stopping&after=oldest&limit=1", 0);
	(void)client_await(&test);
	page = body();
	assert_int_equal(json_integer_value(json_object_get(page, "last")), last);
	assert_non_null(strrchr(json_string_value(json_object_get(page, "next")), '-'));
	assert_int_equal(
		strtoull(strrchr(json_string_value(json_object_get(page, "next")), '-') + 1, NULL,
			10),
		last);
	json_decref(page);
}

EVENTS_TEST(test_api_events__events_that_go_meanwhile_are_told)
{
	json_t *page;

	svc->daemon->turns.budget_ns = 0;
	ask(svc, "/v1/events?type=daemon_stopping", 0);
	for (uint64_t i = 0; i <= svc->config.records.events; i++)
		(void)log_event(svc, VBD_EVENT_DAEMON_STARTED);
	(void)client_await(&test);
	page = body();
	assert_true(json_is_true(json_object_get(page, "compacted")));
	json_decref(page);
}

EVENTS_TEST(test_api_events__after_a_long_search_a_request_waits)
{
	json_t *page;

	svc->daemon->turns.budget_ns = 0;
	ask(svc, "/v1/events?type=daemon_stopping&after=oldest", 60000);
	for (int i = 0; i < 20; i++)
		vbd_loop_turn(svc->daemon->loop, false);
	assert_int_equal(test.req.reply.status, 0);
	(void)log_event(svc, VBD_EVENT_DAEMON_STARTED);
	assert_int_equal(test.req.reply.status, 0);
	(void)log_event(svc, VBD_EVENT_DAEMON_STOPPING);
	page = body();
	assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
	json_decref(page);
}

EVENTS_TEST(test_api_events__a_client_may_leave_during_a_search)
{
	svc->daemon->turns.budget_ns = 0;
	ask(svc, "/v1/events?limit=1000&after=oldest", 0);
	vbd_loop_turn(svc->daemon->loop, false);
	vbd_loop_turn(svc->daemon->loop, false);
	test.on_gone(&test.req, test.park_arg);
	vbd_loop_turn(svc->daemon->loop, false);
	assert_int_equal(test.req.reply.status, 0);
}

EVENTS_TEST(test_api_events__who_waits_is_told_that_the_daemon_stops)
{
	ask(svc, "/v1/events?type=connection_requested&after=now", 60000);
	assert_int_equal(test.req.reply.status, 0);
	svc_restart(svc);
	assert_int_equal(test.req.reply.status, 503);
	assert_non_null(memmem(test.req.reply.body, test.req.reply.body_bytes,
		"\"code\":\"stopping\"", strlen("\"code\":\"stopping\"")));
	vbd_request_fini(&test.req);
}
