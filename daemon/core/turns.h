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
	/* A turn that has taken so long begins no step but its first; 0: one step in each turn. */
	uint64_t budget_ns;
};

/** vbd_turns_init - begin without waiting steps; VBD_E_NO_MEMORY */
enum vbd_status vbd_turns_init(
	struct vbd_turns *turns, struct vbd_loop *loop, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_turns_fini - free the timer; no work waits any more. A zeroed struct is fine. */
void vbd_turns_fini(struct vbd_turns *turns);

/** vbd_turns_go_on - whether this turn has time left for more of something; something that waits
 * for the next turn does a part of it in any case */
bool vbd_turns_go_on(const struct vbd_turns *turns);

/** vbd_turns_add - take the first step in a turn to come, in turn with the works that wait; `step`
 * is set, and the link initialized. Does nothing to a work that waits. */
void vbd_turns_add(struct vbd_turns *turns, struct vbd_steps *steps);

/** vbd_turns_drop - take no more steps; the link is initialized. Not from inside of the own step,
 * which returns true instead. */
void vbd_turns_drop(struct vbd_steps *steps);

/*
 * A limit on events about what strangers can cause as often as they like. The first ones get an
 * event each; the others are counted, and one event a period has their number. After a period
 * without any of them, the next ones get an event each again.
 *
 * Control thread.
 */

struct vbd_ration {
	struct vbd_timer *timer; /* runs from the first event on */
	uint32_t full;		 /* the number of those that get an event each */
	uint32_t told;
	uint64_t period_ms;
	uint64_t untold; /* number of those without an event, since the last summary */
	/* Append an event: there were @count more in the period that ends now. */
	void (*summary)(void *arg, uint64_t count);
	void *arg;
};

/**
 * vbd_ration_init - begin a period in which nothing has happened
 * @ration: `full`, `period_ms`, `summary` and `arg` are set, the rest is zero
 *
 * Returns VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_ration_init(
	struct vbd_ration *ration, struct vbd_loop *loop, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_ration_fini - free the timer, and call `summary` if it is due; a zeroed ration is fine */
void vbd_ration_fini(struct vbd_ration *ration);

/** vbd_ration_take - count what has happened; true if the caller shall append an event about it */
bool vbd_ration_take(struct vbd_ration *ration);

#endif
