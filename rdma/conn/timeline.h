/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of a connection: every call, event, transition and command, in order. Bounded:
 * further entries are only counted.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_TIMELINE_H
#define VBD_RDMA_CONN_TIMELINE_H

#include "base/enum.h"

#define VBD_TIMELINE_MAX 96

/* Most entries about earlier tries: the rest is for the connection's own entries. */
#define VBD_TIMELINE_TRIES_MAX 20

/* X(SYMBOL, json name) */
#define VBD_TIMELINE_KIND_MAP(X)                                                \
	X(VBD_TIMELINE_CALL, "call")                                            \
	X(VBD_TIMELINE_CM_EVENT, "cm_event")                                    \
	X(VBD_TIMELINE_QP, "qp")                                                \
	X(VBD_TIMELINE_STATE, "state")                                          \
	X(VBD_TIMELINE_ASYNC_EVENT, "async_event")                              \
	X(VBD_TIMELINE_WC, "wc")                                                \
	X(VBD_TIMELINE_COMMAND, "command")                                      \
	/* a try to connect failed; of a kept connection: one began or waits */ \
	X(VBD_TIMELINE_TRY, "try")                                              \
	/* of the event log, where the timeline itself is gone */               \
	X(VBD_TIMELINE_EVENT, "event")

enum vbd_timeline_kind { VBD_TIMELINE_KIND_MAP(VBD_ENUM_ROW) VBD_TIMELINE_KIND_COUNT };

const char *vbd_timeline_kind_name(enum vbd_timeline_kind kind);

/* Longer details are cut. */
#define VBD_TIMELINE_DETAIL_BYTES 80

/* Each is as large as its texts, since thousands of idle connections have twenty of them each. */
struct vbd_timeline_entry {
	uint64_t at_ns;	  /* monotonic */
	const char *what; /* "rdma_connect", "INIT -> RTR" */
	const char
		*from;	/* state that a transition left, a static string; NULL for no transition */
	const char *to; /* state that it led to; NULL for no transition */
	enum vbd_timeline_kind kind;
	char detail[]; /* "": none */
};

struct vbd_timeline {
	struct vbd_timeline_entry **entries;
	uint32_t count;
	uint32_t capacity;
	uint32_t dropped;
};

/* The contents of an entry. */
struct vbd_timeline_note {
	enum vbd_timeline_kind kind;
	const char
		*what; /* static; of a transition of kind QP the texts of both states are shown */
	const char *from;   /* static; NULL for no transition */
	const char *to;	    /* the same */
	const char *detail; /* copied */
};

/** vbd_timeline_add - add an entry with the present time. Returns the entry; NULL if it has no
 * room. */
struct vbd_timeline_entry *vbd_timeline_add(
	struct vbd_timeline *timeline, const struct vbd_timeline_note *note);

/* The `what` of an entry of kind TRY: the tries to make a kept connection came to nothing, and
 * another one follows. */
#define VBD_TIMELINE_WAITING "waiting"

/** vbd_timeline_drop - free the newest entry of kind TRY with this `what`, if there is one */
void vbd_timeline_drop(struct vbd_timeline *timeline, const char *what);

/** vbd_timeline_carry_tries - put copies of the newest entries VBD_TIMELINE_WAITING of @before,
 * with their times, in front of all others; without memory those are missing */
void vbd_timeline_carry_tries(struct vbd_timeline *timeline, const struct vbd_timeline *before);

/** vbd_timeline_make_way - leave half of the room for what follows: entries behind the first ones,
 * which say how it began, are forgotten, and count as dropped */
void vbd_timeline_make_way(struct vbd_timeline *timeline);

/** vbd_timeline_fini - free the entries */
void vbd_timeline_fini(struct vbd_timeline *timeline);

#endif
