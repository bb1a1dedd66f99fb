/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a new transfer against the limits of its queue pair, device and buffers.
 *
 * Control thread; used by daemon/work/transfers.c only.
 */
#ifndef VBD_DAEMON_WORK_TRANSFER_CHECK_H
#define VBD_DAEMON_WORK_TRANSFER_CHECK_H

#include "daemon/work/transfers.h"

/** vbd_transfer_goes_inline - are the bytes of the buffers copied into the work requests? That
 * saves the device a look at their memory. So it is for up to inline_bytes, and where a client
 * insists. */
bool vbd_transfer_goes_inline(const struct vbd_transfer_spec *spec);

/** vbd_transfer_check - VBD_OK, or the errors of vbd_transfer_prepare() */
enum vbd_status vbd_transfer_check(const struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_is_whole - is the transfer not cut by chunk_bytes? */
bool vbd_transfer_is_whole(const struct vbd_transfer_spec *spec);

/** vbd_transfer_message_bytes - length of the longest message of a send; 1 for an empty message,
 * which still is one work request */
uint64_t vbd_transfer_message_bytes(const struct vbd_transfer_spec *spec);

/** vbd_transfer_explain - replace the error of a flush by the reason why the owner of the queue
 * pair ended; before the record forgets its queue pair */
void vbd_transfer_explain(struct vbd_transfer_record *record);

/** vbd_transfer_problem - `problem` of struct vbd_kind */
void vbd_transfer_problem(const struct vbd_object *object, struct vbd_error *ret_err);

#endif
