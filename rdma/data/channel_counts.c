/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of operations: those of the channel, and the totals of its worker, so that a reader
 * of the totals need not walk the channels.
 */
#include "rdma/data/channel_parts.h"
#include "rdma/data/worker.h"

static void posted(struct vbd_op_counters *counters, bool signalled)
{
	vbd_counter_add(&counters->posted, 1);
	if (signalled)
		vbd_counter_add(&counters->signalled, 1);
}

static void completed(struct vbd_op_counters *counters, uint64_t length_bytes)
{
	vbd_counter_add(&counters->completed, 1);
	vbd_counter_add(&counters->bytes, length_bytes);
}

void vbd_channel_count_posted(struct vbd_channel *channel, enum vbd_op op, bool signalled)
{
	posted(&channel->ops[op], signalled);
	if (channel->known)
		posted(&channel->worker->op_totals[op], signalled);
}

void vbd_channel_count_first_receives(struct vbd_channel *channel)
{
	struct vbd_op_counters *totals = &channel->worker->op_totals[VBD_OP_RECV];

	vbd_counter_add(&totals->posted, channel->rq_outstanding);
	vbd_counter_add(&totals->signalled, channel->rq_outstanding);
}

void vbd_channel_count_completed(struct vbd_channel *channel, enum vbd_op op, uint64_t length_bytes)
{
	completed(&channel->ops[op], length_bytes);
	completed(&channel->worker->op_totals[op], length_bytes);
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
