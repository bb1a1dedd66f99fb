/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/request.h"

#include "api/http/idempotency.h"
#include "api/http/problem.h"
#include "api/json/decode.h"
#include "api/json/writer.h"
#include "base/text.h"
#include "daemon/core/watch.h"
#include "daemon/store/keeper.h"

/* Enough for the JSON of any object whose client has not given it many labels. */
#define ANSWER_ROOM_BYTES 8192

enum vbd_status vbd_query_text(const struct vbd_request *req, const char *name, size_t max,
	const char **ret, struct vbd_error *err)
{
	const char *value = vbd_uri_param(&req->uri, name);

	if (!value)
		return VBD_OK;
	if (vbd_utf8_length(value) > max)
		return vbd_error_input(err, VBD_E_TOO_LONG, name,
			"%s has %zu characters; at most %zu are allowed", name,
			vbd_utf8_length(value), max);
	*ret = value;
	return VBD_OK;
}

enum vbd_status vbd_query_u64(const struct vbd_request *req, const char *name, uint64_t min,
	uint64_t max, uint64_t *ret, struct vbd_error *err)
{
	const char *value = vbd_uri_param(&req->uri, name);
	uint64_t number;

	if (!value)
		return VBD_OK;
	if (!*value || strspn(value, "0123456789") != strlen(value))
		return vbd_error_input(err, VBD_E_WRONG_TYPE, name,
			"%s must be a decimal number, not '%.32s'", name, value);
	errno = 0;
	number = strtoull(value, NULL, 10);
	if (errno || number < min || number > max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, name,
			"%s must be from %" PRIu64 " to %" PRIu64 ", not %.32s", name, min, max,
			value);
	*ret = number;
	return VBD_OK;
}

enum vbd_status vbd_query_enum(const struct vbd_request *req, const char *name,
	const char *const *names, size_t n_names, size_t *ret, struct vbd_error *err)
{
	const char *value = vbd_uri_param(&req->uri, name);
	char known[180] = "";

	if (!value)
		return VBD_OK;
	for (size_t i = 0; i < n_names; i++) {
		size_t used = strlen(known);

		if (strcmp(value, names[i]) == 0) {
			*ret = i;
			return VBD_OK;
		}
		(void)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", names[i]);
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, name, "%s must be one of: %s", name, known);
}

enum vbd_status vbd_request_parse_wait(struct vbd_request *req, struct vbd_error *err)
{
	const uint64_t max_ms = UINT64_C(1000) * VBD_PREFER_WAIT_MAX_S;
	const char *prefer = vbd_request_header(req, VBD_HEADER_PREFER);
	unsigned int wait_s = 0;
	enum vbd_status status = vbd_query_u64(req, "wait_ms", 0, UINT64_MAX, &req->wait_ms, err);

	if (status != VBD_OK)
		return status;
	req->respond_async = vbd_prefer_async(prefer);
	req->wait_asked = vbd_uri_param(&req->uri, "wait_ms") != NULL;
	if (!req->wait_asked && vbd_prefer_wait(prefer, &wait_s)) {
		req->wait_asked = true;
		req->wait_preferred = true;
		req->wait_ms = UINT64_C(1000) * wait_s;
	}
	if (req->wait_ms > max_ms)
		req->wait_ms = max_ms;
	return VBD_OK;
}

void vbd_request_add_retry_after(struct vbd_request *req, unsigned int seconds)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", seconds);
	vbd_reply_add_header(&req->reply, "Retry-After", text);
}

void vbd_request_add_location(struct vbd_request *req, const char *kind, uint64_t id)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/v1/%s/%" PRIu64, kind, id);
	vbd_reply_add_header(&req->reply, "Location", path);
}

enum vbd_status vbd_request_decode(struct vbd_request *req, const struct vbd_field *fields,
	size_t n_fields, void *target, struct vbd_error *err)
{
	return vbd_decode_all(req->json, "", fields, n_fields, target, &req->faults, err);
}

static bool is_audited(const struct vbd_request *req)
{
	if (!req->caller || req->head)
		return false;
	return !vbd_method_is_safe(req->method) || (req->route && req->route->audited) ||
	       (req->reply.code && strcmp(req->reply.code, vbd_status_code(VBD_E_FORBIDDEN)) == 0);
}

void vbd_request_audit(struct vbd_request *req)
{
	vbd_audited_cb on_audited = req->on_audited;

	req->on_audited = NULL;
	if (on_audited && is_audited(req))
		on_audited(req);
}

static void send_reply(struct vbd_request *req, void *arg)
{
	(void)arg;
	req->held = false;
	if (req->keyed && !vbd_keeper_has(req->keeper, req->key_ticket))
		vbd_reply_add_header(&req->reply, "Idempotency-Durable", "false");
	if (req->parked && !req->abandoned)
		req->transport->answered(req);
}

void vbd_request_send(struct vbd_request *req, uint64_t ticket)
{
	req->held = true;
	vbd_request_wait_written(req, req->keeper, ticket, send_reply, NULL);
}

/* Answer a GET whose conditions do not hold with 412 or 304; true if there is such an answer. */
static bool reply_to_conditions(struct vbd_request *req)
{
	const char *tag = vbd_reply_find_header(&req->reply, "ETag");
	const struct vbd_condition_of of = {.what = req->path, .tag = tag};
	const bool close = req->reply.close;
	struct vbd_error err = {0};

	if (vbd_condition_check(req, &of, &err) != VBD_OK) {
		vbd_reply_fini(&req->reply);
		req->reply.close = close;
		vbd_reply_problem(req, &err);
		return true;
	}
	if (!vbd_condition_is_known(req, tag))
		return false;
	/* The body stays, and is not sent: MHD 0.9.75 gives every 304 a Content-Length, which must
	 * be that of the 200 (RFC 9110, 8.6). */
	req->reply.content_type = NULL;
	vbd_reply_empty(req, 304);
	return true;
}

/* The answer is complete: store it for repeats, and let the transport send it. */
static void complete_answer(struct vbd_request *req, unsigned int status)
{
	uint64_t ticket = req->key_ticket;

	if (req->method == VBD_METHOD_GET && (status == 200 || status == 206) &&
		reply_to_conditions(req))
		return;
	req->reply.status = status;
	if (req->wait_preferred && (status == 200 || status == 201 || status == 202)) {
		char wait[16];

		(void)snprintf(wait, sizeof(wait), "wait=%u", (unsigned int)(req->wait_ms / 1000));
		vbd_reply_add_header(&req->reply, "Preference-Applied", wait);
	} else if (req->respond_async && status == 202) {
		vbd_reply_add_header(&req->reply, "Preference-Applied", "respond-async");
	}
	if (req->idem && req->acted) {
		ticket = req->key_ticket = vbd_idem_store(req->idem, &req->reply);
		req->keyed = true;
	} else if (req->idem) {
		ticket = vbd_idem_delete(req->idem);
	}
	req->idem = NULL;
	vbd_request_audit(req);
	vbd_request_send(req, ticket);
}

/* Set the body; without memory for it, that of no_memory. */
static void set_body(
	struct vbd_request *req, const char *content_type, char *text, size_t text_bytes)
{
	if (!text) {
		vbd_reply_no_memory(&req->reply);
		return;
	}
	req->reply.content_type = content_type;
	req->reply.body = text;
	req->reply.body_bytes = text_bytes;
}

static void set_document(struct vbd_request *req, const char *content_type, struct vbd_encoder *out)
{
	size_t text_bytes = 0;
	char *text = vbd_encode_end_line(out, &text_bytes);

	set_body(req, content_type, text, text_bytes);
}

enum vbd_status vbd_request_reserve_answer(struct vbd_request *req, struct vbd_error *err)
{
	req->answer_room = malloc(ANSWER_ROOM_BYTES);
	return req->answer_room ? VBD_OK
				: vbd_error_set(err, VBD_E_NO_MEMORY,
					  "no memory for the answer, so nothing was done");
}

struct vbd_encoder vbd_request_begin_answer(struct vbd_request *req)
{
	char *room = req->answer_room;

	req->answer_room = NULL;
	return vbd_encode_begin_in(room, ANSWER_ROOM_BYTES);
}

void vbd_reply_json(struct vbd_request *req, unsigned int status, struct vbd_encoder *out)
{
	req->acted |= status < 400;
	set_document(req, "application/json", out);
	complete_answer(req, req->reply.status ? req->reply.status : status);
}

void vbd_reply_empty(struct vbd_request *req, unsigned int status)
{
	req->acted |= status < 400;
	complete_answer(req, status);
}

void vbd_reply_static(
	struct vbd_request *req, const char *content_type, const void *bytes, size_t len_bytes)
{
	req->reply.content_type = content_type;
	req->reply.static_body = bytes;
	req->reply.body_bytes = len_bytes;
	complete_answer(req, 200);
}

void vbd_reply_text(
	struct vbd_request *req, const char *content_type, char *bytes, size_t len_bytes)
{
	set_body(req, content_type, bytes, len_bytes);
	complete_answer(req, req->reply.status ? req->reply.status : 200);
}

void vbd_reply_stream(struct vbd_request *req, unsigned int status, const struct vbd_reader *reader)
{
	req->reply.content_type = "application/octet-stream";
	req->reply.reader = *reader;
	complete_answer(req, status);
}

void vbd_reply_feed(struct vbd_request *req, const char *content_type, const struct vbd_feed *feed)
{
	struct vbd_error err = {0};

	if (req->transport->follow(req, &err) != VBD_OK) {
		feed->free(feed->arg);
		vbd_reply_problem(req, &err);
		return;
	}
	req->reply.content_type = content_type;
	req->reply.feed = *feed;
	complete_answer(req, 200);
}

void vbd_request_add_allow(struct vbd_request *req, unsigned int allow)
{
	const char *names[VBD_ALLOW_MAX];
	size_t n_names = vbd_allow_names(allow, names);
	char text[64] = "";
	size_t used = 0;

	for (size_t i = 0; i < n_names; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", used ? ", " : "", names[i]);
	vbd_reply_add_header(&req->reply, "Allow", text);
}

void vbd_reply_problem_extra(
	struct vbd_request *req, const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	struct vbd_problem_extra all = extra ? *extra : (struct vbd_problem_extra){0};
	struct vbd_encoder out = vbd_encode_begin();
	unsigned int status;

	all.faults = &req->faults;
	if (err->status == VBD_E_UNAUTHORIZED)
		vbd_reply_add_header(&req->reply, "WWW-Authenticate", "Bearer realm=\"verbsd\"");
	if (extra && extra->allow)
		vbd_request_add_allow(req, extra->allow);
	status = vbd_problem_http(err, extra);
	if (status == 429 || status == 503)
		vbd_request_add_retry_after(req, vbd_status_retry_after_s(err->status));
	req->reply.code = vbd_status_code(err->status);
	vbd_put_problem(&out, err, &all);
	set_document(req, "application/problem+json", &out);
	complete_answer(req, req->reply.status ? req->reply.status : status);
}

void vbd_reply_outcome(
	struct vbd_request *req, const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	struct vbd_problem_extra all = extra ? *extra : (struct vbd_problem_extra){0};

	all.outcome = true;
	req->acted = true;
	vbd_reply_add_header(&req->reply, "Location", err->object);
	vbd_reply_problem_extra(req, err, &all);
}

void vbd_reply_problem(struct vbd_request *req, const struct vbd_error *err)
{
	vbd_reply_problem_extra(req, err, NULL);
}

void vbd_request_settle(struct vbd_request *req)
{
	if (req->err.status != VBD_OK && !req->reply.status)
		vbd_reply_problem(req, &req->err);
}

enum vbd_status vbd_request_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	enum vbd_status status =
		req->transport->park(req, timeout_ms, on_timeout, on_gone, arg, err);

	if (status == VBD_OK)
		req->parked = true;
	return status;
}

struct waiting {
	struct vbd_watch watch;
	struct vbd_request *req;
	struct vbd_wait wait;
	vbd_request_cb go_on;
	void *arg;
};

static void end_wait(struct vbd_request *req, void *arg)
{
	struct waiting *waiting = arg;

	vbd_watch_remove(&waiting->watch);
	waiting->go_on(req, waiting->arg);
	free(waiting);
	vbd_request_settle(req);
}

static void on_wait_changed(struct vbd_watch *watch, bool gone)
{
	struct waiting *waiting = VBD_CONTAINER_OF(watch, struct waiting, watch);

	if (gone || waiting->wait.is_over(waiting->wait.on, waiting->wait.number))
		end_wait(waiting->req, waiting);
}

static bool begin_wait(
	struct vbd_request *req, const struct vbd_wait *wait, vbd_request_cb go_on, void *arg)
{
	struct waiting *waiting = malloc(sizeof(*waiting));
	enum vbd_status status;

	if (!waiting)
		return false;
	*waiting = (struct waiting){
		.watch.cb = on_wait_changed, .req = req, .wait = *wait, .go_on = go_on, .arg = arg};
	req->brief = true;
	status = vbd_request_park(req, wait->most_ms, end_wait, end_wait, waiting, NULL);
	req->brief = false;
	if (status == VBD_OK)
		vbd_watch_add(wait->watches, &waiting->watch);
	else
		free(waiting);
	return status == VBD_OK;
}

void vbd_request_wait(
	struct vbd_request *req, const struct vbd_wait *wait, vbd_request_cb go_on, void *arg)
{
	if (req->abandoned || wait->is_over(wait->on, wait->number) ||
		!begin_wait(req, wait, go_on, arg))
		go_on(req, arg);
}

static bool row_is_written(const void *keeper, uint64_t ticket)
{
	return !vbd_keeper_will_have(keeper, ticket);
}

void vbd_request_wait_written(struct vbd_request *req, struct vbd_keeper *keeper, uint64_t ticket,
	vbd_request_cb go_on, void *arg)
{
	const struct vbd_wait wait = {.is_over = row_is_written,
		.on = keeper,
		.number = ticket,
		.watches = keeper ? vbd_keeper_watches(keeper) : NULL,
		.most_ms = VBD_WRITTEN_MS};

	vbd_request_wait(req, &wait, go_on, arg);
}

struct vbd_origin vbd_request_origin(const struct vbd_request *req)
{
	return (struct vbd_origin){req->caller, req->labels, req->shares};
}

void vbd_request_fini(struct vbd_request *req)
{
	vbd_request_audit(req); /* the client left before the answer */
	(void)vbd_idem_delete(req->idem);
	if (req->sink.close)
		req->sink.close(req->sink.arg);
	for (unsigned int i = 0; i < VBD_HEADER_COUNT; i++)
		free(req->headers[i]);
	json_decref(req->json);
	vbd_faults_fini(&req->faults);
	free(req->body);
	free(req->answer_room);
	vbd_reply_fini(&req->reply);
	vbd_labels_unref(req->labels);
	vbd_caller_unref(req->caller);
	*req = (struct vbd_request){0};
}
