/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket that the netlink parts of the provider share. Any thread.
 */
#ifndef VBD_RDMA_PROVIDER_NETLINK_H
#define VBD_RDMA_PROVIDER_NETLINK_H

#include "base/attr.h"
#include "base/error.h"

struct mnl_socket;

/** vbd_netlink_open - a socket for @bus (NETLINK_RDMA, NETLINK_ROUTE) with a receive timeout;
 * not_supported where the kernel has no such bus. mnl_socket_close(3) it. */
enum vbd_status vbd_netlink_open(
	int bus, struct mnl_socket **ret_socket, struct vbd_error *err) VBD_MUST_CHECK;

#endif
