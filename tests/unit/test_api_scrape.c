/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics over a whole API on the fake provider: when it is answered, and what of single objects
 * is in it. */
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/observe/metrics_parts.h"
#include "tests/unit/rest.h"
#include "tests/unit/transport.h"

/* The request under test. */
static struct {
	struct vbd_request req;
	bool refuse_park;
	vbd_request_cb on_gone;
	void *park_arg;
} test;

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)timeout_ms;
	(void)on_timeout;
	if (test.refuse_park)
		return vbd_error_set(err, VBD_E_STOPPING, "the server is stopping");
	assert_true(req->brief);
	test.on_gone = on_gone;
	test.park_arg = arg;
	return VBD_OK;
}

static const struct vbd_transport transport = {.park = park, .answered = unit_ignore};

static int setup(void **state)
{
	int rc = rest_setup(state);

	memset(&test, 0, sizeof(test));
	return rc;
}

static int teardown(void **state)
{
	vbd_request_fini(&test.req);
	return rest_teardown(state);
}

#define SCRAPE_TEST(name) TEST_WITH(name, struct rest *rest, setup, teardown)

static void ask(struct rest *rest)
{
	rest->svc->daemon->turns.budget_ns = 0;
	test.req.transport = &transport;
	test.req.uri.params[test.req.uri.n_params++] =
		(struct vbd_uri_param){.name = "connections", .value = "1"};
	test.req.context = rest->api;
	test.req.caller = vbd_callers_get(&rest->svc->daemon->callers, "control");
	assert_non_null(test.req.caller);
	vbd_get_metrics(&test.req);
}

static bool says(const char *text)
{
	const struct vbd_reply *reply = &test.req.reply;

	assert_int_equal(reply->status, 200);
	return memmem(reply->body, reply->body_bytes, text, strlen(text)) != NULL;
}

static void client_leaves(struct svc *svc)
{
	test.req.abandoned = true;
	test.on_gone(&test.req, test.park_arg);
	svc_turn(svc);
	svc_turn(svc);
	assert_int_equal(test.req.reply.status, 0);
}

/* --- when it is answered ---------------------------------------------------------------------- */

SCRAPE_TEST(test_scrape__it_has_a_new_snapshot)
{
	ask(rest);
	assert_int_equal(test.req.reply.status, 0);
	SVC_UNTIL(rest->svc, test.req.reply.status);
	assert_true(says("\nverbsd_collector_success{collector=\"kernel\"} 1\n"));
	assert_true(says("\nprocess_open_fds "));
}

SCRAPE_TEST(test_scrape__one_that_may_not_wait_is_answered_at_once)
{
	test.refuse_park = true;
	ask(rest);
	assert_true(says("\nverbsd_collector_success{collector=\"kernel\"} 0\n"));
	assert_false(says("\nprocess_open_fds "));
}

SCRAPE_TEST(test_scrape__a_client_that_leaves_before_the_snapshot_gets_nothing)
{
	ask(rest);
	client_leaves(rest->svc);
}

SCRAPE_TEST(test_scrape__a_client_that_leaves_between_two_steps_gets_nothing)
{
	struct svc *svc = rest->svc;

	ask(rest);
	SVC_UNTIL(svc, !vbd_list_empty(&svc->daemon->turns.waiting));
	client_leaves(svc);
	assert_true(vbd_list_empty(&svc->daemon->turns.waiting));
}

/* --- /v1/stats -------------------------------------------------------------------------------- */

static void get_tag(struct rest *rest, char tag[80])
{
	const char *found;

	assert_int_equal(rest_perform(rest, "GET", "/v1/stats", NULL), 200);
	found = strstr(rest->reply, "\r\nETag: ");
	assert_non_null(found);
	(void)snprintf(tag, 80, "%.*s", (int)strcspn(found + 2, "\r"), found + 2);
}

SCRAPE_TEST(test_stats__the_tag_is_of_what_a_request_does_not_change)
{
	char first[80], again[80], later[80];

	get_tag(rest, first);
	get_tag(rest, again);
	assert_string_equal(first, again);
	(void)svc_buffer(rest->svc, "", 1, 0);
	get_tag(rest, later);
	assert_string_not_equal(first, later);
}

/* --- single objects in /metrics --------------------------------------------------------------- */

static char *text_of(struct vbd_metrics_text *out)
{
	size_t len_bytes;
	char *text = vbd_encode_take(&out->text, &len_bytes);

	assert_non_null(text);
	text = realloc(text, len_bytes + 1);
	assert_non_null(text);
	text[len_bytes] = '\0';
	return text;
}

static unsigned int count_in(const char *text, const char *wanted)
{
	unsigned int count = 0;

	while ((text = strstr(text, wanted))) {
		text += strlen(wanted);
		count++;
	}
	return count;
}

/* Put the connections as @scope sees them; returns the steps. */
static unsigned int put_connections(
	struct svc *svc, const struct vbd_caller *scope, struct vbd_metrics_text *out)
{
	struct vbd_metrics_walk walk = vbd_metrics_connections(svc->daemon, scope);
	unsigned int steps = 1;

	for (; !vbd_metrics_walk(&walk, out); steps++)
		;
	vbd_metrics_put_omitted(out, &walk);
	return steps;
}

static void connect_some(struct svc *svc, struct vbd_caller *owner, unsigned int count)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);

	svc->origin.caller = owner;
	for (unsigned int i = 0; i < count; i++)
		(void)svc_connect(svc, &spec);
	svc->origin.caller = NULL;
}

SCRAPE_TEST(test_scrape__connections_are_put_twenty_in_a_step)
{
	struct svc *svc = rest->svc;
	struct vbd_metrics_text out = {0};
	char *text;

	connect_some(svc, NULL, 250);
	assert_int_equal(put_connections(svc, NULL, &out), 13);
	text = text_of(&out);
	assert_int_equal(count_in(text, "\nverbsd_connection_info{"), 250);
	assert_int_equal(count_in(text, "\nverbsd_connection_state{"), 250);
	assert_int_equal(count_in(text, "# TYPE verbsd_connection_info "), 1);
	assert_non_null(strstr(text, "\nverbsd_connections_omitted 0\n"));
	free(text);
}

SCRAPE_TEST(test_scrape__connections_of_others_are_neither_put_nor_counted)
{
	struct svc *svc = rest->svc;
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(&svc->daemon->callers, "bob");
	struct vbd_metrics_text out = {0};
	char *text;

	alice->role = bob->role = VBD_ROLE_OPERATE;
	connect_some(svc, alice, VBD_METRICS_CONNECTIONS_MAX + 2);
	connect_some(svc, bob, 20);
	(void)put_connections(svc, alice, &out);
	text = text_of(&out);
	assert_int_equal(count_in(text, "\nverbsd_connection_info{"), VBD_METRICS_CONNECTIONS_MAX);
	assert_non_null(strstr(text, "\nverbsd_connections_omitted 2\n"));
	free(text);
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

static unsigned int count_put_for(struct svc *svc, const struct vbd_caller *scope)
{
	struct vbd_metrics_text out = {0};
	unsigned int count;
	char *text;

	(void)put_connections(svc, scope, &out);
	text = text_of(&out);
	count = count_in(text, "\nverbsd_connection_info{");
	free(text);
	return count;
}

SCRAPE_TEST(test_scrape__each_caller_gets_its_own_connections)
{
	struct svc *svc = rest->svc;
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(&svc->daemon->callers, "bob");

	alice->role = bob->role = VBD_ROLE_OPERATE;
	connect_some(svc, bob, 3);
	connect_some(svc, alice, 2);
	assert_int_equal(count_put_for(svc, alice), 2);
	assert_int_equal(count_put_for(svc, bob), 3);
	assert_int_equal(count_put_for(svc, NULL), 5);
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

SCRAPE_TEST(test_scrape__the_page_of_a_caller_has_its_own_connections)
{
	struct vbd_callers *callers = &rest->svc->daemon->callers;
	struct vbd_caller *alice = vbd_callers_get(callers, "alice");
	struct vbd_caller *control = vbd_callers_get(callers, "control");

	(void)rest_pair(rest, "", "");
	connect_some(rest->svc, alice, 3);
	control->role = VBD_ROLE_OPERATE;
	assert_int_equal(rest_perform(rest, "GET", "/metrics?connections=1", NULL), 200);
	assert_int_equal(count_in(rest->reply, "\nverbsd_connection_info{"), 2);
	vbd_caller_unref(alice);
	vbd_caller_unref(control);
}

SCRAPE_TEST(test_scrape__in_many_turns_the_page_is_whole)
{
	uint64_t port;

	(void)rest_pair(rest, "", "");
	port = rest_number(rest_call(rest, 200, "GET", "/v1/listeners/l", NULL), "port");
	for (int i = 0; i < 60; i++)
		(void)rest_call(rest, 201, "POST", "/v1/connections",
			"{'dst_addr':'10.0.0.1','dst_port':%u}", (unsigned int)port);
	rest->svc->daemon->turns.budget_ns = 0;
	assert_int_equal(rest_perform(rest, "GET", "/metrics?connections=1&cqs=1", NULL), 200);
	assert_int_equal(count_in(rest->reply, "\nverbsd_connection_state{"), 122);
	assert_int_equal(count_in(rest->reply, "\nverbsd_connections_omitted 0\n"), 1);
}

SCRAPE_TEST(test_scrape__connections_that_ended_are_not_put)
{
	struct svc *svc = rest->svc;
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	const struct vbd_connection *ended = svc_connect(svc, &spec);

	SVC_UNTIL(svc, ended->object.ended);
	connect_some(svc, NULL, 2);
	assert_int_equal(count_put_for(svc, NULL), 2);
}

static void put_buffer(struct vbd_metrics_text *out, const char *id,
	const struct vbd_object *object, size_t offset)
{
	(void)object;
	(void)offset;
	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("buffer", id)), 1);
}

static void delete_buffer(struct svc *svc, struct vbd_object *object)
{
	struct vbd_buffer *buffer = VBD_CONTAINER_OF(object, struct vbd_buffer, object);

	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
}

SCRAPE_TEST(test_scrape__objects_that_go_between_two_steps_do_no_harm)
{
	struct svc *svc = rest->svc;
	static const struct vbd_metrics_family families[] = {
		{"a", "gauge", "Buffers.", put_buffer, 0},
		{"b", "gauge", "Buffers.", put_buffer, 0},
	};
	struct vbd_metrics_walk walk = {.registry = svc->daemon->buffers,
		.max = UINT64_MAX,
		.families = families,
		.count = VBD_ARRAY_LEN(families)};
	struct vbd_metrics_text out = {0};
	char *text;

	for (int i = 0; i < 150; i++)
		(void)svc_buffer(svc, "", 1, 0);
	assert_false(vbd_metrics_walk(&walk, &out));
	delete_buffer(svc, vbd_registry_find_id(svc->daemon->buffers, walk.after));
	delete_buffer(svc, vbd_registry_after(svc->daemon->buffers, walk.after));
	while (!vbd_metrics_walk(&walk, &out))
		;
	text = text_of(&out);
	assert_int_equal(count_in(text, "\na{"), 149);
	assert_int_equal(count_in(text, "\nb{"), 149);
	assert_int_equal(count_in(text, "{buffer=\"1\"} 1\n"), 2);
	assert_int_equal(count_in(text, "{buffer=\"150\"} 1\n"), 2);
	free(text);
}
