/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/failures.h"

void vbd_failures_add(
	struct vbd_failures *failures, const struct vbd_object *object, const struct vbd_error *err)
{
	struct vbd_failure *failure;

	failures->total++;
	if (!failures->items)
		failures->items = calloc(VBD_FAILURES_MAX, sizeof(*failures->items));
	if (!failures->items || failures->count == VBD_FAILURES_MAX)
		return;
	failure = &failures->items[failures->count++];
	failure->kind = object->registry->singular;
	failure->id = object->id;
	memcpy(failure->name, object->name, sizeof(failure->name));
	failure->err = *err;
}

void vbd_failures_fini(struct vbd_failures *failures)
{
	free(failures->items);
	*failures = (struct vbd_failures){0};
}
