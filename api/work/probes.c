/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/work/probes.h"

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_counters(struct vbd_encoder *out, const struct vbd_probe *probe)
{
	const struct vbd_probe_counters *counters = &probe->counters;
	bool known = vbd_counter_get(&counters->rtt_ns.count) != 0;

	vbd_put_u64(out, "sent", vbd_counter_get(&counters->sent));
	vbd_put_u64(out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(out, "late", vbd_counter_get(&counters->late));
	vbd_put_u64(out, "lost", vbd_counter_get(&counters->lost));
	vbd_put_u64(out, "mismatched", vbd_counter_get(&probe->mismatched));
	vbd_put_u64_or_null(out, "last_ns", known, vbd_counter_get(&probe->last_ns));
	vbd_put_u64_or_null(out, "jitter_ns", known, vbd_counter_get(&probe->jitter_ns));
	vbd_put_latency(out, "rtt_ns", &counters->rtt_ns);
}

static void put_probe(struct vbd_encoder *out, const void *item)
{
	const struct vbd_probe_record *record = item;
	const struct vbd_probe *probe = &record->probe;
	bool ended = record->state != VBD_PROBE_RUNNING;

	vbd_put_task(out, &record->object, vbd_probe_state_name(record->state));
	vbd_put_ref(out, "connection", record->object.registry->daemon->connections,
		record->connection_id);
	vbd_put_text(out, "kind", vbd_probe_kind_name(probe->kind));
	vbd_put_u64_or_null(out, "count", probe->count != 0, probe->count);
	vbd_put_u64(out, "interval_ms", probe->interval_ns / VBD_NS_PER_MS);
	vbd_put_u64(out, "size_bytes", probe->size_bytes);
	vbd_put_u64_or_null(out, "timeout_ms", record->timeout_ms != 0, record->timeout_ms);
	put_counters(out, probe);
	vbd_put_time(out, "created_at", record->object.created_ns);
	vbd_put_time(out, "ended_at", ended ? vbd_counter_get(&probe->ended_ns) : 0);
	vbd_put_task_error(out, &record->object,
		record->object.ended && record->state != VBD_PROBE_DONE,
		&(struct vbd_first_error){0});
}

/* --- creation -------------------------------------------------------------------------------- */

static const char *const kind_names[VBD_PROBE_KIND_COUNT] = {VBD_PROBE_KIND_MAP(VBD_ENUM_NAME)};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_OF(CONNECTION, "connection", struct vbd_probe_spec, connection),
		.required = true},
	{VBD_FIELD(ENUM, "kind", struct vbd_probe_spec, kind), VBD_NAMES(kind_names)},
	{VBD_FIELD(UINT, "count", struct vbd_probe_spec, count), .nullable = true, .min = 1,
		.max = VBD_PROBE_COUNT_MAX},
	{VBD_FIELD(UINT, "interval_ms", struct vbd_probe_spec, interval_ms), .max = 3600000},
	{VBD_FIELD(UINT, "size_bytes", struct vbd_probe_spec, size_bytes), .max = 65535},
	{VBD_FIELD(UINT, "timeout_ms", struct vbd_probe_spec, timeout_ms), .nullable = true,
		.min = 1, .max = 3600000},
};

/* Defaults of absent members: an rping probe sends 10 pings, other probes run until deleted. */
static void fill_defaults(const json_t *json, struct vbd_probe_spec *spec)
{
	static const uint32_t default_bytes[VBD_PROBE_KIND_COUNT] = {
		[VBD_PROBE_RPING] = 64,
		[VBD_PROBE_ECHO] = VBD_ECHO_BYTES_MIN,
	};
	enum vbd_service service = spec->connection->conn->params.qp.service;
	bool rping;

	if (!vbd_given(json, "kind"))
		spec->kind = service == VBD_SERVICE_RPING_CLIENT ? VBD_PROBE_RPING : VBD_PROBE_ACK;
	rping = spec->kind == VBD_PROBE_RPING;
	if (!json_object_get(json, "count"))
		spec->count = rping ? 10 : 0;
	if (!vbd_given(json, "interval_ms"))
		spec->interval_ms = rping ? 0 : 1000;
	if (!vbd_given(json, "size_bytes"))
		spec->size_bytes = default_bytes[spec->kind];
	if (!json_object_get(json, "timeout_ms"))
		spec->timeout_ms = spec->interval_ms ? 0 : 30000;
}

static void *create_probe(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_probe_record *record = NULL;
	struct vbd_probe_spec spec = {.origin = vbd_request_origin(req)};

	if (vbd_request_decode_found(req, VBD_FIELDS(create_fields), &spec, err) != VBD_OK)
		return NULL;
	fill_defaults(req->json, &spec);
	(void)!vbd_probe_create(vbd_request_daemon(req), &spec, &record, err);
	return record;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_probe_record, state)
VBD_PAGE_NUMBER(by_connection, struct vbd_probe_record, connection_id)

static const struct vbd_page_column probe_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	{"connection", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_CONNECTION, .number = by_connection},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

const struct vbd_task_kind vbd_probe_task = {
	.kind = VBD_KIND_PROBE,
	.create = create_probe,
	.done = VBD_STATES(VBD_PROBE_DONE),
	.page.members = vbd_probe_members,
	.page.columns = probe_columns,
	.page.states = VBD_PAGE_STATES(VBD_PROBE_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = put_probe,
};
