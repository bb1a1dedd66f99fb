/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/registry.h"

/* Fewer gaps are not worth closing. */
#define GAPS_MIN 64

void vbd_places_fini(struct vbd_places *places)
{
	free(places->places);
	*places = (struct vbd_places){0};
}

static bool make_room(struct vbd_places *places)
{
	size_t room = places->room ? 2 * places->room : 16;
	struct vbd_place *grown;

	if (places->count < places->room)
		return true;
	grown = reallocarray(places->places, room, sizeof(*grown));
	if (!grown)
		return false;
	places->places = grown;
	places->room = room;
	return true;
}

bool vbd_places_add(struct vbd_places *places, uint64_t id, struct vbd_object *object)
{
	if (!make_room(places))
		return false;
	places->places[places->count++] = (struct vbd_place){.id = id, .object = object};
	return true;
}

void vbd_places_take_last(struct vbd_places *places)
{
	places->count--;
}

/* The index of the first place whose id is @id or above. */
static size_t find(const struct vbd_places *places, uint64_t id)
{
	size_t low = 0, high = places->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->places[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void close_gaps(struct vbd_places *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->count; i++) {
		if (places->places[i].object)
			places->places[kept++] = places->places[i];
	}
	places->count = kept;
	places->gaps = 0;
}

void vbd_places_remove(struct vbd_places *places, uint64_t id)
{
	places->places[find(places, id)].object = NULL;
	places->gaps++;
	if (places->gaps > GAPS_MIN && places->gaps > places->count / 2)
		close_gaps(places);
}

void vbd_places_exchange(struct vbd_places *places, uint64_t id, uint64_t other_id)
{
	struct vbd_place *one = &places->places[find(places, id)];
	struct vbd_place *other = &places->places[find(places, other_id)];
	struct vbd_object *object = one->object;

	one->object = other->object;
	other->object = object;
}

struct vbd_object *vbd_places_after(const struct vbd_places *places, uint64_t id)
{
	size_t i = id < UINT64_MAX ? find(places, id + 1) : places->count;

	while (i < places->count && !places->places[i].object)
		i++;
	return i < places->count ? places->places[i].object : NULL;
}

struct vbd_object *vbd_places_before(const struct vbd_places *places, uint64_t id)
{
	size_t i = find(places, id);

	while (i > 0 && !places->places[i - 1].object)
		i--;
	return i > 0 ? places->places[i - 1].object : NULL;
}
