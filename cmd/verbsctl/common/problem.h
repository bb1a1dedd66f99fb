/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing the server's errors (problem+json, RFC 9457): object, code, detail, cause, hint.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_PROBLEM_H
#define VBD_CMD_VERBSCTL_COMMON_PROBLEM_H

#include "cmd/verbsctl/common/text.h"
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
 * vbd_ctl_problem_put - print a problem on standard error
 * @problem: missing members are left out
 */
void vbd_ctl_problem_put(const json_t *problem);

/**
 * vbd_ctl_problem_put_page - print an error answer that is not problem+json, such as one made by
 * the HTTP library
 * @server: address, for the message
 * @body:   text or HTML, whose tags are removed
 */
void vbd_ctl_problem_put_page(const char *server, long status, const char *body);

/**
 * vbd_ctl_speak_init - set the command line whose words are used from now on
 * @args:     outlives all calls; NULL to change no text
 * @commands: the table of all commands
 */
void vbd_ctl_speak_init(const struct vbd_ctl_args *args, const struct vbd_ctl_command *commands,
	size_t command_count);

/** vbd_ctl_speak_called - the command as it was typed, "buffers put"; "" before the first call */
const char *vbd_ctl_speak_called(void);

/**
 * vbd_ctl_speak_member - the option or operand that sets a member of the request
 * @name: JSON pointer ("/qp/sq_depth"), member ("qp.sq_depth") or query parameter ("state")
 *
 * Returns a text that the caller frees: "--sq-depth", or the placeholder of an operand,
 * "HOST:PORT". Returns NULL if the command takes nothing for it.
 */
char *vbd_ctl_speak_member(const char *name);

/**
 * vbd_ctl_speak - replace members, pointers and paths in a text
 *
 * A pointer of the request becomes an option of the command: "/buffer" becomes "--buffer". A member
 * of any request, in backticks or with an underscore, becomes an option: "timeout_ms" becomes
 * "--timeout". A path, with or without a method, becomes a command: "POST /v1/probes" becomes
 * "`verbsctl probes create`". All other words stay. Returns a text that the caller frees.
 */
char *vbd_ctl_speak(const char *text);

#endif
