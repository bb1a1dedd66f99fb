/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names here: a client is a connection of the HTTP kind; an exchange is one request on it with its
 * answer. "0.9.75" is the libmicrohttpd whose behaviour is described.
 */
#include "api/server.h"

#include "api/linger.h"
#include "api/wire.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A refused request with a longer body gets its answer before the body. */
#define EARLY_BYTES UINT64_C(65536)
/* A body that is not wanted is read and dropped up to this; beyond it the connection is cut. */
#define UNWANTED_BYTES_MAX UINT64_C(67108864)
/* What a body must bring, or an answer take, in each progress_timeout_ms: 2 KiB/s at 30 s. */
#define PROGRESS_BYTES UINT64_C(65536)
/* Holds a request's head, and is the unit in which bodies come in. */
#define CLIENT_MEMORY_BYTES ((size_t)65536)
#define STREAM_BLOCK_BYTES  ((size_t)262144)
/* There may be a thousand feeds, each with a block of its own. */
#define FEED_BLOCK_BYTES ((size_t)4096)

struct endpoint {
	struct vbd_server *server;
	struct MHD_Daemon *mhd;
	bool is_unix;
	bool run_again; /* something that MHD notices only when it runs */
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer;
};

struct vbd_server {
	struct vbd_loop *loop;
	struct vbd_server_config config;
	struct vbd_dispatch *dispatch;
	struct vbd_linger *linger;
	struct endpoint endpoints[2];
	struct vbd_link clients;
	struct vbd_link parked; /* of struct exchange */
	struct vbd_link feeds;	/* of struct exchange */
	struct vbd_server_stats stats;
	bool stopping;
	bool stopped_told;
	struct vbd_timer *stop_timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

struct client {
	struct vbd_link link;
	struct endpoint *endpoint;
	int fd;
	struct exchange
		*exchange; /* the request at hand, from its first line on; NULL between two */
	bool unread;	   /* was answered before its request was read to the end */
	struct vbd_timer *timer;
	uint64_t deadline_ns; /* 0: none */
	uint64_t armed_ns;    /* when the timer fires; 0: not set */
	struct vbd_auth_peer peer;
	char local_addr[INET6_ADDRSTRLEN];
	char name[72];
};

struct exchange {
	struct vbd_request req; /* first */
	struct client *client;
	struct MHD_Connection *mhd;
	bool begun;	/* the head has been looked at */
	bool ran;	/* the handler has been called, or was not needed */
	bool suspended; /* MHD does not look at the connection */
	bool gone;	/* the client left */
	bool is_feed;	/* its answer goes on as it comes */
	uint64_t got_bytes;
	uint64_t unwanted_bytes; /* of got_bytes, after there was an answer */
	uint64_t progress_bytes; /* got_bytes when the deadline was set */
	struct vbd_link link;	 /* parked, or a feed */
	struct vbd_fd_watch *hangup;
	struct vbd_timer *timeout;
	vbd_request_cb on_timeout;
	vbd_request_cb on_gone;
	void *park_arg;
	struct vbd_wire wire;
	char *path;    /* raw, without the query; behind target */
	char target[]; /* decoded in place */
};

/* --- deadlines of a client ------------------------------------------------------------------- */

static void on_client_timer(void *arg)
{
	struct client *client = arg;
	uint64_t now_ns = vbd_loop_now_ns(client->endpoint->server->loop);

	client->armed_ns = 0;
	if (!client->deadline_ns)
		return;
	if (now_ns < client->deadline_ns) {
		client->armed_ns = client->deadline_ns;
		vbd_timer_set(client->timer,
			(client->deadline_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS);
		return;
	}
	client->deadline_ns = 0;
	if (client->exchange) {
		client->endpoint->server->stats.too_slow++;
		vbd_log(VBD_LOG_INFO, client->name, "too slow: the connection is cut");
	}
	/* MHD sees the end of the connection and cleans up: it can't be told to. */
	(void)shutdown(client->fd, SHUT_RDWR);
}

/* A deadline that moves away does not touch the timer, which finds that out when it fires: so a
 * busy connection costs no timer work. */
static void set_deadline(struct client *client, uint64_t timeout_ms)
{
	uint64_t now_ns = vbd_loop_now_ns(client->endpoint->server->loop);

	client->deadline_ns = now_ns + timeout_ms * VBD_NS_PER_MS;
	if (client->armed_ns && client->armed_ns <= client->deadline_ns)
		return;
	client->armed_ns = client->deadline_ns;
	vbd_timer_set(client->timer, timeout_ms);
}

static void clear_deadline(struct client *client)
{
	client->deadline_ns = 0;
}

/* --- running MHD ----------------------------------------------------------------------------- */

/* Whatever happens in callbacks, MHD itself is only run from the loop, never from inside itself. */
static void run_soon(struct endpoint *endpoint)
{
	vbd_timer_set(endpoint->timer, 0);
}

static void run(struct endpoint *endpoint)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	endpoint->run_again = false;
	(void)MHD_run(endpoint->mhd);
	if (endpoint->run_again)
		run_soon(endpoint);
	else if (MHD_get_timeout(endpoint->mhd, &timeout_ms) == MHD_YES)
		vbd_timer_set(endpoint->timer, timeout_ms);
	else
		vbd_timer_clear(endpoint->timer);
}

static void on_endpoint_ready(unsigned int events, void *arg)
{
	(void)events;
	run(arg);
}

static void on_endpoint_timer(void *arg)
{
	run(arg);
}

/* --- parked requests ------------------------------------------------------------------------- */

static void unpark(struct exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;

	if (!vbd_list_empty(&exchange->link)) {
		vbd_list_remove(&exchange->link);
		if (exchange->is_feed)
			server->stats.feeds--;
		else
			server->stats.parked--;
	}
	vbd_fd_watch_stop(exchange->hangup);
	exchange->hangup = NULL;
	vbd_timer_destroy(exchange->timeout);
	exchange->timeout = NULL;
}

static void resume(struct exchange *exchange)
{
	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	MHD_resume_connection(exchange->mhd);
	run_soon(exchange->client->endpoint);
}

/* Tells the waiter that nobody waits; its reply, if it makes one, is not sent by itself. */
static void abandon(struct exchange *exchange)
{
	unpark(exchange);
	exchange->req.abandoned = true;
	exchange->on_gone(&exchange->req, exchange->park_arg);
}

static void on_hangup(unsigned int events, void *arg)
{
	struct exchange *exchange = arg;

	(void)events;
	exchange->gone = true;
	abandon(exchange);
	resume(exchange); /* MHD is deaf to a suspended connection: it would stay for ever */
}

static void reply_internal(struct vbd_request *req, const char *text)
{
	struct vbd_error err = {0};

	vbd_log(VBD_LOG_ERROR, req->path, "%s", text);
	(void)vbd_error_set(&err, VBD_E_INTERNAL, "%s", text);
	vbd_reply_problem(req, &err);
}

static void on_park_timeout(void *arg)
{
	struct exchange *exchange = arg;

	exchange->on_timeout(&exchange->req, exchange->park_arg);
	if (!exchange->req.reply.status)
		reply_internal(&exchange->req, "the handler did not answer at its deadline");
}

static enum vbd_status check_may_park(struct vbd_server *server, struct vbd_error *err)
{
	if (server->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the server is stopping");
	if (server->stats.parked < server->config.parked_max)
		return VBD_OK;
	if (err && err->status == VBD_OK)
		err->limit = server->config.parked_max;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED, "%u requests are waiting already",
		server->config.parked_max);
}

static enum vbd_status transport_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	struct exchange *exchange = VBD_CONTAINER_OF(req, struct exchange, req);
	struct vbd_server *server = exchange->client->endpoint->server;
	enum vbd_status status = check_may_park(server, err);

	if (status == VBD_OK)
		status = vbd_fd_watch_start(server->loop, exchange->client->fd, VBD_FD_HANGUP,
			on_hangup, exchange, &exchange->hangup, err);
	if (status == VBD_OK && timeout_ms)
		status = vbd_timer_create(
			server->loop, on_park_timeout, exchange, &exchange->timeout, err);
	if (status != VBD_OK) {
		unpark(exchange);
		return status;
	}
	if (timeout_ms)
		vbd_timer_set(exchange->timeout, timeout_ms);
	exchange->on_timeout = on_timeout;
	exchange->on_gone = on_gone;
	exchange->park_arg = arg;
	vbd_list_append(&server->parked, &exchange->link);
	server->stats.parked++;
	return VBD_OK;
}

static void transport_answered(struct vbd_request *req)
{
	struct exchange *exchange = VBD_CONTAINER_OF(req, struct exchange, req);

	unpark(exchange);
	resume(exchange);
}

static const char *transport_header(struct vbd_request *req, const char *name)
{
	struct exchange *exchange = VBD_CONTAINER_OF(req, struct exchange, req);

	return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

static enum vbd_status transport_may_feed(struct vbd_request *req, struct vbd_error *err)
{
	struct exchange *exchange = VBD_CONTAINER_OF(req, struct exchange, req);
	const struct vbd_server *server = exchange->client->endpoint->server;

	if (server->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the server is stopping");
	if (server->stats.feeds < server->config.feeds_max)
		return VBD_OK;
	if (err && err->status == VBD_OK)
		err->limit = server->config.feeds_max;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED, "%u clients follow the events already",
		server->config.feeds_max);
}

/* A feed that had nothing to say may have something now. */
static void wake_feed(struct exchange *exchange)
{
	vbd_fd_watch_stop(exchange->hangup);
	exchange->hangup = NULL;
	resume(exchange);
}

static void transport_wake(struct vbd_request *req)
{
	wake_feed(VBD_CONTAINER_OF(req, struct exchange, req));
}

static const struct vbd_transport transport = {
	.header = transport_header,
	.park = transport_park,
	.answered = transport_answered,
	.may_feed = transport_may_feed,
	.wake = transport_wake,
};

/* --- answers --------------------------------------------------------------------------------- */

/* A stream while it is sent; MHD owns it. */
struct stream {
	struct vbd_reader reader;
	struct client *client;
};

static ssize_t on_stream_read(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct stream *stream = arg;
	size_t got = stream->reader.read(stream->reader.arg, offset, buf, size);

	/* MHD comes back when the client has taken the last block. */
	set_deadline(stream->client, stream->client->endpoint->server->config.progress_timeout_ms *
					     (1 + got / PROGRESS_BYTES));
	return got ? (ssize_t)got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void on_stream_free(void *arg)
{
	struct stream *stream = arg;

	if (stream->reader.free)
		stream->reader.free(stream->reader.arg);
	free(stream);
}

static struct MHD_Response *make_stream(struct exchange *exchange)
{
	struct vbd_reply *reply = &exchange->req.reply;
	struct stream *stream = calloc(1, sizeof(*stream));
	struct MHD_Response *response;

	if (!stream)
		return NULL;
	stream->client = exchange->client;
	stream->reader = reply->reader;
	response = MHD_create_response_from_callback(reply->reader.length_bytes, STREAM_BLOCK_BYTES,
		on_stream_read, stream, on_stream_free);
	if (!response) {
		free(stream);
		return NULL;
	}
	reply->reader = (struct vbd_reader){0};
	return response;
}

/* A feed while it is sent; MHD owns it. */
struct feed {
	struct vbd_feed feed;
	struct exchange *exchange; /* MHD asks for no bytes after on_completed() */
};

static void on_feed_hangup(unsigned int events, void *arg)
{
	struct exchange *exchange = arg;

	(void)events;
	exchange->gone = true;
	wake_feed(exchange);
}

/* Nothing to say: MHD is not to ask again before there is. Only a hang-up is listened for. */
static ssize_t rest_feed(struct exchange *exchange)
{
	struct client *client = exchange->client;

	clear_deadline(client);
	if (vbd_fd_watch_start(client->endpoint->server->loop, client->fd, VBD_FD_HANGUP,
		    on_feed_hangup, exchange, &exchange->hangup, NULL) != VBD_OK)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	exchange->suspended = true;
	MHD_suspend_connection(exchange->mhd);
	client->endpoint->run_again = true; /* as in finish() */
	return 0;
}

static ssize_t on_feed_read(void *arg, uint64_t offset, char *buf, size_t size)
{
	struct feed *feed = arg;
	struct exchange *exchange = feed->exchange;
	const struct vbd_server *server = exchange->client->endpoint->server;
	size_t got;

	(void)offset;
	if (exchange->gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	got = feed->feed.read(feed->feed.arg, buf, size);
	if (got) {
		/* MHD comes back when the client has taken it. */
		set_deadline(exchange->client, server->config.progress_timeout_ms);
		return (ssize_t)got;
	}
	return server->stopping ? MHD_CONTENT_READER_END_OF_STREAM : rest_feed(exchange);
}

static void on_feed_free(void *arg)
{
	struct feed *feed = arg;

	feed->feed.free(feed->feed.arg);
	free(feed);
}

static struct MHD_Response *make_feed(struct exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;
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
	exchange->req.reply.feed = (struct vbd_feed){0};
	vbd_list_append(&server->feeds, &exchange->link);
	exchange->is_feed = true;
	server->stats.feeds++;
	return response;
}

/* What the reply owns passes to the response. */
static struct MHD_Response *make_response(struct exchange *exchange)
{
	struct vbd_reply *reply = &exchange->req.reply;
	struct MHD_Response *response;

	if (reply->feed.read)
		return make_feed(exchange);

	if (reply->reader.read && reply->reader.length_bytes)
		return make_stream(exchange);
	if (reply->body) {
		response = MHD_create_response_from_buffer(
			reply->body_bytes, reply->body, MHD_RESPMEM_MUST_FREE);
		if (response)
			reply->body = NULL;
		return response;
	}
	/* MHD takes the bytes as changeable and does not change them. */
	return MHD_create_response_from_buffer(reply->body_bytes,
		(void *)(reply->static_body ? reply->static_body : ""), MHD_RESPMEM_PERSISTENT);
}

static void add_headers(struct exchange *exchange, struct MHD_Response *response)
{
	const struct vbd_reply *reply = &exchange->req.reply;

	if (!vbd_reply_find_header(reply, "Cache-Control"))
		(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (reply->content_type)
		(void)MHD_add_response_header(response, "Content-Type", reply->content_type);
	if (reply->close || exchange->client->endpoint->server->stopping)
		(void)MHD_add_response_header(response, "Connection", "close");
	for (size_t i = 0; i < reply->n_headers; i++)
		(void)MHD_add_response_header(
			response, reply->headers[i].name, reply->headers[i].value);
}

static void count_answer(struct vbd_server *server, unsigned int status)
{
	if (status < 300)
		server->stats.responses_2xx++;
	else if (status < 400)
		server->stats.responses_3xx++;
	else if (status < 500)
		server->stats.responses_4xx++;
	else
		server->stats.responses_5xx++;
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;
	const struct vbd_reply *reply = &exchange->req.reply;
	uint64_t body_bytes = reply->reader.read ? 0 : reply->body_bytes;
	struct MHD_Response *response = make_response(exchange);
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	add_headers(exchange, response);
	set_deadline(exchange->client,
		server->config.progress_timeout_ms * (1 + body_bytes / PROGRESS_BYTES));
	count_answer(server, reply->status);
	queued = MHD_queue_response(exchange->mhd, reply->status, response);
	MHD_destroy_response(response);
	return queued;
}

/* --- requests -------------------------------------------------------------------------------- */

static struct client *client_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* The request line is there, not decoded yet. What this returns is the exchange from then on. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *mhd)
{
	struct client *client = client_of(mhd);
	struct exchange *exchange;
	size_t len;

	(void)arg;
	if (!client || !target)
		return NULL;
	len = strlen(target);
	exchange = calloc(1, sizeof(*exchange) + 2 * (len + 1));
	if (!exchange)
		return NULL;
	memcpy(exchange->target, target, len + 1);
	exchange->path = exchange->target + len + 1;
	memcpy(exchange->path, target, strcspn(target, "?"));
	exchange->client = client;
	exchange->mhd = mhd;
	vbd_list_init(&exchange->link);
	vbd_wire_target(&exchange->wire, target);
	if (client->deadline_ns >
		vbd_loop_now_ns(client->endpoint->server->loop) +
			client->endpoint->server->config.header_timeout_ms * VBD_NS_PER_MS)
		set_deadline(client, client->endpoint->server->config.header_timeout_ms);
	client->exchange = exchange;
	return exchange;
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name,
	size_t name_bytes, const char *value, size_t value_bytes)
{
	(void)kind;
	vbd_wire_header(arg, name, name_bytes, value ? value : name + name_bytes + 1, value_bytes);
	return MHD_YES;
}

static enum vbd_status check_wire(
	struct exchange *exchange, const char *method, const char *version, struct vbd_error *err)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	vbd_wire_begin(&exchange->wire, method, version);
	(void)MHD_get_connection_values_n(
		exchange->mhd, MHD_HEADER_KIND, on_header, &exchange->wire);
	return vbd_wire_end(&exchange->wire, method, info ? info->header_size : 0,
		&exchange->req.content_bytes, err);
}

/* A refusal whose body is not worth waiting for is sent at once, and ends the connection. */
static bool answer_early(struct exchange *exchange)
{
	struct vbd_request *req = &exchange->req;

	if (!req->reply.status)
		return false;
	return req->reply.close || req->content_bytes > EARLY_BYTES ||
	       vbd_request_header(req, "Expect");
}

static enum MHD_Result begin(struct exchange *exchange, const char *method, const char *version)
{
	struct vbd_request *req = &exchange->req;
	struct client *client = exchange->client;
	struct vbd_server *server = client->endpoint->server;
	struct vbd_error err = {0};
	enum vbd_status status;

	exchange->begun = true;
	server->stats.requests++;
	req->transport = &transport;
	req->path = exchange->path;
	(void)snprintf(req->client, sizeof(req->client), "%s", client->name);
	status = check_wire(exchange, method, version, &err);
	if (status == VBD_OK && server->stopping)
		status = vbd_error_set(&err, VBD_E_STOPPING, "the server is stopping");
	if (status == VBD_OK) {
		vbd_dispatch_head(server->dispatch, req, method, exchange->target, &client->peer);
	} else {
		req->reply.close = true;
		vbd_reply_problem(req, &err);
	}
	if (req->content_bytes)
		set_deadline(client, server->config.progress_timeout_ms);
	if (!answer_early(exchange))
		return MHD_YES;
	client->unread = true;
	return send_answer(exchange);
}

static enum MHD_Result take_body(struct exchange *exchange, const char *bytes, size_t len_bytes)
{
	struct vbd_server *server = exchange->client->endpoint->server;

	exchange->got_bytes += len_bytes;
	if (exchange->got_bytes - exchange->progress_bytes >= PROGRESS_BYTES) {
		exchange->progress_bytes = exchange->got_bytes;
		set_deadline(exchange->client, server->config.progress_timeout_ms);
	}
	if (!exchange->req.reply.status)
		vbd_dispatch_body(server->dispatch, &exchange->req, bytes, len_bytes);
	else
		exchange->unwanted_bytes += len_bytes;
	return exchange->unwanted_bytes > UNWANTED_BYTES_MAX ? MHD_NO : MHD_YES;
}

/* The request is complete; called again when a parked one is resumed. */
static enum MHD_Result finish(struct exchange *exchange)
{
	struct vbd_request *req = &exchange->req;

	if (!exchange->ran) {
		exchange->ran = true;
		clear_deadline(exchange->client);
		vbd_dispatch_run(exchange->client->endpoint->server->dispatch, req);
	}
	if (exchange->gone)
		return MHD_NO;
	if (req->reply.status)
		return send_answer(exchange);
	exchange->suspended = true;
	MHD_suspend_connection(exchange->mhd);
	/* Before 1.0.3, MHD may skip ready connections in a run in which one is suspended. */
	exchange->client->endpoint->run_again = true;
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **request_context)
{
	struct exchange *exchange = *request_context;
	enum MHD_Result result;

	(void)arg;
	(void)mhd;
	(void)url; /* decoded too generously: the raw target was kept */
	if (!exchange)
		return MHD_NO;
	if (!exchange->begun)
		return begin(exchange, method, version);
	if (!*upload_bytes)
		return finish(exchange);
	result = take_body(exchange, upload, *upload_bytes);
	*upload_bytes = 0;
	return result;
}

/*
 * A client that sends its last request and the end of its stream at once: MHD takes what it reads
 * for all there is, since it was less than asked for (recv_param_adapter() in 0.9.75), and would
 * not see the end before the idle deadline.
 */
static bool has_hung_up(const struct client *client)
{
	char byte;

	return recv(client->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **request_context,
	enum MHD_RequestTerminationCode why)
{
	struct exchange *exchange = *request_context;
	struct client *client;

	(void)arg;
	(void)mhd;
	(void)why;
	if (!exchange)
		return;
	*request_context = NULL;
	client = exchange->client;
	unpark(exchange);
	vbd_request_fini(&exchange->req);
	free(exchange);
	client->exchange = NULL;
	/* Requests that were sent along with this one are taken up before the next turn. */
	set_deadline(
		client, has_hung_up(client) ? 0 : client->endpoint->server->config.idle_timeout_ms);
}

/* --- clients --------------------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Address as text, an IPv4 address inside an IPv6 one as IPv4; false if it is neither. */
static bool address_text(
	const union address *address, char text[INET6_ADDRSTRLEN], uint16_t *ret_port)
{
	const void *bytes = &address->v4.sin_addr;
	int family = address->any.sa_family;

	*ret_port = ntohs(address->v4.sin_port); /* at the same place in both */
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr)) {
		bytes = &address->v6.sin6_addr.s6_addr[12];
		family = AF_INET;
	} else if (family == AF_INET6) {
		bytes = &address->v6.sin6_addr;
	} else if (family != AF_INET) {
		return false;
	}
	return inet_ntop(family, bytes, text, INET6_ADDRSTRLEN) != NULL;
}

static void learn_tcp_peer(struct client *client)
{
	char text[INET6_ADDRSTRLEN] = "?";
	union address address;
	socklen_t len = sizeof(address);
	uint16_t port = 0;

	memset(&address, 0, sizeof(address));
	if (getpeername(client->fd, &address.any, &len) == 0 && address_text(&address, text, &port))
		client->peer.loopback = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
	(void)snprintf(client->name, sizeof(client->name), strchr(text, ':') ? "[%s]:%u" : "%s:%u",
		text, port);
	len = sizeof(address);
	if (getsockname(client->fd, &address.any, &len) == 0 &&
		address_text(&address, client->local_addr, &port))
		client->peer.local_addr = client->local_addr;
}

static void learn_unix_peer(struct client *client)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t len = sizeof(cred);

	client->peer.unix_socket = true;
	(void)getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	client->peer.uid = cred.uid;
	(void)snprintf(client->name, sizeof(client->name), "unix uid %u", cred.uid);
}

static struct client *client_create(struct endpoint *endpoint, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct vbd_server *server = endpoint->server;
	struct client *client = calloc(1, sizeof(*client));

	if (!client || !info)
		goto fail;
	client->endpoint = endpoint;
	client->fd = info->connect_fd;
	if (vbd_timer_create(server->loop, on_client_timer, client, &client->timer, NULL) != VBD_OK)
		goto fail;
	if (endpoint->is_unix)
		learn_unix_peer(client);
	else
		learn_tcp_peer(client);
	vbd_list_append(&server->clients, &client->link);
	server->stats.connections++;
	server->stats.connections_open++;
	set_deadline(client, server->config.header_timeout_ms);
	return client;
fail:
	free(client);
	return NULL;
}

static void client_destroy(struct client *client)
{
	struct vbd_server *server = client->endpoint->server;

	if (client->unread)
		vbd_linger_take(server->linger, client->fd);
	client->endpoint->run_again = true; /* MHD may have room to accept again */
	vbd_timer_destroy(client->timer);
	vbd_list_remove(&client->link);
	server->stats.connections_open--;
	free(client);
	if (server->stopping && vbd_list_empty(&server->clients))
		vbd_timer_set(server->stop_timer, 0);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **socket_context,
	enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = client_create(arg, mhd);
	} else if (*socket_context) {
		client_destroy(*socket_context);
		*socket_context = NULL;
	}
}

/* --- start and stop -------------------------------------------------------------------------- */

static void VBD_PRINTF(2, 0) on_mhd_log(void *arg, const char *fmt, va_list ap)
{
	char text[240];

	(void)arg;
	if (!vbd_log_enabled(VBD_LOG_DEBUG))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	vbd_log(VBD_LOG_DEBUG, "http", "libmicrohttpd: %s", text);
}

static void on_mhd_panic(void *arg, const char *file, unsigned int line, const char *reason)
{
	(void)arg;
	vbd_log(VBD_LOG_ERROR, "http", "libmicrohttpd gave up: %s (%s:%u)",
		reason ? reason : "no reason given", file, line);
	abort(); /* MHD's state is not to be trusted any more, and it does not expect to return */
}

static enum vbd_status endpoint_start(struct endpoint *endpoint, struct vbd_server *server, int fd,
	bool is_unix, struct vbd_error *err)
{
	const union MHD_DaemonInfo *info;
	enum vbd_status status;

	endpoint->server = server;
	endpoint->is_unix = is_unix;
	status = vbd_timer_create(server->loop, on_endpoint_timer, endpoint, &endpoint->timer, err);
	if (status != VBD_OK)
		return status;
	/* The logger must be the first option, or what the others say goes to stderr. */
	endpoint->mhd =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
			NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log,
			NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			server->config.connections_max, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			CLIENT_MEMORY_BYTES, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
			MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, endpoint, MHD_OPTION_END);
	if (!endpoint->mhd)
		return vbd_error_set(err, VBD_E_INTERNAL, "libmicrohttpd did not start");
	info = MHD_get_daemon_info(endpoint->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return vbd_error_set(err, VBD_E_INTERNAL, "libmicrohttpd has no epoll descriptor");
	status = vbd_fd_watch_start(server->loop, info->epoll_fd, VBD_FD_READ, on_endpoint_ready,
		endpoint, &endpoint->watch, err);
	if (status == VBD_OK)
		run_soon(endpoint);
	return status;
}

/* @keep_socket: the listening socket is its maker's again. */
static void endpoint_stop(struct endpoint *endpoint, bool keep_socket)
{
	vbd_fd_watch_stop(endpoint->watch);
	endpoint->watch = NULL;
	if (endpoint->mhd && keep_socket)
		(void)MHD_quiesce_daemon(endpoint->mhd);
	if (endpoint->mhd)
		MHD_stop_daemon(endpoint->mhd);
	endpoint->mhd = NULL;
	vbd_timer_destroy(endpoint->timer);
	endpoint->timer = NULL;
}

struct vbd_server_config vbd_server_config_default(void)
{
	return (struct vbd_server_config){
		.dispatch = {.json_max_bytes = 262144, .idem_max = 1024},
		.tcp_fd = -1,
		.unix_fd = -1,
		.connections_max = 512,
		.parked_max = 256,
		.feeds_max = 64,
		.header_timeout_ms = 10000,
		.progress_timeout_ms = 30000,
		.idle_timeout_ms = 75000,
	};
}

static void on_stop_timer(void *arg);

static enum vbd_status start(struct vbd_server *server, struct vbd_error *err)
{
	const struct vbd_server_config *config = &server->config;
	enum vbd_status status;

	server->dispatch = vbd_dispatch_create(&config->dispatch);
	server->linger = vbd_linger_create(server->loop);
	if (!server->dispatch || !server->linger)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the HTTP server");
	status = vbd_timer_create(server->loop, on_stop_timer, server, &server->stop_timer, err);
	if (status == VBD_OK && config->tcp_fd >= 0)
		status = endpoint_start(&server->endpoints[0], server, config->tcp_fd, false, err);
	if (status == VBD_OK && config->unix_fd >= 0)
		status = endpoint_start(&server->endpoints[1], server, config->unix_fd, true, err);
	return status;
}

static void free_server(struct vbd_server *server, bool keep_sockets)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(server->endpoints); i++)
		endpoint_stop(&server->endpoints[i], keep_sockets);
	vbd_timer_destroy(server->stop_timer);
	vbd_linger_destroy(server->linger);
	vbd_dispatch_destroy(server->dispatch);
	free(server);
}

enum vbd_status vbd_server_create(struct vbd_loop *loop, const struct vbd_server_config *config,
	struct vbd_server **ret_server, struct vbd_error *err)
{
	struct vbd_server *server = calloc(1, sizeof(*server));
	enum vbd_status status;

	if (!server)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the HTTP server");
	MHD_set_panic_func(on_mhd_panic, NULL);
	server->loop = loop;
	server->config = *config;
	vbd_list_init(&server->clients);
	vbd_list_init(&server->parked);
	vbd_list_init(&server->feeds);
	status = start(server, err);
	if (status != VBD_OK) {
		free_server(server, true);
		return status;
	}
	*ret_server = server;
	return VBD_OK;
}

static void tell_stopped(struct vbd_server *server)
{
	if (server->stopped_told)
		return;
	server->stopped_told = true;
	vbd_timer_clear(server->stop_timer);
	server->stopped(server->stopped_arg);
}

static void on_stop_timer(void *arg)
{
	tell_stopped(arg);
}

/* MHD_stop_daemon() aborts when a connection is suspended, so none may stay so. */
static void end_parked(struct exchange *exchange)
{
	struct vbd_error err = {0};

	abandon(exchange);
	if (!exchange->req.reply.status) {
		(void)vbd_error_set(&err, VBD_E_STOPPING, "the server is stopping");
		vbd_reply_problem(&exchange->req, &err);
	}
	resume(exchange);
}

static void end_all_parked(struct vbd_server *server)
{
	struct exchange *exchange;

	while ((exchange = VBD_LIST_FIRST(&server->parked, struct exchange, link)))
		end_parked(exchange);
}

/* They find that the server stops, and end. */
static void wake_all_feeds(struct vbd_server *server)
{
	vbd_list_for_each (link, &server->feeds)
		wake_feed(VBD_CONTAINER_OF(link, struct exchange, link));
}

void vbd_server_stop(
	struct vbd_server *server, uint64_t grace_ms, void (*stopped)(void *arg), void *arg)
{
	if (server->stopping)
		return;
	server->stopping = true;
	server->stopped = stopped;
	server->stopped_arg = arg;
	for (size_t i = 0; i < VBD_ARRAY_LEN(server->endpoints); i++) {
		struct endpoint *endpoint = &server->endpoints[i];

		if (endpoint->mhd)
			(void)close(MHD_quiesce_daemon(endpoint->mhd));
	}
	end_all_parked(server);
	wake_all_feeds(server);
	vbd_list_for_each (link, &server->clients) {
		struct client *client = VBD_CONTAINER_OF(link, struct client, link);

		if (!client->exchange || !client->exchange->begun)
			(void)shutdown(client->fd, SHUT_RDWR);
	}
	vbd_timer_set(server->stop_timer, vbd_list_empty(&server->clients) ? 0 : grace_ms);
}

void vbd_server_destroy(struct vbd_server *server)
{
	if (!server)
		return;
	end_all_parked(server);
	wake_all_feeds(server);
	free_server(server, false);
}

const struct vbd_server_stats *vbd_server_stats(const struct vbd_server *server)
{
	return &server->stats;
}
