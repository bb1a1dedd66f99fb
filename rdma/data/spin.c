/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/spin.h"

#include "base/clock.h"
#include "rdma/data/channel.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"

/* Turns between two readings of the clock, and two system calls for events of other CQs: a turn
 * takes less than 1 us. */
#define TURNS_PER_LOOK 64

void vbd_spin_poll_on(struct vbd_worker *worker, struct vbd_cq *cq)
{
	vbd_list_remove(&cq->active_link);
	vbd_list_append(&worker->active_cqs, &cq->active_link);
}

void vbd_spin_joined(struct vbd_channel *channel)
{
	if (channel->limits.poll != VBD_POLL_BUSY)
		return;
	channel->cq->busy_channels++;
	vbd_counter_add(&channel->worker->busy_channels, 1);
	vbd_spin_poll_on(channel->worker, channel->cq);
}

void vbd_spin_left(struct vbd_channel *channel)
{
	if (channel->limits.poll != VBD_POLL_BUSY || !channel->known)
		return;
	channel->cq->busy_channels--;
	vbd_counter_set(&channel->worker->busy_channels,
		vbd_counter_get(&channel->worker->busy_channels) - 1);
}

void vbd_spin_used(struct vbd_channel *channel)
{
	uint64_t until_ns;

	if (channel->limits.poll != VBD_POLL_ADAPTIVE)
		return;
	until_ns = vbd_worker_now_ns(channel->worker) + channel->limits.spin_ns;
	if (until_ns > channel->cq->spin_until_ns)
		channel->cq->spin_until_ns = until_ns;
	vbd_spin_poll_on(channel->worker, channel->cq);
}

bool vbd_spin_wanted(struct vbd_cq *cq)
{
	if (cq->busy_channels > 0)
		return true;
	if (cq->spin_until_ns && vbd_clock_mono_ns() >= cq->spin_until_ns)
		cq->spin_until_ns = 0;
	return cq->spin_until_ns > 0;
}

static void count_spun(struct vbd_worker *worker, uint64_t now_ns)
{
	if (now_ns > worker->spun_at_ns)
		vbd_counter_add(&worker->spun_ns, now_ns - worker->spun_at_ns);
	worker->spun_at_ns = now_ns;
}

bool vbd_spin_turn(struct vbd_worker *worker)
{
	bool looks = ++worker->spin_turns % TURNS_PER_LOOK == 0;

	if (!worker->spun_at_ns)
		worker->spun_at_ns = vbd_clock_mono_ns();
	else if (looks)
		count_spun(worker, vbd_clock_mono_ns());
	return looks && worker->armed_cqs > 0;
}

void vbd_spin_worked(struct vbd_worker *worker)
{
	if (worker->spun_at_ns)
		count_spun(worker, vbd_worker_now_ns(worker));
	worker->spun_at_ns = 0;
}
