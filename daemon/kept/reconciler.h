/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reconciler: makes it so that each kept object is there. It follows the table of
 * daemon/kept/kept_fsm.h, tries a few objects in a turn, and pauses between such turns, so that
 * a thousand kept connections whose peer went do not come at once.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_RECONCILER_H
#define VBD_DAEMON_KEPT_RECONCILER_H

#include "daemon/core/turns.h"
#include "daemon/kept/held.h"
#include "daemon/kept/kept.h"
#include "daemon/kept/kept_made.h"

/* The rows of kept objects in state_dir, by which the next run knows of them. A damaged database
 * takes them along when it is set aside: those of all kept objects are put into the new one. */
struct vbd_kept_rows {
	struct vbd_daemon *daemon;
	struct vbd_watch watch; /* of the keeper */
	struct vbd_steps steps; /* waits for its turn while rows are put */
	uint64_t renewals; /* `renewals` of the store whose rows were put again, or are being */
	uint64_t at_id;	   /* kept objects up to this id have put their row */
	bool unfinished;
};

struct vbd_reconciler {
	struct vbd_daemon *daemon;
	const struct vbd_kept_ops *ops; /* NULL: nothing is tried yet */
	struct vbd_link due;		/* struct vbd_kept, the first is the next */
	struct vbd_timer *pace;		/* timer of the next tries, while something is due */
	bool paced;			/* `pace` is set */
	struct vbd_kept_rows rows;
	struct vbd_holder holder;
	uint64_t random;
	uint64_t tries, failures;
	uint32_t in_state[VBD_KEPT_STATE_COUNT];
};

/** vbd_reconciler_create - without anything to keep; sets the daemon's `reconciler` */
enum vbd_status vbd_reconciler_create(
	struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_reconciler_begin - begin to try; @ops: static */
void vbd_reconciler_begin(struct vbd_reconciler *reconciler, const struct vbd_kept_ops *ops);

/** vbd_reconciler_destroy - when no kept object is left; NULL is fine */
void vbd_reconciler_destroy(struct vbd_reconciler *reconciler);

/** vbd_kept_put_row - let the next run keep the object, if a request asked for it, and there is a
 * state_dir */
void vbd_kept_put_row(struct vbd_kept *kept);

/** vbd_reconciler_step - handle @event of a kept object, which may be freed in this turn */
void vbd_reconciler_step(struct vbd_kept *kept, enum vbd_kept_event event);

/** vbd_reconciler_enter - add a new kept object, which is not tried yet */
void vbd_reconciler_enter(struct vbd_kept *kept);

/** vbd_reconciler_soon - try a kept object that waits, in its turn */
void vbd_reconciler_soon(struct vbd_kept *kept);

/** vbd_reconciler_saw - look at the newest object, and do what follows */
void vbd_reconciler_saw(struct vbd_kept *kept);

/** vbd_reconciler_watch - @object is the newest one of @kept */
void vbd_reconciler_watch(struct vbd_kept *kept, struct vbd_object *object);

/** vbd_reconciler_resume - the daemon has drained, and serves again: try what is due, after a
 * random pause of up to VBD_RESUME_MS, so that not all daemons of a network begin at once */
void vbd_reconciler_resume(struct vbd_reconciler *reconciler);
#define VBD_RESUME_MS 500

/** vbd_reconciler_tries - whether tries are made: not before vbd_reconciler_begin(), and not while
 * the daemon drains or stops */
bool vbd_reconciler_tries(const struct vbd_reconciler *reconciler);

/** vbd_reconciler_will_make - whether the object is not there, and is tried, or will be */
bool vbd_reconciler_will_make(const struct vbd_kept *kept);

/** vbd_reconciler_device_added - try what waits, which may be for the device */
void vbd_reconciler_device_added(struct vbd_daemon *daemon);

/** vbd_reconciler_pause_ms - the pause before the next try after @failures: see struct
 * vbd_kept_policy; @random: any number */
uint64_t vbd_reconciler_pause_ms(
	const struct vbd_kept_policy *policy, uint32_t failures, uint64_t random);

#endif
