/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the rows of the commands name (cmd/verbsctl/table.c), one file for each kind
 * of object.
 *
 * One that fails prints the error and ends with its exit status (vbd_ctl_end()). Each may block for
 * as long as the server, and the deadlines on the command line, let it.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_COMMANDS_H
#define VBD_CMD_VERBSCTL_COMMANDS_COMMANDS_H

#include "cmd/verbsctl/common/call.h"

/* Longest wait for the end of what a command closes, cancels or deletes. */
#define VBD_CTL_END_WAIT_S 15

/* All nouns (object.c). */
extern const struct vbd_ctl_noun vbd_ctl_nouns[];
extern const size_t vbd_ctl_noun_count;

/** vbd_ctl_noun_row - the row of a noun; NULL if there is none */
const struct vbd_ctl_noun *vbd_ctl_noun_row(const char *noun);

typedef void vbd_ctl_command(struct vbd_ctl *ctl);

/* Commands for objects of every kind (object.c). The row of a command names its kind. */
vbd_ctl_command vbd_ctl_object_list, vbd_ctl_object_act, vbd_ctl_object_cancel, vbd_ctl_object_rm,
	vbd_ctl_object_wait;

/**
 * vbd_ctl_object_send - send the request of the command's row, and print the answer
 * @ref:  the object; NULL: the collection
 * @body: for POST and PATCH
 */
void vbd_ctl_object_send(struct vbd_ctl *ctl, const char *ref, json_t *body);

/** vbd_ctl_object_path - the path of the object of the first operand; @tail: "" for the object
 * itself */
char *vbd_ctl_object_path(const struct vbd_ctl *ctl, const char *tail);

/* Functions of rows that print an answer: all of an object of the command's kind; a sentence about
 * it, or all if the kind has none; its state and end; all members. The others are for one command.
 */
typedef void vbd_ctl_put(struct vbd_ctl *ctl, json_t *answer);
vbd_ctl_put vbd_ctl_object_put_full, vbd_ctl_object_put_brief, vbd_ctl_object_put_state,
	vbd_ctl_put_connection, vbd_ctl_put_connection_state, vbd_ctl_put_timeline,
	vbd_ctl_put_explanation, vbd_ctl_put_names, vbd_ctl_put_changes;

/** vbd_ctl_object_tell_failures - print the `failures` of a batch or selection, from index @first
 * on, as errors */
void vbd_ctl_object_tell_failures(const json_t *batch, size_t first);

/* The others. */
vbd_ctl_command vbd_ctl_status, vbd_ctl_version, vbd_ctl_daemon_drain, vbd_ctl_connect,
	vbd_ctl_history, vbd_ctl_connection_accept, vbd_ctl_remote, vbd_ctl_buffer_put,
	vbd_ctl_buffer_get, vbd_ctl_buffer_map, vbd_ctl_buffer_sum, vbd_ctl_send, vbd_ctl_recv,
	vbd_ctl_transfer_create, vbd_ctl_probe, vbd_ctl_batch_create, vbd_ctl_bench,
	vbd_ctl_benchmark_create, vbd_ctl_events, vbd_ctl_top, vbd_ctl_copy;

/** vbd_ctl_connect_many - make connections alike: a batch, to which `count` and `labels` move from
 * @connection, the body of a request for one */
void vbd_ctl_connect_many(struct vbd_ctl *ctl, json_t *connection);

/**
 * vbd_ctl_connection_put - print a connection in full, without colours
 * @connection:  a Connection of the API
 * @explanation: answer of GET …/explain, or NULL; printed first if the connection has ended
 * @timeline:    answer of GET …/timeline, or NULL
 * @out:         written to
 */
void vbd_ctl_connection_put(
	json_t *connection, const json_t *explanation, const json_t *timeline, FILE *out);

/**
 * vbd_ctl_transfer_run - start a transfer, print it and, without --no-wait, wait for its end
 * @path: where to POST: /v1/transfers, or the messages of a connection
 *
 * Blocks until the deadline of the transfer at most. Prints the reason and ends with VBD_CTL_FAILED
 * if the transfer fails.
 */
void vbd_ctl_transfer_run(struct vbd_ctl *ctl, const char *path, json_t *body);

/**
 * vbd_ctl_transfer_set_local - check that either --buffer or --sges is given, and add the pieces of
 * --sges to @body
 *
 * Prints the error and ends with VBD_CTL_USAGE otherwise.
 */
void vbd_ctl_transfer_set_local(const struct vbd_ctl_args *args, json_t *body);

/**
 * vbd_ctl_transfer_set_remote - find the peer's memory from the options, and add `remote` to @body,
 * which has `op`
 *
 * Checks access and length if the peer's verbsd describes the memory: the peer's device could only
 * refuse by breaking the connection. Blocks for that request. Prints the error and ends with
 * VBD_CTL_USAGE if the options name the memory in no way or in two, else with VBD_CTL_FAILED.
 */
void vbd_ctl_transfer_set_remote(struct vbd_ctl *ctl, json_t *body);

#endif
