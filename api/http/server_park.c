/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include "base/log.h"

#include <microhttpd.h>

void vbd_exchange_unpark(struct vbd_exchange *exchange)
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

void vbd_exchange_suspend(struct vbd_exchange *exchange)
{
	exchange->suspended = true;
	MHD_suspend_connection(exchange->mhd);
	/* Before 1.0.3, MHD_run() may skip ready connections if one is suspended meanwhile. */
	exchange->client->endpoint->run_again = true;
}

static void resume(struct vbd_exchange *exchange)
{
	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	MHD_resume_connection(exchange->mhd);
	vbd_server_run_soon(exchange->client->endpoint);
}

/* --- parked requests ------------------------------------------------------------------------- */

/* Call on_gone, whose reply, if any, is not sent from there. */
static void abandon(struct vbd_exchange *exchange)
{
	vbd_exchange_unpark(exchange);
	exchange->req.abandoned = true;
	exchange->on_gone(&exchange->req, exchange->park_arg);
}

static void on_hangup(unsigned int events, void *arg)
{
	struct vbd_exchange *exchange = arg;

	(void)events;
	exchange->gone = true;
	abandon(exchange);
	resume(exchange); /* MHD does not notice the hang-up of a suspended connection */
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
	struct vbd_exchange *exchange = arg;

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
	vbd_error_limit(err, "waiting_requests", server->config.parked_max);
	return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "%u requests are already waiting",
		server->config.parked_max);
}

static enum vbd_status transport_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);
	struct vbd_server *server = exchange->client->endpoint->server;
	enum vbd_status status = check_may_park(server, err);

	if (status == VBD_OK)
		status = vbd_fd_watch_start(server->loop, exchange->client->fd, VBD_FD_HANGUP,
			on_hangup, exchange, &exchange->hangup, err);
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
	vbd_list_append(&server->parked, &exchange->link);
	server->stats.parked++;
	return VBD_OK;
}

static void transport_answered(struct vbd_request *req)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);

	vbd_exchange_unpark(exchange);
	resume(exchange);
}

/* Resume the connection too: MHD_stop_daemon() aborts if one is suspended. */
static void end_parked(struct vbd_exchange *exchange)
{
	struct vbd_error err = {0};

	abandon(exchange);
	if (!exchange->req.reply.status) {
		(void)vbd_error_set(&err, VBD_E_STOPPING, "the server is stopping");
		vbd_reply_problem(&exchange->req, &err);
	}
	resume(exchange);
}

void vbd_server_end_parked(struct vbd_server *server)
{
	struct vbd_exchange *exchange;

	while ((exchange = VBD_LIST_FIRST(&server->parked, struct vbd_exchange, link)))
		end_parked(exchange);
}

/* --- feeds ----------------------------------------------------------------------------------- */

static enum vbd_status transport_may_feed(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);
	const struct vbd_server *server = exchange->client->endpoint->server;

	if (server->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the server is stopping");
	if (server->stats.feeds < server->config.feeds_max)
		return VBD_OK;
	vbd_error_limit(err, "event_streams", server->config.feeds_max);
	return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "%u clients already follow the events",
		server->config.feeds_max);
}

/* Resume a feed, which may have bytes again. */
static void wake_feed(struct vbd_exchange *exchange)
{
	vbd_fd_watch_stop(exchange->hangup);
	exchange->hangup = NULL;
	resume(exchange);
}

void vbd_exchange_follow(struct vbd_exchange *exchange)
{
	struct vbd_server *server = exchange->client->endpoint->server;

	vbd_list_append(&server->feeds, &exchange->link);
	exchange->is_feed = true;
	server->stats.feeds++;
}

static void on_feed_hangup(unsigned int events, void *arg)
{
	struct vbd_exchange *exchange = arg;

	(void)events;
	exchange->gone = true;
	wake_feed(exchange);
}

bool vbd_exchange_rest(struct vbd_exchange *exchange)
{
	struct vbd_client *client = exchange->client;

	vbd_client_clear_deadline(client);
	if (vbd_fd_watch_start(client->endpoint->server->loop, client->fd, VBD_FD_HANGUP,
		    on_feed_hangup, exchange, &exchange->hangup, NULL) != VBD_OK)
		return false;
	vbd_exchange_suspend(exchange);
	return true;
}

static void transport_wake(struct vbd_request *req)
{
	wake_feed(VBD_CONTAINER_OF(req, struct vbd_exchange, req));
}

void vbd_server_wake_feeds(struct vbd_server *server)
{
	vbd_list_for_each (link, &server->feeds)
		wake_feed(VBD_CONTAINER_OF(link, struct vbd_exchange, link));
}

/* --- the transport --------------------------------------------------------------------------- */

static const char *transport_header(struct vbd_request *req, const char *name)
{
	struct vbd_exchange *exchange = VBD_CONTAINER_OF(req, struct vbd_exchange, req);

	return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

const struct vbd_transport vbd_server_transport = {
	.header = transport_header,
	.park = transport_park,
	.answered = transport_answered,
	.may_feed = transport_may_feed,
	.wake = transport_wake,
};
