/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: a page, or a long poll.
 */
#include "api/http/waiter.h"
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "api/resources/event_query.h"
#include "api/resources/events.h"
#include "base/clock.h"

#define EVENTS_MAX 1000

struct event_waiter {
	struct vbd_waiter waiter; /* first */
	const struct vbd_daemon *daemon;
	struct vbd_event_filter filter;
	uint64_t limit;
	struct vbd_event_place after;
	uint64_t examined; /* no event up to this number matches */
};

static void put_object(struct vbd_encoder *out, const char *name, const struct vbd_event *event)
{
	if (event->kind == VBD_KIND_NONE) {
		vbd_put_null(out, name);
		return;
	}
	vbd_begin_object(out, name);
	vbd_put_text(out, "kind", vbd_object_kind_name(event->kind));
	vbd_put_u64(out, "id", event->object_id);
	vbd_put_text_or_null(out, "name", event->name);
	vbd_put_labels(out, event->labels);
	vbd_end(out);
}

/* The values are names of lists of names, so that a reader learns no key and no data. */
static void put_data(struct vbd_encoder *out, const char *name, const struct vbd_event *event)
{
	vbd_begin_object(out, name);
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		enum vbd_event_word word = (enum vbd_event_word)i;

		if (vbd_event_type_has(event->type, word))
			vbd_put_text(out, vbd_event_word_name(word), event->words[word]);
	}
	if (vbd_event_type_has_port(event->type))
		vbd_put_u64_or_null(out, VBD_EVENT_PORT_NUM, event->port_num != 0, event->port_num);
	vbd_end(out);
}

void vbd_put_event(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	vbd_put_u64(out, "seq", event->seq);
	vbd_put_text(out, "server_id", event->run ? event->run->server_id : daemon->server_id);
	vbd_put_time(out, "at", event->at_ns);
	vbd_put_text(out, "type", vbd_event_type_name(event->type));
	vbd_put_text(out, "severity", vbd_severity_name(event->severity));
	put_object(out, "object", event);
	vbd_put_text(out, "detail", event->detail);
	put_data(out, "data", event);
}

/* Find at most @waiter->limit events. Set @ret_next to the place behind all events that the filter
 * has seen. */
static size_t find_events(const struct event_waiter *waiter,
	const struct vbd_event *found[EVENTS_MAX], uint64_t *ret_next)
{
	const struct vbd_eventlog *eventlog = waiter->daemon->eventlog;
	const struct vbd_event *event;
	uint64_t at = waiter->after.seq;
	size_t count = 0;

	while ((event = vbd_eventlog_next(eventlog, at, &waiter->filter)) &&
		count < waiter->limit) {
		found[count++] = event;
		at = event->seq;
	}
	*ret_next = event ? at : vbd_eventlog_last(eventlog);
	return count;
}

static void reply_page(struct vbd_request *req, const struct event_waiter *waiter)
{
	const struct vbd_daemon *daemon = waiter->daemon;
	const uint64_t first = vbd_eventlog_first(daemon->eventlog);
	const struct vbd_event *found[EVENTS_MAX];
	struct vbd_encoder out = vbd_encode_begin();
	char id[VBD_EVENT_ID_BYTES];
	uint64_t next = 0;
	size_t count = find_events(waiter, found, &next);

	vbd_put_text(&out, "server_id", daemon->server_id);
	vbd_put_u64(&out, "now_ns", vbd_clock_mono_ns());
	vbd_put_u64(&out, "first", first);
	vbd_put_u64(&out, "last", vbd_eventlog_last(daemon->eventlog));
	vbd_put_text(&out, "next", vbd_event_id(daemon, next, id));
	vbd_put_bool(&out, "restarted", waiter->after.restarted);
	vbd_put_bool(&out, "resumed", waiter->after.resumed);
	vbd_put_bool(&out, "compacted", waiter->after.seq + 1 < first);
	vbd_begin_array(&out, "items");
	for (size_t i = 0; i < count; i++) {
		vbd_begin_object(&out, NULL);
		vbd_put_event(&out, daemon, found[i]);
		vbd_end(&out);
	}
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
}

static void answer_events(struct vbd_waiter *base, enum vbd_wake why)
{
	struct event_waiter *waiter = VBD_CONTAINER_OF(base, struct event_waiter, waiter);
	const struct vbd_eventlog *eventlog = waiter->daemon->eventlog;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_STOPPING, "the daemon is stopping");
		vbd_reply_problem(base->req, &err);
		return;
	}
	if (why == VBD_WAKE_TIMEOUT || waiter->after.restarted ||
		vbd_eventlog_next(eventlog, waiter->examined, &waiter->filter))
		reply_page(base->req, waiter);
	waiter->examined = vbd_eventlog_last(eventlog);
}

static enum vbd_status parse(
	const struct vbd_request *req, struct event_waiter *waiter, struct vbd_error *err)
{
	enum vbd_status status = vbd_query_u64(req, "limit", 1, EVENTS_MAX, &waiter->limit, err);

	if (status == VBD_OK)
		status = vbd_query_event_place(req, &waiter->after, err);
	return status == VBD_OK ? vbd_parse_event_filter(req, &waiter->filter, err) : status;
}

void vbd_list_events(struct vbd_request *req)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct event_waiter waiter = {
		.waiter.answer = answer_events,
		.daemon = daemon,
		.limit = 100,
	};
	struct vbd_error err = {0};

	if (parse(req, &waiter, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	waiter.examined = waiter.after.seq;
	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, vbd_eventlog_watches(daemon->eventlog),
		req->wait_ms);
}
