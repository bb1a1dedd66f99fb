/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All counters, for Prometheus.
 */
#include "api/http/server.h"
#include "api/resources/api_stats.h"
#include "api/resources/context.h"
#include "api/resources/kernel_snapshot.h"
#include "api/resources/meta.h"
#include "api/resources/metrics_text.h"
#include "daemon/connections/connections.h"
#include "daemon/core/addr.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "daemon/work/probes.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LABEL(name_, value_)       \
	(struct vbd_metrics_label) \
	{                          \
		(name_), (value_)  \
	}
#define LABELS(...)                        \
	(const struct vbd_metrics_label[]) \
	{                                  \
		__VA_ARGS__,               \
		{                          \
			0                  \
		}                          \
	}

static void gauge(struct vbd_metrics_text *out, const char *name, const char *help, uint64_t value)
{
	vbd_metrics_family(out, name, "gauge", help);
	vbd_metrics_put(out, NULL, value);
}

static void put(
	struct vbd_metrics_text *out, const char *label, const char *label_value, uint64_t value)
{
	vbd_metrics_put(out, LABELS(LABEL(label, label_value)), value);
}

/* --- the table of counters ------------------------------------------------------------------- */

static void begin_family(struct vbd_metrics_text *out, const struct vbd_stat *stat)
{
	static const char *const types[] = {
		[VBD_STAT_GAUGE] = "gauge",
		[VBD_STAT_COUNTER] = "counter",
		[VBD_STAT_SECONDS] = "gauge",
		[VBD_STAT_TIMES] = "histogram",
	};

	if (!out->family || strcmp(out->family, stat->metric) != 0)
		vbd_metrics_family(out, stat->metric, types[stat->type], stat->help);
}

static void put_stat(const struct vbd_stat *stat, void *arg)
{
	const struct vbd_metrics_label *labels = LABELS(
		LABEL(stat->label, stat->label_value), LABEL(stat->by ? "by" : NULL, stat->by));
	struct vbd_metrics_text *out = arg;

	if (!stat->metric)
		return;
	begin_family(out, stat);
	if (stat->type == VBD_STAT_TIMES)
		vbd_metrics_put_histogram(out, stat->label ? labels : NULL, stat->times);
	else if (stat->type == VBD_STAT_SECONDS)
		vbd_metrics_put_seconds(out, labels, stat->value);
	else
		vbd_metrics_put(out, labels, stat->value);
}

/* --- completion queues ----------------------------------------------------------------------- */

static void put_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
		{"verbsd_cq_outstanding", "gauge", "Work requests without a completion yet."},
		{"verbsd_cq_high_water", "gauge", "Most work requests outstanding at a time."},
		{"verbsd_cq_reserved", "gauge", "Entries reserved for queue pairs."},
		{"verbsd_cq_capacity", "gauge", "Completions that the queue holds."},
		{"verbsd_cq_completions_total", "counter", "Completions taken from the queue."},
		{"verbsd_cq_error_completions_total", "counter",
			"Completions in error taken from the queue."},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_metrics_family(out, rows[i].name, rows[i].type, rows[i].help);
		vbd_list_for_each (link, &fabric->cqs) {
			const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
			const uint64_t values[] = {
				vbd_counter_get(&cq->outstanding),
				vbd_counter_get(&cq->high_water),
				cq->reserved_cqe,
				cq->capacity_cqe,
				vbd_counter_get(&cq->completions),
				vbd_counter_get(&cq->error_completions),
			};
			char id[24];

			_Static_assert(
				VBD_ARRAY_LEN(values) == VBD_ARRAY_LEN(rows), "a value each");
			(void)snprintf(id, sizeof(id), "%" PRIu64, cq->id);
			vbd_metrics_put(out,
				LABELS(LABEL("cq", id), LABEL("device", cq->device->name)),
				values[i]);
		}
	}
}

/* --- devices and the kernel ------------------------------------------------------------------ */

static void put_async_events(struct vbd_metrics_text *out, const struct vbd_device *device)
{
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		const char *name = vbd_async_event_name(type);

		if (strcmp(name, "unknown") != 0)
			vbd_metrics_put(out,
				LABELS(LABEL("device", device->name), LABEL("event", name)),
				vbd_counter_get(&device->async_events[type]));
	}
}

static void put_devices(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	uint64_t states[VBD_DEVICE_STATE_COUNT] = {0};

	vbd_list_for_each (link, &fabric->devices)
		states[VBD_CONTAINER_OF(link, struct vbd_device, link)->state]++;
	vbd_metrics_family(out, "verbsd_devices", "gauge", "RDMA devices by state.");
	for (enum vbd_device_state state = 0; state < VBD_DEVICE_STATE_COUNT; state++)
		put(out, "state", vbd_device_state_name(state), states[state]);
	vbd_metrics_family(out, "verbsd_async_events_total", "counter",
		"Async events of present devices, by type.");
	/* Two devices of one name never have a context at the same time. */
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->context)
			put_async_events(out, device);
	}
}

static void put_kernel_counter(
	struct vbd_metrics_text *out, const struct vbd_kernel_counter *counter, const char *label)
{
	char port[16];

	(void)snprintf(port, sizeof(port), "%u", counter->port_num);
	vbd_metrics_put(out,
		LABELS(LABEL("device", counter->device), LABEL("port", port),
			LABEL(label, counter->name)),
		counter->value);
}

static void put_kernel_counters(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	static const struct {
		enum vbd_counter_set set;
		const char *name, *label, *help;
	} rows[] = {
		{VBD_COUNTER_SET_CM_TX_MSGS, "verbsd_kernel_cm_tx_msgs_total", "message",
			"CM messages that the kernel sent."},
		{VBD_COUNTER_SET_CM_TX_RETRIES, "verbsd_kernel_cm_tx_retries_total", "message",
			"CM messages that the kernel sent again."},
		{VBD_COUNTER_SET_CM_RX_MSGS, "verbsd_kernel_cm_rx_msgs_total", "message",
			"CM messages that the kernel received."},
		{VBD_COUNTER_SET_CM_RX_DUPLICATES, "verbsd_kernel_cm_rx_duplicates_total",
			"message", "CM messages that the kernel received more than once."},
		{VBD_COUNTER_SET_HW, "verbsd_kernel_hw_counters_total", "counter",
			"Driver's counters of a port (hw_counters), of all processes."},
		{VBD_COUNTER_SET_PORT, "verbsd_kernel_port_counters_total", "counter",
			"Port counters as defined by InfiniBand (counters), of all processes."},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_metrics_family(out, rows[i].name, "counter", rows[i].help);
		for (size_t n = 0; n < view->counter_count; n++) {
			if (view->counters[n].set == rows[i].set)
				put_kernel_counter(out, &view->counters[n], rows[i].label);
		}
	}
}

/* --- connections one by one ------------------------------------------------------------------ */

struct each {
	struct vbd_metrics_text *out;
	uint64_t max, shown, left_out;
};

/* Put the series of one connection. @offset: of the family's counter in its struct. */
typedef void (*each_cb)(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset);

static void for_each(const struct vbd_daemon *daemon, struct each *each, each_cb cb, size_t offset)
{
	each->shown = 0;
	each->left_out = 0;
	vbd_registry_for_each (object, daemon->connections) {
		const struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);
		char id[24];

		if (connection->object.ended)
			continue;
		if (each->shown == each->max) {
			each->left_out++;
			continue;
		}
		each->shown++;
		(void)snprintf(id, sizeof(id), "%" PRIu64, object->id);
		cb(each->out, id, connection, offset);
	}
}

static const struct vbd_counter *counter_at(const void *counters, size_t offset)
{
	return (const void *)((const char *)counters + offset);
}

static void put_info(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	const struct vbd_conn *conn = connection->conn;
	char peer[VBD_ADDR_TEXT_BYTES] = "";

	(void)offset;
	if (conn->peer.ss_family)
		(void)vbd_addr_format(&conn->peer, peer);
	vbd_metrics_put(out,
		LABELS(LABEL("connection", id), LABEL("name", connection->object.name),
			LABEL("state", vbd_conn_state_name(conn->state)), LABEL("peer", peer),
			LABEL("device", conn->device_name)),
		1);
}

static void put_moved(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_qp_op_counters(&connection->conn->qp, op);

		if (vbd_counter_get(&ops->posted))
			vbd_metrics_put(out,
				LABELS(LABEL("connection", id), LABEL("op", vbd_op_name(op))),
				vbd_counter_get(counter_at(ops, offset)));
	}
}

static void put_probe_time(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	const struct vbd_probe_record *record = connection->probe;

	if (record && vbd_counter_get(&record->probe.last_ns))
		vbd_metrics_put_seconds(out, LABELS(LABEL("connection", id)),
			vbd_counter_get(counter_at(&record->probe, offset)));
}

static void put_each_connection(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	static const struct {
		const char *name, *type, *help;
		each_cb cb;
		size_t offset;
	} families[] = {
		{"verbsd_connection_info", "gauge", "Always 1, for each open connection.", put_info,
			0},
		{"verbsd_connection_bytes_total", "counter",
			"verbsd_bytes_total of one connection.", put_moved,
			offsetof(struct vbd_op_counters, bytes)},
		{"verbsd_connection_messages_total", "counter",
			"verbsd_messages_total of one connection.", put_moved,
			offsetof(struct vbd_op_counters, completed)},
		{"verbsd_connection_rtt_seconds", "gauge",
			"Last round trip of the running probe of a connection.", put_probe_time,
			offsetof(struct vbd_probe, last_ns)},
		{"verbsd_connection_rtt_jitter_seconds", "gauge",
			"Jitter: the smoothed change from one round trip to the next.",
			put_probe_time, offsetof(struct vbd_probe, jitter_ns)},
	};
	struct each each = {.out = out, .max = daemon->config->limits.metrics_connections};

	for (size_t i = 0; i < VBD_ARRAY_LEN(families); i++) {
		vbd_metrics_family(out, families[i].name, families[i].type, families[i].help);
		for_each(daemon, &each, families[i].cb, families[i].offset);
	}
	gauge(out, "verbsd_connections_left_out",
		"Connections that have no series of their own because of "
		"limits.metrics_connections.",
		each.left_out);
}

/* --- the page -------------------------------------------------------------------------------- */

static const char *const each_values[] = {"0", "1"};

static void answer(struct vbd_request *req, bool fresh)
{
	const struct vbd_api *api = req->context;
	const struct vbd_server_stats *http = vbd_server_stats(api->server);
	const struct vbd_daemon *daemon = api->daemon;
	const struct vbd_kernel_view *view = vbd_kernel_view(daemon);
	struct vbd_metrics_text out = {0};
	size_t each = 0;
	size_t len_bytes;
	char *text;

	vbd_metrics_family(
		&out, "verbsd_build_info", "gauge", "Always 1; the labels have the version.");
	put(&out, "version", VBD_VERSION, 1);
	vbd_api_stats_walk(
		http, vbd_kernel_snapshot_others_waiting(req, http->parked), fresh, put_stat, &out);
	vbd_stats_walk(daemon, put_stat, &out);
	put_cqs(&out, daemon->fabric);
	put_devices(&out, daemon->fabric);
	if (fresh) {
		vbd_stats_walk_kernel(view, put_stat, &out);
		put_kernel_counters(&out, view);
	}
	if (vbd_query_enum(req, "connections", each_values, VBD_ARRAY_LEN(each_values), &each,
		    NULL) == VBD_OK &&
		each)
		put_each_connection(&out, daemon);
	text = vbd_metrics_end(&out, &len_bytes);
	vbd_reply_text(req, VBD_METRICS_TYPE, text, len_bytes);
}

void vbd_get_metrics(struct vbd_request *req)
{
	struct vbd_error err = {0};
	size_t each;

	if (vbd_query_enum(req, "connections", each_values, VBD_ARRAY_LEN(each_values), &each,
		    &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_kernel_snapshot_await(req, answer);
}
