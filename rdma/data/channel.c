/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/channel.h"

#include "rdma/data/channel_parts.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/names/wr_id.h"

/* Room for the receives, and after them for the old values of atomics. */
static size_t receives_bytes(const struct vbd_channel_limits *limits)
{
	size_t bytes = vbd_channel_own_receives(limits) * vbd_channel_recv_bytes(limits);

	return (bytes + VBD_ATOMIC_BYTES - 1) / VBD_ATOMIC_BYTES * VBD_ATOMIC_BYTES;
}

static bool has_atomics(const struct vbd_channel_limits *limits)
{
	return vbd_op_allowed(VBD_OP_FETCH_ADD, limits->transport);
}

static void plan_memory(struct vbd_channel *channel, struct vbd_pd *pd)
{
	const struct vbd_channel_limits *limits = &channel->limits;

	channel->mem_bytes =
		receives_bytes(limits) +
		(has_atomics(limits) ? (size_t)limits->sq_depth * VBD_ATOMIC_BYTES : 0);
	channel->receive_has_range = strcmp(pd->device->transport, "iwarp") == 0;
	vbd_pd_ref(pd);
	channel->pd = pd;
}

static enum vbd_status allocate_channel(
	struct vbd_worker *worker, struct vbd_channel **ret_channel, struct vbd_error *err)
{
	struct vbd_channel *channel = calloc(1, sizeof(*channel));

	if (channel)
		channel->ops = calloc(VBD_OP_COUNT, sizeof(*channel->ops));
	if (!channel || !channel->ops ||
		!vbd_channel_table_reserve(
			&worker->channels, &channel->index, &channel->generation)) {
		if (channel)
			free(channel->ops);
		free(channel);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	}
	channel->worker = worker;
	*ret_channel = channel;
	return VBD_OK;
}

static enum vbd_status make_echo_ring(struct vbd_channel *channel, struct vbd_error *err)
{
	if (channel->limits.service != VBD_SERVICE_ECHO)
		return VBD_OK;
	channel->echo_ring = calloc(channel->limits.rq_depth, sizeof(*channel->echo_ring));
	if (channel->echo_ring)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the queues");
}

static enum vbd_status make_heartbeat(struct vbd_channel *channel, struct vbd_error *err)
{
	if (!channel->limits.heartbeat_ns)
		return VBD_OK;
	channel->heartbeat = calloc(1, sizeof(*channel->heartbeat));
	if (!channel->heartbeat)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a heartbeat");
	channel->heartbeat->worker = channel->worker;
	channel->heartbeat->channel = channel;
	channel->heartbeat->interval_ns = channel->limits.heartbeat_ns;
	return VBD_OK;
}

enum vbd_status vbd_channel_create(const struct vbd_channel_owner_ops *owner_ops, void *owner,
	struct vbd_pd *pd, struct vbd_cq *cq, const struct vbd_channel_limits *limits,
	struct vbd_channel **ret_channel, struct vbd_error *err)
{
	struct vbd_channel *channel;
	enum vbd_status status = allocate_channel(cq->worker, &channel, err);

	if (status)
		return status;
	channel->owner_ops = owner_ops;
	channel->owner = owner;
	channel->limits = *limits;
	channel->cq = cq;
	vbd_list_init(&channel->fabric_link);
	vbd_list_init(&channel->srq_link);
	vbd_list_init(&channel->purge_link);
	vbd_list_init(&channel->repost_link);
	vbd_list_init(&channel->transfers);
	vbd_list_init(&channel->receives);
	plan_memory(channel, pd);
	status = vbd_slabs_create(pd, err);
	if (!status)
		status = make_echo_ring(channel, err);
	if (!status)
		status = make_heartbeat(channel, err);
	if (!status && limits->service_ops->create)
		status = limits->service_ops->create(channel, pd, err);
	if (status) {
		vbd_channel_destroy(channel);
		return status;
	}
	*ret_channel = channel;
	return VBD_OK;
}

static void place_old_values(struct vbd_channel *channel)
{
	if (has_atomics(&channel->limits))
		channel->old_values = channel->mem.addr + receives_bytes(&channel->limits);
}

bool vbd_channel_try_prepare(struct vbd_channel *channel)
{
	if (channel->limits.service_ops->prepare)
		return false;
	if (channel->mem_bytes &&
		!vbd_slabs_try_take(channel->pd->slabs, channel->mem_bytes, &channel->mem))
		return false;
	place_old_values(channel);
	return true;
}

enum vbd_status vbd_channel_prepare(struct vbd_channel *channel, struct vbd_error *err)
{
	const struct vbd_channel_limits *limits = &channel->limits;
	enum vbd_status status = VBD_OK;

	if (channel->mem_bytes)
		status = vbd_slabs_take(channel->pd->slabs, channel->mem_bytes, &channel->mem, err);
	if (status)
		return status;
	place_old_values(channel);
	return limits->service_ops->prepare ? limits->service_ops->prepare(channel, err) : VBD_OK;
}

void vbd_channel_free_memory(struct vbd_channel *channel)
{
	if (channel->limits.service_ops->free_memory)
		channel->limits.service_ops->free_memory(channel);
	if (channel->mem.slab)
		vbd_slabs_give(channel->pd->slabs, &channel->mem);
}

void vbd_channel_destroy(struct vbd_channel *channel)
{
	if (!channel)
		return;
	vbd_channel_table_release(&channel->worker->channels, channel->index);
	if (channel->limits.service_ops->destroy)
		channel->limits.service_ops->destroy(channel);
	if (channel->pd)
		vbd_pd_unref(channel->pd);
	free(channel->recv_slots);
	free(channel->send_slots);
	free(channel->echo_ring);
	free(channel->ops);
	free(channel->heartbeat);
	free(channel->withheld);
	free(channel->first_error);
	free(channel);
}

void vbd_channel_pause(struct vbd_channel *channel)
{
	vbd_counter_set(&channel->paused, 1);
}

void vbd_channel_resume(struct vbd_channel *channel)
{
	uint64_t sent = vbd_counter_get(&channel->resumes_sent);

	vbd_counter_set(&channel->paused, 0);
	/* A channel that had nothing to send meanwhile needs no command. The worker has
	 * resume_command while resumes_sent and resumes_taken differ. The fence ensures that either
	 * this thread sees the new resumes_taken and `still`, or the worker sees `paused` as 0. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!vbd_counter_get(&channel->still) || sent != vbd_counter_get(&channel->resumes_taken))
		return;
	vbd_counter_set(&channel->resumes_sent, sent + 1);
	vbd_worker_send(channel->worker, &channel->resume_command, VBD_WORKER_RESUME);
}

void vbd_channel_renew(struct vbd_channel *channel)
{
	/* Receives that RESET deleted; a drain leaves none. */
	vbd_channel_count_flushed(channel, VBD_OP_RECV, channel->rq_outstanding);
	channel->generation = vbd_channel_table_renew(&channel->worker->channels, channel->index);
	channel->attached = false;
	channel->drain_sent = channel->drained = channel->stopped = false;
	channel->purge_sent = channel->purged = false;
	channel->sq_outstanding = channel->sq_first = channel->sq_unsignalled = 0;
	channel->rq_outstanding = channel->repost_count = 0;
	channel->echo_head = channel->echo_count = 0;
	if (channel->limits.service_ops->renew)
		channel->limits.service_ops->renew(channel);
	channel->known = channel->broken = channel->notified = false;
	channel->draining = channel->gone = false;
	free(channel->first_error);
	channel->first_error = NULL;
	channel->first_error_transfer = 0;
}

/* The worker's side. */

void vbd_channel_resumed(struct vbd_channel *channel)
{
	vbd_counter_set(&channel->still, 0);
	vbd_counter_add(&channel->resumes_taken, 1);
	atomic_thread_fence(memory_order_seq_cst);
	vbd_channel_pump(channel);
}

static void begin_busy_polling(struct vbd_channel *channel)
{
	if (channel->limits.poll != VBD_POLL_BUSY)
		return;
	channel->cq->busy_channels++;
	vbd_counter_add(&channel->worker->busy_channels, 1);
	vbd_worker_poll_on(channel->worker, channel->cq);
}

static void end_busy_polling(struct vbd_channel *channel)
{
	if (channel->limits.poll != VBD_POLL_BUSY || !channel->known)
		return;
	channel->cq->busy_channels--;
	vbd_counter_set(&channel->worker->busy_channels,
		vbd_counter_get(&channel->worker->busy_channels) - 1);
}

void vbd_channel_attached(struct vbd_channel *channel)
{
	channel->known = true;
	if (channel->limits.srq)
		vbd_channel_join_srq(channel);
	vbd_cq_count_outstanding(channel->cq, channel->rq_outstanding);
	vbd_channel_count_first_receives(channel);
	begin_busy_polling(channel);
}

static void end_drain_if_done(struct vbd_channel *channel)
{
	if (!channel->draining || channel->gone)
		return;
	if (channel->sq_outstanding > 0 || channel->rq_outstanding > 0)
		return;
	vbd_channel_check_transfers(channel);
	if (channel->probe)
		channel->probe_ops->drained(channel->probe);
	if (channel->heartbeat)
		vbd_heap_remove(&channel->worker->heartbeats, &channel->heartbeat->due);
	channel->gone = true;
	end_busy_polling(channel);
	vbd_list_remove(&channel->repost_link);
	vbd_withheld_leave(channel);
	vbd_channel_table_clear(&channel->worker->channels, channel->index);
	vbd_worker_notify(channel->worker, &channel->drain_command, VBD_CONTROL_DRAINED);
}

void vbd_channel_drain(struct vbd_channel *channel)
{
	channel->draining = true;
	vbd_channel_check_transfers(channel);
	end_drain_if_done(channel);
}

void vbd_channel_shared_received(
	struct vbd_channel *channel, struct vbd_recv_slot *slot, const struct ibv_wc *wc)
{
	vbd_channel_count_posted(channel, VBD_OP_RECV, true);
	if (wc->status != IBV_WC_SUCCESS) {
		vbd_srq_release(slot->srq, slot);
		vbd_channel_fail(channel, VBD_OP_RECV, wc, NULL);
	} else {
		vbd_channel_take_message(channel, slot, wc);
		vbd_channel_pass_message(channel, slot);
	}
	vbd_channel_spin(channel);
	vbd_channel_pump(channel);
	end_drain_if_done(channel);
}

void vbd_channel_completed(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	uint32_t slot = vbd_wr_id_slot(wc->wr_id);

	if (vbd_wr_id_is_recv(wc->wr_id))
		vbd_channel_recv_completed(channel, slot, wc);
	else
		vbd_channel_send_completed(channel, slot, wc);
	vbd_channel_spin(channel);
	vbd_channel_pump(channel);
	end_drain_if_done(channel);
}

static void count_receives_flushed(struct vbd_channel *channel)
{
	vbd_channel_count_flushed(channel, VBD_OP_RECV, channel->rq_outstanding);
	channel->rq_outstanding = 0;
	if (!channel->recv_slots)
		return;
	for (uint32_t i = 0; i < vbd_channel_own_receives(&channel->limits); i++) {
		struct vbd_recv_slot *slot = &channel->recv_slots[i];

		if (slot->transfer)
			vbd_channel_fail_wr(vbd_channel_take_receiver(channel, slot));
	}
}

void vbd_channel_abandon(struct vbd_channel *channel)
{
	if (!channel->gone) {
		if (channel->known)
			vbd_cq_uncount_outstanding(channel->cq,
				(uint64_t)channel->sq_outstanding + channel->rq_outstanding);
		count_receives_flushed(channel);
		vbd_channel_abandon_sends(channel);
		channel->draining = true;
		end_drain_if_done(channel);
	}
	if (channel->limits.srq)
		vbd_channel_leave_srq(channel);
	vbd_worker_notify(channel->worker, &channel->purge_command, VBD_CONTROL_PURGED);
}
