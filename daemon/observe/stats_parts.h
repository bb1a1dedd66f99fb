/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the table of counters:
 *
 *   stats.c       the order of the table; the daemon, its objects and its fabric; the kernel
 *   stats_work.c  connections, operations, transfers, probes
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_PARTS_H
#define VBD_DAEMON_OBSERVE_STATS_PARTS_H

#include "daemon/observe/stats_row.h"
#include "rdma/device/op.h"

struct vbd_daemon;
struct vbd_fabric;

/* The traffic of all connections and endpoints since the start. */
struct vbd_totals {
	struct vbd_op_totals {
		uint64_t posted, completed, errors, flushed, bytes;
	} ops[VBD_OP_COUNT];
};

/** vbd_totals_of - the traffic of all connections and endpoints, open and ended. The workers keep
 * it, so this takes the same time however many there are. */
void vbd_totals_of(const struct vbd_fabric *fabric, struct vbd_totals *ret_totals);

void vbd_stats_walk_connections(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_ops(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_transfers(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_heartbeats(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);
void vbd_stats_walk_probes(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk);

#endif
