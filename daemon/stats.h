/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter and gauge of the daemon, by name, as in Stats of openapi.yaml. (The layer above
 * adds its own.)
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_STATS_H
#define VBD_DAEMON_STATS_H

#include "daemon/daemon.h"

/** vbd_stats_walk - call @cb with each name and value; the names are stable */
void vbd_stats_walk(const struct vbd_daemon *daemon,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

#endif
