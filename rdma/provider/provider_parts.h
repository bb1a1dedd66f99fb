/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the real provider: provider_verbs.c (libibverbs), provider_cm.c
 * (librdmacm), provider_ud.c (datagrams of both).
 */
#ifndef VBD_RDMA_PROVIDER_PROVIDER_PARTS_H
#define VBD_RDMA_PROVIDER_PROVIDER_PARTS_H

#include "base/attr.h"
#include "base/error.h"

struct mnl_socket;

/** vbd_netlink_open - a socket for @bus (NETLINK_RDMA, NETLINK_ROUTE) with a receive timeout;
 * not_supported where the kernel has no such bus. mnl_socket_close(3) it. */
enum vbd_status vbd_netlink_open(
	int bus, struct mnl_socket **ret_socket, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_set_nonblocking - reads of @fd do not wait for events */
enum vbd_status vbd_pv_set_nonblocking(int fd, struct vbd_error *err) VBD_MUST_CHECK;

#endif
