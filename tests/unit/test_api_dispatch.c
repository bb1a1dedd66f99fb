/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch, lists and waiting without HTTP: the test plays the transport. */
#include "api/http/dispatch.h"
#include "api/http/page.h"
#include "api/http/waiter.h"
#include "daemon/core/turns.h"

#include "tests/unit/credentials.h"
#include "tests/unit/unit.h"

#include <strings.h>

/* --- a transport ----------------------------------------------------------------------------- */

struct header {
	const char *name, *value;
};

static struct {
	struct vbd_callers callers;
	struct vbd_credentials *credentials;
	struct vbd_dispatch *dispatch;
	struct vbd_loop *loop;
	struct vbd_turns turns;
	struct header headers[8];
	size_t n_headers;
	const char *body;
	struct vbd_auth_peer peer;
	int handled;  /* number of calls of the handler */
	int answered; /* number of parked requests that were answered */
	int refused;
	int audited;
	unsigned int audited_status;
	enum vbd_status fail_with;
	bool fail_after_acting;
	bool wait_fails; /* the object that a request waits for has failed */
	vbd_request_cb on_timeout, on_gone;
	void *park_arg;
	enum vbd_status park_status;
	char sunk[64];
	int sinks_closed;
	struct vbd_link watches;
	uint64_t json_max_bytes;
} test;

static char target[512], path[512];
static struct vbd_request request;

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	(void)req;
	(void)timeout_ms;
	if (test.park_status != VBD_OK)
		return vbd_error_set(err, test.park_status, "no");
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

static void on_refused(void *context, const char *client, const struct vbd_caller *caller,
	const struct vbd_error *err)
{
	(void)caller;
	(void)context;
	(void)client;
	(void)err;
	test.refused++;
}

static void on_audited(struct vbd_request *req)
{
	test.audited++;
	test.audited_status = req->reply.status;
}

/* --- routes ---------------------------------------------------------------------------------- */

static void say_hello(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();

	test.handled++;
	vbd_put_text(&out, "ref", req->ref);
	vbd_put_bool(&out, "body", req->json != NULL);
	vbd_reply_json(req, 200, &out);
}

/* Makes an object if the test says so, and answers with an error. */
static void answer_error(struct vbd_request *req)
{
	struct vbd_error err = {0};

	test.handled++;
	req->acted = test.fail_after_acting;
	(void)vbd_error_set(&err, test.fail_with, "it failed");
	vbd_reply_problem(req, &err);
}

static void say_nothing(struct vbd_request *req)
{
	(void)req;
	test.handled++;
}

static enum vbd_status sink_write(
	void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	(void)arg;
	if (strlen(test.sunk) + len_bytes >= sizeof(test.sunk))
		return vbd_error_set(err, VBD_E_RANGE_NOT_SATISFIABLE, "full");
	(void)strncat(test.sunk, bytes, len_bytes);
	return VBD_OK;
}

static void sink_close(void *arg)
{
	(void)arg;
	test.sinks_closed++;
}

static void open_sink(struct vbd_request *req)
{
	req->sink = (struct vbd_sink){.write = sink_write, .close = sink_close};
}

static void put_sink(struct vbd_request *req)
{
	vbd_reply_empty(req, 204);
}

struct item {
	uint64_t id;
	uint64_t size;
	const char *mark;
};

static const struct item items[] = {
	{1, 30, "c"}, {2, 10, "a"}, {3, 20, "b"}, {5, 10, "a"}, {8, 40, ":"}};

VBD_PAGE_NUMBER(item_id, struct item, id)
VBD_PAGE_NUMBER(by_size, struct item, size)
VBD_PAGE_NUMBER(state_of, struct item, size >= 30)
VBD_PAGE_TEXT(by_mark, struct item, mark)

static const void *item_after(const void *listed, uint64_t id)
{
	(void)listed;
	for (size_t i = 0; i < VBD_ARRAY_LEN(items); i++) {
		if (item_id(&items[i]) > id)
			return &items[i];
	}
	return NULL;
}

static void encode(struct vbd_encoder *out, const void *item)
{
	const struct item *it = item;

	test.handled++;
	vbd_put_u64(out, "id", it->id);
	vbd_put_u64(out, "size", it->size);
	vbd_put_text(out, "more", "x");
	vbd_begin_object(out, "parts");
	vbd_begin_array(out, "one");
	vbd_begin_object(out, NULL);
	vbd_put_u64(out, "a", 1);
	vbd_put_u64(out, "b", 2);
	vbd_end(out);
	vbd_end(out);
	vbd_put_null(out, "two");
	vbd_end(out);
}

static const struct vbd_member members[] = {{"id", true, VBD_ROLE_READ},
	{"size", true, VBD_ROLE_READ}, {"more", false, VBD_ROLE_READ},
	{"parts", false, VBD_ROLE_READ}, {"parts.*", false, VBD_ROLE_READ},
	{"parts.*.a", false, VBD_ROLE_READ}, {"parts.*.b", false, VBD_ROLE_READ},
	{NULL, false, VBD_ROLE_NONE}};
static const struct vbd_member guarded_members[] = {{"id", true, VBD_ROLE_READ},
	{"size", true, VBD_ROLE_READ}, {"more", false, VBD_ROLE_CONTROL},
	{"parts", false, VBD_ROLE_READ}, {"parts.*", false, VBD_ROLE_READ},
	{"parts.*.a", false, VBD_ROLE_CONTROL}, {"parts.*.b", false, VBD_ROLE_READ},
	{NULL, false, VBD_ROLE_NONE}};
static const struct vbd_page_state states[] = {{"small", false}, {"big", true}, {NULL, false}};
static const struct vbd_page_column columns[] = {{"size", VBD_SORTS, .number = by_size},
	{"mark", VBD_SORTS_AND_SELECTS, .text = by_mark}, {NULL}};
static const struct vbd_page_source source = {.members = members,
	.columns = columns,
	.states = states,
	.state_of = state_of,
	.id = item_id,
	.after = item_after,
	.encode = encode};

static void list_items(struct vbd_request *req)
{
	vbd_page_reply(req, "a-1", &source, NULL, NULL);
}

static const struct vbd_page_source guarded_source = {
	.members = guarded_members, .id = item_id, .after = item_after, .encode = encode};

static void list_guarded_items(struct vbd_request *req)
{
	vbd_page_reply(req, "a-1", &guarded_source, NULL, NULL);
}

static void answer_wait(struct vbd_waiter *waiter, enum vbd_wake why)
{
	static const char *const names[] = {"changed", "timeout", "gone"};

	struct vbd_error err = {0};
	struct vbd_encoder out;

	if (why == VBD_WAKE_CHANGED && !test.handled)
		return;
	if (test.wait_fails) {
		(void)vbd_error_set(&err, VBD_E_REJECTED, "the peer rejected it");
		vbd_reply_problem(waiter->req, &err);
		return;
	}
	out = vbd_encode_begin();
	vbd_put_text(&out, "why", names[why]);
	vbd_reply_json(waiter->req, 200, &out);
}

static void wait_for_change(struct vbd_request *req)
{
	struct vbd_waiter waiter = {.answer = answer_wait};

	vbd_waiter_run(&waiter, sizeof(waiter), req, &test.watches, req->wait_ms);
}

static const struct vbd_route routes[] = {
	{.method = VBD_METHOD_GET, .pattern = "/livez", .handler = say_hello},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/things/{ref}",
		.role = VBD_ROLE_READ,
		.query = {"n", "word", "text"},
		.handler = say_hello},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/things",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_JSON,
		.handler = say_hello},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/maybe",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_OPTIONAL,
		.handler = say_hello},
	{.method = VBD_METHOD_PATCH,
		.pattern = "/v1/maybe",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_JSON,
		.handler = say_hello},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/kick",
		.role = VBD_ROLE_CONTROL,
		.handler = say_hello},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/fail",
		.role = VBD_ROLE_CONTROL,
		.handler = answer_error},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/mute",
		.role = VBD_ROLE_READ,
		.operation = "mute",
		.handler = say_nothing},
	{.method = VBD_METHOD_PUT,
		.pattern = "/v1/sink",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_STREAM,
		.open = open_sink,
		.handler = put_sink},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/items",
		.role = VBD_ROLE_READ,
		.query = {"limit", "after", "sort", "state", "fields", "mark"},
		.handler = list_items},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/guarded",
		.role = VBD_ROLE_READ,
		.query = {"limit", "fields"},
		.handler = list_guarded_items},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/wait",
		.role = VBD_ROLE_READ,
		.query = {"wait_ms"},
		.handler = wait_for_change},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/wait",
		.role = VBD_ROLE_CONTROL,
		.prefer = true,
		.handler = wait_for_change},
};

/* --- sending requests ------------------------------------------------------------------------ */

static int set_up(void **state)
{
	struct vbd_dispatch_config config = {
		.router = {.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)},
		.json_max_bytes = &test.json_max_bytes,
		.idem_max = 8,
		.on_refused = on_refused,
		.on_audited = on_audited,
		.server_id = "run1",
	};

	(void)state;
	memset(&test, 0, sizeof(test));
	test.json_max_bytes = 64;
	memset(&request, 0, sizeof(request));
	test.credentials = unit_credentials(&test.callers, NULL, NULL);
	config.auth.credentials = test.credentials;
	vbd_list_init(&test.watches);
	test.peer = (struct vbd_auth_peer){.loopback = true, .local_addr = "127.0.0.1"};
	test.headers[test.n_headers++] = (struct header){"Host", "127.0.0.1"};
	if (vbd_loop_create(&test.loop, NULL) != VBD_OK ||
		vbd_turns_init(&test.turns, test.loop, NULL) != VBD_OK)
		return -1;
	test.turns.budget_ns = 0;
	config.turns = &test.turns;
	test.dispatch = vbd_dispatch_create(&config);
	return test.dispatch ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_request_fini(&request);
	vbd_dispatch_destroy(test.dispatch);
	vbd_turns_fini(&test.turns);
	vbd_loop_destroy(test.loop);
	vbd_credentials_destroy(test.credentials);
	return test.callers.by_name ? -1 : 0;
}

#define DISPATCH_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

static void with_header(const char *name, const char *value)
{
	test.headers[test.n_headers++] = (struct header){name, value};
}

static void with_json(const char *body)
{
	with_header("Content-Type", "application/json; charset=utf-8");
	test.body = body;
}

static void begin(const char *method, const char *what, uint64_t content_bytes)
{
	vbd_request_fini(&request);
	(void)snprintf(target, sizeof(target), "%s", what);
	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(what, "?"), what);
	request.transport = &transport;
	for (size_t i = 0; i < test.n_headers; i++)
		assert_int_equal(vbd_headers_add(&request, test.headers[i].name,
					 strlen(test.headers[i].name), test.headers[i].value,
					 strlen(test.headers[i].value), NULL),
			VBD_OK);
	request.path = path;
	request.content_bytes = content_bytes;
	vbd_dispatch_head(test.dispatch, &request, method, target, &test.peer);
}

/* Sends a request. Returns its HTTP status, or 0 if the request waits. */
static unsigned int send_request(const char *method, const char *what)
{
	size_t len = test.body ? strlen(test.body) : 0;

	begin(method, what, len);
	if (!request.reply.status && len)
		vbd_dispatch_body(test.dispatch, &request, test.body, len);
	vbd_dispatch_run(test.dispatch, &request);
	return request.reply.status;
}

/* The code of the problem in the answer; "" if the answer is no problem. */
static const char *problem_code(void)
{
	static char code[64];
	json_t *json = json_loadb(
		request.reply.body ? request.reply.body : "", request.reply.body_bytes, 0, NULL);
	const char *text = json_string_value(json_object_get(json, "code"));

	(void)snprintf(code, sizeof(code), "%s", text ? text : "");
	json_decref(json);
	return code;
}

static bool answer_has(const char *text)
{
	return memmem(request.reply.body, request.reply.body_bytes, text, strlen(text)) != NULL;
}

static void answers(const char *method, const char *what, unsigned int status, const char *code)
{
	unsigned int got = send_request(method, what);

	if (got != status || strcmp(problem_code(), code) != 0)
		fail_msg("%s %s: %u %s", method, what, got, problem_code());
}

/* --- tests ----------------------------------------------------------------------------------- */

DISPATCH_TEST(test_dispatch__a_request_finds_its_handler)
{
	answers("GET", "/v1/things/a%20b?n=1", 200, "");
	assert_true(answer_has("\"ref\":\"a b\""));
	answers("HEAD", "/livez", 200, "");
	assert_int_equal(test.handled, 2);
}

DISPATCH_TEST(test_dispatch__unknown_paths_and_methods_are_told_apart)
{
	answers("GET", "/v1/nothing", 404, "not_found");
	answers("BREW", "/v1/kick", 501, "not_implemented");
	answers("GET", "/v1/kick", 405, "method_not_allowed");
	assert_true(answer_has("\"allow\":[\"POST\",\"OPTIONS\"]"));
	assert_string_equal(vbd_reply_find_header(&request.reply, "Allow"), "POST, OPTIONS");
	answers("POST", "/v1/items", 405, "method_not_allowed");
	assert_string_equal(vbd_reply_find_header(&request.reply, "Allow"), "GET, HEAD, OPTIONS");
	assert_int_equal(send_request("OPTIONS", "/v1/items"), 204);
	assert_string_equal(vbd_reply_find_header(&request.reply, "Allow"), "GET, HEAD, OPTIONS");
	assert_null(vbd_reply_find_header(&request.reply, "Accept-Patch"));
	assert_int_equal(send_request("OPTIONS", "/v1/maybe"), 204);
	assert_string_equal(
		vbd_reply_find_header(&request.reply, "Accept-Patch"), "application/json");
	assert_int_equal(test.handled, 0);
}

DISPATCH_TEST(test_dispatch__a_request_is_audited_once)
{
	answers("GET", "/v1/things/7", 200, "");
	assert_int_equal(test.audited, 0);
	answers("POST", "/v1/kick", 200, "");
	assert_int_equal(test.audited, 1);
	assert_int_equal(test.audited_status, 200);
	test.handled = 0;
	assert_int_equal(send_request("POST", "/v1/wait?wait_ms=1000"), 0);
	assert_int_equal(test.audited, 1);
	test.on_timeout(&request, test.park_arg);
	assert_int_equal(test.audited, 2);
	vbd_request_fini(&request);
	assert_int_equal(test.audited, 2);
}

DISPATCH_TEST(test_dispatch__a_repeat_by_its_key_is_audited)
{
	with_header("Idempotency-Key", "k1");
	answers("POST", "/v1/kick", 200, "");
	answers("POST", "/v1/kick", 200, "");
	assert_int_equal(test.handled, 1);
	assert_int_equal(test.audited, 2);
}

DISPATCH_TEST(test_dispatch__a_client_that_leaves_is_audited)
{
	with_header("Content-Type", "application/octet-stream");
	begin("PUT", "/v1/sink", 100);
	vbd_dispatch_body(test.dispatch, &request, "x", 1);
	vbd_request_fini(&request);
	assert_int_equal(test.audited, 1);
	assert_int_equal(test.audited_status, 0);
}

DISPATCH_TEST(test_dispatch__a_malformed_request_ends_the_connection)
{
	answers("G<>T", "/livez", 400, "malformed_request");
	assert_true(request.reply.close);
	answers("GET", "/a/../livez", 400, "malformed_request");
	assert_true(request.reply.close);
	answers("GET", "/livez?x=1", 400, "unknown_field");
	assert_false(request.reply.close);
}

DISPATCH_TEST(test_dispatch__the_wrong_site_learns_nothing)
{
	test.headers[0].value = "evil.test";
	answers("GET", "/v1/nothing", 421, "bad_host");
	test.headers[0].value = "127.0.0.1";
	with_header("Origin", "http://evil.test");
	answers("GET", "/v1/nothing", 403, "bad_origin");
	answers("GET", "/livez", 403, "bad_origin");
	assert_int_equal(test.refused, 3);
}

DISPATCH_TEST(test_dispatch__without_a_role_not_even_paths_are_told)
{
	test.peer.loopback = false;
	answers("GET", "/livez", 200, "");
	answers("GET", "/v1/things/1", 401, "unauthorized");
	assert_non_null(vbd_reply_find_header(&request.reply, "WWW-Authenticate"));
	answers("GET", "/v1/nothing", 401, "unauthorized");
	test.peer = (struct vbd_auth_peer){.unix_socket = true, .uid = (uid_t)-1};
	answers("GET", "/v1/things/1", 200, "");
	answers("POST", "/v1/kick", 403, "forbidden");
	answers("GET", "/v1/nothing", 404, "not_found");
}

/* From now on only this token is known. */
static void know_token(const char *name, enum vbd_role role, const char *token, uint64_t expires_s)
{
	struct vbd_credentials *before = test.credentials;
	struct vbd_caller_list list = {0};
	struct vbd_credential *credential;

	assert_non_null(vbd_caller_list_add(&list, name, role));
	credential = vbd_caller_list_know(&list, VBD_CREDENTIAL_TOKEN);
	assert_non_null(credential);
	assert_true(vbd_token_hash(token, credential->sha256));
	credential->expires_wall_s = expires_s;
	assert_int_equal(
		vbd_credentials_create(&test.callers, &list, &test.credentials, NULL), VBD_OK);
	vbd_credentials_use(test.credentials, before);
	vbd_dispatch_set_credentials(test.dispatch, test.credentials);
	vbd_credentials_destroy(before);
}

/* Whether the sender of the last request may stay; @why: part of the reason if not. */
static void may_stay(const char *why)
{
	struct vbd_error err = {0};
	enum vbd_status status = vbd_dispatch_may_stay(test.dispatch, &request, &test.peer, &err);

	assert_int_equal(status, why ? VBD_E_UNAUTHORIZED : VBD_OK);
	assert_int_equal(err.status, status);
	assert_string_equal(err.text, why ? why : "");
}

DISPATCH_TEST(test_dispatch__an_open_request_stays_while_its_sender_would_be_let_in)
{
	const uint64_t far_s = UINT64_C(4102444800); /* in 2100 */

	know_token("eve", VBD_ROLE_CONTROL, "t1", 0);
	with_header("Authorization", "Bearer t1");
	answers("GET", "/v1/things/1", 200, "");
	request.client = "127.0.0.1:9";
	may_stay(NULL);
	assert_int_equal(request.identity.expires_wall_s, 0);
	know_token("eve", VBD_ROLE_CONTROL, "t1", far_s);
	may_stay(NULL);
	assert_true(request.identity.expires_wall_s == far_s);
	know_token("eve", VBD_ROLE_READ, "t1", 0);
	may_stay("127.0.0.1:9 has another role now, or stands for another caller");
	know_token("adam", VBD_ROLE_CONTROL, "t1", 0);
	may_stay("127.0.0.1:9 has another role now, or stands for another caller");
	know_token("eve", VBD_ROLE_CONTROL, "t2", 0);
	may_stay("the token is unknown");
	know_token("eve", VBD_ROLE_CONTROL, "t1", 1);
	may_stay("the token of eve has expired");
	know_token("eve", VBD_ROLE_CONTROL, "t1", 0);
	may_stay(NULL);
}

DISPATCH_TEST(test_dispatch__a_body_must_say_that_it_is_json)
{
	test.body = "{}";
	answers("POST", "/v1/things", 415, "unsupported_media_type");
	with_header("Content-Type", "text/plain");
	answers("POST", "/v1/things", 415, "unsupported_media_type");
	test.headers[1].value = "application/jsonx";
	answers("POST", "/v1/kick", 415, "unsupported_media_type");
	test.headers[1].value = "Application/JSON ; charset=utf-8";
	answers("POST", "/v1/things", 200, "");
}

DISPATCH_TEST(test_dispatch__bodies_are_needed_optional_or_unwanted)
{
	answers("POST", "/v1/things", 400, "malformed_json");
	answers("POST", "/v1/maybe", 200, "");
	answers("POST", "/v1/kick", 200, "");
	with_json("{}");
	answers("POST", "/v1/kick", 200, "");
	test.body = "{\"a\":1}";
	answers("POST", "/v1/kick", 400, "unknown_field");
	test.body = "[1";
	answers("POST", "/v1/maybe", 400, "malformed_json");
}

DISPATCH_TEST(test_dispatch__a_body_over_the_limit_is_refused_before_it_is_parsed)
{
	char body[66];

	memset(body, ' ', sizeof(body));
	body[0] = '{';
	body[64] = '}';
	body[65] = '\0';
	with_json(body);
	begin("POST", "/v1/things", 65);
	assert_int_equal(request.reply.status, 413);
	begin("POST", "/v1/things", UINT64_MAX); /* in chunks */
	assert_int_equal(request.reply.status, 0);
	vbd_dispatch_body(test.dispatch, &request, body, 40);
	assert_int_equal(request.reply.status, 0);
	vbd_dispatch_body(test.dispatch, &request, body, 40);
	assert_int_equal(request.reply.status, 413);
	assert_string_equal(problem_code(), "body_too_large");
	assert_true(answer_has("\"limit\":64"));
	assert_int_equal(test.handled, 0);
	body[63] = '}';
	begin("POST", "/v1/things", 64);
	assert_int_equal(request.reply.status, 0);
	vbd_dispatch_body(test.dispatch, &request, body, 40);
	vbd_dispatch_body(test.dispatch, &request, body + 40, 24);
	vbd_dispatch_run(test.dispatch, &request);
	assert_int_equal(request.reply.status, 200);
}

DISPATCH_TEST(test_dispatch__a_stream_goes_into_its_sink)
{
	test.body = "0123456789";
	assert_int_equal(send_request("PUT", "/v1/sink"), 204);
	assert_string_equal(test.sunk, "0123456789");
	vbd_request_fini(&request);
	assert_int_equal(test.sinks_closed, 1);
	begin("PUT", "/v1/sink", UINT64_MAX);
	vbd_dispatch_body(test.dispatch, &request, test.body, 10);
	vbd_request_fini(&request); /* the client left */
	assert_int_equal(test.sinks_closed, 2);
}

DISPATCH_TEST(test_dispatch__a_full_sink_is_the_answer)
{
	static const char body[] = "0123456789012345678901234567890123456789";

	begin("PUT", "/v1/sink", UINT64_MAX);
	vbd_dispatch_body(test.dispatch, &request, body, 40);
	vbd_dispatch_body(test.dispatch, &request, body, 40);
	assert_int_equal(request.reply.status, 416);
	vbd_dispatch_run(test.dispatch, &request);
	assert_int_equal(request.reply.status, 416);
}

DISPATCH_TEST(test_dispatch__a_handler_without_an_answer_is_an_internal_error)
{
	answers("GET", "/v1/mute", 500, "internal");
}

DISPATCH_TEST(test_dispatch__a_repeat_gets_the_first_answer)
{
	with_json("{\"a\":1}");
	with_header("Idempotency-Key", "k");
	answers("POST", "/v1/things", 200, "");
	assert_null(vbd_reply_find_header(&request.reply, "Idempotency-Replayed"));
	answers("POST", "/v1/things", 200, "");
	assert_true(answer_has("\"body\":true"));
	assert_string_equal(vbd_reply_find_header(&request.reply, "Idempotency-Replayed"), "true");
	assert_string_equal(vbd_reply_find_header(&request.reply, "Idempotency-Server"), "run1");
	/* Nothing keeps it over a restart. */
	assert_string_equal(vbd_reply_find_header(&request.reply, "Idempotency-Durable"), "false");
	assert_int_equal(test.handled, 1);
	test.body = "{}";
	answers("POST", "/v1/things", 422, "idempotency_mismatch");
	test.body = NULL;
	answers("GET", "/v1/things/1", 200, ""); /* keys are for POST */
	assert_int_equal(test.handled, 2);
}

DISPATCH_TEST(test_dispatch__a_request_that_did_nothing_runs_again_under_its_key)
{
	static const enum vbd_status statuses[] = {VBD_E_TOO_MANY_REQUESTS, VBD_E_NAME_TAKEN,
		VBD_E_BAD_VALUE, VBD_E_NO_DEVICE, VBD_E_NO_MEMORY};

	with_header("Idempotency-Key", "k");
	for (size_t i = 0; i < VBD_ARRAY_LEN(statuses); i++) {
		test.fail_with = statuses[i];
		answers("POST", "/v1/fail", vbd_status_http(statuses[i]),
			vbd_status_code(statuses[i]));
		assert_int_equal(test.handled, (int)i + 1);
	}
}

DISPATCH_TEST(test_dispatch__a_request_that_did_something_runs_once_even_if_it_failed)
{
	static const enum vbd_status statuses[] = {VBD_E_RETRY_EXCEEDED, VBD_E_UNREACHABLE,
		VBD_E_STOPPING, VBD_E_NO_MEMORY, VBD_E_TOO_MANY_REQUESTS};

	test.fail_after_acting = true;
	with_header("Idempotency-Key", "");
	for (size_t i = 0; i < VBD_ARRAY_LEN(statuses); i++) {
		test.headers[test.n_headers - 1].value = vbd_status_code(statuses[i]);
		test.fail_with = statuses[i];
		for (int repeat = 0; repeat < 2; repeat++)
			answers("POST", "/v1/fail", vbd_status_http(statuses[i]),
				vbd_status_code(statuses[i]));
		assert_int_equal(test.handled, (int)i + 1);
	}
}

DISPATCH_TEST(test_dispatch__a_request_for_another_run_does_nothing)
{
	with_header("Verbsd-If-Server", "run1");
	answers("POST", "/v1/kick", 200, "");
	assert_int_equal(test.handled, 1);
	test.headers[test.n_headers - 1].value = "run2";
	answers("POST", "/v1/kick", 412, "server_restarted");
	answers("GET", "/livez", 412, "server_restarted");
	answers("GET", "/v1/nothing", 412, "server_restarted");
	assert_int_equal(test.handled, 1);
	test.peer.loopback = false; /* a stranger learns nothing about the run */
	answers("POST", "/v1/kick", 401, "unauthorized");
}

DISPATCH_TEST(test_dispatch__both_forms_of_a_wait_are_the_same)
{
	static const struct {
		const char *method, *target, *prefer;
		uint64_t wait_ms;
		bool preferred;
	} waits[] = {
		{"GET", "/v1/wait?wait_ms=1500", "", 1500, false},
		{"GET", "/v1/wait", "wait=2", 2000, true},
		{"GET", "/v1/wait?wait_ms=60001", "", 60000, false},
		{"GET", "/v1/wait", "wait=61", 60000, true},
		{"POST", "/v1/wait?wait_ms=1500", "", 1500, false},
		{"POST", "/v1/wait?wait_ms=18446744073709551615", "", 60000, false},
		{"POST", "/v1/wait", "wait=2", 2000, true},
		{"POST", "/v1/wait?wait_ms=10", "wait=2", 10, false},
	};

	with_header("Prefer", "");
	for (size_t i = 0; i < VBD_ARRAY_LEN(waits); i++) {
		test.headers[test.n_headers - 1].value = waits[i].prefer;
		assert_int_equal(send_request(waits[i].method, waits[i].target), 0);
		assert_true(request.wait_asked);
		assert_int_equal(request.wait_preferred, waits[i].preferred);
		assert_int_equal(request.wait_ms, waits[i].wait_ms);
		test.on_timeout(&request, test.park_arg);
	}
	answers("POST", "/v1/wait?wait_ms=soon", 400, "wrong_type");
	answers("POST", "/v1/kick?wait_ms=1", 400, "unknown_field");
}

DISPATCH_TEST(test_dispatch__values_of_parameters_are_checked)
{
	static const char *const words[] = {"red", "blue"};
	struct vbd_error err = {0};
	const char *text = "unset";
	uint64_t number = 7;
	size_t index = 9;

	assert_int_equal(send_request("GET", "/v1/things/1?n=12&word=blue&text=h%C3%A9"), 200);
	assert_int_equal(vbd_query_u64(&request, "n", 1, 12, &number, &err), VBD_OK);
	assert_true(number == 12);
	assert_int_equal(vbd_query_u64(&request, "n", 1, 11, &number, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "n");
	assert_int_equal(vbd_query_u64(&request, "word", 1, 12, &number, NULL), VBD_E_WRONG_TYPE);
	assert_int_equal(vbd_query_u64(&request, "absent", 1, 12, &number, NULL), VBD_OK);
	assert_true(number == 12);
	assert_int_equal(vbd_query_enum(&request, "word", words, 2, &index, NULL), VBD_OK);
	assert_int_equal(index, 1);
	assert_int_equal(vbd_query_enum(&request, "n", words, 2, &index, NULL), VBD_E_BAD_VALUE);
	assert_int_equal(vbd_query_text(&request, "text", 2, &text, NULL), VBD_OK);
	assert_string_equal(text, "h\xc3\xa9");
	assert_int_equal(vbd_query_text(&request, "text", 1, &text, NULL), VBD_E_TOO_LONG);
	assert_int_equal(send_request("GET", "/v1/things/1?n=18446744073709551616"), 200);
	assert_int_equal(
		vbd_query_u64(&request, "n", 0, UINT64_MAX, &number, NULL), VBD_E_OUT_OF_RANGE);
}

/* The `next` of the last list, "" for null. */
static char next[320];

static void lists(const char *what, const char *ids, int total)
{
	json_t *page, *item;
	char got[64] = "";
	size_t i;

	assert_int_equal(send_request("GET", what), 200);
	page = json_loadb(request.reply.body, request.reply.body_bytes, 0, NULL);
	json_array_foreach(json_object_get(page, "items"), i, item)
	{
		size_t used = strlen(got);

		(void)snprintf(got + used, sizeof(got) - used, "%s%d", used ? " " : "",
			(int)json_integer_value(json_object_get(item, "id")));
	}
	assert_string_equal(got, ids);
	assert_int_equal(json_integer_value(json_object_get(page, "total")), total);
	(void)snprintf(next, sizeof(next), "%s",
		json_is_null(json_object_get(page, "next"))
			? ""
			: json_string_value(json_object_get(page, "next")));
	json_decref(page);
}

/* The page behind the last one. */
static void goes_on(const char *what, const char *ids, int total)
{
	char more[512];

	assert_true(*next);
	(void)snprintf(more, sizeof(more), "%s&after=%s", what, next);
	lists(more, ids, total);
}

DISPATCH_TEST(test_page__a_list_is_read_page_by_page)
{
	lists("/v1/items?state=open,ended", "1 2 3 5 8", 5);
	assert_string_equal(next, "");
	lists("/v1/items?state=open,ended&limit=2", "1 2", 5);
	goes_on("/v1/items?state=open,ended&limit=2", "3 5", 5);
	goes_on("/v1/items?state=open,ended&limit=2", "8", 5);
	assert_string_equal(next, "");
	lists("/v1/items?sort=-id&limit=2", "5 3", 3);
	goes_on("/v1/items?sort=-id", "2", 3);
}

DISPATCH_TEST(test_page__a_list_is_sorted_with_ids_for_ties)
{
	lists("/v1/items?state=open,ended&sort=size", "2 5 3 1 8", 5);
	lists("/v1/items?state=open,ended&sort=-size", "8 1 3 5 2", 5);
	lists("/v1/items?state=open,ended&sort=size&limit=1", "2", 5);
	goes_on("/v1/items?state=open,ended&sort=size&limit=2", "5 3", 5);
	goes_on("/v1/items?state=open,ended&sort=size&limit=2", "1 8", 5);
	lists("/v1/items?state=open,ended&sort=-mark&limit=2", "1 3", 5);
	goes_on("/v1/items?state=open,ended&sort=-mark&limit=2", "5 2", 5);
	goes_on("/v1/items?state=open,ended&sort=-mark&limit=2", "8", 5);
}

/* The item of `next` is in another state, as if it had left the list. */
DISPATCH_TEST(test_page__a_list_goes_on_when_the_last_item_is_gone)
{
	lists("/v1/items?state=big&sort=size&limit=1", "1", 2);
	goes_on("/v1/items?state=small,big&sort=size", "8", 5);
	lists("/v1/items?state=small&sort=-mark&limit=1", "3", 3);
	goes_on("/v1/items?state=big&sort=-mark", "8", 2);
}

DISPATCH_TEST(test_page__a_state_or_a_member_selects)
{
	lists("/v1/items", "2 3 5", 3);
	lists("/v1/items?state=ended", "1 8", 2);
	lists("/v1/items?state=big", "1 8", 2);
	lists("/v1/items?state=small,big&limit=1", "1", 5);
	lists("/v1/items?mark=a", "2 5", 2);
	lists("/v1/items?mark=c", "", 0);
	lists("/v1/items?state=open,ended&mark=c", "1", 1);
	lists("/v1/items?fields=size&limit=1", "2", 3);
	assert_true(answer_has("{\"id\":2,\"size\":10}"));
	lists("/v1/items?fields=id,more&limit=1", "2", 3);
	assert_true(answer_has("{\"id\":2,\"more\":\"x\"}"));
}

DISPATCH_TEST(test_page__items_have_the_short_form_unless_more_is_asked_for)
{
	lists("/v1/items?limit=1", "2", 3);
	assert_true(answer_has("[{\"id\":2,\"size\":10}]"));
	lists("/v1/items?limit=1&fields=*", "2", 3);
	assert_true(
		answer_has("\"more\":\"x\",\"parts\":{\"one\":[{\"a\":1,\"b\":2}],\"two\":null}}"));
}

DISPATCH_TEST(test_page__fields_are_members_of_the_object)
{
	lists("/v1/items?limit=1&fields=parts,parts", "2", 3);
	assert_true(
		answer_has("[{\"id\":2,\"parts\":{\"one\":[{\"a\":1,\"b\":2}],\"two\":null}}]"));
	answers("GET", "/v1/items?fields=parts.one", 400, "bad_value");
	answers("GET", "/v1/items?fields=size,*", 400, "bad_value");
	answers("GET", "/v1/items?fields=parts.", 400, "bad_value");
	answers("GET", "/v1/items?fields=.id", 400, "bad_value");
	answers("GET", "/v1/items?fields=id.id", 400, "bad_value");
	answers("GET", "/v1/items?fields=size,,id", 400, "bad_value");
	answers("GET", "/v1/items?view=x", 400, "unknown_field");
}

DISPATCH_TEST(test_page__a_reader_gets_no_hidden_member)
{
	lists("/v1/guarded?fields=*&limit=1", "1", 5);
	assert_true(answer_has("\"more\":\"x\",\"parts\":{\"one\":[{\"a\":1,\"b\":2}]"));
	test.peer = (struct vbd_auth_peer){.unix_socket = true, .uid = (uid_t)-1};
	lists("/v1/guarded?fields=*&limit=1", "1", 5);
	assert_true(answer_has("\"size\":30,\"parts\":{\"one\":[{\"b\":2}],\"two\":null}}"));
	lists("/v1/guarded?fields=more&limit=1", "1", 5);
	assert_true(answer_has("[{\"id\":1}]"));
	lists("/v1/guarded?fields=parts&limit=1", "1", 5);
	assert_true(answer_has("[{\"id\":1,\"parts\":{\"one\":[{\"b\":2}],\"two\":null}}]"));
}

DISPATCH_TEST(test_page__bad_parameters_say_what_is_allowed)
{
	answers("GET", "/v1/items?sort=colour", 400, "bad_value");
	assert_true(answer_has("id, size, mark"));
	answers("GET", "/v1/items?state=blue", 400, "bad_value");
	assert_true(answer_has("open, ended, small, big"));
	answers("GET", "/v1/items?state=big,", 400, "bad_value");
	answers("GET", "/v1/items?mark=", 400, "bad_value");
	answers("GET", "/v1/items?fields=id,colour", 400, "bad_value");
	answers("GET", "/v1/items?limit=0", 400, "out_of_range");
	answers("GET", "/v1/items?limit=1001", 400, "out_of_range");
	answers("GET", "/v1/items?limit=x", 400, "wrong_type");
	answers("GET", "/v1/items?after=-1", 400, "bad_value");
	answers("GET", "/v1/items?after=2", 400, "bad_value");
}

DISPATCH_TEST(test_page__a_next_belongs_to_its_order)
{
	char what[512];

	lists("/v1/items?sort=size&limit=1", "2", 3);
	(void)snprintf(what, sizeof(what), "/v1/items?sort=mark&after=%s", next);
	answers("GET", what, 400, "bad_value");
	(void)snprintf(what, sizeof(what), "/v1/items?sort=size&after=%s*", next);
	answers("GET", what, 400, "bad_value");
}

DISPATCH_TEST(test_page__items_outside_the_page_are_not_encoded)
{
	lists("/v1/items?limit=1&sort=size", "2", 3);
	assert_int_equal(test.handled, 1);
}

DISPATCH_TEST(test_waiter__without_a_wait_the_answer_comes_at_once)
{
	assert_int_equal(send_request("POST", "/v1/wait"), 200);
	assert_true(answer_has("timeout"));
	assert_null(vbd_reply_find_header(&request.reply, "Preference-Applied"));
}

DISPATCH_TEST(test_waiter__a_change_answers)
{
	with_header("Prefer", "wait=10");
	assert_int_equal(send_request("POST", "/v1/wait"), 0);
	vbd_watch_notify(&test.watches, false);
	assert_int_equal(request.reply.status, 0);
	test.handled = 1; /* the watched object has changed */
	vbd_watch_notify(&test.watches, false);
	assert_int_equal(request.reply.status, 200);
	assert_true(answer_has("changed"));
	assert_string_equal(vbd_reply_find_header(&request.reply, "Preference-Applied"), "wait=10");
	assert_int_equal(test.answered, 1);
	assert_true(vbd_list_empty(&test.watches));
}

DISPATCH_TEST(test_waiter__the_deadline_answers)
{
	with_header("Prefer", "wait=10");
	assert_int_equal(send_request("POST", "/v1/wait"), 0);
	test.on_timeout(&request, test.park_arg);
	assert_true(answer_has("timeout"));
	assert_true(vbd_list_empty(&test.watches));
}

DISPATCH_TEST(test_waiter__the_end_of_the_object_answers)
{
	with_header("Prefer", "wait=10");
	assert_int_equal(send_request("POST", "/v1/wait"), 0);
	vbd_watch_notify(&test.watches, true);
	assert_true(answer_has("gone"));
	assert_true(vbd_list_empty(&test.watches));
}

DISPATCH_TEST(test_waiter__what_a_client_has_begun_is_told_to_its_repeat)
{
	with_header("Prefer", "wait=10");
	with_header("Idempotency-Key", "k");
	assert_int_equal(send_request("POST", "/v1/wait"), 0);
	request.abandoned = true; /* the server does this when the client disconnects */
	test.on_gone(&request, test.park_arg);
	assert_int_equal(test.answered, 0);
	assert_true(vbd_list_empty(&test.watches));
	assert_int_equal(send_request("POST", "/v1/wait"), 200);
	assert_true(answer_has("timeout"));
}

DISPATCH_TEST(test_waiter__a_failure_of_what_was_begun_is_told_to_its_repeat)
{
	test.wait_fails = true;
	with_header("Prefer", "wait=10");
	with_header("Idempotency-Key", "k");
	assert_int_equal(send_request("POST", "/v1/wait"), 0);
	test.on_timeout(&request, test.park_arg);
	assert_true(request.reply.status >= 400);
	assert_true(answer_has("the peer rejected it"));
	assert_int_equal(send_request("POST", "/v1/wait"), vbd_status_http(VBD_E_REJECTED));
	assert_true(answer_has("the peer rejected it"));
}

DISPATCH_TEST(test_waiter__where_none_can_wait_the_state_is_told)
{
	test.park_status = VBD_E_TOO_MANY_REQUESTS;
	with_header("Prefer", "wait=10");
	assert_int_equal(send_request("POST", "/v1/wait"), 200);
	assert_true(answer_has("timeout"));
}

/* --- large bodies ---------------------------------------------------------------------------- */

static char large_body[6000];

static void with_large_body(void)
{
	(void)snprintf(large_body, sizeof(large_body), "{%*s}", (int)sizeof(large_body) - 3, "");
	with_json(large_body);
	test.json_max_bytes = 1 << 16;
}

DISPATCH_TEST(test_dispatch__a_large_body_is_parsed_in_a_turn_to_come)
{
	with_large_body();
	assert_int_equal(send_request("POST", "/v1/things"), 0);
	assert_int_equal(test.handled, 0);
	UNIT_UNTIL (test.answered)
		vbd_loop_turn(test.loop, false);
	assert_int_equal(test.handled, 1);
	assert_int_equal(request.reply.status, 200);
}

DISPATCH_TEST(test_dispatch__a_large_body_whose_client_leaves_is_not_parsed)
{
	with_large_body();
	assert_int_equal(send_request("POST", "/v1/things"), 0);
	test.on_gone(&request, test.park_arg);
	assert_true(vbd_list_empty(&test.turns.waiting));
	assert_int_equal(test.handled, 0);
}

DISPATCH_TEST(test_dispatch__a_route_without_a_body_takes_no_large_one)
{
	with_large_body();
	answers("POST", "/v1/kick", 413, "body_too_large");
	assert_int_equal(test.handled, 0);
}
