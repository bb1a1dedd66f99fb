/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include "base/clock.h"
#include "daemon/core/quota.h"

#include <microhttpd.h>

/*
 * The bytes that carry the descriptor: an interim answer, which every client skips (RFC 9110,
 * section 15.2). They can't come between other bytes: libmicrohttpd begins an answer when the
 * handler is done, and a request when the answer before it was sent.
 */
static char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";

static bool send_fd(int socket, int fd)
{
	struct iovec bytes = {.iov_base = interim, .iov_len = sizeof(interim) - 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	/* A unix socket takes so few bytes as a whole or not at all. */
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes.iov_len;
}

static enum vbd_status transport_pass_fd(struct vbd_request *req, int fd, struct vbd_error *err)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);
	const struct vbd_client *client = exchange->client;

	if (!client->endpoint->is_unix)
		return vbd_error_set(err, VBD_E_UNIX_SOCKET_ONLY,
			"%s is connected by TCP, which carries no descriptors", client->name);
	if (!exchange->http_1_1)
		return vbd_error_set(err, VBD_E_UNIX_SOCKET_ONLY,
			"a client of HTTP/1.0 knows no interim answer, which has the descriptor");
	if (req->head || send_fd(client->fd, fd))
		return VBD_OK;
	if (errno == EAGAIN || errno == ETOOMANYREFS)
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"%s does not take the answers that it already has", client->name);
	return vbd_error_errno(err, VBD_OK, "sendmsg", errno, "%s", client->name);
}

static uint32_t *caller_share_count(struct vbd_exchange *exchange, enum vbd_share share)
{
	struct vbd_caller *caller = exchange->req.caller;

	if (!caller)
		return NULL;
	return share == VBD_SHARE_FEEDS ? &caller->following : &caller->waiting;
}

void vbd_exchange_unpark(struct vbd_exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;

	if (!vbd_list_empty(&exchange->link)) {
		enum vbd_share share = exchange->is_feed ? VBD_SHARE_FEEDS : VBD_SHARE_WAITING;

		vbd_list_remove(&exchange->link);
		if (exchange->has_share) {
			vbd_share_give_back(server->admission, &exchange->client->seat, share,
				exchange->req.role == VBD_ROLE_CONTROL,
				caller_share_count(exchange, share));
			vbd_quota_give_back(exchange->req.caller, VBD_QUOTA_streams, 1);
		}
	}
	exchange->hang_up = NULL;
	vbd_timer_destroy(exchange->timeout);
	exchange->timeout = NULL;
}

void vbd_exchange_suspend(struct vbd_exchange *exchange)
{
	exchange->suspended = true;
	MHD_suspend_connection(exchange->mhd);
	/* Before 1.0.3, MHD_run() may skip ready connections if one is suspended meanwhile. */
	vbd_server_run_soon(exchange->client->endpoint);
}

void vbd_exchange_look_at(struct vbd_exchange *exchange, bool always)
{
	const unsigned int timeout_s = always ? 3600 : 0;

	if (exchange->looked_at == always)
		return;
	exchange->looked_at = always;
	(void)MHD_set_connection_option(exchange->mhd, MHD_CONNECTION_OPTION_TIMEOUT, timeout_s);
}

static void resume_exchange(struct vbd_exchange *exchange)
{
	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	if (!exchange->is_feed)
		vbd_exchange_look_at(exchange, true);
	MHD_resume_connection(exchange->mhd);
	vbd_server_run_soon(exchange->client->endpoint);
}

/* --- hang-ups -------------------------------------------------------------------------------- */

/* Call on_gone, whose reply, if any, is not sent from there. */
static void abandon_request(struct vbd_exchange *exchange)
{
	vbd_exchange_unpark(exchange);
	exchange->req.abandoned = true;
	exchange->on_gone(&exchange->req, exchange->park_arg);
}

static enum vbd_status watch_hangup(struct vbd_exchange *exchange, struct vbd_error *err)
{
	struct vbd_client *client = exchange->client;

	if (client->hung_up && exchange->http_1_1)
		vbd_client_set_deadline(client, VBD_ASK_MS);
	return vbd_client_watch(client, err);
}

static void on_hangup(struct vbd_exchange *exchange, bool gone)
{
	if (!gone && !exchange->is_feed && watch_hangup(exchange, NULL) == VBD_OK)
		return;
	exchange->gone = gone || !exchange->is_feed;
	if (!exchange->is_feed)
		abandon_request(exchange);
	resume_exchange(exchange); /* MHD does not notice the hang-up of a suspended connection */
}

/* --- parked requests ------------------------------------------------------------------------- */

static void reply_internal(struct vbd_request *req, const char *text)
{
	struct vbd_error err = {0};

	vbd_log(VBD_LOG_ERROR, req->path, "%s", text);
	(void)vbd_error_set(&err, VBD_E_INTERNAL, "%s", text);
	vbd_reply_problem(req, &err);
}

static void on_park_timeout(void *arg)
{
	struct vbd_exchange *exchange = arg;
	vbd_request_cb on_timeout = exchange->on_timeout;

	exchange->on_timeout = NULL;
	on_timeout(&exchange->req, exchange->park_arg);
	/* The handler has parked the request again if there is no timer, or another callback. */
	if (!exchange->req.reply.status && exchange->timeout && !exchange->on_timeout)
		reply_internal(&exchange->req, "the handler did not answer at its deadline");
}

/* --- tokens and certificates that expire ------------------------------------------------------ */

/* The wall clock may be set, so it is compared at least once a minute. */
static void arm_expiry(struct vbd_server *server)
{
	uint64_t now_s = vbd_clock_wall_of_ns(vbd_clock_mono_ns()) / VBD_NS_PER_S;
	uint64_t left_s = server->expires_wall_s > now_s ? server->expires_wall_s - now_s : 0;

	vbd_timer_set(server->expiry, 1000 * (left_s < 60 ? left_s : 60));
}

/* Let vbd_server_recheck() run when the token or certificate of the sender expires. */
static void arm_earlier_expiry(struct vbd_exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;
	uint64_t expires_wall_s = exchange->req.identity.expires_wall_s;

	if (!expires_wall_s || (server->expires_wall_s && server->expires_wall_s <= expires_wall_s))
		return;
	server->expires_wall_s = expires_wall_s;
	arm_expiry(server);
}

/* --- shares ---------------------------------------------------------------------------------- */

/* Take one of the shares; @what: for the error: "requests wait" */
static enum vbd_status take_share(struct vbd_exchange *exchange, enum vbd_share share,
	const char *what, struct vbd_error *err)
{
	static const char *const why[] = {
		[VBD_SHARE_USED_UP] = "",
		[VBD_SHARE_KEPT] = "; the others are for the control role",
		[VBD_SHARE_OF_SOURCE] = " from this address or uid, as many as it may have",
		[VBD_SHARE_OF_CALLER] = " for this caller, as many as it may have",
	};
	struct vbd_server *server = exchange->client->endpoint->server;
	enum vbd_share_refusal refusal = VBD_SHARE_GRANTED;

	if (server->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the server is stopping");
	exchange->has_share = !exchange->req.brief;
	if (exchange->has_share &&
		vbd_quota_check(exchange->req.caller, VBD_QUOTA_streams, 1, err) != VBD_OK)
		return VBD_E_THROTTLED;
	if (exchange->has_share)
		refusal = vbd_share_take(server->admission, &exchange->client->seat, share,
			exchange->req.role == VBD_ROLE_CONTROL,
			caller_share_count(exchange, share));
	if (refusal == VBD_SHARE_GRANTED) {
		if (exchange->has_share)
			vbd_quota_count(exchange->req.caller, VBD_QUOTA_streams, 1);
		exchange->hang_up = on_hangup;
		arm_earlier_expiry(exchange);
		return VBD_OK;
	}
	vbd_error_limit(err, "http_connections", server->config.limits.seats);
	return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "%u %s already%s",
		vbd_share_max(server->admission, share, refusal), what, why[refusal]);
}

static enum vbd_status transport_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);
	struct vbd_server *server = exchange->client->endpoint->server;
	enum vbd_status status;

	if (req->parked)
		vbd_exchange_unpark(exchange);
	status = take_share(exchange, VBD_SHARE_WAITING, "requests wait", err);
	if (status != VBD_OK)
		return status;
	vbd_list_append(&server->held, &exchange->link);
	status = watch_hangup(exchange, err);
	if (status == VBD_OK && timeout_ms)
		status = vbd_timer_create(
			server->loop, on_park_timeout, exchange, &exchange->timeout, err);
	if (status != VBD_OK) {
		vbd_exchange_unpark(exchange);
		return status;
	}
	if (timeout_ms)
		vbd_timer_set(exchange->timeout, timeout_ms);
	exchange->on_timeout = on_timeout;
	exchange->on_gone = on_gone;
	exchange->park_arg = arg;
	return VBD_OK;
}

static void transport_answered(struct vbd_request *req)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);

	vbd_exchange_unpark(exchange);
	resume_exchange(exchange);
}

/* Resume the connection too: MHD_stop_daemon() aborts if one is suspended. */
static void end_parked(struct vbd_exchange *exchange, const struct vbd_error *err)
{
	abandon_request(exchange);
	if (!exchange->req.reply.status)
		vbd_reply_problem(&exchange->req, err);
	resume_exchange(exchange);
}

/* Visit each request that waits and each feed. A visit may end others as well. */
static void visit_held(struct vbd_server *server, void (*visit)(struct vbd_exchange *exchange))
{
	struct vbd_exchange *exchange;
	struct vbd_link left;

	vbd_list_init(&left);
	vbd_list_for_each (link, &server->held) {
		vbd_list_remove(link);
		vbd_list_append(&left, link);
	}
	while ((exchange = VBD_LIST_FIRST(&left, struct vbd_exchange, link))) {
		vbd_list_remove(&exchange->link);
		vbd_list_append(&server->held, &exchange->link);
		visit(exchange);
	}
}

static void end_held_exchange(struct vbd_exchange *exchange)
{
	struct vbd_error err = {0};

	(void)vbd_error_set(&err, VBD_E_STOPPING, "the server is stopping");
	if (exchange->is_feed)
		resume_exchange(exchange);
	else
		end_parked(exchange, &err);
}

void vbd_server_end_held(struct vbd_server *server)
{
	visit_held(server, end_held_exchange);
}

/* A request that has acted answers with the state of its object, which the sender made while that
 * was allowed. */
static void recheck_sender(struct vbd_exchange *exchange)
{
	struct vbd_client *client = exchange->client;
	struct vbd_error err = {0};

	if (!exchange->req.caller)
		return;
	if (vbd_dispatch_may_stay(client->endpoint->server->dispatch, &exchange->req, &client->peer,
		    &err) == VBD_OK)
		arm_earlier_expiry(exchange);
	else if (exchange->is_feed)
		on_hangup(exchange, true);
	else
		end_parked(exchange, &err);
}

void vbd_server_recheck(struct vbd_server *server)
{
	vbd_timer_clear(server->expiry);
	server->expires_wall_s = 0;
	visit_held(server, recheck_sender);
}

/* --- feeds ----------------------------------------------------------------------------------- */

static enum vbd_status transport_follow(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);
	enum vbd_status status =
		take_share(exchange, VBD_SHARE_FEEDS, "clients follow the events", err);

	if (status != VBD_OK)
		return status;
	vbd_list_append(&exchange->client->endpoint->server->held, &exchange->link);
	exchange->is_feed = true;
	return VBD_OK;
}

bool vbd_exchange_rest(struct vbd_exchange *exchange)
{
	exchange->client->deadline_ns = 0;
	if (vbd_client_watch(exchange->client, NULL) != VBD_OK)
		return false;
	vbd_exchange_suspend(exchange);
	return true;
}

static void transport_resume_request(struct vbd_request *req)
{
	resume_exchange(VBD_CONTAINER_OF(req, struct vbd_exchange, req));
}

/* --- the transport --------------------------------------------------------------------------- */

const struct vbd_transport vbd_server_transport = {
	.park = transport_park,
	.answered = transport_answered,
	.follow = transport_follow,
	.wake = transport_resume_request,
	.pass_fd = transport_pass_fd,
};
