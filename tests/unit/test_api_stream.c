/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of events, over a whole daemon on the fake provider: what a turn sends. */
#include "api/resources/context.h"
#include "api/resources/events.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS 8

static struct {
	struct vbd_api api;
	struct client {
		struct vbd_request req;
		char target[32];
		bool awake; /* the server reads */
		char got[8192];
		size_t got_bytes;
		unsigned int reads; /* that gave bytes */
	} clients[CLIENTS];
} test;

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

static const char *header(struct vbd_request *req, const char *name)
{
	(void)req;
	(void)name;
	return NULL;
}

static const struct vbd_transport transport = {.header = header, .follow = follow, .wake = wake};

static int setup(void **state)
{
	int rc = svc_setup(state);
	struct svc *svc = *state;

	memset(&test, 0, sizeof(test));
	test.api.daemon = svc->daemon;
	for (size_t i = 0; i < CLIENTS && rc == 0; i++) {
		struct client *client = &test.clients[i];

		client->req.transport = &transport;
		client->req.context = &test.api;
		client->req.role = VBD_ROLE_CONTROL;
		(void)snprintf(client->target, sizeof(client->target), "/v1/events/stream");
		assert_int_equal(vbd_uri_parse(client->target, &client->req.uri, NULL), VBD_OK);
		vbd_stream_events(&client->req);
		assert_non_null(client->req.reply.feed.read);
	}
	return rc;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < CLIENTS; i++)
		vbd_request_fini(&test.clients[i].req);
	vbd_event_texts_fini(&test.api.event_texts);
	return svc_teardown(state);
}

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

static void test_stream__all_get_a_burst_in_the_end_without_a_heartbeat(void **state)
{
	struct svc *svc = *state;

	log_burst(svc, 5);
	while (!all_have("event 4")) {
		vbd_loop_turn(svc->daemon->loop, false);
		for (size_t i = 0; i < CLIENTS; i++)
			read_once(&test.clients[i]);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		assert_null(memmem(
			test.clients[i].got, test.clients[i].got_bytes, "\n:\n", strlen("\n:\n")));
}

static void test_stream__a_burst_is_sent_at_once(void **state)
{
	struct svc *svc = *state;

	log_burst(svc, 1);
	for (size_t i = 0; i < CLIENTS; i++) {
		read_once(&test.clients[i]);
		assert_int_equal(test.clients[i].reads, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_stream__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_get_a_burst_in_the_end_without_a_heartbeat),
		TEST(a_burst_is_sent_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
