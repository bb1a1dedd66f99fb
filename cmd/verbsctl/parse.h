/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, parsed by the rows of the commands (cmd/verbsctl/command.h) and their options
 * (cmd/verbsctl/common/args.h).
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_PARSE_H
#define VBD_CMD_VERBSCTL_PARSE_H

#include "cmd/verbsctl/common/args.h"

/**
 * vbd_ctl_args_parse - parse the whole command line
 * @argv:     reordered (getopt_long(3)); @ret_args points into it
 * @ret_args: zeroed by the caller
 *
 * Common options may stand before the command and behind it. With --help or --version nothing else
 * is checked. Prints the error and returns VBD_CTL_USAGE if a word is unknown, missing or
 * malformed.
 */
enum vbd_ctl_exit vbd_ctl_args_parse(int argc, char **argv, struct vbd_ctl_args *ret_args);

#endif
