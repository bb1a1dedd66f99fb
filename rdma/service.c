/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/service.h"

#include "rdma/worker.h"

#include <endian.h>
#include <string.h>

/*
 * rping's message (rdma-core, librdmacm/examples/rping.c): where the peer's buffer is, all in
 * network order. The server answers with the same layout, whose content the client does not read.
 */
struct rping_message {
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t size_bytes_be;
} __attribute__((packed));

/* rping takes no -S above 64 KiB. */
#define RPING_DATA_BYTES (64 * 1024)

size_t vbd_service_scratch_bytes(enum vbd_service service)
{
	return service == VBD_SERVICE_RPING ? RPING_DATA_BYTES : 0;
}

static uint8_t *rping_data(const struct vbd_channel *channel)
{
	return channel->mem.addr + channel->mem.size_bytes - RPING_DATA_BYTES;
}

static void echo_pump(struct vbd_channel *channel)
{
	while (channel->echo_count > 0 && vbd_channel_can_send(channel)) {
		uint32_t index = channel->echo_ring[channel->echo_head];
		const struct vbd_recv_slot *slot = &channel->recv_slots[index];
		const struct vbd_sge sge = {
			.addr = (uint8_t *)(uintptr_t)vbd_channel_recv_data(slot),
			.length_bytes = slot->received.length_bytes,
			.lkey = channel->mem.lkey,
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

static void rping_go_ahead(struct vbd_channel *channel)
{
	struct rping_message go_ahead = {0};
	const struct vbd_sge sge = {
		.addr = (uint8_t *)&go_ahead,
		.length_bytes = sizeof(go_ahead),
	};
	const struct vbd_send_request request = {
		.op = VBD_OP_SEND,
		.sges = &sge,
		.sge_count = 1,
		.inlined = true,
	};

	channel->rping_owed = !vbd_channel_post_send(channel, &request);
}

static void rping_move(struct vbd_channel *channel, enum vbd_op op)
{
	const struct vbd_sge sge = {
		.addr = rping_data(channel),
		.length_bytes = channel->rping_bytes,
		.lkey = channel->mem.lkey,
	};
	const struct vbd_send_request request = {
		.op = op,
		.sges = &sge,
		.sge_count = sge.length_bytes ? 1 : 0,
		.remote_addr = channel->rping_addr,
		.rkey = channel->rping_rkey,
	};

	channel->rping_owed = !vbd_channel_post_send(channel, &request);
}

/* Post the work request of the present step; again later when there was no slot for it. */
static void rping_pump(struct vbd_channel *channel)
{
	switch (channel->rping_step) {
	case VBD_RPING_READING:
		rping_move(channel, VBD_OP_READ);
		break;
	case VBD_RPING_WRITING:
		rping_move(channel, VBD_OP_WRITE);
		break;
	case VBD_RPING_WAIT_SOURCE:
	case VBD_RPING_WAIT_SINK:
		rping_go_ahead(channel);
		break;
	}
}

static void rping_refuse(struct vbd_channel *channel, const char *what)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(
		&error, VBD_E_REMOTE_OPERATION, "the peer does not speak rping: %s", what);
	vbd_channel_break(channel, &error, VBD_OP_RECV, 0);
}

static void rping_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot)
{
	struct rping_message message;

	if (slot->received.length_bytes != sizeof(message)) {
		rping_refuse(channel, "a message of another length than 16 bytes");
		return;
	}
	memcpy(&message, vbd_channel_recv_data(slot), sizeof(message));
	vbd_channel_post_recv(channel, slot->index);
	if (channel->rping_step != VBD_RPING_WAIT_SOURCE &&
		channel->rping_step != VBD_RPING_WAIT_SINK) {
		rping_refuse(channel, "a message out of turn");
		return;
	}
	channel->rping_bytes = be32toh(message.size_bytes_be);
	if (channel->rping_bytes > RPING_DATA_BYTES) {
		rping_refuse(channel, "more than 64 KiB of data");
		return;
	}
	channel->rping_addr = be64toh(message.addr_be);
	channel->rping_rkey = be32toh(message.rkey_be);
	channel->rping_step = channel->rping_step == VBD_RPING_WAIT_SOURCE ? VBD_RPING_READING
									   : VBD_RPING_WRITING;
	rping_pump(channel);
}

static void rping_sent(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (sent->op == VBD_OP_SEND)
		return;
	channel->rping_step = channel->rping_step == VBD_RPING_READING ? VBD_RPING_WAIT_SINK
								       : VBD_RPING_WAIT_SOURCE;
	rping_pump(channel);
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
	case VBD_SERVICE_RPING:
		rping_received(channel, slot);
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
	else if (channel->limits.service == VBD_SERVICE_RPING)
		rping_sent(channel, sent);
}

void vbd_service_pump(struct vbd_channel *channel)
{
	echo_pump(channel);
	if (channel->rping_owed && vbd_channel_can_send(channel))
		rping_pump(channel);
}
