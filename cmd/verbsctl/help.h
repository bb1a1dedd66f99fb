/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help, printed from the rows of the commands (cmd/verbsctl/command.h) and their options
 * (cmd/verbsctl/common/args.h).
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_HELP_H
#define VBD_CMD_VERBSCTL_HELP_H

#include "cmd/verbsctl/common/args.h"

#include <stdio.h>

/**
 * vbd_ctl_help - print the help of a command, of a noun, or of verbsctl
 * @args: names the command or the noun; of verbsctl if both are NULL
 */
void vbd_ctl_help(const struct vbd_ctl_args *args, FILE *out);

#endif
