/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route to an address. The kernel is queried on the thread pool, since its answer waits while
 * network interfaces are being configured.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_NETROUTE_H
#define VBD_DAEMON_OBSERVE_NETROUTE_H

#include "daemon/core/context.h"
#include "rdma/provider/netroute.h"

/** vbd_netroute_cb - @netroute is NULL if the query failed; @err then has the reason */
typedef void (*vbd_netroute_cb)(
	const struct vbd_pv_netroute *netroute, const struct vbd_error *err, void *arg);

/**
 * vbd_netroute_find - find route and neighbour of an address; nothing is sent to it
 * @dst: IPv4 or IPv6
 * @src: source address; NULL or ss_family 0 for any
 * @cb:  called exactly once, unless this function returns an error; also while the daemon is being
 *       destroyed, when it must not access the daemon
 */
enum vbd_status vbd_netroute_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_netroute_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
