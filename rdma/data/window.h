/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory window: remote access to a range of registered memory with its own rkey, which can be
 * revoked while the memory stays registered.
 *
 * Binding and invalidating are work requests, so a connection's worker posts them
 * (rdma/data/channel_send.c): a window contains a transfer without bytes, and at most one is under
 * way. Type 1 belongs to the protection domain, and any queue pair of the PD can post the work
 * request; type 2 belongs to the queue pair of its bind.
 *
 * Linux' rxe (6.1) checks an access against the memory region of the window, not against its range.
 * There a window of a part has its own region: the range is registered once more, alone.
 *
 * Control thread, but where a function has "any thread".
 */
#ifndef VBD_RDMA_DATA_WINDOW_H
#define VBD_RDMA_DATA_WINDOW_H

#include "rdma/data/transfer.h"
#include "rdma/device/mem.h"

struct ibv_mw;

/*
 * The life of a memory window as one pure table: (state, event) -> (next state, action, why). Every
 * pair is decided. rdma/data/window.c looks up, sets the state and performs the action.
 *
 * Any thread.
 */

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

/** vbd_window_rule - the pure table: the effect of @event in @state; every pair is decided */
const struct vbd_rule *vbd_window_rule(enum vbd_window_state state, enum vbd_window_event event);
const char *vbd_window_state_name(enum vbd_window_state state);
bool vbd_window_state_ended(enum vbd_window_state state);
const char *vbd_window_event_name(enum vbd_window_event event);

/* The range and the access of a window. */
struct vbd_window_range {
	unsigned int type; /* 1 or 2 */
	uint64_t offset;   /* offset + length_bytes lie inside the memory */
	uint64_t length_bytes;
	unsigned int access; /* vbd_mem_access, without MW_BIND */
};

struct vbd_window {
	enum vbd_window_state state; /* written by step_window() in window.c only */
	struct vbd_window_range range;
	struct vbd_mem *mem;	/* registered, with MW_BIND, as long as the window has not ended */
	uint32_t rkey;		/* valid in the state READY */
	struct vbd_error error; /* why it FAILED, or why no work request could revoke it */
	/* The state has changed; after the end no object of the device is left. */
	void (*changed)(struct vbd_window *window, void *arg);
	/* Choose the channel for the work request; NULL if there is none. */
	struct vbd_channel *(*choose_channel)(struct vbd_window *window, void *arg);
	void *arg;

	struct vbd_account account;
	struct ibv_mr *mr;	/* to bind it to; NULL until vbd_window_register() */
	bool own_mr;		/* mr is the window's, not the memory's */
	struct ibv_mw *mw;	/* NULL after the end */
	struct vbd_transfer op; /* the work request under way */
	bool busy;		/* `op` is under way */
};

/**
 * vbd_window_allocate - a window in the state BINDING; vbd_window_registered() must follow
 * @window: zeroed, with range, mem, changed, choose_channel and arg; valid until its end
 *
 * An error leaves nothing; `changed` reports later errors.
 */
enum vbd_status vbd_window_allocate(
	struct vbd_window *window, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_window_register - any thread; make or choose its memory region. Takes time in proportion to
 * the range if it needs its own region, else none. */
void vbd_window_register(struct vbd_window *window);

/** vbd_window_registered - after vbd_window_register(): begin to bind, unless revoked or failed */
void vbd_window_registered(struct vbd_window *window);

/** vbd_window_deregister - any thread, after the end; takes time as vbd_window_register() */
void vbd_window_deregister(struct vbd_window *window);

/** vbd_window_revoke - begin to revoke it; harmless if already revoking or ended */
void vbd_window_revoke(struct vbd_window *window);

/** vbd_window_revoke_at_once - without a work request: its QP ends or its memory is being freed */
void vbd_window_revoke_at_once(struct vbd_window *window);

/** vbd_window_cancel - its work request takes too long: cancel it if it is not posted yet */
void vbd_window_cancel(struct vbd_window *window);

#endif
