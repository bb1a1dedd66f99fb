/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stats.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/connections.h"
#include "daemon/endpoints.h"
#include "daemon/kernel.h"
#include "daemon/probes.h"
#include "daemon/receives.h"
#include "rdma/cq.h"
#include "rdma/fabric.h"
#include "rdma/names.h"

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

static void count_devices(
	const struct vbd_fabric *fabric, uint64_t *ret_present, uint64_t *ret_async_events)
{
	*ret_present = 0;
	*ret_async_events = 0;
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		*ret_present += device->state == VBD_DEVICE_PRESENT;
		*ret_async_events += sum(device->async_events, VBD_ASYNC_EVENT_TYPES);
	}
}

struct walk {
	void (*cb)(const char *name, uint64_t value, void *arg);
	void *arg;
};

/* A name of up to three parts, "op_write_bytes". */
static void put(const struct walk *walk, const char *first, const char *second, const char *third,
	uint64_t value)
{
	char name[192];

	(void)snprintf(name, sizeof(name), "%s_%s%s%s", first, second, third[0] ? "_" : "", third);
	walk->cb(name, value, walk->arg);
}

static void put_times(const struct walk *walk, const char *first, const char *second,
	const struct vbd_histogram *times)
{
	put(walk, first, second, "count", vbd_counter_get(&times->count));
	put(walk, first, second, "sum_ns", vbd_counter_get(&times->sum));
	put(walk, first, second, "p50_ns", vbd_histogram_permille(times, 500));
	put(walk, first, second, "p99_ns", vbd_histogram_permille(times, 990));
	put(walk, first, second, "p999_ns", vbd_histogram_permille(times, 999));
	put(walk, first, second, "max_ns", vbd_counter_get(&times->max));
}

static void walk_daemon(
	const struct vbd_daemon *daemon, const struct vbd_totals *totals, const struct walk *walk)
{
	uint64_t states[VBD_CONN_STATE_COUNT];
	uint64_t devices;
	uint64_t async_events;

	vbd_connections_count_states(daemon, states);
	count_devices(daemon->fabric, &devices, &async_events);
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"uptime_ms", (vbd_clock_mono_ns() - daemon->started_ns) / VBD_NS_PER_MS},
		{"devices", devices},
		{"connections_open", daemon->connections->open},
		{"connections_established", states[VBD_CONN_ESTABLISHED]},
		{"connections_closed", daemon->connections_closed},
		{"connections_failed", daemon->connections_failed},
		{"connections_kept", daemon->connections->ended.count},
		{"listeners", vbd_registry_count(daemon->listeners)},
		{"endpoints_open", daemon->endpoints->open},
		{"endpoints_failed", daemon->endpoints_failed},
		{"peers", vbd_registry_count(daemon->peers)},
		{"groups", vbd_registry_count(daemon->groups)},
		{"buffers", vbd_registry_count(daemon->buffers)},
		{"pinned_bytes", daemon->pinned_bytes},
		{"receive_bytes", vbd_receives_bytes(daemon)},
		{"transfers_running", daemon->transfers->open},
		{"transfers_done", daemon->transfers_done},
		{"transfers_failed", daemon->transfers_failed},
		{"transfers_cancelled", daemon->transfers_cancelled},
		{"transfers_timed_out", daemon->transfers_timed_out},
		{"probes_running", daemon->probes->open},
		{"probes_done", daemon->probes_done},
		{"probes_failed", daemon->probes_failed},
		{"benchmarks_running", daemon->benchmarks->open},
		{"windows", daemon->windows->open},
		{"windows_revoked", daemon->windows_revoked},
		{"windows_failed", daemon->windows_failed},
		{"messages_sent", totals->messages_sent},
		{"messages_received", totals->messages_received},
		{"bytes_sent", totals->bytes_sent},
		{"bytes_received", totals->bytes_received},
		{"bytes_written", totals->bytes_written},
		{"bytes_read", totals->bytes_read},
		{"events_total", vbd_eventlog_last(daemon->eventlog)},
		{"events_dropped", vbd_eventlog_dropped(daemon->eventlog)},
		{"async_events", async_events},
		{"cm_events", sum(daemon->fabric->cm_events, VBD_CM_EVENT_TYPES)},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		walk->cb(rows[i].name, rows[i].value, walk->arg);
}

static void walk_connections(const struct vbd_daemon *daemon, const struct walk *walk)
{
	uint64_t states[VBD_CONN_STATE_COUNT];

	vbd_connections_count_states(daemon, states);
	for (enum vbd_conn_state state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		if (!vbd_conn_state_terminal(state) && state != VBD_CONN_ESTABLISHED)
			put(walk, "connections", vbd_conn_state_name(state), "", states[state]);
	}
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		put(walk, "ended", vbd_reason_name(reason), "", daemon->ended_by_reason[reason]);
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		put(walk, "cm_event", vbd_cm_event_key(type, key), "",
			vbd_counter_get(&daemon->fabric->cm_events[type]));
	}
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		put_times(walk, "phase", vbd_phase_name(phase), &daemon->times.phases[phase]);
}

static void walk_ops(
	const struct vbd_daemon *daemon, const struct vbd_totals *totals, const struct walk *walk)
{
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_totals *of = &totals->ops[op];
		const char *name = vbd_op_name(op);

		put(walk, "op", name, "posted", of->posted);
		put(walk, "op", name, "completed", of->completed);
		put(walk, "op", name, "errors", of->errors);
		put(walk, "op", name, "flushed", of->flushed);
		put(walk, "op", name, "bytes", of->bytes);
		put_times(walk, "transfer_queue", name, &daemon->times.queued[op]);
		put_times(walk, "transfer_wire", name, &daemon->times.wire[op]);
	}
}

static void walk_probes(const struct vbd_daemon *daemon, const struct walk *walk)
{
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
		const char *name = vbd_probe_kind_name(kind);
		struct vbd_probe_counters totals;

		vbd_probes_totals(daemon, kind, &totals);
		put(walk, "probe", name, "sent", vbd_counter_get(&totals.sent));
		put(walk, "probe", name, "completed", vbd_counter_get(&totals.completed));
		put(walk, "probe", name, "late", vbd_counter_get(&totals.late));
		put(walk, "probe", name, "lost", vbd_counter_get(&totals.lost));
		put_times(walk, "probe_rtt", name, &totals.rtt_ns);
	}
}

static void walk_cqs(const struct vbd_fabric *fabric, const struct walk *walk)
{
	uint64_t outstanding = 0;
	uint64_t high_water = 0;
	uint64_t capacity = 0;
	uint64_t count = 0;

	vbd_list_for_each (link, &fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
		uint64_t most = vbd_counter_get(&cq->high_water);

		count++;
		outstanding += vbd_counter_get(&cq->outstanding);
		high_water = most > high_water ? most : high_water;
		capacity += cq->capacity_cqe;
	}
	put(walk, "cqs", "count", "", count);
	put(walk, "cqs", "outstanding", "", outstanding);
	put(walk, "cqs", "high_water", "", high_water);
	put(walk, "cqs", "capacity", "", capacity);
}

static void walk_async_events(const struct vbd_fabric *fabric, const struct walk *walk)
{
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		uint64_t count = 0;

		if (strcmp(vbd_async_event_name(type), "unknown") == 0)
			continue;
		vbd_list_for_each (link, &fabric->devices)
			count += vbd_counter_get(&VBD_CONTAINER_OF(link, struct vbd_device, link)
							  ->async_events[type]);
		put(walk, "async_event", vbd_async_event_name(type), "", count);
	}
}

/* "1/hw_counters/sent_pkts" of rxe0: kernel_hw_rxe0_1_sent_pkts */
static void walk_kernel_ports(const struct vbd_kernel_view *view, const struct walk *walk)
{
	for (size_t i = 0; i < view->counter_count; i++) {
		const struct vbd_kernel_counter *counter = &view->counters[i];
		char port[8], set[16], name[80], place[80];

		if (sscanf(counter->name, "%7[0-9]/%15[^/]/%79s", port, set, name) != 3 ||
			(strcmp(set, "hw_counters") != 0 && strcmp(set, "counters") != 0))
			continue;
		(void)snprintf(place, sizeof(place), "%s_%s", counter->device, port);
		put(walk, set[0] == 'h' ? "kernel_hw" : "kernel_port", place, name, counter->value);
	}
}

/* Those of all messages, ports and devices together. */
static void walk_kernel(const struct vbd_kernel_view *view, const struct walk *walk)
{
	static const char *const sets[] = {
		"cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(sets); i++) {
		uint64_t total = 0;

		for (size_t n = 0; n < view->counter_count; n++)
			total += strstr(view->counters[n].name, sets[i]) ? view->counters[n].value
									 : 0;
		put(walk, "kernel", sets[i], "", total);
	}
	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++) {
		const char *name = vbd_object_type_name(type);

		if (view->objects_known && view->objects[type] != VBD_PV_UNKNOWN)
			put(walk, "objects_kernel", name, "", view->objects[type]);
		put(walk, "objects_verbsd", name, "", view->held[type]);
		put(walk, "objects_librdmacm", name, "", view->librdmacm[type]);
	}
	walk_kernel_ports(view, walk);
	put(walk, "kernel", "look_ns", "", view->took_ns);
	if (view->objects_known)
		walk->cb("leaked", view->leaked, walk->arg);
}

static void put_limit(const char *name, uint64_t value, void *arg)
{
	put(arg, "limit", name, "", value);
}

void vbd_stats_walk(const struct vbd_daemon *daemon,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	struct walk walk = {cb, arg};
	struct vbd_totals totals;

	vbd_totals_of(daemon, &totals);
	walk_daemon(daemon, &totals, &walk);
	vbd_config_walk_limits(daemon->config, put_limit, &walk);
	walk_connections(daemon, &walk);
	walk_ops(daemon, &totals, &walk);
	walk_probes(daemon, &walk);
	walk_cqs(daemon->fabric, &walk);
	walk_async_events(daemon->fabric, &walk);
	put_times(&walk, "loop", "lag", vbd_loop_lag(daemon->loop));
	walk_kernel(vbd_kernel_view(daemon), &walk);
}
