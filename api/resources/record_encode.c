/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"
#include "api/json/encode.h"
#include "api/resources/records.h"
#include "daemon/core/context.h"

static const struct vbd_task_kind *const task_kinds[VBD_KIND_COUNT] = {
#define TASK_KIND(sym, singular, plural, open, kept) [VBD_KIND_##sym] = &vbd_##singular##_task,
	VBD_KIND_MAP(TASK_KIND)
#undef TASK_KIND
};

char *vbd_record_encode(const struct vbd_object *object)
{
	const struct vbd_registry *registry = object->registry;
	const struct vbd_task_kind *kind = task_kinds[registry - registry->daemon->registries];
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_sieve room;
	size_t len;

	vbd_encode_through(&out, vbd_view_public_sieve(kind->page->members, &room));
	kind->encode(&out, object);
	if (kind->encode_past)
		kind->encode_past(&out, object);
	return vbd_encode_end(&out, &len);
}
