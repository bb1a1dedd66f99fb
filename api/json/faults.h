/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All faults of the body of one request, in the order in which the decoder found them.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_FAULTS_H
#define VBD_API_JSON_FAULTS_H

#include "base/attr.h"
#include "base/error.h"

/* Faults that are kept; the others are counted. */
#define VBD_FAULTS_MAX 32

/* Zeroed: without faults. */
struct vbd_faults {
	size_t total;
	size_t count;
	struct vbd_error first;
	struct vbd_error
		*items; /* `count` of them, from malloc(); without memory fewer than found */
};

/**
 * vbd_fault - add a fault
 * @status:  any status but VBD_OK
 * @pointer: JSON pointer of the member; copied
 * @fmt:     printf(3) format of one line without a full stop
 *
 * Returns @status.
 */
enum vbd_status vbd_fault(struct vbd_faults *faults, enum vbd_status status, const char *pointer,
	const char *fmt, ...) VBD_PRINTF(4, 5);

/** vbd_faults_fini - free the faults, and zero @faults */
void vbd_faults_fini(struct vbd_faults *faults);

#endif
