/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbsctl __complete WORD...: candidates for the last word of a command line that is being typed,
 * for the completion script of the shell.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMPLETE_H
#define VBD_CMD_VERBSCTL_COMPLETE_H

#include "cmd/verbsctl/common/call.h"

/**
 * vbd_ctl_complete - print the completions of the last operand, one a line
 * @ctl: with parsed arguments; this function connects, because the address may be on the line
 *       itself
 *
 * Blocks for two seconds at most. Prints no errors.
 */
enum vbd_ctl_exit vbd_ctl_complete(struct vbd_ctl *ctl);

#endif
