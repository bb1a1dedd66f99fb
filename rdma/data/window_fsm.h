/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a memory window as one pure table: (state, event) -> (next state, action, why). Every
 * pair is decided. This file calls nothing: rdma/data/window.c looks up, sets the state and
 * performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_DATA_WINDOW_FSM_H
#define VBD_RDMA_DATA_WINDOW_FSM_H

#include "base/enum.h"

/* X(SYMBOL, json name, ended) */
#define VBD_WINDOW_STATE_MAP(X)                   \
	X(VBD_WINDOW_BINDING, "binding", false)   \
	X(VBD_WINDOW_READY, "ready", false)       \
	X(VBD_WINDOW_REVOKING, "revoking", false) \
	X(VBD_WINDOW_REVOKED, "revoked", true)    \
	X(VBD_WINDOW_FAILED, "failed", true)

enum vbd_window_state { VBD_WINDOW_STATE_MAP(VBD_ENUM_ROW) VBD_WINDOW_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_WINDOW_EVENT_MAP(X)                                                                    \
	X(VBD_WINDOW_EV_REGISTERED, "registered")	    /* its memory region is registered */  \
	X(VBD_WINDOW_EV_REGISTER_FAILED, "register_failed") /* its registration failed */          \
	X(VBD_WINDOW_EV_BOUND, "bound")			    /* its bind has completed */           \
	X(VBD_WINDOW_EV_BIND_FAILED, "bind_failed")	    /* its bind failed */                  \
	X(VBD_WINDOW_EV_REVOKE, "revoke")		    /* a client requests the revocation */ \
	X(VBD_WINDOW_EV_UNBOUND, "unbound")		    /* its revocation has completed */     \
	X(VBD_WINDOW_EV_UNBIND_FAILED, "unbind_failed")	    /* its revocation failed */            \
	X(VBD_WINDOW_EV_LOST, "lost") /* its QP is gone, or its memory is being freed */

enum vbd_window_event { VBD_WINDOW_EVENT_MAP(VBD_ENUM_ROW) VBD_WINDOW_EVENT_COUNT };

enum vbd_window_action {
	VBD_WINDOW_DO_NOTHING,
	VBD_WINDOW_DO_BIND,   /* post the bind */
	VBD_WINDOW_DO_UNBIND, /* post the revocation */
	VBD_WINDOW_DO_FREE,   /* free the window on the device: its rkey is invalid then */
};

struct vbd_window_rule {
	enum vbd_window_state next;
	enum vbd_window_action action;
	const char *note; /* why */
};

/** vbd_window_rule - the pure table: the effect of @event in @state; every pair is decided */
const struct vbd_window_rule *vbd_window_rule(
	enum vbd_window_state state, enum vbd_window_event event);
const char *vbd_window_state_name(enum vbd_window_state state);
bool vbd_window_state_ended(enum vbd_window_state state);
const char *vbd_window_event_name(enum vbd_window_event event);

#endif
