/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own news of RDMA devices that come and go (no udevd needed). It is the only sign of
 * a removal that always comes: rdma_cm tells none when its module was loaded before ib_uverbs.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_UEVENT_H
#define VBD_DAEMON_UEVENT_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>

struct vbd_uevent;

/**
 * vbd_uevent_cb - a device of subsystem infiniband or infiniband_verbs has changed
 * @action:  "add", "remove", "change", …; "" if the kernel gave none
 * @sysname: "rxe0", "uverbs0"
 */
typedef void (*vbd_uevent_cb)(const char *action, const char *sysname, void *arg);

/**
 * vbd_uevent_create - listen from now on
 *
 * Fails where there are no uevents to hear, as in some containers; then look at the list of devices
 * now and again.
 */
enum vbd_status vbd_uevent_create(
	struct vbd_uevent **ret_uevent, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_uevent_destroy - the descriptor is closed: stop watching it before; NULL is fine */
void vbd_uevent_destroy(struct vbd_uevent *uevent);

/** vbd_uevent_fd - becomes readable when there is news */
int vbd_uevent_fd(const struct vbd_uevent *uevent);

/**
 * vbd_uevent_drain - call back for everything that has come
 *
 * Returns false if the kernel had to drop some: look at the list of devices.
 */
bool vbd_uevent_drain(struct vbd_uevent *uevent, vbd_uevent_cb cb, void *arg);

#endif
