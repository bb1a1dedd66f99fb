/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of receives, for which there is one limit: the receives of connections and endpoints,
 * and those of shared receive queues.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_RECEIVES_H
#define VBD_DAEMON_CORE_RECEIVES_H

#include "daemon/core/context.h"

/** vbd_receives_bytes - the memory of all receives */
uint64_t vbd_receives_bytes(const struct vbd_daemon *daemon);

/**
 * vbd_receives_check - may receives have @receive_bytes more?
 * @owner:   of the object that will have them; NULL: the daemon itself
 * @pointer: the request's member to name in @err
 *
 * VBD_E_LIMIT_REACHED, with the limit, beyond limits.receives_bytes; VBD_E_QUOTA_EXCEEDED beyond
 * the owner's pinned_bytes.
 */
enum vbd_status vbd_receives_check(const struct vbd_daemon *daemon, const struct vbd_caller *owner,
	uint64_t receive_bytes, const char *pointer, struct vbd_error *err) VBD_MUST_CHECK;

#endif
