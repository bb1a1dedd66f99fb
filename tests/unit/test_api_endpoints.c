/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/ud_endpoints, over a whole daemon on the fake provider: the request is parked while a
 * call thread registers the memory of the receives. */
#include "api/core/handlers.h"
#include "api/core/task.h"
#include "tests/unit/client.h"
#include "tests/unit/slabs.h"

/* The request under test. */
static struct client test;

/* Takes @body over. */
static void begin(json_t *body)
{
	static const struct vbd_route route = {.task = &vbd_ud_endpoint_task};

	test.req.json = body;
	test.req.route = &route;
	vbd_task_create(&test.req);
	json_decref(body);
	test.req.json = NULL;
}

static int setup(void **state)
{
	int rc = svc_setup(state);

	test = (struct client){.svc = *state};
	client_prepare(&test, VBD_METHOD_POST, "/v1/ud_endpoints");
	return rc;
}

static int teardown(void **state)
{
	vbd_request_fini(&test.req);
	return svc_teardown(state);
}

#define ENDPOINTS_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

static struct vbd_endpoint_record *find(struct svc *svc)
{
	return svc_find(svc->daemon->ud_endpoints, "1", NULL);
}

/* The endpoint that a request with @body makes; takes @body over. */
static const struct vbd_endpoint *post(struct svc *svc, json_t *body)
{
	begin(body);
	SVC_UNTIL(svc, test.req.reply.status);
	assert_int_equal(test.req.reply.status, 201);
	assert_non_null(find(svc));
	return find(svc)->endpoint;
}

ENDPOINTS_TEST(test_api_endpoints__the_queue_pair_is_ud)
{
	const struct vbd_endpoint *endpoint = post(svc, json_object());

	assert_int_equal(endpoint->params.qp.transport, VBD_TRANSPORT_UD);
	assert_int_equal(endpoint->qp.ibv_qp->qp_type, IBV_QPT_UD);
}

ENDPOINTS_TEST(test_api_endpoints__parameters_that_are_not_named_have_their_default)
{
	const struct vbd_endpoint_params initial = vbd_endpoint_params_default();
	const struct vbd_endpoint *endpoint =
		post(svc, json_pack("{s:{s:i}}", "qp", "rq_depth", 8));

	assert_int_equal(endpoint->params.qp.rq_depth, 8);
	assert_int_equal(endpoint->params.qp.sq_depth, initial.qp.sq_depth);
	assert_int_equal(endpoint->params.qp.service, initial.qp.service);
	assert_int_equal(endpoint->params.qp.transport, VBD_TRANSPORT_UD);
	assert_int_equal(endpoint->params.qkey, initial.qkey);
}

ENDPOINTS_TEST(test_api_endpoints__the_answer_comes_when_it_is_ready)
{
	fake_block("ibv_reg_mr");
	begin(json_object());
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
	assert_int_equal(test.timeout_ms, 0);
	fake_unblock();
	SVC_UNTIL(svc, test.req.reply.status);
	assert_int_equal(test.req.reply.status, 201);
	assert_int_equal(find(svc)->endpoint->state, VBD_ENDPOINT_READY);
	assert_int_equal(fake_on_control(), 0);
}

ENDPOINTS_TEST(test_api_endpoints__a_client_that_does_not_wait_sees_it_open)
{
	test.req.respond_async = true;
	fake_block("ibv_reg_mr");
	begin(json_object());
	assert_int_equal(test.req.reply.status, 202);
	assert_int_equal(find(svc)->endpoint->state, VBD_ENDPOINT_OPENING);
	fake_unblock();
	SVC_UNTIL(svc, find(svc)->endpoint->state == VBD_ENDPOINT_READY);
}

ENDPOINTS_TEST(test_api_endpoints__a_wait_that_is_over_leaves_it_opening)
{
	test.req.wait_asked = true;
	test.req.wait_ms = 5000;
	fake_block("ibv_reg_mr");
	begin(json_object());
	assert_int_equal(test.timeout_ms, 5000);
	test.on_timeout(&test.req, test.park_arg);
	assert_int_equal(test.req.reply.status, 202);
	fake_unblock();
	SVC_UNTIL(svc, find(svc)->endpoint->state == VBD_ENDPOINT_READY);
}

/* A repeat under the same Idempotency-Key gets the state. */
ENDPOINTS_TEST(test_api_endpoints__a_client_that_leaves_does_not_stop_it)
{
	fake_block("ibv_reg_mr");
	begin(json_object());
	test.on_gone(&test.req, test.park_arg);
	assert_int_equal(test.req.reply.status, 202);
	fake_unblock();
	SVC_UNTIL(svc, find(svc)->endpoint->state == VBD_ENDPOINT_READY);
}

ENDPOINTS_TEST(test_api_endpoints__what_fails_is_a_problem_and_leaves_nothing)
{
	static const char *const calls[] = {"ibv_reg_mr", "ibv_create_qp", "ibv_modify_qp"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		client_prepare(&test, VBD_METHOD_POST, "/v1/ud_endpoints");
		fake_fail_next(calls[i], ENOMEM);
		begin(json_pack("{s:s}", "name", "x"));
		SVC_UNTIL(svc, test.req.reply.status);
		assert_true(test.req.reply.status >= 400);
		assert_non_null(memmem(test.req.reply.body, test.req.reply.body_bytes, calls[i],
			strlen(calls[i])));
		assert_null(memmem(test.req.reply.body, test.req.reply.body_bytes, "resource_error",
			strlen("resource_error")));
		assert_false(test.req.acted);
		assert_int_equal(vbd_registry_count(svc->daemon->ud_endpoints), 0);
	}
	SVC_UNTIL(svc, fake_live().qps + slabs_other_mrs(svc->daemon->fabric) == 0);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
}

ENDPOINTS_TEST(test_api_endpoints__one_that_fails_unwatched_stays_with_its_error)
{
	test.req.respond_async = true;
	fake_fail_next("ibv_reg_mr", ENOMEM);
	begin(json_object());
	assert_int_equal(test.req.reply.status, 202);
	SVC_UNTIL(svc, find(svc)->object.ended);
	assert_int_equal(find(svc)->endpoint->state, VBD_ENDPOINT_FAILED);
	assert_string_equal(find(svc)->endpoint->qp.first_error.error.call, "ibv_reg_mr");
}

ENDPOINTS_TEST(test_api_endpoints__one_that_another_client_deletes_is_a_problem)
{
	fake_block("ibv_reg_mr");
	begin(json_object());
	vbd_object_delete(&find(svc)->object);
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
	fake_unblock();
	SVC_UNTIL(svc, test.req.reply.status);
	assert_int_equal(test.req.reply.status, 424);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->ud_endpoints) == 0);
}
