/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/dispatch.h"

#include "api/http/idempotency.h"
#include "api/http/problem.h"
#include "api/http/waiter.h"
#include "base/clock.h"
#include "daemon/core/quota.h"

/* Bodies up to this size are parsed at once. 256 KiB of brackets take 70 ms, so larger ones are
 * parsed in turns, and routes without a body refuse them. */
#define PARSE_AT_ONCE_BYTES 4096

struct vbd_dispatch {
	struct vbd_dispatch_config config;
	struct vbd_idem *idem;
};

struct vbd_dispatch *vbd_dispatch_create(const struct vbd_dispatch_config *config)
{
	struct vbd_dispatch *dispatch = calloc(1, sizeof(*dispatch));

	if (!dispatch)
		return NULL;
	dispatch->config = *config;
	dispatch->idem = vbd_idem_create(config->idem_max, config->server_id, config->keeper);
	if (!dispatch->idem) {
		free(dispatch);
		return NULL;
	}
	return dispatch;
}

void vbd_dispatch_destroy(struct vbd_dispatch *dispatch)
{
	if (!dispatch)
		return;
	vbd_idem_destroy(dispatch->idem);
	free(dispatch);
}

void vbd_dispatch_set_credentials(
	struct vbd_dispatch *dispatch, const struct vbd_credentials *credentials)
{
	dispatch->config.auth.credentials = credentials;
}

/* --- the head -------------------------------------------------------------------------------- */

/* Take the authority off a target in absolute form: it replaces the Host (RFC 9112, 3.2.2). */
static char *take_authority(struct vbd_request *req, char *target)
{
	char *path = vbd_uri_split(target, &req->scheme, &req->authority);

	if (req->authority) {
		const char *raw = strstr(req->path, "://");

		raw = raw ? strchr(raw + strlen("://"), '/') : NULL;
		req->path = raw ? raw : "/";
	}
	return path;
}

static enum vbd_status parse_target(
	struct vbd_request *req, const char *method, char *target, struct vbd_error *err)
{
	if (!vbd_is_token(method, strlen(method)))
		return vbd_error_hint(err,
			vbd_error_set(err, VBD_E_MALFORMED_REQUEST,
				"the method has characters that no method may have"),
			"Begin the request with a method, as GET, and one space.");
	req->method = vbd_method_parse(method);
	req->head = strcmp(method, "HEAD") == 0;
	if (req->method == VBD_METHOD_OTHER)
		return vbd_error_set(
			err, VBD_E_NOT_IMPLEMENTED, "verbsd has no method %.16s", method);
	if (req->method == VBD_METHOD_OPTIONS && strcmp(target, "*") == 0)
		return VBD_OK;
	return vbd_uri_parse(take_authority(req, target), &req->uri, err);
}

/* Check Host and Origin first: a page of another site must not find out which paths exist. */
static enum vbd_status check_site(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_error *err)
{
	const struct vbd_auth_rules *rules = &dispatch->config.auth;
	const char *host = vbd_request_header(req, VBD_HEADER_HOST);
	enum vbd_status status = VBD_OK;

	if (req->authority) {
		status = vbd_auth_host_form(peer, host, err);
		host = req->authority;
		if (status == VBD_OK)
			status = vbd_auth_scheme(peer, req->scheme, err);
	}
	if (status == VBD_OK)
		status = vbd_auth_host(rules, peer, host, err);
	if (status == VBD_OK)
		status = vbd_auth_origin(
			rules, peer->tls, vbd_request_header(req, VBD_HEADER_ORIGIN), host, err);
	return status;
}

static enum vbd_status find_caller(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_identity *ret_identity, struct vbd_error *err)
{
	return vbd_auth_caller(&dispatch->config.auth, peer,
		vbd_request_header(req, VBD_HEADER_AUTHORIZATION),
		vbd_clock_wall_of_ns(vbd_clock_mono_ns()) / VBD_NS_PER_S, ret_identity, err);
}

enum vbd_status vbd_dispatch_may_stay(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_error *err)
{
	struct vbd_identity now = {0};
	enum vbd_status status = find_caller(dispatch, req, peer, &now, err);
	bool same = now.caller == req->caller && (!now.caller || now.caller->role == req->role);

	vbd_caller_unref(now.caller);
	if (status != VBD_OK)
		return status;
	req->identity.expires_wall_s = now.expires_wall_s;
	return same ? VBD_OK
		    : vbd_error_set(err, VBD_E_UNAUTHORIZED,
			      "%s has another role now, or stands for another caller", req->client);
}

static enum vbd_status check_role(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_error *err)
{
	/* An unknown path needs the role "read": other clients must not find out which exist. */
	enum vbd_role needed = req->route ? req->route->role : VBD_ROLE_READ;
	enum vbd_status status;

	if (needed == VBD_ROLE_NONE)
		return VBD_OK;
	status = find_caller(dispatch, req, peer, &req->identity, err);
	if (status != VBD_OK)
		return status;
	req->caller = req->identity.caller;
	req->role = req->caller ? req->caller->role : VBD_ROLE_NONE;
	if (req->role == VBD_ROLE_NONE)
		return vbd_error_set(err, VBD_E_UNAUTHORIZED, "%s needs a token", req->client);
	status = vbd_quota_take_request(req->caller, vbd_clock_mono_ns(), err);
	if (status != VBD_OK)
		return status;
	if (req->role < needed)
		return vbd_error_set(err, VBD_E_FORBIDDEN,
			"%s %.128s needs the %s role; this is %s", vbd_method_name(req->method),
			req->path, vbd_role_name(needed), vbd_role_name(req->role));
	return VBD_OK;
}

/* A client that names a run must not act on the objects of another, which have the same ids. */
static enum vbd_status check_server(
	struct vbd_dispatch *dispatch, struct vbd_request *req, struct vbd_error *err)
{
	const char *asked = vbd_request_header(req, VBD_HEADER_VERBSD_IF_SERVER);
	const char *server_id = dispatch->config.server_id;

	if (!asked || !server_id || strcmp(asked, server_id) == 0)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_SERVER_RESTARTED,
		"this is the run %s of verbsd; the request is for %.32s", server_id, asked);
}

static void refuse_request(
	struct vbd_dispatch *dispatch, struct vbd_request *req, const struct vbd_error *err)
{
	if (dispatch->config.on_refused)
		dispatch->config.on_refused(
			dispatch->config.context, req->client, req->caller, err);
	vbd_reply_problem(req, err);
}

static enum vbd_status check_client(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_error *err)
{
	enum vbd_status status = check_role(dispatch, req, peer, err);

	if (status != VBD_OK)
		refuse_request(dispatch, req, err);
	else if (check_server(dispatch, req, err) != VBD_OK)
		vbd_reply_problem(req, err);
	return err->status;
}

static enum vbd_status check_size(const struct vbd_dispatch *dispatch,
	const struct vbd_request *req, uint64_t bytes, struct vbd_error *err)
{
	uint64_t most = *dispatch->config.json_max_bytes;
	bool own_limit = req->route->body == VBD_BODY_NONE && most > PARSE_AT_ONCE_BYTES;

	if (own_limit)
		most = PARSE_AT_ONCE_BYTES;
	if (bytes <= most)
		return VBD_OK;
	if (!own_limit)
		vbd_error_limit(err, "http_body_bytes", most);
	return vbd_error_set(err, VBD_E_BODY_TOO_LARGE,
		"a JSON body of %s has at most %" PRIu64 " bytes", req->path, most);
}

static enum vbd_status check_query_and_headers(
	struct vbd_dispatch *dispatch, struct vbd_request *req, struct vbd_error *err)
{
	enum vbd_status status = vbd_route_check_query(req->route, &req->uri, err);

	if (status == VBD_OK && vbd_route_waits(req->route))
		status = vbd_request_parse_wait(req, err);
	if (status == VBD_OK)
		status = vbd_headers_check(req, err);
	if (status == VBD_OK && req->route->body != VBD_BODY_STREAM &&
		req->content_bytes != UINT64_MAX)
		status = check_size(dispatch, req, req->content_bytes, err);
	return status;
}

/* Check the conditions of a write to a path without {ref}, which has no ETag. For an object
 * vbd_task_find() does so, and for a GET complete_answer(). */
static enum vbd_status check_condition(
	struct vbd_request *req, unsigned int allow, struct vbd_error *err)
{
	const struct vbd_condition_of of = {
		.what = req->path, .absent = !(allow & 1u << VBD_METHOD_GET)};

	if (req->method == VBD_METHOD_GET || req->ref)
		return VBD_OK;
	return vbd_condition_check(req, &of, err);
}

static void reply_no_route(struct vbd_request *req, unsigned int allow)
{
	const struct vbd_problem_extra extra = {.allow = allow};
	struct vbd_error err = {0};

	if (allow && req->method == VBD_METHOD_OPTIONS) {
		vbd_request_add_allow(req, allow);
		if (allow & 1u << VBD_METHOD_PATCH) /* RFC 5789, 3.1 */
			vbd_reply_add_header(&req->reply, "Accept-Patch", "application/json");
		vbd_reply_empty(req, 204);
		return;
	}
	if (allow)
		(void)vbd_error_set(&err, VBD_E_METHOD_NOT_ALLOWED,
			"%.128s does not support the method %.16s", req->path,
			vbd_method_name(req->method));
	else
		(void)vbd_error_hint(&err,
			vbd_error_set(&err, VBD_E_NOT_FOUND, "%.128s: no such path", req->path),
			"GET /v1 lists every path.");
	vbd_reply_problem_extra(req, &err, &extra);
}

void vbd_dispatch_head(struct vbd_dispatch *dispatch, struct vbd_request *req, const char *method,
	char *target, const struct vbd_auth_peer *peer)
{
	struct vbd_error err = {0};
	unsigned int allow = VBD_ALLOW_ALL; /* of the target "*" */

	req->context = dispatch->config.context;
	req->on_audited = dispatch->config.on_audited;
	if (parse_target(req, method, target, &err) != VBD_OK) {
		req->reply.close = true; /* the next request on this connection can't be trusted */
		vbd_reply_problem(req, &err);
		return;
	}
	if (check_site(dispatch, req, peer, &err) != VBD_OK) {
		refuse_request(dispatch, req, &err);
		return;
	}
	if (req->uri.n_segments)
		req->route = vbd_router_find(
			&dispatch->config.router, req->method, &req->uri, &req->ref, &allow);
	if (check_client(dispatch, req, peer, &err) != VBD_OK)
		return;
	if (!req->route) {
		reply_no_route(req, allow);
		return;
	}
	if (check_query_and_headers(dispatch, req, &err) != VBD_OK ||
		check_condition(req, allow, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	if (req->route->open)
		req->route->open(req);
	vbd_request_settle(req);
}

/* --- the body -------------------------------------------------------------------------------- */

static enum vbd_status append_body(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	if (check_size(dispatch, req, req->body_bytes + len_bytes, err) != VBD_OK)
		return VBD_E_BODY_TOO_LARGE;
	if (req->body_bytes + len_bytes > req->body_room_bytes) {
		size_t room = req->body_room_bytes ? req->body_room_bytes * 2 : 1024;
		char *body;

		while (room < req->body_bytes + len_bytes)
			room *= 2;
		body = realloc(req->body, room);
		if (!body)
			return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the body");
		req->body = body;
		req->body_room_bytes = room;
	}
	memcpy(req->body + req->body_bytes, bytes, len_bytes);
	req->body_bytes += len_bytes;
	return VBD_OK;
}

void vbd_dispatch_body(
	struct vbd_dispatch *dispatch, struct vbd_request *req, const void *bytes, size_t len_bytes)
{
	struct vbd_error err = {0};
	enum vbd_status status;

	if (req->route->body == VBD_BODY_STREAM)
		status = req->sink.write(req->sink.arg, bytes, len_bytes, &err);
	else
		status = append_body(dispatch, req, bytes, len_bytes, &err);
	if (status != VBD_OK)
		vbd_reply_problem(req, &err);
}

static enum vbd_status parse_body(struct vbd_request *req, struct vbd_error *err)
{
	enum vbd_status status;

	if (req->route->body == VBD_BODY_STREAM)
		return VBD_OK;
	if (!req->body_bytes) {
		if (req->route->body == VBD_BODY_JSON)
			return vbd_error_set(err, VBD_E_MALFORMED_JSON,
				"the body is empty; a JSON object is needed");
		return VBD_OK;
	}
	status = vbd_json_parse(req->body, req->body_bytes, &req->json, err);
	if (status == VBD_OK && req->route->body == VBD_BODY_NONE)
		status = vbd_request_decode(req, NULL, 0, NULL, err);
	return status;
}

static void run_handler(struct vbd_request *req)
{
	req->route->handler(req);
	if (!req->reply.status && !req->parked && req->err.status == VBD_OK) {
		vbd_log(VBD_LOG_ERROR, req->path, "the handler of %s left without an answer",
			req->route->operation);
		(void)vbd_error_set(
			&req->err, VBD_E_INTERNAL, "the handler left without an answer");
	}
	vbd_request_settle(req);
}

/* If the client has left, the request does nothing, and a repeat runs like a first request. */
static void on_claim_written(struct vbd_request *req, void *arg)
{
	(void)arg;
	if (!req->abandoned)
		run_handler(req);
}

/* A repeat that waits gets what the first request has made when it is done. */
static bool await_made_object(
	const struct vbd_dispatch *dispatch, struct vbd_request *req, const struct vbd_reply *first)
{
	const char *path = NULL;

	if (first->status != 202 || !req->wait_asked || !dispatch->config.await)
		return false;
	for (size_t i = 0; i < first->n_headers; i++) {
		const struct vbd_reply_header *header = &first->headers[i];

		if (strcmp(header->name, "Location") == 0)
			path = header->value;
		else if (strncmp(header->name, "Idempotency-", 12) == 0)
			vbd_reply_add_header(&req->reply, header->name, header->value);
	}
	return path && dispatch->config.await(req, path);
}

/* Claim the Idempotency-Key of a POST, and run the request when the claim is written: then no
 * repeat runs it again, even if the daemon is killed. */
static void run_idempotent(struct vbd_dispatch *dispatch, struct vbd_request *req, const char *key)
{
	const struct vbd_idem_request request = {
		.key = key,
		.method = vbd_method_name(req->method),
		.target = req->path,
		.uri = &req->uri,
		.if_match = vbd_request_header(req, VBD_HEADER_IF_MATCH),
		.caller = req->caller ? req->caller->name : "",
		.body = req->body,
		.body_bytes = req->body_bytes,
	};
	struct vbd_reply first = {0};
	struct vbd_error err = {0};
	uint64_t ticket = VBD_TICKET_NONE;
	enum vbd_status status;

	req->keeper = dispatch->config.keeper;
	status = vbd_idem_begin(
		dispatch->idem, &request, vbd_clock_mono_ns(), &req->idem, &first, &ticket, &err);
	if (status == VBD_OK && !req->idem) {
		req->keyed = true;
		req->key_ticket = ticket;
	}
	if (status != VBD_OK) {
		vbd_reply_problem(req, &err);
	} else if (!req->idem && await_made_object(dispatch, req, &first)) {
		vbd_reply_fini(&first);
	} else if (!req->idem) {
		req->reply = first;
		vbd_request_audit(req);
		vbd_request_send(req, ticket);
	} else {
		vbd_request_wait_written(req, req->keeper, ticket, on_claim_written, NULL);
	}
}

static void parse_and_run(struct vbd_dispatch *dispatch, struct vbd_request *req)
{
	const char *key = NULL;
	struct vbd_error err = {0};

	if (parse_body(req, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	if (req->method == VBD_METHOD_POST)
		key = vbd_request_header(req, VBD_HEADER_IDEMPOTENCY_KEY);
	if (key)
		run_idempotent(dispatch, req, key);
	else
		run_handler(req);
}

struct parsing {
	struct vbd_in_turns turns;
	struct vbd_dispatch *dispatch;
};

static bool parse_turn(struct vbd_in_turns *turns)
{
	struct vbd_dispatch *dispatch = VBD_CONTAINER_OF(turns, struct parsing, turns)->dispatch;
	struct vbd_request *req = turns->req;

	free(turns);
	parse_and_run(dispatch, req);
	return true;
}

static void free_turn(struct vbd_in_turns *turns)
{
	free(turns);
}

void vbd_dispatch_run(struct vbd_dispatch *dispatch, struct vbd_request *req)
{
	struct parsing *parsing = NULL;

	if (req->reply.status)
		return;
	if (req->body_bytes > PARSE_AT_ONCE_BYTES)
		parsing = malloc(sizeof(*parsing));
	if (!parsing) {
		parse_and_run(dispatch, req);
		return;
	}
	*parsing = (struct parsing){.turns = {.req = req, .go_on = parse_turn, .drop = free_turn},
		.dispatch = dispatch};
	vbd_in_turns_run(&parsing->turns, dispatch->config.turns);
}

size_t vbd_dispatch_idempotency_keys(const struct vbd_dispatch *dispatch)
{
	return vbd_idem_count(dispatch->idem);
}
