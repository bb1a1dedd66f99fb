/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_parts.h"
#include "base/addr.h"
#include "base/attr.h"
#include "daemon/connections/connections.h"
#include "daemon/work/probes.h"

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

static void begin_family(struct vbd_metrics_text *out, size_t family)
{
	vbd_metrics_family(
		out, families[family].name, families[family].type, families[family].help);
}

static void put_one(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
	size_t family)
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
		.begin_family = begin_family,
		.put = put_one,
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
