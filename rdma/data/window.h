/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory window: remote access to a range of registered memory by a key of its own, which can be
 * taken back while the memory stays registered.
 *
 * Binding and invalidating are work requests, so a connection's worker posts them: a window carries
 * a transfer that moves nothing, and at most one is under way. Type 1 belongs to the protection
 * domain, and any queue pair of it carries the work request; type 2 belongs to the queue pair that
 * it was bound on.
 *
 * Linux' rxe (6.1) holds a window to the memory region that it is bound to, not to its own range.
 * There a window of a part gets a region of its own: the same bytes are registered once more, and
 * only they.
 *
 * Control thread, but where a function says otherwise.
 */
#ifndef VBD_RDMA_DATA_WINDOW_H
#define VBD_RDMA_DATA_WINDOW_H

#include "base/error.h"
#include "rdma/provider/account.h"
#include "rdma/device/mem.h"
#include "rdma/data/transfer.h"
#include "rdma/data/window_fsm.h"

#include <stdbool.h>
#include <stdint.h>

struct ibv_mw;
struct ibv_qp;

/* What a window shall give. */
struct vbd_window_range {
	unsigned int type; /* 1 or 2 */
	uint64_t offset;   /* offset + length_bytes lie inside the memory */
	uint64_t length_bytes;
	unsigned int access; /* vbd_mem_access, without MW_BIND */
};

struct vbd_window {
	enum vbd_window_state state; /* written by step() in window.c only */
	struct vbd_window_range range;
	struct vbd_mem *mem;	/* registered, with MW_BIND, as long as the window has not ended */
	uint32_t rkey;		/* good while it is READY */
	struct vbd_error error; /* why it FAILED, or could not be revoked by a work request */
	/* The state has changed; when it has ended nothing of the device is left. */
	void (*changed)(struct vbd_window *window, void *arg);
	/* The channel to post the work request on; NULL if there is none. */
	struct vbd_channel *(*choose_channel)(struct vbd_window *window, void *arg);
	void *arg;

	struct vbd_account account;
	struct ibv_mr *mr;	/* to bind it to; NULL until vbd_window_register() */
	bool own_mr;		/* it is the window's, not the memory's */
	struct ibv_mw *mw;	/* NULL once it has ended */
	struct vbd_transfer op; /* the work request under way */
	bool busy;		/* there is one */
};

/**
 * vbd_window_allocate - a window that is BINDING, and waits for vbd_window_registered()
 * @window: zeroed, with range, mem, changed, choose_channel and arg; lives until it has ended
 *
 * An error leaves nothing; what fails later is told by `changed`.
 */
enum vbd_status vbd_window_allocate(
	struct vbd_window *window, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_window_register - any thread; the memory region that it is bound to. Takes time in
 * proportion to the range where that is one of its own, none else. */
void vbd_window_register(struct vbd_window *window);

/** vbd_window_registered - it came back: begin to bind, if that is still wanted and it succeeded */
void vbd_window_registered(struct vbd_window *window);

/** vbd_window_deregister - any thread, once it has ended; takes time as vbd_window_register() */
void vbd_window_deregister(struct vbd_window *window);

/** vbd_window_revoke - begin to revoke it; harmless when that is under way or it has ended */
void vbd_window_revoke(struct vbd_window *window);

/** vbd_window_revoke_at_once - what it was bound on ends, or its memory has to go: without a work
 * request */
void vbd_window_revoke_at_once(struct vbd_window *window);

/** vbd_window_cancel - its work request takes too long: called off if it is not posted yet */
void vbd_window_cancel(struct vbd_window *window);

/** vbd_window_post - worker; post the bind or the invalidation (@op) with this wr_id and these
 * IBV_SEND_* flags */
enum vbd_status vbd_window_post(const struct vbd_window *window, struct ibv_qp *qp, enum vbd_op op,
	uint64_t wr_id, unsigned int send_flags, struct vbd_error *err) VBD_MUST_CHECK;

#endif
