/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats_parts.h"

#include "daemon/core/context.h"
#include "daemon/core/registry.h"
#include "rdma/data/calls.h"
#include "rdma/data/worker.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/names.h"

static uint64_t sum(const struct vbd_counter *counters, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += vbd_counter_get(&counters[i]);
	return total;
}

void vbd_stats_walk_cm_events(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat row = VBD_STAT("verbsd_cm_events_total", COUNTER,
		"Events of the connection manager, by type.", .label = "event");
	const struct vbd_stat total = VBD_STAT("verbsd_cm_events_total", COUNTER,
		"Events of the connection manager.", .label = "event", .is_sum = true,
		.value = sum(fabric->cm_events, VBD_CM_EVENT_TYPES));

	walk->cb(&total, walk->arg);
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		vbd_stat_put_of(walk, &row, vbd_cm_event_key(type, key),
			vbd_counter_get(&fabric->cm_events[type]));
	}
}

void vbd_stats_walk_calls(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
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

void vbd_stats_walk_workers(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
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

#define CQ_SUM(metric_, type_, help_, value_) \
	VBD_STAT(metric_, type_, help_, .label = "device", .is_sum = true, .value = (value_))

void vbd_stats_walk_cqs(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	struct vbd_cq_totals totals;

	vbd_fabric_cq_totals(daemon->fabric, NULL, &totals);
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_cqs", GAUGE, "Completion queues.",
			.value = vbd_registry_count(daemon->cqs)),
		CQ_SUM("verbsd_cq_outstanding_cqe", GAUGE,
			"Work requests without a completion yet, of all queues.",
			totals.outstanding_cqe),
		CQ_SUM("verbsd_cq_high_water_cqe", GAUGE,
			"Most work requests outstanding at a time in one queue.",
			totals.high_water_cqe),
		CQ_SUM("verbsd_cq_reserved_cqe", GAUGE,
			"Entries reserved for queue pairs, of all queues.", totals.reserved_cqe),
		CQ_SUM("verbsd_cq_capacity_cqe", GAUGE, "Completions that all queues hold.",
			totals.capacity_cqe),
		CQ_SUM("verbsd_cq_completions_total", COUNTER, "Completions taken from all queues.",
			totals.completions),
		CQ_SUM("verbsd_cq_error_completions_total", COUNTER,
			"Completions in error taken from all queues.", totals.error_completions),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

void vbd_stats_walk_devices(const struct vbd_fabric *fabric, const struct vbd_stat_walk *walk)
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
