/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's texts in the words of the command line. The server names members of requests and
 * paths of the API; a person at a terminal knows options and commands. All words come from the rows
 * of the options (cmd/verbsctl/common/args.h) and commands, which also make the requests.
 *
 * One thread. Nothing here blocks.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_SPEAK_H
#define VBD_CMD_VERBSCTL_COMMON_SPEAK_H

#include "cmd/verbsctl/common/args.h"

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
