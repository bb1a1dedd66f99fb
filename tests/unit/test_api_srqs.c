/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/srqs, over a whole daemon on the fake provider: the request is parked while a call
 * thread registers the memory of the receives. */
#include "api/core/handlers.h"
#include "daemon/core/quota.h"
#include "tests/unit/client.h"

/* The request under test, and what the handler has asked the server for. */
static struct client test;

static void post(struct svc *svc, bool may_not_wait)
{
	test.svc = svc;
	test.may_not_wait = may_not_wait;
	client_prepare(&test, VBD_METHOD_POST, "/v1/srqs");
	test.req.json = json_pack("{s:s}", "name", "x");
	vbd_create_srq(&test.req);
	vbd_request_settle(&test.req);
	assert_int_equal(test.timeout_ms, 0);
	json_decref(test.req.json);
	test.req.json = NULL;
}

static void expect_nothing_made(struct svc *svc)
{
	SVC_UNTIL(svc, vbd_receives_bytes(svc->daemon) == 0);
	assert_int_equal(vbd_registry_count(svc->daemon->srqs), 0);
	assert_int_equal(fake_count("ibv_create_srq"), 0);
	assert_int_equal(fake_live().mrs, 0);
}

SVC_TEST(test_api_srqs__the_answer_comes_when_the_memory_is_registered)
{
	fake_block("ibv_reg_mr");
	post(svc, false);
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
	fake_unblock();
	SVC_UNTIL(svc, test.req.reply.status);
	assert_int_equal(test.req.reply.status, 201);
	assert_int_equal(vbd_registry_count(svc->daemon->srqs), 1);
	assert_int_equal(fake_on_control(), 0);
	vbd_reply_fini(&test.req.reply);
}

SVC_TEST(test_api_srqs__a_failed_registration_is_a_problem)
{
	fake_fail_next("ibv_reg_mr", ENOMEM);
	post(svc, false);
	SVC_UNTIL(svc, test.req.reply.status);
	assert_true(test.req.reply.status >= 400);
	assert_false(test.req.acted);
	vbd_reply_fini(&test.req.reply);
	expect_nothing_made(svc);
}

SVC_TEST(test_api_srqs__a_client_that_leaves_gets_no_queue)
{
	fake_block("ibv_reg_mr");
	post(svc, false);
	test.on_gone(&test.req, test.park_arg);
	fake_unblock();
	expect_nothing_made(svc);
	assert_int_equal(test.req.reply.status, 0);
}

SVC_TEST(test_api_srqs__a_request_that_can_not_wait_makes_nothing)
{
	post(svc, true);
	assert_int_equal(test.req.reply.status, 429);
	assert_false(test.req.acted);
	vbd_reply_fini(&test.req.reply);
	expect_nothing_made(svc);
}
