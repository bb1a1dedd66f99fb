/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as application/problem+json (RFC 9457), the schema Problem of openapi.yaml.
 *
 * Any thread.
 */
#ifndef VBD_API_PROBLEM_H
#define VBD_API_PROBLEM_H

#include "base/error.h"
#include "rdma/reason.h"

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

/** vbd_problem_no_memory - the document for when there is no memory to make one; static */
const char *vbd_problem_no_memory(void);

#endif
