/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why: the meaning, likely causes and hint of each status, event, state and problem code. Names
 * and details are those of rdma/names/names.h and base/status.h; causes and hints are the rows of
 * rdma/diagnose/why.c. Hints, explanations, the glossary, the dashboard and docs/why.md all read
 * this.
 *
 * Any thread. All strings are static.
 */
#ifndef VBD_RDMA_DIAGNOSE_WHY_H
#define VBD_RDMA_DIAGNOSE_WHY_H

#include "base/enum.h"
#include "base/error.h"

/* X(SYMBOL, json name, heading) */
#define VBD_WHY_KIND_MAP(X)                                                         \
	X(VBD_WHY_CM_EVENT, "cm_event", "CM events")                                \
	X(VBD_WHY_IB_REJECT, "ib_reject", "CM reject reasons, InfiniBand and RoCE") \
	X(VBD_WHY_IWARP_REJECT, "iwarp_reject", "CM reject reasons, iWARP")         \
	X(VBD_WHY_WC_STATUS, "wc_status", "Work completion statuses")               \
	X(VBD_WHY_ASYNC_EVENT, "async_event", "Asynchronous events")                \
	X(VBD_WHY_QP_STATE, "qp_state", "Queue pair states")                        \
	X(VBD_WHY_PROBLEM, "problem", "Problem codes")

enum vbd_why_kind { VBD_WHY_KIND_MAP(VBD_ENUM_ROW) VBD_WHY_KIND_COUNT };

struct vbd_why {
	enum vbd_why_kind kind;
	int number;	    /* the library's; for an iWARP reject the positive errno; a status */
	const char *name;   /* "IBV_WC_RETRY_EXC_ERR", "remote_access": unique within its kind */
	const char *detail; /* a sentence without a full stop */
	const char *causes; /* the likeliest first, separated by "; "; "" if none are listed */
	const char *hint;   /* tells a user how to act */
};

/** vbd_why_at - the row at an index, to list all rows; false after the last */
bool vbd_why_at(size_t i, struct vbd_why *ret_why);

/** vbd_why_find - the row of a number; false if there is none */
bool vbd_why_find(enum vbd_why_kind kind, int number, struct vbd_why *ret_why);

/** vbd_why_find_reject - the row of a REJECTED event's raw status, of any transport */
bool vbd_why_find_reject(int status, struct vbd_why *ret_why);

/** vbd_why_find_error - the row of the source of an error: a completion, a CM event or its reject
 * reason, an async event. False for another source. */
bool vbd_why_find_error(const struct vbd_error *error, struct vbd_why *ret_why);

/** vbd_why_reject_name - "IB_CM_REJ_INVALID_SERVICE_ID", the reason of a rejection; NULL if @error
 * is no rejection, or its reason has no name */
const char *vbd_why_reject_name(const struct vbd_error *error);

/** vbd_why_hint - the hint of the row of an error, else the hint of its status */
const char *vbd_why_hint(const struct vbd_error *error);

#endif
