/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses at which a peer reaches a listener by RDMA.
 *
 * Control thread. Reads the GID tables and the interfaces from the kernel: microseconds.
 */
#ifndef VBD_DAEMON_CONNECTIONS_LISTENER_REACH_H
#define VBD_DAEMON_CONNECTIONS_LISTENER_REACH_H

#include <stddef.h>
#include <sys/socket.h>

struct vbd_device;
struct vbd_listener;

/* An address of a device; the port is the listener's. */
struct vbd_reach {
	const struct vbd_device *device;
	struct sockaddr_storage addr;
};

/**
 * vbd_listener_reach - the addresses of devices at which @listener takes requests
 * @ret_reach: for free(3); link-local addresses only if the listener has one itself
 *
 * Returns their number: 0 while the listener is lost, or if no active port has such an address.
 * Without memory for all it is the number of those that it found before.
 */
size_t vbd_listener_reach(const struct vbd_listener *listener, struct vbd_reach **ret_reach);

#endif
