/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/service.h"

#include "rdma/probe.h"
#include "rdma/rping.h"
#include "rdma/worker.h"

static bool speaks_rping(enum vbd_service service)
{
	return service == VBD_SERVICE_RPING || service == VBD_SERVICE_RPING_CLIENT;
}

enum vbd_status vbd_service_check(enum vbd_service service, enum vbd_qp_transport transport,
	uint32_t recv_size_bytes, struct vbd_error *err)
{
	if (service == VBD_SERVICE_ECHO && transport == VBD_TRANSPORT_UD)
		return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "service",
			"the service echo answers over the connection that asked; ud has none");
	if (!speaks_rping(service))
		return VBD_OK;
	if (!vbd_op_allowed(VBD_OP_READ, transport))
		return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "service",
			"the service %s needs RDMA read, which %s does not know",
			vbd_service_name(service), vbd_transport_name(transport));
	if (recv_size_bytes < VBD_RPING_MESSAGE_BYTES)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "recv_size_bytes",
			"the service %s gets messages of %d bytes; recv_size_bytes is %u",
			vbd_service_name(service), VBD_RPING_MESSAGE_BYTES, recv_size_bytes);
	return VBD_OK;
}

enum vbd_status vbd_service_create(
	struct vbd_channel *channel, struct vbd_pd *pd, struct vbd_error *err)
{
	enum vbd_service service = channel->limits.service;

	if (!speaks_rping(service))
		return VBD_OK;
	return vbd_rping_create(channel, pd, service == VBD_SERVICE_RPING_CLIENT, err);
}

void vbd_service_destroy(struct vbd_channel *channel)
{
	vbd_rping_destroy(channel->rping);
	channel->rping = NULL;
}

static void echo_pump(struct vbd_channel *channel)
{
	while (channel->echo_count > 0 && vbd_channel_can_send(channel)) {
		uint32_t index = channel->echo_ring[channel->echo_head];
		const struct vbd_recv_slot *slot = vbd_channel_recv_slot(channel, index);
		const struct vbd_sge sge = {
			.addr = (uint8_t *)(uintptr_t)vbd_channel_recv_data(slot),
			.length_bytes = slot->received.length_bytes,
			.lkey = vbd_channel_recv_lkey(channel),
		};
		const struct vbd_send_request request = {
			.op = slot->received.has_imm ? VBD_OP_SEND_IMM : VBD_OP_SEND,
			.sges = &sge,
			.sge_count = slot->received.length_bytes ? 1 : 0,
			.imm = slot->received.imm,
			.recv_index = index,
		};

		if (!vbd_channel_post_send(channel, &request))
			return;
		channel->echo_head = (channel->echo_head + 1) % channel->limits.rq_depth;
		channel->echo_count--;
	}
}

static void echo_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot)
{
	uint32_t tail = (channel->echo_head + channel->echo_count) % channel->limits.rq_depth;

	channel->echo_ring[tail] = slot->index;
	channel->echo_count++;
	echo_pump(channel);
}

void vbd_service_renew(struct vbd_channel *channel)
{
	if (channel->rping)
		vbd_rping_renew(channel->rping);
}

void vbd_service_received(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	switch (channel->limits.service) {
	case VBD_SERVICE_INBOX:
		/* Not posted again until the message is forgotten: the sender is held back by RNR.
		 */
		vbd_worker_reply(channel->worker, &slot->mail, VBD_CONTROL_MESSAGE);
		break;
	case VBD_SERVICE_ECHO:
		echo_received(channel, slot);
		break;
	case VBD_SERVICE_SINK:
		vbd_probe_received(channel, slot);
		vbd_channel_post_recv(channel, slot->index);
		break;
	case VBD_SERVICE_RPING:
	case VBD_SERVICE_RPING_CLIENT:
		vbd_rping_received(channel, slot);
		break;
	case VBD_SERVICE_NONE:
	case VBD_SERVICE_COUNT:
		break;
	}
}

void vbd_service_sent(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (channel->limits.service == VBD_SERVICE_ECHO)
		vbd_channel_post_recv(channel, sent->recv_index);
	else if (channel->rping)
		vbd_rping_sent(channel, sent->op);
}

void vbd_service_pump(struct vbd_channel *channel)
{
	echo_pump(channel);
	if (channel->rping)
		vbd_rping_pump(channel);
}
