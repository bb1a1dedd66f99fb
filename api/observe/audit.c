/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/problem.h"
#include "api/json/writer.h"
#include "base/clock.h"
#include "base/text.h"
#include "daemon/observe/audit.h"
#include "daemon/store/keeper.h"

#define FAILURES_IN_FULL   20
#define FAILURES_PERIOD_MS 10000

/* The object that a request is about. */
struct subject {
	const struct vbd_registry *registry; /* NULL: the request is about none */
	uint64_t id;			     /* 0: unknown */
	char name[VBD_NAME_BYTES];	     /* "": none, or unknown */
};

/* --- what a request is about ----------------------------------------------------------------- */

/* The id of the object that the request has made: the last part of its Location. */
static const char *made_object_ref(const struct vbd_request *req)
{
	const char *location = vbd_reply_find_header(&req->reply, "Location");
	const char *last = location ? strrchr(location, '/') : NULL;

	return last ? last + 1 : NULL;
}

/* An object that is deleted, or was never there, is named as the client named it. */
static struct subject subject_of(const struct vbd_request *req)
{
	struct subject subject = {.registry = req->route ? vbd_registry_at(vbd_request_daemon(req),
								   req->route->pattern)
							 : NULL};
	const char *ref = req->ref ? req->ref : made_object_ref(req);
	const struct vbd_object *object;

	if (!subject.registry || !ref)
		return subject;
	if (vbd_ref_is_id(ref, &subject.id)) {
		object = vbd_registry_find_id(subject.registry, subject.id);
	} else {
		(void)snprintf(subject.name, sizeof(subject.name), "%s", ref);
		vbd_text_clean(subject.name);
		object = vbd_registry_find_name(subject.registry, subject.name);
	}
	if (object) {
		subject.id = object->id;
		memcpy(subject.name, object->name, sizeof(subject.name));
	}
	return subject;
}

/* --- the file -------------------------------------------------------------------------------- */

static void put_subject(struct vbd_encoder *out, const char *name, const struct subject *subject)
{
	if (!vbd_begin_object_if(out, name, subject->registry))
		return;
	vbd_put_text(out, "kind", subject->registry->singular);
	vbd_put_u64_or_null(out, "id", subject->id != 0, subject->id);
	vbd_put_text_or_null(out, "name", subject->name);
	vbd_end(out);
}

static struct vbd_encoder begin_line(void)
{
	struct vbd_encoder line = vbd_encode_begin();

	vbd_put_time(&line, "time", vbd_clock_mono_ns());
	return line;
}

static void end_line(struct vbd_api *api, struct vbd_encoder *out)
{
	size_t len = 0;
	char *line = vbd_encode_end_line(out, &len);

	if (line && len <= VBD_LOG_LINE_BYTES)
		vbd_audit_put(api->daemon->audit, line, len);
	else
		vbd_log(VBD_LOG_ERROR, NULL, "audit_file: a line is lost for lack of memory");
	free(line);
}

static void put_request(const struct vbd_request *req, const struct subject *subject)
{
	struct vbd_encoder line = begin_line();

	vbd_put_text(&line, "caller", req->caller->name);
	vbd_put_text(&line, "role", vbd_role_name(req->role));
	vbd_put_text(&line, "client", req->client);
	vbd_put_text(&line, "method", vbd_method_name(req->method));
	vbd_put_text(&line, "path", req->route ? req->route->pattern : NULL);
	put_subject(&line, "object", subject);
	vbd_put_u64_or_null(&line, "status", req->reply.status != 0, req->reply.status);
	vbd_put_text(&line, "code", req->reply.code);
	end_line(req->context, &line);
}

/* --- the event log --------------------------------------------------------------------------- */

static void append_audit_event(const struct vbd_request *req, const struct subject *subject)
{
	const struct vbd_api *api = req->context;
	char object[VBD_OBJECT_TEXT_BYTES + VBD_NAME_BYTES] = "";
	char outcome[64] = "not answered";

	if (subject->registry && subject->id)
		(void)snprintf(object, sizeof(object), " %s/%" PRIu64, subject->registry->singular,
			subject->id);
	else if (subject->registry && subject->name[0])
		(void)snprintf(object, sizeof(object), " %s/%s", subject->registry->singular,
			subject->name);
	if (req->reply.status)
		(void)snprintf(outcome, sizeof(outcome), "%u%s%s", req->reply.status,
			req->reply.code ? " " : "", req->reply.code ? req->reply.code : "");
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_AUDIT,
			.severity = VBD_SEVERITY_INFO,
			.words[VBD_EVENT_CODE] = req->reply.code},
		"%s (%s) from %s: %s %s%s: %s", req->caller->name, vbd_role_name(req->role),
		req->client, vbd_method_name(req->method),
		req->route ? req->route->operation : "of no path", object, outcome);
}

static void log_more_failures(void *arg, uint64_t count)
{
	const struct vbd_api *api = arg;

	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_AUDIT, .severity = VBD_SEVERITY_INFO},
		"%" PRIu64 " more requests failed within %u s", count, FAILURES_PERIOD_MS / 1000);
}

/* --- for api.c ------------------------------------------------------------------------------- */

enum vbd_status vbd_audit_init(struct vbd_api *api, struct vbd_error *err)
{
	api->failures = (struct vbd_ration){.full = FAILURES_IN_FULL,
		.period_ms = FAILURES_PERIOD_MS,
		.summary = log_more_failures,
		.arg = api};
	return vbd_ration_init(&api->failures, api->daemon->loop, err);
}

void vbd_audit_request(struct vbd_request *req)
{
	struct vbd_api *api = req->context;
	const struct subject subject = subject_of(req);
	bool failed = req->reply.status == 0 || req->reply.status >= 400;
	bool told = !(req->route && req->route->moves_data) &&
		    (!failed || vbd_ration_take(&api->failures));

	if (api->daemon->audit)
		put_request(req, &subject);
	if (told)
		append_audit_event(req, &subject);
}

void vbd_audit_refusal(struct vbd_api *api, const char *client, const struct vbd_error *err)
{
	struct vbd_encoder line;

	if (!api->daemon->audit)
		return;
	line = begin_line();
	vbd_put_null(&line, "caller");
	vbd_put_null(&line, "role");
	vbd_put_text(&line, "client", client);
	vbd_put_null(&line, "method");
	vbd_put_null(&line, "path");
	vbd_put_null(&line, "object");
	vbd_put_u64(&line, "status", vbd_problem_http(err, NULL));
	vbd_put_text(&line, "code", vbd_status_code(err->status));
	end_line(api, &line);
}

void vbd_audit_refusals_more(struct vbd_api *api, uint64_t count)
{
	struct vbd_encoder line;

	if (!api->daemon->audit)
		return;
	line = begin_line();
	vbd_put_u64(&line, "more_refused", count);
	end_line(api, &line);
}
