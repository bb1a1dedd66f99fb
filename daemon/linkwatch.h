/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of network interfaces and of their addresses, as the kernel tells them by rtnetlink(7).
 * What is remembered of the GIDs and ports of RDMA devices may be out of date after any of them:
 * most have no async event of the device, such as an interface that gets another name or another
 * VLAN.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_LINKWATCH_H
#define VBD_DAEMON_LINKWATCH_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>

/** vbd_linkwatch_open - a descriptor that is readable after a change; the caller closes it. Fails
 * where there is no netlink, as in some containers. */
enum vbd_status vbd_linkwatch_open(int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_linkwatch_drain - take what has been told on @fd, but only so much that the loop's turn
 * stays short; false if there was nothing */
bool vbd_linkwatch_drain(int fd);

#endif
