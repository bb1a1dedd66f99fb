/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/transfer.h"

#include "base/log.h"
#include "rdma/data/channel.h"

#include <infiniband/verbs.h>

static enum vbd_transfer_event outcome(const struct vbd_transfer *transfer)
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
	const struct vbd_transfer_rule *rule = vbd_transfer_rule(transfer->state, event);

	vbd_log(VBD_LOG_DEBUG, "transfer", "%llu %s -> %s (%s: %s)",
		(unsigned long long)transfer->id, vbd_transfer_state_name(transfer->state),
		vbd_transfer_state_name(rule->next), vbd_transfer_event_name(event), rule->note);
	transfer->state = rule->next;
}

/* The caller may free the transfer once all of its mailbox items are back. */
static void check_transfer_items(struct vbd_transfer *transfer)
{
	if (!transfer->ended_back || !transfer->started_back)
		return;
	if (transfer->cancel_sent && !transfer->cancel_back)
		return;
	set_transfer_state(transfer, outcome(transfer));
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
	check_transfer_items(transfer);
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
