/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reason that a verbsd gives with a rejection that no client asked for: "verbsd: CODE" as
 * private data, where CODE is that of a refusal of a listener, of a status, or one below.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_NAMES_REJECTION_H
#define VBD_RDMA_NAMES_REJECTION_H

#include <stdbool.h>

#define VBD_REJECTION_PREFIX "verbsd: "

/* The code of a request whose listener was deleted. */
#define VBD_REJECTION_LISTENER_DELETED "listener_deleted"

/* The meaning of such a reason for the side that was rejected. */
struct vbd_rejection {
	char text[200];	    /* a clause about the other side, without a full stop */
	const char *advice; /* a sentence */
};

/** vbd_rejection_read - read the text of a rejection; false if no verbsd gives it: a word of a
 * program, or the code of a later version */
bool vbd_rejection_read(const char *words, struct vbd_rejection *ret_rejection);

#endif
