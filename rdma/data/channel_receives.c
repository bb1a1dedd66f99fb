/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receives: a slot for each, posted in chains. A receive that is free again waits until the end
 * of the worker's turn, so that answers go first and its neighbours can join it.
 */
#include "rdma/data/channel_parts.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/faults.h"

#include <endian.h>

enum vbd_status vbd_channel_need_recv_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	uint32_t count = vbd_channel_own_receives(&channel->limits);
	struct vbd_recv_slot *slots;

	if (channel->recv_slots)
		return VBD_OK;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the queues");
	for (uint32_t i = 0; i < count; i++) {
		slots[i].channel = channel;
		slots[i].index = i;
	}
	channel->recv_slots = slots;
	return VBD_OK;
}

size_t vbd_channel_recv_bytes(const struct vbd_channel_limits *limits)
{
	return limits->recv_size_bytes +
	       (limits->transport == VBD_TRANSPORT_UD ? VBD_GRH_BYTES : 0U);
}

/* The address of the receive: the header, if there is one, and the message. */
static uint8_t *recv_addr(const struct vbd_channel *channel, uint32_t index)
{
	return channel->mem.addr + index * vbd_channel_recv_bytes(&channel->limits);
}

const uint8_t *vbd_channel_recv_data(const struct vbd_recv_slot *slot)
{
	const struct vbd_channel_limits *limits = &slot->channel->limits;

	if (slot->srq)
		return vbd_srq_recv_data(slot);
	return recv_addr(slot->channel, slot->index) +
	       (vbd_channel_recv_bytes(limits) - limits->recv_size_bytes);
}

const uint8_t *vbd_channel_recv_grh(const struct vbd_recv_slot *slot)
{
	return recv_addr(slot->channel, slot->index);
}

static enum vbd_status post_recv_chain(
	struct vbd_channel *channel, struct ibv_recv_wr *wrs, uint32_t count, struct vbd_error *err)
{
	struct ibv_recv_wr *bad;
	enum vbd_status status = vbd_pv_post_recv(channel->qp, wrs, &bad, err);
	uint32_t posted = status ? (uint32_t)(bad - wrs) : count;

	channel->rq_outstanding += posted;
	for (uint32_t i = 0; i < posted; i++)
		vbd_channel_count_posted(channel, VBD_OP_RECV, true);
	return status;
}

enum vbd_status vbd_channel_post_sges(struct vbd_channel *channel, uint32_t index,
	const struct vbd_sge *sges, uint32_t count, struct vbd_error *err)
{
	struct ibv_sge list[VBD_SGES_MAX];
	struct ibv_recv_wr wr = {
		.wr_id = vbd_wr_id(channel->generation, channel->index, true, index),
		.sg_list = list,
	};
	uint32_t length_bytes;

	wr.num_sge = vbd_channel_fill_sges(list, sges, count, &length_bytes);
	if (!wr.num_sge && channel->receive_has_range) {
		list[0] = (struct ibv_sge){
			.addr = (uintptr_t)channel->mem.addr, .lkey = channel->mem.lkey};
		wr.num_sge = 1;
	}
	return post_recv_chain(channel, &wr, 1, err);
}

/* Post the service's receives @indexes as one chain; @count: at most VBD_RECV_CHAIN_WRS. */
static enum vbd_status post_service_recvs(
	struct vbd_channel *channel, const uint32_t *indexes, uint32_t count, struct vbd_error *err)
{
	struct ibv_recv_wr wrs[VBD_RECV_CHAIN_WRS];
	struct ibv_sge sges[VBD_RECV_CHAIN_WRS];

	for (uint32_t i = 0; i < count; i++) {
		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)recv_addr(channel, indexes[i]),
			.length = (uint32_t)vbd_channel_recv_bytes(&channel->limits),
			.lkey = channel->mem.lkey,
		};
		wrs[i] = (struct ibv_recv_wr){
			.wr_id = vbd_wr_id(channel->generation, channel->index, true, indexes[i]),
			.next = i + 1 < count ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
		};
	}
	return post_recv_chain(channel, wrs, count, err);
}

enum vbd_status vbd_channel_post_receives(struct vbd_channel *channel, struct vbd_error *err)
{
	uint32_t end = vbd_channel_own_receives(&channel->limits);
	uint32_t indexes[VBD_RECV_CHAIN_WRS];
	enum vbd_status status = VBD_OK;
	uint32_t count = 0;

	/* Without a service the client posts the receives. */
	if (channel->limits.service == VBD_SERVICE_NONE)
		return VBD_OK;
	for (uint32_t i = 0; i < end && !status; i++) {
		if (!channel->recv_slots || !channel->recv_slots[i].held)
			indexes[count++] = i;
		if (count == 0 || (count < VBD_RECV_CHAIN_WRS && i + 1 < end))
			continue;
		status = post_service_recvs(channel, indexes, count, err);
		count = 0;
	}
	return status;
}

struct vbd_recv_slot *vbd_channel_recv_slot(const struct vbd_channel *channel, uint32_t index)
{
	return channel->limits.srq ? &channel->limits.srq->slots[index]
				   : &channel->recv_slots[index];
}

uint32_t vbd_channel_recv_lkey(const struct vbd_channel *channel)
{
	return channel->limits.srq ? channel->limits.srq->mem.lkey : channel->mem.lkey;
}

void vbd_channel_post_recv(struct vbd_channel *channel, uint32_t index)
{
	if (channel->limits.srq) {
		/* A send in the chain may still have the bytes of the receive. */
		(void)vbd_channel_ring(channel);
		vbd_srq_release(channel->limits.srq, vbd_channel_recv_slot(channel, index));
		return;
	}
	if (channel->broken || channel->draining)
		return;
	if (vbd_faults_armed(VBD_FAULT_HOLD_RECEIVES) && vbd_withheld_receive(channel, index))
		return;
	channel->reposts[channel->repost_count++] = index;
	if (vbd_list_empty(&channel->repost_link))
		vbd_list_append(&channel->worker->reposting, &channel->repost_link);
	/* A peer that finds no receive waits for long: don't let many go out of use. */
	if (channel->repost_count == VBD_RECV_CHAIN_WRS ||
		channel->repost_count > channel->limits.rq_depth / 2)
		vbd_channel_repost(channel);
}

void vbd_channel_repost(struct vbd_channel *channel)
{
	struct vbd_error *error = &channel->worker->sends->error;
	uint32_t before = channel->rq_outstanding;
	uint32_t count = channel->repost_count;
	enum vbd_status status;

	vbd_list_remove(&channel->repost_link);
	channel->repost_count = 0;
	if (!vbd_channel_ring(channel) || channel->broken || channel->draining)
		return;
	status = post_service_recvs(channel, channel->reposts, count, error);
	vbd_cq_count_outstanding(channel->cq, channel->rq_outstanding - before);
	if (!status)
		return;
	vbd_channel_break(channel, error, VBD_OP_RECV, 0);
	*error = (struct vbd_error){0};
}

/* Count the packets of received messages, for comparison with the packet numbers of a UC QP. */
static void count_packets(struct vbd_channel *channel, const struct vbd_received *received)
{
	uint64_t mtu_bytes = vbd_counter_get(&channel->mtu_bytes);
	uint64_t bytes = (uint64_t)received->length_bytes + received->written_bytes;

	if (mtu_bytes)
		vbd_counter_add(&channel->packets, bytes ? (bytes + mtu_bytes - 1) / mtu_bytes : 1);
}

void vbd_channel_take_message(
	struct vbd_channel *channel, struct vbd_recv_slot *slot, const struct ibv_wc *wc)
{
	const struct vbd_channel_limits *limits = &channel->limits;
	uint32_t header_bytes = (uint32_t)vbd_channel_recv_bytes(limits) - limits->recv_size_bytes;
	bool written = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	bool has_imm = wc->wc_flags & IBV_WC_WITH_IMM;

	slot->received = (struct vbd_received){
		.op = written ? VBD_OP_WRITE_IMM : VBD_OP_SEND,
		.length_bytes = written ? 0 : wc->byte_len - header_bytes,
		.written_bytes = written ? wc->byte_len : 0,
		.has_imm = has_imm,
		.imm = has_imm ? be32toh(wc->imm_data) : 0,
	};
	slot->wc_flags = wc->wc_flags;
	slot->src_qp = wc->src_qp;
	slot->slid = wc->slid;
	slot->sl = wc->sl;
	slot->pkey_index = wc->pkey_index;
	if (channel->heartbeat)
		vbd_heartbeat_alive(channel->heartbeat);
	count_packets(channel, &slot->received);
	vbd_channel_count_completed(channel, VBD_OP_RECV, slot->received.length_bytes);
}

void vbd_channel_pass_message(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	if (channel->limits.service_ops->received)
		channel->limits.service_ops->received(channel, slot);
}

/* The transfer that the receive was posted for; frees the slot. */
struct vbd_transfer *vbd_channel_take_receiver(
	struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	struct vbd_transfer *transfer = slot->transfer;

	slot->transfer = NULL;
	if (transfer)
		channel->rq_first = (slot->index + 1) % channel->limits.rq_depth;
	return transfer;
}

/* A message came for @transfer. */
static void record_message(struct vbd_transfer *transfer, const struct vbd_received *received)
{
	transfer->received = *received;
	vbd_counter_add(&transfer->bytes_done, received->length_bytes);
	vbd_counter_add(&transfer->wrs_done, 1);
}

static void handle_message(struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc,
	struct vbd_transfer *transfer)
{
	struct vbd_error *error = &channel->worker->sends->error;
	struct vbd_recv_slot *slot;

	if (vbd_channel_need_recv_slots(channel, error) != VBD_OK) {
		vbd_channel_count_failed(channel, VBD_OP_RECV);
		vbd_channel_break(channel, error, VBD_OP_RECV, 0);
		*error = (struct vbd_error){0};
		return;
	}
	slot = &channel->recv_slots[index];
	vbd_channel_take_message(channel, slot, wc);
	if (transfer)
		record_message(transfer, &slot->received);
	else
		vbd_channel_pass_message(channel, slot);
}

void vbd_channel_recv_completed(
	struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc)
{
	struct vbd_transfer *transfer = channel->recv_slots ? vbd_channel_take_receiver(channel,
								      &channel->recv_slots[index])
							    : NULL;

	channel->rq_outstanding--;
	vbd_cq_uncount_outstanding(channel->cq, 1);
	if (wc->status == IBV_WC_SUCCESS)
		handle_message(channel, index, wc, transfer);
	else
		vbd_channel_fail(channel, VBD_OP_RECV, wc, transfer);
	if (!transfer)
		return;
	transfer->outstanding_wrs--;
	vbd_channel_check_transfer(transfer);
}

/* A shared receive queue. */

static struct vbd_link *srq_list_of_qp(struct vbd_srq *srq, uint32_t qp_num)
{
	return &srq->channels[qp_num % VBD_SRQ_LISTS];
}

void vbd_channel_join_srq(struct vbd_channel *channel)
{
	vbd_list_append(srq_list_of_qp(channel->limits.srq, channel->qpn), &channel->srq_link);
}

struct vbd_channel *vbd_channel_of_srq(struct vbd_srq *srq, uint32_t qp_num)
{
	vbd_list_for_each_of (struct vbd_channel, channel, srq_link, srq_list_of_qp(srq, qp_num)) {
		if (channel->qpn == qp_num)
			return channel;
	}
	return NULL;
}

void vbd_channel_leave_srq(struct vbd_channel *channel)
{
	vbd_list_remove(&channel->srq_link);
	/* Messages of an inbox belong to control. */
	if (channel->limits.service != VBD_SERVICE_INBOX)
		vbd_srq_release_all(channel->limits.srq, channel);
}
