/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/put_off.h"

static bool take_step(struct vbd_steps *steps)
{
	struct vbd_put_off_queue *queue = VBD_CONTAINER_OF(steps, struct vbd_put_off_queue, steps);

	for (int i = 0; i < VBD_PUT_OFF_PER_TURN && !vbd_list_empty(&queue->waiting); i++) {
		struct vbd_put_off *follower =
			VBD_LIST_FIRST(&queue->waiting, struct vbd_put_off, link);

		vbd_list_remove(&follower->link);
		follower->go_on(follower);
	}
	return vbd_list_empty(&queue->waiting);
}

void vbd_put_off_init(struct vbd_put_off_queue *queue, struct vbd_turns *turns)
{
	vbd_list_init(&queue->steps.link);
	vbd_list_init(&queue->waiting);
	queue->steps.step = take_step;
	queue->turns = turns;
}

void vbd_put_off_add(struct vbd_put_off_queue *queue, struct vbd_put_off *follower)
{
	/* The followers that it waits for may have left. */
	if (vbd_list_empty(&queue->steps.link))
		vbd_turns_add(queue->turns, &queue->steps);
	vbd_list_append(&queue->waiting, &follower->link);
}

void vbd_put_off_fini(struct vbd_put_off_queue *queue)
{
	vbd_turns_drop(&queue->steps);
}
