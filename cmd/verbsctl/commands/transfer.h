/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers: options and waiting, shared by write, read, send, probe and bench.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_TRANSFER_H
#define VBD_CMD_VERBSCTL_COMMANDS_TRANSFER_H

#include "cmd/verbsctl/common/call.h"

/**
 * vbd_ctl_transfer_run - start a transfer, print it and, without --no-wait, wait for its end
 * @path: where to POST: /v1/transfers, or the messages of a connection
 * @body: freed here
 *
 * Blocks until the deadline of the transfer at most. Prints the reason and returns VBD_CTL_FAILED
 * if the transfer fails.
 */
enum vbd_ctl_exit vbd_ctl_transfer_run(struct vbd_ctl *ctl, const char *path, json_t *body);

/**
 * vbd_ctl_transfer_set_local - check that either --buffer or --sges is given, and add the pieces of
 * --sges to @body
 *
 * Prints the error and returns VBD_CTL_USAGE otherwise.
 */
enum vbd_ctl_exit vbd_ctl_transfer_set_local(const struct vbd_ctl_args *args, json_t *body);

/**
 * vbd_ctl_transfer_set_remote - find the peer's memory from the options, and add `remote` to @body
 * @access: access that the peer must have granted, "remote_write"
 *
 * Checks access and length if the peer's verbsd describes the memory: the peer's device could only
 * refuse by breaking the connection. Blocks for that request. Prints the error and returns
 * VBD_CTL_USAGE if the options name the memory in no way or in two, else VBD_CTL_FAILED.
 */
enum vbd_ctl_exit vbd_ctl_transfer_set_remote(
	struct vbd_ctl *ctl, const char *access, json_t *body);

#endif
