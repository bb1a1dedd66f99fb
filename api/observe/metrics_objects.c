/* SPDX-License-Identifier: Apache-2.0 */
#include "api/observe/metrics_parts.h"
#include "daemon/memory/shared.h"
#include "daemon/work/probes.h"

/* --- families of objects, in steps ----------------------------------------------------------- */

static void put_object(struct vbd_metrics_text *out, const struct vbd_metrics_objects *objects,
	const struct vbd_object *object, struct vbd_metrics_place *at)
{
	char id[24];

	at->after = object->id;
	if (object->ended || !vbd_caller_sees(objects->scope, object->owner))
		return;
	at->shown++;
	(void)snprintf(id, sizeof(id), "%" PRIu64, object->id);
	objects->put(out, id, object, at->family);
}

/* Returns whether the family is complete. */
static bool put_some(struct vbd_metrics_text *out, const struct vbd_metrics_objects *objects,
	struct vbd_metrics_place *at)
{
	const struct vbd_object *object = vbd_registry_after(objects->registry, at->after);

	for (int i = 0; i < VBD_METRICS_STEP_OBJECTS && object && at->shown < objects->max; i++) {
		put_object(out, objects, object, at);
		object = vbd_registry_after(objects->registry, object->id);
	}
	return !object || at->shown == objects->max;
}

bool vbd_metrics_put_objects(struct vbd_metrics_text *out,
	const struct vbd_metrics_objects *objects, struct vbd_metrics_place *at)
{
	if (!at->begun)
		objects->begin_family(out, at->family);
	at->begun = true;
	if (put_some(out, objects, at))
		*at = (struct vbd_metrics_place){.family = at->family + 1};
	return at->family == objects->families;
}

/* --- connections ----------------------------------------------------------------------------- */

/* Put the series of one connection. @offset: of the family's counter in its struct. */
typedef void (*put_cb)(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset);

static const struct vbd_counter *counter_at(const void *counters, size_t offset)
{
	return (const void *)((const char *)counters + offset);
}

static void put_info(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	const struct vbd_conn *conn = connection->conn;
	char peer_addr[VBD_ADDR_TEXT_BYTES] = "";

	(void)offset;
	if (conn->peer.ss_family)
		(void)vbd_addr_format(&conn->peer, peer_addr);
	vbd_metrics_put(out,
		VBD_LABELS(VBD_LABEL("connection", id), VBD_LABEL("name", connection->object.name),
			VBD_LABEL("peer_addr", peer_addr), VBD_LABEL("device", conn->device.name)),
		1);
}

static void put_state(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	(void)offset;
	vbd_metrics_put(out,
		VBD_LABELS(VBD_LABEL("connection", id),
			VBD_LABEL("state", vbd_conn_state_name(connection->conn->state))),
		1);
}

static void put_bytes(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_qp_op_counters(&connection->conn->qp, op);

		if (vbd_counter_get(&ops->posted))
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("connection", id),
					VBD_LABEL("op", vbd_op_name(op))),
				vbd_counter_get(counter_at(ops, offset)));
	}
}

static void put_completed(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	static const char *const results[] = {"ok", "error", "flushed"};

	(void)offset;
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_qp_op_counters(&connection->conn->qp, op);
		const uint64_t values[] = {vbd_counter_get(&ops->completed),
			vbd_counter_get(&ops->errors), vbd_counter_get(&ops->flushed)};

		for (size_t i = 0; i < VBD_ARRAY_LEN(results) && vbd_counter_get(&ops->posted); i++)
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("connection", id),
					VBD_LABEL("op", vbd_op_name(op)),
					VBD_LABEL("result", results[i])),
				values[i]);
	}
}

static void put_probe_time(struct vbd_metrics_text *out, const char *id,
	const struct vbd_connection *connection, size_t offset)
{
	const struct vbd_probe_record *record = connection->probe;

	if (record && vbd_counter_get(&record->probe.last_ns))
		vbd_metrics_put_seconds(out, VBD_LABELS(VBD_LABEL("connection", id)),
			vbd_counter_get(counter_at(&record->probe, offset)));
}

static const struct {
	const char *name, *type, *help;
	put_cb put;
	size_t offset;
} families[] = {
	{"verbsd_connection_info", "gauge", "Always 1, for each open connection.", put_info, 0},
	{"verbsd_connection_state", "gauge",
		"Always 1; the label has the state of an open connection.", put_state, 0},
	{"verbsd_connection_transferred_bytes_total", "counter",
		"verbsd_transferred_bytes_total of one connection, for the operations that "
		"it posted.",
		put_bytes, offsetof(struct vbd_op_counters, bytes)},
	{"verbsd_connection_work_requests_completed_total", "counter",
		"verbsd_work_requests_completed_total of one connection, for the "
		"operations that it posted.",
		put_completed, 0},
	{"verbsd_connection_rtt_seconds", "gauge",
		"Last round trip of the running probe of a connection.", put_probe_time,
		offsetof(struct vbd_probe, last_ns)},
	{"verbsd_connection_rtt_jitter_seconds", "gauge",
		"Jitter: the smoothed change from one round trip to the next.", put_probe_time,
		offsetof(struct vbd_probe, jitter_ns)},
};

static void begin_connection_family(struct vbd_metrics_text *out, size_t family)
{
	vbd_metrics_family(
		out, families[family].name, families[family].type, families[family].help);
}

static void put_connection(struct vbd_metrics_text *out, const char *id,
	const struct vbd_object *object, size_t family)
{
	families[family].put(out, id, VBD_CONTAINER_OF(object, struct vbd_connection, object),
		families[family].offset);
}

bool vbd_metrics_put_connections(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope, struct vbd_metrics_place *at)
{
	const struct vbd_metrics_objects connections = {
		.registry = daemon->connections,
		.scope = scope,
		.max = VBD_METRICS_CONNECTIONS_MAX,
		.families = VBD_ARRAY_LEN(families),
		.begin_family = begin_connection_family,
		.put = put_connection,
	};
	uint64_t open;

	if (!vbd_metrics_put_objects(out, &connections, at))
		return false;
	open = vbd_tally_seen(daemon->connections, scope).open;
	vbd_metrics_family(out, "verbsd_connections_omitted", "gauge",
		"Connections without series of their own, of which there are 1000 at most.");
	vbd_metrics_put(out, NULL, open > connections.max ? open - connections.max : 0);
	return true;
}

/* --- completion queues ----------------------------------------------------------------------- */

static const struct {
	const char *name, *type, *help;
	size_t offset; /* in struct vbd_cq_totals */
} cq_rows[] = {
	{"verbsd_cq_outstanding_cqe", "gauge", "Work requests without a completion yet.",
		offsetof(struct vbd_cq_totals, outstanding_cqe)},
	{"verbsd_cq_high_water_cqe", "gauge",
		"Highest number of work requests that were outstanding in one queue at a time.",
		offsetof(struct vbd_cq_totals, high_water_cqe)},
	{"verbsd_cq_reserved_cqe", "gauge", "Entries reserved for queue pairs.",
		offsetof(struct vbd_cq_totals, reserved_cqe)},
	{"verbsd_cq_capacity_cqe", "gauge", "Completions that the queues hold.",
		offsetof(struct vbd_cq_totals, capacity_cqe)},
	{"verbsd_cq_completions_total", "counter", "Completions taken from the queues.",
		offsetof(struct vbd_cq_totals, completions)},
	{"verbsd_cq_error_completions_total", "counter",
		"Completions in error taken from the queues.",
		offsetof(struct vbd_cq_totals, error_completions)},
};

static uint64_t value_of(const struct vbd_cq_totals *totals, size_t row)
{
	return *(const uint64_t *)(const void *)((const char *)totals + cq_rows[row].offset);
}

static void put_devices(struct vbd_metrics_text *out, const struct vbd_fabric *fabric, size_t row)
{
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);
		struct vbd_cq_totals totals;

		/* Two devices of one name never have a context at the same time. */
		if (!device->context)
			continue;
		vbd_fabric_cq_totals(fabric, device, &totals);
		vbd_metrics_put(
			out, VBD_LABELS(VBD_LABEL("device", device->name)), value_of(&totals, row));
	}
}

static void put_cq(
	struct vbd_metrics_text *out, const char *id, const struct vbd_object *object, size_t row)
{
	const struct vbd_cq *cq = VBD_CONTAINER_OF(object, struct vbd_shared, object)->cq;
	const struct vbd_cq_totals totals = {
		.outstanding_cqe = vbd_counter_get(&cq->outstanding),
		.high_water_cqe = vbd_counter_get(&cq->high_water),
		.reserved_cqe = cq->reserved_cqe,
		.capacity_cqe = cq->capacity_cqe,
		.completions = vbd_counter_get(&cq->completions),
		.error_completions = vbd_counter_get(&cq->error_completions),
	};

	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("device", cq->device->name), VBD_LABEL("cq", id)),
		value_of(&totals, row));
}

static void begin_cq_family(struct vbd_metrics_text *out, size_t row)
{
	vbd_metrics_family(out, cq_rows[row].name, cq_rows[row].type, cq_rows[row].help);
}

bool vbd_metrics_put_cqs(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope, struct vbd_metrics_place *at)
{
	const struct vbd_metrics_objects cqs = {
		.registry = daemon->cqs,
		.scope = scope,
		.max = UINT64_MAX,
		.families = VBD_ARRAY_LEN(cq_rows),
		.begin_family = begin_cq_family,
		.put = put_cq,
	};

	return vbd_metrics_put_objects(out, &cqs, at);
}

void vbd_metrics_put_device_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	for (size_t row = 0; row < VBD_ARRAY_LEN(cq_rows); row++) {
		begin_cq_family(out, row);
		put_devices(out, fabric, row);
	}
}
