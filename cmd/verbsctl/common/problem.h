/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as verbsd tells them (RFC 9457 problem+json), printed for a person: object, code, what
 * happened, reason, hint.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_PROBLEM_H
#define VBD_CMD_VERBSCTL_COMMON_PROBLEM_H

#include <jansson.h>

/**
 * vbd_ctl_problem_object - "connection/7" for "/v1/connections/7"; the caller frees it
 *
 * Anything else stays as it is. Never NULL.
 */
char *vbd_ctl_problem_object(const char *path);

/**
 * vbd_ctl_problem_put - print a problem on standard error
 * @problem: members that are missing are left out
 */
void vbd_ctl_problem_put(const json_t *problem);

/**
 * vbd_ctl_problem_put_page - print an answer that is no problem+json, such as the HTTP library's
 * own
 * @server: where it came from
 * @body:   maybe HTML; its tags are left out
 */
void vbd_ctl_problem_put_page(const char *server, long status, const char *body);

#endif
