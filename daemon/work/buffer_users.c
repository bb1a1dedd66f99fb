/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/buffers.h"
#include "daemon/memory/windows.h"
#include "daemon/work/transfers.h"

static bool transfer_uses(struct vbd_object *object, const struct vbd_buffer *buffer)
{
	return vbd_transfer_uses(
		VBD_CONTAINER_OF(object, struct vbd_transfer_record, object), buffer);
}

static bool window_uses(struct vbd_object *object, const struct vbd_buffer *buffer)
{
	return VBD_CONTAINER_OF(object, struct vbd_window_record, object)->buffer == buffer;
}

static void add_users(const struct vbd_buffer *buffer, const struct vbd_registry *registry,
	bool (*uses)(struct vbd_object *object, const struct vbd_buffer *buffer),
	struct vbd_users *users)
{
	for (struct vbd_object *object = vbd_registry_first(registry);
		object && users->total < buffer->users; object = vbd_registry_next(object)) {
		if (uses(object, buffer))
			vbd_users_add(users, object);
	}
}

void vbd_buffer_users_of(const struct vbd_buffer *buffer, struct vbd_users *ret_users)
{
	const struct vbd_daemon *daemon = buffer->object.registry->daemon;

	*ret_users = (struct vbd_users){0};
	add_users(buffer, daemon->transfers, transfer_uses, ret_users);
	add_users(buffer, daemon->windows, window_uses, ret_users);
}
