/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "rdma/channel_parts.h"
#include "rdma/service.h"
#include "rdma/transfer.h"
#include "rdma/worker.h"

static void end_transfer(struct vbd_transfer *transfer)
{
	vbd_list_remove(&transfer->link);
	vbd_counter_set(&transfer->ended_ns, vbd_clock_mono_ns());
	vbd_worker_reply(
		transfer->channel->worker, &transfer->mail_ended, VBD_CONTROL_TRANSFER_ENDED);
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

void vbd_channel_check_transfers(struct vbd_channel *channel)
{
	vbd_list_for_each (link, &channel->transfers)
		vbd_channel_check_transfer(VBD_CONTAINER_OF(link, struct vbd_transfer, link));
}

/* With @more posted, has it as many outstanding as it may have? */
static bool window_full(const struct vbd_transfer *transfer, uint32_t more)
{
	return transfer->window && transfer->outstanding_wrs + more >= transfer->window;
}

/* Post the next work request of a transfer; false if it could not be posted now. */
static bool post_chunk(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	uint64_t left = transfer->length_bytes - transfer->posted_bytes;
	uint64_t chunk = left < transfer->chunk_bytes ? left : transfer->chunk_bytes;
	const struct vbd_sge sge = {
		.addr = transfer->local_addr + transfer->posted_bytes,
		.length_bytes = (uint32_t)chunk,
		.lkey = transfer->lkey,
	};
	const struct vbd_send_request request = {
		.op = transfer->op,
		.sges = &sge,
		.sge_count = chunk ? 1 : 0,
		.inlined = transfer->inlined,
		.more = chunk < left && !window_full(transfer, 1),
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

void vbd_channel_pump(struct vbd_channel *channel)
{
	vbd_service_pump(channel);
	/* In the order asked for: nothing passes a transfer that waits for its window. */
	vbd_list_for_each (link, &channel->transfers) {
		struct vbd_transfer *transfer = VBD_CONTAINER_OF(link, struct vbd_transfer, link);

		while (!transfer->all_posted && !transfer->stopping) {
			if (window_full(transfer, 0))
				goto out;
			if (!vbd_channel_can_send(channel) || !post_chunk(channel, transfer))
				goto out;
		}
	}
out:
	/* A post that failed has broken the channel while its transfer still counted as
	 * outstanding. */
	if (channel->broken)
		vbd_channel_check_transfers(channel);
}

void vbd_channel_start_transfer(struct vbd_channel *channel, struct vbd_transfer *transfer)
{
	vbd_list_append(&channel->transfers, &transfer->link);
	vbd_channel_pump(channel);
	vbd_worker_reply(channel->worker, &transfer->mail_started, VBD_CONTROL_TRANSFER_STARTED);
	if (channel->broken || channel->draining)
		vbd_channel_check_transfers(channel);
}

void vbd_channel_cancel_transfer(struct vbd_transfer *transfer)
{
	if (!vbd_counter_get(&transfer->ended_ns)) {
		transfer->stopping = true;
		vbd_channel_check_transfer(transfer);
	}
	vbd_worker_reply(
		transfer->channel->worker, &transfer->mail_cancel, VBD_CONTROL_CANCEL_SEEN);
}
