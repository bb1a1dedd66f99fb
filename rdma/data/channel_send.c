/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The send queue: a ring of slots in the order of posting. The device works in this order, so a
 * completion also retires all requests before it; these need no completion of their own.
 */
#include "rdma/data/channel_parts.h"
#include "rdma/data/spin.h"
#include "rdma/data/transfer.h"
#include "rdma/data/window.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/provider.h"

#include <endian.h>
#include <string.h>

/* The fence ensures that either vbd_channel_resume() sees that the channel stands still, or
 * `paused` is seen as 0 here. */
static bool stands_still(struct vbd_channel *channel)
{
	if (!vbd_counter_get(&channel->paused))
		return false;
	vbd_counter_set(&channel->still, 1);
	atomic_thread_fence(memory_order_seq_cst);
	return vbd_counter_get(&channel->paused) != 0;
}

bool vbd_channel_can_send(struct vbd_channel *channel)
{
	return channel->sq_outstanding < channel->limits.sq_depth && !channel->broken &&
	       !channel->draining && !stands_still(channel);
}

static uint32_t slot_behind(const struct vbd_channel *channel, uint32_t outstanding)
{
	return (uint32_t)(((uint64_t)channel->sq_first + outstanding) % channel->limits.sq_depth);
}

/* Fill the union with the fields that the operation and the transport need. */
static void fill_remote(const struct vbd_channel *channel, const struct vbd_send_request *request,
	struct ibv_send_wr *wr)
{
	if (vbd_ops[request->op].has_imm)
		wr->imm_data = htobe32(request->wr.imm);
	if (channel->limits.transport == VBD_TRANSPORT_UD) {
		wr->wr.ud.ah = request->wr.ah;
		wr->wr.ud.remote_qpn = request->wr.remote_qpn;
		wr->wr.ud.remote_qkey = request->wr.remote_qkey;
	} else if (vbd_ops[request->op].is_atomic) {
		wr->wr.atomic.remote_addr = request->wr.remote_addr;
		wr->wr.atomic.rkey = request->wr.rkey;
		wr->wr.atomic.compare_add = request->wr.compare_add;
		wr->wr.atomic.swap = request->wr.swap;
	} else {
		wr->wr.rdma.remote_addr = request->wr.remote_addr;
		wr->wr.rdma.rkey = request->wr.rkey;
	}
}

/*
 * Omit the completion only if another work request follows at once: the newest outstanding one
 * always has a completion, so that nothing waits for ever.
 */
static bool wants_completion(
	const struct vbd_channel *channel, const struct vbd_send_request *request)
{
	return !request->more || channel->sq_unsignalled + 1 >= channel->limits.signal_every ||
	       channel->sq_outstanding + 1 >= channel->limits.sq_depth;
}

int vbd_channel_fill_sges(struct ibv_sge *list, const struct vbd_sge *sges, uint32_t count,
	uint32_t *ret_length_bytes)
{
	uint32_t length_bytes = 0;
	int used = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!sges[i].length_bytes)
			continue;
		list[used++] = (struct ibv_sge){
			.addr = (uintptr_t)sges[i].addr,
			.length = sges[i].length_bytes,
			.lkey = sges[i].lkey,
		};
		length_bytes += sges[i].length_bytes;
	}
	*ret_length_bytes = length_bytes;
	return used;
}

/* An atomic without its own place for the old value gets a place of the channel's. */
static int fill_old_value(struct vbd_channel *channel, uint32_t index,
	const struct vbd_send_request *request, struct ibv_sge *list)
{
	struct vbd_send_slot *slot = &channel->send_slots[index];
	const struct vbd_sge own = {
		.addr = channel->old_values + (size_t)index * VBD_ATOMIC_BYTES,
		.length_bytes = VBD_ATOMIC_BYTES,
		.lkey = channel->mem.lkey,
	};
	const struct vbd_sge *sge = request->sge_count ? request->sges : &own;

	slot->old_value = sge->addr;
	return vbd_channel_fill_sges(list, sge, 1, &slot->length_bytes);
}

static void posted(struct vbd_channel *channel, enum vbd_op op, bool signalled)
{
	channel->sq_outstanding++;
	channel->sq_unsignalled = signalled ? 0 : channel->sq_unsignalled + 1;
	vbd_channel_count_outstanding(channel, 1);
	vbd_channel_count_posted(channel, op, signalled);
}

static enum vbd_status post(const struct vbd_channel *channel,
	const struct vbd_send_request *request, struct ibv_send_wr *wr, struct vbd_error *err)
{
	if (request->wr.mw)
		return vbd_window_post(
			request->wr.mw, channel->qp, request->op, wr->wr_id, wr->send_flags, err);
	return vbd_pv_post_send(channel->qp, wr, err);
}

static void break_by(struct vbd_channel *channel, const struct vbd_send_request *request,
	const struct vbd_error *why)
{
	vbd_channel_break(channel, why, request->op, request->transfer ? request->transfer->id : 0);
}

static enum vbd_status post_in_slot(
	struct vbd_channel *channel, const struct vbd_send_request *request, struct vbd_error *err)
{
	uint32_t index = slot_behind(channel, channel->sq_outstanding);
	struct vbd_send_slot *slot = &channel->send_slots[index];
	bool signalled = wants_completion(channel, request);
	struct ibv_sge list[VBD_SGES_MAX];
	struct ibv_send_wr wr = {
		.wr_id = vbd_wr_id(channel->generation, channel->index, false, index),
		.sg_list = list,
		.opcode = (enum ibv_wr_opcode)vbd_ops[request->op].opcode,
		.send_flags = (signalled ? IBV_SEND_SIGNALED : 0U) |
			      (request->wr.inlined ? IBV_SEND_INLINE : 0U),
	};
	enum vbd_status status;

	*slot = (struct vbd_send_slot){
		.op = request->op,
		.transfer = request->transfer,
		.recv_index = request->recv_index,
		.ping = request->ping,
	};
	if (signalled && request->transfer && request->transfer->latency_ns)
		slot->posted_ns = vbd_worker_now_ns(channel->worker);
	if (vbd_ops[request->op].is_atomic)
		wr.num_sge = fill_old_value(channel, index, request, list);
	else
		wr.num_sge = vbd_channel_fill_sges(
			list, request->sges, request->sge_count, &slot->length_bytes);
	fill_remote(channel, request, &wr);
	status = post(channel, request, &wr, err);
	if (!status)
		posted(channel, request->op, signalled);
	return status;
}

bool vbd_channel_post_send(struct vbd_channel *channel, const struct vbd_send_request *request)
{
	struct vbd_error error = {0};

	if (!vbd_channel_can_send(channel))
		return false;
	if (vbd_channel_need_send_slots(channel, &error) != VBD_OK ||
		post_in_slot(channel, request, &error) != VBD_OK) {
		break_by(channel, request, &error);
		return false;
	}
	vbd_spin_used(channel);
	return true;
}

/* Time only the signalled request; the unsignalled ones it retires may have completed earlier. */
static void time_wr(
	struct vbd_channel *channel, const struct vbd_send_slot *sent, const struct ibv_wc *wc)
{
	if (wc && sent->posted_ns)
		vbd_histogram_add(sent->transfer->latency_ns,
			vbd_worker_now_ns(channel->worker) - sent->posted_ns);
}

static void take_result(struct vbd_transfer *transfer, const struct vbd_send_slot *sent)
{
	vbd_counter_add(&transfer->bytes_done, sent->length_bytes);
	vbd_counter_add(&transfer->wrs_done, 1);
	if (sent->old_value)
		memcpy(&transfer->old_value, sent->old_value, sizeof(transfer->old_value));
}

/* A probe may have ended since it posted the ping. */
static void notify_poster(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (!sent->ping)
		channel->limits.service_ops->sent(channel, sent);
	else if (channel->probe)
		channel->probe_ops->acked(channel->probe, sent->ping);
}

/* Retire the oldest one; @wc is NULL if it was unsignalled, and then it succeeded. */
static void retire_oldest(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_send_slot sent = channel->send_slots[channel->sq_first];
	struct vbd_transfer *transfer = sent.transfer;

	channel->sq_first = slot_behind(channel, 1);
	channel->sq_outstanding--;
	vbd_channel_uncount_outstanding(channel, 1);
	if (wc && wc->status != IBV_WC_SUCCESS) {
		vbd_channel_fail(channel, sent.op, wc, transfer);
	} else {
		vbd_channel_count_completed(channel, sent.op, sent.length_bytes);
		time_wr(channel, &sent, wc);
		if (transfer)
			take_result(transfer, &sent);
		else
			notify_poster(channel, &sent);
	}
	if (!transfer)
		return;
	/* Counted until here: a failure checks all transfers, and must not end this one as well. */
	transfer->outstanding_wrs--;
	vbd_channel_check_transfer(transfer);
}

void vbd_channel_send_completed(
	struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc)
{
	uint32_t depth = channel->limits.sq_depth;
	uint32_t before = (index + depth - channel->sq_first) % depth;

	if (before >= channel->sq_outstanding)
		return;
	while (before-- > 0)
		retire_oldest(channel, NULL);
	retire_oldest(channel, wc);
}

void vbd_channel_abandon_sends(struct vbd_channel *channel)
{
	for (; channel->sq_outstanding > 0; channel->sq_outstanding--) {
		const struct vbd_send_slot *slot = &channel->send_slots[channel->sq_first];

		channel->sq_first = slot_behind(channel, 1);
		vbd_channel_count_flushed(channel, slot->op, 1);
		if (slot->transfer)
			vbd_channel_fail_wr(slot->transfer);
	}
}
