/* SPDX-License-Identifier: Apache-2.0 */
/* GET of messages, over a whole daemon on the fake provider; the test plays the transport. */
#include "api/connections/connections.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/task.h"
#include "tests/unit/svc.h"

#define MIB   1048576
#define DEPTH 8

static struct {
	struct vbd_api api;
	struct vbd_request req;
	char ref[24];
	int parked;   /* calls of park */
	int answered; /* parked requests that were answered */
	vbd_request_cb on_timeout, on_gone;
	void *park_arg;
} test;

/* --- a transport ----------------------------------------------------------------------------- */

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	/* A request that waits for its turn has no deadline. */
	assert_int_equal(timeout_ms != 0, on_timeout != NULL);
	(void)req;
	(void)err;
	test.parked++;
	test.on_timeout = on_timeout;
	test.on_gone = on_gone;
	test.park_arg = arg;
	return VBD_OK;
}

static void answered(struct vbd_request *req)
{
	(void)req;
	test.answered++;
}

static const struct vbd_transport transport = {.park = park, .answered = answered};

/* --- connections and messages ---------------------------------------------------------------- */

static struct svc_pair connect_pair(struct svc *svc)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	spec.params.qp.recv_size_bytes = MIB;
	spec.params.qp.rq_depth = DEPTH;
	return svc_pair(svc, svc_listen(svc, &spec));
}

/* Send @count messages of @size_bytes, the bytes of @buffer. */
static void send_messages(struct svc *svc, const struct svc_pair *pair, struct vbd_buffer *buffer,
	unsigned int count, uint64_t size_bytes)
{
	const struct vbd_transfer_spec spec = {
		.qp = &pair->active->conn->qp,
		.buffer = buffer,
		.op = VBD_OP_SEND,
		.length_bytes = size_bytes,
		.timeout_ms = 10000,
	};
	uint64_t target = pair->passive->inbox.last_seq + count;

	for (unsigned int i = 0; i < count; i++) {
		struct vbd_transfer_record *record;

		assert_int_equal(
			vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	}
	SVC_UNTIL(svc, pair->passive->inbox.last_seq == target);
}

static struct vbd_buffer *filled_buffer(struct svc *svc, int byte)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "bytes", MIB, 0);

	memset(UNIT_BYTES(&buffer->mem), byte, MIB);
	return buffer;
}

/* --- requests -------------------------------------------------------------------------------- */

static void get(struct svc *svc, const struct vbd_connection *connection, const char *query)
{
	static const struct vbd_route route = {
		.role = VBD_ROLE_OPERATE, .task = &vbd_connection_task};
	static char target[128];
	struct vbd_error err = {0};

	memset(&test, 0, sizeof(test));
	test.api.daemon = svc->daemon;
	(void)snprintf(
		test.ref, sizeof(test.ref), "%llu", (unsigned long long)connection->object.id);
	(void)snprintf(target, sizeof(target), "/v1/connections/%s/messages%s", test.ref, query);
	test.req = (struct vbd_request){
		.transport = &transport, .context = &test.api, .role = VBD_ROLE_CONTROL};
	test.req.ref = test.ref;
	test.req.route = &route;
	assert_int_equal(vbd_uri_parse(target, &test.req.uri, &err), VBD_OK);
	assert_int_equal(vbd_request_parse_wait(&test.req, &err), VBD_OK);
	vbd_list_messages(&test.req);
}

/* The page of the answer; a new reference. */
static json_t *page(void)
{
	json_t *json;

	assert_int_equal(test.req.reply.status, 200);
	json = json_loadb(test.req.reply.body, test.req.reply.body_bytes, JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	vbd_reply_fini(&test.req.reply);
	vbd_request_fini(&test.req);
	return json;
}

static uint64_t number(const json_t *json, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(json, name));
}

/* --- tests ----------------------------------------------------------------------------------- */

SVC_TEST(test_messages__a_page_has_a_mebibyte_at_most)
{
	struct svc_pair pair = connect_pair(svc);
	uint64_t after = 0;
	unsigned int pages = 0, messages = 0;

	send_messages(svc, &pair, filled_buffer(svc, 0xa5), 7, MIB * 2 / 5);
	do {
		char query[64];
		uint64_t bytes = 0;
		json_t *json, *item;
		size_t at;

		(void)snprintf(
			query, sizeof(query), "?limit=1000&after=%llu", (unsigned long long)after);
		get(svc, pair.passive, query);
		SVC_UNTIL(svc, test.req.reply.status);
		json = page();
		assert_int_equal(number(json, "total"), 7);
		json_array_foreach(json_object_get(json, "items"), at, item)
		{
			bytes += number(item, "length_bytes");
			assert_int_equal(number(item, "seq"), ++messages);
		}
		assert_in_range(bytes, 1, MIB);
		after = number(json, "next");
		json_decref(json);
		pages++;
	} while (after);
	assert_int_equal(messages, 7);
	assert_int_equal(pages, 4);
}

SVC_TEST(test_messages__one_that_is_as_long_as_a_page_comes_alone)
{
	struct svc_pair pair = connect_pair(svc);
	struct vbd_buffer *buffer = filled_buffer(svc, 'x');
	json_t *json, *item;

	send_messages(svc, &pair, buffer, 1, 1);
	send_messages(svc, &pair, buffer, 1, MIB);
	send_messages(svc, &pair, buffer, 1, 1);
	get(svc, pair.passive, "?after=1");
	SVC_UNTIL(svc, test.req.reply.status);
	json = page();
	assert_int_equal(number(json, "next"), 2);
	assert_int_equal(json_array_size(json_object_get(json, "items")), 1);
	item = json_array_get(json_object_get(json, "items"), 0);
	assert_int_equal(json_string_length(json_object_get(item, "data")), MIB);
	assert_string_equal(json_string_value(json_object_get(item, "encoding")), "text");
	json_decref(json);
}

SVC_TEST(test_messages__many_bytes_are_not_encoded_on_the_control_thread)
{
	struct svc_pair pair = connect_pair(svc);

	send_messages(svc, &pair, filled_buffer(svc, 1), 1, MIB);
	get(svc, pair.passive, "?encoding=text");
	assert_int_equal(test.req.reply.status, 0);
	assert_int_equal(test.parked, 1);
	/* The page is a copy: its message may go meanwhile. */
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 1, &svc->err), VBD_OK);
	SVC_UNTIL(svc, test.answered);
	json_decref(page());
}

SVC_TEST(test_messages__few_bytes_are_answered_at_once)
{
	struct svc_pair pair = connect_pair(svc);

	send_messages(svc, &pair, filled_buffer(svc, 1), 3, 100);
	get(svc, pair.passive, "");
	assert_int_equal(test.parked, 0);
	json_decref(page());
}

SVC_TEST(test_messages__a_long_poll_gets_many_bytes)
{
	struct svc_pair pair = connect_pair(svc);
	struct vbd_buffer *buffer = filled_buffer(svc, 1);
	json_t *json;

	get(svc, pair.passive, "?wait_ms=5000");
	assert_int_equal(test.parked, 1);
	assert_non_null(test.on_timeout);
	send_messages(svc, &pair, buffer, 1, MIB);
	assert_int_equal(test.parked, 2);
	assert_null(test.on_timeout);
	SVC_UNTIL(svc, test.answered);
	json = page();
	assert_int_equal(json_array_size(json_object_get(json, "items")), 1);
	json_decref(json);
}

SVC_TEST(test_messages__who_waits_gets_a_page_when_the_connection_ends)
{
	struct svc_pair pair = connect_pair(svc);
	json_t *json;

	get(svc, pair.passive, "?wait_ms=60000");
	assert_int_equal(test.parked, 1);
	svc_restart(svc);
	assert_int_equal(test.answered, 1);
	json = page();
	assert_int_equal(json_array_size(json_object_get(json, "items")), 0);
	json_decref(json);
}

SVC_TEST(test_messages__a_client_may_leave_while_its_page_is_written)
{
	struct svc_pair pair = connect_pair(svc);

	send_messages(svc, &pair, filled_buffer(svc, 1), 1, MIB);
	get(svc, pair.passive, "");
	assert_int_equal(test.parked, 1);
	test.on_gone(&test.req, test.park_arg);
	vbd_request_fini(&test.req);
	memset(&test.req, 0xa5, sizeof(test.req));
	/* The pool works in order. */
	get(svc, pair.passive, "");
	SVC_UNTIL(svc, test.answered);
	json_decref(page());
}
