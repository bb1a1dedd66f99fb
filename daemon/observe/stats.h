/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter and gauge of the daemon: one table for /v1/stats, /metrics and docs/monitoring.md.
 * (The layer above adds its own rows.)
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_H
#define VBD_DAEMON_OBSERVE_STATS_H

#include "daemon/core/context.h"

/** vbd_totals_of - what all connections and endpoints, open and ended, have moved */
void vbd_totals_of(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals);

struct vbd_kernel_view;

enum vbd_stat_type {
	VBD_STAT_GAUGE,
	VBD_STAT_COUNTER,
	VBD_STAT_SECONDS, /* a gauge in ns; /metrics has it in seconds */
	VBD_STAT_TIMES,	  /* a histogram of ns; /v1/stats has its sum and percentiles */
};

/* A row of the table, and its value. Texts are the caller's until the callback returns. */
struct vbd_stat {
	const char *name;   /* of /v1/stats, "op_*_bytes": '*' stands for the label's value. */
	const char *metric; /* of /metrics. Either is NULL if it is not there. */
	enum vbd_stat_type type;
	const char *help;  /* one line */
	const char *label; /* NULL: none */
	const char *label_value;
	const char *by; /* value of a second label with that name; NULL: none */
	uint64_t value;
	const struct vbd_histogram *times; /* VBD_STAT_TIMES */
};

/* VBD_STAT("buffers", "verbsd_buffers", GAUGE, "Buffers.", .value = n) */
#define VBD_STAT(name_, metric_, type_, help_, ...)                                              \
	{                                                                                        \
		.name = (name_), .metric = (metric_), .type = VBD_STAT_##type_, .help = (help_), \
		__VA_ARGS__                                                                      \
	}

typedef void (*vbd_stat_cb)(const struct vbd_stat *stat, void *arg);

/** vbd_stats_walk - call @cb with each row; rows of one metric come together */
void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg);

/** vbd_stats_walk_kernel - the same for the last snapshot of the kernel */
void vbd_stats_walk_kernel(const struct vbd_kernel_view *view, vbd_stat_cb cb, void *arg);

/** vbd_stat_flatten - call @cb with each name and value that @stat has in /v1/stats; the names are
 * stable, and are the callback's until it returns */
void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

#endif
