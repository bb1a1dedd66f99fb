/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route to an address. The kernel is asked on the thread pool, since it answers only when
 * nobody configures network interfaces.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_NETROUTE_H
#define VBD_DAEMON_OBSERVE_NETROUTE_H

#include "daemon/core/context.h"
#include "rdma/provider/netroute.h"

/** vbd_netroute_cb - @netroute is NULL if the kernel could not be asked, then @err says why */
typedef void (*vbd_netroute_cb)(
	const struct vbd_pv_netroute *netroute, const struct vbd_error *err, void *arg);

/**
 * vbd_netroute_find - route and neighbour of an address; nothing is sent to it
 * @dst: IPv4 or IPv6
 * @src: to leave from; NULL or ss_family 0 for any
 * @cb:  called exactly once, unless this returns an error; when the daemon is being destroyed too,
 *       and then it must not touch it
 */
enum vbd_status vbd_netroute_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_netroute_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
