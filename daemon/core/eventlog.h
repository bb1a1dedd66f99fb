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
#include "daemon/core/kinds.h"
#include "rdma/names/reason.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* X(SYMBOL, json name); EventType in openapi.yaml */
#define VBD_EVENT_TYPE_MAP(X)                                         \
	X(VBD_EVENT_DAEMON_STARTED, "daemon_started")                 \
	X(VBD_EVENT_DAEMON_STOPPING, "daemon_stopping")               \
	X(VBD_EVENT_DEVICE_ADDED, "device_added")                     \
	X(VBD_EVENT_DEVICE_REMOVED, "device_removed")                 \
	X(VBD_EVENT_DEVICE_FAILED, "device_failed")                   \
	X(VBD_EVENT_DEVICE_ASYNC, "device_async")                     \
	X(VBD_EVENT_LISTENER_CREATED, "listener_created")             \
	X(VBD_EVENT_LISTENER_DELETED, "listener_deleted")             \
	X(VBD_EVENT_LISTENER_LOST, "listener_lost")                   \
	X(VBD_EVENT_LISTENER_RESTORED, "listener_restored")           \
	X(VBD_EVENT_CONNECTION_CREATED, "connection_created")         \
	X(VBD_EVENT_CONNECTION_REQUESTED, "connection_requested")     \
	X(VBD_EVENT_CONNECTION_STATE, "connection_state")             \
	X(VBD_EVENT_CONNECTION_ESTABLISHED, "connection_established") \
	X(VBD_EVENT_CONNECTION_ENDED, "connection_ended")             \
	X(VBD_EVENT_QP_TRANSITION, "qp_transition")                   \
	X(VBD_EVENT_CM_EVENT, "cm_event")                             \
	X(VBD_EVENT_CONNECTION_ASYNC, "connection_async")             \
	X(VBD_EVENT_BUFFER_CREATED, "buffer_created")                 \
	X(VBD_EVENT_BUFFER_FAILED, "buffer_failed")                   \
	X(VBD_EVENT_BUFFER_DELETED, "buffer_deleted")                 \
	X(VBD_EVENT_BUFFER_LOST, "buffer_lost")                       \
	X(VBD_EVENT_TRANSFER_CREATED, "transfer_created")             \
	X(VBD_EVENT_TRANSFER_ENDED, "transfer_ended")                 \
	X(VBD_EVENT_BATCH_CREATED, "batch_created")                   \
	X(VBD_EVENT_BATCH_ENDED, "batch_ended")                       \
	X(VBD_EVENT_PROBE_CREATED, "probe_created")                   \
	X(VBD_EVENT_PROBE_ENDED, "probe_ended")                       \
	X(VBD_EVENT_BENCHMARK_CREATED, "benchmark_created")           \
	X(VBD_EVENT_BENCHMARK_ENDED, "benchmark_ended")               \
	X(VBD_EVENT_WINDOW_CREATED, "window_created")                 \
	X(VBD_EVENT_WINDOW_BOUND, "window_bound")                     \
	X(VBD_EVENT_WINDOW_REVOKED, "window_revoked")                 \
	X(VBD_EVENT_WINDOW_FAILED, "window_failed")                   \
	X(VBD_EVENT_ENDPOINT_CREATED, "endpoint_created")             \
	X(VBD_EVENT_ENDPOINT_ASKED, "endpoint_asked")                 \
	X(VBD_EVENT_ENDPOINT_LOST_MESSAGE, "endpoint_lost_message")   \
	X(VBD_EVENT_ENDPOINT_ENDED, "endpoint_ended")                 \
	X(VBD_EVENT_PEER_READY, "peer_ready")                         \
	X(VBD_EVENT_PEER_FAILED, "peer_failed")                       \
	X(VBD_EVENT_GROUP_JOINED, "group_joined")                     \
	X(VBD_EVENT_GROUP_LEFT, "group_left")                         \
	X(VBD_EVENT_GROUP_FAILED, "group_failed")                     \
	X(VBD_EVENT_REQUEST_REFUSED, "request_refused")

enum vbd_event_type { VBD_EVENT_TYPE_MAP(VBD_ENUM_ROW) VBD_EVENT_TYPE_COUNT };

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

struct vbd_event {
	uint64_t seq;	/* 1, 2, 3 … */
	uint64_t at_ns; /* monotonic */
	enum vbd_event_type type;
	enum vbd_severity severity;
	enum vbd_object_kind kind;
	uint64_t object_id; /* 0 with VBD_KIND_NONE */
	enum vbd_reason reason;
	char text[160]; /* UTF-8 without control characters */
};

/* The events that a reader selects; a filter of zeros selects all. */
struct vbd_event_filter {
	bool one_type;
	enum vbd_event_type type;  /* with @one_type */
	enum vbd_object_kind kind; /* VBD_KIND_NONE: any */
	uint64_t object_id;	   /* 0: any */
	enum vbd_severity min_severity;
};

struct vbd_eventlog;

/** vbd_event_type_name - "cm_event"; NULL for an unknown value */
const char *vbd_event_type_name(enum vbd_event_type type);

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

/**
 * vbd_eventlog_append - add an event, log it, and call the watches; returns the event's number
 * @object_id: 0 with VBD_KIND_NONE
 * @reason:    VBD_REASON_NONE if there is none
 * @fmt:       one line without a full stop; cut after 159 bytes
 *
 * A full log loses its oldest event.
 */
uint64_t vbd_eventlog_append(struct vbd_eventlog *eventlog, enum vbd_event_type type,
	enum vbd_severity severity, enum vbd_object_kind kind, uint64_t object_id,
	enum vbd_reason reason, const char *fmt, ...) VBD_PRINTF(7, 8);

/** vbd_eventlog_vappend - as vbd_eventlog_append() */
uint64_t vbd_eventlog_vappend(struct vbd_eventlog *eventlog, enum vbd_event_type type,
	enum vbd_severity severity, enum vbd_object_kind kind, uint64_t object_id,
	enum vbd_reason reason, const char *fmt, va_list ap) VBD_PRINTF(7, 0);

/** vbd_eventlog_first - number of the oldest event kept; of the next event if the log is empty */
uint64_t vbd_eventlog_first(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_last - number of the newest event, and so the count of all events; 0 before any */
uint64_t vbd_eventlog_last(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_dropped - number of events that the ring no longer keeps */
uint64_t vbd_eventlog_dropped(const struct vbd_eventlog *eventlog);

/** vbd_eventlog_get - the event with number @seq, valid until the next append; NULL if not kept */
const struct vbd_event *vbd_eventlog_get(const struct vbd_eventlog *eventlog, uint64_t seq);

/** vbd_eventlog_next - the oldest event kept that @filter matches and whose number is above @after;
 * NULL if there is none; valid until the next append */
const struct vbd_event *vbd_eventlog_next(
	const struct vbd_eventlog *eventlog, uint64_t after, const struct vbd_event_filter *filter);

/** vbd_event_matches - whether @filter matches the event */
bool vbd_event_matches(const struct vbd_event *event, const struct vbd_event_filter *filter);

/** vbd_eventlog_watches - the list of struct vbd_watch (daemon/core/watch.h) called after each
 * append */
struct vbd_link *vbd_eventlog_watches(struct vbd_eventlog *eventlog);

#endif
