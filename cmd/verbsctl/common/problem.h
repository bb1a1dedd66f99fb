/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing the server's errors (problem+json, RFC 9457): object, code, detail, cause, hint.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_PROBLEM_H
#define VBD_CMD_VERBSCTL_COMMON_PROBLEM_H

#include "cmd/verbsctl/common/args.h"

#include <jansson.h>

/**
 * vbd_ctl_problem_object - convert "/v1/connections/7" to "connection/7"
 *
 * Returns a text that the caller frees, never NULL; other paths are copied unchanged.
 */
char *vbd_ctl_problem_object(const char *path);

/** vbd_ctl_problem_exit - the exit status for a problem */
enum vbd_ctl_exit vbd_ctl_problem_exit(const json_t *problem);

/**
 * vbd_ctl_problem_of - build, from the record of an object that ended, the problem that a waiting
 * request would have returned
 * @collection: path of the kind, "/v1/transfers"
 *
 * Returns an object that the caller owns.
 */
json_t *vbd_ctl_problem_of(const char *collection, const json_t *object);

/**
 * vbd_ctl_problem_put - print a problem on standard error: what happened to what, then each member
 * that says more
 * @args:    the command line, whose options stand for the members of the request
 * @problem: missing members are left out
 */
void vbd_ctl_problem_put(const struct vbd_ctl_args *args, json_t *problem);

#endif
