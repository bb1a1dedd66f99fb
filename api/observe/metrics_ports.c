/* SPDX-License-Identifier: Apache-2.0 */
#include "api/observe/metrics_parts.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "rdma/fabric/fabric.h"

static void put_async_events(struct vbd_metrics_text *out, const struct vbd_device *device)
{
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		const char *name = vbd_async_event_name(type);

		if (strcmp(name, "unknown") != 0)
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("device", device->name),
					VBD_LABEL("event", name)),
				vbd_counter_get(&device->async_events[type]));
	}
}

void vbd_metrics_put_async_events(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	vbd_metrics_family(out, "verbsd_async_events_total", "counter",
		"Async events of present devices, by type.");
	/* Two devices of one name never have a context at the same time. */
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->context)
			put_async_events(out, device);
	}
}

static void put_counter(struct vbd_metrics_text *out, const struct vbd_kernel_counter *counter,
	const char *label, uint64_t factor)
{
	char port[16];

	(void)snprintf(port, sizeof(port), "%u", counter->port_num);
	vbd_metrics_put(out,
		VBD_LABELS(VBD_LABEL("device", counter->device), VBD_LABEL("port", port),
			VBD_LABEL(label, counter->name)),
		counter->value * factor);
}

static void put_cm(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	static const struct {
		enum vbd_counter_set set;
		const char *metric, *help;
#define ROW(set, metric, help) {set, metric, help},
	} rows[] = {VBD_CM_METRIC_MAP(ROW)};
#undef ROW

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_metrics_family(out, rows[i].metric, "counter", rows[i].help);
		for (size_t n = 0; n < view->counter_count; n++) {
			if (view->counters[n].set == rows[i].set)
				put_counter(out, &view->counters[n], "message", 1);
		}
	}
}

/* Counters that InfiniBand defines, as node_exporter names them. The kernel counts data in words of
 * 4 bytes. */
static const struct port_row {
	const char *file, *metric, *help;
	uint64_t factor;
} port_rows[] = {
	{"VL15_dropped", "verbsd_port_vl15_dropped_total",
		"Subnet management packets dropped for lack of room.", 1},
	{"excessive_buffer_overrun_errors", "verbsd_port_excessive_buffer_overrun_errors_total",
		"Buffer overruns in consecutive flow control periods.", 1},
	{"link_downed", "verbsd_port_link_downed_total",
		"Failed error recoveries that took the link down.", 1},
	{"link_error_recovery", "verbsd_port_link_error_recovery_total",
		"Successful error recoveries of the link.", 1},
	{"local_link_integrity_errors", "verbsd_port_local_link_integrity_errors_total",
		"Local physical errors above the threshold.", 1},
	{"multicast_rcv_packets", "verbsd_port_multicast_packets_received_total",
		"Multicast packets received.", 1},
	{"multicast_xmit_packets", "verbsd_port_multicast_packets_transmitted_total",
		"Multicast packets transmitted.", 1},
	{"port_rcv_constraint_errors", "verbsd_port_constraint_errors_received_total",
		"Packets discarded at reception by a filter or a check of partition keys.", 1},
	{"port_rcv_data", "verbsd_port_data_received_bytes_total", "Bytes received.", 4},
	{"port_rcv_errors", "verbsd_port_errors_received_total", "Packets received with an error.",
		1},
	{"port_rcv_packets", "verbsd_port_packets_received_total", "Packets received.", 1},
	{"port_rcv_remote_physical_errors", "verbsd_port_receive_remote_physical_errors_total",
		"Packets received that a switch marked as bad.", 1},
	{"port_rcv_switch_relay_errors", "verbsd_port_receive_switch_relay_errors_total",
		"Packets received that a switch could not forward.", 1},
	{"port_xmit_constraint_errors", "verbsd_port_constraint_errors_transmitted_total",
		"Packets not transmitted because of a filter or a check of partition keys.", 1},
	{"port_xmit_data", "verbsd_port_data_transmitted_bytes_total", "Bytes transmitted.", 4},
	{"port_xmit_discards", "verbsd_port_discards_transmitted_total",
		"Packets not transmitted, because the port is down or congested.", 1},
	{"port_xmit_packets", "verbsd_port_packets_transmitted_total", "Packets transmitted.", 1},
	{"port_xmit_wait", "verbsd_port_transmit_wait_ticks_total",
		"Ticks of the port in which data waited to be transmitted.", 1},
	{"symbol_error", "verbsd_port_symbol_error_total", "Minor link errors on a lane.", 1},
	{"unicast_rcv_packets", "verbsd_port_unicast_packets_received_total",
		"Unicast packets received.", 1},
	{"unicast_xmit_packets", "verbsd_port_unicast_packets_transmitted_total",
		"Unicast packets transmitted.", 1},
};

static const struct port_row *find_port_row(const struct vbd_kernel_counter *counter)
{
	if (counter->set != VBD_COUNTER_SET_PORT)
		return NULL;
	for (size_t i = 0; i < VBD_ARRAY_LEN(port_rows); i++) {
		if (strcmp(port_rows[i].file, counter->name) == 0)
			return &port_rows[i];
	}
	return NULL;
}

/* The counters are sorted by set and name, so each family is in one piece. */
static void put_known_counters(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	for (size_t i = 0; i < view->counter_count; i++) {
		const struct port_row *row = find_port_row(&view->counters[i]);

		if (!row)
			continue;
		if (strcmp(out->family, row->metric) != 0)
			vbd_metrics_family(out, row->metric, "counter", row->help);
		put_counter(out, &view->counters[i], NULL, row->factor);
	}
}

/* The others: only the driver knows their units, and whether they only grow. */
static void put_other_counters(struct vbd_metrics_text *out, const struct vbd_kernel_view *view,
	enum vbd_counter_set set, const char *metric, const char *help)
{
	vbd_metrics_family(out, metric, "untyped", help);
	for (size_t i = 0; i < view->counter_count; i++) {
		if (view->counters[i].set == set && !find_port_row(&view->counters[i]))
			put_counter(out, &view->counters[i], "counter", 1);
	}
}

void vbd_metrics_put_ports(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	put_cm(out, view);
	put_known_counters(out, view);
	put_other_counters(out, view, VBD_COUNTER_SET_PORT, "verbsd_port_other_counters",
		"Counters of a port (counters) that InfiniBand does not define, for all "
		"processes.");
	put_other_counters(out, view, VBD_COUNTER_SET_HW, "verbsd_port_hw_counters",
		"The driver's counters of a port (hw_counters), for all processes.");
}
