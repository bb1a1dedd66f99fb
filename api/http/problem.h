/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as application/problem+json (RFC 9457), the schema Problem of openapi.yaml.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_PROBLEM_H
#define VBD_API_HTTP_PROBLEM_H

#include "base/error.h"

struct vbd_encoder;
struct vbd_faults;
struct vbd_reply;

/* Members of a problem that struct vbd_error does not have; zero means absent. */
struct vbd_problem_extra {
	const char *const *users; /* paths of the objects that use this one */
	size_t n_users;
	unsigned int allow;		 /* bit mask of enum vbd_method */
	const struct vbd_faults *faults; /* of the body; without any, the error is the only fault */
	const char *kept_object;	 /* path of the kept object for which another try follows */
	void (*put)(struct vbd_encoder *out, const void *arg); /* more members; NULL: none */
	const void *arg;
	bool outcome; /* of something that the request began: 424 whatever the code is */
};

/** vbd_problem_http - the HTTP status of an error; @extra may be NULL */
unsigned int vbd_problem_http(const struct vbd_error *err, const struct vbd_problem_extra *extra);

/**
 * vbd_put_problem - put the members of a problem
 * @err:   its status is not VBD_OK
 * @extra: may be NULL
 */
void vbd_put_problem(struct vbd_encoder *out, const struct vbd_error *err,
	const struct vbd_problem_extra *extra);

/**
 * vbd_problem_of_item - make the error and the faults of an item of a list those of the whole body
 * @singular: "transfer"; the list is the member "transfers"
 */
void vbd_problem_of_item(
	struct vbd_error *err, struct vbd_faults *faults, const char *singular, size_t index);

/** vbd_reply_no_memory - make an answer without a body that of no_memory, which needs no memory */
void vbd_reply_no_memory(struct vbd_reply *reply);

#endif
