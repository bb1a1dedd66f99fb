/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/ration.h"

#include "daemon/core/loop.h"

static void summarize(struct vbd_ration *ration)
{
	uint64_t count = ration->untold;

	ration->untold = 0;
	if (count)
		ration->summary(ration->arg, count);
}

static void on_period(void *arg)
{
	struct vbd_ration *ration = arg;

	if (!ration->untold) {
		ration->told = 0;
		return;
	}
	vbd_timer_set(ration->timer, ration->period_ms);
	summarize(ration);
}

enum vbd_status vbd_ration_init(
	struct vbd_ration *ration, struct vbd_loop *loop, struct vbd_error *err)
{
	return vbd_timer_create(loop, on_period, ration, &ration->timer, err);
}

void vbd_ration_fini(struct vbd_ration *ration)
{
	summarize(ration);
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
