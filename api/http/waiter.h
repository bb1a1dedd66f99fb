/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are answered later: one that waits until an object changes (`Prefer: wait`, long
 * polls), and one whose answer is made in parts. Most answers are made at once; one that takes long
 * goes on in turns of the loop to come, while its request is parked.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_API_HTTP_WAITER_H
#define VBD_API_HTTP_WAITER_H

#include "api/http/request.h"
#include "daemon/core/turns.h"
#include "daemon/core/watch.h"

enum vbd_wake {
	VBD_WAKE_CHANGED,     /* the object has changed: reply if the condition is true */
	VBD_WAKE_TIMEOUT,     /* the wait is over: reply with the current state */
	VBD_WAKE_OBJECT_GONE, /* the object is being freed: reply without it */
};

/* The first member of a struct with the data that the handler needs for its answer. */
struct vbd_waiter {
	struct vbd_watch watch;
	struct vbd_request *req;
	void (*answer)(struct vbd_waiter *waiter, enum vbd_wake why);
	bool handed_on; /* set by `answer`, which has parked the request again and replies later */
};

#define VBD_WAIT_UNBOUNDED UINT64_MAX

/**
 * vbd_waiter_run - answer now if possible, else when the object changes, else at the deadline
 * @waiter:     `answer` is set; copied if the request waits
 * @size_bytes: of the struct whose first member is @waiter
 * @watches:    the object's list
 * @wait_ms:    0: answer now; VBD_WAIT_UNBOUNDED: no deadline, if the object is sure to change
 *
 * When the client leaves or the server stops, a GET is not answered. Another method is answered as
 * at its deadline, so that a repeat under the same Idempotency-Key gets the state. If the request
 * can't be parked, a GET gets that error, another method the answer of its deadline.
 */
void vbd_waiter_run(struct vbd_waiter *waiter, size_t size_bytes, struct vbd_request *req,
	struct vbd_link *watches, uint64_t wait_ms);

/* --- answers in parts ------------------------------------------------------------------------- */

/* The first member of the struct of an answer, from malloc. */
struct vbd_in_turns {
	struct vbd_steps steps; /* of waiter.c */
	struct vbd_request *req;
	/* Do a part that takes less than a millisecond. Returns true after the last one, which has
	 * replied, or parked the request again, and may have freed the struct. */
	bool (*go_on)(struct vbd_in_turns *self);
	/* Free the struct: the client has left. */
	void (*drop)(struct vbd_in_turns *self);
};

/**
 * vbd_in_turns_run - make an answer
 * @answer: `req`, `go_on` and `drop` are set
 * @turns:  NULL: all at once
 *
 * It counts as no waiting request. If the request can't be parked, the answer is made at once.
 */
void vbd_in_turns_run(struct vbd_in_turns *answer, struct vbd_turns *turns);

#endif
