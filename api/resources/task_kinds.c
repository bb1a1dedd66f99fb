/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that need the handlers of all kinds. */
#include "api/http/page.h"
#include "api/json/encode.h"
#include "api/resources/connection_wait.h"
#include "api/resources/context.h"
#include "api/resources/records.h"
#include "daemon/connections/connections.h"
#include "daemon/core/context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	const struct vbd_registry *registry = object->registry;
	const struct vbd_task_kind *kind =
		vbd_task_of((enum vbd_object_kind)(registry - registry->daemon->registries));
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
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	char plural[32];
	uint64_t id;

	if (sscanf(path, "/v1/%31[a-z_]/%" SCNu64, plural, &id) != 2)
		return false;
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		const struct vbd_registry *registry = &daemon->registries[i];
		const struct vbd_task_kind *kind = vbd_task_of((enum vbd_object_kind)i);
		struct vbd_object *object;

		if (!kind || !registry->plural || strcmp(registry->plural, plural) != 0)
			continue;
		object = vbd_registry_find_id(registry, id);
		return object && await_object(req, kind, object);
	}
	return false;
}
