/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"
#include "base/clock.h"

#include <microhttpd.h>

/* --- how long requests took ------------------------------------------------------------------ */

static struct vbd_duration *find_or_make(
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
	struct vbd_duration *pair = find_or_make(durations, operation ? operation : "none", status);

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

/* A stream that is being sent, owned by its MHD_Response. */
struct stream {
	struct vbd_reader reader;
	struct vbd_client *client;
	uint64_t until_ns; /* the whole answer must be sent by then; 0: no matter when */
};

/* MHD closes a connection whose content reader ends with an error. */
static ssize_t break_off(struct vbd_exchange *exchange)
{
	vbd_exchange_look_at(exchange, true);
	vbd_server_run_soon(exchange->client->endpoint);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static uint64_t block_timeout_ms(const struct stream *stream, size_t bytes)
{
	const struct vbd_server *server = stream->client->endpoint->server;
	const uint64_t now_ns = vbd_loop_now_ns(server->loop);
	uint64_t timeout_ms = server->config.progress_timeout_ms * (1 + bytes / VBD_PROGRESS_BYTES);
	uint64_t left_ms;

	if (!stream->until_ns)
		return timeout_ms;
	left_ms = stream->until_ns > now_ns ? (stream->until_ns - now_ns) / VBD_NS_PER_MS : 0;
	return left_ms < timeout_ms ? left_ms : timeout_ms;
}

static ssize_t on_stream_read(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct stream *stream = arg;
	size_t got = stream->reader.read(stream->reader.arg, offset, buf, size);

	stream->client->exchange->sending = true;
	/* MHD calls again when the whole block was sent. */
	vbd_client_set_deadline(stream->client, block_timeout_ms(stream, got));
	return got ? (ssize_t)got : break_off(stream->client->exchange);
}

static void on_stream_free(void *arg)
{
	struct stream *stream = arg;

	if (stream->reader.free)
		stream->reader.free(stream->reader.arg);
	free(stream);
}

/* Make a response of @reader, which is the response's if this succeeds. */
static struct MHD_Response *make_stream(struct vbd_exchange *exchange,
	const struct vbd_reader *reader, size_t block_bytes, uint64_t until_ns)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct MHD_Response *response;

	if (!stream)
		return NULL;
	stream->client = exchange->client;
	stream->reader = *reader;
	stream->until_ns = until_ns;
	response = MHD_create_response_from_callback(
		reader->length_bytes, block_bytes, on_stream_read, stream, on_stream_free);
	if (!response)
		free(stream);
	return response;
}

static size_t read_text(void *arg, uint64_t offset, char *buf, size_t size)
{
	memcpy(buf, (const char *)arg + offset, size); /* MHD asks for no more than there is */
	return size;
}

/* Make a response of a body in memory. One that is longer than a block has a deadline for each
 * block, and one for all of it. */
static struct MHD_Response *make_text(struct vbd_exchange *exchange)
{
	const struct vbd_server *server = exchange->client->endpoint->server;
	struct vbd_reply *reply = &exchange->req.reply;
	const char *fixed = reply->static_body ? reply->static_body : "";
	/* The cast is safe: neither MHD nor read_text() changes the bytes. */
	void *bytes = reply->body ? reply->body : (void *)fixed;
	const struct vbd_reader reader = {.read = read_text,
		.free = reply->body ? free : NULL,
		.arg = bytes,
		.length_bytes = reply->body_bytes};
	struct MHD_Response *response;

	if (reply->body_bytes > TEXT_BLOCK_BYTES)
		response = make_stream(exchange, &reader, TEXT_BLOCK_BYTES,
			vbd_loop_now_ns(server->loop) +
				server->config.answer_timeout_ms * VBD_NS_PER_MS);
	else
		response = MHD_create_response_from_buffer(reply->body_bytes, bytes,
			reply->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (response)
		reply->body = NULL;
	return response;
}

/* A feed that is being sent, owned by its MHD_Response. */
struct feed {
	struct vbd_feed feed;
	struct vbd_exchange *exchange; /* valid: MHD does not read after on_completed() */
};

static ssize_t on_feed_read(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct feed *feed = arg;
	struct vbd_exchange *exchange = feed->exchange;
	const struct vbd_server *server = exchange->client->endpoint->server;
	size_t got;

	(void)offset;
	exchange->sending = true;
	if (exchange->gone)
		return break_off(exchange);
	got = feed->feed.read(feed->feed.arg, buf, size);
	if (got == VBD_FEED_OVER)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (got) {
		/* MHD calls again when these bytes were sent. */
		vbd_client_set_deadline(exchange->client, server->config.progress_timeout_ms);
		return (ssize_t)got;
	}
	if (server->stopping || exchange->client->hung_up)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return vbd_exchange_rest(exchange) ? 0 : break_off(exchange);
}

static void on_feed_free(void *arg)
{
	struct feed *feed = arg;

	feed->feed.free(feed->feed.arg);
	free(feed);
}

static struct MHD_Response *make_feed(struct vbd_exchange *exchange)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	struct MHD_Response *response;

	if (!feed)
		return NULL;
	feed->feed = exchange->req.reply.feed;
	feed->exchange = exchange;
	response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, FEED_BLOCK_BYTES, on_feed_read, feed, on_feed_free);
	if (!response) {
		free(feed);
		return NULL;
	}
	/* Without a body MHD 0.9.75 still sends the last chunk, which the client would parse as the
	 * next answer. For HTTP/1.0 it has no chunks, and closes the connection instead. */
	if (exchange->req.head || exchange->req.reply.status == 304)
		(void)MHD_set_response_options(
			response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	exchange->req.reply.feed = (struct vbd_feed){0};
	return response;
}

/* Make MHD's response; the body that the reply owns moves to the response. */
static struct MHD_Response *make_response(struct vbd_exchange *exchange)
{
	struct vbd_reply *reply = &exchange->req.reply;
	struct MHD_Response *response;

	if (reply->feed.read)
		return make_feed(exchange);
	if (reply->reader.read && reply->reader.length_bytes) {
		response = make_stream(exchange, &reply->reader, STREAM_BLOCK_BYTES, 0);
		if (response)
			reply->reader = (struct vbd_reader){0};
		return response;
	}
	return make_text(exchange);
}

/* True if nginx must pass the answer on as it comes: it collects others in memory and in files. */
static bool is_to_pass(const struct vbd_request *req)
{
	return req->reply.feed.read || req->reply.reader.read || req->wait_asked;
}

static void add_headers(struct vbd_exchange *exchange, struct MHD_Response *response, bool to_pass)
{
	const char *server_id = exchange->client->endpoint->server->config.dispatch.server_id;
	const struct vbd_reply *reply = &exchange->req.reply;

	if (!vbd_reply_find_header(reply, "Cache-Control"))
		(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (to_pass)
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
	const bool to_pass = is_to_pass(&exchange->req); /* before the body moves to MHD */
	struct MHD_Response *response = make_response(exchange);
	enum MHD_Result queued;

	if (!response)
		return false;
	add_headers(exchange, response, to_pass);
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
