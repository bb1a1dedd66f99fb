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

struct vbd_fabric;
struct vbd_kernel_view;
struct vbd_object_counts;

/* The traffic of all connections and endpoints in the last 15 minutes. */
#define VBD_TRAFFIC_INTERVAL_MS 5000
#define VBD_TRAFFIC_SAMPLES	180

struct vbd_traffic {
	uint64_t taken; /* samples so far; number N is in samples[N % VBD_TRAFFIC_SAMPLES] */
	uint64_t out_bytes, in_bytes; /* since the start, at the newest sample */
	struct vbd_traffic_sample {
		uint64_t at_ns; /* base/clock.h: the end of the interval */
		uint64_t out_bytes_per_s,
			in_bytes_per_s; /* since the sample before; 0 in the first */
	} samples[VBD_TRAFFIC_SAMPLES];
};

/** vbd_traffic_take - take a sample; called at each interval. This takes the same time however many
 * connections there are. */
void vbd_traffic_take(struct vbd_traffic *traffic, const struct vbd_fabric *fabric);

/* clang-format off */
/* Completion queues. X(member of struct vbd_cq_totals, metric, TYPE, help) */
#define VBD_CQ_METRIC_MAP(X) \
	X(outstanding_cqe, "verbsd_cq_outstanding_cqe", GAUGE, "Work requests without a completion yet.") \
	X(high_water_cqe, "verbsd_cq_high_water_cqe", GAUGE, \
		"Highest number of work requests that were outstanding in one queue at a time.") \
	X(reserved_cqe, "verbsd_cq_reserved_cqe", GAUGE, "Entries reserved for queue pairs.") \
	X(capacity_cqe, "verbsd_cq_capacity_cqe", GAUGE, "Completions that the queues hold.") \
	X(completions, "verbsd_cq_completions_total", COUNTER, "Completions taken from the queues.") \
	X(error_completions, "verbsd_cq_error_completions_total", COUNTER, \
		"Completions in error taken from the queues.")

/* Messages of the connection manager. X(enum vbd_counter_set, metric, help) */
#define VBD_CM_METRIC_MAP(X) \
	X(VBD_COUNTER_SET_CM_TX_MSGS, "verbsd_kernel_cm_tx_msgs_total", "CM messages that the kernel sent.") \
	X(VBD_COUNTER_SET_CM_TX_RETRIES, "verbsd_kernel_cm_tx_retries_total", "CM messages that the kernel sent again.") \
	X(VBD_COUNTER_SET_CM_RX_MSGS, "verbsd_kernel_cm_rx_msgs_total", "CM messages that the kernel received.") \
	X(VBD_COUNTER_SET_CM_RX_DUPLICATES, "verbsd_kernel_cm_rx_duplicates_total", \
		"CM messages that the kernel received more than once.")
/* clang-format on */

/** vbd_stats_walk - call @cb with each row; rows of one metric are consecutive */
void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg);

/** vbd_stats_walk_kernel - call @cb with each row of a snapshot of the kernel and of a count of its
 * objects */
void vbd_stats_walk_kernel(const struct vbd_kernel_view *view,
	const struct vbd_object_counts *counts, vbd_stat_cb cb, void *arg);

#endif
