/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All counters and gauges of the daemon: one table for /v1/stats, /metrics and docs/monitoring.md.
 * The API layer adds its own rows.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_H
#define VBD_DAEMON_OBSERVE_STATS_H

#include "daemon/core/context.h"
#include "daemon/observe/stats_row.h"

struct vbd_kernel_view;
struct vbd_object_counts;

/** vbd_stats_walk - call @cb with each row; rows of one metric are consecutive */
void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg);

/** vbd_stats_walk_kernel - call @cb with each row of a snapshot of the kernel and of a count of its
 * objects */
void vbd_stats_walk_kernel(const struct vbd_kernel_view *view,
	const struct vbd_object_counts *counts, vbd_stat_cb cb, void *arg);

#endif
