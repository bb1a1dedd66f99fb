/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats.h"

#include "daemon/core/quota.h"
#include "daemon/kept/reconciler.h"
#include "daemon/observe/audit.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats_parts.h"
#include "daemon/store/keeper.h"
#include "rdma/device/pd.h"
#include "rdma/device/slab.h"
#include "rdma/fabric/fabric.h"
#include "daemon/core/context.h"
#include "rdma/data/worker.h"

static void walk_daemon(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_loop_lag_seconds", TIMES,
			"Longest time that an event waited for the control loop, in each turn of "
			"the loop.",
			.times = vbd_loop_lag(daemon->loop)),
		VBD_STAT("verbsd_events_total", COUNTER, "Events appended to the event log.",
			.value = vbd_eventlog_appended(daemon->eventlog)),
		VBD_STAT("verbsd_events_evicted_total", COUNTER,
			"Events that made room for newer ones in the event log.",
			.value = vbd_eventlog_dropped(daemon->eventlog)),
		VBD_STAT("verbsd_event_stream_missed_total", COUNTER,
			"Events that clients of the event stream missed, because they came late or "
			"were slow.",
			.value = daemon->event_stream_missed),
		VBD_STAT("verbsd_log_lines_dropped_total", COUNTER,
			"Lines of the log that were lost, because its reader stood still or a "
			"write "
			"failed.",
			.value = vbd_log_state().lines_dropped),
		VBD_STAT("verbsd_audit_lines_dropped_total", COUNTER,
			"Lines that are missing in audit_file, because its disk stood still or a "
			"write failed.",
			.value = vbd_audit_lines_dropped(daemon->audit)),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_store(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	const struct vbd_store_state state = vbd_keeper_state(daemon);
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_store_degraded", GAUGE,
			"1 while there is a state_dir and nothing can be written to it.",
			.value = state.failing),
		VBD_STAT("verbsd_store_waiting", GAUGE,
			"Rows that wait to be written to state_dir; 0: all that has changed is "
			"there.",
			.value = state.waiting),
		VBD_STAT("verbsd_store_written_total", COUNTER, "Rows written to state_dir.",
			.value = state.written),
		VBD_STAT("verbsd_store_dropped_total", COUNTER,
			"Rows that are missing in state_dir, because too many waited or it could "
			"not be used.",
			.value = state.dropped),
		VBD_STAT("verbsd_store_failures_total", COUNTER,
			"Attempts to open or write the database in state_dir that failed.",
			.value = state.failures),
		VBD_STAT("verbsd_draining", GAUGE,
			"1 while the daemon drains or has drained: it begins nothing new.",
			.value = daemon->drain.state != VBD_DRAIN_SERVING),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_kept(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat states_row = VBD_STAT("verbsd_kept_objects", GAUGE,
		"Listeners, buffers and connections that are kept, by state.", .label = "state");
	const struct vbd_reconciler *reconciler = daemon->reconciler;
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_kept_objects", GAUGE,
			"Listeners, buffers and connections that are kept.", .label = "state",
			.is_sum = true, .value = vbd_registry_count(daemon->kept_objects)),
		VBD_STAT_LIMIT("verbsd_objects_limit", &daemon->config->limits, objects),
		VBD_STAT("verbsd_kept_object_tries_total", COUNTER,
			"Times that verbsd has tried by itself to make a kept object.",
			.value = reconciler->tries),
		VBD_STAT("verbsd_kept_object_failures_total", COUNTER,
			"Times that a try failed, or that a kept object has gone.",
			.value = reconciler->failures),
	};

	for (enum vbd_kept_state state = 0; state < VBD_KEPT_STATE_COUNT; state++)
		vbd_stat_put_of(
			walk, &states_row, vbd_kept_state_name(state), reconciler->in_state[state]);
	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void put_record_counts(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk,
	const struct vbd_stat *row, bool is_limit)
{
	uint64_t events = vbd_eventlog_held(daemon->eventlog);

	for (size_t i = 0; i < VBD_KIND_COUNT; i++) {
		const struct vbd_registry *registry = &daemon->registries[i];

		if (registry->kind && registry->kept != VBD_KEPT_WITHIN)
			vbd_stat_put_of(walk, row, registry->plural,
				is_limit ? registry->kept : registry->ended.count);
	}
	vbd_stat_put_of(walk, row, "events", is_limit ? daemon->config->records.events : events);
}

static void walk_records(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("verbsd_records", GAUGE,
		"Records that are kept: of ended objects, by kind, and events.", .label = "kind");
	static const struct vbd_stat limit_row = VBD_STAT("verbsd_records_limit", GAUGE,
		"The keys under records of the configuration.", .label = "kind");

	put_record_counts(daemon, walk, &row, false);
	put_record_counts(daemon, walk, &limit_row, true);
}

/* There are few protection domains: clients create them, and each device has one. */
static struct vbd_slab_use sum_slab_use(const struct vbd_fabric *fabric)
{
	struct vbd_slab_use sum = {0};

	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		vbd_list_for_each_of (struct vbd_pd, pd, link, &device->pds) {
			struct vbd_slab_use use = {0};

			if (pd->slabs)
				use = vbd_slabs_use(pd->slabs);
			sum.registered_bytes += use.registered_bytes;
			sum.taken_bytes += use.taken_bytes;
		}
	}
	return sum;
}

static void walk_memory(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	const struct vbd_config_limits *limits = &daemon->config->limits;
	const struct vbd_slab_use slabs = sum_slab_use(daemon->fabric);
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_buffers", GAUGE, "Buffers.",
			.value = vbd_registry_count(daemon->buffers)),
		VBD_STAT_LIMIT("verbsd_buffers_limit", limits, buffers),
		VBD_STAT("verbsd_buffers_bytes", GAUGE, "Memory of all buffers.",
			.value = daemon->buffers_bytes),
		VBD_STAT_LIMIT("verbsd_buffers_limit_bytes", limits, buffers_bytes),
		VBD_STAT("verbsd_receives_bytes", GAUGE, "Memory of all receives.",
			.value = vbd_receives_bytes(daemon)),
		VBD_STAT_LIMIT("verbsd_receives_limit_bytes", limits, receives_bytes),
		VBD_STAT("verbsd_receive_slabs_bytes", GAUGE,
			"Memory that is registered for the receives of connections and endpoints.",
			.value = slabs.registered_bytes),
		VBD_STAT("verbsd_receive_slabs_taken_bytes", GAUGE,
			"The part of receive_slabs_bytes that connections and endpoints have.",
			.value = slabs.taken_bytes),
		VBD_STAT("verbsd_kept_messages_bytes", GAUGE,
			"Memory of the unread messages of ended connections and endpoints.",
			.value = daemon->kept_messages_bytes),
		VBD_STAT("verbsd_kept_messages_limit_bytes", GAUGE,
			"records.messages_bytes of the configuration.",
			.value = daemon->config->records.messages_bytes),
		VBD_STAT("verbsd_messages_dropped_total", COUNTER,
			"Received messages lost for lack of memory, or of room under "
			"records.messages_bytes.",
			.value = daemon->messages_dropped),
		VBD_STAT("verbsd_windows", GAUGE, "Memory windows that are bound or being bound.",
			.value = daemon->windows->open),
		VBD_STAT("verbsd_pds", GAUGE, "Protection domains.",
			.value = vbd_registry_count(daemon->pds)),
		VBD_STAT("verbsd_faults", GAUGE,
			"Faults that clients have injected and not deleted.",
			.value = vbd_registry_count(daemon->faults)),
		VBD_STAT("verbsd_srqs", GAUGE, "Shared receive queues.",
			.value = vbd_registry_count(daemon->srqs)),
	};
	static const struct vbd_stat ended_row = VBD_STAT("verbsd_windows_ended_total", COUNTER,
		"Memory windows that ended, by state.", .label = "state");

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
	vbd_stat_put_of(walk, &ended_row, "revoked", daemon->windows_revoked);
	vbd_stat_put_of(walk, &ended_row, "failed", daemon->windows_failed);
}

static void walk_datagrams(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_ud_endpoints", GAUGE,
			"Datagram endpoints, and failed ones that were not deleted.",
			.value = vbd_registry_count(daemon->ud_endpoints)),
		VBD_STAT("verbsd_ud_peers", GAUGE, "Peers of datagram endpoints.",
			.value = vbd_registry_count(daemon->ud_peers)),
		VBD_STAT("verbsd_multicast_memberships", GAUGE,
			"Memberships of datagram endpoints in multicast groups.",
			.value = vbd_registry_count(daemon->multicast_memberships)),
	};
	static const struct vbd_stat ended_row = VBD_STAT("verbsd_ud_endpoints_ended_total",
		COUNTER, "Datagram endpoints that ended, by reason.", .label = "reason");

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		vbd_stat_put_of(walk, &ended_row, vbd_reason_name(reason),
			daemon->ud_endpoints_ended[reason]);
}

static uint64_t sum_counters(const struct vbd_counter *counters, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += vbd_counter_get(&counters[i]);
	return total;
}

static void walk_cm_events(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("verbsd_cm_events_total", COUNTER,
		"Events of the connection manager, by type.", .label = "event");
	const struct vbd_stat total = VBD_STAT("verbsd_cm_events_total", COUNTER,
		"Events of the connection manager.", .label = "event", .is_sum = true,
		.value = sum_counters(fabric->cm_events, VBD_CM_EVENT_TYPES));

	walk->cb(&total, walk->arg);
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		vbd_stat_put_of(walk, &row, vbd_cm_event_key(type, key),
			vbd_counter_get(&fabric->cm_events[type]));
	}
}

static void walk_calls(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat running_row = VBD_STAT("verbsd_calls_running", GAUGE,
		"Calls that may block and run on a thread of their own, by lane.", .label = "lane");
	static const struct vbd_stat queued_row = VBD_STAT("verbsd_calls_queued", GAUGE,
		"Calls that wait for a thread of their lane.", .label = "lane");
	unsigned int queued[VBD_LANE_COUNT], running;

	/* The series of a metric stand together. */
	for (enum vbd_lane lane = 0; lane < VBD_LANE_COUNT; lane++) {
		vbd_calls_load(fabric->calls, lane, &queued[lane], &running);
		vbd_stat_put_of(walk, &running_row, vbd_lane_name(lane), running);
	}
	for (enum vbd_lane lane = 0; lane < VBD_LANE_COUNT; lane++)
		vbd_stat_put_of(walk, &queued_row, vbd_lane_name(lane), queued[lane]);
}

static void walk_workers(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
{
	uint64_t spun_ns = 0, busy = 0;

	for (unsigned int i = 0; i < fabric->worker_count; i++) {
		spun_ns += vbd_counter_get(&fabric->workers[i]->spun_ns);
		busy += vbd_counter_get(&fabric->workers[i]->busy_channels);
	}
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_workers", GAUGE, "Data workers, each a thread.",
			.value = fabric->worker_count),
		VBD_STAT("verbsd_busy_polled", GAUGE,
			"Queue pairs with poll busy: a worker that has one does not sleep.",
			.value = busy),
		VBD_STAT("verbsd_workers_spun_seconds_total", COUNTER,
			"Processor time that workers spent on polling queues that were empty, for "
			"poll busy and adaptive.",
			.value = spun_ns),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_cqs(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	struct vbd_cq_totals totals;

	vbd_fabric_cq_totals(daemon->fabric, NULL, &totals);
#define CQ_SUM(member, metric_, type_, help_) \
	VBD_STAT(metric_, type_, help_, .label = "device", .is_sum = true, .value = totals.member),
	const struct vbd_stat rows[] = {VBD_STAT("verbsd_cqs", GAUGE, "Completion queues.",
						.value = vbd_registry_count(daemon->cqs)),
		VBD_CQ_METRIC_MAP(CQ_SUM)};
#undef CQ_SUM

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_devices(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat state_row =
		VBD_STAT("verbsd_devices", GAUGE, "RDMA devices, by state.", .label = "state");
	static const struct vbd_stat event_row = VBD_STAT("verbsd_async_events_total", COUNTER,
		"Async events of all devices, by type.", .label = "event", .label2 = "device",
		.is_sum = true);
	uint64_t states[VBD_DEVICE_STATE_COUNT] = {0};

	vbd_list_for_each (link, &fabric->devices)
		states[VBD_CONTAINER_OF(link, struct vbd_device, link)->state]++;
	for (enum vbd_device_state state = 0; state < VBD_DEVICE_STATE_COUNT; state++)
		vbd_stat_put_of(walk, &state_row, vbd_device_state_name(state), states[state]);
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		uint64_t count = 0;

		if (strcmp(vbd_async_event_name(type), "unknown") == 0)
			continue;
		vbd_list_for_each (link, &fabric->devices)
			count += vbd_counter_get(&VBD_CONTAINER_OF(link, struct vbd_device, link)
							  ->async_events[type]);
		vbd_stat_put_of(walk, &event_row, vbd_async_event_name(type), count);
	}
}

void vbd_stats_walk(const struct vbd_daemon *daemon, vbd_stat_cb cb, void *arg)
{
	struct vbd_stat_walk walk = {cb, arg};

	walk_daemon(daemon, &walk);
	walk_store(daemon, &walk);
	walk_records(daemon, &walk);
	walk_kept(daemon, &walk);
	vbd_stats_walk_connections(daemon, &walk);
	walk_cm_events(daemon->fabric, &walk);
	walk_memory(daemon, &walk);
	walk_datagrams(daemon, &walk);
	vbd_stats_walk_ops(daemon, &walk);
	vbd_stats_walk_transfers(daemon, &walk);
	vbd_stats_walk_probes(daemon, &walk);
	vbd_stats_walk_heartbeats(daemon, &walk);
	walk_calls(daemon->fabric, &walk);
	walk_workers(daemon->fabric, &walk);
	walk_cqs(daemon, &walk);
	walk_devices(daemon->fabric, &walk);
}

/* --- the kernel ------------------------------------------------------------------------------ */

/* Add up each counter over all messages, ports and devices. */
static void walk_cm_messages(const struct vbd_kernel_view *view, const struct vbd_stat_walk *walk)
{
	uint64_t totals[VBD_COUNTER_SET_COUNT] = {0};

#define CM_SUM(set, metric_, help_)                                                       \
	VBD_STAT(metric_, COUNTER, help_, .label = "device,port,message", .is_sum = true, \
		.value = totals[set]),
	for (size_t i = 0; i < view->counter_count; i++)
		totals[view->counters[i].set] += view->counters[i].value;
	const struct vbd_stat rows[] = {VBD_CM_METRIC_MAP(CM_SUM)};
#undef CM_SUM

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

static void walk_objects(const struct vbd_object_counts *counts, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat kernel_row = VBD_STAT("verbsd_kernel_objects", GAUGE,
		"Objects that the kernel holds for this process, by type.", .label = "type");
	static const struct vbd_stat known_row = VBD_STAT("verbsd_known_objects", GAUGE,
		"Objects that verbsd and librdmacm know that they own, by type.", .label = "type",
		.label2 = "owner");
	const struct vbd_stat leaked = VBD_STAT("verbsd_leaked_objects", GAUGE,
		"Objects that the kernel holds for this process and that neither verbsd nor "
		"librdmacm knows.",
		.value = counts->leaked);

	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++) {
		if (counts->known && counts->kernel[type] != VBD_PV_UNKNOWN)
			vbd_stat_put_of(walk, &kernel_row, vbd_object_type_name(type),
				counts->kernel[type]);
	}
	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++) {
		const char *name = vbd_object_type_name(type);

		vbd_stat_put_of2(walk, &known_row, name, "verbsd", counts->held[type]);
		vbd_stat_put_of2(walk, &known_row, name, "librdmacm", counts->librdmacm[type]);
	}
	if (counts->known)
		walk->cb(&leaked, walk->arg);
}

static void walk_process(const struct vbd_process *process, const struct vbd_stat_walk *walk)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("process_cpu_seconds_total", COUNTER,
			"CPU time of all threads, in user and kernel mode.",
			.value = process->cpu_ns),
		VBD_STAT("process_resident_memory_bytes", GAUGE, "Memory in RAM.",
			.value = process->resident_bytes),
		VBD_STAT("process_virtual_memory_bytes", GAUGE, "Address space.",
			.value = process->virtual_bytes),
		VBD_STAT("process_open_fds", GAUGE, "Open file descriptors.",
			.value = process->open_fds),
		VBD_STAT("process_max_fds", GAUGE,
			"Maximum number of file descriptors that may be open.",
			.value = process->max_fds),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

void vbd_stats_walk_kernel(const struct vbd_kernel_view *view,
	const struct vbd_object_counts *counts, vbd_stat_cb cb, void *arg)
{
	const struct vbd_stat_walk walk = {cb, arg};
	static const struct vbd_stat duration_row = VBD_STAT("verbsd_collector_duration_seconds",
		GAUGE, "Time that a collector took for its numbers.", .label = "collector");

	static const struct vbd_stat age_row = VBD_STAT("verbsd_collector_age_seconds", GAUGE,
		"Time since a collector began to count. The kernel's objects are counted for at "
		"most a tenth of the time.",
		.label = "collector");
	uint64_t age_ns = counts->counted_ns ? vbd_clock_mono_ns() - counts->counted_ns : 0;

	vbd_stat_put_of(&walk, &duration_row, "kernel", view->took_ns);
	vbd_stat_put_of(&walk, &duration_row, "kernel_objects", counts->took_ns);
	vbd_stat_put_of(&walk, &age_row, "kernel_objects", age_ns);
	walk_process(&view->process, &walk);
	walk_objects(counts, &walk);
	walk_cm_messages(view, &walk);
}
