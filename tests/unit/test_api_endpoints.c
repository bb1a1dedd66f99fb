/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/ud_endpoints, over a whole daemon on the fake provider. */
#include "api/resources/context.h"
#include "api/resources/endpoints.h"
#include "daemon/datagrams/endpoints.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>

/* The endpoint that a request with @body makes; takes @body over. */
static const struct vbd_endpoint *post(struct svc *svc, json_t *body)
{
	struct vbd_api api = {.daemon = svc->daemon};
	struct vbd_request req = {.context = &api, .role = VBD_ROLE_CONTROL, .json = body};
	const struct vbd_endpoint_record *record;

	vbd_create_ud_endpoint(&req);
	assert_int_equal(req.reply.status, 201);
	vbd_reply_fini(&req.reply);
	json_decref(body);
	record = vbd_object_find(svc->daemon->ud_endpoints, "1", &svc->err);
	assert_non_null(record);
	return record->endpoint;
}

static void test_api_endpoints__the_queue_pair_is_ud(void **state)
{
	const struct vbd_endpoint *endpoint = post(*state, json_object());

	assert_int_equal(endpoint->params.qp.transport, VBD_TRANSPORT_UD);
	assert_int_equal(endpoint->qp.ibv_qp->qp_type, IBV_QPT_UD);
}

static void test_api_endpoints__parameters_that_are_not_named_have_their_default(void **state)
{
	const struct vbd_endpoint_params initial = vbd_endpoint_params_default();
	const struct vbd_endpoint *endpoint =
		post(*state, json_pack("{s:{s:i}}", "qp", "rq_depth", 8));

	assert_int_equal(endpoint->params.qp.rq_depth, 8);
	assert_int_equal(endpoint->params.qp.sq_depth, initial.qp.sq_depth);
	assert_int_equal(endpoint->params.qp.service, initial.qp.service);
	assert_int_equal(endpoint->params.qp.transport, VBD_TRANSPORT_UD);
	assert_int_equal(endpoint->params.qkey, initial.qkey);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_api_endpoints__##name, svc_setup, svc_teardown)
		TEST(the_queue_pair_is_ud),
		TEST(parameters_that_are_not_named_have_their_default),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
