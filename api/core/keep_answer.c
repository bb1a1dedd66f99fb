/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/keep.h"

#include "api/core/common_json.h"
#include "api/core/context.h"
#include "daemon/store/keeper.h"

struct keep_answer {
	uint64_t ticket;
	const struct vbd_registry *registry; /* NULL: there is no object */
	uint64_t id;
	vbd_keep_answer_fn answer;
	void *arg;
};

static void call_answer(struct vbd_request *req, const struct keep_answer *keep)
{
	/* No second wait begins at the deadline of the first one. */
	if (vbd_keeper_will_have(vbd_request_daemon(req)->keeper, keep->ticket))
		req->wait_ms = 0;
	keep->answer(req, keep->registry ? vbd_registry_find_id(keep->registry, keep->id) : NULL,
		keep->arg);
}

static void on_row_written(struct vbd_request *req, void *arg)
{
	call_answer(req, arg);
	free(arg);
}

void vbd_keep_answer(struct vbd_request *req, uint64_t ticket, struct vbd_object *object,
	vbd_keep_answer_fn answer, void *arg)
{
	const struct keep_answer now = {.ticket = ticket,
		.registry = object ? object->registry : NULL,
		.id = object ? object->id : 0,
		.answer = answer,
		.arg = arg};
	bool waits = vbd_keeper_will_have(vbd_request_daemon(req)->keeper, ticket);
	struct keep_answer *later = waits ? malloc(sizeof(*later)) : NULL;

	req->acted = true;
	if (!later) {
		call_answer(req, &now);
		return;
	}
	*later = now;
	vbd_request_wait_written(
		req, vbd_request_daemon(req)->keeper, ticket, on_row_written, later);
}

void vbd_keep_answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)object;
	(void)arg;
	vbd_reply_empty(req, 204);
}

uint64_t vbd_keep_drop_record(const struct vbd_request *req, const struct vbd_record *record)
{
	const struct vbd_registry *registry = record->object.registry;
	struct vbd_kept *kept = vbd_kept_absent(registry, record->object.name);

	if (!kept || !vbd_caller_may_change(req->caller, kept->object.owner) ||
		vbd_record_find_name(registry, record->object.name, req->caller) != record)
		return VBD_TICKET_NONE;
	return vbd_kept_drop(kept);
}

static enum vbd_status check_removal(struct vbd_request *req, const struct vbd_registry *registry,
	const struct vbd_kept *kept, struct vbd_error *err)
{
	if (vbd_caller_may_change(req->caller, kept->object.owner))
		return vbd_tag_unchanged(req, registry->singular, NULL, err);
	return vbd_error_set(err, VBD_E_FORBIDDEN,
		"%.64s is kept for verbsd; only the control role may change it", req->ref);
}

bool vbd_keep_remove(struct vbd_request *req, enum vbd_object_kind of)
{
	const struct vbd_registry *registry = &vbd_request_daemon(req)->registries[of];
	struct vbd_kept *kept = vbd_kept_absent(registry, req->ref);

	if (!kept || !vbd_caller_sees(req->caller, kept->object.owner) ||
		vbd_registry_find_for(registry, req->caller, req->ref, VBD_TO_SEE, NULL))
		return false;
	if (check_removal(req, registry, kept, &req->err) == VBD_OK)
		vbd_keep_answer(req, vbd_kept_drop(kept), NULL, vbd_keep_answer_deleted, NULL);
	return true;
}
