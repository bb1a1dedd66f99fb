/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bytes as a request to a handler: method, target, some headers and body, one on each line.
 * The code must not crash, and every request must end with exactly one answer in JSON.
 */
#include "api/http/dispatch.h"
#include "api/http/page.h"

#include "tests/unit/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint64_t json_max_bytes = 1024;

static const enum vbd_header headers[] = {VBD_HEADER_HOST, VBD_HEADER_ORIGIN,
	VBD_HEADER_AUTHORIZATION, VBD_HEADER_CONTENT_TYPE, VBD_HEADER_PREFER,
	VBD_HEADER_IDEMPOTENCY_KEY};

#define LINES (2 + VBD_ARRAY_LEN(headers))

/* The input, split into lines. */
static struct {
	char *lines[LINES];
	const char *body;
	size_t body_bytes;
} input;

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)req;
	(void)timeout_ms;
	(void)on_timeout;
	(void)on_gone;
	(void)arg;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED, "nobody waits here");
}

static void answered(struct vbd_request *req)
{
	(void)req;
	abort(); /* nothing is parked */
}

static const struct vbd_transport transport = {.park = park, .answered = answered};

static void say(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "ref", req->ref);
	vbd_put_u64(&out, "wait_ms", req->wait_ms);
	vbd_reply_json(req, 200, &out);
}

static const uint64_t items[] = {1, 2, 3, 5, 8};

static uint64_t item_id(const void *item)
{
	return *(const uint64_t *)item;
}

static const void *item_after(const void *listed, uint64_t id)
{
	(void)listed;
	for (size_t i = 0; i < VBD_ARRAY_LEN(items); i++) {
		if (item_id(&items[i]) > id)
			return &items[i];
	}
	return NULL;
}

static uint64_t by_size(const void *item)
{
	return item_id(item) % 3;
}

static uint64_t state_of(const void *item)
{
	return item_id(item) % 2;
}

static void encode(struct vbd_encoder *out, const void *item)
{
	vbd_put_u64(out, "id", item_id(item));
	vbd_put_text(out, "name", "x");
}

static const struct vbd_member members[] = {
	{"id", true, VBD_ROLE_READ}, {"name", true, VBD_ROLE_READ}, {NULL, false, VBD_ROLE_NONE}};
static const struct vbd_page_state states[] = {{"even", false}, {"odd", true}, {NULL, false}};
static const struct vbd_page_column columns[] = {{"size", VBD_SORTS, .number = by_size}, {0}};
static const struct vbd_page_source source = {.members = members,
	.columns = columns,
	.states = states,
	.state_of = state_of,
	.id = item_id,
	.after = item_after,
	.encode = encode};

static void list(struct vbd_request *req)
{
	vbd_page_reply(req, "a-1", &source, NULL, NULL);
}

static const struct vbd_route routes[] = {
	{.method = VBD_METHOD_GET, .pattern = "/livez", .handler = say, .query = {"verbose"}},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/things",
		.role = VBD_ROLE_READ,
		.query = {"limit", "after", "sort", "state", "fields", "view"},
		.handler = list},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/things",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_JSON,
		.handler = say},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/things/{ref}/poke",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_OPTIONAL,
		.prefer = true,
		.handler = say},
	{.method = VBD_METHOD_DELETE,
		.pattern = "/v1/things/{ref}",
		.role = VBD_ROLE_CONTROL,
		.handler = say},
};

static void play(struct vbd_dispatch *dispatch)
{
	const struct vbd_auth_peer peer = {.loopback = true, .local_addr = "127.0.0.1"};
	struct vbd_request req = {
		.transport = &transport, .path = "/", .content_bytes = input.body_bytes};
	json_t *json = NULL;
	bool bare;

	for (size_t i = 0; i < VBD_ARRAY_LEN(headers); i++) {
		const char *name = vbd_header_name(headers[i]), *value = input.lines[2 + i];

		if (*value && vbd_headers_add(&req, name, strlen(name), value, strlen(value),
				      NULL) != VBD_OK) {
			vbd_request_fini(&req);
			return;
		}
	}
	vbd_dispatch_head(dispatch, &req, input.lines[0], input.lines[1], &peer);
	if (!req.reply.status && input.body_bytes)
		vbd_dispatch_body(dispatch, &req, input.body, input.body_bytes);
	vbd_dispatch_run(dispatch, &req);
	if (req.reply.status < 200 || req.reply.status > 599)
		abort();
	bare = req.reply.status == 204 || req.reply.status == 304;
	if (!bare)
		json = json_loadb(req.reply.body, req.reply.body_bytes, 0, NULL);
	if (!bare && !json)
		abort();
	json_decref(json);
	vbd_request_fini(&req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vbd_callers callers = {0};
	struct vbd_credentials *credentials = unit_credentials(&callers, NULL, NULL);
	const struct vbd_dispatch_config config = {
		.auth = {.credentials = credentials},
		.router = {.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)},
		.json_max_bytes = &json_max_bytes,
		.idem_max = 4,
	};
	struct vbd_dispatch *dispatch = vbd_dispatch_create(&config);
	char *text = malloc(size + 1);
	char *next = text;
	char empty[LINES][1] = {{0}};

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < LINES; i++) {
		char *line = strsep(&next, "\n");

		input.lines[i] = line ? line : empty[i];
	}
	input.body = next ? next : "";
	input.body_bytes = strlen(input.body);
	play(dispatch);
	free(text);
	vbd_dispatch_destroy(dispatch);
	vbd_credentials_destroy(credentials);
	return 0;
}
