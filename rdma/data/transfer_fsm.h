/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a transfer as one pure table: (state, event) -> (next state, why). Every pair is
 * decided. This file calls nothing: rdma/data/transfer.c looks up and sets the state.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_DATA_TRANSFER_FSM_H
#define VBD_RDMA_DATA_TRANSFER_FSM_H

#include "base/enum.h"

/* X(SYMBOL, json name, ended) */
#define VBD_TRANSFER_STATE_MAP(X)                       \
	X(VBD_TRANSFER_QUEUED, "queued", false)         \
	X(VBD_TRANSFER_RUNNING, "running", false)       \
	X(VBD_TRANSFER_CANCELLING, "cancelling", false) \
	X(VBD_TRANSFER_DONE, "done", true)              \
	X(VBD_TRANSFER_FAILED, "failed", true)          \
	X(VBD_TRANSFER_CANCELLED, "cancelled", true)    \
	X(VBD_TRANSFER_TIMED_OUT, "timed_out", true)

enum vbd_transfer_state { VBD_TRANSFER_STATE_MAP(VBD_ENUM_ROW) VBD_TRANSFER_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_TRANSFER_EVENT_MAP(X)                                                                  \
	X(VBD_TRANSFER_EV_STARTED, "started") /* the first work request is posted */               \
	X(VBD_TRANSFER_EV_CANCEL, "cancel")   /* a client or the deadline stops it */              \
	X(VBD_TRANSFER_EV_DONE, "done")	      /* every byte is moved */                            \
	X(VBD_TRANSFER_EV_FAILED, "failed")   /* a work request failed, or the connection ended */ \
	X(VBD_TRANSFER_EV_STOPPED,                                                                 \
		"stopped") /* stopped because of CANCEL; nothing is outstanding */                 \
	X(VBD_TRANSFER_EV_STOPPED_LATE, "stopped_late") /* the same, because of the deadline */

enum vbd_transfer_event { VBD_TRANSFER_EVENT_MAP(VBD_ENUM_ROW) VBD_TRANSFER_EVENT_COUNT };

struct vbd_transfer_rule {
	enum vbd_transfer_state next;
	const char *note; /* why */
};

/** vbd_transfer_rule - the pure table: the effect of @event in @state; every pair is decided */
const struct vbd_transfer_rule *vbd_transfer_rule(
	enum vbd_transfer_state state, enum vbd_transfer_event event);
const char *vbd_transfer_state_name(enum vbd_transfer_state state);
bool vbd_transfer_state_ended(enum vbd_transfer_state state);
const char *vbd_transfer_event_name(enum vbd_transfer_event event);

#endif
