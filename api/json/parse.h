/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents of requests: bytes to values, and the faults that are found in a document.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_PARSE_H
#define VBD_API_JSON_PARSE_H

#include "base/error.h"

#include <jansson.h>

/**
 * vbd_json_parse - parse a document
 * @ret_json: a new reference
 *
 * A number without a fraction is an integer, however it is written: 5000.0, 5e3.
 *
 * Returns VBD_E_MALFORMED_JSON, VBD_E_BAD_UTF8 or VBD_E_OUT_OF_RANGE (an integer beyond 64 bits),
 * each with line and column; VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_json_parse(const char *bytes, size_t len_bytes, json_t **ret_json,
	struct vbd_error *err) VBD_MUST_CHECK;

/* Faults that are kept; the others are counted. */
#define VBD_FAULTS_MAX 32

/* All faults of the body of one request, in the order in which the decoder found them. Zeroed:
 * without faults. */
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
