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

/** vbd_totals_of - the traffic of all connections and endpoints, open and ended */
void vbd_totals_of(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals);

struct vbd_kernel_view;

enum vbd_stat_type {
	VBD_STAT_GAUGE,
	VBD_STAT_COUNTER,
	VBD_STAT_SECONDS, /* a gauge in ns; in seconds in /metrics */
	VBD_STAT_TIMES,	  /* a histogram of ns; sum and percentiles in /v1/stats */
};

/* A row of the table, with its value. The texts are valid until the callback returns. */
struct vbd_stat {
	const char *name;   /* in /v1/stats, "op_*_bytes": '*' is the label's value; NULL: none */
	const char *metric; /* in /metrics; NULL: none */
	enum vbd_stat_type type;
	const char *help;  /* one line */
	const char *label; /* name of the label; NULL: none */
	const char *label_value;
	const char *by; /* value of a second label, "by"; NULL: none */
	uint64_t value;
	const struct vbd_histogram *times; /* if type is VBD_STAT_TIMES */
};

/* VBD_STAT("buffers", "verbsd_buffers", GAUGE, "Buffers.", .value = n) */
#define VBD_STAT(name_, metric_, type_, help_, ...)                                              \
	{                                                                                        \
		.name = (name_), .metric = (metric_), .type = VBD_STAT_##type_, .help = (help_), \
		__VA_ARGS__                                                                      \
	}

typedef void (*vbd_stat_cb)(const struct vbd_stat *stat, void *arg);

/** vbd_stats_walk - call @cb with each row; rows of one metric are consecutive */
void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg);

/** vbd_stats_walk_kernel - call @cb with each row of a snapshot of the kernel */
void vbd_stats_walk_kernel(const struct vbd_kernel_view *view, vbd_stat_cb cb, void *arg);

/** vbd_stat_flatten - call @cb with each name and value of @stat in /v1/stats. The names are
 * stable; their memory is valid until the callback returns. */
void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

#endif
