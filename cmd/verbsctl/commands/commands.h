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
enum vbd_ctl_exit vbd_ctl_connection_show(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_accept(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_reject(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_close(struct vbd_ctl *ctl);
enum vbd_ctl_exit vbd_ctl_connection_delete(struct vbd_ctl *ctl);
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

#endif
