/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats.h"

#include "base/clock.h"
#include "daemon/observe/kernel.h"

/* Add up each counter over all messages, ports and devices. */
static void walk_cm_messages(const struct vbd_kernel_view *view, const struct vbd_stat_walk *walk)
{
	uint64_t totals[VBD_COUNTER_SET_COUNT] = {0};

#define CM_SUM(metric_, help_, set_)                                                      \
	VBD_STAT(metric_, COUNTER, help_, .label = "device,port,message", .is_sum = true, \
		.value = totals[set_])
	for (size_t i = 0; i < view->counter_count; i++)
		totals[view->counters[i].set] += view->counters[i].value;
	const struct vbd_stat rows[] = {
		CM_SUM("verbsd_kernel_cm_tx_msgs_total", "CM messages that the kernel sent.",
			VBD_COUNTER_SET_CM_TX_MSGS),
		CM_SUM("verbsd_kernel_cm_tx_retries_total",
			"CM messages that the kernel sent again.", VBD_COUNTER_SET_CM_TX_RETRIES),
		CM_SUM("verbsd_kernel_cm_rx_msgs_total", "CM messages that the kernel received.",
			VBD_COUNTER_SET_CM_RX_MSGS),
		CM_SUM("verbsd_kernel_cm_rx_duplicates_total",
			"CM messages that the kernel received more than once.",
			VBD_COUNTER_SET_CM_RX_DUPLICATES),
	};
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
