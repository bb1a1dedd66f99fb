/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that need the handlers of all kinds. */
#include "api/http/page.h"
#include "api/resources/connections.h"
#include "api/resources/task.h"
#include "api/resources/context.h"
#include "daemon/connections/connections.h"
#include "daemon/core/context.h"

const struct vbd_task_kind *vbd_task_of(enum vbd_object_kind kind)
{
	static const struct vbd_task_kind *const kinds[VBD_KIND_COUNT] = {
#define TASK_KIND(sym, singular, plural, open, kept) [VBD_KIND_##sym] = &vbd_##singular##_task,
		VBD_KIND_MAP(TASK_KIND)
#undef TASK_KIND
	};

	return kinds[kind];
}

char *vbd_record_encode(const struct vbd_object *object)
{
	const struct vbd_task_kind *kind = vbd_task_of(vbd_registry_kind(object->registry));
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_sieve room;
	size_t len;

	vbd_encode_through(&out, vbd_view_public_sieve(kind->page->members, &room));
	kind->encode(&out, object);
	if (kind->encode_past)
		kind->encode_past(&out, object);
	return vbd_encode_end(&out, &len);
}

static bool await_object(
	struct vbd_request *req, const struct vbd_task_kind *kind, struct vbd_object *object)
{
	struct vbd_connection *connection;

	if (kind->state) {
		vbd_task_answer(req, kind, object);
		return true;
	}
	if (kind != &vbd_connection_task)
		return false;
	connection = VBD_CONTAINER_OF(object, struct vbd_connection, object);
	vbd_connection_wait(req, connection,
		connection->conn->manual ? VBD_GOAL_OPEN : VBD_GOAL_ESTABLISHED, 201, true);
	return true;
}

bool vbd_task_await(struct vbd_request *req, const char *path)
{
	const struct vbd_registry *registry = vbd_registry_at(vbd_request_daemon(req), path);
	struct vbd_object *object = NULL;
	uint64_t id;

	if (registry && vbd_ref_is_id(strrchr(path, '/') + 1, &id))
		object = vbd_registry_find_id(registry, id);
	return object && await_object(req, vbd_task_of(vbd_registry_kind(registry)), object);
}
