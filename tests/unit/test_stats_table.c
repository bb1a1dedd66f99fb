/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of counters against docs/monitoring.md and Stats of openapi.yaml. `--print` prints the
 * rows of docs/monitoring.md.
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
#define ROW_CHARS 512

struct table {
	char docs[ROWS_MAX][ROW_CHARS];	   /* "| `op_*_bytes` | `verbsd_bytes_total{op}` | ... |" */
	char members[ROWS_MAX][ROW_CHARS]; /* "buffers:", "- `op_*_bytes`:" */
	size_t count;
};

static void format_cell(char text[ROW_CHARS], const char *name, const char *suffix)
{
	if (name)
		(void)snprintf(text, ROW_CHARS, "`%.200s%.200s`", name, suffix);
	else
		text[0] = '\0';
}

static void format_labels(char text[ROW_CHARS], const struct vbd_stat *stat)
{
	if (!stat->label)
		text[0] = '\0';
	else
		(void)snprintf(text, ROW_CHARS, "{%s%s}", stat->label, stat->by ? ",by" : "");
}

static const char *type_name(enum vbd_stat_type type)
{
	switch (type) {
	case VBD_STAT_GAUGE:
	case VBD_STAT_SECONDS:
		return "gauge";
	case VBD_STAT_COUNTER:
		return "counter";
	case VBD_STAT_TIMES:
		return "histogram";
	}
	return "";
}

/* Formats a member of Stats: a property, or an item of its description. */
static void format_member(char text[ROW_CHARS], const struct vbd_stat *stat)
{
	bool times = stat->type == VBD_STAT_TIMES;

	if (!stat->name)
		text[0] = '\0';
	else if (times || strchr(stat->name, '*'))
		(void)snprintf(text, ROW_CHARS, "- `%s%s`:", stat->name, times ? "_…" : "");
	else
		(void)snprintf(text, ROW_CHARS, "%s:", stat->name);
}

static void add_row(const struct vbd_stat *stat, void *arg)
{
	char name[ROW_CHARS], metric[ROW_CHARS], labels[ROW_CHARS];
	struct table *table = arg;
	char *row = table->docs[table->count];

	format_cell(name, stat->name, stat->type == VBD_STAT_TIMES ? "_…" : "");
	format_labels(labels, stat);
	format_cell(metric, stat->metric, labels);
	assert_true(snprintf(row, ROW_CHARS, "| %s | %s | %s | %s |", name, metric,
			    type_name(stat->type), stat->help) < ROW_CHARS);
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->docs[i], row) == 0)
			return;
	}
	format_member(table->members[table->count], stat);
	table->count++;
	assert_true(table->count < ROWS_MAX);
}

/* A view with a counter of each set, as from a kernel with a device. */
static void read_table(const struct svc *svc, struct table *table)
{
	struct vbd_kernel_counter counters[] = {
		{.device = "rxe0", .set = VBD_COUNTER_SET_HW, .name = "sent_pkts"},
		{.device = "rxe0", .set = VBD_COUNTER_SET_CM_TX_MSGS, .name = "req"},
	};
	const struct vbd_kernel_view view = {
		.counters = counters,
		.counter_count = VBD_ARRAY_LEN(counters),
		.objects_known = true,
	};
	const struct vbd_server_stats http = {0};

	vbd_api_stats_walk(&http, 0, true, add_row, table);
	vbd_stats_walk(svc->daemon, add_row, table);
	vbd_stats_walk_kernel(&view, add_row, table);
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
	*end = '\0';
	read_table(*state, table);
	for (size_t i = 0; i < table->count; i++) {
		char line[ROW_CHARS + 16];

		(void)snprintf(line, sizeof(line), "\n        %s", table->members[i]);
		if (!strstr(begin, line))
			fail_msg("Stats of openapi.yaml lacks %s", table->members[i]);
	}
	free(table);
	free(contract);
}

static void print_rows(void **state)
{
	struct table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	read_table(*state, table);
	for (size_t i = 0; i < table->count; i++)
		(void)printf("%s\n", table->docs[i]);
	free(table);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_stats_table__##name, svc_setup, svc_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_docs_have_each_row),
		TEST(the_contract_has_each_name),
	};
	const struct CMUnitTest print[] = {
		cmocka_unit_test_setup_teardown(print_rows, svc_setup, svc_teardown),
	};

	if (argc > 1 && strcmp(argv[1], "--print") == 0)
		return cmocka_run_group_tests(print, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
