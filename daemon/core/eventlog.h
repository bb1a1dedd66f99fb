/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: a ring of numbered events. Each event is written to the daemon's log as well.
 *
 * Control thread only; never blocks (but for the log's write).
 */
#ifndef VBD_DAEMON_CORE_EVENTLOG_H
#define VBD_DAEMON_CORE_EVENTLOG_H

#include "base/attr.h"
#include "base/enum.h"
#include "base/error.h"
#include "base/list.h"
#include "daemon/core/event_types.h"
#include "daemon/core/kinds.h"
#include "daemon/core/labels.h"
#include "daemon/core/registry.h"

#include <stdarg.h>

/* X(SYMBOL, json name, log level), rising; Severity in openapi.yaml */
#define VBD_SEVERITY_MAP(X)                         \
	X(VBD_SEVERITY_DEBUG, "debug", DEBUG)       \
	X(VBD_SEVERITY_INFO, "info", INFO)          \
	X(VBD_SEVERITY_NOTICE, "notice", NOTICE)    \
	X(VBD_SEVERITY_WARNING, "warning", WARNING) \
	X(VBD_SEVERITY_ERROR, "error", ERROR)

enum vbd_severity { VBD_SEVERITY_MAP(VBD_ENUM_ROW) VBD_SEVERITY_COUNT };

/* Room for "connection/18446744073709551615" and its NUL. */
#define VBD_OBJECT_TEXT_BYTES 40

/* An earlier run of the daemon, of which the log has events. */
struct vbd_event_run {
	char server_id[17];
	uint64_t last; /* number of its newest event in the log */
	struct vbd_link link;
};

struct vbd_event {
	uint64_t seq;			 /* 1, 2, 3 …; between runs numbers may be left out */
	uint64_t at_ns;			 /* monotonic */
	const struct vbd_event_run *run; /* NULL: this run */
	enum vbd_event_type type;
	enum vbd_severity severity;
	enum vbd_object_kind kind;
	uint64_t object_id;	   /* 0 with VBD_KIND_NONE */
	char name[VBD_NAME_BYTES]; /* of the object at that time; "" without one */
	struct vbd_labels *labels; /* of the object; the event log holds a reference */
	struct vbd_caller *owner;  /* of the object, likewise; NULL: the daemon */
	const char *words[VBD_EVENT_WORD_COUNT]; /* static strings; NULL: null */
	uint8_t port_num;			 /* with vbd_event_type_has_port() */
	char detail[160];			 /* UTF-8 without control characters */
};

/* The events that a client selects; a filter of zeros selects all. */
struct vbd_event_filter {
	bool by_type;
	bool types[VBD_EVENT_TYPE_COUNT]; /* with @by_type */
	enum vbd_object_kind kind;	  /* VBD_KIND_NONE: any */
	uint64_t object_id;		  /* 0: any */
	const char *name;		  /* of the object; NULL: any */
	const char *code;		  /* NULL: any */
	struct vbd_label_selector labels; /* of the object */
	enum vbd_severity min_severity;
	/* NULL: the daemon itself, which gets all; else as vbd_event_is_for() says. */
	const struct vbd_caller *caller;
};

struct vbd_eventlog;

/** vbd_severity_name - "notice"; NULL for an unknown value */
const char *vbd_severity_name(enum vbd_severity severity);

/** vbd_object_kind_name - "connection"; NULL for VBD_KIND_NONE and an unknown value */
const char *vbd_object_kind_name(enum vbd_object_kind kind);

/** vbd_object_kind_parse - false if @name is not the name of a kind */
bool vbd_object_kind_parse(const char *name, enum vbd_object_kind *ret_kind);

/** vbd_object_text - "connection/7"; NULL for VBD_KIND_NONE, else @text */
char *vbd_object_text(enum vbd_object_kind kind, uint64_t id, char text[VBD_OBJECT_TEXT_BYTES]);

/**
 * vbd_eventlog_create - create an empty log
 * @capacity: number of events kept, 1 or more; their memory is allocated at once
 */
enum vbd_status vbd_eventlog_create(uint64_t capacity, struct vbd_eventlog **ret_eventlog,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_eventlog_destroy - call the watches with @gone and free the log; NULL is fine */
void vbd_eventlog_destroy(struct vbd_eventlog *eventlog);

/** vbd_eventlog_add_run - make known an earlier run, the newest so far, of which
 * vbd_eventlog_restore() will add events; the log owns it; NULL without memory */
struct vbd_event_run *vbd_eventlog_add_run(struct vbd_eventlog *eventlog, const char *server_id);

/**
 * vbd_eventlog_restore - add an event of an earlier run, before any of this run
 * @run:   of the event
 * @event: copied, with its seq, which is above all numbers so far, and without its run
 *
 * Nothing is written to the daemon's log, and no watch is called.
 */
void vbd_eventlog_restore(
	struct vbd_eventlog *eventlog, struct vbd_event_run *run, const struct vbd_event *event);

/** vbd_eventlog_skip - leave out numbers up to @seq, which an earlier run may have given to events
 * that are not in the log; before any event of this run */
void vbd_eventlog_skip(struct vbd_eventlog *eventlog, uint64_t seq);

/** vbd_eventlog_find_run - an earlier run by its server_id; NULL if the log has no event of it */
const struct vbd_event_run *vbd_eventlog_find_run(
	const struct vbd_eventlog *eventlog, const char *server_id);

/**
 * vbd_eventlog_append - add an event, log it, and call the watches; returns the event's number
 * @event: copied; without seq, at_ns and detail
 * @fmt:   of `detail`: one line without a full stop; cut after 159 bytes
 *
 * A full log loses its oldest event.
 */
uint64_t vbd_eventlog_append(struct vbd_eventlog *eventlog, const struct vbd_event *event,
	const char *fmt, ...) VBD_PRINTF(3, 4);

/** vbd_eventlog_add - as vbd_eventlog_append(), with the `detail` that @event has */
uint64_t vbd_eventlog_add(struct vbd_eventlog *eventlog, const struct vbd_event *event);

/** vbd_eventlog_vappend - as vbd_eventlog_append() */
uint64_t vbd_eventlog_vappend(struct vbd_eventlog *eventlog, const struct vbd_event *event,
	const char *fmt, va_list ap) VBD_PRINTF(3, 0);

/** vbd_eventlog_first - the number behind those of all events that the log no longer holds: no
 * event from there on is missing */
uint64_t vbd_eventlog_first(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_last - number of the newest event; 0 before any */
uint64_t vbd_eventlog_last(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_before_newest - the number behind which the log holds @count events, or all if it
 * holds fewer; between runs many numbers may be left out */
uint64_t vbd_eventlog_before_newest(const struct vbd_eventlog *eventlog, uint64_t count);

/** vbd_eventlog_appended - count of all events of this run */
uint64_t vbd_eventlog_appended(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_held - number of events that the log holds */
uint64_t vbd_eventlog_held(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_dropped - number of events that made room for newer ones in this run */
uint64_t vbd_eventlog_dropped(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_get - the event with number @seq, valid until the next append; NULL if not kept */
const struct vbd_event *vbd_eventlog_get(const struct vbd_eventlog *eventlog, uint64_t seq);

/** vbd_eventlog_next - the oldest event kept that @filter matches and whose number is above @after;
 * NULL if there is none; valid until the next append */
const struct vbd_event *vbd_eventlog_next(
	const struct vbd_eventlog *eventlog, uint64_t after, const struct vbd_event_filter *filter);

/**
 * vbd_eventlog_look - look for the oldest event kept that @filter matches, in a log of any length
 * @at:    look behind this number; set behind all events that were looked at and do not match
 * @looks: events to look at, at most; what is left of them is set
 *
 * Returns the event, valid until the next append; NULL if none was found: there may be one behind
 * @at if no look is left, else there is none.
 */
const struct vbd_event *vbd_eventlog_look(const struct vbd_eventlog *eventlog, uint64_t *at,
	const struct vbd_event_filter *filter, unsigned int *looks);

/** vbd_event_is_for - whether a caller may know of an event: an operator gets those of its own
 * objects, of devices, and of the daemon as far as they don't tell who else is there; the audit is
 * for the control role */
bool vbd_event_is_for(const struct vbd_event *event, const struct vbd_caller *caller);

/** vbd_eventlog_watches - the list of struct vbd_watch (daemon/core/watch.h) called after each
 * append */
struct vbd_link *vbd_eventlog_watches(struct vbd_eventlog *eventlog);

#endif
