/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to an address: asked of the kernel on the thread pool, since it answers only when nobody
 * configures network interfaces.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WAY_H
#define VBD_DAEMON_WAY_H

#include "daemon/context.h"
#include "rdma/way.h"

/** vbd_way_cb - @way is NULL if the kernel could not be asked, then @err says why */
typedef void (*vbd_way_cb)(const struct vbd_pv_way *way, const struct vbd_error *err, void *arg);

/**
 * vbd_way_find - route and neighbour of an address; nothing is sent to it
 * @dst: IPv4 or IPv6
 * @src: to leave from; NULL or ss_family 0 for any
 * @cb:  called exactly once, unless this returns an error; when the daemon is being destroyed too,
 *       and then it must not touch it
 */
enum vbd_status vbd_way_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_way_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
