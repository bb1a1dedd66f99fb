/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of all counters, over a whole daemon on the fake provider: who gets which. */
#include "api/resources/context.h"
#include "api/resources/metrics_parts.h"
#include "api/resources/scrape.h"
#include "tests/unit/svc.h"
#include "tests/unit/transport.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 10

/* A document has a letter for each step, and the name of its scope. */
struct letters {
	struct vbd_scrape scrape; /* first */
	unsigned int steps;
};

/* The requests under test. */
static struct {
	struct vbd_api api;
	bool refuse_park;
	unsigned int steps_of_one; /* of a document */
	unsigned int steps;	   /* of all documents */
	unsigned int freed;
	struct {
		struct vbd_request req;
		vbd_request_cb on_gone;
		void *park_arg;
	} sent[REQUESTS];
} test;

static size_t index_of(const struct vbd_request *req)
{
	for (size_t i = 0; i < REQUESTS; i++) {
		if (&test.sent[i].req == req)
			return i;
	}
	fail();
	return 0;
}

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	size_t i = index_of(req);

	(void)timeout_ms;
	(void)on_timeout;
	if (test.refuse_park)
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "too many");
	test.sent[i].on_gone = on_gone;
	test.sent[i].park_arg = arg;
	return VBD_OK;
}

static void answered(struct vbd_request *req)
{
	(void)req;
}

static const struct vbd_transport transport = {
	.header = unit_no_header, .park = park, .answered = answered};

/* --- a kind ---------------------------------------------------------------------------------- */

static bool step(struct vbd_scrape *scrape)
{
	struct letters *letters = VBD_CONTAINER_OF(scrape, struct letters, scrape);
	char text[VBD_NAME_BYTES + 16];

	test.steps++;
	if (++letters->steps < test.steps_of_one)
		return false;
	(void)snprintf(text, sizeof(text), "%u%s%s", scrape->parts,
		scrape->scope ? scrape->scope->name : "", scrape->fresh ? "" : " old");
	scrape->body = vbd_document_create(strdup(text), strlen(text));
	return true;
}

static void reply(struct vbd_request *req, const struct vbd_scrape *scrape)
{
	vbd_reply_shared(req, "text/plain", scrape->body);
}

static void count_free(struct vbd_scrape *scrape)
{
	(void)scrape;
	test.freed++;
}

static const struct vbd_scrape_kind kind = {
	.size_bytes = sizeof(struct letters), .step = step, .reply = reply, .free = count_free};

/* --- requests -------------------------------------------------------------------------------- */

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	test.api.daemon = svc->daemon;
	vbd_list_init(&test.api.scrapes);
	test.steps_of_one = 1;
	svc->daemon->turns.budget_ns = 0;
	return rc;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < REQUESTS; i++)
		vbd_request_fini(&test.sent[i].req);
	return svc_teardown(state);
}

static void ask(struct svc *svc, size_t i, const char *name, enum vbd_role role, unsigned int parts)
{
	struct vbd_request *req = &test.sent[i].req;

	req->transport = &transport;
	req->context = &test.api;
	req->caller = vbd_callers_get(&svc->daemon->callers, name);
	assert_non_null(req->caller);
	req->caller->role = role;
	vbd_scrape_answer(req, &kind, parts);
}

static bool is_answered(size_t i)
{
	return test.sent[i].req.reply.status != 0;
}

static const struct vbd_document *document(size_t i)
{
	assert_int_equal(test.sent[i].req.reply.status, 200);
	assert_non_null(test.sent[i].req.reply.shared);
	return test.sent[i].req.reply.shared;
}

static void assert_told(size_t i, const char *text)
{
	assert_int_equal(document(i)->len_bytes, strlen(text));
	assert_memory_equal(document(i)->bytes, text, strlen(text));
}

/* Turn the loop up to the first step. A turn that waits may take more than one. */
static void until_begun(struct svc *svc)
{
	UNIT_UNTIL (test.steps)
		vbd_loop_turn(svc->daemon->loop, false);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_scrape__all_who_ask_in_time_get_one_document(void **state)
{
	struct svc *svc = *state;

	for (size_t i = 0; i < REQUESTS; i++)
		ask(svc, i, i % 2 ? "reader" : "root", i % 2 ? VBD_ROLE_READ : VBD_ROLE_CONTROL, 0);
	assert_false(is_answered(0));
	SVC_UNTIL(svc, is_answered(0));
	for (size_t i = 0; i < REQUESTS; i++)
		assert_ptr_equal(document(i), document(0));
	assert_int_equal(test.steps, 1);
	assert_int_equal(test.freed, 1);
	assert_told(0, "0");
}

static void test_scrape__no_caller_gets_the_document_of_another_scope(void **state)
{
	static const struct {
		const char *name, *told;
		enum vbd_role role;
		unsigned int parts;
	} asked[] = {
		{"alice", "0alice", VBD_ROLE_OPERATE, 0},
		{"bob", "0bob", VBD_ROLE_OPERATE, 0},
		{"reader", "0", VBD_ROLE_READ, 0},
		{"alice", "0alice", VBD_ROLE_OPERATE, 0},
		{"root", "0", VBD_ROLE_CONTROL, 0},
		{"bob", "1bob", VBD_ROLE_OPERATE, 1},
		{"reader", "1", VBD_ROLE_READ, 1},
		{"gone", "0gone", VBD_ROLE_NONE, 0},
	};
	struct svc *svc = *state;

	for (size_t i = 0; i < VBD_ARRAY_LEN(asked); i++)
		ask(svc, i, asked[i].name, asked[i].role, asked[i].parts);
	for (size_t i = 0; i < VBD_ARRAY_LEN(asked); i++)
		SVC_UNTIL(svc, is_answered(i));
	for (size_t i = 0; i < VBD_ARRAY_LEN(asked); i++)
		assert_told(i, asked[i].told);
	assert_int_equal(test.steps, 6);
}

static void test_scrape__one_who_asks_after_the_beginning_gets_another_document(void **state)
{
	struct svc *svc = *state;

	test.steps_of_one = 3;
	ask(svc, 0, "root", VBD_ROLE_CONTROL, 0);
	until_begun(svc);
	ask(svc, 1, "root", VBD_ROLE_CONTROL, 0);
	SVC_UNTIL(svc, is_answered(0));
	assert_false(is_answered(1));
	SVC_UNTIL(svc, is_answered(1));
	assert_ptr_not_equal(document(0), document(1));
	assert_int_equal(test.steps, 6);
}

static void test_scrape__a_turn_writes_a_part_of_one_document(void **state)
{
	struct svc *svc = *state;

	test.steps_of_one = 4;
	ask(svc, 0, "alice", VBD_ROLE_OPERATE, 0);
	ask(svc, 1, "bob", VBD_ROLE_OPERATE, 0);
	until_begun(svc);
	UNIT_UNTIL (is_answered(0) && is_answered(1)) {
		unsigned int before = test.steps;

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(test.steps - before, 0, 1);
	}
	assert_int_equal(test.steps, 8);
}

static void test_scrape__the_document_is_for_those_who_stay(void **state)
{
	struct svc *svc = *state;

	test.steps_of_one = 2;
	for (size_t i = 0; i < 3; i++)
		ask(svc, i, "root", VBD_ROLE_CONTROL, 0);
	test.sent[0].on_gone(&test.sent[0].req, test.sent[0].park_arg);
	until_begun(svc);
	test.sent[2].on_gone(&test.sent[2].req, test.sent[2].park_arg);
	SVC_UNTIL(svc, is_answered(1));
	assert_false(is_answered(0));
	assert_false(is_answered(2));
}

static void test_scrape__when_all_have_left_it_is_not_written(void **state)
{
	struct svc *svc = *state;

	test.steps_of_one = 2;
	ask(svc, 0, "root", VBD_ROLE_CONTROL, 0);
	test.sent[0].on_gone(&test.sent[0].req, test.sent[0].park_arg);
	assert_int_equal(test.freed, 1);
	ask(svc, 1, "root", VBD_ROLE_CONTROL, 0);
	until_begun(svc);
	test.sent[1].on_gone(&test.sent[1].req, test.sent[1].park_arg);
	assert_int_equal(test.freed, 2);
	svc_turn(svc);
	svc_turn(svc);
	assert_int_equal(test.steps, 1);
}

static void test_scrape__one_that_may_not_wait_gets_its_own_at_once(void **state)
{
	struct svc *svc = *state;

	test.refuse_park = true;
	test.steps_of_one = 3;
	ask(svc, 0, "alice", VBD_ROLE_OPERATE, 0);
	assert_told(0, "0alice old");
	assert_int_equal(test.freed, 1);
}

/* --- single objects in /metrics --------------------------------------------------------------- */

static char *text_of(struct vbd_metrics_text *out)
{
	size_t len_bytes;
	char *text = vbd_metrics_end(out, &len_bytes);

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
	struct vbd_metrics_place at = {0};
	unsigned int steps = 1;

	for (; !vbd_metrics_put_connections(out, svc->daemon, scope, &at); steps++)
		;
	return steps;
}

static void connect_some(struct svc *svc, struct vbd_caller *owner, unsigned int count)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);

	svc->daemon->callers.current = owner;
	for (unsigned int i = 0; i < count; i++)
		(void)svc_connect(svc, &spec);
	svc->daemon->callers.current = NULL;
}

static void test_scrape__connections_are_put_a_hundred_in_a_step(void **state)
{
	struct svc *svc = *state;
	struct vbd_metrics_text out = {0};
	char *text;

	connect_some(svc, NULL, 250);
	/* Six families, of 100, 100 and 50 connections. */
	assert_int_equal(put_connections(svc, NULL, &out), 18);
	text = text_of(&out);
	assert_int_equal(count_in(text, "\nverbsd_connection_info{"), 250);
	assert_int_equal(count_in(text, "\nverbsd_connection_state{"), 250);
	assert_int_equal(count_in(text, "# TYPE verbsd_connection_info "), 1);
	assert_non_null(strstr(text, "\nverbsd_connections_omitted 0\n"));
	free(text);
}

static void test_scrape__connections_of_others_are_neither_put_nor_counted(void **state)
{
	struct svc *svc = *state;
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

static void test_scrape__each_caller_gets_its_own_connections(void **state)
{
	struct svc *svc = *state;
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

static void test_scrape__connections_that_ended_are_not_put(void **state)
{
	struct svc *svc = *state;
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	const struct vbd_connection *ended = svc_connect(svc, &spec);

	SVC_UNTIL(svc, ended->object.ended);
	connect_some(svc, NULL, 2);
	assert_int_equal(count_put_for(svc, NULL), 2);
}

static void begin_family(struct vbd_metrics_text *out, size_t family)
{
	vbd_metrics_family(out, family ? "b" : "a", "gauge", "Buffers.");
}

static void put_buffer(struct vbd_metrics_text *out, const char *id,
	const struct vbd_object *object, size_t family)
{
	(void)object;
	(void)family;
	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("buffer", id)), 1);
}

static void delete_buffer(struct svc *svc, struct vbd_object *object)
{
	struct vbd_buffer *buffer = VBD_CONTAINER_OF(object, struct vbd_buffer, object);

	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
}

static void test_scrape__objects_that_go_between_two_steps_do_no_harm(void **state)
{
	struct svc *svc = *state;
	const struct vbd_metrics_objects buffers = {.registry = svc->daemon->buffers,
		.max = UINT64_MAX,
		.families = 2,
		.begin_family = begin_family,
		.put = put_buffer};
	struct vbd_metrics_text out = {0};
	struct vbd_metrics_place at = {0};
	char *text;

	for (int i = 0; i < 150; i++)
		(void)svc_buffer(svc, "", 1, 0);
	assert_false(vbd_metrics_put_objects(&out, &buffers, &at));
	delete_buffer(svc, vbd_registry_find_id(svc->daemon->buffers, at.after));
	delete_buffer(svc, vbd_registry_after(svc->daemon->buffers, at.after));
	while (!vbd_metrics_put_objects(&out, &buffers, &at))
		;
	text = text_of(&out);
	assert_int_equal(count_in(text, "\na{"), 149);
	assert_int_equal(count_in(text, "\nb{"), 148);
	assert_int_equal(count_in(text, "{buffer=\"1\"} 1\n"), 2);
	assert_int_equal(count_in(text, "{buffer=\"150\"} 1\n"), 2);
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_scrape__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_who_ask_in_time_get_one_document),
		TEST(no_caller_gets_the_document_of_another_scope),
		TEST(one_who_asks_after_the_beginning_gets_another_document),
		TEST(a_turn_writes_a_part_of_one_document),
		TEST(the_document_is_for_those_who_stay),
		TEST(when_all_have_left_it_is_not_written),
		TEST(one_that_may_not_wait_gets_its_own_at_once),
		TEST(connections_are_put_a_hundred_in_a_step),
		TEST(connections_of_others_are_neither_put_nor_counted),
		TEST(each_caller_gets_its_own_connections),
		TEST(connections_that_ended_are_not_put),
		TEST(objects_that_go_between_two_steps_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
