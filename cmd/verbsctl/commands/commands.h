/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the rows of the commands name (cmd/verbsctl/command.c), one file for each kind
 * of object.
 *
 * Each returns the exit status of the program. If that is not VBD_CTL_OK, the function has printed
 * the error. Each may block for as long as the server, and the deadlines on the command line, let
 * it.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_COMMANDS_H
#define VBD_CMD_VERBSCTL_COMMANDS_COMMANDS_H

#include "cmd/verbsctl/common/call.h"

/* Longest wait for the end of what a command closes, cancels or deletes. */
#define VBD_CTL_END_WAIT_S 15

/* A kind of object, for the commands that all kinds have. */
struct vbd_ctl_object {
	const char *collection;		      /* path: "/v1/buffers" */
	const char *kind;		      /* name of one object: "buffer" */
	const struct vbd_ctl_column *columns; /* of the list */
	size_t column_count;
	vbd_ctl_put_fn put;	  /* prints one object below its title; NULL: every member */
	vbd_ctl_put_fn put_brief; /* prints a new or changed object; NULL: in full */
	const char *good_state;	  /* state that `wait` awaits without --until; NULL: no `wait` */
	int delete_wait_s;	  /* longest wait for the end of a deleted object; 0: no wait */
};

#define VBD_CTL_COLUMNS(columns_) .columns = (columns_), .column_count = VBD_ARRAY_LEN(columns_)

extern const struct vbd_ctl_object vbd_ctl_object_batch, vbd_ctl_object_benchmark,
	vbd_ctl_object_connection_batch, vbd_ctl_object_buffer, vbd_ctl_object_connection,
	vbd_ctl_object_cq, vbd_ctl_object_device, vbd_ctl_object_fault, vbd_ctl_object_endpoint,
	vbd_ctl_object_group, vbd_ctl_object_kept_object, vbd_ctl_object_listener,
	vbd_ctl_object_pd, vbd_ctl_object_peer, vbd_ctl_object_probe, vbd_ctl_object_srq,
	vbd_ctl_object_transfer, vbd_ctl_object_window;

/* The commands of all kinds of objects (object.c). The command's row names the kind. */
enum vbd_ctl_exit vbd_ctl_object_list(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_object_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_object_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_object_set(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_object_cancel(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_object_rm(struct vbd_ctl *ctl);

/** vbd_ctl_each_or_selected - call @one for each operand; with --label instead, one request to the
 * collection with @tail for all objects with the labels */
enum vbd_ctl_exit vbd_ctl_each_or_selected(struct vbd_ctl *ctl, const char *method,
	const char *tail, enum vbd_ctl_exit (*one)(struct vbd_ctl *ctl, const char *ref));
enum vbd_ctl_exit vbd_ctl_object_wait(struct vbd_ctl *ctl);

/**
 * vbd_ctl_object_post - create an object of the command's kind from @body, and print it
 * @body: freed here; NULL if it could not be built, and the error is printed
 */
enum vbd_ctl_exit vbd_ctl_object_post(struct vbd_ctl *ctl, json_t *body);

enum vbd_ctl_exit vbd_ctl_status(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_caller(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_daemon_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_daemon_drain(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_daemon_undrain(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_config_reload(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_stats(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_devices(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_listener_set(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connect(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_history(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_accept(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_reject(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_timeline(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_close(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_prepare(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_remote(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_qp_state(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_put(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_get(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_map(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_buffer_sum(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_send(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_recv(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_write(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_read(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_fetch_add(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_compare_swap(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_post_recv(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_probe(struct vbd_ctl *ctl);
/* connection_batch.c */
enum vbd_ctl_exit vbd_ctl_connect_many(struct vbd_ctl *ctl, json_t *body);
enum vbd_ctl_exit vbd_ctl_batch_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_bench(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_benchmark_create(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_events(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_glossary(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_reachability(struct vbd_ctl *ctl);

#endif
