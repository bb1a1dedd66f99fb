/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is done in steps over several turns of the loop, so that events are handled in between,
 * however much there is to do. In each turn each work that waits takes a step, one after the other,
 * until the turn has taken long enough; those that are left out are the first in the next turn.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_TURNS_H
#define VBD_DAEMON_CORE_TURNS_H

#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"

struct vbd_loop;
struct vbd_timer;

/* Embedded in the struct of what is being done. */
struct vbd_steps {
	struct vbd_link link;
	/* Do a part that takes less than a millisecond. Returns true after the last one; the struct
	 * may be freed then. */
	bool (*step)(struct vbd_steps *self);
};

struct vbd_turns {
	struct vbd_loop *loop;
	struct vbd_timer *timer;
	struct vbd_link waiting; /* of struct vbd_steps */
	/* Only the first step begins in a turn that has taken so long; 0: a step in each turn. */
	uint64_t budget_ns;
};

/** vbd_turns_init - without any work; VBD_E_NO_MEMORY */
enum vbd_status vbd_turns_init(
	struct vbd_turns *turns, struct vbd_loop *loop, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_turns_fini - free the timer; no work waits any more. A zeroed struct is fine. */
void vbd_turns_fini(struct vbd_turns *turns);

/** vbd_turns_go_on - whether this turn has time left for more of something; something that waits
 * for the next turn does a part of it in any case */
bool vbd_turns_go_on(const struct vbd_turns *turns);

/** vbd_turns_add - take the first step in a turn to come, in turn with the works that wait; `step`
 * is set, and the link on no list */
void vbd_turns_add(struct vbd_turns *turns, struct vbd_steps *steps);

/** vbd_turns_drop - take no more steps; the link is initialized. Not from inside of the own step,
 * which returns true instead. */
void vbd_turns_drop(struct vbd_steps *steps);

/*
 * A ration of events about what strangers can cause as often as they like: the first ones are told
 * in full; of the others there is one summary a period, with their number. After a period without
 * any the next ones are told in full again.
 *
 * Control thread.
 */

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
