/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the channel. Each calls those behind it only: channel.c (its life),
 * channel_transfers.c (the transfers' queue), channel_receives.c (the receives), channel_send.c
 * (the send queue), channel_withheld.c (faults of clients), channel_outcome.c (counters, the end of
 * transfers, errors).
 *
 * The channel's worker.
 */
#ifndef VBD_RDMA_DATA_CHANNEL_PARTS_H
#define VBD_RDMA_DATA_CHANNEL_PARTS_H

#include "rdma/data/channel.h"

#include <infiniband/verbs.h>

/*
 * Send work requests that go to the device together, by one call and so by one doorbell: on
 * hardware a write to a register of the device, with Soft-RoCE a system call. Each worker has one
 * chain. It holds requests of one channel, and none when the worker turns to another channel.
 *
 * The worker.
 */

/* The first request of a chain waits until the last one is written. */
#define VBD_CHAIN_WRS 32

struct vbd_send_chain {
	uint32_t count;
	uint32_t sge_count;
	/* Written field by field: to fill them with zeros takes longer than the rest of a post. */
	struct ibv_send_wr wrs[VBD_CHAIN_WRS];
	struct ibv_sge sges[VBD_CHAIN_WRS + VBD_SGES_MAX];
	struct vbd_error error; /* of posts; zeros, except while a failure is handled */
};

/** vbd_channel_own_receives - the number of its receives; 0 with an SRQ */
static inline uint32_t vbd_channel_own_receives(const struct vbd_channel_limits *limits)
{
	return limits->srq ? 0 : limits->rq_depth;
}

/** vbd_channel_need_recv_slots - allocate its recv_slots unless they are there; not with an SRQ */
enum vbd_status vbd_channel_need_recv_slots(
	struct vbd_channel *channel, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_channel_count_posted - a work request was posted. Before the channel is attached control
 * posts receives; the worker's totals get those by vbd_channel_count_first_receives(). */
void vbd_channel_count_posted(struct vbd_channel *channel, enum vbd_op op, bool signalled);

/** vbd_channel_count_first_receives - the worker's totals get the receives that control posted */
void vbd_channel_count_first_receives(struct vbd_channel *channel);

/** vbd_channel_count_completed - a work request ended without an error */
void vbd_channel_count_completed(
	struct vbd_channel *channel, enum vbd_op op, uint64_t length_bytes);

/** vbd_channel_count_failed - a work request completed in error */
void vbd_channel_count_failed(struct vbd_channel *channel, enum vbd_op op);

/** vbd_channel_count_flushed - @n work requests were given back, since the queue pair ended */
void vbd_channel_count_flushed(struct vbd_channel *channel, enum vbd_op op, uint64_t n);

/**
 * vbd_channel_fill_sges - the list in the format of the device
 * @list: room for VBD_SGES_MAX
 *
 * Leaves empty ranges out: for some devices a length of 0 is 2 GiB. Returns the number of entries.
 */
int vbd_channel_fill_sges(struct ibv_sge *list, const struct vbd_sge *sges, uint32_t count,
	uint32_t *ret_length_bytes);

/** vbd_channel_post_sges - post a receive in slot @index into these ranges */
enum vbd_status vbd_channel_post_sges(struct vbd_channel *channel, uint32_t index,
	const struct vbd_sge *sges, uint32_t count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_channel_recv_bytes - room for a message, with the header that the device writes in front of
 * it */
size_t vbd_channel_recv_bytes(const struct vbd_channel_limits *limits);

/** vbd_channel_leave_srq - its QP is gone: the SRQ finds it no more, and gets the receives that its
 * service still has */
void vbd_channel_leave_srq(struct vbd_channel *channel);

/** vbd_channel_take_message - fill @slot with what @wc says of its message, and count it */
void vbd_channel_take_message(
	struct vbd_channel *channel, struct vbd_recv_slot *slot, const struct ibv_wc *wc);

/** vbd_channel_pass_message - the service has @slot now */
void vbd_channel_pass_message(struct vbd_channel *channel, struct vbd_recv_slot *slot);

/** vbd_channel_take_receiver - the transfer that @slot was posted for, or NULL; frees the slot */
struct vbd_transfer *vbd_channel_take_receiver(
	struct vbd_channel *channel, struct vbd_recv_slot *slot);

/** vbd_channel_recv_completed - the channel's own receive in slot @index has completed */
void vbd_channel_recv_completed(
	struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc);

/** vbd_channel_fail_wr - a work request of @transfer never completes: it must not count as done */
void vbd_channel_fail_wr(struct vbd_transfer *transfer);

/** vbd_channel_fail - a work request completed in error: count it, fail its transfer (may be NULL),
 * break the channel */
void vbd_channel_fail(struct vbd_channel *channel, enum vbd_op op, const struct ibv_wc *wc,
	struct vbd_transfer *transfer);

/** vbd_channel_send_completed - the send in slot @index has completed: retire it and all sends
 * posted before it. A slot that is not outstanding is ignored. */
void vbd_channel_send_completed(
	struct vbd_channel *channel, uint32_t index, const struct ibv_wc *wc);

/** vbd_channel_spin - a work request of @channel was posted or completed: with `poll` ADAPTIVE its
 * CQ is polled without a pause for `spin_ns` from now on */
void vbd_channel_spin(struct vbd_channel *channel);

/** vbd_channel_ring - hand the requests of the worker's chain, which are of @channel, to the
 * device. False if not all of them are posted: then the channel is broken, and the others are
 * forgotten. */
bool vbd_channel_ring(struct vbd_channel *channel);

/** vbd_channel_abandon_sends - outstanding sends never complete: retire them */
void vbd_channel_abandon_sends(struct vbd_channel *channel);

/** vbd_channel_pump - post as much of the service's and the transfers' work as possible */
void vbd_channel_pump(struct vbd_channel *channel);

/** vbd_withheld_receive - whether a fault keeps receive @index from being posted again */
bool vbd_withheld_receive(struct vbd_channel *channel, uint32_t index);

/** vbd_withheld_leave - the channel is drained: forget its receives */
void vbd_withheld_leave(struct vbd_channel *channel);

/** vbd_channel_check_transfer - end @transfer if none of its wrs is outstanding and no more will be
 * posted */
void vbd_channel_check_transfer(struct vbd_transfer *transfer);

/** vbd_channel_check_transfers - the same for all transfers of @channel */
void vbd_channel_check_transfers(struct vbd_channel *channel);

#endif
