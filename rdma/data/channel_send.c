/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The send queue: a ring of slots in the order of posting. The device works in this order, so a
 * completion also retires all requests before it; these need no completion of their own. Requests
 * that follow one another at once go to the device as one chain.
 */

#include "rdma/data/channel_parts.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/window.h"
#include "rdma/device/cq.h"
#include "rdma/names/names.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/provider.h"

#include <endian.h>

/* The fence ensures that either vbd_channel_resume() sees `still` as 1, or this thread sees
 * `paused` as 0. */
static bool set_still_if_paused(struct vbd_channel *channel)
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
	       !channel->draining && !set_still_if_paused(channel);
}

static uint32_t slot_after(const struct vbd_channel *channel, uint32_t outstanding)
{
	return (uint32_t)(((uint64_t)channel->sq_first + outstanding) % channel->limits.sq_depth);
}

/* Fill the union with the fields that the operation and the transport need. */
static void fill_remote_fields(const struct vbd_channel *channel,
	const struct vbd_send_request *request, struct ibv_send_wr *wr)
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
			.addr = sges[i].addr,
			.length = sges[i].length_bytes,
			.lkey = sges[i].lkey,
		};
		length_bytes += sges[i].length_bytes;
	}
	*ret_length_bytes = length_bytes;
	return used;
}

/* An atomic without its own place for the old value gets a place of the channel's. */
static int fill_old_value_sge(struct vbd_channel *channel, uint32_t index,
	const struct vbd_send_request *request, struct ibv_sge *list)
{
	struct vbd_send_slot *slot = &channel->send_slots[index];
	const uint8_t *place = channel->old_values + (size_t)index * VBD_ATOMIC_BYTES;
	const struct vbd_sge own = {
		.addr = (uintptr_t)place,
		.length_bytes = VBD_ATOMIC_BYTES,
		.lkey = channel->mem.lkey,
	};
	const struct vbd_sge *sge = request->sge_count ? request->sges : &own;

	if (sge == &own)
		slot->old_value = place;
	else
		slot->result_addr = sge->addr;
	return vbd_channel_fill_sges(list, sge, 1, &slot->length_bytes);
}

static void fill_send_slot(struct vbd_channel *channel, uint32_t index,
	const struct vbd_send_request *request, bool signalled)
{
	bool timed = signalled && request->transfer && request->transfer->latency_ns;

	channel->send_slots[index] = (struct vbd_send_slot){
		.op = request->op,
		.transfer = request->transfer,
		.recv_index = request->recv_index,
		.ping = request->ping,
		.heartbeat = request->heartbeat,
		.posted_ns = timed ? vbd_worker_now_ns(channel->worker) : 0,
	};
	channel->sq_outstanding++;
	channel->sq_unsignalled = signalled ? 0 : channel->sq_unsignalled + 1;
}

static unsigned int send_flags_of(const struct vbd_send_request *request, bool signalled)
{
	return (signalled ? IBV_SEND_SIGNALED : 0U) | (request->wr.inlined ? IBV_SEND_INLINE : 0U);
}

static uint64_t send_wr_id(const struct vbd_channel *channel, uint32_t index)
{
	return vbd_wr_id(channel->generation, channel->index, false, index);
}

static void append_wr(struct vbd_channel *channel, uint32_t index,
	const struct vbd_send_request *request, bool signalled)
{
	struct vbd_send_chain *chain = channel->worker->sends;
	struct ibv_sge *list = &chain->sges[chain->sge_count];
	struct ibv_send_wr *wr = &chain->wrs[chain->count++];

	wr->wr_id = send_wr_id(channel, index);
	wr->next = wr + 1;
	wr->sg_list = list;
	wr->opcode = (enum ibv_wr_opcode)vbd_ops[request->op].opcode;
	wr->send_flags = send_flags_of(request, signalled);
	if (vbd_ops[request->op].is_atomic)
		wr->num_sge = fill_old_value_sge(channel, index, request, list);
	else
		wr->num_sge = vbd_channel_fill_sges(list, request->sges, request->sge_count,
			&channel->send_slots[index].length_bytes);
	fill_remote_fields(channel, request, wr);
	chain->sge_count += (uint32_t)wr->num_sge;
}

static bool chain_full(const struct vbd_send_chain *chain)
{
	return chain->count == VBD_CHAIN_WRS ||
	       chain->sge_count + VBD_SGES_MAX > VBD_ARRAY_LEN(chain->sges);
}

static void count_posted(struct vbd_channel *channel, const struct ibv_send_wr *wrs, uint32_t count)
{
	vbd_cq_count_outstanding(channel->cq, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct vbd_send_slot *slot =
			&channel->send_slots[vbd_wr_id_slot(wrs[i].wr_id)];

		if (!slot->heartbeat)
			vbd_channel_count_posted(
				channel, slot->op, wrs[i].send_flags & IBV_SEND_SIGNALED);
	}
}

/* The newest @count requests were not posted, the first of them because of @error. */
static void unpost_wrs(struct vbd_channel *channel, uint32_t count, const struct vbd_error *error)
{
	uint32_t first = slot_after(channel, channel->sq_outstanding - count);
	const struct vbd_send_slot *bad = &channel->send_slots[first];

	/* Before the requests are taken back: a transfer without outstanding ones could end now,
	 * and be freed while vbd_channel_pump() still uses it. */
	vbd_channel_break(channel, error, bad->op, bad->transfer ? bad->transfer->id : 0);
	for (; count > 0; count--) {
		struct vbd_transfer *transfer =
			channel->send_slots[slot_after(channel, --channel->sq_outstanding)]
				.transfer;

		if (!transfer)
			continue;
		transfer->outstanding_wrs--;
		transfer->all_posted = false;
	}
}

bool vbd_channel_ring(struct vbd_channel *channel)
{
	struct vbd_send_chain *chain = channel->worker->sends;
	uint32_t count = chain->count;
	uint32_t posted = count;
	struct ibv_send_wr *bad;

	if (!count)
		return true;
	chain->wrs[count - 1].next = NULL;
	chain->count = chain->sge_count = 0;
	vbd_counter_set(&channel->ringing, 1);
	if (vbd_pv_post_send(channel->qp, chain->wrs, &bad, &chain->error) != VBD_OK)
		posted = (uint32_t)(bad - chain->wrs);
	count_posted(channel, chain->wrs, posted);
	vbd_counter_set(&channel->ringing, 0);
	if (posted == count)
		return true;
	unpost_wrs(channel, count - posted, &chain->error);
	chain->error = (struct vbd_error){0};
	return false;
}

static struct ibv_mw_bind_info make_bind_info(const struct vbd_window *window, bool binds)
{
	const struct vbd_window_range *range = &window->range;

	/* A bind of 0 bytes revokes the access and invalidates the rkey: IBTA 10.6.7.2.3. */
	if (!binds)
		return (struct ibv_mw_bind_info){.mr = window->mr};
	return (struct ibv_mw_bind_info){
		.mr = window->mr,
		.addr = window->mem->addr + range->offset,
		.length = range->length_bytes,
		.mw_access_flags = vbd_mem_access_flags(range->access),
	};
}

/* Post the bind or the invalidation of a window. */
static enum vbd_status post_window_wr(const struct vbd_window *window, struct ibv_qp *qp,
	enum vbd_op op, uint64_t wr_id, unsigned int send_flags, struct vbd_error *err)
{
	bool binds = op == VBD_OP_BIND_WINDOW;
	struct ibv_mw_bind bind = {
		.wr_id = wr_id,
		.send_flags = send_flags,
		.bind_info = make_bind_info(window, binds),
	};
	struct ibv_send_wr wr = {.wr_id = wr_id, .send_flags = send_flags};
	struct ibv_send_wr *bad;

	if (window->range.type == 1)
		return vbd_pv_bind_mw(qp, window->mw, &bind, err);
	if (binds) {
		wr.opcode = IBV_WR_BIND_MW;
		wr.bind_mw.mw = window->mw;
		wr.bind_mw.rkey = window->rkey;
		wr.bind_mw.bind_info = bind.bind_info;
	} else {
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = window->rkey;
	}
	return vbd_pv_post_send(qp, &wr, &bad, err);
}

/* A window of type 1 has a call of its own, so none of them goes into a chain. */
static bool post_window_request(struct vbd_channel *channel, uint32_t index,
	const struct vbd_send_request *request, bool signalled)
{
	struct vbd_error error = {0};

	if (post_window_wr(request->wr.mw, channel->qp, request->op, send_wr_id(channel, index),
		    send_flags_of(request, signalled), &error) != VBD_OK) {
		unpost_wrs(channel, 1, &error);
		return false;
	}
	vbd_cq_count_outstanding(channel->cq, 1);
	vbd_channel_count_posted(channel, request->op, signalled);
	return true;
}

static bool need_slots(struct vbd_channel *channel, const struct vbd_send_request *request)
{
	struct vbd_error *error = &channel->worker->sends->error;

	if (!channel->send_slots)
		channel->send_slots =
			calloc(channel->limits.sq_depth, sizeof(*channel->send_slots));
	if (channel->send_slots)
		return true;
	(void)vbd_error_set(error, VBD_E_NO_MEMORY, "no memory for the queues");
	vbd_channel_break(
		channel, error, request->op, request->transfer ? request->transfer->id : 0);
	*error = (struct vbd_error){0};
	return false;
}

/* The request has no slot: count back here what unpost_wrs() does for others. */
static bool uncount_unposted(const struct vbd_send_request *request)
{
	if (request->transfer) {
		request->transfer->outstanding_wrs--;
		request->transfer->all_posted = false;
	}
	return false;
}

void vbd_channel_spin(struct vbd_channel *channel)
{
	uint64_t until_ns;

	if (channel->limits.poll != VBD_POLL_ADAPTIVE)
		return;
	until_ns = vbd_worker_now_ns(channel->worker) + channel->limits.spin_ns;
	if (until_ns > channel->cq->spin_until_ns)
		channel->cq->spin_until_ns = until_ns;
	vbd_worker_poll_on(channel->worker, channel->cq);
}

bool vbd_channel_post_send(struct vbd_channel *channel, const struct vbd_send_request *request)
{
	bool signalled = wants_completion(channel, request);
	uint32_t index;

	if (!need_slots(channel, request) || (request->wr.mw && !vbd_channel_ring(channel)))
		return uncount_unposted(request);
	index = slot_after(channel, channel->sq_outstanding);
	fill_send_slot(channel, index, request, signalled);
	vbd_channel_spin(channel);
	if (request->wr.mw)
		return post_window_request(channel, index, request, signalled);
	append_wr(channel, index, request, signalled);
	return (request->more && !chain_full(channel->worker->sends)) || vbd_channel_ring(channel);
}

/* Time only the signalled request; the unsignalled ones it retires may have completed earlier. */
static void record_latency(
	struct vbd_channel *channel, const struct vbd_send_slot *sent, const struct ibv_wc *wc)
{
	if (wc && sent->posted_ns)
		vbd_histogram_add(sent->transfer->latency_ns,
			vbd_worker_now_ns(channel->worker) - sent->posted_ns);
}

static void record_result(struct vbd_transfer *transfer, const struct vbd_send_slot *sent)
{
	vbd_counter_add(&transfer->bytes_done, sent->length_bytes);
	vbd_counter_add(&transfer->wrs_done, 1);
	if (sent->old_value)
		memcpy(&transfer->old_value, sent->old_value, sizeof(transfer->old_value));
	/* All work requests of a transfer have one place: the newest value is there at the end. */
	if (sent->result_addr && transfer->all_posted && transfer->outstanding_wrs == 1 &&
		vbd_mem_load(sent->result_addr, &transfer->old_value, sizeof(transfer->old_value),
			&transfer->error) != VBD_OK)
		transfer->broken = true;
}

/* A probe may have ended since it posted the ping. */
static void notify_poster(struct vbd_channel *channel, const struct vbd_send_slot *sent)
{
	if (!sent->ping)
		channel->limits.service_ops->sent(channel, sent);
	else if (channel->probe)
		channel->probe_ops->acked(channel->probe, sent->ping);
}

/* The device gave up repeating, or does not answer for it at all. */
static enum vbd_status heartbeat_status(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_RETRY_EXC_ERR || wc->status == IBV_WC_RESP_TIMEOUT_ERR)
		return VBD_E_PEER_SILENT;
	return vbd_wc_status_class((int)wc->status);
}

static void fail_heartbeat(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_error error = {
		.source = VBD_SOURCE_WC,
		.kind = (int)wc->status,
		.raw = wc->vendor_err,
	};

	(void)vbd_error_set(&error, heartbeat_status(wc), "heartbeat: %s (%s, vendor_err %u)",
		vbd_wc_status_text((int)wc->status), vbd_wc_status_name((int)wc->status),
		wc->vendor_err);
	vbd_channel_break(channel, &error, VBD_OP_COUNT, 0);
}

static void retire_heartbeat(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	if (!wc || wc->status == IBV_WC_SUCCESS) {
		vbd_heartbeat_answered(channel->heartbeat);
		return;
	}
	vbd_counter_add(&channel->cq->error_completions, 1);
	fail_heartbeat(channel, wc);
}

/* Retire the oldest one; @wc is NULL if it was unsignalled, and then it succeeded. */
static void retire_oldest_wr(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_send_slot sent = channel->send_slots[channel->sq_first];
	struct vbd_transfer *transfer = sent.transfer;

	channel->sq_first = slot_after(channel, 1);
	channel->sq_outstanding--;
	vbd_cq_uncount_outstanding(channel->cq, 1);
	if (sent.heartbeat) {
		retire_heartbeat(channel, wc);
	} else if (wc && wc->status != IBV_WC_SUCCESS) {
		vbd_channel_fail(channel, sent.op, wc, transfer);
	} else {
		vbd_channel_count_completed(channel, sent.op, sent.length_bytes);
		record_latency(channel, &sent, wc);
		if (channel->heartbeat)
			vbd_heartbeat_alive(channel->heartbeat);
		if (transfer)
			record_result(transfer, &sent);
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
		retire_oldest_wr(channel, NULL);
	retire_oldest_wr(channel, wc);
}

void vbd_channel_abandon_sends(struct vbd_channel *channel)
{
	for (; channel->sq_outstanding > 0; channel->sq_outstanding--) {
		const struct vbd_send_slot *slot = &channel->send_slots[channel->sq_first];

		channel->sq_first = slot_after(channel, 1);
		if (!slot->heartbeat)
			vbd_channel_count_flushed(channel, slot->op, 1);
		if (slot->transfer)
			vbd_channel_fail_wr(slot->transfer);
	}
}
