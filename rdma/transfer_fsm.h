/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a transfer as one pure table: (state, event) -> (next state, why). Every pair is
 * decided. Nothing here calls anything: rdma/transfer.c looks up and sets the state.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_TRANSFER_FSM_H
#define VBD_RDMA_TRANSFER_FSM_H

#include <stdbool.h>

/* X(SYMBOL, json name, ended) */
#define VBD_TRANSFER_STATE_MAP(X)          \
	X(QUEUED, "queued", false)         \
	X(RUNNING, "running", false)       \
	X(CANCELLING, "cancelling", false) \
	X(DONE, "done", true)              \
	X(FAILED, "failed", true)          \
	X(CANCELLED, "cancelled", true)    \
	X(TIMED_OUT, "timed_out", true)

enum vbd_transfer_state {
#define VBD_TRANSFER_STATE_ENUM(sym, json, ended) VBD_TRANSFER_##sym,
	VBD_TRANSFER_STATE_MAP(VBD_TRANSFER_STATE_ENUM)
#undef VBD_TRANSFER_STATE_ENUM
		VBD_TRANSFER_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_TRANSFER_EVENT_MAP(X)                                                                  \
	X(STARTED, "started")		/* the first work request is posted */                     \
	X(CANCEL, "cancel")		/* a client, or the deadline, wants it to stop */          \
	X(DONE, "done")			/* every byte is moved */                                  \
	X(FAILED, "failed")		/* a work request failed, or the connection ended */       \
	X(STOPPED, "stopped")		/* it stopped because of CANCEL; nothing is outstanding */ \
	X(STOPPED_LATE, "stopped_late") /* the same, when the deadline had cancelled it */

enum vbd_transfer_event {
#define VBD_TRANSFER_EVENT_ENUM(sym, name) VBD_TRANSFER_EV_##sym,
	VBD_TRANSFER_EVENT_MAP(VBD_TRANSFER_EVENT_ENUM)
#undef VBD_TRANSFER_EVENT_ENUM
		VBD_TRANSFER_EVENT_COUNT
};

struct vbd_transfer_rule {
	enum vbd_transfer_state next;
	const char *note; /* why */
};

/** vbd_transfer_rule - the pure table: what @event does to @state; every pair is decided */
const struct vbd_transfer_rule *vbd_transfer_rule(
	enum vbd_transfer_state state, enum vbd_transfer_event event);
const char *vbd_transfer_state_name(enum vbd_transfer_state state);
bool vbd_transfer_state_ended(enum vbd_transfer_state state);
const char *vbd_transfer_event_name(enum vbd_transfer_event event);

#endif
