/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/traces.h"
#include "daemon/work/transfers.h"

#include "base/clock.h"
#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"

/* Time from the cancel of work requests until their connection is closed. */
#define CANCEL_GRACE_MS 1000

VBD_OBJECT_RECORD(record_of, struct vbd_transfer_record)

static void record_times(struct vbd_daemon *daemon, const struct vbd_transfer *transfer)
{
	uint64_t started_ns = vbd_counter_get(&transfer->started_ns);

	if (transfer->state != VBD_TRANSFER_DONE || !started_ns || transfer->repeats)
		return;
	vbd_histogram_add(&daemon->times.queued[transfer->op], started_ns - transfer->created_ns);
	vbd_histogram_add(&daemon->times.wire[transfer->op],
		vbd_counter_get(&transfer->ended_ns) - started_ns);
}

static void release_resources(struct vbd_transfer_record *record)
{
	vbd_timer_clear(record->object.deadline);
	for (uint32_t i = 0; i < record->range_count; i++) {
		if (record->ranges[i].buffer)
			vbd_buffer_unref_user(record->ranges[i].buffer);
		record->ranges[i].buffer = NULL;
	}
	vbd_message_give(record->message_pd, &record->message);
	if (record->peer)
		vbd_peer_unref(record->peer);
	record->peer = NULL;
	if (record->group)
		vbd_group_unref(record->group);
	record->group = NULL;
	vbd_list_remove(&record->link);
	if (record->qp && record->transfer.op == VBD_OP_RECV)
		record->object.registry->daemon->receives_open--;
	record->qp = NULL;
}

static void on_ended(struct vbd_transfer *transfer, void *arg)
{
	struct vbd_transfer_record *record = arg;
	struct vbd_daemon *daemon = record->object.registry->daemon;
	struct vbd_error error = {0};
	char owner[VBD_QP_OWNER_BYTES];

	vbd_transfer_explain(record);
	if (transfer->state != VBD_TRANSFER_DONE)
		vbd_transfer_problem(&record->object, &error);
	(void)vbd_qp_owner_text(record->qp, owner);
	release_resources(record);
	daemon->transfers_ended[transfer->state]++;
	record_times(daemon, transfer);
	vbd_object_end(&record->object);
	vbd_object_log(&record->object, VBD_EVENT_TRANSFER_ENDED,
		transfer->state == VBD_TRANSFER_DONE ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING,
		error.status, "%s %s, %llu of %llu bytes over %s%s%s", vbd_op_name(transfer->op),
		vbd_transfer_state_name(transfer->state),
		(unsigned long long)vbd_counter_get(&transfer->bytes_done),
		(unsigned long long)vbd_transfer_length(transfer), owner,
		transfer->error.status ? ": " : "",
		transfer->error.status ? transfer->error.text : "");
	vbd_object_changed(&record->object);
}

static void on_started(struct vbd_transfer *transfer, void *arg)
{
	struct vbd_transfer_record *record = arg;

	(void)transfer;
	vbd_object_changed(&record->object);
}

/* End the connection: only the end of the QP releases the memory of work requests that do not
 * complete. */
static void end_connection(struct vbd_transfer_record *record)
{
	unsigned long long id = record->object.id;
	struct vbd_error error = {0};

	if (record->transfer.late) {
		error.source = VBD_SOURCE_DEADLINE;
		error.raw = record->timeout_ms;
		(void)vbd_error_set(&error, VBD_E_TIMED_OUT,
			"transfer %llu did not complete in %u ms, and its work requests can't be "
			"cancelled",
			id, record->timeout_ms);
	} else {
		(void)vbd_error_set(&error, VBD_E_CANCELLED,
			"transfer %llu was cancelled, and only the end of its queue pair takes "
			"its work requests back",
			id);
	}
	record->qp->ops->end(record->qp, &error, record->object.id);
}

static void stop_transfer(struct vbd_transfer_record *record, bool late)
{
	if (!record->qp || record->stopping)
		return;
	record->stopping = true;
	vbd_timer_set(record->object.deadline, CANCEL_GRACE_MS);
	vbd_transfer_request_cancel(&record->transfer, late);
	vbd_object_changed(&record->object);
}

static void on_deadline(void *arg)
{
	struct vbd_transfer_record *record = arg;

	if (!record->qp)
		return;
	if (record->stopping)
		end_connection(record);
	else
		stop_transfer(record, true);
}

static void fill_transfer(struct vbd_transfer_record *record, const struct vbd_transfer_spec *spec)
{
	struct vbd_channel *channel = spec->qp->channel;
	uint32_t max_msg_bytes = spec->qp->device->attr.max_msg_bytes;
	uint64_t chunk_bytes = spec->chunk_bytes;
	uint32_t sq_depth = channel->limits.sq_depth;

	if (spec->repeats)
		chunk_bytes = spec->length_bytes;
	else if (vbd_transfer_is_whole(spec))
		chunk_bytes = vbd_transfer_message_bytes(spec);
	else if (chunk_bytes > max_msg_bytes)
		chunk_bytes = max_msg_bytes;
	record->transfer = (struct vbd_transfer){
		.id = record->object.id,
		.op = spec->op,
		.channel = channel,
		.length_bytes = spec->repeats && !spec->run_ns ? spec->length_bytes * spec->repeats
							       : spec->length_bytes,
		.chunk_bytes = chunk_bytes,
		.repeats = spec->repeats,
		.run_ns = spec->run_ns,
		.latency_ns = spec->latency_ns,
		.tx_depth = spec->tx_depth && spec->tx_depth < sq_depth ? spec->tx_depth : sq_depth,
		.wr = spec->wr,
		.created_ns = vbd_clock_mono_ns(),
		.state = VBD_TRANSFER_QUEUED,
		.ended = on_ended,
		.started = on_started,
		.arg = record,
		.wc_status = -1,
	};
}

/* Reference the destination, whose address handle is used until the transfer has ended. */
static void ref_destination(
	struct vbd_transfer_record *record, const struct vbd_transfer_spec *spec)
{
	struct vbd_transfer *transfer = &record->transfer;

	if (spec->peer) {
		transfer->wr.ah = spec->peer->peer.ah->ibv_ah;
		transfer->wr.remote_qpn = spec->peer->peer.qpn;
		transfer->wr.remote_qkey = spec->peer->peer.qkey;
		record->peer = spec->peer;
		record->peer_id = spec->peer->object.id;
		vbd_peer_ref(spec->peer);
	}
	if (spec->group) {
		transfer->wr.ah = spec->group->group.ah->ibv_ah;
		transfer->wr.remote_qpn = spec->group->group.qpn;
		transfer->wr.remote_qkey = spec->group->group.qkey;
		record->group = spec->group;
		record->group_id = spec->group->object.id;
		vbd_group_ref(spec->group);
	}
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_transfer_spec *spec,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	struct vbd_transfer_record *record;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->transfers, &spec->origin, "", &object, err);

	if (status)
		return status;
	record = record_of(object);
	record->qp = spec->qp;
	if (spec->qp->channel->limits.transport == VBD_TRANSPORT_UD)
		record->endpoint_id = spec->qp->owner_id;
	else
		record->connection_id = spec->qp->owner_id;
	record->timeout_ms = spec->timeout_ms;
	vbd_list_init(&record->link);
	fill_transfer(record, spec);
	ref_destination(record, spec);
	vbd_list_append(&record->qp->transfers, &record->link);
	daemon->receives_open += spec->op == VBD_OP_RECV;
	*ret_record = record;
	return VBD_OK;
}

#define EXTENT_BYTES 48

/* "of 4096 bytes"; "for 1000 ms" of a benchmark, which moves as much as it can. */
static const char *format_extent(const struct vbd_transfer *transfer, char text[EXTENT_BYTES])
{
	if (transfer->run_ns)
		(void)snprintf(text, EXTENT_BYTES, "for %llu ms",
			(unsigned long long)(transfer->run_ns / VBD_NS_PER_MS));
	else
		(void)snprintf(text, EXTENT_BYTES, "of %llu bytes",
			(unsigned long long)vbd_transfer_length(transfer));
	return text;
}

void vbd_transfer_announce(struct vbd_transfer_record *record)
{
	char owner[VBD_QP_OWNER_BYTES], text[EXTENT_BYTES];

	vbd_timer_set(record->object.deadline, record->timeout_ms);
	if (record->qp->device)
		vbd_traces_sample(record->object.registry->daemon, record->qp->device);
	vbd_object_log(&record->object, VBD_EVENT_TRANSFER_CREATED, VBD_SEVERITY_DEBUG, VBD_OK,
		"%s %s over %s", vbd_op_name(record->transfer.op),
		format_extent(&record->transfer, text), vbd_qp_owner_text(record->qp, owner));
}

void vbd_transfer_start(struct vbd_transfer_record *record)
{
	vbd_transfer_announce(record);
	vbd_transfer_submit(&record->transfer);
}

bool vbd_transfer_receives(const struct vbd_object *object)
{
	return ((const struct vbd_transfer_record *)object)->transfer.op == VBD_OP_RECV;
}

void vbd_transfer_free(struct vbd_transfer_record *record)
{
	release_resources(record);
	vbd_object_free(&record->object);
}

static enum vbd_status allocate_ranges(
	struct vbd_transfer_record *record, uint32_t count, struct vbd_error *err)
{
	record->ranges = calloc(count, sizeof(*record->ranges));
	record->sges = calloc(count, sizeof(*record->sges));
	if (!record->ranges || !record->sges)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a transfer");
	return VBD_OK;
}

/* Reference the buffers until the transfer has ended. */
static enum vbd_status ref_buffers(struct vbd_transfer_record *record,
	const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	struct vbd_transfer *transfer = &record->transfer;
	uint32_t count = spec->buffer ? 1 : spec->range_count;
	const struct vbd_transfer_range whole = {
		spec->buffer, 0, spec->offset_bytes, spec->length_bytes};
	enum vbd_status status;

	if (!count)
		return VBD_OK;
	status = allocate_ranges(record, count, err);
	if (status)
		return status;
	record->range_count = count;
	record->listed = !spec->buffer;
	transfer->wr.inlined = vbd_transfer_goes_inline(spec);
	for (uint32_t i = 0; i < count; i++) {
		const struct vbd_transfer_range *range = spec->buffer ? &whole : &spec->ranges[i];

		record->ranges[i] = *range;
		record->ranges[i].buffer_id = range->buffer->object.id;
		record->sges[i] = (struct vbd_sge){
			.addr = range->buffer->mem.addr + range->offset_bytes,
			.length_bytes = (uint32_t)range->length_bytes,
			.lkey = range->buffer->mem.lkey,
		};
		range->buffer->users++;
		vbd_buffer_ref(range->buffer);
	}
	if (record->listed || spec->op == VBD_OP_RECV || vbd_ops[spec->op].is_atomic) {
		transfer->sges = record->sges;
		transfer->sge_count = count;
	} else {
		transfer->local_addr = record->sges->addr;
		transfer->lkey = record->sges->lkey;
	}
	return VBD_OK;
}

/* Copy the data (NULL: zeroes) for the work request, or into the PD's memory for messages. */
static enum vbd_status store_message(struct vbd_transfer_record *record, const uint8_t *data,
	uint32_t length_bytes, struct vbd_error *err)
{
	struct vbd_transfer *transfer = &record->transfer;
	bool inlined = length_bytes <= transfer->channel->limits.inline_bytes &&
		       vbd_ops[transfer->op].may_inline;
	enum vbd_status status;
	uint8_t *bytes;

	if (inlined) {
		record->inline_data = calloc(1, length_bytes + 1U);
		if (!record->inline_data)
			return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a message");
		bytes = record->inline_data;
		transfer->wr.inlined = true;
	} else {
		record->message_pd = record->qp->pd;
		status = vbd_message_take(record->message_pd, length_bytes, &record->message, err);
		if (status)
			return status;
		bytes = record->message.addr;
		transfer->lkey = record->message.lkey;
	}
	if (data)
		memcpy(bytes, data, length_bytes);
	else
		memset(bytes, 0, length_bytes);
	transfer->local_addr = (uintptr_t)bytes;
	return VBD_OK;
}

enum vbd_status vbd_transfer_prepare(struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_transfer_record **ret_record,
	struct vbd_error *err)
{
	struct vbd_transfer_record *record;
	enum vbd_status status;

	status = vbd_transfer_check(daemon, spec, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	status = ref_buffers(record, spec, err);
	if (!status && (spec->message || (spec->repeats && !spec->buffer && spec->length_bytes)))
		status = store_message(record, spec->message, (uint32_t)spec->length_bytes, err);
	if (status) {
		vbd_transfer_free(record);
		return status;
	}
	*ret_record = record;
	return VBD_OK;
}

enum vbd_status vbd_transfer_create(struct vbd_daemon *daemon, const struct vbd_transfer_spec *spec,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	enum vbd_status status = vbd_transfer_prepare(daemon, spec, ret_record, err);

	if (!status)
		vbd_transfer_start(*ret_record);
	return status;
}

enum vbd_status vbd_transfer_send(struct vbd_daemon *daemon, const struct vbd_transfer_spec *to,
	const uint8_t *data, uint32_t length_bytes, const uint32_t *imm, uint32_t timeout_ms,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	const struct vbd_transfer_spec spec = {
		.origin = to->origin,
		.qp = to->qp,
		.peer = to->peer,
		.group = to->group,
		.op = imm ? VBD_OP_SEND_IMM : VBD_OP_SEND,
		.wr.imm = imm ? *imm : 0,
		/* An empty message may come without an address. */
		.message = data ? data : (const uint8_t *)"",
		.length_bytes = length_bytes,
		.timeout_ms = timeout_ms,
	};

	if (length_bytes > VBD_MESSAGE_BYTES_MAX)
		return vbd_error_input(err, VBD_E_TOO_LONG, "/data",
			"a message in a request has %d bytes at most; send a longer message "
			"from a buffer",
			VBD_MESSAGE_BYTES_MAX);
	return vbd_transfer_create(daemon, &spec, ret_record, err);
}

bool vbd_transfer_uses(const struct vbd_transfer_record *record, const struct vbd_buffer *buffer)
{
	for (uint32_t i = 0; i < record->range_count; i++) {
		if (record->ranges[i].buffer == buffer)
			return true;
	}
	return false;
}

static void cancel_transfer(struct vbd_object *object)
{
	stop_transfer(record_of(object), false);
}

static void free_record(struct vbd_object *object)
{
	struct vbd_transfer_record *record = record_of(object);

	free(record->inline_data);
	free(record->ranges);
	free(record->sges);
}

VBD_OBJECT_STATE(
	get_state_name, struct vbd_transfer_record, transfer.state, vbd_transfer_state_name)

const struct vbd_kind vbd_transfer_kind = {
	.size_bytes = sizeof(struct vbd_transfer_record),
	.keeps_history = true,
	.connection_at = offsetof(struct vbd_transfer_record, connection_id),
	.on_deadline = on_deadline,
	.cancel = cancel_transfer,
	.state = get_state_name,
	.problem = vbd_transfer_problem,
	.free = free_record,
};
