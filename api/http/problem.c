/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/problem.h"

#include "api/http/reply.h"
#include "api/http/router.h"
#include "api/json/parse.h"
#include "api/json/writer.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/names.h"

/* Put a member; an empty text leaves it out. */
static void put_text(struct vbd_encoder *out, const char *name, const char *text)
{
	if (text && *text)
		vbd_put_text(out, name, text);
}

static void put_source(struct vbd_encoder *out, const struct vbd_error *err)
{
	switch (err->source) {
	case VBD_SOURCE_ERRNO:
		put_text(out, "errno", vbd_errno_name((int)err->raw));
		break;
	case VBD_SOURCE_CM_EVENT:
		put_text(out, "cm_event", vbd_cm_event_name(err->kind));
		vbd_put_i64(out, "cm_status", err->raw);
		put_text(out, "reject_reason", vbd_why_reject_name(err));
		break;
	case VBD_SOURCE_WC:
		put_text(out, "wc_status", vbd_wc_status_name(err->kind));
		vbd_put_i64(out, "vendor_err", err->raw);
		break;
	case VBD_SOURCE_NONE:
	case VBD_SOURCE_ASYNC:
	case VBD_SOURCE_GAI:
	case VBD_SOURCE_DEADLINE:
	case VBD_SOURCE_INPUT:
		break; /* the text contains the cause */
	}
}

/* Parameters of rdma/ that have another name or place in the request. */
static const struct {
	const char *param;
	const char *pointer;
} nested_params[] = {
	{"cq", "/qp/cq"},
	{"heartbeat_ms", "/qp/heartbeat_ms"},
	{"inline_bytes", "/qp/inline_bytes"},
	{"max_recv_sge", "/qp/max_recv_sge"},
	{"max_send_sge", "/qp/max_send_sge"},
	{"moderation_count", "/moderation/count"},
	{"moderation_period_us", "/moderation/period_us"},
	{"pd", "/qp/pd"},
	{"recv_size_bytes", "/qp/recv_size_bytes"},
	{"srq", "/qp/srq"},
	{"srq_cq", "/cq"},
};

#define POINTER_BYTES 96

/* Write the JSON pointer of the member that caused @err, or the name of the query parameter or
 * header, to @room; "" if none did; returns @room. */
static const char *error_pointer(const struct vbd_error *err, char room[POINTER_BYTES])
{
	for (size_t i = 0; err->param && i < VBD_ARRAY_LEN(nested_params); i++) {
		if (strcmp(err->param, nested_params[i].param) == 0)
			return strcpy(room, nested_params[i].pointer);
	}
	if (err->param)
		(void)snprintf(room, POINTER_BYTES, "/%s", err->param);
	else
		memcpy(room, err->pointer, POINTER_BYTES);
	return room;
}

/* Put `pointer` for a member of the body, or `parameter` for a query parameter or a header. */
static void put_pointer_or_param(struct vbd_encoder *out, const struct vbd_error *err)
{
	char place[POINTER_BYTES];
	bool is_parameter = *error_pointer(err, place) && *place != '/';

	if (err->source == VBD_SOURCE_INPUT || *place)
		vbd_put_text(out, is_parameter ? "parameter" : "pointer", place);
}

static void put_fault(struct vbd_encoder *out, const struct vbd_error *err)
{
	vbd_begin_object(out, NULL);
	put_pointer_or_param(out, err);
	put_text(out, "code", vbd_status_code(err->status));
	put_text(out, "detail", err->text);
	vbd_end(out);
}

/* A malformed request lists its faults, and an error that names a member lists that one. */
static void put_faults(
	struct vbd_encoder *out, const struct vbd_error *err, const struct vbd_faults *faults)
{
	bool all = faults && faults->count > 0;
	char place[POINTER_BYTES];

	if (vbd_status_http(err->status) != 400 && !*error_pointer(err, place))
		return;
	vbd_begin_array(out, "errors");
	if (!all)
		put_fault(out, err);
	for (size_t i = 0; all && i < faults->count; i++)
		put_fault(out, &faults->items[i]);
	vbd_end(out);
	vbd_put_u64(out, "errors_total", all ? faults->total : 1);
}

static void put_extra(struct vbd_encoder *out, const struct vbd_problem_extra *extra)
{
	if (extra->n_users) {
		vbd_begin_array(out, "users");
		for (size_t i = 0; i < extra->n_users; i++)
			vbd_put_text(out, NULL, extra->users[i]);
		vbd_end(out);
	}
	put_text(out, "kept_object", extra->kept_object);
	if (extra->put)
		extra->put(out, extra->arg);
	if (extra->allow) {
		const char *names[VBD_ALLOW_MAX];
		size_t n_names = vbd_allow_names(extra->allow, names);

		vbd_begin_array(out, "allow");
		for (size_t i = 0; i < n_names; i++)
			vbd_put_text(out, NULL, names[i]);
		vbd_end(out);
	}
}

unsigned int vbd_problem_http(const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	return extra && extra->outcome ? 424 : vbd_status_http(err->status);
}

void vbd_put_problem(
	struct vbd_encoder *out, const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	const char *code = vbd_status_code(err->status);
	const char *title = vbd_status_text(err->status);
	char type[64];

	(void)snprintf(type, sizeof(type), "/v1/glossary/%s", code);
	vbd_put_text(out, "type", type);
	vbd_put_text(out, "title", title);
	vbd_put_u64(out, "status", vbd_problem_http(err, extra));
	vbd_put_text(out, "code", code);
	vbd_put_text(out, "detail", *err->text ? err->text : title);
	put_text(out, err->status == VBD_E_NAME_TAKEN ? "holder" : "instance", err->object);
	put_text(out, "hint", vbd_why_hint(err));
	put_text(out, "call", err->call);
	put_text(out, "device", err->device);
	put_text(out, "capability", err->capability);
	put_source(out, err);
	if (err->limit)
		vbd_put_u64(out, "limit", err->limit);
	put_text(out, "limit_name", err->limit_name);
	put_text(out, "caller", err->caller);
	put_faults(out, err, extra ? extra->faults : NULL);
	if (extra)
		put_extra(out, extra);
}

static void name_item_in_error(struct vbd_error *err, const char *singular, size_t index)
{
	char member[POINTER_BYTES];
	char pointer[sizeof(err->pointer)];
	char text[sizeof(err->text)];
	bool named = *error_pointer(err, member) && strncmp(err->text, member, strlen(member)) == 0;

	(void)snprintf(pointer, sizeof(pointer), "/%ss/%zu%.50s", singular, index, member);
	err->param = NULL;
	if (named)
		(void)snprintf(text, sizeof(text), "/%ss/%zu%.190s", singular, index, err->text);
	else
		(void)snprintf(text, sizeof(text), "%s %zu: %.190s", singular, index, err->text);
	memcpy(err->pointer, pointer, sizeof(pointer));
	memcpy(err->text, text, sizeof(text));
}

void vbd_problem_of_item(
	struct vbd_error *err, struct vbd_faults *faults, const char *singular, size_t index)
{
	name_item_in_error(err, singular, index);
	for (size_t i = 0; i < faults->count; i++)
		name_item_in_error(&faults->items[i], singular, index);
}

void vbd_reply_no_memory(struct vbd_reply *reply)
{
	reply->static_body =
		"{\"type\":\"/v1/glossary/no_memory\",\"title\":\"Out of memory\","
		"\"status\":507,\"code\":\"no_memory\",\"detail\":\"no memory for the answer\"}\n";
	reply->body_bytes = strlen(reply->static_body);
	reply->content_type = "application/problem+json";
	reply->code = vbd_status_code(VBD_E_NO_MEMORY);
	reply->status = 507;
}
