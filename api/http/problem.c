/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/problem.h"

#include "api/http/router.h"
#include "api/json/faults.h"
#include "api/json/utf8.h"
#include "base/attr.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/names.h"

#include <stdio.h>
#include <string.h>

/* Set a member; an empty text leaves it out. */
static void set_text(json_t *problem, const char *name, const char *text)
{
	if (text && *text)
		(void)json_object_set_new(problem, name, vbd_json_text(text));
}

static void set_source(json_t *problem, const struct vbd_error *err)
{
	switch (err->source) {
	case VBD_SOURCE_ERRNO:
		set_text(problem, "errno", vbd_errno_name((int)err->raw));
		break;
	case VBD_SOURCE_CM_EVENT:
		set_text(problem, "cm_event", vbd_cm_event_name(err->kind));
		(void)json_object_set_new(problem, "cm_status", json_integer(err->raw));
		set_text(problem, "reject_reason", vbd_why_reject_name(err));
		break;
	case VBD_SOURCE_WC:
		set_text(problem, "wc_status", vbd_wc_status_name(err->kind));
		(void)json_object_set_new(problem, "vendor_err", json_integer(err->raw));
		break;
	case VBD_SOURCE_NONE:
	case VBD_SOURCE_ASYNC:
	case VBD_SOURCE_GAI:
	case VBD_SOURCE_DEADLINE:
	case VBD_SOURCE_INPUT:
		break; /* the text contains the cause */
	}
}

/* Set `pointer` for a member of the body, or `parameter` for a query parameter or a header. */
static void set_place(json_t *json, const struct vbd_error *err)
{
	char place[VBD_POINTER_BYTES];
	bool is_parameter = *vbd_problem_pointer(err, place) && *place != '/';

	if (err->source == VBD_SOURCE_INPUT || *place)
		(void)json_object_set_new(
			json, is_parameter ? "parameter" : "pointer", vbd_json_text(place));
}

static void add_fault(json_t *errors, const struct vbd_error *err)
{
	json_t *fault = json_object();

	set_place(fault, err);
	set_text(fault, "code", vbd_status_code(err->status));
	set_text(fault, "detail", err->text);
	(void)json_array_append_new(errors, fault);
}

/* A refused request lists its faults; of most requests only the first one is known. */
static void set_faults(
	json_t *problem, const struct vbd_error *err, const struct vbd_faults *faults)
{
	bool all = faults && faults->count > 0;
	json_t *errors;

	if (vbd_status_http(err->status) != 400 || err->source != VBD_SOURCE_INPUT)
		return;
	errors = json_array();
	if (!all)
		add_fault(errors, err);
	for (size_t i = 0; all && i < faults->count; i++)
		add_fault(errors, &faults->items[i]);
	(void)json_object_set_new(problem, "errors", errors);
	(void)json_object_set_new(
		problem, "errors_total", json_integer(all ? (json_int_t)faults->total : 1));
}

static void set_extra(json_t *problem, const struct vbd_problem_extra *extra)
{
	if (extra->n_users) {
		json_t *users = json_array();

		for (size_t i = 0; i < extra->n_users; i++)
			(void)json_array_append_new(users, vbd_json_text(extra->users[i]));
		(void)json_object_set_new(problem, "users", users);
	}
	if (extra->allow) {
		json_t *allow = json_array();

		for (unsigned int i = 0; i < VBD_METHOD_OTHER; i++) {
			if (extra->allow & 1u << i)
				(void)json_array_append_new(
					allow, json_string(vbd_method_name((enum vbd_method)i)));
		}
		(void)json_object_set_new(problem, "allow", allow);
	}
}

/* Parameters of rdma/ that have another name or place in the request. */
static const struct {
	const char *param;
	const char *pointer;
} nested_params[] = {
	{"cq", "/qp/cq"},
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

const char *vbd_problem_pointer(const struct vbd_error *err, char room[VBD_POINTER_BYTES])
{
	for (size_t i = 0; err->param && i < VBD_ARRAY_LEN(nested_params); i++) {
		if (strcmp(err->param, nested_params[i].param) == 0)
			return strcpy(room, nested_params[i].pointer);
	}
	if (err->param)
		(void)snprintf(room, VBD_POINTER_BYTES, "/%s", err->param);
	else
		memcpy(room, err->pointer, VBD_POINTER_BYTES);
	return room;
}

unsigned int vbd_problem_http(const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	return extra && extra->outcome ? 424 : vbd_status_http(err->status);
}

json_t *vbd_problem_json(const struct vbd_error *err, const struct vbd_problem_extra *extra)
{
	const char *code = vbd_status_code(err->status);
	const char *title = vbd_status_text(err->status);
	char type[64];
	json_t *problem;

	(void)snprintf(type, sizeof(type), "/v1/glossary/%s", code);
	problem = json_pack("{s:s, s:s, s:i, s:s, s:o}", "type", type, "title", title, "status",
		(int)vbd_problem_http(err, extra), "code", code, "detail",
		vbd_json_text(*err->text ? err->text : title));
	if (!problem)
		return NULL;
	set_text(problem, err->status == VBD_E_NAME_TAKEN ? "holder" : "instance", err->object);
	set_place(problem, err);
	set_text(problem, "hint", vbd_why_hint(err));
	set_text(problem, "call", err->call);
	set_text(problem, "device", err->device);
	set_text(problem, "capability", err->capability);
	set_source(problem, err);
	if (err->limit)
		(void)json_object_set_new(problem, "limit", json_integer((json_int_t)err->limit));
	set_text(problem, "limit_name", err->limit_name);
	set_text(problem, "caller", err->caller);
	set_faults(problem, err, extra ? extra->faults : NULL);
	if (extra)
		set_extra(problem, extra);
	return problem;
}

const char *vbd_problem_no_memory(void)
{
	return "{\"type\":\"/v1/glossary/no_memory\",\"title\":\"Out of memory\","
	       "\"status\":507,\"code\":\"no_memory\",\"detail\":\"no memory for the answer\"}\n";
}
