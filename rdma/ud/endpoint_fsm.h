/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of an endpoint, one pure table: (state, event) -> (next state, action, note).
 * Every pair is decided. rdma/ud/endpoint.c looks up the row, sets the state and performs the
 * action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_FSM_H
#define VBD_RDMA_UD_ENDPOINT_FSM_H

#include "base/enum.h"

/* X(SYMBOL, json name, ended) */
#define VBD_ENDPOINT_STATE_MAP(X)                                                                \
	X(VBD_ENDPOINT_OPENING, "opening", false) /* a call thread registers its receives */     \
	X(VBD_ENDPOINT_READY, "ready", false)                                                    \
	X(VBD_ENDPOINT_CLOSING, "closing", false) /* draining, or waiting for the call thread */ \
	X(VBD_ENDPOINT_CLOSED, "closed", true)                                                   \
	X(VBD_ENDPOINT_FAILED, "failed", true)

enum vbd_endpoint_state { VBD_ENDPOINT_STATE_MAP(VBD_ENUM_ROW) VBD_ENDPOINT_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_ENDPOINT_EVENT_MAP(X)                                                                \
	X(VBD_ENDPOINT_EV_PREPARED, "prepared") /* the memory of the receives is registered */   \
	X(VBD_ENDPOINT_EV_CALL_FAILED, "call_failed")                                            \
	X(VBD_ENDPOINT_EV_WC_ERROR, "wc_error") /* a completion failed */                        \
	X(VBD_ENDPOINT_EV_QP_ERROR, "qp_error") /* async event, or a flush */                    \
	X(VBD_ENDPOINT_EV_DEVICE_REMOVAL, "device_removal")                                      \
	X(VBD_ENDPOINT_EV_CMD_CLOSE, "cmd_close")                                                \
	X(VBD_ENDPOINT_EV_SHUTDOWN, "shutdown")                                                  \
	X(VBD_ENDPOINT_EV_DEADLINE, "deadline")		  /* of the flushes */                   \
	X(VBD_ENDPOINT_EV_DRAINED_CLEAN, "drained_clean") /* all completions are in; no error */ \
	X(VBD_ENDPOINT_EV_DRAINED_FAILED, "drained_failed")

enum vbd_endpoint_event { VBD_ENDPOINT_EVENT_MAP(VBD_ENUM_ROW) VBD_ENDPOINT_EVENT_COUNT };

enum vbd_endpoint_action {
	VBD_ENDPOINT_DO_IGNORE, /* nothing; the note gives the reason */
	VBD_ENDPOINT_DO_OPEN,	/* make the QP, post receives, attach it to its worker */
	VBD_ENDPOINT_DO_STOP,	/* stop listening, wait for the call thread */
	VBD_ENDPOINT_DO_GO_ON,	/* finish, after the call that it waited for */
	VBD_ENDPOINT_DO_DRAIN,	/* stop listening, QP to ERR, wait for flushes */
	VBD_ENDPOINT_DO_FORCE,	/* destroy the QP without its flushes */
	VBD_ENDPOINT_DO_FINISH, /* release the QP and its resources */
	VBD_ENDPOINT_DO_COUNT,	/* a failure after the first: count it */
	VBD_ENDPOINT_ACTION_COUNT
};

/** vbd_endpoint_rule - the row of @event in @state; never NULL */
const struct vbd_rule *vbd_endpoint_rule(
	enum vbd_endpoint_state state, enum vbd_endpoint_event event);
const char *vbd_endpoint_state_name(enum vbd_endpoint_state state);
bool vbd_endpoint_state_ended(enum vbd_endpoint_state state);
const char *vbd_endpoint_event_name(enum vbd_endpoint_event event);

#endif
