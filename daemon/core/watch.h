/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch: a callback for the changes of an object. The struct is embedded in the watcher, is put
 * on the object's list, and stays there until it is removed or the object is freed (then `cb` is
 * called a last time with @gone).
 *
 * Control thread. A callback may remove its own watch; it must not free the object.
 */
#ifndef VBD_DAEMON_CORE_WATCH_H
#define VBD_DAEMON_CORE_WATCH_H

#include "base/list.h"

struct vbd_watch {
	struct vbd_link link;
	void (*cb)(struct vbd_watch *watch, bool gone);
};

/** vbd_watch_add - put @watch on an object's list of watches */
static inline void vbd_watch_add(struct vbd_link *watches, struct vbd_watch *watch)
{
	vbd_list_append(watches, &watch->link);
}

/**
 * vbd_watch_remove - take @watch off its list; harmless if it is on none (after vbd_list_init())
 */
static inline void vbd_watch_remove(struct vbd_watch *watch)
{
	vbd_list_remove(&watch->link);
}

/** vbd_watch_notify - call every watch of the list, but not those that a callback adds */
static inline void vbd_watch_notify(struct vbd_link *watches, bool gone)
{
	struct vbd_link now;

	/* Iterate over a local list, since a callback may remove any watch and add new ones. */
	vbd_list_take_all(&now, watches);
	while (!vbd_list_empty(&now)) {
		struct vbd_watch *watch = VBD_CONTAINER_OF(now.next, struct vbd_watch, link);

		vbd_list_remove(&watch->link);
		if (!gone)
			vbd_list_append(watches, &watch->link);
		watch->cb(watch, gone);
	}
}

#endif
