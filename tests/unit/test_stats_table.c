/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of counters against docs/monitoring.md and Stats of openapi.yaml. `--print` prints the
 * rows of docs/monitoring.md, and the members of Stats.
 */
#include "api/resources/api_stats.h"

#include "api/http/server.h"
#include "base/attr.h"
#include "daemon/observe/kernel.h"
#include "tests/unit/svc.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX  256
#define NAMES_MAX 2048
#define ROW_CHARS 512

struct table {
	char docs[ROWS_MAX][ROW_CHARS]; /* "| `buffers_bytes` | `verbsd_buffers_bytes` | ... |" */
	char members[ROWS_MAX][ROW_CHARS]; /* "buffers:", "- `transferred_*_bytes`:" */
	size_t count;
};

/* Every name of /v1/stats and its metric, to find two that are the same. */
struct names {
	char names[NAMES_MAX][ROW_CHARS];
	size_t count;
};

static void copy_name(const char *name, uint64_t value, void *arg)
{
	char *text = arg;

	(void)value;
	if (text[0] == '\0')
		(void)snprintf(text, ROW_CHARS, "%s", name);
}

/* Formats the name in /v1/stats with '*' for the value of a label, and "…" for the members of a
 * histogram. */
static void format_name(char text[ROW_CHARS], const struct vbd_stat *stat)
{
	static struct vbd_histogram none;
	struct vbd_stat row = *stat;

	row.label_value = stat->label_value ? "*" : NULL;
	row.label2_value = stat->label2_value ? "*" : NULL;
	row.times = &none;
	text[0] = '\0';
	vbd_stat_flatten(&row, copy_name, text);
	if (stat->type == VBD_STAT_TIMES)
		memcpy(strstr(text, "_count"), "_…", sizeof("_…"));
}

static const char *type_name(enum vbd_stat_type type)
{
	static const char *const names[] = {"gauge", "counter", "histogram"};

	return names[type];
}

/* Formats a member of Stats: a property, or an item of its description. */
static void format_member(char text[ROW_CHARS], const struct vbd_stat *stat, const char *name)
{
	if (stat->type == VBD_STAT_TIMES || strchr(name, '*'))
		(void)snprintf(text, ROW_CHARS, "- `%.200s`: %.200s", name, stat->help);
	else
		(void)snprintf(text, ROW_CHARS, "%.200s: {type: integer, description: '%.200s'}",
			name, stat->help);
}

static void add_row(const struct vbd_stat *stat, void *arg)
{
	char name[ROW_CHARS], labels[ROW_CHARS] = "";
	struct table *table = arg;
	char *row = table->docs[table->count];

	format_name(name, stat);
	if (stat->label)
		(void)snprintf(labels, sizeof(labels), "{%s%s%s}", stat->label,
			stat->label2 ? "," : "", stat->label2 ? stat->label2 : "");
	assert_true(snprintf(row, ROW_CHARS, "| `%s` | %s`%s%s` | %s | %s |", name,
			    stat->is_sum ? "all of " : "", stat->metric, labels,
			    type_name(stat->type), stat->help) < ROW_CHARS);
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->docs[i], row) == 0)
			return;
	}
	format_member(table->members[table->count], stat, name);
	table->count++;
	assert_true(table->count < ROWS_MAX);
}

static void walk(const struct svc *svc, vbd_stat_cb cb, void *arg)
{
	const struct vbd_object_counts counts = {.known = true};
	const struct vbd_kernel_view view = {0};
	const struct vbd_server_stats http = {0};

	vbd_api_stats_walk(&http, &svc->daemon->config->limits, 0, true, cb, arg);
	vbd_stats_walk(svc->daemon, cb, arg);
	vbd_stats_walk_kernel(&view, &counts, cb, arg);
}

static void read_table(const struct svc *svc, struct table *table)
{
	walk(svc, add_row, table);
}

static char *read_source(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *file = fopen(path, "r");

	assert_non_null(text);
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	(void)fclose(file);
	return text;
}

static void test_stats_table__the_docs_have_each_row(void **state)
{
	char *docs = read_source(VBD_SOURCE_DIR "/docs/monitoring.md");
	struct table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	read_table(*state, table);
	for (size_t i = 0; i < table->count; i++) {
		if (!strstr(docs, table->docs[i]))
			fail_msg("docs/monitoring.md lacks the row\n%s", table->docs[i]);
	}
	free(table);
	free(docs);
}

static void test_stats_table__the_contract_has_each_name(void **state)
{
	char *contract = read_source(VBD_SOURCE_DIR "/openapi.yaml");
	const char *begin = strstr(contract, "\n    Stats:\n");
	struct table *table = calloc(1, sizeof(*table));
	char *end;

	assert_non_null(table);
	assert_non_null(begin);
	end = strstr(begin, "\n    Capability:\n");
	assert_non_null(end);
	end[1] = '\0';
	read_table(*state, table);
	for (size_t i = 0; i < table->count; i++) {
		char line[ROW_CHARS + 16];

		(void)snprintf(line, sizeof(line), "\n        %s\n", table->members[i]);
		if (!strstr(begin, line))
			fail_msg("Stats of openapi.yaml lacks %s", table->members[i]);
	}
	free(table);
	free(contract);
}

static void add_name(const char *name, uint64_t value, void *arg)
{
	struct names *names = arg;

	(void)value;
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->names[i], name) == 0)
			fail_msg("two numbers of /v1/stats are called %s", name);
	}
	assert_true(names->count < NAMES_MAX);
	(void)snprintf(names->names[names->count++], ROW_CHARS, "%s", name);
}

static void add_names(const struct vbd_stat *stat, void *arg)
{
	vbd_stat_flatten(stat, add_name, arg);
}

static void test_stats_table__no_name_stands_for_two_numbers(void **state)
{
	struct names *names = calloc(1, sizeof(*names));

	assert_non_null(names);
	walk(*state, add_names, names);
	assert_in_range(names->count, 200, NAMES_MAX);
	free(names);
}

static void test_stats_table__a_name_follows_from_the_metric(void **state)
{
	static const struct {
		struct vbd_stat stat;
		const char *name;
	} rows[] = {
		{VBD_STAT("verbsd_buffers", GAUGE, ""), "buffers"},
		{VBD_STAT("verbsd_buffers_bytes", GAUGE, ""), "buffers_bytes"},
		{VBD_STAT("verbsd_buffers_limit_bytes", GAUGE, ""), "buffers_limit_bytes"},
		{VBD_STAT("verbsd_connections", GAUGE, "", .label = "state"), "connections"},
		{VBD_STAT("verbsd_connections", GAUGE, "", .label = "state",
			 .label_value = "established"),
			"connections_established"},
		{VBD_STAT("verbsd_transferred_bytes_total", COUNTER, "", .label = "op",
			 .label_value = "write"),
			"transferred_write_bytes"},
		{VBD_STAT("verbsd_work_requests_completed_total", COUNTER, "", .label = "op",
			 .label_value = "send", .label2 = "result", .label2_value = "ok"),
			"work_requests_completed_send_ok"},
		{VBD_STAT("verbsd_collector_duration_seconds", GAUGE, "", .label = "collector",
			 .label_value = "kernel"),
			"collector_duration_kernel_ns"},
		{VBD_STAT("process_cpu_seconds_total", COUNTER, ""), "process_cpu_ns"},
		{VBD_STAT("verbsd_transfer_wire_seconds", TIMES, "", .label = "op",
			 .label_value = "read"),
			"transfer_wire_read_…"},
	};
	char name[ROW_CHARS];

	(void)state;
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_stat stat = rows[i].stat;
		static struct vbd_histogram none;

		stat.times = &none;
		name[0] = '\0';
		vbd_stat_flatten(&stat, copy_name, name);
		if (stat.type == VBD_STAT_TIMES)
			memcpy(strstr(name, "_count"), "_…", sizeof("_…"));
		assert_string_equal(name, rows[i].name);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len > strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static void check_metric(const struct vbd_stat *stat, void *arg)
{
	(void)arg;
	if (ends_with(stat->metric, "_total") != (stat->type == VBD_STAT_COUNTER))
		fail_msg("%s: counters, and no others, end with _total", stat->metric);
	if (stat->type == VBD_STAT_TIMES && !ends_with(stat->metric, "_seconds"))
		fail_msg("%s: times are in seconds", stat->metric);
	if (!stat->is_sum &&
		((stat->label && !stat->label_value) || (stat->label2 && !stat->label2_value)))
		fail_msg("%s: a sum over a label is for /v1/stats only", stat->metric);
}

static void test_stats_table__metrics_are_named_by_type_and_unit(void **state)
{
	walk(*state, check_metric, NULL);
}

struct limit {
	char metric[ROW_CHARS];
	uint64_t value;
	bool found;
};

static void find_limit(const struct vbd_stat *stat, void *arg)
{
	struct limit *limit = arg;

	if (strcmp(stat->metric, limit->metric) == 0) {
		assert_int_equal(stat->value, limit->value);
		limit->found = true;
	}
}

/* "buffers_bytes" is verbsd_buffers_limit_bytes. */
static void assert_limit(const struct svc *svc, const char *key, uint64_t value)
{
	struct limit limit = {.value = value};
	bool bytes = ends_with(key, "_bytes");
	int len = (int)strlen(key) - (bytes ? (int)strlen("_bytes") : 0);

	(void)snprintf(limit.metric, sizeof(limit.metric), "verbsd_%.*s_limit%s", len, key,
		bytes ? "_bytes" : "");
	walk(svc, find_limit, &limit);
	if (!limit.found)
		fail_msg("there is no metric %s", limit.metric);
}

static void test_stats_table__each_limit_has_a_metric(void **state)
{
	const struct svc *svc = *state;

#define ASSERT_LIMIT(name, text, min, max) \
	assert_limit(svc, #name, svc->daemon->config->limits.name);
	VBD_LIMIT_MAP(ASSERT_LIMIT)
#undef ASSERT_LIMIT
}

static void print_rows(void **state)
{
	struct table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	read_table(*state, table);
	for (size_t i = 0; i < table->count; i++)
		(void)printf("%s\n", table->docs[i]);
	for (size_t i = 0; i < table->count; i++)
		(void)printf("        %s\n", table->members[i]);
	free(table);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_stats_table__##name, svc_setup, svc_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_docs_have_each_row),
		TEST(the_contract_has_each_name),
		TEST(no_name_stands_for_two_numbers),
		TEST(a_name_follows_from_the_metric),
		TEST(metrics_are_named_by_type_and_unit),
		TEST(each_limit_has_a_metric),
	};
	const struct CMUnitTest print[] = {
		cmocka_unit_test_setup_teardown(print_rows, svc_setup, svc_teardown),
	};

	if (argc > 1 && strcmp(argv[1], "--print") == 0)
		return cmocka_run_group_tests(print, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
