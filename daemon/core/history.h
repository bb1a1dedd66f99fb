/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history: ended objects that clients can still read, a list for each kind, the oldest first.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_HISTORY_H
#define VBD_DAEMON_CORE_HISTORY_H

#include "base/list.h"

#include <stdint.h>

struct vbd_history {
	struct vbd_link ended; /* links of the objects, which their services own */
	uint32_t count;
};

void vbd_history_init(struct vbd_history *history);

/**
 * vbd_history_add - add an object that has just ended
 * @link: the object's link; on no list
 */
void vbd_history_add(struct vbd_history *history, struct vbd_link *link);

/**
 * vbd_history_leave - remove an object
 * @link: on this list, or on none (before the object's end), then nothing happens
 */
void vbd_history_leave(struct vbd_history *history, struct vbd_link *link);

/** vbd_history_take_oldest - remove the oldest object if there are more than @kept; returns its
 * link, now on no list, or NULL */
struct vbd_link *vbd_history_take_oldest(struct vbd_history *history, uint64_t kept);

#endif
