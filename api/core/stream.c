/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log as server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * The only state of a client is its place in the log, which serves as its queue. So a slow client
 * needs no memory and delays nobody; it gets the number of events that it has missed.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/events.h"
#include "api/core/handlers.h"

#define HEARTBEAT_MS 15000
/* Events of the log that a part looks at, if the filter matches few. */
#define LOOKS_PER_PART 1000
#define RETRY_TEXT     "retry: 1000\n\n" /* a client connects again after so many ms */

/* --- the texts of events --------------------------------------------------------------------- */

/* Returns a text with one reference, which the caller owns; NULL without memory. */
static struct vbd_event_text *VBD_PRINTF(1, 2) print_text(const char *fmt, ...)
{
	struct vbd_event_text *text = malloc(sizeof(*text));
	va_list ap;
	int len = -1;

	if (!text)
		return NULL;
	va_start(ap, fmt);
	len = vasprintf(&text->bytes, fmt, ap);
	va_end(ap);
	if (len < 0) {
		free(text);
		return NULL;
	}
	text->refs = 1;
	text->len_bytes = (size_t)len;
	return text;
}

void vbd_event_text_unref(struct vbd_event_text *text)
{
	if (!text || --text->refs)
		return;
	free(text->bytes);
	free(text);
}

static struct vbd_event_text *print_event(
	const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_event_text *text = NULL;
	size_t len;
	char *data;

	vbd_put_event(&out, daemon, event);
	data = vbd_encode_end(&out, &len);
	if (data)
		text = print_text("id: %s-%" PRIu64 "\ndata: %s\n\n", vbd_event_run(daemon, event),
			event->seq, data);
	free(data);
	return text;
}

struct vbd_event_text *vbd_event_text_of(struct vbd_event_texts *texts,
	const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	const size_t at = event->seq % VBD_EVENT_TEXTS;

	if (!texts->slots[at].text || texts->slots[at].seq != event->seq) {
		struct vbd_event_text *text = print_event(daemon, event);

		if (!text)
			return NULL;
		vbd_event_text_unref(texts->slots[at].text);
		texts->slots[at].seq = event->seq;
		texts->slots[at].text = text;
	}
	texts->slots[at].text->refs++;
	return texts->slots[at].text;
}

void vbd_event_texts_fini(struct vbd_event_texts *texts)
{
	for (size_t i = 0; i < VBD_EVENT_TEXTS; i++) {
		vbd_event_text_unref(texts->slots[i].text);
		texts->slots[i].text = NULL;
	}
}

/* --- a stream -------------------------------------------------------------------------------- */

struct stream {
	struct vbd_request *req;
	struct vbd_daemon *daemon;
	struct vbd_watch watch; /* of the event log */
	struct vbd_timer *heartbeat;
	struct vbd_event_filter filter;
	uint64_t limit;		     /* events that may still be sent; UINT64_MAX: no limit */
	struct vbd_event_place at;   /* events up to here were sent or do not match the filter */
	struct vbd_event_text *text; /* the text that is being sent; NULL: none */
	size_t sent_bytes;
	struct vbd_link waiting; /* for its turn */
	bool in_turn;		 /* the stream has waited, and goes on now */
};

static void set_text(struct stream *stream, struct vbd_event_text *text)
{
	vbd_event_text_unref(stream->text);
	stream->text = text;
	stream->sent_bytes = 0;
}

/* With the id, a client that is cut off before its first event comes back to this place. A client
 * that is still to be told of a restart gets none, and comes back to its own place. */
static struct vbd_event_text *first_text(const struct stream *stream)
{
	char id[VBD_EVENT_ID_BYTES];

	if (stream->at.restarted)
		return print_text(RETRY_TEXT);
	return print_text(
		"id: %s\n" RETRY_TEXT, vbd_event_place_id(stream->daemon, stream->at.seq, id));
}

static struct vbd_event_text *restarted_text(const struct stream *stream)
{
	const char *server_id = stream->daemon->server_id;
	char id[VBD_EVENT_ID_BYTES];

	return print_text("id: %s\nevent: restarted\n"
			  "data: {\"server_id\":\"%s\",\"resumed\":%s}\n\n",
		vbd_event_place_id(stream->daemon, stream->at.seq, id), server_id,
		stream->at.resumed ? "true" : "false");
}

static struct vbd_event_text *compacted_text(const struct stream *stream, uint64_t first)
{
	char id[VBD_EVENT_ID_BYTES];

	return print_text("id: %s\nevent: compacted\ndata: {\"first\":%" PRIu64
			  ",\"missed\":%" PRIu64 "}\n\n",
		vbd_event_place_id(stream->daemon, first - 1, id), first,
		first - 1 - stream->at.seq);
}

/* Set the next text to send, if any. Without memory the next wake-up tries again. */
static void set_next_text(struct stream *stream, unsigned int *looks)
{
	const struct vbd_eventlog *eventlog = stream->daemon->eventlog;
	const uint64_t first = vbd_eventlog_first(eventlog);
	const struct vbd_event *event;

	if (stream->at.restarted) {
		set_text(stream, restarted_text(stream));
		stream->at.restarted = !stream->text;
		return;
	}
	if (stream->at.seq + 1 < first) {
		set_text(stream, compacted_text(stream, first));
		if (stream->text) {
			stream->daemon->event_stream_missed += first - 1 - stream->at.seq;
			stream->at.seq = first - 1;
		}
		return;
	}
	event = vbd_eventlog_look(eventlog, &stream->at.seq, &stream->filter, looks);
	if (!event)
		return;
	set_text(stream,
		vbd_event_text_of(vbd_request_event_texts(stream->req), stream->daemon, event));
	if (stream->text) {
		stream->at.seq = event->seq;
		stream->limit--;
	}
}

static size_t fill_block(struct stream *stream, char *buf, size_t size, unsigned int *looks)
{
	size_t len = 0;

	while (len < size) {
		size_t left = stream->text ? stream->text->len_bytes - stream->sent_bytes : 0;
		size_t part = left < size - len ? left : size - len;

		if (!stream->text) {
			if (stream->limit == 0)
				return len ? len : VBD_FEED_OVER;
			set_next_text(stream, looks);
			if (!stream->text)
				break;
			continue;
		}
		memcpy(buf + len, stream->text->bytes + stream->sent_bytes, part);
		len += part;
		stream->sent_bytes += part;
		if (part == left)
			set_text(stream, NULL);
	}
	return len;
}

static bool waits_for_turn(const struct stream *stream)
{
	return !vbd_list_empty(&stream->waiting);
}

static bool wake_waiting_streams(struct vbd_steps *steps)
{
	struct vbd_streams *streams = VBD_CONTAINER_OF(steps, struct vbd_streams, steps);

	for (int i = 0; i < VBD_STREAMS_PER_TURN && !vbd_list_empty(&streams->waiting); i++) {
		struct stream *stream = VBD_LIST_FIRST(&streams->waiting, struct stream, waiting);

		vbd_list_remove(&stream->waiting);
		stream->in_turn = true;
		stream->req->transport->wake(stream->req);
	}
	return vbd_list_empty(&streams->waiting);
}

void vbd_streams_init(struct vbd_streams *streams)
{
	vbd_list_init(&streams->steps.link);
	vbd_list_init(&streams->waiting);
	streams->steps.step = wake_waiting_streams;
}

static void await_turn(struct stream *stream)
{
	struct vbd_streams *streams = vbd_request_streams(stream->req);

	/* The streams that the steps wait for may have left. */
	vbd_turns_add(&stream->daemon->turns, &streams->steps);
	vbd_list_append(&streams->waiting, &stream->waiting);
}

/* A burst of events for many clients takes several turns. */
static bool may_read(struct stream *stream)
{
	bool in_turn = stream->in_turn;

	stream->in_turn = false;
	if (waits_for_turn(stream))
		return false;
	if (in_turn || vbd_turns_go_on(&stream->daemon->turns))
		return true;
	await_turn(stream);
	return false;
}

static size_t stream_read(void *arg, char *buf, size_t size)
{
	struct stream *stream = arg;
	unsigned int looks = LOOKS_PER_PART;
	size_t len;

	if (!may_read(stream))
		return 0;
	len = fill_block(stream, buf, size, &looks);
	if (len == 0 && looks == 0)
		await_turn(stream);
	/* Events that the filter holds back are no sign of life. */
	if (len > 0)
		vbd_timer_set(stream->heartbeat, HEARTBEAT_MS);
	return len;
}

static void on_event_logged(struct vbd_watch *watch, bool gone)
{
	struct stream *stream = VBD_CONTAINER_OF(watch, struct stream, watch);

	if (!gone && !waits_for_turn(stream))
		stream->req->transport->wake(stream->req);
}

/* A heartbeat keeps the stream open in proxies, and detects a client that has gone. */
static void on_heartbeat_due(void *arg)
{
	struct stream *stream = arg;

	if (!stream->text)
		set_text(stream, print_text(":\n\n"));
	stream->req->transport->wake(stream->req);
}

static void stream_free(void *arg)
{
	struct stream *stream = arg;

	vbd_watch_remove(&stream->watch);
	vbd_list_remove(&stream->waiting);
	vbd_timer_destroy(stream->heartbeat);
	set_text(stream, NULL);
	free(stream);
}

/* The stream begins after Last-Event-ID, unless that is empty (HTML, 9.2), else after `after`, else
 * after the newest event. */
static enum vbd_status parse_start(struct stream *stream, struct vbd_error *err)
{
	const char *id = vbd_request_header(stream->req, VBD_HEADER_LAST_EVENT_ID);
	enum vbd_status status = vbd_query_event_place(stream->req, &stream->at, err);

	if (status == VBD_OK && id && *id)
		status = vbd_parse_event_place(
			stream->daemon, "Last-Event-ID", id, &stream->at, err);
	if (status == VBD_OK)
		status = vbd_query_u64(stream->req, "limit", 1, INT64_MAX, &stream->limit, err);
	return status;
}

static enum vbd_status prepare_stream(struct stream *stream, struct vbd_error *err)
{
	enum vbd_status status = parse_start(stream, err);

	if (status == VBD_OK)
		status = vbd_parse_event_filter(stream->req, &stream->filter, err);
	if (status == VBD_OK)
		status = vbd_timer_create(
			stream->daemon->loop, on_heartbeat_due, stream, &stream->heartbeat, err);
	if (status != VBD_OK)
		return status;
	set_text(stream, first_text(stream));
	vbd_watch_add(vbd_eventlog_watches(stream->daemon->eventlog), &stream->watch);
	return VBD_OK;
}

void vbd_stream_events(struct vbd_request *req)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for the stream");
		return;
	}
	stream->req = req;
	stream->daemon = vbd_request_daemon(req);
	stream->at.seq = vbd_eventlog_last(stream->daemon->eventlog);
	stream->limit = UINT64_MAX;
	stream->watch.cb = on_event_logged;
	vbd_list_init(&stream->watch.link);
	vbd_list_init(&stream->waiting);
	if (prepare_stream(stream, &req->err) != VBD_OK) {
		stream_free(stream);
		return;
	}
	vbd_reply_feed(req, "text/event-stream",
		&(const struct vbd_feed){.read = stream_read, .free = stream_free, .arg = stream});
}
