/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands: one table of rows (command.c). Dispatch, usage, --help and completion read it.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMAND_H
#define VBD_CMD_VERBSCTL_COMMAND_H

#include "cmd/verbsctl/common/args.h"

#include <stdbool.h>
#include <stddef.h>

#define VBD_CTL_OPERANDS_MAX 1000

/* The table, and its length. */
extern const struct vbd_ctl_command vbd_ctl_commands[];
extern const size_t vbd_ctl_command_count;

/* Options that every command takes. */
extern const enum vbd_ctl_opt vbd_ctl_common_options[];
extern const size_t vbd_ctl_common_option_count;

/**
 * vbd_ctl_command_find - the row for the words at hand
 * @words:    what stands on the command line from the first word that is no option on
 * @ret_used: how many words the name takes, 1 or 2
 *
 * "listeners rm" goes before "listeners". Returns NULL if there is none.
 */
const struct vbd_ctl_command *vbd_ctl_command_find(
	char *const *words, size_t word_count, size_t *ret_used);

/** vbd_ctl_command_like - the name or, behind @group, the verb closest to a mistyped @word; NULL if
 * none is close */
const char *vbd_ctl_command_like(const char *group, const char *word);

/** vbd_ctl_command_is_group - do commands with a second word start with @word? */
bool vbd_ctl_command_is_group(const char *word);

/** vbd_ctl_command_operand - the I-th operand's placeholder in @usage, without brackets and dots;
 * NULL behind the last */
char *vbd_ctl_command_operand(const struct vbd_ctl_command *command, size_t i);

/** vbd_ctl_command_operand_limits - how many operands a command takes */
void vbd_ctl_command_operand_limits(
	const struct vbd_ctl_command *command, size_t *ret_min, size_t *ret_max);

#endif
