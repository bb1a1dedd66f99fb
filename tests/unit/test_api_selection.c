/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on many selected objects, over a whole daemon on the fake provider: the objects are
 * looked for over several turns. */
#include "api/api.h"
#include "api/core/handlers.h"
#include "api/http/router.h"
#include "tests/unit/client.h"

#include <jansson.h>

/* More than a part looks at. */
#define BUFFERS 2100

static struct client test;

static const struct vbd_route *route_of(const char *pattern)
{
	const struct vbd_router router = vbd_routes();

	for (size_t i = 0; i < router.n_routes; i++) {
		if (router.routes[i].method == VBD_METHOD_DELETE &&
			strcmp(router.routes[i].pattern, pattern) == 0)
			return &router.routes[i];
	}
	return NULL;
}

static void delete_buffers(struct svc *svc, const char *target)
{
	test.svc = svc;
	client_prepare(&test, VBD_METHOD_DELETE, target);
	test.req.route = route_of("/v1/objects");
	assert_non_null(test.req.route);
	vbd_delete_selected(&test.req);
}

static json_int_t number(const char *name)
{
	json_t *json = json_loadb(
		test.req.reply.body, test.req.reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);
	json_int_t value = json_integer_value(json_object_get(json, name));

	assert_int_equal(test.req.reply.status, 200);
	json_decref(json);
	return value;
}

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	for (int i = 0; i < BUFFERS && rc == 0; i++)
		(void)svc_buffer(svc, "", 1, 0);
	return rc;
}

static int teardown(void **state)
{
	vbd_request_fini(&test.req);
	return svc_teardown(state);
}

#define SELECTION_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

SELECTION_TEST(test_api_selection__many_objects_are_looked_for_over_several_turns)
{
	svc->daemon->turns.budget_ns = 0;
	delete_buffers(svc, "/v1/objects?kind=buffer&all=true&dry_run=true");
	assert_true(client_await(&test) >= BUFFERS / 1000);
	assert_int_equal(number("selected"), BUFFERS);
	assert_int_equal(svc->daemon->buffers->open, BUFFERS);
}

SELECTION_TEST(test_api_selection__what_comes_meanwhile_is_not_selected)
{
	svc->daemon->turns.budget_ns = 0;
	delete_buffers(svc, "/v1/objects?kind=buffer&all=true");
	(void)svc_buffer(svc, "late", 1, 0);
	(void)client_await(&test);
	assert_int_equal(number("selected"), BUFFERS);
	SVC_UNTIL(svc, svc->daemon->buffers->open == 1);
}

SELECTION_TEST(test_api_selection__a_client_that_leaves_ends_nothing)
{
	svc->daemon->turns.budget_ns = 0;
	delete_buffers(svc, "/v1/objects?kind=buffer&all=true");
	test.on_gone(&test.req, test.park_arg);
	for (int i = 0; i < 5; i++)
		vbd_loop_turn(svc->daemon->loop, false);
	assert_int_equal(svc->daemon->buffers->open, BUFFERS);
}
