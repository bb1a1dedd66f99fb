/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in the order of their ids: the objects before and after any id are found without a walk.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_PLACES_H
#define VBD_DAEMON_CORE_PLACES_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbd_object;

/* All zero without objects. */
struct vbd_places {
	struct vbd_place {
		uint64_t id;
		struct vbd_object *object; /* NULL: it was removed */
	} * places;
	size_t count, room;
	size_t gaps; /* places without an object */
};

/** vbd_places_fini - forget all objects */
void vbd_places_fini(struct vbd_places *places);

/** vbd_places_add - add an object behind all others; false without memory. @id: above those of all
 * objects so far */
bool vbd_places_add(
	struct vbd_places *places, uint64_t id, struct vbd_object *object) VBD_MUST_CHECK;

/** vbd_places_take_last - undo the last vbd_places_add(), at once */
void vbd_places_take_last(struct vbd_places *places);

/** vbd_places_remove - remove an object that was added; on average this moves one other */
void vbd_places_remove(struct vbd_places *places, uint64_t id);

/** vbd_places_exchange - the objects that were added with @id and @other_id change places */
void vbd_places_exchange(struct vbd_places *places, uint64_t id, uint64_t other_id);

/** vbd_places_after - the object with the lowest id above @id; NULL if there is none */
struct vbd_object *vbd_places_after(const struct vbd_places *places, uint64_t id);

/** vbd_places_before - the object with the highest id below @id; NULL if there is none */
struct vbd_object *vbd_places_before(const struct vbd_places *places, uint64_t id);

#endif
