/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why: what everything that can be seen of a connection means, what mostly causes it, and what to
 * do about it. Names and meanings come from rdma/names/names.h, rdma/names/reason.h; causes and
 * advice are the rows of rdma/diagnose/why.c. Hints, explanations, the dashboard and docs/why.md
 * all read this.
 *
 * Any thread. All strings are static.
 */
#ifndef VBD_RDMA_DIAGNOSE_WHY_H
#define VBD_RDMA_DIAGNOSE_WHY_H

#include "base/enum.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* X(SYMBOL, json name, heading) */
#define VBD_WHY_KIND_MAP(X)                                                         \
	X(VBD_WHY_CM_EVENT, "cm_event", "CM events")                                \
	X(VBD_WHY_IB_REJECT, "ib_reject", "CM reject reasons, InfiniBand and RoCE") \
	X(VBD_WHY_IWARP_REJECT, "iwarp_reject", "CM reject reasons, iWARP")         \
	X(VBD_WHY_WC_STATUS, "wc_status", "Work completion statuses")               \
	X(VBD_WHY_ASYNC_EVENT, "async_event", "Asynchronous events")                \
	X(VBD_WHY_QP_STATE, "qp_state", "Queue pair states")                        \
	X(VBD_WHY_END_REASON, "end_reason", "Reasons of a connection's end")

enum vbd_why_kind { VBD_WHY_KIND_MAP(VBD_ENUM_ROW) VBD_WHY_KIND_COUNT };

struct vbd_why {
	enum vbd_why_kind kind;
	int number;	     /* the library's own; of an iWARP reject the errno, positive */
	const char *name;    /* "IBV_WC_RETRY_EXC_ERR", "remote_access": unique within its kind */
	const char *meaning; /* a sentence without its stop */
	const char *causes;  /* likely ones, the likeliest first, with "; " between them */
	const char *advice;  /* what to do */
};

/** vbd_why_kind_name - "wc_status" */
const char *vbd_why_kind_name(enum vbd_why_kind kind);

/** vbd_why_kind_heading - "Work completion statuses" */
const char *vbd_why_kind_heading(enum vbd_why_kind kind);

/** vbd_why_at - the I-th row, for listing all of them; false behind the last */
bool vbd_why_at(size_t i, struct vbd_why *ret_why);

/** vbd_why_find - the row of a number; false if nothing is known of it */
bool vbd_why_find(enum vbd_why_kind kind, int number, struct vbd_why *ret_why);

/** vbd_why_find_reject - the row of a REJECTED event's raw status, whatever the transport */
bool vbd_why_find_reject(int status, struct vbd_why *ret_why);

/** vbd_why_find_error - the row of what an error came from: a completion, a CM event or the reject
 * reason in it, an async event. False for anything else. */
bool vbd_why_find_error(const struct vbd_error *error, struct vbd_why *ret_why);

/** vbd_why_hint - what to do about an error: its row's advice, else its status's hint */
const char *vbd_why_hint(const struct vbd_error *error);

/** vbd_why_is_named - is that its name, in either case? Rows of two kinds can share a name. */
bool vbd_why_is_named(const struct vbd_why *why, const char *name);

#endif
