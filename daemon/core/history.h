/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has ended and is still told of: one list for each kind of object, the oldest first.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_HISTORY_H
#define VBD_DAEMON_CORE_HISTORY_H

#include "base/list.h"

#include <stdint.h>

struct vbd_history {
	struct vbd_link ended; /* links of the objects, which stay their owners' */
	uint32_t count;
};

void vbd_history_init(struct vbd_history *history);

/**
 * vbd_history_add - keep one that has just ended
 * @link: of the object; on no list
 */
void vbd_history_add(struct vbd_history *history, struct vbd_link *link);

/**
 * vbd_history_leave - forget one
 * @link: on this list, or on none, as before its end: then nothing happens
 */
void vbd_history_leave(struct vbd_history *history, struct vbd_link *link);

/**
 * vbd_history_take_oldest - take out the oldest where there are more than may stay
 * @kept: how many may stay
 *
 * Returns its link, which is on no list now, or NULL.
 */
struct vbd_link *vbd_history_take_oldest(struct vbd_history *history, uint64_t kept);

#endif
