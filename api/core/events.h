/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of requests for events: the place in the log, and the filter.
 *
 * Control thread.
 */
#ifndef VBD_API_CORE_EVENTS_H
#define VBD_API_CORE_EVENTS_H

#include "base/error.h"

struct vbd_daemon;
struct vbd_event;
struct vbd_event_filter;
struct vbd_request;

/* A place in the event log: behind the event with number @seq. */
struct vbd_event_place {
	uint64_t seq;
	bool restarted; /* the client named a place of another run of the daemon */
	bool resumed;	/* @restarted, and the log holds events of that run; else @seq is 0 */
};

/** vbd_event_run - the server id of the run that logged the event, which later runs hold too */
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

#endif
