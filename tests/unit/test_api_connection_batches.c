/* SPDX-License-Identifier: Apache-2.0 */
/* POST of several connections, over a whole daemon on the fake provider: the memory for them is got
 * over several turns, and all are made in the last one. */
#include "api/api.h"
#include "api/connections/connections.h"
#include "api/core/handlers.h"
#include "api/http/router.h"
#include "daemon/connections/connection_batches.h"
#include "tests/unit/client.h"

#include <jansson.h>

/* As many as a part gets memory for. */
#define PER_PART 64

static struct client test;

static const struct vbd_route *find_route(void)
{
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		if (router.routes[i].create == vbd_create_connection_batch)
			return &router.routes[i];
	}
	return NULL;
}

/* Takes the reference to @body. */
static void post(struct svc *svc, json_t *body)
{
	assert_non_null(body);
	test.svc = svc;
	client_prepare(&test, VBD_METHOD_POST, "/v1/connection_batches");
	test.req.route = find_route();
	assert_non_null(test.req.route);
	test.req.json = body;
	/* A part in each turn, and none in the turn of the request. */
	svc->daemon->turns.budget_ns = 0;
	vbd_create_labelled(&test.req);
}

static void post_count(struct svc *svc, int count)
{
	post(svc, json_pack("{s:i, s:{s:s}, s:[{s:s, s:i, s:s}]}", "count", count, "labels", "job",
			  "bulk", "connections", "dst_addr", "10.0.0.1", "dst_port", 7471, "name",
			  "w"));
}

static void post_list(struct svc *svc, int count)
{
	json_t *list = json_array();

	for (int i = 0; i < count; i++)
		assert_int_equal(json_array_append_new(list, json_pack("{s:s, s:i}", "dst_addr",
								     "10.0.0.1", "dst_port", 7471)),
			0);
	post(svc, json_pack("{s:o}", "connections", list));
}

static uint64_t made(const struct svc *svc)
{
	return vbd_registry_count(svc->daemon->connections);
}

static void turn(struct svc *svc)
{
	vbd_loop_turn(svc->daemon->loop, false);
}

/* Turns until there is an answer, before which there is no connection. Returns the number of turns.
 */
static unsigned int await(struct svc *svc)
{
	unsigned int turns = 0;

	UNIT_UNTIL (test.req.reply.status) {
		assert_int_equal(made(svc), 0);
		assert_int_equal(vbd_registry_count(svc->daemon->connection_batches), 0);
		turn(svc);
		turns++;
	}
	return turns;
}

static void assert_problem(const char *code)
{
	json_t *json = json_loadb(test.req.reply.body, test.req.reply.body_bytes, 0, NULL);

	assert_string_equal(json_string_value(json_object_get(json, "code")), code);
	json_decref(json);
}

static void assert_none_made(const struct svc *svc)
{
	assert_int_equal(made(svc), 0);
	assert_int_equal(svc->daemon->connections->open, 0);
	assert_int_equal(vbd_registry_count(svc->daemon->connection_batches), 0);
}

static int teardown(void **state)
{
	vbd_request_fini(&test.req);
	memset(&test, 0, sizeof(test));
	return svc_teardown(state);
}

#define CONNECTION_BATCHES_TEST(name) TEST_WITH(name, struct svc *svc, svc_setup, teardown)

CONNECTION_BATCHES_TEST(test_api_connection_batches__many_alike_are_made_after_several_turns)
{
	post_count(svc, 1000);
	assert_true(await(svc) > 1000 / PER_PART);
	assert_int_equal(test.req.reply.status, 202);
	assert_int_equal(made(svc), 1000);
	vbd_registry_for_each (object, svc->daemon->connections)
		assert_non_null(object->labels);
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__a_long_list_is_made_after_several_turns)
{
	post_list(svc, VBD_BATCH_MAX);
	assert_true(await(svc) > VBD_BATCH_MAX / PER_PART);
	assert_int_equal(test.req.reply.status, 202);
	assert_int_equal(made(svc), VBD_BATCH_MAX);
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__a_client_that_leaves_before_makes_none)
{
	post_count(svc, 1000);
	turn(svc);
	test.on_gone(&test.req, test.park_arg);
	assert_true(vbd_list_empty(&svc->daemon->turns.waiting));
	assert_none_made(svc);
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__a_name_that_is_taken_meanwhile_refuses_all)
{
	struct vbd_connection_spec spec = svc_spec_to(svc_listen(svc, NULL));

	post_count(svc, 1000);
	turn(svc);
	(void)snprintf(spec.name, sizeof(spec.name), "w-700");
	(void)svc_connect(svc, &spec);
	UNIT_UNTIL (test.req.reply.status)
		turn(svc);
	assert_int_equal(test.req.reply.status, 409);
	assert_problem("name_taken");
	assert_null(vbd_registry_find_name(svc->daemon->connections, "w-1"));
	assert_int_equal(vbd_registry_count(svc->daemon->connection_batches), 0);
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__a_stop_meanwhile_makes_none)
{
	bool stopped = false;

	post_count(svc, 1000);
	turn(svc);
	vbd_daemon_stop(svc->daemon, on_stopped, &stopped);
	(void)await(svc);
	assert_problem("stopping");
	assert_none_made(svc);
	SVC_UNTIL(svc, stopped);
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__what_is_refused_is_refused_at_the_end)
{
	static const int counts[] = {-1, 0, 1001};

	for (size_t i = 0; i < VBD_ARRAY_LEN(counts); i++) {
		post_count(svc, counts[i]);
		(void)await(svc);
		assert_problem("out_of_range");
	}
	post(svc, json_pack("{s:s, s:i}", "connections", "x", "count", 3));
	(void)await(svc);
	assert_problem("wrong_type");
	assert_none_made(svc);
}

CONNECTION_BATCHES_TEST(test_api_connection_batches__without_memory_none_is_made)
{
	post_count(svc, 1000);
	turn(svc);
	fake_memory_fail_nth(10);
	turn(svc);
	fake_memory_fail_nth(0);
	(void)await(svc);
	assert_problem("no_memory");
	assert_none_made(svc);
}
