/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands: one table of rows (verbsctl/command.c), from which dispatch, usage, help and
 * completion come, and the functions that the rows name, one file for each kind of object.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMAND_H
#define VBD_CMD_VERBSCTL_COMMAND_H

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/http.h"

#include <stdbool.h>
#include <stddef.h>

#define VBD_CTL_OPTIONS_MAX  36
#define VBD_CTL_OPERANDS_MAX 1000

/* What every command works with. */
struct vbd_ctl {
	struct vbd_ctl_args args;
	struct vbd_ctl_http http;
	bool json;  /* --json */
	bool color; /* standard output is a terminal and NO_COLOR is not set */
};

struct vbd_ctl_command {
	const char *name;  /* first word */
	const char *verb;  /* second word, or NULL */
	const char *usage; /* operands: "BUFFER FILE"; [X] may be left out, X... may be repeated */
	const char *summary;
	const char *text; /* what --help adds, or NULL */
	enum vbd_ctl_opt options[VBD_CTL_OPTIONS_MAX];
	size_t option_count;
	enum vbd_ctl_exit (*run)(struct vbd_ctl *ctl);
};

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

/*
 * The functions of the rows. Each returns what the program ends with, and has told the user when
 * that is not VBD_CTL_OK. Any of them may block for as long as the server and the deadlines given
 * let it.
 */
enum vbd_ctl_exit vbd_ctl_status(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_stats(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_devices(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_device_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listen(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listeners(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listener_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listener_set(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listener_rm(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connect(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connections(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_history(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_top(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_accept(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_reject(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_close(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_forget(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_prepare(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_remote(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_modify(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffers(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_put(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_get(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_sum(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_rm(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_send(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_recv(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_write(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_read(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_fetch_add(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_compare_swap(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_post_recv(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_transfers(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_transfer_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_transfer_rm(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_resources(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_resource_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_resource_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_resource_set(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_resource_rm(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_peer_resolve(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_probe(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_bench(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_events(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_complete(struct vbd_ctl *ctl);

#endif
