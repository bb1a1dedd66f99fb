/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of a request: its daemon and its HTTP server.
 *
 * Control thread.
 */
#ifndef VBD_API_CORE_CONTEXT_H
#define VBD_API_CORE_CONTEXT_H

#include "api/http/request.h"
#include "daemon/daemon.h"

struct vbd_credentials;
struct vbd_server;

/* The last answer to GET /v1/stats. */
struct vbd_stats_text {
	uint64_t
		snapshot; /* number of the kernel's snapshot in the text; 0: older than asked for */
	char *bytes;	  /* NULL: there is none */
	size_t len_bytes;
	char tag[VBD_SERVER_ID_BYTES + sizeof("W/\"-0123456789abcdef\"")];
};

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

/* Streams that read in one turn of the loop; each reads one block, in about 50 us. */
#define VBD_STREAMS_PER_TURN 8

/* Streams of events that wait for their turn, since a turn of the loop has taken long enough. */
struct vbd_streams {
	struct vbd_steps steps;
	struct vbd_link waiting; /* of the streams; first those that wait longest */
};

/* req->context points to this. */
struct vbd_api {
	struct vbd_daemon *daemon;
	struct vbd_server *server;
	struct vbd_router router;
	struct vbd_credentials *credentials; /* of all callers */
	/* The credentials before a reload, until its answer; else NULL. */
	struct vbd_credentials *former;
	struct vbd_event_texts event_texts; /* of the streams */
	struct vbd_stats_text stats;
	struct vbd_streams streams;
	enum vbd_status (*reload)(void *arg, struct vbd_error *err); /* NULL: it can't */
	void *reload_arg;
	struct vbd_request *reload_req; /* parked until the reload is over; NULL: none */
	struct vbd_ration refused;	/* events of refused requests */
	struct vbd_ration failures;	/* events of audited requests that failed */
	struct vbd_ration turned_away;	/* events of clients without a seat */
	const char *allowed_hosts[VBD_ALLOWED_HOSTS_MAX];
};

static inline struct vbd_daemon *vbd_request_daemon(const struct vbd_request *req)
{
	return ((const struct vbd_api *)req->context)->daemon;
}

/**
 * vbd_await_snapshot - call @go_on exactly once: when a snapshot of the kernel is complete, or
 * without it after 3 s, since a driver may take long to give its counters (metrics.c)
 * @number: of the snapshot, see vbd_kernel_snapshot_begin(); 0: call it now
 */
void vbd_await_snapshot(struct vbd_request *req, uint64_t number, vbd_request_cb go_on, void *arg);

static inline struct vbd_event_texts *vbd_request_event_texts(const struct vbd_request *req)
{
	return &((struct vbd_api *)req->context)->event_texts;
}

static inline struct vbd_streams *vbd_request_streams(const struct vbd_request *req)
{
	return &((struct vbd_api *)req->context)->streams;
}

/* Room for "SERVER_ID-18446744073709551615" and its NUL. */
#define VBD_EVENT_ID_BYTES 40

/** vbd_event_place_id - "SERVER_ID-17", which names a place in the log of this run; returns @id */
static inline char *vbd_event_place_id(
	const struct vbd_daemon *daemon, uint64_t seq, char id[VBD_EVENT_ID_BYTES])
{
	(void)snprintf(id, VBD_EVENT_ID_BYTES, "%s-%" PRIu64, daemon->server_id, seq);
	return id;
}

/* --- stream.c -------------------------------------------------------------------------------- */

/** vbd_event_text_of - the text of an event, which all callers share; each owns a reference; NULL
 * without memory */
struct vbd_event_text *vbd_event_text_of(struct vbd_event_texts *texts,
	const struct vbd_daemon *daemon, const struct vbd_event *event);

/** vbd_event_text_unref - give back a reference; NULL is fine */
void vbd_event_text_unref(struct vbd_event_text *text);

/** vbd_event_texts_fini - give back the references to all texts */
void vbd_event_texts_fini(struct vbd_event_texts *texts);

/** vbd_streams_init - none waits; vbd_turns_drop() of its steps ends the wait */
void vbd_streams_init(struct vbd_streams *streams);

#endif
