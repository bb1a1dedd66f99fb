/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many objects failed, and why: the first ones with their errors, all of them counted.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_FAILURES_H
#define VBD_DAEMON_CORE_FAILURES_H

#include "daemon/core/registry.h"

/* Objects of one batch. */
#define VBD_BATCH_MAX 1000

/* Failures that are kept; the others are counted. */
#define VBD_FAILURES_MAX 100

struct vbd_failure {
	const char *kind; /* "connection"; static */
	uint64_t id;
	char name[VBD_NAME_BYTES];
	struct vbd_error err;
};

/* Zeroed: without failures. */
struct vbd_failures {
	struct vbd_failure *items; /* NULL: none, or no memory for them */
	size_t count;		   /* of items */
	size_t total;
};

/** vbd_failures_add - @object failed with @err */
void vbd_failures_add(struct vbd_failures *failures, const struct vbd_object *object,
	const struct vbd_error *err);

/** vbd_failures_fini - free the failures, and zero @failures */
void vbd_failures_fini(struct vbd_failures *failures);

#endif
