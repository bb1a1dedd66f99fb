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

struct vbd_kernel_view;
struct vbd_object_counts;

enum vbd_stat_type {
	VBD_STAT_GAUGE,
	VBD_STAT_COUNTER,
	VBD_STAT_TIMES, /* a histogram of ns; sum and percentiles in /v1/stats */
};

/* A row of the table, with its value. The texts are valid until the callback returns. */
struct vbd_stat {
	const char *metric; /* name in /metrics; a value of "…_seconds" and "…_seconds_total" is in
			       ns here and in /v1/stats */
	enum vbd_stat_type type;
	const char *help;			/* one line */
	const char *label;			/* name of the first label; NULL: none */
	const char *label2;			/* name of the second label; NULL: none */
	const char *label_value, *label2_value; /* NULL: a sum over the label */
	bool is_sum; /* over a label, or over both: in /v1/stats only, /metrics has the summands */
	uint64_t value;
	const struct vbd_histogram *times; /* if type is VBD_STAT_TIMES */
};

/* VBD_STAT("verbsd_buffers", GAUGE, "Buffers.", .value = n) */
#define VBD_STAT(metric_, type_, help_, ...)                                                \
	{                                                                                   \
		.metric = (metric_), .type = VBD_STAT_##type_, .help = (help_), __VA_ARGS__ \
	}

/* The row of a limit, behind the row of the number that it limits:
 * VBD_STAT_LIMIT("verbsd_buffers_limit", limits, buffers) */
#define VBD_STAT_LIMIT(metric_, limits_, key_) \
	VBD_STAT(metric_, GAUGE, "limits." #key_ " of the configuration.", .value = (limits_)->key_)

typedef void (*vbd_stat_cb)(const struct vbd_stat *stat, void *arg);

/** vbd_stats_walk - call @cb with each row; rows of one metric are consecutive */
void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg);

/** vbd_stats_walk_kernel - call @cb with each row of a snapshot of the kernel and of a count of its
 * objects */
void vbd_stats_walk_kernel(const struct vbd_kernel_view *view,
	const struct vbd_object_counts *counts, vbd_stat_cb cb, void *arg);

/** vbd_stat_is_time - is the value in ns, and in seconds in /metrics? */
bool vbd_stat_is_time(const struct vbd_stat *stat);

/**
 * vbd_stat_flatten - call @cb with each name and value of @stat in /v1/stats
 *
 * The name is the metric's without "verbsd_", "_total" and its unit, then the values of the labels,
 * then the unit: "_bytes", or "_ns" for "_seconds". A histogram has "_count", and "_sum_ns",
 * "_p50_ns" and so on. The memory of the name is valid until the callback returns.
 */
void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

/** vbd_stat_values - call @cb with each value of @stat in /v1/stats, in the order of their names */
void vbd_stat_values(const struct vbd_stat *stat, void (*cb)(uint64_t value, void *arg), void *arg);

#endif
