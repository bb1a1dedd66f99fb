/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that requests name, and whether the daemon has one that works.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_DEVICES_H
#define VBD_DAEMON_CORE_DEVICES_H

#include "daemon/core/context.h"
#include "rdma/fabric/fabric.h"

/** vbd_device_find_ref - by id or name, also a removed one (the newest of that name); NULL and
 * not_found */
struct vbd_device *vbd_device_find_ref(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);

/** vbd_device_choose - the device of a request's member `device`; the default one for "". no_device
 * if there is none, and what vbd_device_usable() says. */
enum vbd_status vbd_device_choose(const struct vbd_daemon *daemon, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * Checks of /readyz. @detail: room for a line. Each returns true when it is well.
 */
bool vbd_ready_device(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);
bool vbd_ready_port(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);
bool vbd_ready_cm(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);

/** vbd_memlock - bytes this process has locked, and its limit (UINT64_MAX: none) */
void vbd_memlock(uint64_t *ret_locked_bytes, uint64_t *ret_limit_bytes);

#endif
