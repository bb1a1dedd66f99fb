/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop as its two files see it: loop.c has the handles, loop_work.c the thread pool.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_LOOP_PARTS_H
#define VBD_DAEMON_CORE_LOOP_PARTS_H

#include "base/clock.h"
#include "base/histogram.h"
#include "daemon/core/loop.h"

#include <uv.h>

struct vbd_work_lane {
	struct vbd_link shares; /* struct share; the owner whose turn was longest ago comes first */
	unsigned int running;
	unsigned int unwanted;
};

struct vbd_loop {
	uv_loop_t uv;
	uv_prepare_t before_sleep;
	uv_check_t end_of_turn;
	uv_idle_t no_sleep; /* active while callbacks are deferred */
	struct vbd_link deferred;
	struct vbd_link resolutions; /* of struct vbd_resolution, whose first member is its link */
	struct vbd_work_lane lanes[VBD_WORK_COUNT];
	struct vbd_deferred refill; /* starts jobs when others were abandoned in this turn; zeros
				     * until then */
	unsigned int pool_jobs;	    /* work and resolutions that the thread pool has not finished */
	uint64_t now_ns;	    /* 0: not read yet in this half of the turn */
	uint64_t woken_ns; /* when the first callback since the last sleep began; 0: none yet */
	struct vbd_histogram awake;
	bool ending;
};

/** vbd_loop_wake - the loop of a callback; if the callback is the first since the sleep, the turn
 * begins: libuv has no hook there */
static inline struct vbd_loop *vbd_loop_wake(uv_loop_t *uv)
{
	struct vbd_loop *loop = VBD_CONTAINER_OF(uv, struct vbd_loop, uv);

	if (!loop->now_ns)
		loop->now_ns = vbd_clock_mono_ns();
	if (!loop->woken_ns)
		loop->woken_ns = loop->now_ns;
	return loop;
}

/** vbd_loop_free_handle - for uv_close(): free a handle that begins its struct */
void vbd_loop_free_handle(uv_handle_t *handle);

#endif
