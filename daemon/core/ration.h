/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ration of events about what strangers can cause as often as they like: the first ones are told
 * in full; of the others there is one summary a period, with their number. After a period without
 * any the next ones are told in full again.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_RATION_H
#define VBD_DAEMON_CORE_RATION_H

#include "base/attr.h"
#include "base/error.h"

struct vbd_loop;
struct vbd_timer;

struct vbd_ration {
	struct vbd_timer *timer; /* runs from the first one that is told on */
	uint32_t full;		 /* number of those that are told in full */
	uint32_t told;
	uint64_t period_ms;
	uint64_t untold; /* since the last summary */
	/* Tell that there were @count more in the period that ends now. */
	void (*summary)(void *arg, uint64_t count);
	void *arg;
};

/**
 * vbd_ration_init - begin with a whole ration
 * @ration: `full`, `period_ms`, `summary` and `arg` are set, the rest is zero
 *
 * Returns VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_ration_init(
	struct vbd_ration *ration, struct vbd_loop *loop, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_ration_fini - free the timer; a summary that is due is told; a zeroed ration is fine */
void vbd_ration_fini(struct vbd_ration *ration);

/** vbd_ration_take - true if the caller shall tell in full what has happened; else it is counted */
bool vbd_ration_take(struct vbd_ration *ration);

#endif
