/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands: NOUN VERB, one table of rows (table.c). Dispatch, usage, --help and completion read
 * it. A short form ("connect") is another word for a noun, or for a noun and a verb; a noun alone
 * stands for its `ls`, or else for its `show`.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMAND_H
#define VBD_CMD_VERBSCTL_COMMAND_H

#include "cmd/verbsctl/commands/commands.h"

#define VBD_CTL_OPERANDS_MAX 1000

/* The table of all commands, and its length. */
extern const struct vbd_ctl_command vbd_ctl_commands[];
extern const size_t vbd_ctl_command_count;

/* Options that every command takes; NONE ends them. */
extern const enum vbd_ctl_opt vbd_ctl_common_options[];

/** vbd_ctl_command_row - the row of a noun and a verb; NULL if there is none */
const struct vbd_ctl_command *vbd_ctl_command_row(const char *noun, const char *verb);

/**
 * vbd_ctl_command_find - the row of a command by its words
 * @words:    the command line from its first word that is not an option
 * @ret_used: set to the number of words in the command's name, 1 or 2
 *
 * Returns NULL if no command matches.
 */
const struct vbd_ctl_command *vbd_ctl_command_find(
	char *const *words, size_t word_count, size_t *ret_used);

/**
 * vbd_ctl_command_noun - the noun that a first word stands for, as a noun or as its short form
 *
 * Returns a static string; NULL if @word is neither.
 */
const char *vbd_ctl_command_noun(const char *word);

/**
 * vbd_ctl_command_name_at - the name at index @i among short forms and nouns, or the verbs of @noun
 *
 * Returns NULL behind the last; "" at an index without a name.
 */
const char *vbd_ctl_command_name_at(const char *noun, size_t i);

/**
 * vbd_ctl_command_operand - the placeholder at index @i of the command's usage
 *
 * Returns the placeholder without brackets and dots; NULL behind the last.
 */
char *vbd_ctl_command_operand(const struct vbd_ctl_command *command, size_t i);

/**
 * vbd_ctl_args_parse - parse the whole command line
 * @argv:     reordered (getopt_long(3)); @ret_args points into it
 * @ret_args: zeroed by the caller
 *
 * Common options may stand before the command and behind it. With --help or --version nothing else
 * is checked. Prints the error and ends with VBD_CTL_USAGE if a word is unknown, missing or
 * malformed.
 */
void vbd_ctl_args_parse(int argc, char **argv, struct vbd_ctl_args *ret_args);

/**
 * vbd_ctl_complete - print the completions of the last operand, one a line
 * @ctl: with parsed arguments; this function connects, because the address may be on the line
 *       itself
 *
 * Blocks for two seconds at most. Prints no errors.
 */
void vbd_ctl_complete(struct vbd_ctl *ctl);

/** vbd_ctl_completion - print the completion script for a shell: "bash", "zsh" or "fish" */
void vbd_ctl_completion(const char *shell);

#endif
