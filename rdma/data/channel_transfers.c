/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of a channel: control passes them to the worker and gets them back, the worker
 * posts their work requests.
 */
#include "base/log.h"
#include "rdma/data/channel_parts.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"

#define ON(event, next, note) [VBD_TRANSFER_EV_##event] = {VBD_TRANSFER_##next, 0, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, note) [VBD_TRANSFER_EVENT_COUNT] = {VBD_TRANSFER_##next, 0, note}

/* clang-format off */
static const struct vbd_rule rules[VBD_TRANSFER_STATE_COUNT][VBD_TRANSFER_EVENT_COUNT + 1] = {
	[VBD_TRANSFER_QUEUED] = {
		ON(STARTED, RUNNING, "its first work request is posted"),
		ON(CANCEL, CANCELLING, "the worker has the transfer and must return it first"),
		ON(DONE, DONE, "a transfer of nothing is done at once"),
		ON(FAILED, FAILED, "the connection ended before it began"),
		ON(STOPPED, CANCELLED, "it was given back"),
		ON(STOPPED_LATE, TIMED_OUT, "it was given back"),
	},
	[VBD_TRANSFER_RUNNING] = {
		ON(STARTED, RUNNING, "the transfer already runs"),
		ON(CANCEL, CANCELLING, "work that the device holds must complete first"),
		ON(DONE, DONE, "every completion is in"),
		ON(FAILED, FAILED, "a completion failed, the rest is flushed"),
		ON(STOPPED, CANCELLED, "every completion is in"),
		ON(STOPPED_LATE, TIMED_OUT, "every completion is in"),
	},
	[VBD_TRANSFER_CANCELLING] = {
		ON(STARTED, CANCELLING, "the work request was posted before the cancel arrived"),
		ON(CANCEL, CANCELLING, "the cancel has already begun"),
		ON(DONE, DONE, "the transfer completed before the cancel"),
		ON(FAILED, FAILED, "the transfer failed before the cancel took effect"),
		ON(STOPPED, CANCELLED, "every completion is in"),
		ON(STOPPED_LATE, TIMED_OUT, "every completion is in"),
	},
#define ENDED(state)                                                     \
	[VBD_TRANSFER_##state] = {                                       \
		OTHERWISE(state, "it has ended"), \
	}
	ENDED(DONE),
	ENDED(FAILED),
	ENDED(CANCELLED),
	ENDED(TIMED_OUT),
#undef ENDED
};
/* clang-format on */

VBD_RULES(vbd_transfer_rule, enum vbd_transfer_state, enum vbd_transfer_event, rules)

VBD_ENUM_NAMES(vbd_transfer_state_name, enum vbd_transfer_state, VBD_TRANSFER_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_transfer_state_ended, enum vbd_transfer_state, VBD_TRANSFER_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_transfer_event_name, enum vbd_transfer_event, VBD_TRANSFER_EVENT_MAP)

/* Control. */

static enum vbd_transfer_event event_of_outcome(const struct vbd_transfer *transfer)
{
	bool flushed = transfer->wc_status == IBV_WC_WR_FLUSH_ERR || transfer->wc_status < 0;

	if (transfer->error.status == VBD_OK)
		return VBD_TRANSFER_EV_DONE;
	/* The end of a connection flushes a transfer that is stopping: report it as cancelled. */
	if (transfer->error.status == VBD_E_CANCELLED ||
		(transfer->state == VBD_TRANSFER_CANCELLING && flushed))
		return transfer->late ? VBD_TRANSFER_EV_STOPPED_LATE : VBD_TRANSFER_EV_STOPPED;
	return VBD_TRANSFER_EV_FAILED;
}

/* The one setter of a transfer's state. */
static void set_transfer_state(struct vbd_transfer *transfer, enum vbd_transfer_event event)
{
	const struct vbd_rule *rule = vbd_transfer_rule(transfer->state, event);

	vbd_log(VBD_LOG_DEBUG, "transfer", "%llu %s -> %s (%s: %s)",
		(unsigned long long)transfer->id, vbd_transfer_state_name(transfer->state),
		vbd_transfer_state_name(rule->next), vbd_transfer_event_name(event), rule->note);
	transfer->state = rule->next;
}

/* The caller may free the transfer once all of its mailbox items are back. */
static void end_if_items_back(struct vbd_transfer *transfer)
{
	if (!transfer->ended_back || !transfer->started_back)
		return;
	if (transfer->cancel_sent && !transfer->cancel_back)
		return;
	set_transfer_state(transfer, event_of_outcome(transfer));
	transfer->ended(transfer, transfer->arg);
}

void vbd_transfer_on_notification(struct vbd_transfer *transfer, enum vbd_notification notification)
{
	if (notification == VBD_CONTROL_TRANSFER_STARTED) {
		transfer->started_back = true;
		set_transfer_state(transfer, VBD_TRANSFER_EV_STARTED);
		if (transfer->started)
			transfer->started(transfer, transfer->arg);
	} else if (notification == VBD_CONTROL_TRANSFER_ENDED) {
		transfer->ended_back = true;
	} else {
		transfer->cancel_back = true;
	}
	end_if_items_back(transfer);
}

void vbd_transfer_submit(struct vbd_transfer *transfer)
{
	transfer->wc_status = -1;
	vbd_list_init(&transfer->link);
	vbd_worker_send(
		transfer->channel->worker, &transfer->start_command, VBD_WORKER_START_TRANSFER);
}

void vbd_transfer_request_cancel(struct vbd_transfer *transfer, bool late)
{
	if (transfer->cancel_sent || transfer->ended_back)
		return;
	transfer->late = late;
	set_transfer_state(transfer, VBD_TRANSFER_EV_CANCEL);
	/* The drain ends it anyway, and a command sent after the drain command could outlive the
	 * channel. */
	if (transfer->channel->drain_sent)
		return;
	transfer->cancel_sent = true;
	vbd_worker_send(
		transfer->channel->worker, &transfer->cancel_command, VBD_WORKER_CANCEL_TRANSFER);
}

uint64_t vbd_transfer_length(const struct vbd_transfer *transfer)
{
	return transfer->run_ns ? vbd_counter_get(&transfer->bytes_done) : transfer->length_bytes;
}

/* The worker. */

static void set_started_time(struct vbd_transfer *transfer)
{
	if (!vbd_counter_get(&transfer->started_ns))
		vbd_counter_set(
			&transfer->started_ns, vbd_worker_now_ns(transfer->channel->worker));
}

/* Only the last work request of a write consumes a receive of the peer. */
static enum vbd_op chunk_op(const struct vbd_transfer *transfer, bool last)
{
	return transfer->op == VBD_OP_WRITE_IMM && !last ? VBD_OP_WRITE : transfer->op;
}

/* The bytes of the next work request: a chunk, or all ranges of the list. */
static uint64_t next_wr_bytes(const struct vbd_transfer *transfer)
{
	uint64_t left = transfer->length_bytes - transfer->posted_bytes;

	if (transfer->repeats)
		return transfer->chunk_bytes;
	return transfer->sge_count || left < transfer->chunk_bytes ? left : transfer->chunk_bytes;
}

/* The offset of the next work request in the transfer. */
static uint64_t next_wr_offset(const struct vbd_transfer *transfer)
{
	return transfer->repeats ? 0 : transfer->posted_bytes;
}

static bool time_is_up(const struct vbd_transfer *transfer)
{
	uint64_t started_ns = vbd_counter_get(&transfer->started_ns);

	return transfer->run_ns && started_ns &&
	       vbd_worker_now_ns(transfer->channel->worker) - started_ns >= transfer->run_ns;
}

static bool next_wr_is_last(const struct vbd_transfer *transfer)
{
	if (transfer->repeats)
		return transfer->posted_wrs + 1 == transfer->repeats || time_is_up(transfer);
	return transfer->posted_bytes + next_wr_bytes(transfer) == transfer->length_bytes;
}

/* With @more posted, has the transfer tx_depth work requests outstanding? */
static bool tx_depth_reached(const struct vbd_transfer *transfer, uint32_t more)
{
	return transfer->tx_depth && transfer->outstanding_wrs + more >= transfer->tx_depth;
}

static struct vbd_send_request make_send_request(
	struct vbd_transfer *transfer, const struct vbd_sge *chunk, bool last)
{
	struct vbd_send_request request = {
		.op = chunk_op(transfer, last),
		.sges = transfer->sge_count ? transfer->sges : chunk,
		.sge_count = transfer->sge_count ? transfer->sge_count : chunk->addr != 0,
		.more = !last && !tx_depth_reached(transfer, 1),
		.wr = transfer->wr,
		.transfer = transfer,
	};

	request.wr.remote_addr += next_wr_offset(transfer);
	return request;
}

/* Post the next work request of a transfer; false if it could not be posted now. */
static bool post_chunk(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	uint64_t bytes = next_wr_bytes(transfer);
	bool last = next_wr_is_last(transfer);
	const struct vbd_sge chunk = {
		.addr = transfer->local_addr ? transfer->local_addr + next_wr_offset(transfer) : 0,
		.length_bytes = (uint32_t)bytes,
		.lkey = transfer->lkey,
	};
	const struct vbd_send_request request = make_send_request(transfer, &chunk, last);

	/* Count first: a failing post takes this back, and ends transfers without outstanding work
	 * requests. */
	transfer->outstanding_wrs++;
	transfer->posted_bytes += bytes;
	transfer->posted_wrs++;
	transfer->all_posted = last;
	if (!vbd_channel_post_send(channel, &request))
		return false;
	set_started_time(transfer);
	return true;
}

/* False if it could not be posted now. */
static bool post_receive(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	uint32_t depth = channel->limits.rq_depth;
	uint32_t index =
		(uint32_t)(((uint64_t)channel->rq_first + channel->rq_outstanding) % depth);
	struct vbd_error error = {0};

	if (channel->rq_outstanding == depth || channel->broken || channel->draining)
		return false;
	if (vbd_channel_need_recv_slots(channel, &error) != VBD_OK ||
		vbd_channel_post_sges(
			channel, index, transfer->sges, transfer->sge_count, &error) != VBD_OK) {
		vbd_channel_break(channel, &error, VBD_OP_RECV, transfer->id);
		return false;
	}
	vbd_cq_count_outstanding(channel->cq, 1);
	channel->recv_slots[index].transfer = transfer;
	transfer->outstanding_wrs++;
	transfer->all_posted = true;
	set_started_time(transfer);
	return true;
}

static void pump_receives(struct vbd_channel *channel)
{
	vbd_list_for_each_of (struct vbd_transfer, transfer, link, &channel->receives) {
		if (!transfer->all_posted && !transfer->stopping &&
			!post_receive(channel, transfer))
			return;
	}
}

void vbd_channel_pump(struct vbd_channel *channel)
{
	if (channel->limits.service_ops->pump)
		channel->limits.service_ops->pump(channel);
	if (channel->probe)
		channel->probe_ops->pump(channel->probe);
	pump_receives(channel);
	/* In the order of submission: no transfer overtakes one that waits for its tx_depth. */
	vbd_list_for_each_of (struct vbd_transfer, transfer, link, &channel->transfers) {
		while (!transfer->all_posted && !transfer->stopping) {
			if (tx_depth_reached(transfer, 0))
				goto out;
			if (!vbd_channel_can_send(channel) || !post_chunk(channel, transfer))
				goto out;
		}
	}
out:
	(void)vbd_channel_ring(channel);
	/* A failed post has broken the channel while its transfer still counted as outstanding. */
	if (channel->broken)
		vbd_channel_check_transfers(channel);
}

void vbd_channel_start_transfer(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	struct vbd_link *queue =
		transfer->op == VBD_OP_RECV ? &channel->receives : &channel->transfers;

	/* The work request of a memory window goes first: revoking is urgent. */
	if (transfer->wr.mw)
		vbd_list_prepend(queue, &transfer->link);
	else
		vbd_list_append(queue, &transfer->link);
	vbd_channel_pump(channel);
	vbd_worker_notify(
		channel->worker, &transfer->started_notification, VBD_CONTROL_TRANSFER_STARTED);
	if (channel->broken || channel->draining)
		vbd_channel_check_transfers(channel);
}

void vbd_channel_cancel_transfer(struct vbd_transfer *transfer)
{
	if (!vbd_counter_get(&transfer->ended_ns)) {
		transfer->stopping = true;
		vbd_channel_check_transfer(transfer);
	}
	vbd_worker_notify(
		transfer->channel->worker, &transfer->cancel_command, VBD_CONTROL_CANCEL_SEEN);
}
