/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats_row.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 256

void vbd_stat_put_rows(const struct vbd_stat_walk *walk, const struct vbd_stat *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		walk->cb(&rows[i], walk->arg);
}

void vbd_stat_put_of(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, uint64_t value)
{
	vbd_stat_put_of2(walk, row, label_value, NULL, value);
}

void vbd_stat_put_of2(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const char *label2_value, uint64_t value)
{
	struct vbd_stat stat = *row;

	stat.label_value = label_value;
	stat.label2_value = label2_value;
	stat.value = value;
	walk->cb(&stat, walk->arg);
}

void vbd_stat_put_times(const struct vbd_stat_walk *walk, const struct vbd_stat *row,
	const char *label_value, const struct vbd_histogram *times)
{
	struct vbd_stat stat = *row;

	stat.label_value = label_value;
	stat.times = times;
	walk->cb(&stat, walk->arg);
}

/* --- names in /v1/stats ----------------------------------------------------------------------- */

/* Cut @end off @name if the name ends so. */
static bool cut(char *name, const char *end)
{
	size_t len = strlen(name);
	size_t end_len = strlen(end);

	if (len <= end_len || strcmp(name + len - end_len, end) != 0)
		return false;
	name[len - end_len] = '\0';
	return true;
}

static void append(char name[NAME_BYTES], const char *before, const char *text)
{
	size_t len = strlen(name);

	(void)snprintf(name + len, NAME_BYTES - len, "%s%s", before, text);
}

/* Write the name without its unit. Returns the unit. */
static const char *begin_name(const struct vbd_stat *stat, char name[NAME_BYTES])
{
	static const char prefix[] = "verbsd_";
	const char *metric = stat->metric;
	const char *unit;

	if (strncmp(metric, prefix, strlen(prefix)) == 0)
		metric += strlen(prefix);
	(void)snprintf(name, NAME_BYTES, "%s", metric);
	(void)cut(name, "_total");
	if (cut(name, "_bytes"))
		unit = "_bytes";
	else
		unit = cut(name, "_seconds") ? "_ns" : "";
	if (stat->label_value)
		append(name, "_", stat->label_value);
	if (stat->label2_value)
		append(name, "_", stat->label2_value);
	return unit;
}

bool vbd_stat_is_time(const struct vbd_stat *stat)
{
	return strstr(stat->metric, "_seconds") != NULL;
}

/* The values of a histogram, in the order of vbd_stat_values(). */
static const char *const times_suffixes[] = {
	"_count", "_sum_ns", "_p50_ns", "_p99_ns", "_p999_ns", "_max_ns"};

void vbd_stat_values(const struct vbd_stat *stat, void (*cb)(uint64_t value, void *arg), void *arg)
{
	const struct vbd_histogram *times = stat->times;

	if (stat->type != VBD_STAT_TIMES) {
		cb(stat->value, arg);
		return;
	}
	cb(vbd_counter_get(&times->count), arg);
	cb(vbd_counter_get(&times->sum), arg);
	cb(vbd_histogram_permille(times, 500), arg);
	cb(vbd_histogram_permille(times, 990), arg);
	cb(vbd_histogram_permille(times, 999), arg);
	cb(vbd_counter_get(&times->max), arg);
}

struct flattening {
	const char *const *suffixes;
	char *name;
	size_t len; /* without the suffix */
	void (*cb)(const char *name, uint64_t value, void *arg);
	void *arg;
};

static void flatten_value(uint64_t value, void *arg)
{
	struct flattening *flattening = arg;

	flattening->name[flattening->len] = '\0';
	append(flattening->name, "", *flattening->suffixes++);
	flattening->cb(flattening->name, value, flattening->arg);
}

void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	char name[NAME_BYTES];
	const char *unit = begin_name(stat, name);
	struct flattening flattening = {
		.suffixes = stat->type == VBD_STAT_TIMES ? times_suffixes : &unit,
		.name = name,
		.len = strlen(name),
		.cb = cb,
		.arg = arg,
	};

	vbd_stat_values(stat, flatten_value, &flattening);
}
