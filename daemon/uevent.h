/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's news of RDMA devices and of network interfaces, on sockets of netlink(7).
 * The caller watches the descriptor that a function opens, and closes it. Opening fails where there
 * is no such socket, as in some containers.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_UEVENT_H
#define VBD_DAEMON_UEVENT_H

#include "base/attr.h"
#include "base/error.h"

/*
 * Uevents of RDMA devices (no udevd needed). Only uevents report every removal: rdma_cm reports
 * none if its module was loaded before ib_uverbs.
 */

/**
 * vbd_uevent_cb - a device of subsystem infiniband or infiniband_verbs has changed
 * @action:  "add", "remove", "change", …; "" if the kernel sent none
 * @sysname: "rxe0", "uverbs0"
 */
typedef void (*vbd_uevent_cb)(const char *action, const char *sysname, void *arg);

/** vbd_uevent_open - a descriptor that is readable after a uevent */
enum vbd_status vbd_uevent_open(int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_uevent_drain - call @cb for every uevent received; false if the kernel dropped some, then
 * scan for devices */
bool vbd_uevent_drain(int fd, vbd_uevent_cb cb, void *arg);

/*
 * Changes of network interfaces and of their addresses, as the kernel tells them by rtnetlink(7).
 * After any of them, what is remembered of GIDs and ports of RDMA devices may be out of date: most
 * changes, such as another name or VLAN of an interface, come without an async event of the device.
 */

/** vbd_linkwatch_open - a descriptor that is readable after a change */
enum vbd_status vbd_linkwatch_open(int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_linkwatch_drain - take what has been told on @fd, but only so much that the loop's turn
 * stays short; false if there was nothing */
bool vbd_linkwatch_drain(int fd);

#endif
