/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of work requests: counts by operation, the end of transfers, and the channel after an
 * error. The other files of the channel call this one, which calls none of them.
 */
#include "rdma/data/channel_parts.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"
#include "rdma/names/names.h"

static void count_posted_wr(struct vbd_op_counters *counters, bool signalled)
{
	vbd_counter_add(&counters->posted, 1);
	if (signalled)
		vbd_counter_add(&counters->signalled, 1);
}

static void count_completed_wr(struct vbd_op_counters *counters, uint64_t length_bytes)
{
	vbd_counter_add(&counters->completed, 1);
	vbd_counter_add(&counters->bytes, length_bytes);
}

void vbd_channel_count_posted(struct vbd_channel *channel, enum vbd_op op, bool signalled)
{
	count_posted_wr(&channel->ops[op], signalled);
	if (channel->known)
		count_posted_wr(&channel->worker->op_totals[op], signalled);
}

void vbd_channel_count_first_receives(struct vbd_channel *channel)
{
	struct vbd_op_counters *totals = &channel->worker->op_totals[VBD_OP_RECV];

	vbd_counter_add(&totals->posted, channel->rq_outstanding);
	vbd_counter_add(&totals->signalled, channel->rq_outstanding);
}

void vbd_channel_count_completed(struct vbd_channel *channel, enum vbd_op op, uint64_t length_bytes)
{
	count_completed_wr(&channel->ops[op], length_bytes);
	count_completed_wr(&channel->worker->op_totals[op], length_bytes);
}

void vbd_channel_count_failed(struct vbd_channel *channel, enum vbd_op op)
{
	vbd_counter_add(&channel->ops[op].errors, 1);
	vbd_counter_add(&channel->worker->op_totals[op].errors, 1);
}

void vbd_channel_count_flushed(struct vbd_channel *channel, enum vbd_op op, uint64_t n)
{
	vbd_counter_add(&channel->ops[op].flushed, n);
	if (channel->known)
		vbd_counter_add(&channel->worker->op_totals[op].flushed, n);
}

static void end_transfer(struct vbd_transfer *transfer)
{
	vbd_list_remove(&transfer->link);
	vbd_counter_set(&transfer->ended_ns, vbd_clock_mono_ns());
	vbd_worker_notify(transfer->channel->worker, &transfer->ended_notification,
		VBD_CONTROL_TRANSFER_ENDED);
}

void vbd_channel_check_transfer(struct vbd_transfer *transfer)
{
	const struct vbd_channel *channel = transfer->channel;

	if (transfer->outstanding_wrs > 0)
		return;
	if (transfer->broken) {
		end_transfer(transfer);
	} else if (transfer->all_posted) {
		end_transfer(transfer);
	} else if (transfer->stopping) {
		(void)vbd_error_set(&transfer->error, VBD_E_CANCELLED,
			"the transfer was cancelled after %llu bytes",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done));
		end_transfer(transfer);
	} else if (channel->draining && channel->sq_outstanding == 0) {
		/* Not earlier: an outstanding completion may have the reason. */
		(void)vbd_error_set(&transfer->error, VBD_E_QP_FATAL,
			"the connection ended after %llu bytes",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done));
		end_transfer(transfer);
	}
}

void vbd_channel_check_transfers(struct vbd_channel *channel)
{
	vbd_list_for_each_of (struct vbd_transfer, transfer, link, &channel->transfers)
		vbd_channel_check_transfer(transfer);
	vbd_list_for_each_of (struct vbd_transfer, transfer, link, &channel->receives)
		vbd_channel_check_transfer(transfer);
}

void vbd_channel_fail_wr(struct vbd_transfer *transfer)
{
	transfer->outstanding_wrs--;
	if (transfer->broken)
		return;
	transfer->broken = true;
	(void)vbd_error_set(
		&transfer->error, VBD_E_QP_FATAL, "the transfer's work requests did not complete");
}

static bool is_flush_error(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_WC && error->kind == IBV_WC_WR_FLUSH_ERR;
}

/* Without memory the control thread learns that a work request failed, but not why. */
static void store_error(struct vbd_channel *channel, const struct vbd_error *why)
{
	if (!channel->first_error)
		channel->first_error = malloc(sizeof(*channel->first_error));
	if (channel->first_error)
		*channel->first_error = *why;
}

void vbd_channel_break(struct vbd_channel *channel, const struct vbd_error *why, enum vbd_op op,
	uint64_t transfer_id)
{
	/* During a drain flushes are expected; any other error may be the reason for the peer's
	 * disconnect, even after a flush. */
	bool reportable = !channel->draining || !is_flush_error(why);

	if (channel->broken && (channel->notified || !reportable))
		return;
	channel->broken = true;
	store_error(channel, why);
	channel->first_error_op = op;
	channel->first_error_transfer = transfer_id;
	channel->notified = reportable;
	if (reportable)
		vbd_worker_notify(
			channel->worker, &channel->error_notification, VBD_CONTROL_CHANNEL_ERROR);
	vbd_channel_check_transfers(channel);
}

/* Is a report of this error needless, as for most flushes of a drain? */
static bool is_error_known(
	const struct vbd_channel *channel, bool flushed, const struct vbd_transfer *transfer)
{
	return (!transfer || transfer->broken) && channel->broken &&
	       (channel->notified || (flushed && channel->draining));
}

/* Only wr_id, status, qp_num and vendor_err are valid after an error: ibv_poll_cq(3). */
static void report_error(struct vbd_channel *channel, enum vbd_op op, const struct ibv_wc *wc,
	struct vbd_transfer *transfer)
{
	struct vbd_error error = {
		.source = VBD_SOURCE_WC,
		.kind = (int)wc->status,
		.raw = wc->vendor_err,
	};

	(void)vbd_error_set(&error, vbd_wc_status_class((int)wc->status),
		"%s: %s (%s, vendor_err %u)", vbd_op_name(op), vbd_wc_status_text((int)wc->status),
		vbd_wc_status_name((int)wc->status), wc->vendor_err);
	if (transfer && !transfer->broken) {
		transfer->broken = true;
		transfer->wc_status = (int)wc->status;
		transfer->vendor_err = wc->vendor_err;
		transfer->error = error;
	}
	vbd_channel_break(channel, &error, op, transfer ? transfer->id : 0);
}

void vbd_channel_fail(struct vbd_channel *channel, enum vbd_op op, const struct ibv_wc *wc,
	struct vbd_transfer *transfer)
{
	bool flushed = wc->status == IBV_WC_WR_FLUSH_ERR;

	if (flushed)
		vbd_channel_count_flushed(channel, op, 1);
	else
		vbd_channel_count_failed(channel, op);
	vbd_counter_add(&channel->cq->error_completions, 1);
	if (!is_error_known(channel, flushed, transfer))
		report_error(channel, op, wc, transfer);
}
