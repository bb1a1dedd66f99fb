/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter and gauge of the daemon, by name, as in Stats of openapi.yaml. (The layer above
 * adds its own.)
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_STATS_H
#define VBD_DAEMON_STATS_H

#include "daemon/context.h"

/** vbd_totals_of - what all connections and endpoints, open and ended, have moved */
void vbd_totals_of(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals);

/** vbd_stats_walk - call @cb with each name and value; the names are stable, and are the callback's
 * until it returns. What the kernel says is of the last look (daemon/kernel.h). */
void vbd_stats_walk(const struct vbd_daemon *daemon,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

#endif
