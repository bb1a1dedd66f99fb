/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of a channel. Of many connections most are idle: they own no slots.
 */
#include "rdma/data/channel_parts.h"

#include <stdlib.h>

uint32_t vbd_channel_own_receives(const struct vbd_channel_limits *limits)
{
	return limits->srq ? 0 : limits->rq_depth;
}

static enum vbd_status no_memory(struct vbd_error *err)
{
	return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the queues");
}

enum vbd_status vbd_channel_need_recv_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	uint32_t count = vbd_channel_own_receives(&channel->limits);
	struct vbd_recv_slot *slots;

	if (channel->recv_slots)
		return VBD_OK;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return no_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		slots[i].channel = channel;
		slots[i].index = i;
	}
	channel->recv_slots = slots;
	return VBD_OK;
}

enum vbd_status vbd_channel_need_send_slots(struct vbd_channel *channel, struct vbd_error *err)
{
	if (!channel->send_slots)
		channel->send_slots =
			calloc(channel->limits.sq_depth, sizeof(*channel->send_slots));
	return channel->send_slots ? VBD_OK : no_memory(err);
}

enum vbd_status vbd_channel_make_echo_ring(struct vbd_channel *channel, struct vbd_error *err)
{
	if (channel->limits.service != VBD_SERVICE_ECHO)
		return VBD_OK;
	channel->echo_ring = calloc(channel->limits.rq_depth, sizeof(*channel->echo_ring));
	return channel->echo_ring ? VBD_OK : no_memory(err);
}

void vbd_channel_free_slots(struct vbd_channel *channel)
{
	free(channel->recv_slots);
	free(channel->send_slots);
	free(channel->echo_ring);
}
