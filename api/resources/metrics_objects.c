/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_parts.h"

static void put_object(struct vbd_metrics_text *out, const struct vbd_metrics_objects *objects,
	const struct vbd_object *object, struct vbd_metrics_place *at)
{
	char id[24];

	at->after = object->id;
	if (object->ended || !vbd_caller_sees(objects->scope, object->owner))
		return;
	at->shown++;
	(void)snprintf(id, sizeof(id), "%" PRIu64, object->id);
	objects->put(out, id, object, at->family);
}

/* Returns whether the family is complete. */
static bool put_some(struct vbd_metrics_text *out, const struct vbd_metrics_objects *objects,
	struct vbd_metrics_place *at)
{
	const struct vbd_object *object = vbd_registry_after(objects->registry, at->after);

	for (int i = 0; i < VBD_METRICS_STEP_OBJECTS && object && at->shown < objects->max; i++) {
		put_object(out, objects, object, at);
		object = vbd_registry_after(objects->registry, object->id);
	}
	return !object || at->shown == objects->max;
}

bool vbd_metrics_put_objects(struct vbd_metrics_text *out,
	const struct vbd_metrics_objects *objects, struct vbd_metrics_place *at)
{
	if (!at->begun)
		objects->begin_family(out, at->family);
	at->begun = true;
	if (put_some(out, objects, at))
		*at = (struct vbd_metrics_place){.family = at->family + 1};
	return at->family == objects->families;
}
