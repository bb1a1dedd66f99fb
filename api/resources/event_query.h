/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of requests for events: the place in the log, and the filter.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EVENT_QUERY_H
#define VBD_API_RESOURCES_EVENT_QUERY_H

#include "base/attr.h"
#include "base/error.h"

struct vbd_daemon;
struct vbd_event_filter;
struct vbd_request;

struct vbd_event;

/* A place in the event log: behind the event with number @seq. */
struct vbd_event_place {
	uint64_t seq;
	bool restarted; /* the client named a place of another run of the daemon */
	bool resumed;	/* likewise, and the log holds events of that run; else @seq is 0 */
};

/* Room for "SERVER_ID-18446744073709551615" and its NUL. */
#define VBD_EVENT_ID_BYTES 40

/** vbd_event_place_id - "SERVER_ID-17", which names a place in the log of this run; returns @id */
char *vbd_event_place_id(
	const struct vbd_daemon *daemon, uint64_t seq, char id[VBD_EVENT_ID_BYTES]);

/** vbd_event_run - the server id of the run that the event is of: a later run holds the event, too
 */
const char *vbd_event_run(const struct vbd_daemon *daemon, const struct vbd_event *event);

/**
 * vbd_parse_event_place - parse "SERVER_ID-17", "oldest" or "now"
 * @name: of the parameter or header, for the error
 *
 * A place of an earlier run, of which the log has events, is one in this run's log too.
 */
enum vbd_status vbd_parse_event_place(const struct vbd_daemon *daemon, const char *name,
	const char *text, struct vbd_event_place *ret_place, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_event_place - parse the parameter `after`; absent: *place is unchanged */
enum vbd_status vbd_query_event_place(const struct vbd_request *req, struct vbd_event_place *place,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_parse_event_filter - parse the parameters type, object and severity */
enum vbd_status vbd_parse_event_filter(const struct vbd_request *req,
	struct vbd_event_filter *filter, struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_daemon;
struct vbd_event;

/* Enough for followers that lag by some blocks; a slower one has the text made again. */
#define VBD_EVENT_TEXTS 64

struct vbd_event_text {
	unsigned int refs;
	size_t len_bytes;
	char *bytes; /* not terminated */
};

/* The texts of the newest events that were asked for, with a reference to each. */
struct vbd_event_texts {
	struct {
		uint64_t seq;
		struct vbd_event_text *text; /* NULL: none */
	} slots[VBD_EVENT_TEXTS];
};

/** vbd_event_text_print - a new text, with one reference, which the caller owns; NULL without
 * memory
 */
struct vbd_event_text *vbd_event_text_print(const char *fmt, ...) VBD_PRINTF(1, 2);

/** vbd_event_text_of - the text of an event, which all callers share; each owns a reference; NULL
 * without memory */
struct vbd_event_text *vbd_event_text_of(struct vbd_event_texts *texts,
	const struct vbd_daemon *daemon, const struct vbd_event *event);

/** vbd_event_text_unref - give back a reference; NULL is fine */
void vbd_event_text_unref(struct vbd_event_text *text);

/** vbd_event_texts_fini - give back the references to all texts */
void vbd_event_texts_fini(struct vbd_event_texts *texts);

#endif
