/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log as server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * The only state of a client is its place in the log, which serves as its queue. So a slow client
 * needs no memory and delays nobody; it gets the number of events that it has missed.
 */
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "api/resources/events.h"
#include "daemon/core/watch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEARTBEAT_MS 15000
#define RETRY_TEXT   "retry: 1000\n\n" /* an EventSource reconnects after so many ms */

struct stream {
	struct vbd_request *req;
	struct vbd_daemon *daemon;
	struct vbd_watch watch; /* of the event log */
	struct vbd_timer *heartbeat;
	struct vbd_event_filter filter;
	uint64_t at;	/* events up to this number were sent or do not match the filter */
	bool restarted; /* the client's number is of another run of the daemon */
	char *text;	/* the text that is being sent; NULL: none */
	size_t text_bytes;
	size_t sent_bytes;
};

static void set_text(struct stream *stream, char *text)
{
	stream->text = text;
	stream->text_bytes = text ? strlen(text) : 0;
	stream->sent_bytes = 0;
}

static char *printed(const char *fmt, ...) VBD_PRINTF(1, 2);

static char *printed(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	return len < 0 ? NULL : text;
}

static char *event_text(const struct vbd_event *event)
{
	json_t *json = vbd_encode_event(event);
	char *data = json ? json_dumps(json, JSON_COMPACT) : NULL;
	char *text = data ? printed("id: %" PRIu64 "\ndata: %s\n\n", event->seq, data) : NULL;

	free(data);
	json_decref(json);
	return text;
}

/* Set the next text to send, if any. Without memory the next wake-up tries again. */
static void next(struct stream *stream)
{
	const struct vbd_eventlog *eventlog = stream->daemon->eventlog;
	const uint64_t first = vbd_eventlog_first(eventlog);
	const struct vbd_event *event;

	if (stream->restarted) {
		set_text(stream, printed("event: restarted\ndata: {\"server_id\":\"%s\"}\n\n",
					 stream->daemon->server_id));
		stream->restarted = !stream->text;
		return;
	}
	if (stream->at + 1 < first) {
		set_text(stream, printed("event: compacted\ndata: {\"first\":%" PRIu64
					 ",\"missed\":%" PRIu64 "}\n\n",
					 first, first - 1 - stream->at));
		if (stream->text)
			stream->at = first - 1;
		return;
	}
	event = vbd_eventlog_next(eventlog, stream->at, &stream->filter);
	if (!event) {
		stream->at = vbd_eventlog_last(eventlog);
		return;
	}
	set_text(stream, event_text(event));
	if (stream->text)
		stream->at = event->seq;
}

static size_t stream_read(void *arg, char *buf, size_t size)
{
	struct stream *stream = arg;
	size_t len = 0;

	while (len < size) {
		size_t left = stream->text_bytes - stream->sent_bytes;
		size_t part = left < size - len ? left : size - len;

		if (!stream->text) {
			next(stream);
			if (!stream->text)
				break;
			continue;
		}
		memcpy(buf + len, stream->text + stream->sent_bytes, part);
		len += part;
		stream->sent_bytes += part;
		if (part == left) {
			free(stream->text);
			set_text(stream, NULL);
		}
	}
	vbd_timer_set(stream->heartbeat, HEARTBEAT_MS);
	return len;
}

static void on_event(struct vbd_watch *watch, bool gone)
{
	struct stream *stream = VBD_CONTAINER_OF(watch, struct stream, watch);

	if (!gone)
		vbd_request_wake(stream->req);
}

/* A heartbeat keeps the stream open in proxies, and detects a client that has gone. */
static void on_heartbeat(void *arg)
{
	struct stream *stream = arg;

	if (!stream->text)
		set_text(stream, strdup(":\n\n"));
	vbd_request_wake(stream->req);
}

static void stream_free(void *arg)
{
	struct stream *stream = arg;

	vbd_watch_remove(&stream->watch);
	vbd_timer_destroy(stream->heartbeat);
	free(stream->text);
	free(stream);
}

/* The stream begins after Last-Event-ID, else after `after`, else after the newest event. */
static enum vbd_status parse_start(struct stream *stream, struct vbd_error *err)
{
	const uint64_t last = vbd_eventlog_last(stream->daemon->eventlog);
	const char *id = vbd_request_header(stream->req, "Last-Event-ID");
	enum vbd_status status;

	stream->at = last;
	status = vbd_query_u64(stream->req, "after", 0, INT64_MAX, &stream->at, err);
	if (status != VBD_OK)
		return status;
	if (id) {
		if (!*id || strlen(id) > 18 || strspn(id, "0123456789") != strlen(id))
			return vbd_error_input(err, VBD_E_BAD_VALUE, "Last-Event-ID",
				"Last-Event-ID must be the number of an event");
		stream->at = strtoull(id, NULL, 10);
	}
	if (stream->at > last) {
		stream->restarted = true;
		stream->at = 0;
	}
	return VBD_OK;
}

static enum vbd_status prepare(struct stream *stream, struct vbd_error *err)
{
	enum vbd_status status = parse_start(stream, err);

	if (status == VBD_OK)
		status = vbd_parse_event_filter(stream->req, &stream->filter, err);
	if (status == VBD_OK)
		status = vbd_timer_create(
			stream->daemon->loop, on_heartbeat, stream, &stream->heartbeat, err);
	if (status != VBD_OK)
		return status;
	set_text(stream, strdup(RETRY_TEXT));
	vbd_watch_add(vbd_eventlog_watches(stream->daemon->eventlog), &stream->watch);
	return VBD_OK;
}

void vbd_stream_events(struct vbd_request *req)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct vbd_error err = {0};

	if (!stream) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the stream");
		vbd_reply_problem(req, &err);
		return;
	}
	stream->req = req;
	stream->daemon = vbd_request_daemon(req);
	stream->watch.cb = on_event;
	vbd_list_init(&stream->watch.link);
	if (prepare(stream, &err) != VBD_OK) {
		stream_free(stream);
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_reply_feed(req, "text/event-stream",
		&(const struct vbd_feed){.read = stream_read, .free = stream_free, .arg = stream});
}
