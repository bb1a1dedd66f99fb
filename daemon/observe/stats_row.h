/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the table of counters (stats.h): how the parts of the table write rows, and the names
 * that a row has in /v1/stats.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_STATS_ROW_H
#define VBD_DAEMON_OBSERVE_STATS_ROW_H

#include "base/histogram.h"

#include <stdbool.h>
#include <stddef.h>

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

struct vbd_stat_walk {
	vbd_stat_cb cb;
	void *arg;
};

/** vbd_stat_put_rows - call the walk's callback with rows */
void vbd_stat_put_rows(const struct vbd_stat_walk *walk, const struct vbd_stat *rows, size_t count);

/** vbd_stat_put_of - call the walk's callback with @row, for one value of its first label */
void vbd_stat_put_of(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, uint64_t value);

/** vbd_stat_put_of2 - call the walk's callback with @row, for values of both of its labels */
void vbd_stat_put_of2(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const char *label2_value, uint64_t value);

/** vbd_stat_put_times - call the walk's callback with @row, a histogram, for one value of its
 * label */
void vbd_stat_put_times(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const struct vbd_histogram *times);

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

#endif
