/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of events, over a whole daemon on the fake provider: what a turn sends. */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "tests/unit/svc.h"

#define CLIENTS 20

static struct {
	struct vbd_api api;
	struct client {
		struct vbd_request req;
		char target[64];
		bool awake; /* the server reads */
		char got[8192];
		size_t got_bytes;
		unsigned int reads; /* that gave bytes */
	} clients[CLIENTS];
} test;

static unsigned int timer_sets;

void __real_vbd_timer_set(struct vbd_timer *timer, uint64_t after_ms);
void __wrap_vbd_timer_set(struct vbd_timer *timer, uint64_t after_ms);

void __wrap_vbd_timer_set(struct vbd_timer *timer, uint64_t after_ms)
{
	timer_sets++;
	__real_vbd_timer_set(timer, after_ms);
}

static enum vbd_status follow(struct vbd_request *req, struct vbd_error *err)
{
	(void)req;
	(void)err;
	return VBD_OK;
}

static void wake(struct vbd_request *req)
{
	VBD_CONTAINER_OF(req, struct client, req)->awake = true;
}

static const struct vbd_transport transport = {.follow = follow, .wake = wake};

static void begin(struct client *client, const char *target)
{
	client->req.transport = &transport;
	client->req.context = &test.api;
	client->req.role = VBD_ROLE_CONTROL;
	(void)snprintf(client->target, sizeof(client->target), "%s", target);
	assert_int_equal(vbd_uri_parse(client->target, &client->req.uri, NULL), VBD_OK);
	vbd_stream_events(&client->req);
	assert_non_null(client->req.reply.feed.read);
}

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	test.api.daemon = svc->daemon;
	vbd_streams_init(&test.api.streams);
	for (size_t i = 0; i < CLIENTS && rc == 0; i++)
		begin(&test.clients[i], "/v1/events/stream");
	return rc;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < CLIENTS; i++)
		vbd_request_fini(&test.clients[i].req);
	vbd_turns_drop(&test.api.streams.steps);
	vbd_event_texts_fini(&test.api.event_texts);
	return svc_teardown(state);
}

#define STREAM_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

/* As the server does: a client that gets nothing sleeps until the stream wakes it. */
static void read_once(struct client *client)
{
	const struct vbd_feed *feed = &client->req.reply.feed;
	size_t got;

	if (!client->awake)
		return;
	got = feed->read(feed->arg, client->got + client->got_bytes, 200);
	client->awake = got > 0;
	client->reads += got > 0;
	client->got_bytes += got;
	assert_true(client->got_bytes + 200 <= sizeof(client->got));
}

static void log_burst(struct svc *svc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		(void)vbd_eventlog_append(svc->daemon->eventlog,
			&(const struct vbd_event){.type = VBD_EVENT_DAEMON_STARTED}, "event %u", i);
}

static bool all_have(const char *text)
{
	for (size_t i = 0; i < CLIENTS; i++) {
		const struct client *client = &test.clients[i];

		if (!memmem(client->got, client->got_bytes, text, strlen(text)))
			return false;
	}
	return true;
}

STREAM_TEST(test_stream__all_get_a_burst_in_the_end_without_a_heartbeat)
{
	log_burst(svc, 5);
	UNIT_UNTIL (all_have("event 4")) {
		vbd_loop_turn(svc->daemon->loop, false);
		for (size_t i = 0; i < CLIENTS; i++)
			read_once(&test.clients[i]);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		assert_null(memmem(
			test.clients[i].got, test.clients[i].got_bytes, "\n:\n", strlen("\n:\n")));
}

/* Proxies close a stream that says nothing, also while events come that the filter holds back. */
STREAM_TEST(test_stream__events_that_are_held_back_put_off_no_heartbeat)
{
	struct client client = {.awake = true};
	unsigned int sets;

	begin(&client, "/v1/events/stream?type=device_removed");
	read_once(&client);
	assert_int_equal(client.reads, 1);
	sets = timer_sets;
	log_burst(svc, 3);
	client.awake = true;
	read_once(&client);
	assert_int_equal(client.reads, 1);
	assert_int_equal(timer_sets, sets);
	vbd_request_fini(&client.req);
}

static unsigned int awake(void)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CLIENTS; i++)
		count += test.clients[i].awake;
	return count;
}

/* Returns for how many there was something. */
static unsigned int read_all(void)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CLIENTS; i++) {
		unsigned int reads = test.clients[i].reads;

		read_once(&test.clients[i]);
		count += test.clients[i].reads - reads;
	}
	return count;
}

/* Each event exactly once, and in order. */
static void assert_has_burst(const struct client *client, unsigned int count)
{
	const char *at = client->got;

	for (unsigned int i = 0; i < count; i++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "\"event %u\"", i);
		at = strstr(at, text);
		assert_non_null(at);
		at += strlen(text);
		assert_null(strstr(at, text));
	}
}

STREAM_TEST(test_stream__without_time_a_turn_reads_for_a_few)
{
	svc->daemon->turns.budget_ns = 0;
	log_burst(svc, 5);
	assert_int_equal(awake(), CLIENTS);
	assert_int_equal(read_all(), 0);
	assert_int_equal(awake(), 0);
	UNIT_UNTIL (all_have("event 4")) {
		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(read_all(), 0, VBD_STREAMS_PER_TURN);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		assert_has_burst(&test.clients[i], 5);
}

STREAM_TEST(test_stream__an_event_does_not_wake_who_waits_for_its_turn)
{
	svc->daemon->turns.budget_ns = 0;
	log_burst(svc, 1);
	(void)read_all();
	log_burst(svc, 1);
	assert_int_equal(awake(), 0);
}

STREAM_TEST(test_stream__who_waits_for_its_turn_may_leave)
{
	svc->daemon->turns.budget_ns = 0;
	log_burst(svc, 1);
	(void)read_all();
	for (size_t i = 1; i < CLIENTS; i++) {
		vbd_request_fini(&test.clients[i].req);
		memset(&test.clients[i], 0, sizeof(test.clients[i]));
	}
	UNIT_UNTIL (test.clients[0].reads) {
		vbd_loop_turn(svc->daemon->loop, false);
		read_once(&test.clients[0]);
	}
}

/* The place is kept between the turns, in a log in which nothing matches but the last event. */
STREAM_TEST(test_stream__a_long_search_takes_several_turns)
{
	static const struct vbd_event last = {.type = VBD_EVENT_DAEMON_STOPPING};
	struct client *client = &test.clients[0];
	unsigned int turns = 0;

	vbd_request_fini(&client->req);
	memset(client, 0, sizeof(*client));
	log_burst(svc, 3500);
	(void)vbd_eventlog_append(svc->daemon->eventlog, &last, "the last one");
	begin(client, "/v1/events/stream?after=oldest&type=daemon_stopping");
	svc->daemon->turns.budget_ns = UINT64_MAX;
	client->awake = true;
	UNIT_UNTIL (
		memmem(client->got, client->got_bytes, "the last one", strlen("the last one"))) {
		if (!client->awake) {
			turns++;
			vbd_loop_turn(svc->daemon->loop, false);
		}
		read_once(client);
	}
	assert_true(turns >= 3);
}

STREAM_TEST(test_stream__a_burst_is_sent_at_once)
{
	svc->daemon->turns.budget_ns = UINT64_MAX;
	log_burst(svc, 1);
	for (size_t i = 0; i < CLIENTS; i++) {
		read_once(&test.clients[i]);
		assert_int_equal(test.clients[i].reads, 1);
	}
}
