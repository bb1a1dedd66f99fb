/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/memory/windows.h"

#include <assert.h>

/* --- one window ------------------------------------------------------------------------------ */

/* Null while no peer can use the window. */
static void put_remote(struct vbd_encoder *out, const struct vbd_window_record *record)
{
	bool ready = record->window.state == VBD_WINDOW_READY;

	vbd_put_hex_or_null(out, "addr", ready, record->addr, 1);
	vbd_put_hex_or_null(out, "rkey", ready, record->window.rkey, 8);
}

static void encode_window(struct vbd_encoder *out, const void *item)
{
	const struct vbd_window_record *record = item;
	const struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_window *window = &record->window;
	const struct vbd_window_range *range = &window->range;

	vbd_put_object(out, &record->object);
	vbd_put_text(out, "state", vbd_window_state_name(window->state));
	vbd_put_u64(out, "type", range->type);
	vbd_put_ref(out, "buffer", daemon->buffers, record->buffer_id);
	vbd_put_ref(out, "connection", daemon->connections, record->connection_id);
	vbd_put_reference(out, "device", record->device.id, record->device.name);
	vbd_put_u64(out, "buffer_offset_bytes", range->offset);
	vbd_put_u64(out, "size_bytes", range->length_bytes);
	vbd_put_access(out, "access", range->access);
	put_remote(out, record);
	vbd_put_u64(out, "timeout_ms", record->timeout_ms);
	vbd_put_time(out, "created_at", record->object.created_ns);
	vbd_put_time(out, "ready_at", record->ready_ns);
	vbd_put_time(out, "ended_at", record->ended_ns);
	vbd_put_error(out, "error", &record->object, &record->error, NULL);
}

/* --- creation -------------------------------------------------------------------------------- */

/* A window can grant every access flag except mw_bind. */
#define WINDOW_ACCESS_COUNT 3
static_assert(VBD_ACCESS_MW_BIND == 1 << WINDOW_ACCESS_COUNT, "the others stand before it");

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct vbd_window_spec, name)},
	{VBD_FIELD_OF(BUFFER, "buffer", struct vbd_window_spec, buffer), .required = true},
	{VBD_FIELD_OF(CONNECTION, "connection", struct vbd_window_spec, connection)},
	{VBD_FIELD(UINT, "type", struct vbd_window_spec, range.type), .required = true, .min = 1,
		.max = 2},
	{VBD_FIELD(UINT, "buffer_offset_bytes", struct vbd_window_spec, range.offset),
		.max = INT64_MAX},
	{VBD_FIELD(UINT, "size_bytes", struct vbd_window_spec, range.length_bytes), .min = 1,
		.max = INT64_MAX},
	{VBD_FIELD(ENUM_SET, "access", struct vbd_window_spec, range.access), .required = true,
		.names = vbd_access_names, .n_names = WINDOW_ACCESS_COUNT},
	{VBD_FIELD(UINT, "timeout_ms", struct vbd_window_spec, timeout_ms), .min = 1,
		.max = 600000},
};

static void *create_window(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_window_spec spec = {.origin = vbd_request_origin(req), .timeout_ms = 5000};
	struct vbd_window_range *range = &spec.range;
	struct vbd_window_record *record = NULL;

	if (vbd_request_decode(req, VBD_FIELDS(create_fields), &spec, err) == VBD_OK &&
		!range->access)
		(void)vbd_error_input(err, VBD_E_BAD_VALUE, "/access",
			"/access is empty: a window must grant at least one kind of access");
	if (err->status || vbd_members_find(vbd_request_daemon(req), req->caller, req->json, "",
				   VBD_FIELDS(create_fields), &spec, err) != VBD_OK)
		return NULL;
	if (!range->length_bytes)
		range->length_bytes = range->offset < spec.buffer->mem.size_bytes
					      ? spec.buffer->mem.size_bytes - range->offset
					      : 1;
	(void)!vbd_window_create(vbd_request_daemon(req), &spec, &record, err);
	return record;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_window_record, window.state)
VBD_PAGE_TEXT(by_device, struct vbd_window_record, device.name)
VBD_PAGE_NUMBER(by_buffer, struct vbd_window_record, buffer_id)
VBD_PAGE_NUMBER(by_connection, struct vbd_window_record, connection_id)

static const struct vbd_page_column window_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"buffer", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_BUFFER, .number = by_buffer},
	{"connection", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_CONNECTION, .number = by_connection},
	VBD_COLUMN_CREATED,
	VBD_COLUMN_DEVICE(VBD_SELECTS, by_device),
	{.name = NULL},
};

const struct vbd_task_kind vbd_window_task = {
	.kind = VBD_KIND_WINDOW,
	.create = create_window,
	.done = VBD_STATES(VBD_WINDOW_READY),
	.page.members = vbd_window_members,
	.page.columns = window_columns,
	.page.states = VBD_PAGE_STATES(VBD_WINDOW_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_window,
};
