/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an endpoint as one pure table: (state, event) -> (next state, action, why). Every
 * pair is decided. Nothing here calls anything: rdma/endpoint.c looks up, sets the state and
 * performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_ENDPOINT_FSM_H
#define VBD_RDMA_ENDPOINT_FSM_H

#include <stdbool.h>

/* X(SYMBOL, json name, ended) */
#define VBD_ENDPOINT_STATE_MAP(X)                                    \
	X(READY, "ready", false)                                     \
	X(CLOSING, "closing", false) /* what it has is given back */ \
	X(CLOSED, "closed", true)                                    \
	X(FAILED, "failed", true)

enum vbd_endpoint_state {
#define VBD_ENDPOINT_STATE_ENUM(sym, json, ended) VBD_ENDPOINT_##sym,
	VBD_ENDPOINT_STATE_MAP(VBD_ENDPOINT_STATE_ENUM)
#undef VBD_ENDPOINT_STATE_ENUM
		VBD_ENDPOINT_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_ENDPOINT_EVENT_MAP(X)                                                \
	X(WC_ERROR, "wc_error") /* a completion failed */                        \
	X(QP_ERROR, "qp_error") /* async event, or a flush */                    \
	X(DEVICE_REMOVAL, "device_removal")                                      \
	X(CMD_CLOSE, "cmd_close")                                                \
	X(SHUTDOWN, "shutdown")                                                  \
	X(DEADLINE, "deadline")		  /* of the flushes */                   \
	X(DRAINED_CLEAN, "drained_clean") /* all completions are in; no error */ \
	X(DRAINED_FAILED, "drained_failed")

enum vbd_endpoint_event {
#define VBD_ENDPOINT_EVENT_ENUM(sym, name) VBD_ENDPOINT_EV_##sym,
	VBD_ENDPOINT_EVENT_MAP(VBD_ENDPOINT_EVENT_ENUM)
#undef VBD_ENDPOINT_EVENT_ENUM
		VBD_ENDPOINT_EVENT_COUNT
};

/* X(SYMBOL, name) */
#define VBD_ENDPOINT_ACTION_MAP(X)                                            \
	X(IGNORE, "ignore") /* nothing; the row's note says why */            \
	X(DRAIN, "drain")   /* listen no more, QP to ERR, wait for flushes */ \
	X(FORCE, "force")   /* destroy the QP without its flushes */          \
	X(FINISH, "finish") /* give back the QP, the memory and the device */ \
	X(COUNT, "count")   /* a failure after the first: count it */

enum vbd_endpoint_action {
#define VBD_ENDPOINT_ACTION_ENUM(sym, name) VBD_ENDPOINT_DO_##sym,
	VBD_ENDPOINT_ACTION_MAP(VBD_ENDPOINT_ACTION_ENUM)
#undef VBD_ENDPOINT_ACTION_ENUM
		VBD_ENDPOINT_ACTION_COUNT
};

struct vbd_endpoint_rule {
	enum vbd_endpoint_state next;
	enum vbd_endpoint_action action;
	const char *note; /* why */
};

/** vbd_endpoint_rule - the pure table: what @event does to @state; every pair is decided */
const struct vbd_endpoint_rule *vbd_endpoint_rule(
	enum vbd_endpoint_state state, enum vbd_endpoint_event event);
const char *vbd_endpoint_state_name(enum vbd_endpoint_state state);
bool vbd_endpoint_state_ended(enum vbd_endpoint_state state);
const char *vbd_endpoint_event_name(enum vbd_endpoint_event event);
const char *vbd_endpoint_action_name(enum vbd_endpoint_action action);

#endif
