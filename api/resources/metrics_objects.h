/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of single objects in /metrics: the text wants all series of a family together, so the
 * objects are walked once for each family, some in each step.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_METRICS_OBJECTS_H
#define VBD_API_RESOURCES_METRICS_OBJECTS_H

#include "api/resources/metrics_parts.h"

struct vbd_metrics_objects {
	const struct vbd_registry *registry;
	const struct vbd_caller *scope; /* only the objects that it sees; NULL: all */
	uint64_t max;			/* objects that have series, the first ones */
	size_t families;
	void (*begin_family)(struct vbd_metrics_text *out, size_t family);
	/* Put the series of an object in the present family. @id: the object's, as a text */
	void (*put)(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
		size_t family);
};

/** vbd_metrics_put_objects - put the series of the next VBD_METRICS_STEP_OBJECTS objects that have
 * not ended, behind @at. Returns true after the last family. */
bool vbd_metrics_put_objects(struct vbd_metrics_text *out,
	const struct vbd_metrics_objects *objects, struct vbd_metrics_place *at);

#endif
