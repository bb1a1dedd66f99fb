/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Followers of events that wait for their turn, since a turn of the loop has taken long enough
 * already: a few of them get their part in each turn to come, first those that wait longest.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_API_RESOURCES_PUT_OFF_H
#define VBD_API_RESOURCES_PUT_OFF_H

#include "daemon/core/turns.h"

/* Each reads a block, and looks at so many events of the log that they take about 50 us. */
#define VBD_PUT_OFF_PER_TURN 8

struct vbd_put_off_queue {
	struct vbd_steps steps;
	struct vbd_turns *turns;
	struct vbd_link waiting; /* of struct vbd_put_off */
};

/* Embedded in a follower. */
struct vbd_put_off {
	struct vbd_link link;
	/* Go on, now or in the next turn, however long that one has taken. */
	void (*go_on)(struct vbd_put_off *self);
};

/** vbd_put_off_init - a queue in which nobody waits */
void vbd_put_off_init(struct vbd_put_off_queue *queue, struct vbd_turns *turns);

/** vbd_put_off_add - let a follower wait, which does not wait yet; `go_on` is set, the link on no
 * list */
void vbd_put_off_add(struct vbd_put_off_queue *queue, struct vbd_put_off *follower);

/** vbd_put_off_fini - nobody waits any more; call this before the turns end */
void vbd_put_off_fini(struct vbd_put_off_queue *queue);

#endif
