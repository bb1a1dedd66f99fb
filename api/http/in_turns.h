/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer that is made in parts. Most are made at once; one that takes long goes on in turns of
 * the loop to come, while its request is parked.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_API_HTTP_IN_TURNS_H
#define VBD_API_HTTP_IN_TURNS_H

#include "api/http/request.h"
#include "daemon/core/turns.h"

/* The first member of the struct of an answer, from malloc. */
struct vbd_in_turns {
	struct vbd_steps steps; /* of in_turns.c */
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
 * It takes no place of the requests that may wait. One that can't be parked is made at once.
 */
void vbd_in_turns_run(struct vbd_in_turns *answer, struct vbd_turns *turns);

#endif
