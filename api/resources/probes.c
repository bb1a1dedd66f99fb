/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "base/enum.h"
#include "daemon/work/probes.h"

/* --- the task --------------------------------------------------------------------------------- */

static void encode_item(struct vbd_encoder *out, const void *item)
{
	vbd_put_probe(out, item);
}

static const struct vbd_probe_record *record_of(const void *item)
{
	return item;
}

static enum vbd_task_state task_state(const void *item)
{
	enum vbd_probe_state state = record_of(item)->state;

	return vbd_task_state_of(state == VBD_PROBE_DONE, state != VBD_PROBE_RUNNING);
}

/* --- creation -------------------------------------------------------------------------------- */

static const char *const kind_names[VBD_PROBE_KIND_COUNT] = {VBD_PROBE_KIND_MAP(VBD_ENUM_NAME)};

struct probe_create {
	struct vbd_probe_spec spec;
	struct vbd_json_ref connection;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD(REF, "connection", struct probe_create, connection), .required = true},
	{VBD_FIELD(ENUM, "kind", struct probe_create, spec.kind), VBD_NAMES(kind_names)},
	{VBD_FIELD(UINT, "count", struct probe_create, spec.count), .nullable = true, .min = 1,
		.max = VBD_PROBE_COUNT_MAX},
	{VBD_FIELD(UINT, "interval_ms", struct probe_create, spec.interval_ms), .max = 3600000},
	{VBD_FIELD(UINT, "size_bytes", struct probe_create, spec.size_bytes), .max = 65535},
	{VBD_FIELD(UINT, "timeout_ms", struct probe_create, spec.timeout_ms), .nullable = true,
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
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_probe_record *record = NULL;
	struct probe_create input = {.spec.origin = vbd_request_origin(req)};

	if (vbd_request_decode(req, VBD_FIELDS(create_fields), &input, err) != VBD_OK)
		return NULL;
	input.spec.connection = vbd_member_find(
		daemon->connections, req->caller, &input.connection, "/connection", err);
	if (!input.spec.connection)
		return NULL;
	fill_defaults(req->json, &input.spec);
	return vbd_probe_create(daemon, &input.spec, &record, err) == VBD_OK ? record : NULL;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, record_of, state)
VBD_PAGE_NUMBER(by_connection, record_of, connection_id)

static const struct vbd_page_state probe_states[] = {
	VBD_PROBE_STATE_MAP(VBD_PAGE_STATE){NULL, false}};

static const struct vbd_page_key probe_keys[] = {
	{.name = "state", .number = by_state},
	{.name = "connection", .number = by_connection},
	VBD_PAGE_KEY_CREATED,
	{.name = NULL},
};

static const struct vbd_page_filter probe_filters[] = {
	{.name = "connection", .kind = VBD_KIND_CONNECTION, .id = by_connection},
	{.name = NULL},
};

static const struct vbd_page_source probe_page = {
	.members = vbd_probe_members,
	.keys = probe_keys,
	.states = probe_states,
	.state_of = by_state,
	.filters = probe_filters,
	.encode = encode_item,
};

const struct vbd_task_kind vbd_probe_task = {
	.kind = VBD_KIND_PROBE,
	.gone = "the probe was deleted in the meantime",
	.encode = encode_item,
	.create = create_probe,
	.state = task_state,
	.page = &probe_page,
};
