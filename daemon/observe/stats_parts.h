/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the table of counters:
 *
 *   stats.c         the order of the table; the daemon and its objects
 *   stats_work.c    connections, operations, transfers, probes
 *   stats_fabric.c  the connection manager, calls that may block, completion queues, devices
 *   stats_kernel.c  the kernel's counters and objects, the process
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_PARTS_H
#define VBD_DAEMON_OBSERVE_STATS_PARTS_H

#include "daemon/observe/stats_row.h"

struct vbd_daemon;
struct vbd_fabric;

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
