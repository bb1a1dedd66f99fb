/* SPDX-License-Identifier: Apache-2.0 */
#include "api/observe/metrics_parts.h"
#include "daemon/memory/shared.h"
#include "daemon/observe/stats.h"
#include "daemon/work/probes.h"

/* --- families of objects, in steps ----------------------------------------------------------- */

/* Objects whose series are put in a step: one takes less than a microsecond. */
#define STEP_OBJECTS 20

static void put_object_series(struct vbd_metrics_walk *walk, const struct vbd_object *object)
{
	char id[24];

	walk->after = object->id;
	if (object->ended || !vbd_caller_sees(walk->scope, object->owner))
		return;
	walk->shown++;
	(void)snprintf(id, sizeof(id), "%" PRIu64, object->id);
	for (size_t i = 0; i < walk->count; i++)
		walk->families[i].put(&walk->texts[i], id, object, walk->families[i].offset);
}

static void begin_family(struct vbd_metrics_text *out, const struct vbd_metrics_family *family)
{
	vbd_metrics_family(out, family->name, family->type, family->help);
}

bool vbd_metrics_walk(struct vbd_metrics_walk *walk, struct vbd_metrics_text *out)
{
	const struct vbd_object *object = vbd_registry_after(walk->registry, walk->after);

	for (size_t i = 0; !walk->after && i < walk->count; i++)
		begin_family(&walk->texts[i], &walk->families[i]);
	for (int i = 0; i < STEP_OBJECTS && object && walk->shown < walk->max; i++) {
		put_object_series(walk, object);
		object = vbd_registry_after(walk->registry, walk->after);
	}
	if (object && walk->shown < walk->max)
		return false;
	for (size_t i = 0; i < walk->count; i++) {
		out->text.failed |= walk->texts[i].text.failed;
		vbd_encode_raw(&out->text, walk->texts[i].text.bytes, walk->texts[i].text.len);
	}
	vbd_metrics_walk_drop(walk);
	return true;
}

void vbd_metrics_walk_drop(struct vbd_metrics_walk *walk)
{
	for (size_t i = 0; i < walk->count; i++)
		vbd_encode_drop(&walk->texts[i].text);
}

/* --- connections ----------------------------------------------------------------------------- */

static const struct vbd_connection *connection_of(const struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_connection, object);
}

static const struct vbd_counter *counter_at(const void *counters, size_t offset)
{
	return (const void *)((const char *)counters + offset);
}

static void put_info(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
	size_t offset)
{
	const struct vbd_conn *conn = connection_of(object)->conn;
	char peer_addr[VBD_ADDR_TEXT_BYTES] = "";

	(void)offset;
	if (conn->peer.ss_family)
		(void)vbd_addr_format(&conn->peer, peer_addr);
	vbd_metrics_put(out,
		VBD_LABELS(VBD_LABEL("connection", id), VBD_LABEL("name", object->name),
			VBD_LABEL("peer_addr", peer_addr), VBD_LABEL("device", conn->device.name)),
		1);
}

static void put_state(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
	size_t offset)
{
	const char *state = vbd_conn_state_name(connection_of(object)->conn->state);

	(void)offset;
	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("connection", id), VBD_LABEL("state", state)), 1);
}

static void put_bytes(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
	size_t offset)
{
	const struct vbd_qp *qp = &connection_of(object)->conn->qp;

	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_qp_op_counters(qp, op);

		if (vbd_counter_get(&ops->posted))
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("connection", id),
					VBD_LABEL("op", vbd_op_name(op))),
				vbd_counter_get(counter_at(ops, offset)));
	}
}

static void put_completed(struct vbd_metrics_text *out, const char *id,
	const struct vbd_object *object, size_t offset)
{
	static const char *const results[] = {"ok", "error", "flushed"};
	const struct vbd_qp *qp = &connection_of(object)->conn->qp;

	(void)offset;
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *ops = vbd_qp_op_counters(qp, op);
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
	const struct vbd_object *object, size_t offset)
{
	const struct vbd_probe_record *record = connection_of(object)->probe;

	if (record && vbd_counter_get(&record->probe.last_ns))
		vbd_metrics_put_seconds(out, VBD_LABELS(VBD_LABEL("connection", id)),
			vbd_counter_get(counter_at(&record->probe, offset)));
}

static const struct vbd_metrics_family connection_families[] = {
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

struct vbd_metrics_walk vbd_metrics_connections(
	const struct vbd_daemon *daemon, const struct vbd_caller *scope)
{
	return (struct vbd_metrics_walk){.registry = daemon->connections,
		.scope = scope,
		.max = VBD_METRICS_CONNECTIONS_MAX,
		.families = connection_families,
		.count = VBD_ARRAY_LEN(connection_families)};
}

void vbd_metrics_put_omitted(struct vbd_metrics_text *out, const struct vbd_metrics_walk *walk)
{
	uint64_t open = vbd_tally_seen(walk->registry, walk->scope).open;

	vbd_metrics_family(out, "verbsd_connections_omitted", "gauge",
		"Connections without series of their own, of which there are 1000 at most.");
	vbd_metrics_put(out, NULL, open > walk->max ? open - walk->max : 0);
}

/* --- completion queues ----------------------------------------------------------------------- */

static uint64_t cq_total_at(const struct vbd_cq_totals *totals, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)totals + offset);
}

static void put_cq(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
	size_t offset)
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
		cq_total_at(&totals, offset));
}

#define GAUGE	"gauge"
#define COUNTER "counter"
#define FAMILY(member, metric, type, help) \
	{metric, type, help, put_cq, offsetof(struct vbd_cq_totals, member)},

static const struct vbd_metrics_family cq_families[] = {VBD_CQ_METRIC_MAP(FAMILY)};

static void put_devices(
	struct vbd_metrics_text *out, const struct vbd_fabric *fabric, size_t offset)
{
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);
		struct vbd_cq_totals totals;

		/* Two devices of one name never have a context at the same time. */
		if (!device->context)
			continue;
		vbd_fabric_cq_totals(fabric, device, &totals);
		vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("device", device->name)),
			cq_total_at(&totals, offset));
	}
}

struct vbd_metrics_walk vbd_metrics_cqs(
	const struct vbd_daemon *daemon, const struct vbd_caller *scope)
{
	return (struct vbd_metrics_walk){.registry = daemon->cqs,
		.scope = scope,
		.max = UINT64_MAX,
		.families = cq_families,
		.count = VBD_ARRAY_LEN(cq_families)};
}

void vbd_metrics_put_device_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(cq_families); i++) {
		begin_family(out, &cq_families[i]);
		put_devices(out, fabric, cq_families[i].offset);
	}
}
