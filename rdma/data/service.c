/* SPDX-License-Identifier: Apache-2.0 */

#include "rdma/data/probe.h"
#include "rdma/data/rping.h"

static bool speaks_rping(enum vbd_service service)
{
	return service == VBD_SERVICE_RPING || service == VBD_SERVICE_RPING_CLIENT;
}

enum vbd_status vbd_service_check(enum vbd_service service, enum vbd_qp_transport transport,
	uint32_t recv_size_bytes, struct vbd_error *err)
{
	if (service == VBD_SERVICE_ECHO && transport == VBD_TRANSPORT_UD)
		return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "service",
			"the service echo answers over a connection, and ud has no connection");
	if (service == VBD_SERVICE_FILES && transport != VBD_TRANSPORT_RC)
		return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "service",
			"the service files needs a connection of the type rc");
	if (service == VBD_SERVICE_FILES && recv_size_bytes < VBD_FILES_MESSAGE_BYTES)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "recv_size_bytes",
			"the service files receives messages of %d bytes; recv_size_bytes is only "
			"%u",
			VBD_FILES_MESSAGE_BYTES, recv_size_bytes);
	if (!speaks_rping(service))
		return VBD_OK;
	if (!vbd_op_allowed(VBD_OP_READ, transport))
		return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "service",
			"the service %s needs RDMA read, which %s does not support",
			vbd_service_name(service), vbd_transport_name(transport));
	if (recv_size_bytes < VBD_RPING_MESSAGE_BYTES)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "recv_size_bytes",
			"the service %s receives messages of %d bytes; recv_size_bytes is only %u",
			vbd_service_name(service), VBD_RPING_MESSAGE_BYTES, recv_size_bytes);
	return VBD_OK;
}

/* Instead of the receive whose bytes an echo sends: they were copied into the work request. */
#define COPIED UINT32_MAX

static void echo_pump(struct vbd_channel *channel)
{
	while (channel->echo_count > 0 && vbd_channel_can_send(channel)) {
		uint32_t index = channel->echo_ring[channel->echo_head];
		const struct vbd_recv_slot *slot = vbd_channel_recv_slot(channel, index);
		const struct vbd_sge sge = {
			.addr = (uintptr_t)vbd_channel_recv_data(slot),
			.length_bytes = slot->received.length_bytes,
			.lkey = vbd_channel_recv_lkey(channel),
		};
		bool copied = sge.length_bytes <= channel->limits.inline_bytes;
		const struct vbd_send_request request = {
			.op = slot->received.has_imm ? VBD_OP_SEND_IMM : VBD_OP_SEND,
			.sges = &sge,
			.sge_count = slot->received.length_bytes ? 1 : 0,
			.more = channel->echo_count > 1,
			.wr = {.imm = slot->received.imm, .inlined = copied && sge.length_bytes},
			.recv_index = copied ? COPIED : index,
		};

		if (!vbd_channel_post_send(channel, &request))
			return;
		channel->echo_head = (channel->echo_head + 1) % channel->limits.rq_depth;
		channel->echo_count--;
		if (copied)
			vbd_channel_post_recv(channel, index);
	}
}

static void echo_received(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	uint32_t tail = (channel->echo_head + channel->echo_count) % channel->limits.rq_depth;

	channel->echo_ring[tail] = slot->index;
	channel->echo_count++;
	echo_pump(channel);
}

static void echo_sent(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (sent->recv_index != COPIED)
		vbd_channel_post_recv(channel, sent->recv_index);
}

/* The receive is not posted again until a client deletes the message: RNR makes the sender wait. */
static void inbox_received(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	slot->received_ns = vbd_worker_now_ns(channel->worker);
	vbd_worker_notify(channel->worker, &slot->item, VBD_CONTROL_MESSAGE);
}

static void sink_received(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	vbd_probe_received(channel, slot);
	vbd_channel_post_recv(channel, slot->index);
}

const struct vbd_service_ops *vbd_service_ops(enum vbd_service service)
{
	static const struct vbd_service_ops ops[VBD_SERVICE_COUNT] = {
		[VBD_SERVICE_INBOX] = {.received = inbox_received},
		[VBD_SERVICE_FILES] = {.received = inbox_received},
		[VBD_SERVICE_ECHO] = {.received = echo_received,
			.sent = echo_sent,
			.pump = echo_pump},
		[VBD_SERVICE_SINK] = {.received = sink_received},
	};

	return speaks_rping(service) ? &vbd_rping_ops : &ops[service];
}
