/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that waits for an object to change: `Prefer: wait`, long polls.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_WAITER_H
#define VBD_API_HTTP_WAITER_H

#include "api/http/request.h"
#include "daemon/core/watch.h"

enum vbd_wake {
	VBD_WAKE_CHANGED,     /* maybe there is something to say now: reply if so */
	VBD_WAKE_TIMEOUT,     /* the wait is over: reply with how things stand */
	VBD_WAKE_OBJECT_GONE, /* the object is not to be touched any more: reply */
};

/* Embedded as the first member of what a handler needs for its answer. */
struct vbd_waiter {
	struct vbd_watch watch;
	struct vbd_request *req;
	void (*answer)(struct vbd_waiter *waiter, enum vbd_wake why);
};

#define VBD_WAIT_UNBOUNDED UINT64_MAX

/**
 * vbd_waiter_run - answer now if possible, else when the object changes, else at the deadline
 * @waiter:     the caller's; `answer` is set
 * @size_bytes: of what @waiter is the first member of; that much is copied if it comes to waiting
 * @watches:    the object's list
 * @wait_ms:    0 answers at once; VBD_WAIT_UNBOUNDED for what is sure to end by itself
 *
 * When the client leaves or the server stops, a GET is dropped; anything else is answered as at its
 * deadline, so that a repeat under the same Idempotency-Key learns what has come of it. So it is
 * when it can't wait at all, for want of memory or because too many do; a GET is told that.
 */
void vbd_waiter_run(struct vbd_waiter *waiter, size_t size_bytes, struct vbd_request *req,
	struct vbd_link *watches, uint64_t wait_ms);

#endif
