/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether verbsd takes on work, and how far it is with what it has. daemon/drain.h changes it.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_DRAIN_STATE_H
#define VBD_DAEMON_CORE_DRAIN_STATE_H

#include "base/enum.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

/* X(SYMBOL, json name) */
#define VBD_DRAIN_STATE_MAP(X)                                  \
	X(VBD_DRAIN_SERVING, "serving")                         \
	/* Nothing new begins; transfers are under way. */      \
	X(VBD_DRAIN_DRAINING, "draining")                       \
	/* Nothing new begins, and no transfer is under way. */ \
	X(VBD_DRAIN_DRAINED, "drained")

enum vbd_drain_state { VBD_DRAIN_STATE_MAP(VBD_ENUM_ROW) VBD_DRAIN_STATE_COUNT };

/** vbd_drain_state_name - "draining" */
const char *vbd_drain_state_name(enum vbd_drain_state state);

struct vbd_drain {
	enum vbd_drain_state state;
	uint64_t since_ns;	 /* the drain began; 0 while SERVING */
	uint64_t deadline_ns;	 /* transfers are cancelled then; 0: never */
	struct vbd_timer *timer; /* of the deadline, then of the cancels */
	uint64_t cancelled_id;	 /* transfers up to this one are cancelled */
	struct vbd_link watches; /* of struct vbd_watch: the state has changed */
};

#endif
