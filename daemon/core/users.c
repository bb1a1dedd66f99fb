/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/users.h"

void vbd_users_add(struct vbd_users *users, const struct vbd_object *object)
{
	const struct vbd_registry *registry = object->registry;

	users->total++;
	if (!vbd_caller_sees(registry->daemon->callers.current, object->owner))
		users->hidden++;
	else if (users->shown < VBD_USERS_SHOWN_MAX)
		(void)vbd_registry_path(registry, object->id, users->paths[users->shown++]);
}
