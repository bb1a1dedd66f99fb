/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include "base/clock.h"

#include <microhttpd.h>

#include <strings.h>

/* A refused request with a longer body is answered before the body was read. */
#define EARLY_BYTES UINT64_C(65536)
/* The body of a refused request is read and ignored; beyond this the connection is closed. */
#define UNWANTED_BYTES_MAX UINT64_C(67108864)

static const char no_cookies[] = "";

/* MHD would copy all cookies, and store a struct for each cookie and each parameter of the query.
 * verbsd reads no cookie, and the parameters from its copy of the target. */
static void drop_query_and_cookies(struct MHD_Connection *mhd, const char *target)
{
	const char *query = strchr(target, '?');

	if (query)
		((char *)(uintptr_t)query)[1] = '\0';
	(void)MHD_set_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE, no_cookies);
}

struct vbd_exchange *vbd_exchange_create(
	struct vbd_client *client, struct MHD_Connection *mhd, const char *target)
{
	size_t len = strlen(target);
	struct vbd_exchange *exchange = calloc(1, sizeof(*exchange) + 2 * (len + 1));

	if (!exchange)
		return NULL;
	memcpy(exchange->target, target, len + 1);
	exchange->path = exchange->target + len + 1;
	memcpy(exchange->path, target, strcspn(target, "?"));
	exchange->client = client;
	exchange->mhd = mhd;
	vbd_list_init(&exchange->link);
	exchange->target_bytes = len;
	drop_query_and_cookies(mhd, target);
	vbd_client_begin(client, exchange);
	return exchange;
}

struct head {
	struct vbd_exchange *exchange;
	struct vbd_error *err;
};

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name,
	size_t name_bytes, const char *value, size_t value_bytes)
{
	const struct head *head = arg;

	(void)kind;
	if (value == no_cookies)
		return MHD_YES;
	return vbd_headers_add(&head->exchange->req, name, name_bytes, value ? value : "",
		       value_bytes, head->err) == VBD_OK
		       ? MHD_YES
		       : MHD_NO;
}

static enum vbd_status take_head(struct vbd_exchange *exchange, struct vbd_error *err)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct head head = {.exchange = exchange, .err = err};
	size_t fields = (size_t)MHD_get_connection_values_n(
		exchange->mhd, MHD_HEADER_KIND, on_header, &head);

	if (err->status != VBD_OK)
		return err->status;
	if ((info ? info->header_size : 0) + fields * VBD_FIELD_BYTES > VBD_HEAD_BYTES_MAX)
		return vbd_error_head(err, exchange->target_bytes);
	return vbd_headers_frame(&exchange->req, exchange->http_1_1, err);
}

/* MHD knows Expect with one value only; a list of that value means the same (RFC 9110, 10.1.1). */
static void send_interim(struct vbd_exchange *exchange)
{
	const char *asked = exchange->req.headers[VBD_HEADER_EXPECT];
	const char *known = MHD_lookup_connection_value(
		exchange->mhd, MHD_HEADER_KIND, vbd_header_name(VBD_HEADER_EXPECT));

	if (asked && *asked && exchange->http_1_1 &&
		(!known || strcasecmp(known, "100-continue") != 0))
		vbd_client_send(exchange->client, VBD_INTERIM);
}

/* True if a refusal is sent without reading the body, and the connection closed. */
static bool is_answered_early(struct vbd_exchange *exchange)
{
	struct vbd_request *req = &exchange->req;

	if (!req->reply.status)
		return false;
	return req->reply.close || req->content_bytes > EARLY_BYTES ||
	       vbd_request_header(req, VBD_HEADER_EXPECT);
}

/* The seats of the reserve are for the role "control", and for what needs no role. */
static void check_seat(struct vbd_exchange *exchange)
{
	struct vbd_request *req = &exchange->req;
	struct vbd_client *client = exchange->client;
	struct vbd_error err = {0};

	if (req->role != VBD_ROLE_NONE)
		vbd_seat_set_known(&client->seat);
	if (req->role == VBD_ROLE_CONTROL || (req->route && req->route->role == VBD_ROLE_NONE) ||
		vbd_seat_may_ask(client->endpoint->server->admission, &client->seat))
		return;
	req->reply.close = true;
	if (req->reply.status)
		return;
	(void)vbd_error_set(&err, VBD_E_TOO_MANY_CLIENTS,
		"all HTTP connections but those of the reserve for the control role are taken");
	vbd_reply_problem(req, &err);
}

static bool begin_exchange(struct vbd_exchange *exchange, const char *method, const char *version)
{
	struct vbd_request *req = &exchange->req;
	struct vbd_client *client = exchange->client;
	struct vbd_server *server = client->endpoint->server;
	struct vbd_error err = {0};
	enum vbd_status status;

	exchange->begun_ns = vbd_clock_mono_ns();
	req->transport = &vbd_server_transport;
	req->path = exchange->path;
	req->client = client->name;
	exchange->http_1_1 = strcmp(version, MHD_HTTP_VERSION_1_0) != 0;
	status = take_head(exchange, &err);
	if (status == VBD_OK && server->stopping)
		status = vbd_error_set(&err, VBD_E_STOPPING, "the server is stopping");
	if (status == VBD_OK) {
		vbd_dispatch_head(server->dispatch, req, method, exchange->target, &client->peer);
		check_seat(exchange);
	} else {
		req->reply.close = true;
		vbd_reply_problem(req, &err);
	}
	if (req->content_bytes)
		vbd_client_set_deadline(client, server->config.progress_timeout_ms);
	if (!is_answered_early(exchange)) {
		send_interim(exchange);
		return true;
	}
	client->unread = true;
	return vbd_exchange_send_answer(exchange);
}

static bool process_body(struct vbd_exchange *exchange, const char *bytes, size_t len_bytes)
{
	struct vbd_server *server = exchange->client->endpoint->server;

	exchange->got_bytes += len_bytes;
	if (exchange->got_bytes - exchange->progress_bytes >= VBD_PROGRESS_BYTES) {
		exchange->progress_bytes = exchange->got_bytes;
		vbd_client_set_deadline(exchange->client, server->config.progress_timeout_ms);
	}
	if (!exchange->req.reply.status)
		vbd_dispatch_body(server->dispatch, &exchange->req, bytes, len_bytes);
	else
		exchange->unwanted_bytes += len_bytes;
	return exchange->unwanted_bytes <= UNWANTED_BYTES_MAX;
}

/* Called when the request is complete, and again when a parked request is resumed. */
static bool run_and_answer(struct vbd_exchange *exchange)
{
	struct vbd_request *req = &exchange->req;

	if (!exchange->ran) {
		exchange->ran = true;
		exchange->client->deadline_ns = 0;
		vbd_dispatch_run(exchange->client->endpoint->server->dispatch, req);
	}
	if (exchange->gone)
		return false;
	if (req->reply.status && !req->held)
		return vbd_exchange_send_answer(exchange);
	vbd_exchange_suspend(exchange);
	return true;
}

bool vbd_exchange_go_on(struct vbd_exchange *exchange, const char *method, const char *version,
	const char *bytes, size_t len_bytes)
{
	if (!exchange->begun_ns)
		return begin_exchange(exchange, method, version);
	return len_bytes ? process_body(exchange, bytes, len_bytes) : run_and_answer(exchange);
}

void vbd_exchange_fail(struct vbd_exchange *exchange)
{
	struct vbd_error err = {0};

	if (!exchange->queued || exchange->sending)
		return;
	if (exchange->ran)
		(void)vbd_error_set(&err, VBD_E_INTERNAL,
			"the answer, of status %u, had no memory beside what came behind the "
			"request",
			exchange->req.reply.status);
	else
		(void)vbd_error_head(&err, exchange->target_bytes);
	vbd_client_refuse(exchange->client, &err, exchange->req.head);
}

void vbd_exchange_destroy(struct vbd_exchange *exchange)
{
	struct vbd_client *client = exchange->client;

	vbd_exchange_unpark(exchange);
	vbd_request_fini(&exchange->req);
	free(exchange);
	vbd_client_end(client);
}
