/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the real provider: provider_verbs.c (libibverbs), provider_cm.c
 * (librdmacm), provider_ud.c (datagrams of both).
 */
#ifndef VBD_RDMA_PROVIDER_PROVIDER_PARTS_H
#define VBD_RDMA_PROVIDER_PROVIDER_PARTS_H

#include "base/error.h"

struct ibv_context;
struct ibv_device;
struct mnl_socket;

/** vbd_netlink_open - a socket for @bus (NETLINK_RDMA, NETLINK_ROUTE) with a receive timeout;
 * not_supported where the kernel has no such bus. mnl_socket_close(3) it. */
enum vbd_status vbd_netlink_open(
	int bus, struct mnl_socket **ret_socket, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_set_nonblocking - reads of @fd do not wait for events */
enum vbd_status vbd_pv_set_nonblocking(int fd, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * The contexts that librdmacm opens for itself, one on each device that an id is bound to.
 *
 * librdmacm closes the context of a removed device only after another device has come: it does not
 * read its device list while that list is empty (sync_devices_list() of rdma-core 44 and later).
 * Until then the kernel blocks the removal of the device. Therefore the files of such a context are
 * closed here, once our own context and the last id are gone; /dev/null takes their descriptor
 * numbers, which librdmacm closes later. Nothing is sent to these files any more, as no id is left.
 *
 * Part of the provider of librdmacm. Any thread.
 */

/** vbd_cm_context_bound - an id was bound to a device; @context is librdmacm's (NULL: to none) */
void vbd_cm_context_bound(const struct ibv_context *context);

/** vbd_cm_context_unbound - an id that was bound to @device (NULL: to none) is destroyed */
void vbd_cm_context_unbound(const struct ibv_device *device);

/**
 * vbd_cm_context_device_closed - our own context on @device is about to be closed
 *
 * Does nothing when the device still exists: librdmacm will use its context again.
 */
void vbd_cm_context_device_closed(const struct ibv_device *device);

/** vbd_cm_context_count - the number of contexts, and of contexts that an id uses (librdmacm has a
 * protection domain on each used one) */
void vbd_cm_context_count(unsigned int *ret_contexts, unsigned int *ret_used);

#endif
