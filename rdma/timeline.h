/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to a connection and when: every call, event, transition and command, in order.
 * Bounded: what no longer fits is counted.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_TIMELINE_H
#define VBD_RDMA_TIMELINE_H

#include "base/attr.h"

#include <stdint.h>

#define VBD_TIMELINE_MAX 96

/* X(SYMBOL, json name) */
#define VBD_TIMELINE_KIND_MAP(X)      \
	X(CALL, "call")               \
	X(CM_EVENT, "cm_event")       \
	X(QP, "qp")                   \
	X(STATE, "state")             \
	X(ASYNC_EVENT, "async_event") \
	X(WC, "wc")                   \
	X(COMMAND, "command")

enum vbd_timeline_kind {
#define VBD_TIMELINE_KIND_ENUM(sym, json) VBD_TIMELINE_##sym,
	VBD_TIMELINE_KIND_MAP(VBD_TIMELINE_KIND_ENUM)
#undef VBD_TIMELINE_KIND_ENUM
		VBD_TIMELINE_KIND_COUNT
};

const char *vbd_timeline_kind_name(enum vbd_timeline_kind kind);

struct vbd_timeline_entry {
	uint64_t at_ns; /* monotonic */
	enum vbd_timeline_kind kind;
	char what[36];	 /* "rdma_connect", "INIT -> RTR" */
	char detail[80]; /* "" if none */
};

struct vbd_timeline {
	struct vbd_timeline_entry *entries;
	uint32_t count;
	uint32_t capacity;
	uint32_t dropped;
};

/** vbd_timeline_add - stamp an entry with the present time */
void vbd_timeline_add(struct vbd_timeline *timeline, enum vbd_timeline_kind kind, const char *what,
	const char *detail_fmt, ...) VBD_PRINTF(4, 5);

/** vbd_timeline_fini - free the entries */
void vbd_timeline_fini(struct vbd_timeline *timeline);

#endif
