/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/archive.h"
#include "api/http/page.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "api/resources/transfers.h"
#include "daemon/work/transfers.h"

/* --- the task --------------------------------------------------------------------------------- */

static void encode_item(struct vbd_encoder *out, const void *item)
{
	vbd_put_transfer(out, item);
}

static const struct vbd_transfer_record *record_of(const void *item)
{
	return item;
}

static enum vbd_task_state task_state(const void *item)
{
	enum vbd_transfer_state state = record_of(item)->transfer.state;

	if (state == VBD_TRANSFER_DONE)
		return VBD_TASK_DONE;
	return vbd_transfer_state_ended(state) ? VBD_TASK_FAILED : VBD_TASK_RUNNING;
}

void vbd_transfer_answer(struct vbd_request *req, struct vbd_transfer_record *record)
{
	vbd_task_answer(req, &vbd_transfer_task, record);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, record_of, transfer.state)
VBD_PAGE_NUMBER(by_op, record_of, transfer.op)
VBD_PAGE_NUMBER(by_connection, record_of, connection_id)
VBD_PAGE_NUMBER(by_endpoint, record_of, endpoint_id)
VBD_PAGE_NUMBER(by_batch, record_of, batch_id)
VBD_PAGE_NUMBER(by_peer, record_of, peer_id)
VBD_PAGE_NUMBER(by_group, record_of, group_id)
VBD_PAGE_NUMBER(by_length, record_of, transfer.length_bytes)
VBD_PAGE_NUMBER(by_created, record_of, transfer.created_ns)

static bool uses_buffer(const void *item, uint64_t id)
{
	const struct vbd_transfer_record *record = record_of(item);

	for (uint32_t i = 0; i < record->range_count; i++) {
		if (record->ranges[i].buffer_id == id)
			return true;
	}
	return false;
}

static uint64_t past_op(const struct vbd_archived *archived)
{
	const char *name = vbd_archived_text(archived, "op");
	unsigned int op = 0;

	while (op < VBD_OP_COUNT && strcmp(vbd_op_name((enum vbd_op)op), name) != 0)
		op++;
	return op;
}

static const struct vbd_page_state transfer_states[] = {
	VBD_TRANSFER_STATE_MAP(VBD_PAGE_STATE){NULL, false}};

static const struct vbd_page_key transfer_keys[] = {
	{.name = "state", .number = by_state},
	{.name = "op", .number = by_op, .past = past_op},
	{.name = "connection", .number = by_connection},
	{.name = "length_bytes", .number = by_length},
	{.name = "created_at", .number = by_created},
	{.name = NULL},
};

static const struct vbd_page_filter transfer_filters[] = {
	{.name = "connection", .kind = VBD_KIND_CONNECTION, .id = by_connection},
	{.name = "ud_endpoint", .kind = VBD_KIND_UD_ENDPOINT, .id = by_endpoint},
	{.name = "ud_peer", .kind = VBD_KIND_UD_PEER, .id = by_peer},
	{.name = "multicast_membership", .kind = VBD_KIND_MULTICAST_MEMBERSHIP, .id = by_group},
	{.name = "buffer", .kind = VBD_KIND_BUFFER, .has = uses_buffer},
	{.name = "batch", .kind = VBD_KIND_TRANSFER_BATCH, .id = by_batch},
	{.name = NULL},
};

static const struct vbd_page_source transfer_page = {
	.members = vbd_transfer_members,
	.keys = transfer_keys,
	.states = transfer_states,
	.state_of = by_state,
	.filters = transfer_filters,
	.encode = encode_item,
};

const struct vbd_task_kind vbd_transfer_task = {
	.kind = VBD_KIND_TRANSFER,
	.gone = "the transfer was deleted in the meantime",
	.encode = encode_item,
	.state = task_state,
	.page = &transfer_page,
};
