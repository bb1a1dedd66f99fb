/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a transfer, which write, read and send have in common.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_COMMANDS_TRANSFER_H
#define VBD_CMD_VERBSCTL_COMMANDS_TRANSFER_H

#include "cmd/verbsctl/common/call.h"

/**
 * vbd_ctl_transfer_run - start a transfer and, unless --no-wait was given, see it to its end
 * @path: where to POST: /v1/transfers, or a connection's messages
 * @body: taken over
 *
 * Prints the transfer. One that does not end well is VBD_CTL_FAILED, told with its reason. Blocks
 * until the transfer's own deadline at most.
 */
enum vbd_ctl_exit vbd_ctl_transfer_run(struct vbd_ctl *ctl, const char *path, json_t *body);

/**
 * vbd_ctl_transfer_set_local - exactly one of --buffer and --sges says where the bytes are; adds
 * the latter to @body
 *
 * Returns VBD_CTL_USAGE, told, if that is not so.
 */
enum vbd_ctl_exit vbd_ctl_transfer_set_local(const struct vbd_ctl_args *args, json_t *body);

/**
 * vbd_ctl_transfer_set_remote - exactly one way of naming the peer's memory; adds `remote` to @body
 * @access: what the peer must have granted, "remote_write"
 *
 * Checks access and length where the peer's verbsd tells them: its device could only answer by
 * breaking the connection. Returns VBD_CTL_USAGE or VBD_CTL_FAILED, told.
 */
enum vbd_ctl_exit vbd_ctl_transfer_set_remote(
	struct vbd_ctl *ctl, const char *access, json_t *body);

/** vbd_ctl_problem_of - what a waiting POST to @collection would have answered, from the record of
 * what did not end well; the caller owns it */
json_t *vbd_ctl_problem_of(const char *collection, const json_t *object);

#endif
