/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/transfers.h"

#include "rdma/device/pd.h"

void vbd_transfer_explain(struct vbd_transfer_record *record)
{
	enum vbd_reason reason = record->qp->reason;
	struct vbd_transfer *transfer = &record->transfer;
	char owner[VBD_QP_OWNER_BYTES];

	if (transfer->state != VBD_TRANSFER_FAILED || transfer->error.status != VBD_E_QP_FATAL ||
		reason == VBD_REASON_NONE)
		return;
	transfer->error = (struct vbd_error){0};
	(void)vbd_error_set(&transfer->error, vbd_reason_status(reason),
		"%s ended after %llu bytes of it: %s", vbd_qp_owner_text(record->qp, owner),
		(unsigned long long)vbd_counter_get(&transfer->bytes_done),
		vbd_reason_text(reason));
}

void vbd_transfer_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	const struct vbd_transfer *transfer =
		&((const struct vbd_transfer_record *)object)->transfer;

	*ret_err = transfer->error;
	if (transfer->state == VBD_TRANSFER_TIMED_OUT ||
		transfer->state == VBD_TRANSFER_CANCELLED) {
		bool late = transfer->state == VBD_TRANSFER_TIMED_OUT;

		*ret_err = (struct vbd_error){0};
		(void)vbd_error_set(ret_err, late ? VBD_E_TIMED_OUT : VBD_E_CANCELLED,
			"the transfer %s after %llu of %llu bytes",
			late ? "reached its deadline" : "was cancelled",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done),
			(unsigned long long)vbd_transfer_length(transfer));
	}
}

void vbd_transfer_first_error(
	const struct vbd_transfer_record *record, struct vbd_first_error *ret_first)
{
	const struct vbd_transfer *transfer = &record->transfer;

	*ret_first = (struct vbd_first_error){.op = -1};
	/* A flush, as after a cancel, is never the first error. */
	if (transfer->wc_status < 0 || transfer->wc_status == IBV_WC_WR_FLUSH_ERR)
		return;
	vbd_transfer_problem(&record->object, &ret_first->error);
	ret_first->error.source = VBD_SOURCE_WC;
	ret_first->error.kind = transfer->wc_status;
	ret_first->error.raw = transfer->vendor_err;
	ret_first->at_ns = vbd_counter_get(&transfer->ended_ns);
	ret_first->op = (int)transfer->op;
	ret_first->transfer = transfer->id;
}

static bool is_ud(const struct vbd_qp *qp)
{
	return qp->channel->limits.transport == VBD_TRANSPORT_UD;
}

static enum vbd_status check_device(
	const struct vbd_device *device, enum vbd_op op, struct vbd_error *err)
{
	enum vbd_cap capability = vbd_ops[op].capability;
	enum vbd_status status =
		capability == VBD_CAP_COUNT ? VBD_OK : vbd_device_require(device, capability, err);

	if (status && err)
		(void)snprintf(err->pointer, sizeof(err->pointer), "/op");
	return status;
}

/* A device never sends a READ or an atomic of a queue pair that may have none outstanding. */
static enum vbd_status check_depth(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_qp_info *info = &spec->qp->info;
	char owner[VBD_QP_OWNER_BYTES];

	if ((spec->op != VBD_OP_READ && !vbd_ops[spec->op].is_atomic) || !info->sends_known ||
		info->initiator_depth)
		return VBD_OK;
	if (err && !err->status)
		err->hint = "Connect again with initiator_depth of at least 1 here, and "
			    "responder_resources of at least 1 at the peer.";
	return vbd_error_input(err, VBD_E_WRONG_STATE, "/op",
		"%s may have no %s outstanding: initiator_depth here or responder_resources of the "
		"peer is 0",
		vbd_qp_owner_text(spec->qp, owner), vbd_op_name(spec->op));
}

static enum vbd_status check_op(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_channel_limits *limits = &spec->qp->channel->limits;
	char owner[VBD_QP_OWNER_BYTES];

	(void)vbd_qp_owner_text(spec->qp, owner);
	if (!vbd_op_allowed(spec->op, limits->transport))
		return vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/op",
			"%s is %s, which does not support %s", owner,
			vbd_transport_name(limits->transport), vbd_op_name(spec->op));
	if (spec->op == VBD_OP_RECV && is_ud(spec->qp))
		return vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/op",
			"%s has the service %s, which takes all messages of a ud queue pair; recv "
			"is for connections",
			owner, vbd_service_name(limits->service));
	if (spec->op == VBD_OP_RECV && limits->service != VBD_SERVICE_NONE)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
			"%s has the service %s, which takes the messages; recv needs the service "
			"none",
			owner, vbd_service_name(limits->service));
	if (check_device(spec->qp->device, spec->op, err) != VBD_OK)
		return VBD_E_NOT_SUPPORTED;
	return check_depth(spec, err);
}

static enum vbd_status check_peer(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_peer_record *peer = spec->peer;

	if (peer->endpoint_id != spec->qp->owner_id)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/ud_peer",
			"peer %llu is one of endpoint %llu", (unsigned long long)peer->object.id,
			(unsigned long long)peer->endpoint_id);
	if (peer->peer.state == VBD_PEER_READY)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_WRONG_STATE, "/ud_peer",
		"peer %llu is %s; data can be sent to a ready peer only",
		(unsigned long long)peer->object.id, vbd_peer_state_json(peer->peer.state));
}

static enum vbd_status check_group(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_group_record *group = spec->group;

	if (group->endpoint_id != spec->qp->owner_id)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/multicast_membership",
			"group %llu is a membership of endpoint %llu",
			(unsigned long long)group->object.id,
			(unsigned long long)group->endpoint_id);
	if (group->group.state == VBD_GROUP_IS_JOINED)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_WRONG_STATE, "/multicast_membership",
		"group %llu is %s; data can be sent to a joined group only",
		(unsigned long long)group->object.id, vbd_group_state_json(group->group.state));
}

/* A connection has one peer; a datagram needs a destination. */
static enum vbd_status check_destination(
	const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	if (!is_ud(spec->qp)) {
		if (!spec->peer && !spec->group)
			return VBD_OK;
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			spec->peer ? "/ud_peer" : "/multicast_membership",
			"a connection has one peer; only an endpoint sends to a given peer");
	}
	if (spec->peer && spec->group)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/multicast_membership",
			"a datagram goes to a peer or to a group, not to both");
	if (spec->peer)
		return check_peer(spec, err);
	if (spec->group)
		return check_group(spec, err);
	return vbd_error_input(err, VBD_E_MISSING_FIELD, "/ud_peer",
		"/ud_peer or /multicast_membership is missing: an endpoint sends to one of them");
}

static enum vbd_status check_buffer(const struct vbd_qp *qp, const struct vbd_buffer *buffer,
	const char *pointer, struct vbd_error *err)
{
	if (buffer->state == VBD_BUFFER_READY)
		return vbd_buffer_check_qp(buffer, qp, pointer, err);
	return vbd_error_input(err, VBD_E_WRONG_STATE, pointer,
		"buffer %llu is %s; only a ready buffer can be used",
		(unsigned long long)buffer->object.id, vbd_buffer_state_name(buffer->state));
}

/* Return the most ranges that a work request can have. */
static uint32_t ranges_max(const struct vbd_qp *qp, enum vbd_op op)
{
	const struct vbd_channel_limits *limits = &qp->channel->limits;
	uint32_t of_reads = qp->device->attr.max_sge_rd;

	if (op == VBD_OP_RECV)
		return limits->max_recv_sge;
	if (op == VBD_OP_READ && of_reads && of_reads < limits->max_send_sge)
		return of_reads;
	return limits->max_send_sge;
}

static enum vbd_status check_ranges(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	uint32_t max = ranges_max(spec->qp, spec->op);
	enum vbd_status status = VBD_OK;
	char owner[VBD_QP_OWNER_BYTES];

	if (spec->range_count > max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/sges",
			"there are %u ranges; a %s over %s can have %u at most", spec->range_count,
			vbd_op_name(spec->op), vbd_qp_owner_text(spec->qp, owner), max);
	for (uint32_t i = 0; i < spec->range_count && !status; i++) {
		const struct vbd_transfer_range *range = &spec->ranges[i];
		char pointer[40];

		(void)snprintf(pointer, sizeof(pointer), "/sges/%u/buffer", i);
		status = check_buffer(spec->qp, range->buffer, pointer, err);
		(void)snprintf(pointer, sizeof(pointer), "/sges/%u/length_bytes", i);
		if (!status)
			status = vbd_buffer_check_range(range->buffer, range->offset_bytes,
				range->length_bytes, pointer, err);
	}
	return status;
}

/* A benchmark repeats one message, whose length its request calls size_bytes. */
static const char *length_pointer(const struct vbd_transfer_spec *spec)
{
	return spec->repeats ? "/size_bytes" : "/length_bytes";
}

static enum vbd_status check_memory(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	enum vbd_status status;

	if (!spec->buffer)
		return check_ranges(spec, err);
	status = check_buffer(spec->qp, spec->buffer, "/buffer", err);
	return status ? status
		      : vbd_buffer_check_range(spec->buffer, spec->offset_bytes, spec->length_bytes,
				length_pointer(spec), err);
}

uint64_t vbd_transfer_message_bytes(const struct vbd_transfer_spec *spec)
{
	if (spec->message_bytes && spec->message_bytes < spec->length_bytes)
		return spec->message_bytes;
	return spec->length_bytes ? spec->length_bytes : 1;
}

bool vbd_transfer_is_whole(const struct vbd_transfer_spec *spec)
{
	return !vbd_ops[spec->op].is_cut || spec->range_count;
}

/* Return the length of the longest work request. */
static uint64_t wr_bytes(const struct vbd_transfer_spec *spec)
{
	uint64_t most = spec->chunk_bytes;

	if (spec->repeats || vbd_transfer_is_whole(spec))
		most = vbd_transfer_message_bytes(spec);
	return spec->length_bytes < most ? spec->length_bytes : most;
}

static enum vbd_status check_atomic(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	if (spec->length_bytes != VBD_ATOMIC_BYTES)
		return vbd_error_input(err, VBD_E_BAD_VALUE, length_pointer(spec),
			"an atomic operation works on %d bytes, not %llu", VBD_ATOMIC_BYTES,
			(unsigned long long)spec->length_bytes);
	if (spec->wr.remote_addr % VBD_ATOMIC_BYTES)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/remote/addr",
			"0x%llx is not a multiple of %d; an atomic operation needs one",
			(unsigned long long)spec->wr.remote_addr, VBD_ATOMIC_BYTES);
	return VBD_OK;
}

/* A longer message would end the connection. */
static enum vbd_status check_peers_receive(
	const struct vbd_transfer_spec *spec, const char *pointer, struct vbd_error *err)
{
	uint32_t peer_bytes = spec->qp->peer_recv_size_bytes;

	if (!vbd_ops[spec->op].sends || !peer_bytes || wr_bytes(spec) <= peer_bytes)
		return VBD_OK;
	if (err && !err->status)
		err->hint = "Send less at a time, or raise recv_size_bytes at the peer.";
	return vbd_error_input(err, VBD_E_OUT_OF_RANGE,
		spec->buffer || spec->range_count ? pointer : "/data",
		"the message has %llu bytes, and each receive of the peer has %u",
		(unsigned long long)wr_bytes(spec), peer_bytes);
}

/* A datagram has to fit one packet; the device cuts a message of a connection into packets. */
static enum vbd_status check_message(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_device *device = spec->qp->device;
	const char *pointer = spec->message_bytes ? "/message_bytes" : length_pointer(spec);
	uint32_t max_msg_bytes = device->attr.max_msg_bytes;

	if (is_ud(spec->qp)) {
		uint32_t mtu_bytes = VBD_CONTAINER_OF(spec->qp, struct vbd_endpoint, qp)->mtu_bytes;

		if (wr_bytes(spec) <= mtu_bytes)
			return VBD_OK;
		if (!spec->buffer && !spec->range_count)
			pointer = "/data";
		return vbd_error_input(err, VBD_E_MESSAGE_TOO_LONG, pointer,
			"%llu bytes; a datagram of endpoint %llu has %u at most, the MTU of its "
			"port",
			(unsigned long long)wr_bytes(spec), (unsigned long long)spec->qp->owner_id,
			mtu_bytes);
	}
	if (wr_bytes(spec) <= max_msg_bytes)
		return check_peers_receive(spec, pointer, err);
	return vbd_error_input(err, VBD_E_OUT_OF_RANGE, pointer,
		"a message of device %s has %u bytes at most", device->name, max_msg_bytes);
}

/* Inline bytes of shared memory would be read by the provider, without the care of
 * vbd_mem_read(). */
static bool uses_shared_memory(const struct vbd_transfer_spec *spec)
{
	if (spec->buffer)
		return spec->buffer->mem.kind == VBD_MEM_SHARED;
	for (uint32_t i = 0; i < spec->range_count; i++) {
		if (spec->ranges[i].buffer->mem.kind == VBD_MEM_SHARED)
			return true;
	}
	return false;
}

bool vbd_transfer_goes_inline(const struct vbd_transfer_spec *spec)
{
	if (spec->wr.inlined)
		return true;
	return vbd_ops[spec->op].may_inline && wr_bytes(spec) > 0 &&
	       wr_bytes(spec) <= spec->qp->channel->limits.inline_bytes &&
	       !uses_shared_memory(spec);
}

static enum vbd_status check_length(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	uint32_t inline_bytes = spec->qp->channel->limits.inline_bytes;
	enum vbd_status status = VBD_OK;
	char owner[VBD_QP_OWNER_BYTES];

	if (vbd_ops[spec->op].is_atomic)
		status = check_atomic(spec, err);
	if (!status && (spec->repeats || vbd_transfer_is_whole(spec)))
		status = check_message(spec, err);
	if (!status && spec->wr.inlined && uses_shared_memory(spec))
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/inline",
			"the bytes of a shared buffer can't be inline");
	if (!status && spec->wr.inlined && wr_bytes(spec) > inline_bytes)
		status = vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/inline",
			"%llu bytes; %s has inline_bytes %u", (unsigned long long)wr_bytes(spec),
			vbd_qp_owner_text(spec->qp, owner), inline_bytes);
	return status;
}

enum vbd_status vbd_transfer_check(const struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	uint64_t limit = daemon->config->limits.transfers;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (!status)
		status = spec->qp->ops->check_usable(spec->qp, err);
	if (!status)
		status = check_op(spec, err);
	if (!status)
		status = check_destination(spec, err);
	if (!status)
		status = check_memory(spec, err);
	if (!status)
		status = check_length(spec, err);
	if (status || daemon->transfers->open < limit)
		return status;
	vbd_error_limit(err, "transfers", limit);
	return vbd_error_set(err, VBD_E_LIMIT_REACHED,
		"%u transfers are running, which is the limit", daemon->transfers->open);
}
