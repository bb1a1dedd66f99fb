/* SPDX-License-Identifier: Apache-2.0 */
/* Long pages of lists, over a whole daemon on the fake provider: written over several turns. */
#include "api/core/common_json.h"
#include "api/http/page.h"
#include "tests/unit/client.h"

#define BUFFERS 250

/* The request under test. */
static struct client test;

static unsigned int encoded;

static void encode(struct vbd_encoder *out, const void *item)
{
	encoded++;
	vbd_put_object(out, item);
}

static const struct vbd_member members[] = {{"id", true, VBD_ROLE_READ},
	{"name", true, VBD_ROLE_READ}, {"owner", true, VBD_ROLE_CONTROL},
	{"labels", true, VBD_ROLE_READ}, {"labels.*", true, VBD_ROLE_READ},
	{NULL, false, VBD_ROLE_NONE}};
static const struct vbd_page_source source = {.members = members, .encode = encode};

/* --- a list that counts the objects over which it walks ----------------------------------------
 */

static unsigned int walked_over;

static uint64_t state_of(const void *item)
{
	(void)item;
	walked_over++;
	return 0;
}

static const struct vbd_page_state states[] = {{"ready", false}, {NULL, false}};
static const struct vbd_page_column columns[] = {VBD_COLUMN_NAME, {NULL}};
static const struct vbd_page_source counting = {.members = members,
	.encode = encode,
	.states = states,
	.state_of = state_of,
	.columns = columns};

static void list_of(struct svc *svc, const struct vbd_page_source *of, const char *target,
	struct vbd_caller *caller, enum vbd_role role)
{
	walked_over = 0;
	test.svc = svc;
	client_prepare(&test, VBD_METHOD_GET, target);
	test.req.role = role;
	test.req.caller = vbd_caller_ref(caller);
	vbd_page_reply(&test.req, "a-1", of, NULL, svc->daemon->buffers);
}

static void list(struct svc *svc, const char *target, enum vbd_role role)
{
	list_of(svc, &source, target, NULL, role);
}

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	if (rc == 0)
		svc->daemon->turns.budget_ns = 0;
	for (int i = 0; i < BUFFERS && rc == 0; i++)
		(void)svc_buffer(svc, "", 1, 0);
	return rc;
}

static int teardown(void **state)
{
	vbd_reply_fini(&test.req.reply);
	return svc_teardown(state);
}

#define PAGES_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

static json_t *body(void)
{
	json_t *json = json_loadb(
		test.req.reply.body, test.req.reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);

	assert_int_equal(test.req.reply.status, 200);
	assert_non_null(json);
	vbd_reply_fini(&test.req.reply);
	return json;
}

PAGES_TEST(test_api_pages__a_long_one_is_the_same_as_in_one_piece)
{
	json_t *whole, *sliced;

	for (int role = VBD_ROLE_READ; role <= VBD_ROLE_CONTROL; role++) {
		test.may_not_wait = true;
		list(svc, "/v1/buffers?limit=230", (enum vbd_role)role);
		whole = body();
		test.may_not_wait = false;
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

PAGES_TEST(test_api_pages__without_time_a_turn_writes_a_few_items)
{
	encoded = 0;
	list(svc, "/v1/buffers?limit=100", VBD_ROLE_READ);
	UNIT_UNTIL (test.req.reply.status) {
		unsigned int before = encoded;

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(encoded - before, 0, 25);
	}
	assert_int_equal(encoded, 100);
}

PAGES_TEST(test_api_pages__a_turn_with_time_writes_one_at_once)
{
	svc->daemon->turns.budget_ns = UINT64_MAX;
	list(svc, "/v1/buffers?limit=100", VBD_ROLE_READ);
	json_decref(body());
}

PAGES_TEST(test_api_pages__what_is_gone_meanwhile_is_left_out)
{
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

PAGES_TEST(test_api_pages__a_client_that_leaves_ends_it)
{
	list(svc, "/v1/buffers?limit=1000", VBD_ROLE_CONTROL);
	test.on_gone(&test.req, test.park_arg);
	svc_turn(svc);
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
}

/* Returns `total`. The ids of the items are from @first on, each @step above the one before. */
static json_int_t assert_items(size_t count, json_int_t first, json_int_t step)
{
	json_t *json = body(), *items = json_object_get(json, "items");
	json_int_t total = json_integer_value(json_object_get(json, "total"));

	assert_int_equal(json_array_size(items), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(items, i), "id")),
			first + (json_int_t)i * step);
	json_decref(json);
	return total;
}

static void follow(struct svc *svc, const char *target)
{
	json_t *json = body();
	char text[400];

	(void)snprintf(text, sizeof(text), "%s&after=%s", target,
		json_string_value(json_object_get(json, "next")));
	json_decref(json);
	list_of(svc, &counting, text, NULL, VBD_ROLE_READ);
}

PAGES_TEST(test_api_pages__a_page_walks_over_its_own_items_only)
{
	svc->daemon->turns.budget_ns = UINT64_MAX;
	list_of(svc, &counting, "/v1/buffers?limit=10", NULL, VBD_ROLE_READ);
	assert_in_range(walked_over, 10, 11);
	follow(svc, "/v1/buffers?limit=10");
	assert_in_range(walked_over, 10, 11);
	assert_int_equal(assert_items(10, 11, 1), BUFFERS);
	list_of(svc, &counting, "/v1/buffers?limit=10&sort=-id", NULL, VBD_ROLE_READ);
	follow(svc, "/v1/buffers?limit=10&sort=-id");
	assert_in_range(walked_over, 10, 11);
	assert_int_equal(assert_items(10, BUFFERS - 10, -1), BUFFERS);
}

PAGES_TEST(test_api_pages__the_total_is_of_what_the_caller_sees)
{
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(&svc->daemon->callers, "bob");

	svc->daemon->turns.budget_ns = UINT64_MAX;
	alice->role = bob->role = VBD_ROLE_OPERATE;
	svc->origin.caller = alice;
	(void)svc_buffer(svc, "hers", 1, 0);
	svc->origin.caller = NULL;
	list_of(svc, &counting, "/v1/buffers?limit=1", alice, VBD_ROLE_OPERATE);
	assert_int_equal(assert_items(1, 1, 1), BUFFERS + 1);
	list_of(svc, &counting, "/v1/buffers?limit=1", bob, VBD_ROLE_OPERATE);
	assert_int_equal(assert_items(1, 1, 1), BUFFERS);
	assert_int_equal(vbd_buffer_delete((struct vbd_buffer *)vbd_registry_find_id(
						   svc->daemon->buffers, BUFFERS + 1),
				 &svc->err),
		VBD_OK);
	list_of(svc, &counting, "/v1/buffers?limit=1", alice, VBD_ROLE_OPERATE);
	assert_int_equal(assert_items(1, 1, 1), BUFFERS);
	vbd_caller_unref(test.req.caller);
	test.req.caller = NULL;
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

PAGES_TEST(test_api_pages__a_filter_walks_over_a_thousand_in_a_turn)
{
	for (int i = BUFFERS; i < 2500; i++)
		(void)svc_buffer(svc, i == 2400 ? "last" : "", 1, 0);
	list_of(svc, &counting, "/v1/buffers?name=last", NULL, VBD_ROLE_READ);
	UNIT_UNTIL (test.req.reply.status) {
		unsigned int before = walked_over;

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(walked_over - before, 0, 1000);
	}
	assert_int_equal(walked_over, 2500);
	assert_int_equal(assert_items(1, 2401, 1), 1);
}

PAGES_TEST(test_api_pages__sorting_keeps_the_first_of_many)
{
	char name[16];

	svc->daemon->turns.budget_ns = UINT64_MAX;
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "b%03d", 299 - i);
		(void)svc_buffer(svc, name, 1, 0);
	}
	list_of(svc, &counting, "/v1/buffers?limit=7&sort=-name", NULL, VBD_ROLE_READ);
	assert_int_equal(assert_items(7, BUFFERS + 1, 1), BUFFERS + 300);
	list_of(svc, &counting, "/v1/buffers?limit=260&sort=name", NULL, VBD_ROLE_READ);
	follow(svc, "/v1/buffers?limit=5&sort=name");
	assert_int_equal(assert_items(5, BUFFERS + 300 - 10, -1), BUFFERS + 300);
}
