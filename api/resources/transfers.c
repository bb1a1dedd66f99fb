/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/archive.h"
#include "api/http/page.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "api/resources/transfers.h"
#include "daemon/work/transfers.h"
#include "api/resources/common_json.h"

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

	return vbd_task_state_of(state == VBD_TRANSFER_DONE, vbd_transfer_state_ended(state));
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

static void put_error(
	struct vbd_encoder *out, const char *name, const struct vbd_transfer_record *record)
{
	const struct vbd_transfer *transfer = &record->transfer;
	struct vbd_first_error first = {.op = -1};
	struct vbd_error error = {0};

	if (vbd_transfer_state_ended(transfer->state) && transfer->state != VBD_TRANSFER_DONE) {
		vbd_object_problem(&record->object, &error);
		vbd_transfer_first_error(record, &first);
	}
	vbd_put_error(out, name, &record->object, &error, first.error.status ? &first : NULL);
}

static void put_times(struct vbd_encoder *out, const struct vbd_transfer *transfer)
{
	uint64_t started_ns = vbd_counter_get(&transfer->started_ns);
	uint64_t ended_ns = vbd_counter_get(&transfer->ended_ns);
	bool ended = vbd_transfer_state_ended(transfer->state) && ended_ns;

	vbd_put_time(out, "created_at", transfer->created_ns);
	vbd_put_time(out, "started_at", started_ns);
	vbd_put_time(out, "ended_at", ended ? ended_ns : 0);
	vbd_put_u64_or_null(out, "queue_ns", started_ns != 0, started_ns - transfer->created_ns);
	vbd_put_u64_or_null(out, "wire_ns", started_ns && ended, ended_ns - started_ns);
}

static void put_range(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_transfer_range *range)
{
	vbd_begin_object(out, name);
	vbd_put_ref(out, "buffer", daemon->buffers, range->buffer_id);
	vbd_put_u64(out, "offset_bytes", range->offset_bytes);
	vbd_put_u64(out, "length_bytes", range->length_bytes);
	vbd_end(out);
}

/* A transfer of one range has `buffer` and `offset_bytes`; one of a list has `sges`. */
static void put_ranges(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_transfer_range *first = record->ranges;
	bool one = record->range_count > 0 && !record->listed;

	vbd_put_ref(out, "buffer", daemon->buffers, one ? first->buffer_id : 0);
	vbd_put_u64(out, "offset_bytes", one ? first->offset_bytes : 0);
	if (!record->listed) {
		vbd_put_null(out, "sges");
		return;
	}
	vbd_begin_array(out, "sges");
	for (uint32_t i = 0; i < record->range_count; i++)
		put_range(out, NULL, daemon, &record->ranges[i]);
	vbd_end(out);
}

static void put_received(
	struct vbd_encoder *out, const char *name, const struct vbd_transfer *transfer)
{
	const struct vbd_received *received = &transfer->received;

	if (!vbd_begin_object_if(
		    out, name, transfer->op == VBD_OP_RECV && transfer->state == VBD_TRANSFER_DONE))
		return;
	vbd_put_received(out, received);
	vbd_end(out);
}

/* Put the members that only some operations have. */
static void put_operands(struct vbd_encoder *out, const struct vbd_transfer *transfer)
{
	bool done = transfer->state == VBD_TRANSFER_DONE;

	vbd_put_bool(out, "inline", transfer->wr.inlined);
	vbd_put_u64_or_null(out, "imm", vbd_ops[transfer->op].has_imm, transfer->wr.imm);
	if (vbd_ops[transfer->op].is_atomic && done)
		vbd_put_hex(out, "old_value", transfer->old_value, 16);
	else
		vbd_put_null(out, "old_value");
	put_received(out, "received", transfer);
}

static void put_refs(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const struct vbd_daemon *daemon = record->object.registry->daemon;

	vbd_put_ref(out, "connection", daemon->connections, record->connection_id);
	vbd_put_ref(out, "ud_endpoint", daemon->ud_endpoints, record->endpoint_id);
	vbd_put_ref(out, "ud_peer", daemon->ud_peers, record->peer_id);
	vbd_put_ref(out, "multicast_membership", daemon->multicast_memberships, record->group_id);
	vbd_put_ref(out, "batch", daemon->transfer_batches, record->batch_id);
}

void vbd_put_transfer(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const struct vbd_transfer *transfer = &record->transfer;

	vbd_put_u64(out, "id", record->object.id);
	vbd_put_owner(out, &record->object);
	vbd_put_labels(out, record->object.labels);
	vbd_put_text(out, "state", vbd_transfer_state_name(transfer->state));
	vbd_put_text(out, "op", vbd_op_name(transfer->op));
	put_refs(out, record);
	put_ranges(out, record);
	vbd_put_remote(out, "remote", transfer->op, transfer->wr.remote_addr, transfer->wr.rkey);
	vbd_put_u64(out, "length_bytes", vbd_transfer_length(transfer));
	vbd_put_u64(out, "chunk_bytes", transfer->chunk_bytes);
	vbd_put_u64(out, "tx_depth", transfer->tx_depth);
	vbd_put_u64(out, "bytes_done", vbd_counter_get(&transfer->bytes_done));
	vbd_put_u64(out, "wrs_done", vbd_counter_get(&transfer->wrs_done));
	vbd_put_u64_or_null(out, "messages_done", vbd_ops[transfer->op].sends,
		vbd_counter_get(&transfer->wrs_done));
	put_operands(out, transfer);
	vbd_put_u64(out, "timeout_ms", record->timeout_ms);
	put_times(out, transfer);
	put_error(out, "error", record);
}
