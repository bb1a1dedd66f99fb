/* SPDX-License-Identifier: Apache-2.0 */
/* The list of connections, and the functions for GET of one. */
#include "api/http/archive.h"
#include "api/http/page.h"
#include "api/resources/connections.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "daemon/connections/connections.h"

static void encode_item(struct vbd_encoder *out, const void *item)
{
	vbd_put_connection(out, item);
}

static const struct vbd_conn *conn_of(const void *item)
{
	return ((const struct vbd_connection *)item)->conn;
}

VBD_PAGE_NUMBER(by_state, conn_of, state)

VBD_PAGE_TEXT(by_device, conn_of, device.name)

VBD_PAGE_NUMBER(by_created, conn_of, created_ns)
VBD_PAGE_NUMBER(by_established, conn_of, established_ns)
VBD_PAGE_NUMBER(by_ended, conn_of, ended_ns)

/* An open connection has no end code and sorts first. */
static const char *by_end_code(const void *item)
{
	enum vbd_reason reason = conn_of(item)->qp.reason;

	return reason ? vbd_reason_name(reason) : "";
}

/* Open connections compare as if all ended at the same time. */
static uint64_t by_duration(const void *item)
{
	const struct vbd_conn *conn = conn_of(item);

	return (conn->ended_ns ? conn->ended_ns : UINT64_MAX) - conn->created_ns;
}

static const struct vbd_connection *connection_of(const void *item)
{
	return item;
}

VBD_PAGE_NUMBER(by_listener, connection_of, listener_id)

static uint64_t by_bytes(const void *item)
{
	return vbd_connection_moved_bytes(item);
}

static uint64_t past_duration(const struct vbd_archived *archived)
{
	const struct vbd_record *record = archived->record;

	return record->ended_wall_ns - record->created_wall_ns;
}

static uint64_t past_bytes(const struct vbd_archived *archived)
{
	json_t *counters = json_object_get(archived->body, "counters");
	uint64_t moved_bytes = 0;
	const char *op;
	json_t *of_op;

	json_object_foreach(counters, op, of_op) moved_bytes +=
		(uint64_t)json_integer_value(json_object_get(of_op, "bytes"));
	return moved_bytes;
}

static const struct vbd_page_state connection_states[] = {
	VBD_CONN_STATE_MAP(VBD_PAGE_STATE){NULL, false}};

static const struct vbd_page_key connection_keys[] = {
	VBD_PAGE_KEY_NAME,
	{.name = "state", .number = by_state},
	{.name = "device", .text = by_device},
	{.name = "created_at", .number = by_created},
	{.name = "established_at", .number = by_established},
	{.name = "ended_at", .number = by_ended},
	{.name = "end_code", .text = by_end_code},
	{.name = "duration", .number = by_duration, .past = past_duration},
	{.name = "bytes", .number = by_bytes, .past = past_bytes},
	{.name = NULL},
};

/* The first reason is that of a connection that has not ended. */
static const char *end_code_at(unsigned int i)
{
	return i + 1 < VBD_REASON_COUNT ? vbd_reason_name((enum vbd_reason)(i + 1)) : NULL;
}

static const struct vbd_page_filter connection_filters[] = {
	VBD_PAGE_FILTER_NAME,
	VBD_PAGE_FILTER_DEVICE(by_device),
	{.name = "listener", .kind = VBD_KIND_LISTENER, .id = by_listener},
	{.name = "end_code", .text = by_end_code, .word = end_code_at},
	{.name = NULL},
};

static const struct vbd_page_source connection_page = {
	.members = vbd_connection_members,
	.keys = connection_keys,
	.states = connection_states,
	.state_of = by_state,
	.filters = connection_filters,
	.encode = encode_item,
};

static void refresh(void *item)
{
	const struct vbd_connection *connection = item;

	vbd_conn_refresh_qp_at(
		connection->conn, vbd_loop_now_ns(connection->object.registry->daemon->loop));
}

const struct vbd_task_kind vbd_connection_task = {
	.kind = VBD_KIND_CONNECTION,
	.gone = "the connection was deleted in the meantime",
	.refresh = refresh,
	.encode = encode_item,
	.encode_past = vbd_put_past_explanation,
	.page = &connection_page,
};
