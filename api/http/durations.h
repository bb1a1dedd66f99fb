/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long requests took, by operation and HTTP status. A pair gets its histogram with its first
 * request.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_DURATIONS_H
#define VBD_API_HTTP_DURATIONS_H

#include "base/histogram.h"

#include <stddef.h>

struct vbd_duration {
	const char *operation; /* operationId in openapi.yaml; "none": the request had no route */
	unsigned int status;
	struct vbd_histogram times;
};

/* All zero: no requests yet. */
struct vbd_durations {
	struct vbd_duration **pairs; /* in the order of their first requests */
	size_t count;
	size_t room;
	struct vbd_histogram all; /* of all pairs */
};

/**
 * vbd_durations_add - count a request
 * @operation: static; NULL for a request without a route
 *
 * Without memory the request is counted in `all` only.
 */
void vbd_durations_add(struct vbd_durations *durations, const char *operation, unsigned int status,
	uint64_t took_ns);

/** vbd_durations_fini - free all pairs */
void vbd_durations_fini(struct vbd_durations *durations);

#endif
