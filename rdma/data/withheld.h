/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of clients (rdma/provider/faults.h) withhold receives of a channel, which are not posted
 * again, and completions, which are delivered later or never.
 *
 * The worker, except where a function says otherwise. Never blocks for long.
 */
#ifndef VBD_RDMA_DATA_WITHHELD_H
#define VBD_RDMA_DATA_WITHHELD_H

#include "rdma/data/channel.h"
#include "rdma/provider/faults.h"

/* A channel has one from the first fault that hit it on. */
struct vbd_withheld {
	struct vbd_channel *channel;
	struct vbd_link link;	/* in the worker's `withholding` while it has receives */
	uint32_t delayed_count; /* completions in the worker's `delayed` */
	uint32_t held_count;
	uint32_t held[]; /* room for all its receives */
};

/** vbd_withheld_receive - whether a fault keeps receive @index from being posted again */
bool vbd_withheld_receive(struct vbd_channel *channel, uint32_t index);

/** vbd_withheld_completion - whether a fault keeps the completion for later, or for good. One that
 * comes after a delayed one of the channel waits too, as a device keeps the order. */
bool vbd_withheld_completion(struct vbd_channel *channel, const struct ibv_wc *wc);

/** vbd_withheld_next - take the next delayed completion whose time has come; false: none */
bool vbd_withheld_next(struct vbd_worker *worker, struct ibv_wc *ret_wc);

/** vbd_withheld_delivered - a delayed completion of the channel is about to be delivered */
void vbd_withheld_delivered(struct vbd_channel *channel);

/** vbd_withheld_due_ns - when the next delayed completion is to be delivered; UINT64_MAX: none */
uint64_t vbd_withheld_due_ns(const struct vbd_worker *worker);

/** vbd_withheld_release - a fault is over: call @post for the held receives, and deliver the
 * delayed completions in this turn. Another fault may hold the receives again. */
void vbd_withheld_release(
	struct vbd_worker *worker, void (*post)(struct vbd_channel *channel, uint32_t index));

/** vbd_withheld_leave - the channel is drained: forget its receives */
void vbd_withheld_leave(struct vbd_channel *channel);

/** vbd_withheld_fini - free what a worker that has stopped still has; control */
void vbd_withheld_fini(struct vbd_worker *worker);

#endif
