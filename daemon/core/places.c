/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/registry.h"

#include "daemon/core/caller.h"
#include "daemon/core/labels.h"

/* Gaps are closed when there are so many. */
#define GAPS_MIN 64

void vbd_places_fini(struct vbd_places *places)
{
	free(places->places);
	*places = (struct vbd_places){0};
}

static bool grow_places(struct vbd_places *places)
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
	if (!grow_places(places))
		return false;
	places->places[places->count++] = (struct vbd_place){.id = id, .object = object};
	return true;
}

/* The index of the first place whose id is @id or above. */
static size_t find_place_index(const struct vbd_places *places, uint64_t id)
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
	size_t i = find_place_index(places, id);

	if (i + 1 == places->count) {
		places->count--;
		return;
	}
	places->places[i].object = NULL;
	places->gaps++;
	if (places->gaps > GAPS_MIN && places->gaps > places->count / 2)
		close_gaps(places);
}

void vbd_places_exchange(struct vbd_places *places, uint64_t id, uint64_t other_id)
{
	struct vbd_place *one = &places->places[find_place_index(places, id)];
	struct vbd_place *other = &places->places[find_place_index(places, other_id)];
	struct vbd_object *object = one->object;

	one->object = other->object;
	other->object = object;
}

struct vbd_object *vbd_places_find(const struct vbd_places *places, uint64_t id)
{
	size_t i = find_place_index(places, id);

	return i < places->count && places->places[i].id == id ? places->places[i].object : NULL;
}

struct vbd_object *vbd_places_after(const struct vbd_places *places, uint64_t id)
{
	size_t i = id < UINT64_MAX ? find_place_index(places, id + 1) : places->count;

	while (i < places->count && !places->places[i].object)
		i++;
	return i < places->count ? places->places[i].object : NULL;
}

struct vbd_object *vbd_places_before(const struct vbd_places *places, uint64_t id)
{
	size_t i = find_place_index(places, id);

	while (i > 0 && !places->places[i - 1].object)
		i--;
	return i > 0 ? places->places[i - 1].object : NULL;
}

/* --- histories ------------------------------------------------------------------------------- */

void vbd_history_init(struct vbd_history *history)
{
	vbd_list_init(&history->ended);
	history->count = 0;
}

void vbd_history_add(struct vbd_history *history, struct vbd_link *link)
{
	vbd_list_append(&history->ended, link);
	history->count++;
}

void vbd_history_leave(struct vbd_history *history, struct vbd_link *link)
{
	if (vbd_list_empty(link))
		return;
	vbd_list_remove(link);
	history->count--;
}

struct vbd_link *vbd_history_take_oldest(struct vbd_history *history, uint64_t kept)
{
	struct vbd_link *oldest = history->ended.next;

	if (history->count <= kept)
		return NULL;
	vbd_history_leave(history, oldest);
	return oldest;
}

/* --- records --------------------------------------------------------------------------------- */

struct vbd_record *vbd_record_of(const struct vbd_object *object)
{
	return object && object->past
		       ? VBD_CONTAINER_OF((struct vbd_object *)object, struct vbd_record, object)
		       : NULL;
}

struct vbd_record *vbd_record_create(struct vbd_registry *registry)
{
	struct vbd_record *record = calloc(1, sizeof(*record));

	if (!record)
		return NULL;
	record->object.registry = registry;
	record->object.past = record->object.ended = true;
	record->object.announced = record->object.recorded = true;
	vbd_list_init(&record->object.ended_link);
	vbd_list_init(&record->object.record_link);
	return record;
}

void vbd_record_free(struct vbd_record *record)
{
	if (!record)
		return;
	vbd_labels_unref(record->object.labels);
	vbd_caller_unref(record->object.owner);
	free(record->row);
	free(record);
}

bool vbd_record_add(struct vbd_record *record)
{
	struct vbd_registry *registry = record->object.registry;

	if (!vbd_places_add(&registry->past, record->object.id, &record->object))
		return false;
	vbd_history_add(&registry->past_ended, &record->object.ended_link);
	return true;
}

struct vbd_record *vbd_record_find(const struct vbd_registry *registry, uint64_t id)
{
	return vbd_record_of(vbd_places_find(&registry->past, id));
}

struct vbd_record *vbd_record_find_name(
	const struct vbd_registry *registry, const char *name, const struct vbd_caller *caller)
{
	struct vbd_record *newest = NULL;

	/* The id does not tell which is the newest: a kept connection has an older id than its
	 * earlier tries. */
	for (size_t i = registry->past.count; i > 0; i--) {
		struct vbd_record *record = vbd_record_of(registry->past.places[i - 1].object);

		if (record && strcmp(record->object.name, name) == 0 &&
			vbd_caller_sees(caller, record->object.owner) &&
			(!newest || record->created_wall_ns > newest->created_wall_ns))
			newest = record;
	}
	return newest;
}

void vbd_records_fini(struct vbd_registry *registry)
{
	for (size_t i = 0; i < registry->past.count; i++)
		vbd_record_free(vbd_record_of(registry->past.places[i].object));
	vbd_places_fini(&registry->past);
}
