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

static size_t collect_users(const struct vbd_buffer *buffer, const struct vbd_registry *registry,
	bool (*uses)(struct vbd_object *object, const struct vbd_buffer *buffer), char (*paths)[48],
	size_t max)
{
	size_t count = 0;

	for (struct vbd_object *object = vbd_registry_first(registry); object && count < max;
		object = vbd_registry_next(object)) {
		if (uses(object, buffer))
			vbd_registry_path(registry, object->id, paths[count++]);
	}
	return count;
}

size_t vbd_buffer_users(const struct vbd_buffer *buffer, char (*paths)[48], size_t max)
{
	const struct vbd_daemon *daemon = buffer->object.registry->daemon;
	size_t count;

	count = collect_users(buffer, daemon->transfers, transfer_uses, paths, max);
	return count +
	       collect_users(buffer, daemon->windows, window_uses, paths + count, max - count);
}
