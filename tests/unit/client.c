/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/client.h"

#include "api/api.h"

static const uint64_t json_max_bytes = 65536;

/* --- the transport --------------------------------------------------------------------------- */

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	struct client *client = VBD_CONTAINER_OF(req, struct client, req);

	if (client->may_not_wait)
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS, "the test parks no requests");
	client->timeout_ms = timeout_ms;
	client->on_timeout = on_timeout;
	client->on_gone = on_gone;
	client->park_arg = arg;
	return VBD_OK;
}

static const struct vbd_transport transport = {
	.park = park, .answered = unit_ignore, .follow = unit_follow, .wake = unit_ignore};

/* --- the fixture ----------------------------------------------------------------------------- */

struct client *client_begin(bool has_state)
{
	struct client *client = calloc(1, sizeof(*client));
	void *svc = NULL;

	assert_non_null(client);
	assert_int_equal(svc_setup(&svc), 0);
	client->svc = svc;
	client->type = "application/json";
	client->config = (struct vbd_dispatch_config){
		.router = vbd_routes(), .json_max_bytes = &json_max_bytes, .idem_max = 16};
	if (has_state) {
		scratch_make(client->folder);
		assert_true(svc_restart_in(client->svc, client->folder));
	}
	return client;
}

int client_end(void **state)
{
	struct client *client = *state;
	void *svc = client->svc;
	int rc;

	client_close(client);
	rc = svc_teardown(&svc);
	if (client->folder[0])
		scratch_remove(client->folder);
	free(client);
	return rc;
}

void client_open(struct client *client, const struct client_caller *callers, size_t count)
{
	struct vbd_daemon *daemon = client->svc->daemon;
	struct vbd_dispatch_config config = client->config;
	struct vbd_caller_list list = {0};

	for (size_t i = 0; i < count; i++)
		unit_add_caller(&list, callers[i].name, callers[i].role);
	assert_int_equal(
		vbd_credentials_create(&daemon->callers, &list, &client->credentials, NULL),
		VBD_OK);
	vbd_caller_list_fini(&list);
	vbd_credentials_use(client->credentials, NULL);
	client->api.daemon = daemon;
	config.auth.credentials = client->credentials;
	config.context = &client->api;
	config.keeper = daemon->keeper;
	config.server_id = daemon->server_id;
	client->dispatch = vbd_dispatch_create(&config);
	assert_non_null(client->dispatch);
}

void client_close(struct client *client)
{
	vbd_request_fini(&client->req);
	vbd_dispatch_destroy(client->dispatch);
	vbd_credentials_destroy(client->credentials);
	client->dispatch = NULL;
	client->credentials = NULL;
}

/* --- requests -------------------------------------------------------------------------------- */

void client_send(struct client *client, const char *caller, const char *method, const char *target,
	const char *body)
{
	static const struct vbd_auth_peer peer = {.loopback = true, .local_addr = "127.0.0.1"};
	struct vbd_request *req = &client->req;
	size_t len = body ? strlen(body) : 0;

	vbd_request_fini(req);
	(void)snprintf(client->target, sizeof(client->target), "%s", target);
	(void)snprintf(
		client->path, sizeof(client->path), "%.*s", (int)strcspn(target, "?"), target);
	(void)snprintf(client->authorization, sizeof(client->authorization), "Bearer %s", caller);
	req->client = "127.0.0.1:40312";
	req->transport = &transport;
	unit_set_headers(req, client->authorization);
	unit_set_header(req, VBD_HEADER_CONTENT_TYPE, client->type);
	unit_set_header(req, VBD_HEADER_IF_MATCH, client->if_match);
	unit_set_header(req, VBD_HEADER_IDEMPOTENCY_KEY, client->key);
	req->path = client->path;
	req->content_bytes = len;
	vbd_dispatch_head(client->dispatch, req, method, client->target, &peer);
	if (!req->reply.status && len)
		vbd_dispatch_body(client->dispatch, req, body, len);
	vbd_dispatch_run(client->dispatch, req);
}

unsigned int client_ask(struct client *client, const char *caller, const char *method,
	const char *target, const char *body)
{
	client_send(client, caller, method, target, body);
	SVC_UNTIL(client->svc, client->req.reply.status && !client->req.held);
	return client->req.reply.status;
}

void client_prepare(struct client *client, enum vbd_method method, const char *target)
{
	struct vbd_request *req = &client->req;

	vbd_request_fini(req);
	*req = (struct vbd_request){.transport = &transport,
		.context = &client->api,
		.method = method,
		.role = VBD_ROLE_CONTROL};
	client->api.daemon = client->svc->daemon;
	client->timeout_ms = 0;
	client->on_timeout = NULL;
	client->on_gone = NULL;
	(void)snprintf(client->target, sizeof(client->target), "%s", target);
	assert_int_equal(vbd_uri_parse(client->target, &req->uri, NULL), VBD_OK);
}

unsigned int client_await(struct client *client)
{
	unsigned int turns = 0;

	UNIT_UNTIL (client->req.reply.status) {
		vbd_loop_turn(client->svc->daemon->loop, false);
		turns++;
	}
	return turns;
}

json_t *client_document(const struct client *client)
{
	json_t *json = json_loadb(
		client->req.reply.body, client->req.reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(json);
	return json;
}

bool client_says(const struct client *client, const char *text)
{
	const struct vbd_reply *reply = &client->req.reply;

	return reply->body && memmem(reply->body, reply->body_bytes, text, strlen(text)) != NULL;
}
