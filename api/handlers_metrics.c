/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is counted, for Prometheus.
 */
#include "api/context.h"
#include "api/look.h"
#include "api/meta.h"
#include "api/metrics_text.h"
#include "api/server.h"
#include "base/clock.h"
#include "daemon/addr.h"
#include "daemon/connections.h"
#include "daemon/kernel.h"
#include "daemon/probes.h"
#include "daemon/receives.h"
#include "daemon/stats.h"
#include "rdma/cq.h"
#include "rdma/fabric.h"
#include "rdma/names.h"

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

static void counter(
	struct vbd_metrics_text *out, const char *name, const char *help, uint64_t value)
{
	vbd_metrics_family(out, name, "counter", help);
	vbd_metrics_put(out, NULL, value);
}

static void put(
	struct vbd_metrics_text *out, const char *label, const char *label_value, uint64_t value)
{
	vbd_metrics_put(out, LABELS(LABEL(label, label_value)), value);
}

/* --- the API --------------------------------------------------------------------------------- */

static void put_http(struct vbd_metrics_text *out, const struct vbd_request *req,
	const struct vbd_server_stats *http)
{
	counter(out, "verbsd_http_requests_total", "Requests that came in.", http->requests);
	vbd_metrics_family(out, "verbsd_http_responses_total", "counter",
		"Answers by the class of their status.");
	put(out, "class", "2xx", http->responses_2xx);
	put(out, "class", "3xx", http->responses_3xx);
	put(out, "class", "4xx", http->responses_4xx);
	put(out, "class", "5xx", http->responses_5xx);
	counter(out, "verbsd_http_too_slow_total", "HTTP connections cut because of a deadline.",
		http->too_slow);
	gauge(out, "verbsd_http_connections", "HTTP connections that are open.",
		http->connections_open);
	gauge(out, "verbsd_http_requests_waiting", "Requests that wait for something.",
		vbd_look_others_waiting(req, http->parked));
	gauge(out, "verbsd_http_event_streams", "Clients that follow the events.", http->feeds);
}

/* --- the daemon itself ----------------------------------------------------------------------- */

static void put_daemon(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	const struct vbd_histogram *lag = vbd_loop_lag(daemon->loop);

	vbd_metrics_family(
		out, "verbsd_build_info", "gauge", "Always 1; its labels say what runs.");
	put(out, "version", VBD_VERSION, 1);
	vbd_metrics_family(out, "verbsd_uptime_seconds", "gauge", "Time since it was started.");
	vbd_metrics_put_seconds(out, NULL, vbd_clock_mono_ns() - daemon->started_ns);
	vbd_metrics_family(out, "verbsd_loop_lag_seconds", "histogram",
		"How long news may have waited for the control loop, each time it was awake.");
	vbd_metrics_put_histogram(out, NULL, lag);
	vbd_metrics_family(out, "verbsd_loop_lag_max_seconds", "gauge",
		"The longest of verbsd_loop_lag_seconds since the start.");
	vbd_metrics_put_seconds(out, NULL, vbd_counter_get(&lag->max));
	counter(out, "verbsd_events_total", "Events that went into the event log.",
		vbd_eventlog_last(daemon->eventlog));
	counter(out, "verbsd_events_dropped_total", "Events that the log holds no longer.",
		vbd_eventlog_dropped(daemon->eventlog));
}

static void put_limit(const char *name, uint64_t value, void *out)
{
	put(out, "limit", name, value);
}

static void put_resources(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	gauge(out, "verbsd_listeners", "Listeners.", vbd_registry_count(daemon->listeners));
	gauge(out, "verbsd_buffers", "Buffers.", vbd_registry_count(daemon->buffers));
	gauge(out, "verbsd_pinned_bytes", "Memory of all buffers.", daemon->pinned_bytes);
	gauge(out, "verbsd_receive_bytes", "Memory of all receives.", vbd_receives_bytes(daemon));
	gauge(out, "verbsd_windows", "Memory windows that are bound or being bound.",
		daemon->windows->open);
	gauge(out, "verbsd_endpoints", "Datagram endpoints that have not ended.",
		daemon->endpoints->open);
	counter(out, "verbsd_endpoints_failed_total", "Datagram endpoints that failed.",
		daemon->endpoints_failed);
}

/* --- connections ----------------------------------------------------------------------------- */

static void put_connections(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	uint64_t states[VBD_CONN_STATE_COUNT];

	vbd_connections_count_states(daemon, states);
	vbd_metrics_family(
		out, "verbsd_connections", "gauge", "Connections that have not ended, by state.");
	for (enum vbd_conn_state state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		if (!vbd_conn_state_terminal(state))
			put(out, "state", vbd_conn_state_name(state), states[state]);
	}
	vbd_metrics_family(out, "verbsd_connections_ended_total", "counter",
		"Connections that ended, by reason.");
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		put(out, "reason", vbd_reason_name(reason), daemon->ended_by_reason[reason]);
	vbd_metrics_family(out, "verbsd_cm_events_total", "counter",
		"Events of the connection manager, by type.");
	for (int type = 0; type < VBD_CM_EVENT_TYPES; type++) {
		char key[VBD_CM_EVENT_KEY_BYTES];

		put(out, "event", vbd_cm_event_key(type, key),
			vbd_counter_get(&daemon->fabric->cm_events[type]));
	}
	vbd_metrics_family(out, "verbsd_connect_phase_seconds", "histogram",
		"Time that connections took for a part of the way to established.");
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		vbd_metrics_put_histogram(
			out, &LABEL("phase", vbd_phase_name(phase)), &daemon->times.phases[phase]);
}

/* --- what moves ------------------------------------------------------------------------------ */

static void put_by_op(struct vbd_metrics_text *out, const char *name, const char *help,
	const struct vbd_op_totals *totals, size_t offset)
{
	vbd_metrics_family(out, name, "counter", help);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		uint64_t value;

		memcpy(&value, (const char *)&totals[op] + offset, sizeof(value));
		put(out, "op", vbd_op_name(op), value);
	}
}

static void put_ops(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} rows[] = {
		{"verbsd_work_requests_posted_total", "Work requests posted, by operation.",
			offsetof(struct vbd_op_totals, posted)},
		{"verbsd_messages_total", "Work requests that completed well, by operation.",
			offsetof(struct vbd_op_totals, completed)},
		{"verbsd_bytes_total", "Bytes that completed work requests moved, by operation.",
			offsetof(struct vbd_op_totals, bytes)},
		{"verbsd_work_request_errors_total",
			"Completions in error but for flushes, by operation.",
			offsetof(struct vbd_op_totals, errors)},
		{"verbsd_work_requests_flushed_total",
			"Work requests flushed when their queue pair ended, by operation.",
			offsetof(struct vbd_op_totals, flushed)},
	};
	struct vbd_totals totals;

	vbd_totals_of(daemon, &totals);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		put_by_op(out, rows[i].name, rows[i].help, totals.ops, rows[i].offset);
}

static void put_op_times(struct vbd_metrics_text *out, const char *name, const char *help,
	const struct vbd_histogram *times)
{
	vbd_metrics_family(out, name, "histogram", help);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_metrics_put_histogram(out, &LABEL("op", vbd_op_name(op)), &times[op]);
}

static void put_transfers(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	gauge(out, "verbsd_transfers_running", "Transfers that have not ended.",
		daemon->transfers->open);
	vbd_metrics_family(
		out, "verbsd_transfers_ended_total", "counter", "Transfers by how they ended.");
	put(out, "state", "done", daemon->transfers_done);
	put(out, "state", "failed", daemon->transfers_failed);
	put(out, "state", "cancelled", daemon->transfers_cancelled);
	put(out, "state", "timed_out", daemon->transfers_timed_out);
	put_op_times(out, "verbsd_transfer_queue_seconds",
		"From the request to the first work request, of transfers that were done.",
		daemon->times.queued);
	put_op_times(out, "verbsd_transfer_wire_seconds",
		"From the first work request to the last completion, of transfers that were done.",
		daemon->times.wire);
}

/* --- probes ---------------------------------------------------------------------------------- */

static void put_pings(struct vbd_metrics_text *out, const char *name, const char *help,
	const struct vbd_probe_counters *totals, size_t offset)
{
	vbd_metrics_family(out, name, "counter", help);
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
		const struct vbd_counter *counter =
			(const void *)((const char *)&totals[kind] + offset);

		put(out, "kind", vbd_probe_kind_name(kind), vbd_counter_get(counter));
	}
}

static void put_probes(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	struct vbd_probe_counters totals[VBD_PROBE_KIND_COUNT];

	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		vbd_probes_totals(daemon, kind, &totals[kind]);
	vbd_metrics_family(out, "verbsd_probe_rtt_seconds", "histogram",
		"Round trips of probes, by what a ping is.");
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		vbd_metrics_put_histogram(
			out, &LABEL("kind", vbd_probe_kind_name(kind)), &totals[kind].rtt_ns);
	put_pings(out, "verbsd_probe_sent_total", "Pings that probes sent.", totals,
		offsetof(struct vbd_probe_counters, sent));
	put_pings(out, "verbsd_probe_late_total",
		"Pings that were not back when the next one was due.", totals,
		offsetof(struct vbd_probe_counters, late));
	put_pings(out, "verbsd_probe_lost_total", "Pings that never came back.", totals,
		offsetof(struct vbd_probe_counters, lost));
	gauge(out, "verbsd_probes_running", "Probes that run.", daemon->probes->open);
	vbd_metrics_family(
		out, "verbsd_probes_ended_total", "counter", "Probes by how they ended.");
	put(out, "state", "done", daemon->probes_done);
	put(out, "state", "failed", daemon->probes_failed);
}

/* --- completion queues ----------------------------------------------------------------------- */

enum cq_value { CQ_DEPTH, CQ_HIGH_WATER, CQ_RESERVED, CQ_CAPACITY, CQ_COMPLETIONS, CQ_ERRORS };

static uint64_t cq_value(const struct vbd_cq *cq, enum cq_value which)
{
	switch (which) {
	case CQ_DEPTH:
		return vbd_counter_get(&cq->outstanding);
	case CQ_HIGH_WATER:
		return vbd_counter_get(&cq->high_water);
	case CQ_RESERVED:
		return cq->reserved_cqe;
	case CQ_CAPACITY:
		return cq->capacity_cqe;
	case CQ_COMPLETIONS:
		return vbd_counter_get(&cq->completions);
	case CQ_ERRORS:
		return vbd_counter_get(&cq->error_completions);
	}
	return 0;
}

static void put_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
		[CQ_DEPTH] = {"verbsd_cq_outstanding", "gauge",
			"Work requests whose completions may still come to the queue."},
		[CQ_HIGH_WATER] = {"verbsd_cq_high_water", "gauge",
			"The most that was outstanding at a time."},
		[CQ_RESERVED] = {"verbsd_cq_reserved", "gauge",
			"Completions that its queue pairs may have at most."},
		[CQ_CAPACITY] = {"verbsd_cq_capacity", "gauge",
			"Completions that the queue holds."},
		[CQ_COMPLETIONS] = {"verbsd_cq_completions_total", "counter",
			"Completions taken from the queue."},
		[CQ_ERRORS] = {"verbsd_cq_error_completions_total", "counter",
			"The same of those in error."},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_metrics_family(out, rows[i].name, rows[i].type, rows[i].help);
		vbd_list_for_each (link, &fabric->cqs) {
			const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
			char id[24];

			(void)snprintf(id, sizeof(id), "%" PRIu64, cq->id);
			vbd_metrics_put(out,
				LABELS(LABEL("cq", id), LABEL("device", cq->device->name)),
				cq_value(cq, (enum cq_value)i));
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
		"Async events of devices that are there, by type.");
	/* Only one of a name is there at a time. */
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->context)
			put_async_events(out, device);
	}
}

/* "1/hw_counters/sent_pkts" of the set: port "1", counter "sent_pkts" */
static void put_kernel_counter(struct vbd_metrics_text *out,
	const struct vbd_kernel_counter *counter, const char *set, const char *label)
{
	const char *slash = strchr(counter->name, '/');
	size_t set_chars = strlen(set);
	char port[8];

	if (!slash || strncmp(slash + 1, set, set_chars) != 0 || slash[1 + set_chars] != '/')
		return;
	(void)snprintf(port, sizeof(port), "%.*s", (int)(slash - counter->name), counter->name);
	vbd_metrics_put(out,
		LABELS(LABEL("device", counter->device), LABEL("port", port),
			LABEL(label, slash + set_chars + 2)),
		counter->value);
}

static void put_kernel_counters(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	static const struct {
		const char *set, *name, *label, *help;
	} rows[] = {
		{"cm_tx_msgs", "verbsd_kernel_cm_tx_msgs_total", "message",
			"CM messages that the kernel sent."},
		{"cm_tx_retries", "verbsd_kernel_cm_tx_retries_total", "message",
			"CM messages that the kernel sent again."},
		{"cm_rx_msgs", "verbsd_kernel_cm_rx_msgs_total", "message",
			"CM messages that the kernel received."},
		{"cm_rx_duplicates", "verbsd_kernel_cm_rx_duplicates_total", "message",
			"CM messages that the kernel received more than once."},
		{"hw_counters", "verbsd_kernel_hw_counters_total", "counter",
			"What the driver counts for a port (hw_counters), of all processes."},
		{"counters", "verbsd_kernel_port_counters_total", "counter",
			"What a port counts as InfiniBand has it (counters), of all processes."},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		vbd_metrics_family(out, rows[i].name, "counter", rows[i].help);
		for (size_t n = 0; n < view->counter_count; n++)
			put_kernel_counter(out, &view->counters[n], rows[i].set, rows[i].label);
	}
}

static void put_objects(struct vbd_metrics_text *out, const struct vbd_kernel_view *view)
{
	vbd_metrics_family(out, "verbsd_objects", "gauge",
		"Objects of this process: those that the kernel holds, and who knows of them.");
	for (enum vbd_pv_object type = 0; type < VBD_PV_OBJECT_COUNT; type++) {
		const char *name = vbd_object_type_name(type);

		if (view->objects_known && view->objects[type] != VBD_PV_UNKNOWN)
			vbd_metrics_put(out, LABELS(LABEL("type", name), LABEL("by", "kernel")),
				view->objects[type]);
		vbd_metrics_put(
			out, LABELS(LABEL("type", name), LABEL("by", "verbsd")), view->held[type]);
		vbd_metrics_put(out, LABELS(LABEL("type", name), LABEL("by", "librdmacm")),
			view->librdmacm[type]);
	}
	if (view->objects_known)
		gauge(out, "verbsd_leaked",
			"Objects that the kernel holds for this process and nobody knows of.",
			view->leaked);
}

static void put_kernel(struct vbd_metrics_text *out, const struct vbd_kernel_view *view, bool fresh)
{
	gauge(out, "verbsd_kernel_look_success",
		"1 if the kernel answered in time; else what it says is missing here.", fresh);
	if (!fresh)
		return;
	vbd_metrics_family(
		out, "verbsd_kernel_look_seconds", "gauge", "How long the kernel took to answer.");
	vbd_metrics_put_seconds(out, NULL, view->took_ns);
	put_objects(out, view);
	put_kernel_counters(out, view);
}

/* --- connections one by one ------------------------------------------------------------------ */

struct each {
	struct vbd_metrics_text *out;
	uint64_t max, shown, left_out;
};

typedef void (*each_cb)(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection);

static void for_each(const struct vbd_daemon *daemon, struct each *each, each_cb cb)
{
	each->shown = 0;
	each->left_out = 0;
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
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
		cb(each->out, id, connection);
	}
}

static void put_info(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	char peer[VBD_ADDR_TEXT_BYTES] = "";

	if (conn->peer.ss_family)
		(void)vbd_addr_format(&conn->peer, peer);
	vbd_metrics_put(out,
		LABELS(LABEL("connection", id), LABEL("name", connection->object.name),
			LABEL("state", vbd_conn_state_name(conn->state)), LABEL("peer", peer),
			LABEL("device", conn->device_name)),
		1);
}

static void put_moved(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, bool bytes)
{
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_conn_op_counters(connection->conn, op);

		if (vbd_counter_get(&ops->posted))
			vbd_metrics_put(out,
				LABELS(LABEL("connection", id), LABEL("op", vbd_op_name(op))),
				vbd_counter_get(bytes ? &ops->bytes : &ops->completed));
	}
}

static void put_bytes(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection)
{
	put_moved(out, id, connection, true);
}

static void put_messages(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection)
{
	put_moved(out, id, connection, false);
}

static void put_rtt(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection)
{
	const struct vbd_probe_record *record = connection->probe;

	if (record && vbd_counter_get(&record->probe.last_ns))
		vbd_metrics_put_seconds(out, LABELS(LABEL("connection", id)),
			vbd_counter_get(&record->probe.last_ns));
}

static void put_jitter(
	struct vbd_metrics_text *out, const char *id, const struct vbd_connection *connection)
{
	const struct vbd_probe_record *record = connection->probe;

	if (record && vbd_counter_get(&record->probe.last_ns))
		vbd_metrics_put_seconds(out, LABELS(LABEL("connection", id)),
			vbd_counter_get(&record->probe.jitter_ns));
}

static void put_each_connection(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	struct each each = {.out = out, .max = daemon->config->limits.metrics_connections};

	vbd_metrics_family(out, "verbsd_connection_info", "gauge",
		"Always 1, of each connection that has not ended.");
	for_each(daemon, &each, put_info);
	vbd_metrics_family(out, "verbsd_connection_bytes_total", "counter",
		"verbsd_bytes_total of one connection.");
	for_each(daemon, &each, put_bytes);
	vbd_metrics_family(out, "verbsd_connection_messages_total", "counter",
		"verbsd_messages_total of one connection.");
	for_each(daemon, &each, put_messages);
	vbd_metrics_family(out, "verbsd_connection_rtt_seconds", "gauge",
		"The newest round trip of the probe that runs over a connection.");
	for_each(daemon, &each, put_rtt);
	vbd_metrics_family(out, "verbsd_connection_rtt_jitter_seconds", "gauge",
		"The change from one round trip to the next, smoothed.");
	for_each(daemon, &each, put_jitter);
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
	const struct vbd_daemon *daemon = api->daemon;
	struct vbd_metrics_text out = {0};
	size_t each = 0;
	size_t len_bytes;
	char *text;

	put_daemon(&out, daemon);
	put_http(&out, req, vbd_server_stats(api->server));
	put_connections(&out, daemon);
	put_ops(&out, daemon);
	put_transfers(&out, daemon);
	put_probes(&out, daemon);
	put_resources(&out, daemon);
	vbd_metrics_family(&out, "verbsd_limit", "gauge",
		"What there may be at most, by its key under limits of the configuration.");
	vbd_config_walk_limits(daemon->config, put_limit, &out);
	put_cqs(&out, daemon->fabric);
	put_devices(&out, daemon->fabric);
	put_kernel(&out, vbd_kernel_view(daemon), fresh);
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
		vbd_look_run(req, answer);
}
