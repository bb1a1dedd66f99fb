/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stats.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/connections.h"
#include "daemon/endpoints.h"
#include "daemon/resources.h"
#include "rdma/fabric.h"

#include <stddef.h>

static uint64_t sum(const struct vbd_counter *counters, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += vbd_counter_get(&counters[i]);
	return total;
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

static uint64_t count_established(const struct vbd_daemon *daemon)
{
	uint64_t count = 0;

	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
		const struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		count += connection->conn->state == VBD_CONN_ESTABLISHED;
	}
	return count;
}

void vbd_stats_walk(const struct vbd_daemon *daemon,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg)
{
	struct vbd_totals totals;
	uint64_t devices;
	uint64_t async_events;

	vbd_connections_totals(daemon, &totals);
	vbd_endpoints_add_totals(daemon, &totals);
	count_devices(daemon->fabric, &devices, &async_events);
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"uptime_ms", (vbd_clock_mono_ns() - daemon->started_ns) / VBD_NS_PER_MS},
		{"devices", devices},
		{"connections_open", daemon->connections_open},
		{"connections_established", count_established(daemon)},
		{"connections_closed", daemon->connections_closed},
		{"connections_failed", daemon->connections_failed},
		{"connections_kept", daemon->ended_connections_count},
		{"listeners", vbd_registry_count(daemon->listeners)},
		{"endpoints_open", daemon->endpoints_open},
		{"endpoints_failed", daemon->endpoints_failed},
		{"peers", vbd_registry_count(daemon->peers)},
		{"groups", vbd_registry_count(daemon->groups)},
		{"buffers", vbd_registry_count(daemon->buffers)},
		{"pinned_bytes", daemon->pinned_bytes},
		{"receive_bytes", vbd_receives_bytes(daemon)},
		{"transfers_running", daemon->transfers_open},
		{"transfers_done", daemon->transfers_done},
		{"transfers_failed", daemon->transfers_failed},
		{"transfers_cancelled", daemon->transfers_cancelled},
		{"transfers_timed_out", daemon->transfers_timed_out},
		{"probes_running", daemon->probes_open},
		{"probes_done", daemon->probes_done},
		{"probes_failed", daemon->probes_failed},
		{"windows", vbd_registry_count(daemon->windows) - daemon->ended_windows_count},
		{"windows_revoked", daemon->windows_revoked},
		{"windows_failed", daemon->windows_failed},
		{"messages_sent", totals.messages_sent},
		{"messages_received", totals.messages_received},
		{"bytes_sent", totals.bytes_sent},
		{"bytes_received", totals.bytes_received},
		{"bytes_written", totals.bytes_written},
		{"bytes_read", totals.bytes_read},
		{"events_total", vbd_eventlog_last(daemon->eventlog)},
		{"events_dropped", vbd_eventlog_dropped(daemon->eventlog)},
		{"async_events", async_events},
		{"cm_events", sum(daemon->fabric->cm_events, VBD_CM_EVENT_TYPES)},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		cb(rows[i].name, rows[i].value, arg);
}
