/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a transfer can be made at all: what carries it, its queue pair, its device and its
 * buffers allow.
 *
 * Control thread; used by daemon/work/transfers.c only.
 */
#ifndef VBD_DAEMON_WORK_TRANSFER_CHECK_H
#define VBD_DAEMON_WORK_TRANSFER_CHECK_H

#include "daemon/work/transfers.h"

/** vbd_transfer_check - VBD_OK, or why not; see vbd_transfer_prepare() */
enum vbd_status vbd_transfer_check(const struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_is_whole - is nothing cut by chunk_bytes? */
bool vbd_transfer_is_whole(const struct vbd_transfer_spec *spec);

/** vbd_transfer_message_bytes - of the longest message of a send; 1 for one of nothing, which is
 * one work request all the same */
uint64_t vbd_transfer_message_bytes(const struct vbd_transfer_spec *spec);

#endif
