/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/channel_parts.h"
#include "rdma/data/worker.h"
#include "rdma/provider/faults.h"

/* Receives and completions of a channel that faults keep back; allocated at the first fault. */
struct vbd_withheld {
	struct vbd_channel *channel;
	struct vbd_link link;	/* in the worker's `withholding` while it has receives */
	uint32_t delayed_count; /* completions in the worker's `delayed` */
	uint32_t held_count;
	uint32_t held[]; /* room for all its receives */
};

struct delayed {
	struct vbd_link link;
	uint64_t due_ns;
	struct ibv_wc wc;
};

/* NULL without memory: then the fault has no effect. */
static struct vbd_withheld *need_withheld(struct vbd_channel *channel)
{
	size_t receives = vbd_channel_own_receives(&channel->limits);

	if (channel->withheld)
		return channel->withheld;
	channel->withheld = calloc(
		1, sizeof(*channel->withheld) + receives * sizeof(channel->withheld->held[0]));
	if (!channel->withheld)
		return NULL;
	channel->withheld->channel = channel;
	vbd_list_init(&channel->withheld->link);
	return channel->withheld;
}

bool vbd_withheld_receive(struct vbd_channel *channel, uint32_t index)
{
	struct vbd_withheld *withheld;

	if (!channel->fault_subject ||
		!vbd_fault_take(VBD_FAULT_HOLD_RECEIVES, 0, channel->fault_subject, NULL))
		return false;
	withheld = need_withheld(channel);
	if (!withheld)
		return false;
	withheld->held[withheld->held_count++] = index;
	if (vbd_list_empty(&withheld->link))
		vbd_list_append(&channel->worker->withholding, &withheld->link);
	return true;
}

static bool delay_wc(struct vbd_channel *channel, const struct ibv_wc *wc, uint64_t delay_ns)
{
	struct vbd_worker *worker = channel->worker;
	struct vbd_withheld *withheld = need_withheld(channel);
	struct delayed *delayed = withheld ? malloc(sizeof(*delayed)) : NULL;
	const struct delayed *last;

	if (!delayed)
		return false;
	delayed->wc = *wc;
	delayed->due_ns = vbd_worker_now_ns(worker) + delay_ns;
	if (!vbd_list_empty(&worker->delayed)) {
		last = VBD_CONTAINER_OF(worker->delayed.prev, struct delayed, link);
		if (delayed->due_ns < last->due_ns)
			delayed->due_ns = last->due_ns;
	}
	vbd_list_append(&worker->delayed, &delayed->link);
	withheld->delayed_count++;
	return true;
}

bool vbd_withheld_completion(struct vbd_channel *channel, const struct ibv_wc *wc)
{
	bool waits = channel->withheld && channel->withheld->delayed_count;
	/* The end of a connection is no part of what is tested. */
	bool meant = channel->fault_subject && !channel->draining && !channel->broken &&
		     wc->status == IBV_WC_SUCCESS;
	struct vbd_fault_rule rule;

	if (meant && vbd_fault_take(VBD_FAULT_DROP_COMPLETIONS, 0, channel->fault_subject, NULL))
		return true;
	if (meant && vbd_fault_take(VBD_FAULT_DELAY_COMPLETIONS, 0, channel->fault_subject, &rule))
		return delay_wc(channel, wc, rule.delay_ns);
	return waits && delay_wc(channel, wc, 0);
}

bool vbd_withheld_next(struct vbd_worker *worker, struct ibv_wc *ret_wc)
{
	struct delayed *first = VBD_LIST_FIRST(&worker->delayed, struct delayed, link);

	if (!first || first->due_ns > vbd_worker_now_ns(worker))
		return false;
	vbd_list_remove(&first->link);
	*ret_wc = first->wc;
	free(first);
	return true;
}

void vbd_withheld_delivered(struct vbd_channel *channel)
{
	channel->withheld->delayed_count--;
}

uint64_t vbd_withheld_due_ns(const struct vbd_worker *worker)
{
	const struct delayed *first = VBD_LIST_FIRST(&worker->delayed, struct delayed, link);

	return first ? first->due_ns : UINT64_MAX;
}

static void post_held_receives(
	struct vbd_withheld *withheld, void (*post)(struct vbd_channel *channel, uint32_t index))
{
	uint32_t count = withheld->held_count;

	withheld->held_count = 0;
	vbd_list_remove(&withheld->link);
	/* Another fault may hold them again, at places that are read already. */
	for (uint32_t i = 0; i < count; i++)
		post(withheld->channel, withheld->held[i]);
}

void vbd_withheld_release(
	struct vbd_worker *worker, void (*post)(struct vbd_channel *channel, uint32_t index))
{
	struct vbd_link now;

	vbd_list_for_each_of (struct delayed, delayed, link, &worker->delayed)
		delayed->due_ns = 0;
	vbd_list_take_all(&now, &worker->withholding);
	while (!vbd_list_empty(&now))
		post_held_receives(VBD_LIST_FIRST(&now, struct vbd_withheld, link), post);
}

void vbd_withheld_leave(struct vbd_channel *channel)
{
	if (!channel->withheld)
		return;
	vbd_list_remove(&channel->withheld->link);
	channel->withheld->held_count = 0;
	channel->withheld->delayed_count = 0;
}

void vbd_withheld_fini(struct vbd_worker *worker)
{
	while (!vbd_list_empty(&worker->delayed)) {
		struct delayed *delayed = VBD_LIST_FIRST(&worker->delayed, struct delayed, link);

		vbd_list_remove(&delayed->link);
		free(delayed);
	}
}
