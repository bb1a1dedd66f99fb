/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats_row.h"

#include "base/attr.h"
#include "base/text.h"

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

/* Texts are copied without printf(3): an answer has several hundred names. */
struct name {
	char text[NAME_BYTES];
	size_t len;
};

static void append_text(struct name *name, const char *text)
{
	name->len += vbd_text_copy(name->text + name->len, NAME_BYTES - name->len, text);
}

/* Cut @end off @name if the name ends so. */
static bool cut_suffix(struct name *name, const char *end)
{
	size_t end_len = strlen(end);

	if (name->len <= end_len || strcmp(name->text + name->len - end_len, end) != 0)
		return false;
	name->len -= end_len;
	name->text[name->len] = '\0';
	return true;
}

/* Write the name without its unit. Returns the unit. */
static const char *write_base_name(const struct vbd_stat *stat, struct name *name)
{
	static const char prefix[] = "verbsd_";
	const char *labels[] = {stat->label_value, stat->label2_value};
	const char *metric = stat->metric;
	const char *unit;

	if (strncmp(metric, prefix, strlen(prefix)) == 0)
		metric += strlen(prefix);
	append_text(name, metric);
	(void)cut_suffix(name, "_total");
	if (cut_suffix(name, "_bytes"))
		unit = "_bytes";
	else
		unit = cut_suffix(name, "_seconds") ? "_ns" : "";
	for (size_t i = 0; i < VBD_ARRAY_LEN(labels) && labels[i]; i++) {
		append_text(name, "_");
		append_text(name, labels[i]);
	}
	return unit;
}

bool vbd_stat_is_time(const struct vbd_stat *stat)
{
	return strstr(stat->metric, "_seconds") != NULL;
}

static void flatten_times(const struct vbd_histogram *times, struct name *name,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	const struct {
		const char *suffix;
		uint64_t value;
	} values[] = {
		{"_count", vbd_counter_get(&times->count)},
		{"_sum_ns", vbd_counter_get(&times->sum)},
		{"_p50_ns", vbd_histogram_permille(times, 500)},
		{"_p99_ns", vbd_histogram_permille(times, 990)},
		{"_p999_ns", vbd_histogram_permille(times, 999)},
		{"_max_ns", vbd_counter_get(&times->max)},
	};
	size_t len = name->len;

	for (size_t i = 0; i < VBD_ARRAY_LEN(values); i++) {
		name->len = len;
		append_text(name, values[i].suffix);
		cb(name->text, values[i].value, arg);
	}
}

void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	struct name name = {.len = 0};
	const char *unit = write_base_name(stat, &name);

	if (stat->type == VBD_STAT_TIMES) {
		flatten_times(stat->times, &name, cb, arg);
		return;
	}
	append_text(&name, unit);
	cb(name.text, stat->value, arg);
}
