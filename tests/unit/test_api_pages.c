/* SPDX-License-Identifier: Apache-2.0 */
/* Long pages of lists, over a whole daemon on the fake provider: written over several turns. */
#include "api/http/page.h"
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "daemon/memory/buffers.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define BUFFERS 250

/* The request under test. */
static struct {
	struct vbd_request req;
	char target[80];
	bool refuse_park;
	vbd_request_cb on_gone;
	void *park_arg;
} test;

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)req;
	(void)timeout_ms;
	(void)on_timeout;
	if (test.refuse_park)
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "too many");
	test.on_gone = on_gone;
	test.park_arg = arg;
	return VBD_OK;
}

static void answered(struct vbd_request *req)
{
	(void)req;
}

static const struct vbd_transport transport = {.park = park, .answered = answered};

static void encode(struct vbd_encoder *out, const void *item)
{
	vbd_put_object(out, item);
}

static const struct vbd_member members[] = {{"id", true, VBD_ROLE_READ},
	{"name", true, VBD_ROLE_READ}, {"owner", true, VBD_ROLE_CONTROL},
	{"labels", true, VBD_ROLE_READ}, {"labels.*", true, VBD_ROLE_READ},
	{NULL, false, VBD_ROLE_NONE}};
static const struct vbd_page_source source = {.members = members, .encode = encode};

static void list(struct svc *svc, const char *target, enum vbd_role role)
{
	memset(&test.req, 0, sizeof(test.req));
	test.req.transport = &transport;
	test.req.method = VBD_METHOD_GET;
	test.req.role = role;
	(void)snprintf(test.target, sizeof(test.target), "%s", target);
	assert_int_equal(vbd_uri_parse(test.target, &test.req.uri, &svc->err), VBD_OK);
	vbd_page_reply(&test.req, &source, NULL, svc->daemon->buffers);
}

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	for (int i = 0; i < BUFFERS && rc == 0; i++)
		(void)svc_buffer(svc, "", 1, 0);
	return rc;
}

static int teardown(void **state)
{
	vbd_reply_fini(&test.req.reply);
	return svc_teardown(state);
}

static json_t *body(void)
{
	json_t *json = json_loadb(
		test.req.reply.body, test.req.reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);

	assert_int_equal(test.req.reply.status, 200);
	assert_non_null(json);
	vbd_reply_fini(&test.req.reply);
	return json;
}

static void test_api_pages__a_long_one_is_the_same_as_in_one_piece(void **state)
{
	struct svc *svc = *state;
	json_t *whole, *sliced;

	for (int role = VBD_ROLE_READ; role <= VBD_ROLE_CONTROL; role++) {
		test.refuse_park = true;
		list(svc, "/v1/buffers?limit=230", (enum vbd_role)role);
		whole = body();
		test.refuse_park = false;
		list(svc, "/v1/buffers?limit=230", (enum vbd_role)role);
		assert_int_equal(test.req.reply.status, 0);
		SVC_UNTIL(svc, test.req.reply.status);
		sliced = body();
		assert_int_equal(json_array_size(json_object_get(sliced, "items")), 230);
		assert_true(json_equal(whole, sliced));
		json_decref(whole);
		json_decref(sliced);
	}
}

static void test_api_pages__a_short_one_needs_no_turn(void **state)
{
	list(*state, "/v1/buffers?limit=100", VBD_ROLE_READ);
	json_decref(body());
}

static void test_api_pages__what_is_gone_meanwhile_is_left_out(void **state)
{
	struct svc *svc = *state;
	struct vbd_object *last = vbd_registry_find_id(svc->daemon->buffers, BUFFERS);
	json_t *json;

	list(svc, "/v1/buffers?limit=1000", VBD_ROLE_CONTROL);
	vbd_object_delete(last);
	SVC_UNTIL(svc, test.req.reply.status);
	json = body();
	assert_int_equal(json_integer_value(json_object_get(json, "total")), BUFFERS);
	assert_in_range(json_array_size(json_object_get(json, "items")), BUFFERS - 1, BUFFERS);
	json_decref(json);
}

static void test_api_pages__a_client_that_leaves_ends_it(void **state)
{
	struct svc *svc = *state;

	list(svc, "/v1/buffers?limit=1000", VBD_ROLE_CONTROL);
	test.on_gone(&test.req, test.park_arg);
	svc_turn(svc);
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_api_pages__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_long_one_is_the_same_as_in_one_piece),
		TEST(a_short_one_needs_no_turn),
		TEST(what_is_gone_meanwhile_is_left_out),
		TEST(a_client_that_leaves_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
