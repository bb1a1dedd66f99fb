/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: a page, or a long poll.
 */
#include "api/http/waiter.h"
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "api/resources/events.h"

#include <stdlib.h>
#include <string.h>

struct event_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_eventlog *eventlog;
	struct vbd_event_filter filter;
	uint64_t limit;
	uint64_t after;
	uint64_t examined; /* no event up to this number matches */
};

json_t *vbd_encode_event(const struct vbd_event *event)
{
	struct vbd_encoder out = vbd_encode_begin();
	char object[VBD_OBJECT_TEXT_BYTES];

	vbd_put_u64(&out, "seq", event->seq);
	vbd_put_time(&out, "at", event->at_ns);
	vbd_put_text(&out, "type", vbd_event_type_name(event->type));
	vbd_put_text(&out, "severity", vbd_severity_name(event->severity));
	vbd_put_text(&out, "object", vbd_object_text(event->kind, event->object_id, object));
	vbd_put_text(&out, "text", event->text);
	if (event->reason != VBD_REASON_NONE)
		vbd_put_text(&out, "reason", vbd_reason_name(event->reason));
	return vbd_encode_end(&out);
}

static json_t *encode_page(const struct event_waiter *waiter)
{
	const struct vbd_eventlog *eventlog = waiter->eventlog;
	const uint64_t first = vbd_eventlog_first(eventlog);
	const uint64_t last = vbd_eventlog_last(eventlog);
	json_t *items = json_array();
	const struct vbd_event *event;
	uint64_t at = waiter->after;

	while ((event = vbd_eventlog_next(eventlog, at, &waiter->filter)) &&
		json_array_size(items) < waiter->limit) {
		if (json_array_append_new(items, vbd_encode_event(event)) < 0) {
			json_decref(items);
			return NULL;
		}
		at = event->seq;
	}
	/* Unless the page is full, the filter has seen all events up to the newest. */
	return json_pack("{s:I, s:I, s:I, s:b, s:o}", "first", (json_int_t)first, "last",
		(json_int_t)last, "next", (json_int_t)(event ? at : last), "compacted",
		waiter->after + 1 < first, "items", items);
}

static void answer_events(struct vbd_waiter *base, enum vbd_wake why)
{
	struct event_waiter *waiter = VBD_CONTAINER_OF(base, struct event_waiter, waiter);
	const uint64_t last = vbd_eventlog_last(waiter->eventlog);
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_STOPPING, "the daemon is stopping");
		vbd_reply_problem(base->req, &err);
		return;
	}
	/* A number above the newest is of another run of the daemon: answer at once. */
	if (why == VBD_WAKE_TIMEOUT || waiter->after > last ||
		vbd_eventlog_next(waiter->eventlog, waiter->examined, &waiter->filter))
		vbd_reply_json(base->req, 200, encode_page(waiter));
	waiter->examined = last;
}

#define KIND_NAME(sym, singular, plural, open, kept) #singular ", "
#define KINDS					     "device, " VBD_KIND_MAP(KIND_NAME)

/* Parse "connection" or "connection/7". */
static enum vbd_status parse_object(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	const char *object = NULL;
	char kind[16];
	size_t len;
	enum vbd_status status = vbd_query_text(req, "object", 64, &object, err);

	if (status != VBD_OK || !object)
		return status;
	len = strcspn(object, "/");
	if (len < sizeof(kind)) {
		const char *id = object[len] ? object + len + 1 : "0";

		memcpy(kind, object, len);
		kind[len] = '\0';
		if (vbd_object_kind_parse(kind, &filter->kind) && *id && strlen(id) <= 19 &&
			strspn(id, "0123456789") == strlen(id)) {
			filter->object_id = strtoull(id, NULL, 10);
			return VBD_OK;
		}
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, "object",
		"object must be one of " KINDS "alone or with an id, as in connection/7");
}

enum vbd_status vbd_parse_event_filter(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	static const char *const types[] = {
#define TYPE_NAME(sym, name) name,
		VBD_EVENT_TYPE_MAP(TYPE_NAME)
#undef TYPE_NAME
	};
	static const char *const severities[] = {
#define SEVERITY_NAME(sym, name, level) name,
		VBD_SEVERITY_MAP(SEVERITY_NAME)
#undef SEVERITY_NAME
	};
	size_t type = VBD_EVENT_TYPE_COUNT, severity = 0;
	enum vbd_status status =
		vbd_query_enum(req, "type", types, VBD_ARRAY_LEN(types), &type, err);

	if (status == VBD_OK)
		status = vbd_query_enum(
			req, "severity", severities, VBD_ARRAY_LEN(severities), &severity, err);
	if (status == VBD_OK)
		status = parse_object(req, filter, err);
	filter->one_type = type != VBD_EVENT_TYPE_COUNT;
	filter->type = filter->one_type ? (enum vbd_event_type)type : 0;
	filter->min_severity = (enum vbd_severity)severity;
	return status;
}

static enum vbd_status parse(const struct vbd_request *req, struct event_waiter *waiter,
	uint64_t *wait_ms, struct vbd_error *err)
{
	enum vbd_status status = vbd_query_u64(req, "limit", 1, 1000, &waiter->limit, err);

	if (status == VBD_OK)
		status = vbd_query_u64(req, "after", 0, INT64_MAX, &waiter->after, err);
	if (status == VBD_OK)
		status = vbd_query_u64(req, "wait_ms", 0, 60000, wait_ms, err);
	return status == VBD_OK ? vbd_parse_event_filter(req, &waiter->filter, err) : status;
}

void vbd_list_events(struct vbd_request *req)
{
	struct event_waiter waiter = {
		.waiter.answer = answer_events,
		.eventlog = vbd_request_daemon(req)->eventlog,
		.limit = 100,
	};
	struct vbd_error err = {0};
	uint64_t wait_ms = 0;

	if (parse(req, &waiter, &wait_ms, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	waiter.examined = waiter.after;
	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, vbd_eventlog_watches(waiter.eventlog),
		wait_ms);
}
