/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the table of counters:
 *
 *   stats.c         the order of the table; the daemon and its objects
 *   stats_work.c    connections, operations, transfers, probes
 *   stats_fabric.c  the connection manager, calls that may block, completion queues, devices
 *   stats_kernel.c  the kernel's counters and objects, the process
 *   stats_row.c     rows, and their names in /v1/stats
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_PARTS_H
#define VBD_DAEMON_OBSERVE_STATS_PARTS_H

#include "daemon/observe/stats.h"

struct vbd_stat_walk {
	vbd_stat_cb cb;
	void *arg;
};

/** vbd_stat_put_rows - pass on rows */
void vbd_stat_put_rows(const struct vbd_stat_walk *walk, const struct vbd_stat *rows, size_t count);

/** vbd_stat_put_of - pass on the row for one value of its first label */
void vbd_stat_put_of(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, uint64_t value);

/** vbd_stat_put_of2 - pass on the row for values of both of its labels */
void vbd_stat_put_of2(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const char *label2_value, uint64_t value);

/** vbd_stat_put_times - pass on the row of histograms for one value of its label */
void vbd_stat_put_times(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const struct vbd_histogram *times);

/* Parts of the table. */
void vbd_stats_walk_connections(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_ops(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_transfers(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_heartbeats(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_probes(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_cm_events(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk);
void vbd_stats_walk_calls(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk);
void vbd_stats_walk_qp_pools(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk);
void vbd_stats_walk_workers(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk);
void vbd_stats_walk_cqs(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_devices(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk);

#endif
