/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/eventlog.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/core/caller.h"
#include "daemon/core/watch.h"

struct vbd_eventlog {
	uint64_t capacity;
	uint64_t last;	      /* number of the newest event, or of the last one left out */
	uint64_t before;      /* the numbers up to this one are gone */
	uint64_t count;	      /* of events so far, with those of earlier runs */
	uint64_t own;	      /* of events of this run */
	uint64_t gapless;     /* the newest of them whose numbers have no gap between them */
	uint64_t evicted;     /* since the first event of this run */
	struct vbd_link runs; /* of struct vbd_event_run, the oldest first */
	struct vbd_link watches;
	struct vbd_event ring[]; /* the Nth event lies at N % capacity */
};

static const struct {
	const char *name;
	enum vbd_log_level level;
} severities[] = {
#define VBD_SEVERITY_ROW(sym, name, level) [sym] = {name, VBD_LOG_##level},
	VBD_SEVERITY_MAP(VBD_SEVERITY_ROW)
#undef VBD_SEVERITY_ROW
};

static const char *const kind_names[] = {[VBD_KIND_NONE] = NULL,
	[VBD_KIND_DEVICE] = "device",
#define VBD_KIND_NAME(sym, singular, plural, open, kept) [VBD_KIND_##sym] = #singular,
	VBD_KIND_MAP(VBD_KIND_NAME)
#undef VBD_KIND_NAME
};

const char *vbd_severity_name(enum vbd_severity severity)
{
	return (unsigned int)severity < VBD_SEVERITY_COUNT ? severities[severity].name : NULL;
}

const char *vbd_object_kind_name(enum vbd_object_kind kind)
{
	return (unsigned int)kind < VBD_KIND_COUNT ? kind_names[kind] : NULL;
}

VBD_ENUM_PARSE(vbd_object_kind_parse, enum vbd_object_kind, VBD_KIND_NONE + 1, VBD_KIND_COUNT,
	vbd_object_kind_name)

char *vbd_object_text(enum vbd_object_kind kind, uint64_t id, char text[VBD_OBJECT_TEXT_BYTES])
{
	const char *name = vbd_object_kind_name(kind);

	if (!name)
		return NULL;
	(void)snprintf(text, VBD_OBJECT_TEXT_BYTES, "%s/%llu", name, (unsigned long long)id);
	return text;
}

enum vbd_status vbd_eventlog_create(
	uint64_t capacity, struct vbd_eventlog **ret_eventlog, struct vbd_error *err)
{
	struct vbd_eventlog *eventlog = NULL;

	if (capacity <= (SIZE_MAX - sizeof(*eventlog)) / sizeof(struct vbd_event))
		eventlog = calloc(1, sizeof(*eventlog) + capacity * sizeof(struct vbd_event));
	if (!eventlog)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for %llu events",
			(unsigned long long)capacity);
	eventlog->capacity = capacity;
	vbd_list_init(&eventlog->runs);
	vbd_list_init(&eventlog->watches);
	*ret_eventlog = eventlog;
	return VBD_OK;
}

static void release_event(struct vbd_event *event)
{
	vbd_labels_unref(event->labels);
	vbd_caller_unref(event->owner);
}

void vbd_eventlog_destroy(struct vbd_eventlog *eventlog)
{
	if (!eventlog)
		return;
	vbd_watch_notify(&eventlog->watches, true);
	for (uint64_t i = 0; i < eventlog->capacity; i++)
		release_event(&eventlog->ring[i]);
	vbd_list_for_each_of (struct vbd_event_run, run, link, &eventlog->runs)
		free(run);
	free(eventlog);
}

/* The place of the next event; the event that was in it is released. */
static struct vbd_event *next_place(struct vbd_eventlog *eventlog)
{
	struct vbd_event *place = &eventlog->ring[++eventlog->count % eventlog->capacity];

	if (place->seq)
		eventlog->before = place->seq;
	release_event(place);
	return place;
}

/* Copy all of @event but its detail. */
static void copy_event(struct vbd_event *place, const struct vbd_event *event, uint64_t seq)
{
	memcpy(place, event, offsetof(struct vbd_event, detail));
	place->seq = seq;
	(void)vbd_labels_ref(place->labels);
	(void)vbd_caller_ref(place->owner);
}

struct vbd_event_run *vbd_eventlog_add_run(struct vbd_eventlog *eventlog, const char *server_id)
{
	struct vbd_event_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	(void)snprintf(run->server_id, sizeof(run->server_id), "%s", server_id);
	run->last = eventlog->last;
	vbd_list_append(&eventlog->runs, &run->link);
	return run;
}

void vbd_eventlog_restore(
	struct vbd_eventlog *eventlog, struct vbd_event_run *run, const struct vbd_event *event)
{
	struct vbd_event *place = next_place(eventlog);

	/* Events before the first that is restored may be missing. */
	if (eventlog->count == 1)
		eventlog->before = event->seq - 1;
	copy_event(place, event, event->seq);
	(void)vbd_text_copy(place->detail, sizeof(place->detail), event->detail);
	place->run = run;
	run->last = event->seq;
	eventlog->last = event->seq;
}

void vbd_eventlog_skip(struct vbd_eventlog *eventlog, uint64_t seq)
{
	if (seq > eventlog->last) {
		eventlog->last = seq;
		eventlog->gapless = 0;
	}
	if (!eventlog->count)
		eventlog->before = eventlog->last;
}

const struct vbd_event_run *vbd_eventlog_find_run(
	const struct vbd_eventlog *eventlog, const char *server_id)
{
	vbd_list_for_each_of (const struct vbd_event_run, run, link, &eventlog->runs) {
		if (strcmp(run->server_id, server_id) == 0 && run->last >= eventlog->before)
			return run;
	}
	return NULL;
}

/* Add an event of this run: all of @event but its detail, which the caller sets. */
static struct vbd_event *add_own_event(struct vbd_eventlog *eventlog, const struct vbd_event *event)
{
	bool full = eventlog->count >= eventlog->capacity;
	struct vbd_event *own = next_place(eventlog);

	eventlog->own++;
	eventlog->gapless++;
	eventlog->evicted += full;
	copy_event(own, event, ++eventlog->last);
	own->run = NULL;
	own->at_ns = vbd_clock_mono_ns();
	return own;
}

static uint64_t log_and_notify(struct vbd_eventlog *eventlog, struct vbd_event *event)
{
	enum vbd_log_level level = severities[event->severity].level;
	char object[VBD_OBJECT_TEXT_BYTES];

	vbd_text_clean(event->detail);
	/* Most events are of the level debug: do not format a line that is not written. */
	if (vbd_log_enabled(level))
		vbd_log(level, vbd_object_text(event->kind, event->object_id, object), "%s: %s",
			vbd_event_type_name(event->type), event->detail);
	vbd_watch_notify(&eventlog->watches, false);
	return event->seq;
}

uint64_t vbd_eventlog_add(struct vbd_eventlog *eventlog, const struct vbd_event *event)
{
	struct vbd_event *own = add_own_event(eventlog, event);

	(void)vbd_text_copy(own->detail, sizeof(own->detail), event->detail);
	return log_and_notify(eventlog, own);
}

uint64_t vbd_eventlog_vappend(
	struct vbd_eventlog *eventlog, const struct vbd_event *event, const char *fmt, va_list ap)
{
	struct vbd_event *own = add_own_event(eventlog, event);

	(void)vsnprintf(own->detail, sizeof(own->detail), fmt, ap);
	return log_and_notify(eventlog, own);
}

uint64_t vbd_eventlog_append(
	struct vbd_eventlog *eventlog, const struct vbd_event *event, const char *fmt, ...)
{
	uint64_t seq;
	va_list ap;

	va_start(ap, fmt);
	seq = vbd_eventlog_vappend(eventlog, event, fmt, ap);
	va_end(ap);
	return seq;
}

uint64_t vbd_eventlog_first(const struct vbd_eventlog *eventlog)
{
	return eventlog->before + 1;
}

uint64_t vbd_eventlog_last(const struct vbd_eventlog *eventlog)
{
	return eventlog->last;
}

uint64_t vbd_eventlog_appended(const struct vbd_eventlog *eventlog)
{
	return eventlog->own;
}

uint64_t vbd_eventlog_held(const struct vbd_eventlog *eventlog)
{
	return eventlog->count < eventlog->capacity ? eventlog->count : eventlog->capacity;
}

uint64_t vbd_eventlog_dropped(const struct vbd_eventlog *eventlog)
{
	return eventlog->evicted;
}

static const struct vbd_event *event_at(const struct vbd_eventlog *eventlog, uint64_t place)
{
	return &eventlog->ring[place % eventlog->capacity];
}

uint64_t vbd_eventlog_before_newest(const struct vbd_eventlog *eventlog, uint64_t count)
{
	return count < vbd_eventlog_held(eventlog)
		       ? event_at(eventlog, eventlog->count - count)->seq
		       : eventlog->before;
}

/* The place of the oldest event held whose number is above @seq; behind the newest one if there is
 * none. Only numbers between which there may be gaps are searched for. */
static uint64_t place_after(const struct vbd_eventlog *eventlog, uint64_t seq)
{
	uint64_t low = eventlog->count - vbd_eventlog_held(eventlog) + 1;
	uint64_t high = eventlog->count - eventlog->gapless + 1;
	uint64_t gapless_first = eventlog->last - eventlog->gapless + 1;

	if (seq >= eventlog->last)
		return eventlog->count + 1;
	if (high < low)
		high = low;
	if (eventlog->gapless && seq + 1 >= gapless_first) {
		uint64_t place = eventlog->count - (eventlog->last - seq) + 1;

		return place > low ? place : low;
	}
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (event_at(eventlog, middle)->seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct vbd_event *vbd_eventlog_get(const struct vbd_eventlog *eventlog, uint64_t seq)
{
	uint64_t place = seq ? place_after(eventlog, seq - 1) : eventlog->count + 1;

	if (place > eventlog->count || event_at(eventlog, place)->seq != seq)
		return NULL;
	return event_at(eventlog, place);
}

static bool matches_object(const struct vbd_event *event, const struct vbd_event_filter *filter)
{
	return (filter->kind == VBD_KIND_NONE || event->kind == filter->kind) &&
	       (filter->object_id == 0 || event->object_id == filter->object_id) &&
	       (!filter->name || strcmp(event->name, filter->name) == 0);
}

bool vbd_event_is_for(const struct vbd_event *event, const struct vbd_caller *caller)
{
	bool about_others = event->kind == VBD_KIND_NONE &&
			    event->type != VBD_EVENT_DAEMON_STARTED &&
			    event->type != VBD_EVENT_DAEMON_STOPPING;

	if (about_others && caller && caller->role == VBD_ROLE_OPERATE)
		return false;
	if (event->type == VBD_EVENT_AUDIT && caller && caller->role != VBD_ROLE_CONTROL)
		return false;
	return vbd_caller_sees(caller, event->owner);
}

static bool event_matches(const struct vbd_event *event, const struct vbd_event_filter *filter)
{
	const char *code = event->words[VBD_EVENT_CODE];

	return vbd_event_is_for(event, filter->caller) &&
	       (!filter->by_type || filter->types[event->type]) &&
	       (!filter->code || (code && strcmp(code, filter->code) == 0)) &&
	       event->severity >= filter->min_severity && matches_object(event, filter) &&
	       vbd_labels_match(event->labels, &filter->labels);
}

const struct vbd_event *vbd_eventlog_look(const struct vbd_eventlog *eventlog, uint64_t *at,
	const struct vbd_event_filter *filter, unsigned int *looks)
{
	uint64_t place = place_after(eventlog, *at);

	for (; place <= eventlog->count && *looks > 0; place++) {
		const struct vbd_event *event = event_at(eventlog, place);

		--*looks;
		if (event_matches(event, filter))
			return event;
		*at = event->seq;
	}
	if (place > eventlog->count && *looks > 0 && *at < eventlog->last)
		*at = eventlog->last;
	return NULL;
}

const struct vbd_event *vbd_eventlog_next(
	const struct vbd_eventlog *eventlog, uint64_t after, const struct vbd_event_filter *filter)
{
	unsigned int looks = UINT_MAX;

	return vbd_eventlog_look(eventlog, &after, filter, &looks);
}

struct vbd_link *vbd_eventlog_watches(struct vbd_eventlog *eventlog)
{
	return &eventlog->watches;
}
