/* SPDX-License-Identifier: Apache-2.0 */

#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/keep.h"
#include "api/http/archive.h"

struct vbd_record *vbd_record_of_path(struct vbd_request *req, enum vbd_object_kind kind)
{
	const struct vbd_registry *registry = &vbd_request_daemon(req)->registries[kind];
	struct vbd_record *record;
	uint64_t id;

	if (!registry->past_ended.count ||
		vbd_registry_find_for(registry, req->caller, req->ref, VBD_TO_SEE, NULL))
		return NULL;
	if (!vbd_ref_is_id(req->ref, &id))
		return vbd_record_find_name(registry, req->ref, req->caller);
	record = vbd_record_find(registry, id);
	return record && vbd_caller_sees(req->caller, record->object.owner) ? record : NULL;
}

/* Records do not change. */
static char *record_tag(const struct vbd_record *record, char tag[VBD_TAG_BYTES])
{
	(void)snprintf(tag, VBD_TAG_BYTES, "\"%s-%s-%" PRIu64 "-ended\"", record->server_id,
		record->object.registry->singular, record->object.id);
	return tag;
}

void vbd_record_unreadable(struct vbd_request *req, const struct vbd_record *record)
{
	(void)vbd_error_set(&req->err, VBD_E_NOT_FOUND,
		"the record of %s %" PRIu64 " in state_dir can't be read",
		record->object.registry->singular, record->object.id);
}

static void reply_record(struct vbd_request *req, const struct vbd_task_kind *kind,
	const struct vbd_record *record, const struct vbd_view *view)
{
	struct vbd_archived archived;
	struct vbd_encoder out;
	struct vbd_sieve sieve;

	if (!vbd_archived_open(&archived, record)) {
		vbd_record_unreadable(req, record);
		return;
	}
	out = vbd_encode_begin();
	vbd_encode_through(&out, vbd_view_sieve(req->role, kind->page.members, view, &sieve));
	vbd_put_json_members(&out, archived.body);
	vbd_archived_close(&archived);
	vbd_reply_json(req, 200, &out);
}

bool vbd_record_get(struct vbd_request *req, const struct vbd_task_kind *kind)
{
	const struct vbd_record *record = kind->find ? NULL : vbd_record_of_path(req, kind->kind);
	struct vbd_view view;
	char tag[VBD_TAG_BYTES];

	if (!record)
		return false;
	if (vbd_view_parse(req, kind->page.members, false, &view, &req->err) == VBD_OK) {
		vbd_reply_add_header(&req->reply, "ETag", record_tag(record, tag));
		reply_record(req, kind, record, &view);
	}
	return true;
}

static enum vbd_status check_tag(struct vbd_request *req, const struct vbd_record *record)
{
	char tag[VBD_TAG_BYTES];

	return vbd_tag_unchanged(
		req, record->object.registry->singular, record_tag(record, tag), &req->err);
}

bool vbd_record_end(struct vbd_request *req, const struct vbd_task_kind *kind)
{
	const struct vbd_record *record = vbd_record_of_path(req, kind->kind);

	if (record && check_tag(req, record) == VBD_OK)
		reply_record(req, kind, record, NULL);
	return record;
}

static enum vbd_status check_removal(struct vbd_request *req, const struct vbd_record *record)
{
	if (vbd_caller_may_change(req->caller, record->object.owner))
		return check_tag(req, record);
	return vbd_error_set(&req->err, VBD_E_FORBIDDEN,
		"%.64s belongs to verbsd; only the control role may change it", req->ref);
}

bool vbd_record_remove(struct vbd_request *req, const struct vbd_task_kind *kind)
{
	struct vbd_record *record = vbd_record_of_path(req, kind->kind);
	uint64_t ticket;

	if (!record || check_removal(req, record) != VBD_OK)
		return record;
	ticket = vbd_keep_drop_record(req, record);
	vbd_record_delete(record);
	vbd_keep_answer(req, ticket, NULL, vbd_keep_answer_deleted, NULL);
	return true;
}
