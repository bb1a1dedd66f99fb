/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "daemon/kept/reconciler.h"

/* The members of Desired and KeptObject. */
static void put_state_and_tries(struct vbd_encoder *out, const struct vbd_kept *kept)
{
	const struct vbd_reconciler *reconciler = kept->object.registry->daemon->reconciler;
	bool waits = kept->state == VBD_KEPT_WAITING && vbd_reconciler_tries(reconciler);

	vbd_put_text(out, "source", vbd_kept_source_name(kept->source));
	vbd_put_text(out, "state", vbd_kept_state_name(kept->state));
	vbd_put_u64(out, "tries", kept->tries);
	vbd_put_time(out, "last_try_at", kept->last_try_ns);
	vbd_put_time(out, "next_try_at", waits ? kept->next_try_ns : 0);
	vbd_put_error(out, "error", NULL, &kept->last_error, NULL);
}

/* The last members of them. */
static void put_restart(struct vbd_encoder *out, const struct vbd_kept *kept)
{
	vbd_put_bool(out, "outlives_restart", vbd_kept_outlives(kept));
	if (kept->of == VBD_KIND_BUFFER)
		vbd_put_bool(out, "bytes_outlive_restart", vbd_kept_bytes_outlive(kept));
	else
		vbd_put_null(out, "bytes_outlive_restart");
}

void vbd_put_desired(struct vbd_encoder *out, const struct vbd_object *object)
{
	const struct vbd_kept *kept = vbd_kept_of(object);

	vbd_put_text_or_null(out, "share", object->shared ? "operators" : "");
	if (!kept) {
		vbd_put_null(out, "desired");
		return;
	}
	vbd_begin_object(out, "desired");
	vbd_put_u64(out, "id", kept->object.id);
	put_state_and_tries(out, kept);
	put_restart(out, kept);
	vbd_end(out);
}

static void put_policy(struct vbd_encoder *out, const struct vbd_kept *kept)
{
	const struct vbd_kept_policy *policy = &kept->policy;

	vbd_put_text_or_null(out, "reconnect",
		kept->of == VBD_KIND_CONNECTION ? vbd_reconnect_name(policy->reconnect) : "");
	vbd_put_u64(out, "reconnect_min_ms", policy->min_ms);
	vbd_put_u64(out, "reconnect_max_ms", policy->max_ms);
}

static void encode_kept(struct vbd_encoder *out, const void *item)
{
	const struct vbd_kept *kept = item;
	const struct vbd_registry *registry = &kept->object.registry->daemon->registries[kept->of];

	vbd_put_object(out, &kept->object);
	vbd_put_text(out, "kind", registry->singular);
	vbd_put_u64_or_null(out, "object_id", kept->made_id != 0, kept->made_id);
	vbd_put_u64_or_null(out, "previous_id", kept->previous_id != 0, kept->previous_id);
	put_state_and_tries(out, kept);
	put_policy(out, kept);
	put_restart(out, kept);
	vbd_put_time(out, "created_at", kept->object.created_ns);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_kept, state)
VBD_PAGE_NUMBER(by_tries, struct vbd_kept, tries)

static const struct vbd_page_column kept_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"tries", VBD_SORTS, .number = by_tries},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

static enum vbd_status drop_kept(struct vbd_object *object, struct vbd_error *err)
{
	(void)err;
	(void)vbd_kept_drop(VBD_CONTAINER_OF(object, struct vbd_kept, object));
	return VBD_OK;
}

const struct vbd_task_kind vbd_kept_object_task = {
	.kind = VBD_KIND_KEPT_OBJECT,
	.remove = drop_kept,
	.page.members = vbd_kept_object_members,
	.page.columns = kept_columns,
	.page.states = VBD_PAGE_STATES(VBD_KEPT_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_kept,
};
