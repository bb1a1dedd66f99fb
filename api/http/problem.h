/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as application/problem+json (RFC 9457), the schema Problem of openapi.yaml.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_PROBLEM_H
#define VBD_API_HTTP_PROBLEM_H

#include "base/error.h"
#include "rdma/names/reason.h"

#include <jansson.h>

#include <stddef.h>
#include <stdint.h>

/* Members that an error does not carry; zero is "none" for each. */
struct vbd_problem_extra {
	enum vbd_reason reason;
	const char *const *users; /* paths */
	size_t n_users;
	unsigned int allow; /* bit mask of enum vbd_method */
	uint64_t retry_after_ms;
};

/**
 * vbd_problem_json - the document
 * @err:   its status is not VBD_OK
 * @extra: may be NULL
 *
 * Returns a new reference, NULL without memory.
 */
json_t *vbd_problem_json(const struct vbd_error *err, const struct vbd_problem_extra *extra);

/* Room for the pointer that vbd_problem_pointer() writes. */
#define VBD_POINTER_BYTES 96

/**
 * vbd_problem_pointer - the JSON pointer or query parameter that @err is about
 *
 * Returns @room; it holds "" if the error is about no member of the request.
 */
const char *vbd_problem_pointer(const struct vbd_error *err, char room[VBD_POINTER_BYTES]);

/** vbd_problem_no_memory - the document for when there is no memory to make one; static */
const char *vbd_problem_no_memory(void);

#endif
