/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of counters against Stats of openapi.yaml. `--print` prints the members of Stats.
 */
#include "api/observe/metrics_parts.h"

#include "api/http/server.h"
#include "daemon/kept/reconciler.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "daemon/work/probes.h"
#include "rdma/data/worker.h"
#include "tests/unit/svc.h"

#define ROWS_MAX  256
#define NAMES_MAX 2048
#define ROW_CHARS 512

struct table {
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
	char name[ROW_CHARS];
	struct table *table = arg;

	format_name(name, stat);
	format_member(table->members[table->count], stat, name);
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->members[i], table->members[table->count]) == 0)
			return;
	}
	table->count++;
	assert_true(table->count < ROWS_MAX);
}

static void walk(const struct svc *svc, vbd_stat_cb cb, void *arg)
{
	const struct vbd_object_counts counts = {.known = true};
	const struct vbd_kernel_view view = {0};
	const struct vbd_server_stats http = {0};

	vbd_api_stats_walk(&http, &svc->daemon->config->limits, true, cb, arg);
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

SVC_TEST(test_stats_table__the_contract_has_each_name)
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
	read_table(svc, table);
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

SVC_TEST(test_stats_table__no_name_stands_for_two_numbers)
{
	struct names *names = calloc(1, sizeof(*names));

	assert_non_null(names);
	walk(svc, add_names, names);
	assert_in_range(names->count, 200, NAMES_MAX);
	free(names);
}

SVC_TEST(test_stats_table__a_name_follows_from_the_metric)
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

SVC_TEST(test_stats_table__metrics_are_named_by_type_and_unit)
{
	walk(svc, check_metric, NULL);
}

struct number {
	const char *name;
	uint64_t value;
	unsigned int found;
};

static void find_value(const char *name, uint64_t value, void *arg)
{
	struct number *number = arg;

	if (strcmp(name, number->name) != 0)
		return;
	number->value = value;
	number->found++;
}

static void find_number(const struct vbd_stat *stat, void *arg)
{
	vbd_stat_flatten(stat, find_value, arg);
}

static void assert_number(const struct svc *svc, uint64_t value, const char *fmt, ...)
	VBD_PRINTF(3, 4);

static void assert_number(const struct svc *svc, uint64_t value, const char *fmt, ...)
{
	char name[ROW_CHARS];
	struct number number = {.name = name};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	walk(svc, find_number, &number);
	if (number.found != 1 || number.value != value)
		fail_msg("%s is there %u times, and is %llu instead of %llu", name, number.found,
			(unsigned long long)number.value, (unsigned long long)value);
}

SVC_TEST(test_stats_table__each_operation_has_its_numbers)
{
	struct vbd_daemon *daemon = svc->daemon;
	struct vbd_op_counters *totals = daemon->fabric->workers[0]->op_totals;

	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		/* Each that was posted has come to one end. */
		vbd_counter_set(&totals[op].posted, 900 + 3 * op);
		vbd_counter_set(&totals[op].completed, 200 + op);
		vbd_counter_set(&totals[op].errors, 300 + op);
		vbd_counter_set(&totals[op].flushed, 400 + op);
		vbd_counter_set(&totals[op].bytes, 500 + op);
		vbd_histogram_add(&daemon->times.queued[op], 600 + op);
		vbd_histogram_add(&daemon->times.wire[op], 700 + op);
	}
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const char *name = vbd_op_name(op);

		assert_number(svc, 900 + 3 * op, "work_requests_posted_%s", name);
		assert_number(svc, 200 + op, "work_requests_completed_%s_ok", name);
		assert_number(svc, 300 + op, "work_requests_completed_%s_error", name);
		assert_number(svc, 400 + op, "work_requests_completed_%s_flushed", name);
		assert_number(svc, 500 + op, "transferred_%s_bytes", name);
		assert_number(svc, 600 + op, "transfer_queue_%s_sum_ns", name);
		assert_number(svc, 700 + op, "transfer_wire_%s_sum_ns", name);
	}
}

SVC_TEST(test_stats_table__each_end_has_its_number)
{
	struct vbd_daemon *daemon = svc->daemon;

	for (enum vbd_reason reason = 0; reason < VBD_REASON_COUNT; reason++) {
		daemon->connections_ended[reason] = 100 + reason;
		daemon->ud_endpoints_ended[reason] = 200 + reason;
	}
	for (enum vbd_refusal how = 0; how < VBD_REFUSAL_COUNT; how++)
		daemon->peer_refusals[how] = 300 + how;
	for (enum vbd_connect_refusal refusal = 0; refusal < VBD_CONNECT_REFUSAL_COUNT; refusal++)
		daemon->connects_refused[refusal] = 400 + refusal;
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		vbd_histogram_add(&daemon->times.phases[phase], 500 + phase);
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++) {
		const char *name = vbd_reason_name(reason);

		assert_number(svc, 100 + reason, "connections_ended_%s", name);
		assert_number(svc, 200 + reason, "ud_endpoints_ended_%s", name);
	}
	for (enum vbd_refusal how = VBD_REFUSAL_NONE + 1; how < VBD_REFUSAL_COUNT; how++)
		assert_number(svc, 300 + how, "peer_refusals_%s", vbd_refusal_name(how));
	for (enum vbd_connect_refusal refusal = 0; refusal < VBD_CONNECT_REFUSAL_COUNT; refusal++)
		assert_number(svc, 400 + refusal, "connects_refused_%s",
			vbd_connect_refusal_name(refusal));
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		assert_number(svc, 500 + phase, "connect_phase_%s_sum_ns", vbd_phase_name(phase));
	daemon->connections_closed = 31;
	daemon->reports_refused = 33;
	assert_number(svc, 33, "peer_reports_refused");
	daemon->connections_failed = 11;
	assert_number(svc, 11, "connections_failed");
	assert_number(svc, 42, "connections_ended");
	daemon->transfers_ended[VBD_TRANSFER_DONE] = 1;
	daemon->transfers_ended[VBD_TRANSFER_FAILED] = 2;
	daemon->transfers_ended[VBD_TRANSFER_CANCELLED] = 3;
	daemon->transfers_ended[VBD_TRANSFER_TIMED_OUT] = 4;
	daemon->probes_done = 5;
	daemon->probes_failed = 6;
	daemon->probes_cancelled = 60;
	daemon->windows_revoked = 7;
	daemon->windows_failed = 8;
	assert_number(svc, 1, "transfers_ended_done");
	assert_number(svc, 2, "transfers_ended_failed");
	assert_number(svc, 3, "transfers_ended_cancelled");
	assert_number(svc, 4, "transfers_ended_timed_out");
	assert_number(svc, 5, "probes_ended_done");
	assert_number(svc, 6, "probes_ended_failed");
	assert_number(svc, 60, "probes_ended_cancelled");
	assert_number(svc, 7, "windows_ended_revoked");
	assert_number(svc, 8, "windows_ended_failed");
}

SVC_TEST(test_stats_table__the_numbers_of_workers_and_events_are_summed)
{
	struct vbd_fabric *fabric = svc->daemon->fabric;
	struct vbd_worker *worker;
	uint64_t events = 0;

	svc->config.workers = 2;
	svc_restart(svc);
	fabric = svc->daemon->fabric;
	for (unsigned int i = 0; i < 2; i++) {
		worker = fabric->workers[i];
		vbd_counter_set(&worker->heartbeat_totals.sent, 100 + i);
		vbd_counter_set(&worker->heartbeat_totals.answered, 200 + i);
		vbd_counter_set(&worker->spun_ns, 300 + i);
		for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
			vbd_counter_set(&worker->probe_totals[kind].sent, 10 + kind);
			vbd_counter_set(&worker->probe_totals[kind].completed, 20 + kind);
			vbd_counter_set(&worker->probe_totals[kind].late, 30 + kind);
			vbd_counter_set(&worker->probe_totals[kind].lost, 40 + kind);
		}
	}
	assert_number(svc, 2, "workers");
	assert_number(svc, 201, "heartbeats_sent");
	assert_number(svc, 401, "heartbeats_answered");
	assert_number(svc, 601, "workers_spun_ns");
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
		const char *name = vbd_probe_kind_name(kind);

		assert_number(svc, 2 * (10 + kind), "probe_pings_sent_%s", name);
		assert_number(svc, 2 * (20 + kind), "probe_pings_completed_%s", name);
		assert_number(svc, 2 * (30 + kind), "probe_pings_late_%s", name);
		assert_number(svc, 2 * (40 + kind), "probe_pings_lost_%s", name);
		assert_number(svc, 0, "probe_rtt_%s_count", name);
	}
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		vbd_counter_set(&fabric->cm_events[type], 50 + (uint64_t)type);
		events += 50 + (uint64_t)type;
	}
	assert_number(svc, events, "cm_events");
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		assert_number(
			svc, 50 + (uint64_t)type, "cm_events_%s", vbd_cm_event_key(type, key));
	}
	for (enum vbd_lane lane = 0; lane < VBD_LANE_COUNT; lane++) {
		assert_number(svc, 0, "calls_running_%s", vbd_lane_name(lane));
		assert_number(svc, 0, "calls_queued_%s", vbd_lane_name(lane));
	}
}

SVC_TEST(test_stats_table__devices_and_their_events_are_counted)
{
	struct vbd_device *first = vbd_fabric_device(svc->daemon->fabric, "fake0");
	struct vbd_device *second;

	(void)fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	second = vbd_fabric_device(svc->daemon->fabric, "fake1");
	vbd_counter_set(&first->async_events[IBV_EVENT_PORT_ERR], 3);
	vbd_counter_set(&second->async_events[IBV_EVENT_PORT_ERR], 4);
	vbd_counter_set(&second->async_events[IBV_EVENT_CQ_ERR], 5);
	assert_number(svc, 7, "async_events_port_err");
	assert_number(svc, 5, "async_events_cq_err");
	assert_number(svc, 2, "devices_present");
	assert_number(svc, 0, "devices_removed");
	assert_number(svc, 2, "pds");
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	assert_number(svc, 1, "devices_present");
	assert_number(svc, 1, "devices_removed");
	assert_number(svc, 1, "pds");
}

SVC_TEST(test_stats_table__records_and_their_limits_have_a_kind)
{
	const struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	uint64_t events;

	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	events = vbd_eventlog_held(svc->daemon->eventlog);
	assert_number(svc, 2, "records_connections");
	assert_number(svc, events, "records_events");
	assert_number(svc, events, "events");
	assert_number(svc, svc->config.records.ended, "records_limit_connections");
	assert_number(svc, svc->config.records.ended, "records_limit_transfers");
	assert_number(svc, svc->config.records.events, "records_limit_events");
	assert_number(svc, 1, "listeners");
	assert_number(svc, 0, "connections");
	assert_number(svc, 0, "draining");
	for (enum vbd_kept_state kept = 0; kept < VBD_KEPT_STATE_COUNT; kept++)
		assert_number(svc, 0, "kept_objects_%s", vbd_kept_state_name(kept));
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

SVC_TEST(test_stats_table__each_limit_has_a_metric)
{
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
		(void)printf("        %s\n", table->members[i]);
	free(table);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest print[] = {
		cmocka_unit_test_setup_teardown(print_rows, svc_setup, svc_teardown),
	};

	if (argc > 1 && strcmp(argv[1], "--print") == 0)
		return cmocka_run_group_tests(print, NULL, NULL);
	return unit_run(argc, argv, NULL, NULL);
}
