/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polling without sleep. A completion that raises an event costs a wake-up of the worker's thread,
 * which takes longer than a small message. A channel with `poll` BUSY keeps its CQ polled, and its
 * worker awake, for as long as it is attached; one with ADAPTIVE does so for `spin_ns` after each
 * of its work requests was posted or completed.
 *
 * The channel's worker.
 */
#ifndef VBD_RDMA_DATA_SPIN_H
#define VBD_RDMA_DATA_SPIN_H

#include <stdbool.h>

struct vbd_channel;
struct vbd_cq;
struct vbd_worker;

/** vbd_spin_poll_on - poll @cq in each turn of @worker from now on, until it is empty and armed:
 * then an event wakes the worker through epoll */
void vbd_spin_poll_on(struct vbd_worker *worker, struct vbd_cq *cq);

/** vbd_spin_joined - @channel was attached */
void vbd_spin_joined(struct vbd_channel *channel);

/** vbd_spin_left - @channel is drained: nothing of it will complete. Once for each join. */
void vbd_spin_left(struct vbd_channel *channel);

/** vbd_spin_used - a work request of @channel was posted or completed */
void vbd_spin_used(struct vbd_channel *channel);

/** vbd_spin_wanted - is @cq to be polled on though it is empty, instead of being armed? */
bool vbd_spin_wanted(struct vbd_cq *cq);

/** vbd_spin_turn - the worker's turn has found nothing to do, and a CQ is polled on. The time from
 * here to the next turn that finds something counts in worker->spun_ns. Returns whether to look
 * for events of other CQs, too, which costs a system call. */
bool vbd_spin_turn(struct vbd_worker *worker);

/** vbd_spin_worked - the turn has found something to do, and done it: the time from the beginning
 * of the work to the next vbd_spin_turn() is no waste. Counted here and not before the work, so
 * that no peer waits for a reading of the clock. */
void vbd_spin_worked(struct vbd_worker *worker);

#endif
