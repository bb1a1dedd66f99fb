/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a kept object as one pure table: (state, what was seen) -> (next state, action, why).
 * Every pair is decided. This file calls nothing: daemon/kept/reconciler.c looks up the rule, sets
 * the state and performs the action.
 *
 * Any thread.
 */
#ifndef VBD_DAEMON_KEPT_KEPT_FSM_H
#define VBD_DAEMON_KEPT_KEPT_FSM_H

#include "base/enum.h"

/* X(SYMBOL, json name, ended) */
#define VBD_KEPT_STATE_MAP(X)                                                           \
	X(VBD_KEPT_WAITING, "waiting", false)	  /* for the next try */                \
	X(VBD_KEPT_TRYING, "trying", false)	  /* the object is being made */        \
	X(VBD_KEPT_UP, "up", false)		  /* the object is there, and usable */ \
	X(VBD_KEPT_LOST, "lost", false)		  /* and back with its device */        \
	X(VBD_KEPT_STOPPED, "stopped", false)	  /* ended, and nothing tries */        \
	X(VBD_KEPT_REPLACING, "replacing", false) /* ending, since its spec changed */  \
	X(VBD_KEPT_REMOVING, "removing", false)	  /* ending, since its spec went */

enum vbd_kept_state { VBD_KEPT_STATE_MAP(VBD_ENUM_ROW) VBD_KEPT_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_KEPT_EVENT_MAP(X)                                                             \
	X(VBD_KEPT_EV_DUE, "due")	  /* the time of the next try has come */         \
	X(VBD_KEPT_EV_REFUSED, "refused") /* no object could be made */                   \
	X(VBD_KEPT_EV_MADE, "made")	  /* the object is there, and not usable yet */   \
	X(VBD_KEPT_EV_READY, "ready")	  /* the object is usable */                      \
	X(VBD_KEPT_EV_LOST, "lost")	  /* its device went; it will return by itself */ \
	X(VBD_KEPT_EV_ENDED, "ended")	  /* the policy wants another */                  \
	X(VBD_KEPT_EV_RESTED, "rested")	  /* the policy wants no other */                 \
	X(VBD_KEPT_EV_GONE, "gone")	  /* there is no object any more */               \
	X(VBD_KEPT_EV_BUSY, "busy")	  /* something uses it, so it can't end */        \
	X(VBD_KEPT_EV_DEVICE, "device")	  /* a device was added */                        \
	X(VBD_KEPT_EV_CHANGED, "changed") /* the spec is another one now */               \
	X(VBD_KEPT_EV_REMOVED, "removed") /* the spec is no longer there */

enum vbd_kept_event { VBD_KEPT_EVENT_MAP(VBD_ENUM_ROW) VBD_KEPT_EVENT_COUNT };

/* X(SYMBOL, name) */
#define VBD_KEPT_ACTION_MAP(X)                                                           \
	X(VBD_KEPT_DO_NOTHING, "nothing")                                                \
	X(VBD_KEPT_DO_TRY, "try")	/* make the object */                            \
	X(VBD_KEPT_DO_LATER, "later")	/* have the next turn after a growing pause */   \
	X(VBD_KEPT_DO_SOON, "soon")	/* have the next turn as soon as there is one */ \
	X(VBD_KEPT_DO_CLOSE, "close")	/* end the object */                             \
	X(VBD_KEPT_DO_FORGET, "forget") /* free the kept object */

enum vbd_kept_action { VBD_KEPT_ACTION_MAP(VBD_ENUM_ROW) VBD_KEPT_ACTION_COUNT };

/** vbd_kept_rule - the pure table: the effect of @event in @state; every pair is decided */
const struct vbd_rule *vbd_kept_rule(enum vbd_kept_state state, enum vbd_kept_event event);
const char *vbd_kept_state_name(enum vbd_kept_state state);

#endif
