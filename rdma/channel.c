/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/channel.h"

#include "base/clock.h"
#include "rdma/cq.h"
#include "rdma/device.h"
#include "rdma/names.h"
#include "rdma/provider.h"
#include "rdma/service.h"
#include "rdma/transfer.h"
#include "rdma/wr_id.h"
#include "rdma/worker.h"

#include <stdlib.h>

#define NO_SLOT UINT32_MAX

/* The control thread's side. */

static enum vbd_status allocate_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	const struct vbd_channel_limits *limits = &channel->limits;

	channel->recv_slots = calloc(limits->rq_depth, sizeof(*channel->recv_slots));
	channel->send_slots = calloc(limits->sq_depth, sizeof(*channel->send_slots));
	channel->echo_ring = calloc(limits->rq_depth, sizeof(*channel->echo_ring));
	if (!channel->recv_slots || !channel->send_slots || !channel->echo_ring)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the queues");
	for (uint32_t i = 0; i < limits->rq_depth; i++) {
		channel->recv_slots[i].channel = channel;
		channel->recv_slots[i].index = i;
	}
	for (uint32_t i = 0; i < limits->sq_depth; i++)
		channel->send_slots[i].next_free = i + 1 < limits->sq_depth ? i + 1 : NO_SLOT;
	return VBD_OK;
}

static enum vbd_status allocate_memory(
	struct vbd_channel *channel, struct vbd_device *device, struct vbd_error *err)
{
	enum vbd_status status;

	channel->mem.size_bytes =
		(size_t)channel->limits.rq_depth * channel->limits.recv_size_bytes +
		vbd_service_scratch_bytes(channel->limits.service);
	status = vbd_mem_allocate(&channel->mem, err);
	if (status)
		return status;
	vbd_device_ref(device);
	status = vbd_mem_register(&channel->mem, device, err);
	if (status)
		vbd_device_unref(device);
	return status;
}

enum vbd_status vbd_channel_create(uint64_t conn_id, void *owner, struct vbd_device *device,
	struct vbd_cq *cq, const struct vbd_channel_limits *limits,
	struct vbd_channel **ret_channel, struct vbd_error *err)
{
	struct vbd_channel *channel = calloc(1, sizeof(*channel));
	enum vbd_status status;

	if (!channel)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	channel->conn_id = conn_id;
	channel->owner = owner;
	channel->limits = *limits;
	channel->cq = cq;
	channel->worker = cq->worker;
	vbd_list_init(&channel->transfers);
	if (!vbd_worker_take_index(channel->worker, &channel->index, &channel->generation)) {
		free(channel);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	}
	status = allocate_slots(channel, err);
	if (!status)
		status = allocate_memory(channel, device, err);
	if (status) {
		vbd_channel_destroy(channel);
		return status;
	}
	*ret_channel = channel;
	return VBD_OK;
}

void vbd_channel_destroy(struct vbd_channel *channel)
{
	if (!channel)
		return;
	vbd_worker_give_index(channel->worker, channel->index);
	vbd_mem_free(&channel->mem);
	free(channel->recv_slots);
	free(channel->send_slots);
	free(channel->echo_ring);
	free(channel);
}

const uint8_t *vbd_channel_recv_data(const struct vbd_recv_slot *slot)
{
	const struct vbd_channel *channel = slot->channel;

	return channel->mem.addr + (size_t)slot->index * channel->limits.recv_size_bytes;
}

static enum vbd_status post_recv(struct vbd_channel *channel, uint32_t index, struct vbd_error *err)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)vbd_channel_recv_data(&channel->recv_slots[index]),
		.length = channel->limits.recv_size_bytes,
		.lkey = channel->mem.lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = vbd_wr_id(channel->generation, channel->index, true, index),
		.sg_list = &sge,
		.num_sge = 1,
	};
	enum vbd_status status = vbd_pv_post_recv(channel->qp, &wr, err);

	if (status)
		return status;
	channel->rq_outstanding++;
	vbd_counter_add(&channel->ops[VBD_OP_RECV].posted, 1);
	return VBD_OK;
}

enum vbd_status vbd_channel_post_receives(struct vbd_channel *channel, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (uint32_t i = 0; i < channel->limits.rq_depth && !status; i++)
		status = post_recv(channel, i, err);
	return status;
}

/* The worker's side. */

static void count_outstanding(struct vbd_channel *channel, uint64_t n)
{
	struct vbd_cq *cq = channel->cq;
	uint64_t outstanding = vbd_counter_get(&cq->outstanding) + n;

	vbd_counter_set(&cq->outstanding, outstanding);
	if (outstanding > vbd_counter_get(&cq->high_water))
		vbd_counter_set(&cq->high_water, outstanding);
}

static void uncount_outstanding(struct vbd_channel *channel, uint64_t n)
{
	vbd_counter_set(&channel->cq->outstanding, vbd_counter_get(&channel->cq->outstanding) - n);
}

void vbd_channel_attached(struct vbd_channel *channel)
{
	channel->known = true;
	count_outstanding(channel, channel->rq_outstanding);
}

static void end_transfer(struct vbd_transfer *transfer)
{
	vbd_list_remove(&transfer->link);
	vbd_counter_set(&transfer->ended_ns, vbd_clock_mono_ns());
	vbd_worker_reply(
		transfer->channel->worker, &transfer->mail_ended, VBD_CONTROL_TRANSFER_ENDED);
}

/* End it if nothing of it is outstanding and nothing more will be posted. */
static void check_transfer(struct vbd_transfer *transfer)
{
	const struct vbd_channel *channel = transfer->channel;

	if (transfer->outstanding_wrs > 0)
		return;
	if (transfer->broken) {
		end_transfer(transfer);
	} else if (transfer->all_posted) {
		end_transfer(transfer);
	} else if (transfer->stopping) {
		(void)vbd_error_set(&transfer->error, VBD_E_CANCELLED, "stopped after %llu bytes",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done));
		end_transfer(transfer);
	} else if (channel->broken || channel->draining) {
		(void)vbd_error_set(&transfer->error, VBD_E_QP_FATAL,
			"the connection ended after %llu bytes",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done));
		end_transfer(transfer);
	}
}

static void check_all_transfers(struct vbd_channel *channel)
{
	vbd_list_for_each (link, &channel->transfers)
		check_transfer(VBD_CONTAINER_OF(link, struct vbd_transfer, link));
}

static bool is_flush(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_WC && error->kind == IBV_WC_WR_FLUSH_ERR;
}

void vbd_channel_break(struct vbd_channel *channel, const struct vbd_error *why, enum vbd_op op,
	uint64_t transfer_id)
{
	if (channel->broken)
		return;
	channel->broken = true;
	channel->first_error = *why;
	channel->first_error_op = op;
	channel->first_error_transfer = transfer_id;
	/* While it drains, flushes are what it waits for; anything else may be why the peer hung
	 * up. */
	if (!channel->draining || !is_flush(why))
		vbd_worker_reply(channel->worker, &channel->mail_error, VBD_CONTROL_CHANNEL_ERROR);
	check_all_transfers(channel);
}

bool vbd_channel_can_send(const struct vbd_channel *channel)
{
	return channel->free_send_slot != NO_SLOT && !channel->broken && !channel->draining;
}

static enum ibv_wr_opcode opcode_of(enum vbd_op op)
{
	switch (op) {
	case VBD_OP_WRITE:
		return IBV_WR_RDMA_WRITE;
	case VBD_OP_READ:
		return IBV_WR_RDMA_READ;
	case VBD_OP_SEND:
	case VBD_OP_RECV:
	case VBD_OP_COUNT:
		break;
	}
	return IBV_WR_SEND;
}

static struct vbd_send_slot *take_send_slot(
	struct vbd_channel *channel, const struct vbd_send_request *request)
{
	struct vbd_send_slot *slot = &channel->send_slots[channel->free_send_slot];

	channel->free_send_slot = slot->next_free;
	slot->op = request->op;
	slot->length_bytes = request->length_bytes;
	slot->transfer = request->transfer;
	slot->recv_index = request->recv_index;
	slot->in_use = true;
	return slot;
}

static void give_send_slot(struct vbd_channel *channel, struct vbd_send_slot *slot)
{
	slot->in_use = false;
	slot->next_free = channel->free_send_slot;
	channel->free_send_slot = (uint32_t)(slot - channel->send_slots);
}

bool vbd_channel_post_send(struct vbd_channel *channel, const struct vbd_send_request *request)
{
	struct vbd_error error = {0};
	struct vbd_send_slot *slot;
	struct ibv_sge sge = {
		.addr = (uintptr_t)request->addr,
		.length = request->length_bytes,
		.lkey = request->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = request->length_bytes ? 1 : 0,
		.opcode = opcode_of(request->op),
		.send_flags = IBV_SEND_SIGNALED | (request->inlined ? IBV_SEND_INLINE : 0U),
		.wr.rdma.remote_addr = request->remote_addr,
		.wr.rdma.rkey = request->rkey,
	};

	if (!vbd_channel_can_send(channel))
		return false;
	slot = take_send_slot(channel, request);
	wr.wr_id = vbd_wr_id(
		channel->generation, channel->index, false, (uint32_t)(slot - channel->send_slots));
	if (vbd_pv_post_send(channel->qp, &wr, &error) != VBD_OK) {
		give_send_slot(channel, slot);
		vbd_channel_break(channel, &error, request->op,
			request->transfer ? request->transfer->id : 0);
		return false;
	}
	channel->sq_outstanding++;
	count_outstanding(channel, 1);
	vbd_counter_add(&channel->ops[request->op].posted, 1);
	return true;
}

void vbd_channel_post_recv(struct vbd_channel *channel, uint32_t index)
{
	struct vbd_error error = {0};

	if (channel->broken || channel->draining)
		return;
	if (post_recv(channel, index, &error) != VBD_OK) {
		vbd_channel_break(channel, &error, VBD_OP_RECV, 0);
		return;
	}
	count_outstanding(channel, 1);
}

/* Post the next work request of a transfer; false if it could not be posted now. */
static bool post_chunk(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	uint64_t left = transfer->length_bytes - transfer->posted_bytes;
	uint64_t chunk = left < transfer->chunk_bytes ? left : transfer->chunk_bytes;
	const struct vbd_send_request request = {
		.op = transfer->op,
		.addr = transfer->local_addr + transfer->posted_bytes,
		.length_bytes = (uint32_t)chunk,
		.lkey = transfer->lkey,
		.inlined = transfer->inlined,
		.remote_addr = transfer->remote_addr + transfer->posted_bytes,
		.rkey = transfer->rkey,
		.transfer = transfer,
	};

	/* Counted first: a failing post ends what is not outstanding. */
	transfer->outstanding_wrs++;
	if (!vbd_channel_post_send(channel, &request)) {
		transfer->outstanding_wrs--;
		return false;
	}
	if (!vbd_counter_get(&transfer->started_ns))
		vbd_counter_set(&transfer->started_ns, vbd_clock_mono_ns());
	transfer->posted_bytes += chunk;
	transfer->all_posted = transfer->posted_bytes == transfer->length_bytes;
	return true;
}

static void pump(struct vbd_channel *channel)
{
	vbd_service_pump(channel);
	vbd_list_for_each (link, &channel->transfers) {
		struct vbd_transfer *transfer = VBD_CONTAINER_OF(link, struct vbd_transfer, link);

		while (!transfer->all_posted && !transfer->stopping) {
			if (!vbd_channel_can_send(channel) || !post_chunk(channel, transfer))
				goto out;
		}
	}
out:
	/* A post that failed has broken the channel while its transfer still counted as
	 * outstanding. */
	if (channel->broken)
		check_all_transfers(channel);
}

void vbd_channel_start_transfer(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	vbd_list_append(&channel->transfers, &transfer->link);
	pump(channel);
	vbd_worker_reply(channel->worker, &transfer->mail_started, VBD_CONTROL_TRANSFER_STARTED);
	if (channel->broken || channel->draining)
		check_all_transfers(channel);
}

void vbd_channel_cancel_transfer(struct vbd_transfer *transfer)
{
	if (!vbd_counter_get(&transfer->ended_ns)) {
		transfer->stopping = true;
		check_transfer(transfer);
	}
	vbd_worker_reply(
		transfer->channel->worker, &transfer->mail_cancel, VBD_CONTROL_CANCEL_SEEN);
}

void vbd_channel_release_recv(struct vbd_channel *channel, struct vbd_recv_slot *slot)
{
	vbd_channel_post_recv(channel, slot->index);
}

static void check_drained(struct vbd_channel *channel)
{
	if (!channel->draining || channel->gone)
		return;
	if (channel->sq_outstanding > 0 || channel->rq_outstanding > 0)
		return;
	check_all_transfers(channel);
	channel->gone = true;
	vbd_worker_forget_channel(channel->worker, channel->index);
	vbd_worker_reply(channel->worker, &channel->mail_drain, VBD_CONTROL_DRAINED);
}

void vbd_channel_drain(struct vbd_channel *channel)
{
	channel->draining = true;
	check_all_transfers(channel);
	check_drained(channel);
}

/* Only wr_id, status, qp_num and vendor_err are valid after an error: ibv_poll_cq(3). */
static void failed(struct vbd_channel *channel, enum vbd_op op, const struct ibv_wc *wc,
	struct vbd_transfer *transfer)
{
	struct vbd_error error = {
		.source = VBD_SOURCE_WC,
		.kind = (int)wc->status,
		.raw = wc->vendor_err,
	};
	bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;

	(void)vbd_error_set(&error, vbd_wc_status_class((int)wc->status),
		"%s: %s (%s, vendor_err %u)", vbd_op_name(op), vbd_wc_status_text((int)wc->status),
		vbd_wc_status_name((int)wc->status), wc->vendor_err);
	vbd_counter_add(flushed ? &channel->ops[op].flushed : &channel->ops[op].errors, 1);
	vbd_counter_add(&channel->cq->error_completions, 1);
	if (transfer && !transfer->broken) {
		transfer->broken = true;
		transfer->wc_status = (int)wc->status;
		transfer->vendor_err = wc->vendor_err;
		transfer->error = error;
	}
	vbd_channel_break(channel, &error, op, transfer ? transfer->id : 0);
}

static void recv_completed(struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc)
{
	struct vbd_recv_slot *slot = &channel->recv_slots[index];

	channel->rq_outstanding--;
	if (wc->status != IBV_WC_SUCCESS) {
		failed(channel, VBD_OP_RECV, wc, NULL);
		return;
	}
	vbd_counter_add(&channel->ops[VBD_OP_RECV].completed, 1);
	vbd_counter_add(&channel->ops[VBD_OP_RECV].bytes, wc->byte_len);
	slot->length_bytes = wc->byte_len;
	slot->received_ns = vbd_clock_mono_ns();
	vbd_service_received(channel, slot);
}

static void send_completed(struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc)
{
	struct vbd_send_slot sent = channel->send_slots[index];
	struct vbd_transfer *transfer = sent.transfer;

	channel->sq_outstanding--;
	give_send_slot(channel, &channel->send_slots[index]);
	if (wc->status != IBV_WC_SUCCESS) {
		failed(channel, sent.op, wc, transfer);
	} else {
		vbd_counter_add(&channel->ops[sent.op].completed, 1);
		vbd_counter_add(&channel->ops[sent.op].bytes, sent.length_bytes);
		if (transfer) {
			vbd_counter_add(&transfer->bytes_done, sent.length_bytes);
			vbd_counter_add(&transfer->wrs_done, 1);
		} else {
			vbd_service_sent(channel, &sent);
		}
	}
	if (!transfer)
		return;
	/* Counted until here: a failure looks at all transfers, and must not end this one as well.
	 */
	transfer->outstanding_wrs--;
	check_transfer(transfer);
}

void vbd_channel_completed(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	uint32_t slot = vbd_wr_id_slot(wc->wr_id);

	uncount_outstanding(channel, 1);
	if (vbd_wr_id_is_recv(wc->wr_id))
		recv_completed(channel, slot, wc);
	else
		send_completed(channel, slot, wc);
	pump(channel);
	check_drained(channel);
}

void vbd_channel_abandon(struct vbd_channel *channel)
{
	if (!channel->gone) {
		if (channel->known)
			uncount_outstanding(channel,
				(uint64_t)channel->sq_outstanding + channel->rq_outstanding);
		vbd_counter_add(&channel->ops[VBD_OP_RECV].flushed, channel->rq_outstanding);
		for (uint32_t i = 0; i < channel->limits.sq_depth; i++) {
			struct vbd_send_slot *slot = &channel->send_slots[i];

			if (!slot->in_use)
				continue;
			vbd_counter_add(&channel->ops[slot->op].flushed, 1);
			if (slot->transfer)
				slot->transfer->outstanding_wrs--;
			/* A transfer that was all posted did not arrive: it must not count as done.
			 */
			if (slot->transfer && !slot->transfer->broken) {
				slot->transfer->broken = true;
				(void)vbd_error_set(&slot->transfer->error, VBD_E_QP_FATAL,
					"its work requests never came back");
			}
		}
		channel->sq_outstanding = 0;
		channel->rq_outstanding = 0;
		channel->draining = true;
		check_drained(channel);
	}
	vbd_worker_reply(channel->worker, &channel->mail_sweep, VBD_CONTROL_SWEPT);
}
