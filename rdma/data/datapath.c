/* SPDX-License-Identifier: Apache-2.0 */

#include "rdma/data/channel_parts.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/probe.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/faults.h"

static enum vbd_status create(struct vbd_worker *worker, struct vbd_error *err)
{
	vbd_list_init(&worker->probes);
	vbd_list_init(&worker->srqs);
	vbd_list_init(&worker->reposting);
	vbd_list_init(&worker->delayed);
	vbd_list_init(&worker->withholding);
	worker->probe_totals = calloc(VBD_PROBE_KIND_COUNT, sizeof(*worker->probe_totals));
	worker->sends = calloc(1, sizeof(*worker->sends));
	if (worker->probe_totals && worker->sends)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for worker %u", worker->number);
}

static void destroy(struct vbd_worker *worker)
{
	vbd_withheld_fini(worker);
	free(worker->probe_totals);
	free(worker->sends);
}

/* Commands. */

static void attach(struct vbd_worker *worker, struct vbd_channel *channel)
{
	struct vbd_error error = {0};

	if (vbd_channel_table_set(&worker->channels, channel->index, channel)) {
		vbd_channel_attached(channel);
		return;
	}
	(void)vbd_error_set(&error, VBD_E_NO_MEMORY, "no memory for the channel");
	vbd_channel_break(channel, &error, VBD_OP_RECV, 0);
}

/* The QP is destroyed: all of its completions are in the CQ now, which holds no more than its
 * capacity. Other QPs may add completions as fast as the worker takes them. */
static void purge(struct vbd_worker *worker, struct vbd_channel *channel)
{
	struct vbd_cq *cq = channel->cq;

	channel->purged_at = vbd_counter_get(&cq->completions) + cq->capacity_cqe;
	vbd_list_append(&cq->purges, &channel->purge_link);
	vbd_worker_poll_on(worker, cq);
}

static void release_recv(struct vbd_recv_slot *slot)
{
	if (slot->srq)
		vbd_srq_release(slot->srq, slot);
	else
		vbd_channel_release_recv(slot->channel, slot);
}

static void limit_reached(struct vbd_worker *worker, struct vbd_srq *srq)
{
	vbd_srq_refill(srq);
	vbd_worker_notify(worker, &srq->limit_command, VBD_CONTROL_SRQ_LIMIT_SEEN);
}

static void take_command(struct vbd_worker *worker, struct vbd_mailbox_item *item)
{
	struct vbd_transfer *transfer;

	switch ((enum vbd_worker_command)item->kind) {
	case VBD_WORKER_ATTACH:
		attach(worker, VBD_CONTAINER_OF(item, struct vbd_channel, attach_command));
		break;
	case VBD_WORKER_DRAIN:
		vbd_channel_drain(VBD_CONTAINER_OF(item, struct vbd_channel, drain_command));
		break;
	case VBD_WORKER_QUIESCE:
		vbd_worker_notify(worker, item, VBD_CONTROL_QUIESCED);
		break;
	case VBD_WORKER_PURGE:
		purge(worker, VBD_CONTAINER_OF(item, struct vbd_channel, purge_command));
		break;
	case VBD_WORKER_RESUME:
		vbd_channel_resumed(VBD_CONTAINER_OF(item, struct vbd_channel, resume_command));
		break;
	case VBD_WORKER_START_TRANSFER:
		transfer = VBD_CONTAINER_OF(item, struct vbd_transfer, start_command);
		vbd_channel_start_transfer(transfer->channel, transfer);
		break;
	case VBD_WORKER_CANCEL_TRANSFER:
		transfer = VBD_CONTAINER_OF(item, struct vbd_transfer, cancel_command);
		vbd_channel_cancel_transfer(transfer);
		break;
	case VBD_WORKER_RELEASE_RECV:
		release_recv(VBD_CONTAINER_OF(item, struct vbd_recv_slot, item));
		break;
	case VBD_WORKER_ADD_SRQ:
		vbd_srq_added(VBD_CONTAINER_OF(item, struct vbd_srq, add_command));
		break;
	case VBD_WORKER_SRQ_LIMIT:
		limit_reached(worker, VBD_CONTAINER_OF(item, struct vbd_srq, limit_command));
		break;
	case VBD_WORKER_REMOVE_SRQ:
		vbd_srq_removed(VBD_CONTAINER_OF(item, struct vbd_srq, remove_command));
		break;
	case VBD_WORKER_START_PROBE:
		vbd_probe_started(VBD_CONTAINER_OF(item, struct vbd_probe, start_command));
		break;
	case VBD_WORKER_STOP_PROBE:
		vbd_probe_stopping(VBD_CONTAINER_OF(item, struct vbd_probe, stop_command));
		break;
	case VBD_WORKER_START_HEARTBEAT:
		vbd_heartbeat_started(VBD_CONTAINER_OF(item, struct vbd_heartbeat, start_command));
		break;
	case VBD_WORKER_RELEASE_WITHHELD:
		atomic_store(&worker->release_sent, false);
		vbd_withheld_release(worker, vbd_channel_post_recv);
		break;
	case VBD_WORKER_ADD_CQ:
	case VBD_WORKER_REMOVE_CQ:
	case VBD_WORKER_STOP:
		break; /* the worker's own */
	}
}

/* Completions. */

/* The channel that posted @wr_id; NULL if it is gone. */
static struct vbd_channel *channel_at(const struct vbd_worker *worker, uint64_t wr_id)
{
	const struct vbd_channel_table *table = &worker->channels;
	uint32_t index = vbd_wr_id_index(wr_id);
	struct vbd_channel *channel = index < table->channels_len ? table->channels[index] : NULL;

	if (!channel || channel->generation != vbd_wr_id_generation(wr_id))
		return NULL;
	return channel;
}

static struct vbd_srq *srq_at(const struct vbd_worker *worker, uint64_t wr_id)
{
	vbd_list_for_each (link, &worker->srqs) {
		struct vbd_srq *srq = VBD_CONTAINER_OF(link, struct vbd_srq, worker_link);

		if (srq->index == vbd_wr_id_index(wr_id) &&
			srq->generation == vbd_wr_id_generation(wr_id))
			return srq;
	}
	return NULL;
}

static void complete_shared(
	struct vbd_srq *srq, struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_recv_slot *slot = vbd_srq_completed(srq, channel, wc);

	if (!slot)
		return;
	vbd_channel_shared_received(channel, slot, wc);
	vbd_srq_refill_if_low(srq);
}

/* Returns false if the completion is not of a receive of an SRQ. */
static bool dispatch_shared(struct vbd_worker *worker, const struct ibv_wc *wc)
{
	struct vbd_srq *srq = vbd_wr_id_is_recv(wc->wr_id) ? srq_at(worker, wc->wr_id) : NULL;
	struct vbd_channel *channel;

	if (!srq)
		return false;
	channel = vbd_channel_of_srq(srq, wc->qp_num);
	if (!channel) {
		/* As in dispatch(): the attach command may still be in the mailbox. */
		(void)vbd_worker_take_commands(worker);
		srq = srq_at(worker, wc->wr_id);
		channel = srq ? vbd_channel_of_srq(srq, wc->qp_num) : NULL;
	}
	if (srq)
		complete_shared(srq, channel, wc);
	return true;
}

static void dispatch(struct vbd_worker *worker, const struct ibv_wc *wc)
{
	struct vbd_channel *channel = channel_at(worker, wc->wr_id);

	if (!channel && dispatch_shared(worker, wc))
		return;
	if (!channel) {
		/*
		 * A message can be faster than the attach command: the peer may send as soon as
		 * control has connected, and the command was sent before.
		 */
		(void)vbd_worker_take_commands(worker);
		channel = channel_at(worker, wc->wr_id);
	}
	if (!channel)
		return;
	if ((vbd_faults_armed(VBD_FAULT_DELAY_COMPLETIONS) ||
		    vbd_faults_armed(VBD_FAULT_DROP_COMPLETIONS) || channel->withheld) &&
		vbd_withheld_completion(channel, wc))
		return;
	vbd_channel_completed(channel, wc);
}

static void take_completions(
	struct vbd_worker *worker, const struct ibv_wc *wcs, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dispatch(worker, &wcs[i]);
}

/* End the purges whose completions are all taken. @dry: the CQ was found empty. */
static void end_purges(struct vbd_cq *cq, bool dry)
{
	vbd_list_for_each (link, &cq->purges) {
		struct vbd_channel *channel =
			VBD_CONTAINER_OF(link, struct vbd_channel, purge_link);

		if (!dry && vbd_counter_get(&cq->completions) < channel->purged_at)
			continue;
		vbd_list_remove(link);
		vbd_channel_abandon(channel);
	}
}

/* Deliver the delayed completions whose time has come. One whose channel has gone is ignored. */
static bool deliver_delayed(struct vbd_worker *worker)
{
	struct vbd_channel *channel;
	struct ibv_wc wc;
	bool any = false;

	while (vbd_withheld_next(worker, &wc)) {
		channel = channel_at(worker, wc.wr_id);
		if (!channel)
			continue;
		any = true;
		vbd_withheld_delivered(channel);
		vbd_channel_completed(channel, &wc);
	}
	return any;
}

static void repost_all(struct vbd_worker *worker)
{
	while (!vbd_list_empty(&worker->reposting))
		vbd_channel_repost(
			VBD_LIST_FIRST(&worker->reposting, struct vbd_channel, repost_link));
}

static bool run_due(struct vbd_worker *worker)
{
	bool any = deliver_delayed(worker);

	repost_all(worker);
	vbd_probes_run_due(worker);
	vbd_heartbeats_run(worker);
	return any;
}

static uint64_t next_due_ns(const struct vbd_worker *worker)
{
	uint64_t ping_ns = vbd_probes_due_ns(worker);
	uint64_t beat_ns = vbd_heartbeats_due_ns(worker);
	uint64_t withheld_ns = vbd_withheld_due_ns(worker);
	uint64_t due_ns = ping_ns < beat_ns ? ping_ns : beat_ns;

	return withheld_ns < due_ns ? withheld_ns : due_ns;
}

const struct vbd_worker_ops vbd_datapath_ops = {
	.create = create,
	.destroy = destroy,
	.take_command = take_command,
	.take_completions = take_completions,
	.end_purges = end_purges,
	.run_due = run_due,
	.next_due_ns = next_due_ns,
};
