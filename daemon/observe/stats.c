/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "daemon/core/receives.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/observe/kernel.h"
#include "daemon/work/probes.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static uint64_t sum(const struct vbd_counter *counters, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += vbd_counter_get(&counters[i]);
	return total;
}

void vbd_totals_of(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals)
{
	vbd_connections_totals(daemon, ret_totals);
	vbd_endpoints_add_totals(daemon, ret_totals);
}

struct walk {
	vbd_stat_cb cb;
	void *arg;
};

static void put_rows(const struct walk *walk, const struct vbd_stat *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		walk->cb(&rows[i], walk->arg);
}

/* Pass on the row for one value of its label. */
static void put_of(const struct walk *walk, const struct vbd_stat *row, const char *label_value,
	uint64_t value)
{
	struct vbd_stat stat = *row;

	stat.label_value = label_value;
	stat.value = value;
	walk->cb(&stat, walk->arg);
}

static void put_times(const struct walk *walk, const struct vbd_stat *row, const char *label_value,
	const struct vbd_histogram *times)
{
	struct vbd_stat stat = *row;

	stat.label_value = label_value;
	stat.times = times;
	walk->cb(&stat, walk->arg);
}

static void walk_daemon(const struct vbd_daemon *daemon, const struct walk *walk)
{
	const struct vbd_histogram *lag = vbd_loop_lag(daemon->loop);
	uint64_t up_ns = vbd_clock_mono_ns() - daemon->started_ns;
	const struct vbd_stat rows[] = {
		VBD_STAT("uptime_ms", NULL, GAUGE, "Time since the daemon was started.",
			.value = up_ns / VBD_NS_PER_MS),
		VBD_STAT(NULL, "verbsd_uptime_seconds", SECONDS,
			"Time since the daemon was started.", .value = up_ns),
		VBD_STAT("loop_lag", "verbsd_loop_lag_seconds", TIMES,
			"Longest time that an event waited for the control loop, in each turn of "
			"the loop.",
			.times = lag),
		VBD_STAT(NULL, "verbsd_loop_lag_max_seconds", SECONDS,
			"Maximum of verbsd_loop_lag_seconds since the start.",
			.value = vbd_counter_get(&lag->max)),
		VBD_STAT("events_total", "verbsd_events_total", COUNTER,
			"Events appended to the event log.",
			.value = vbd_eventlog_last(daemon->eventlog)),
		VBD_STAT("events_dropped", "verbsd_events_dropped_total", COUNTER,
			"Events that the log no longer has.",
			.value = vbd_eventlog_dropped(daemon->eventlog)),
	};

	put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_objects(const struct vbd_daemon *daemon, const struct walk *walk)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("connections_open", NULL, GAUGE, "Connections that have not ended.",
			.value = daemon->connections->open),
		VBD_STAT("connections_closed", NULL, COUNTER, "Connections that were closed.",
			.value = daemon->connections_closed),
		VBD_STAT("connections_failed", NULL, COUNTER, "Connections that failed.",
			.value = daemon->connections_failed),
		VBD_STAT("connections_kept", NULL, GAUGE, "Records of ended connections.",
			.value = daemon->connections->ended.count),
		VBD_STAT("listeners", "verbsd_listeners", GAUGE, "Listeners.",
			.value = vbd_registry_count(daemon->listeners)),
		VBD_STAT("buffers", "verbsd_buffers", GAUGE, "Buffers.",
			.value = vbd_registry_count(daemon->buffers)),
		VBD_STAT("pinned_bytes", "verbsd_pinned_bytes", GAUGE, "Memory of all buffers.",
			.value = daemon->buffers_bytes),
		VBD_STAT("receive_bytes", "verbsd_receive_bytes", GAUGE, "Memory of all receives.",
			.value = vbd_receives_bytes(daemon)),
		VBD_STAT("windows", "verbsd_windows", GAUGE,
			"Memory windows that are bound or being bound.",
			.value = daemon->windows->open),
		VBD_STAT("windows_revoked", NULL, COUNTER, "Memory windows that were revoked.",
			.value = daemon->windows_revoked),
		VBD_STAT("windows_failed", NULL, COUNTER, "Memory windows that failed.",
			.value = daemon->windows_failed),
		VBD_STAT("endpoints_open", "verbsd_endpoints", GAUGE,
			"Datagram endpoints that have not ended.",
			.value = daemon->ud_endpoints->open),
		VBD_STAT("endpoints_failed", "verbsd_endpoints_failed_total", COUNTER,
			"Datagram endpoints that failed.", .value = daemon->endpoints_failed),
		VBD_STAT("peers", NULL, GAUGE, "Peers of endpoints.",
			.value = vbd_registry_count(daemon->ud_peers)),
		VBD_STAT("groups", NULL, GAUGE, "Multicast groups of endpoints.",
			.value = vbd_registry_count(daemon->multicast_memberships)),
		VBD_STAT("benchmarks_running", NULL, GAUGE, "Running benchmarks.",
			.value = daemon->benchmarks->open),
	};

	put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void put_limit(const char *name, uint64_t value, void *arg)
{
	static const struct vbd_stat row = VBD_STAT("limit_*", "verbsd_limit", GAUGE,
		"Configured limits, by key under limits of the configuration.", .label = "limit");

	put_of(arg, &row, name, value);
}

static void walk_connections(const struct vbd_daemon *daemon, const struct walk *walk)
{
	static const struct vbd_stat states_row = VBD_STAT("connections_*", "verbsd_connections",
		GAUGE, "Connections that have not ended, by state.", .label = "state");
	static const struct vbd_stat ended_row =
		VBD_STAT("ended_*", "verbsd_connections_ended_total", COUNTER,
			"Connections that ended, by reason.", .label = "reason");
	static const struct vbd_stat phase_row = VBD_STAT("phase_*", "verbsd_connect_phase_seconds",
		TIMES, "Duration of each phase of a connect.", .label = "phase");
	uint64_t states[VBD_CONN_STATE_COUNT];

	vbd_connections_count_states(daemon, states);
	for (enum vbd_conn_state state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		if (!vbd_conn_state_terminal(state))
			put_of(walk, &states_row, vbd_conn_state_name(state), states[state]);
	}
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		put_of(walk, &ended_row, vbd_reason_name(reason), daemon->ended_by_reason[reason]);
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		put_times(walk, &phase_row, vbd_phase_name(phase), &daemon->times.phases[phase]);
}

static void walk_cm_events(const struct vbd_fabric *fabric, const struct walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("cm_event_*", "verbsd_cm_events_total", COUNTER,
		"Events of the connection manager, by type.", .label = "event");
	const struct vbd_stat total =
		VBD_STAT("cm_events", NULL, COUNTER, "Events of the connection manager.",
			.value = sum(fabric->cm_events, VBD_CM_EVENT_TYPES));

	walk->cb(&total, walk->arg);
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		put_of(walk, &row, vbd_cm_event_key(type, key),
			vbd_counter_get(&fabric->cm_events[type]));
	}
}

static void walk_ops(const struct vbd_totals *totals, const struct walk *walk)
{
	static const struct {
		struct vbd_stat row;
		size_t offset;
	} rows[] = {
		{VBD_STAT("op_*_posted", "verbsd_work_requests_posted_total", COUNTER,
			 "Work requests posted, by operation.", .label = "op"),
			offsetof(struct vbd_op_totals, posted)},
		{VBD_STAT("op_*_completed", "verbsd_messages_total", COUNTER,
			 "Work requests completed without error, by operation.", .label = "op"),
			offsetof(struct vbd_op_totals, completed)},
		{VBD_STAT("op_*_bytes", "verbsd_bytes_total", COUNTER,
			 "Bytes that completed work requests moved, by operation.", .label = "op"),
			offsetof(struct vbd_op_totals, bytes)},
		{VBD_STAT("op_*_errors", "verbsd_work_request_errors_total", COUNTER,
			 "Completions in error, without flushes, by operation.", .label = "op"),
			offsetof(struct vbd_op_totals, errors)},
		{VBD_STAT("op_*_flushed", "verbsd_work_requests_flushed_total", COUNTER,
			 "Work requests flushed when their queue pair ended, by operation.",
			 .label = "op"),
			offsetof(struct vbd_op_totals, flushed)},
	};
	const struct vbd_stat sums[] = {
		VBD_STAT("messages_sent", NULL, COUNTER, "Messages that were sent.",
			.value = totals->messages_sent),
		VBD_STAT("messages_received", NULL, COUNTER, "Messages that were received.",
			.value = totals->messages_received),
		VBD_STAT("bytes_sent", NULL, COUNTER, "Bytes of messages that were sent.",
			.value = totals->bytes_sent),
		VBD_STAT("bytes_received", NULL, COUNTER, "Bytes of messages that were received.",
			.value = totals->bytes_received),
		VBD_STAT("bytes_written", NULL, COUNTER, "Bytes of RDMA writes.",
			.value = totals->bytes_written),
		VBD_STAT("bytes_read", NULL, COUNTER, "Bytes of RDMA reads.",
			.value = totals->bytes_read),
	};

	put_rows(walk, sums, VBD_ARRAY_LEN(sums));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
			uint64_t value;

			memcpy(&value, (const char *)&totals->ops[op] + rows[i].offset,
				sizeof(value));
			put_of(walk, &rows[i].row, vbd_op_name(op), value);
		}
	}
}

static void walk_transfers(const struct vbd_daemon *daemon, const struct walk *walk)
{
	static const struct vbd_stat ended_row =
		VBD_STAT("transfers_*", "verbsd_transfers_ended_total", COUNTER,
			"Ended transfers, by state.", .label = "state");
	static const struct vbd_stat queue_row =
		VBD_STAT("transfer_queue_*", "verbsd_transfer_queue_seconds", TIMES,
			"Time from the request to the first work request, of completed transfers.",
			.label = "op");
	static const struct vbd_stat wire_row = VBD_STAT("transfer_wire_*",
		"verbsd_transfer_wire_seconds", TIMES,
		"Time from the first work request to the last completion, of completed transfers.",
		.label = "op");
	const struct vbd_stat running = VBD_STAT("transfers_running", "verbsd_transfers_running",
		GAUGE, "Transfers that have not ended.", .value = daemon->transfers->open);

	walk->cb(&running, walk->arg);
	put_of(walk, &ended_row, "done", daemon->transfers_done);
	put_of(walk, &ended_row, "failed", daemon->transfers_failed);
	put_of(walk, &ended_row, "cancelled", daemon->transfers_cancelled);
	put_of(walk, &ended_row, "timed_out", daemon->transfers_timed_out);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		put_times(walk, &queue_row, vbd_op_name(op), &daemon->times.queued[op]);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		put_times(walk, &wire_row, vbd_op_name(op), &daemon->times.wire[op]);
}

static void walk_pings(const struct vbd_probe_counters totals[VBD_PROBE_KIND_COUNT],
	const struct vbd_stat *row, size_t offset, const struct walk *walk)
{
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
		const struct vbd_counter *counter =
			(const void *)((const char *)&totals[kind] + offset);

		put_of(walk, row, vbd_probe_kind_name(kind), vbd_counter_get(counter));
	}
}

static void walk_probes(const struct vbd_daemon *daemon, const struct walk *walk)
{
	static const struct {
		struct vbd_stat row;
		size_t offset;
	} rows[] = {
		{VBD_STAT("probe_*_sent", "verbsd_probe_sent_total", COUNTER,
			 "Pings that probes sent.", .label = "kind"),
			offsetof(struct vbd_probe_counters, sent)},
		{VBD_STAT("probe_*_completed", NULL, COUNTER, "Pings that returned.",
			 .label = "kind"),
			offsetof(struct vbd_probe_counters, completed)},
		{VBD_STAT("probe_*_late", "verbsd_probe_late_total", COUNTER,
			 "Pings that had not returned when the next one was due.", .label = "kind"),
			offsetof(struct vbd_probe_counters, late)},
		{VBD_STAT("probe_*_lost", "verbsd_probe_lost_total", COUNTER,
			 "Pings that never returned.", .label = "kind"),
			offsetof(struct vbd_probe_counters, lost)},
	};
	static const struct vbd_stat rtt_row = VBD_STAT("probe_rtt_*", "verbsd_probe_rtt_seconds",
		TIMES, "Round trips of probes, by kind of ping.", .label = "kind");
	static const struct vbd_stat ended_row = VBD_STAT("probes_*", "verbsd_probes_ended_total",
		COUNTER, "Ended probes, by state.", .label = "state");
	const struct vbd_stat running = VBD_STAT("probes_running", "verbsd_probes_running", GAUGE,
		"Running probes.", .value = daemon->probes->open);
	struct vbd_probe_counters totals[VBD_PROBE_KIND_COUNT];

	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		vbd_probes_totals(daemon, kind, &totals[kind]);
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		put_times(walk, &rtt_row, vbd_probe_kind_name(kind), &totals[kind].rtt_ns);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		walk_pings(totals, &rows[i].row, rows[i].offset, walk);
	walk->cb(&running, walk->arg);
	put_of(walk, &ended_row, "done", daemon->probes_done);
	put_of(walk, &ended_row, "failed", daemon->probes_failed);
}

static void walk_cqs(const struct vbd_fabric *fabric, const struct walk *walk)
{
	struct vbd_stat rows[] = {
		VBD_STAT("cqs_count", NULL, GAUGE, "Completion queues.", .value = 0),
		VBD_STAT("cqs_outstanding", NULL, GAUGE,
			"Work requests without a completion yet, of all queues.", .value = 0),
		VBD_STAT("cqs_high_water", NULL, GAUGE,
			"Most work requests outstanding at a time in one queue.", .value = 0),
		VBD_STAT("cqs_capacity", NULL, GAUGE, "Completions that all queues hold.",
			.value = 0),
	};

	vbd_list_for_each (link, &fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
		uint64_t most = vbd_counter_get(&cq->high_water);

		rows[0].value++;
		rows[1].value += vbd_counter_get(&cq->outstanding);
		rows[2].value = most > rows[2].value ? most : rows[2].value;
		rows[3].value += cq->capacity_cqe;
	}
	put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_devices(const struct vbd_fabric *fabric, const struct walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("async_event_*", NULL, COUNTER,
		"Async events of all devices, by type.", .label = "event");
	struct vbd_stat sums[] = {
		VBD_STAT("devices", NULL, GAUGE, "Devices that are present.", .value = 0),
		VBD_STAT("async_events", NULL, COUNTER, "Async events of all devices.", .value = 0),
	};

	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		sums[0].value += device->state == VBD_DEVICE_PRESENT;
		sums[1].value += sum(device->async_events, VBD_ASYNC_EVENT_TYPES);
	}
	put_rows(walk, sums, VBD_ARRAY_LEN(sums));
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		uint64_t count = 0;

		if (strcmp(vbd_async_event_name(type), "unknown") == 0)
			continue;
		vbd_list_for_each (link, &fabric->devices)
			count += vbd_counter_get(&VBD_CONTAINER_OF(link, struct vbd_device, link)
							  ->async_events[type]);
		put_of(walk, &row, vbd_async_event_name(type), count);
	}
}

void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg)
{
	struct walk walk = {cb, arg};
	struct vbd_totals totals;

	vbd_totals_of(daemon, &totals);
	walk_daemon(daemon, &walk);
	walk_objects(daemon, &walk);
	vbd_config_walk_limits(daemon->config, put_limit, &walk);
	walk_connections(daemon, &walk);
	walk_cm_events(daemon->fabric, &walk);
	walk_ops(&totals, &walk);
	walk_transfers(daemon, &walk);
	walk_probes(daemon, &walk);
	walk_cqs(daemon->fabric, &walk);
	walk_devices(daemon->fabric, &walk);
}

/* The kernel. */

/* Add up each counter over all messages, ports and devices. */
static void walk_cm_messages(const struct vbd_kernel_view *view, const struct walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("kernel_*", NULL, COUNTER,
		"CM messages of all ports: sent, sent again, received, received more than once.",
		.value = 0);

	uint64_t totals[VBD_COUNTER_SET_COUNT] = {0};

	for (size_t i = 0; i < view->counter_count; i++)
		totals[view->counters[i].set] += view->counters[i].value;
	for (enum vbd_counter_set set = VBD_COUNTER_SET_CM_TX_MSGS; set < VBD_COUNTER_SET_COUNT;
		set++)
		put_of(walk, &row, vbd_counter_set_name(set), totals[set]);
}

static void walk_held(const struct vbd_kernel_view *view, const struct walk *walk)
{
	static const char help[] = "Objects of this process that the kernel holds, and objects "
				   "that verbsd and librdmacm know.";
	const struct vbd_stat rows[] = {
		VBD_STAT("objects_kernel_*", "verbsd_objects", GAUGE, help, .label = "type",
			.by = "kernel"),
		VBD_STAT("objects_verbsd_*", "verbsd_objects", GAUGE, help, .label = "type",
			.by = "verbsd"),
		VBD_STAT("objects_librdmacm_*", "verbsd_objects", GAUGE, help, .label = "type",
			.by = "librdmacm"),
	};
	const struct vbd_stat leaked = VBD_STAT("leaked", "verbsd_leaked", GAUGE,
		"Objects that the kernel holds for this process and that neither verbsd nor "
		"librdmacm knows.",
		.value = view->leaked);

	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++) {
		const char *name = vbd_object_type_name(type);

		if (view->objects_known && view->objects[type] != VBD_PV_UNKNOWN)
			put_of(walk, &rows[0], name, view->objects[type]);
		put_of(walk, &rows[1], name, view->held[type]);
		put_of(walk, &rows[2], name, view->librdmacm[type]);
	}
	if (view->objects_known)
		walk->cb(&leaked, walk->arg);
}

void vbd_stats_walk_kernel(const struct vbd_kernel_view *view, vbd_stat_cb cb, void *arg)
{
	struct walk walk = {cb, arg};
	const struct vbd_stat took = VBD_STAT("kernel_look_ns", "verbsd_kernel_look_seconds",
		SECONDS, "Time that the kernel took to answer.", .value = view->took_ns);

	walk.cb(&took, walk.arg);
	walk_held(view, &walk);
	walk_cm_messages(view, &walk);
}

/* Flat names. */

static void flatten_times(const struct vbd_histogram *times, char *name, size_t name_bytes,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	const struct {
		const char *suffix;
		uint64_t value;
	} rows[] = {
		{"_count", vbd_counter_get(&times->count)},
		{"_sum_ns", vbd_counter_get(&times->sum)},
		{"_p50_ns", vbd_histogram_permille(times, 500)},
		{"_p99_ns", vbd_histogram_permille(times, 990)},
		{"_p999_ns", vbd_histogram_permille(times, 999)},
		{"_max_ns", vbd_counter_get(&times->max)},
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		(void)snprintf(name + len, name_bytes - len, "%s", rows[i].suffix);
		cb(name, rows[i].value, arg);
	}
}

void vbd_stat_flatten(const struct vbd_stat *stat,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	const char *star = stat->name ? strchr(stat->name, '*') : NULL;
	char name[256];

	if (!stat->name)
		return;
	if (star)
		(void)snprintf(name, sizeof(name), "%.*s%s%s", (int)(star - stat->name), stat->name,
			stat->label_value, star + 1);
	else
		(void)snprintf(name, sizeof(name), "%s", stat->name);
	if (stat->times)
		flatten_times(stat->times, name, sizeof(name), cb, arg);
	else
		cb(name, stat->value, arg);
}
