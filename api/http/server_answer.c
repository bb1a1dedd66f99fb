/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"
#include "base/clock.h"

#include <microhttpd.h>

/* --- how long requests took ------------------------------------------------------------------ */

static struct vbd_duration *get_duration(
	struct vbd_durations *durations, const char *operation, unsigned int status)
{
	struct vbd_duration **at = &durations->first;

	while (*at && ((*at)->status != status || strcmp((*at)->operation, operation) != 0))
		at = &(*at)->next;
	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (*at) {
		(*at)->operation = operation;
		(*at)->status = status;
	}
	return *at;
}

void vbd_durations_add(struct vbd_durations *durations, const char *operation, unsigned int status,
	uint64_t took_ns)
{
	struct vbd_duration *pair = get_duration(durations, operation ? operation : "none", status);

	vbd_histogram_add(&durations->all, took_ns);
	if (pair)
		vbd_histogram_add(&pair->times, took_ns);
}

void vbd_durations_fini(struct vbd_durations *durations)
{
	struct vbd_duration *pair;

	while ((pair = durations->first)) {
		durations->first = pair->next;
		free(pair);
	}
	*durations = (struct vbd_durations){0};
}

/* --- answers --------------------------------------------------------------------------------- */

#define STREAM_BLOCK_BYTES ((size_t)262144)
/* A longer body in memory is passed on in blocks, so that the client's progress can be seen. */
#define TEXT_BLOCK_BYTES ((size_t)VBD_PROGRESS_BYTES)
/* Small: there may be a thousand feeds, and each has a block. */
#define FEED_BLOCK_BYTES ((size_t)4096)

/* MHD reads no body after it has told the end of the request, so the body stays the reply's. */

/* MHD closes a connection whose content reader ends with an error. */
static ssize_t abort_answer(struct vbd_exchange *exchange)
{
	vbd_exchange_look_at(exchange, true);
	vbd_server_run_soon(exchange->client->endpoint);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static uint64_t block_timeout_ms(const struct vbd_exchange *exchange, size_t bytes)
{
	const struct vbd_server *server = exchange->client->endpoint->server;
	const uint64_t now_ns = vbd_loop_now_ns(server->loop), until_ns = exchange->until_ns;
	uint64_t timeout_ms = server->config.progress_timeout_ms * (1 + bytes / VBD_PROGRESS_BYTES);
	uint64_t left_ms;

	if (!until_ns)
		return timeout_ms;
	left_ms = until_ns > now_ns ? (until_ns - now_ns) / VBD_NS_PER_MS : 0;
	return left_ms < timeout_ms ? left_ms : timeout_ms;
}

static const char *body_text(const struct vbd_reply *reply)
{
	const char *fixed = reply->static_body ? reply->static_body : "";

	return reply->body ? reply->body : fixed;
}

static ssize_t read_body(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct vbd_exchange *exchange = arg;
	const struct vbd_reply *reply = &exchange->req.reply;
	size_t got = size; /* MHD asks for no more than there is */

	if (reply->reader.read)
		got = reply->reader.read(reply->reader.arg, offset, buf, size);
	else
		memcpy(buf, body_text(reply) + offset, size);
	exchange->sending = true;
	/* MHD calls again when the whole block was sent. */
	vbd_client_set_deadline(exchange->client, block_timeout_ms(exchange, got));
	return got ? (ssize_t)got : abort_answer(exchange);
}

static ssize_t read_feed(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct vbd_exchange *exchange = arg;
	const struct vbd_server *server = exchange->client->endpoint->server;
	const struct vbd_feed *feed = &exchange->req.reply.feed;
	size_t got;

	(void)offset;
	exchange->sending = true;
	if (exchange->gone)
		return abort_answer(exchange);
	got = feed->read(feed->arg, buf, size);
	if (got == VBD_FEED_OVER)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (got) {
		/* MHD calls again when these bytes were sent. */
		vbd_client_set_deadline(exchange->client, server->config.progress_timeout_ms);
		return (ssize_t)got;
	}
	if (server->stopping || exchange->client->hung_up)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return vbd_exchange_rest(exchange) ? 0 : abort_answer(exchange);
}

static struct MHD_Response *make_feed(struct vbd_exchange *exchange)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, FEED_BLOCK_BYTES, read_feed, exchange, NULL);

	/* Without a body MHD 0.9.75 still sends the last chunk, which the client would parse as the
	 * next answer. For HTTP/1.0 it has no chunks, and closes the connection instead. */
	if (response && (exchange->req.head || exchange->req.reply.status == 304))
		(void)MHD_set_response_options(
			response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	return response;
}

static struct MHD_Response *make_response(struct vbd_exchange *exchange)
{
	const struct vbd_server *server = exchange->client->endpoint->server;
	const struct vbd_reply *reply = &exchange->req.reply;

	if (reply->feed.read)
		return make_feed(exchange);
	if (reply->reader.read && reply->reader.length_bytes)
		return MHD_create_response_from_callback(
			reply->reader.length_bytes, STREAM_BLOCK_BYTES, read_body, exchange, NULL);
	if (reply->body_bytes <= TEXT_BLOCK_BYTES) /* the cast is safe: MHD changes no bytes */
		return MHD_create_response_from_buffer(
			reply->body_bytes, (void *)body_text(reply), MHD_RESPMEM_PERSISTENT);
	exchange->until_ns =
		vbd_loop_now_ns(server->loop) + server->config.answer_timeout_ms * VBD_NS_PER_MS;
	return MHD_create_response_from_callback(
		reply->body_bytes, TEXT_BLOCK_BYTES, read_body, exchange, NULL);
}

/* True if nginx must pass the answer on as it comes: it collects others in memory and in files. */
static bool must_not_be_buffered(const struct vbd_request *req)
{
	return req->reply.feed.read || req->reply.reader.read || req->wait_asked;
}

static void add_headers(struct vbd_exchange *exchange, struct MHD_Response *response)
{
	const char *server_id = exchange->client->endpoint->server->config.dispatch.server_id;
	const struct vbd_reply *reply = &exchange->req.reply;

	if (!vbd_reply_find_header(reply, "Cache-Control"))
		(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (must_not_be_buffered(&exchange->req))
		(void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
	if (server_id)
		(void)MHD_add_response_header(response, "Verbsd-Server", server_id);
	if (reply->content_type)
		(void)MHD_add_response_header(response, "Content-Type", reply->content_type);
	if (reply->close || exchange->client->endpoint->server->stopping)
		(void)MHD_add_response_header(response, "Connection", "close");
	for (size_t i = 0; i < reply->n_headers; i++)
		(void)MHD_add_response_header(
			response, reply->headers[i].name, reply->headers[i].value);
}

static void count_answer(struct vbd_exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;
	const struct vbd_route *route = exchange->req.route;

	vbd_durations_add(&server->stats.durations, route ? route->operation : NULL,
		exchange->req.reply.status, vbd_clock_mono_ns() - exchange->begun_ns);
}

bool vbd_exchange_send_answer(struct vbd_exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;
	const struct vbd_reply *reply = &exchange->req.reply;
	struct MHD_Response *response = make_response(exchange);
	enum MHD_Result queued;

	if (!response)
		return false;
	add_headers(exchange, response);
	vbd_client_set_deadline(exchange->client, server->config.progress_timeout_ms);
	count_answer(exchange);
	exchange->client->answered = true;
	vbd_seat_set_tried(server->admission, &exchange->client->seat);
	exchange->queued = true;
	vbd_exchange_look_at(exchange, false);
	queued = MHD_queue_response(exchange->mhd, reply->status, response);
	MHD_destroy_response(response);
	return queued == MHD_YES;
}
