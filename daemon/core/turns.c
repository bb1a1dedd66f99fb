/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/turns.h"

#include "base/clock.h"
#include "daemon/core/loop.h"

/* Half of what a turn may take: the other half is for the step that begins last, and for what the
 * turn does besides. */
#define BUDGET_NS VBD_NS_PER_MS

bool vbd_turns_go_on(const struct vbd_turns *turns)
{
	return vbd_loop_awake_ns(turns->loop) < turns->budget_ns;
}

static void take_next_step(struct vbd_turns *turns)
{
	struct vbd_steps *steps = VBD_LIST_FIRST(&turns->waiting, struct vbd_steps, link);

	if (!steps)
		return;
	vbd_list_remove(&steps->link);
	if (!steps->step(steps))
		vbd_turns_add(turns, steps);
}

/* Steps that are added meanwhile wait for the next turn. */
static void on_turn_timer(void *arg)
{
	struct vbd_turns *turns = arg;
	size_t waiting = 0;

	vbd_list_for_each (link, &turns->waiting)
		waiting++;
	for (size_t taken = 0; taken < waiting && (!taken || vbd_turns_go_on(turns)); taken++)
		take_next_step(turns);
	if (!vbd_list_empty(&turns->waiting))
		vbd_timer_set(turns->timer, 0);
}

enum vbd_status vbd_turns_init(
	struct vbd_turns *turns, struct vbd_loop *loop, struct vbd_error *err)
{
	turns->loop = loop;
	turns->budget_ns = BUDGET_NS;
	vbd_list_init(&turns->waiting);
	return vbd_timer_create(loop, on_turn_timer, turns, &turns->timer, err);
}

void vbd_turns_fini(struct vbd_turns *turns)
{
	vbd_timer_destroy(turns->timer);
	turns->timer = NULL;
}

void vbd_turns_add(struct vbd_turns *turns, struct vbd_steps *steps)
{
	if (!vbd_list_empty(&steps->link))
		return;
	vbd_list_append(&turns->waiting, &steps->link);
	vbd_timer_set(turns->timer, 0);
}

void vbd_turns_drop(struct vbd_steps *steps)
{
	vbd_list_remove(&steps->link);
}

static void tell_summary(struct vbd_ration *ration)
{
	uint64_t count = ration->untold;

	ration->untold = 0;
	if (count)
		ration->summary(ration->arg, count);
}

static void on_period_timer(void *arg)
{
	struct vbd_ration *ration = arg;

	if (!ration->untold) {
		ration->told = 0;
		return;
	}
	vbd_timer_set(ration->timer, ration->period_ms);
	tell_summary(ration);
}

enum vbd_status vbd_ration_init(
	struct vbd_ration *ration, struct vbd_loop *loop, struct vbd_error *err)
{
	return vbd_timer_create(loop, on_period_timer, ration, &ration->timer, err);
}

void vbd_ration_fini(struct vbd_ration *ration)
{
	tell_summary(ration);
	vbd_timer_destroy(ration->timer);
	ration->timer = NULL;
}

bool vbd_ration_take(struct vbd_ration *ration)
{
	if (ration->told == ration->full) {
		ration->untold++;
		return false;
	}
	if (!ration->told++)
		vbd_timer_set(ration->timer, ration->period_ms);
	return true;
}
