/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup of the devices that requests name, and the device checks of /readyz.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_DEVICES_H
#define VBD_DAEMON_CORE_DEVICES_H

#include "daemon/core/context.h"
#include "rdma/fabric/fabric.h"

/** vbd_device_find_ref - find a device by id or name, also a removed one (the newest of that name);
 * NULL with VBD_E_NOT_FOUND */
struct vbd_device *vbd_device_find_ref(
	const struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);

/** vbd_device_choose - vbd_fabric_choose() for a request's member `device` */
enum vbd_status vbd_device_choose(const struct vbd_daemon *daemon, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_device_daemon - the daemon whose fabric has @device */
const struct vbd_daemon *vbd_device_daemon(const struct vbd_device *device);

/* Checks of /readyz; true if the check passes. @detail: gets one line. */
bool vbd_ready_device(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);
bool vbd_ready_port(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);
bool vbd_ready_cm(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);

/** vbd_memlock - bytes that this process has pinned, and its limit (UINT64_MAX: none) */
void vbd_memlock(uint64_t *ret_locked_bytes, uint64_t *ret_limit_bytes);

#endif
