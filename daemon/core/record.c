/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/record.h"

#include "daemon/core/caller.h"
#include "daemon/core/labels.h"

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
	struct vbd_object *object = id ? vbd_places_after(&registry->past, id - 1) : NULL;

	return object && object->id == id ? vbd_record_of(object) : NULL;
}

struct vbd_record *vbd_record_find_name(
	const struct vbd_registry *registry, const char *name, const struct vbd_caller *caller)
{
	struct vbd_record *newest = NULL;

	/* The id does not tell: a kept connection has one that is older than those of earlier
	 * tries.
	 */
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
