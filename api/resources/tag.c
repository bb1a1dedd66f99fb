/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/tag.h"

#include "api/http/condition.h"
#include "api/http/idempotency.h"
#include "api/http/page.h"
#include "api/resources/context.h"

uint64_t vbd_task_version(const struct vbd_task_kind *kind, const void *task)
{
	return kind->version ? kind->version(task) : ((const struct vbd_object *)task)->version;
}

static const char *kind_name(const struct vbd_task_kind *kind, const void *task)
{
	return kind->find ? "device" : ((const struct vbd_object *)task)->registry->singular;
}

char *vbd_task_tag(const struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, char tag[VBD_TAG_BYTES])
{
	uint64_t id = kind->find ? kind->page->id(task) : ((const struct vbd_object *)task)->id;

	(void)snprintf(tag, VBD_TAG_BYTES, "\"%s-%s-%" PRIu64 "-%" PRIu64 "\"",
		vbd_request_daemon(req)->server_id, kind_name(kind, task), id,
		vbd_task_version(kind, task));
	return tag;
}

enum vbd_status vbd_tag_unchanged(
	struct vbd_request *req, const char *singular, const char *tag, struct vbd_error *err)
{
	const struct vbd_condition_of of = {.what = singular, .tag = tag, .absent = !tag};

	return vbd_condition_check(req, &of, err);
}

enum vbd_status vbd_task_unchanged(struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, struct vbd_error *err)
{
	char tag[VBD_TAG_BYTES];

	return vbd_tag_unchanged(
		req, kind_name(kind, task), vbd_task_tag(req, kind, task, tag), err);
}

/* An answer that outlives the daemon is kept as a reader sees it. */
static void add_public_body(
	struct vbd_request *req, const struct vbd_task_kind *kind, const void *task)
{
	struct vbd_encoder out;
	struct vbd_sieve room;
	struct vbd_sieve *sieve;

	if (!req->idem || !vbd_idem_keeps(req->idem))
		return;
	sieve = vbd_view_public_sieve(kind->page->members, &room);
	if (!sieve)
		return;
	out = vbd_encode_begin();
	vbd_encode_through(&out, sieve);
	kind->encode(&out, task);
	req->reply.has_secrets = true;
	req->reply.public_body = vbd_encode_end_line(&out, &req->reply.public_bytes);
}

void vbd_task_reply(struct vbd_request *req, unsigned int status, const struct vbd_task_kind *kind,
	const void *task)
{
	struct vbd_encoder out = vbd_request_begin_answer(req);
	struct vbd_sieve sieve;
	char tag[VBD_TAG_BYTES];

	vbd_request_add_header(req, "ETag", vbd_task_tag(req, kind, task, tag));
	vbd_encode_through(&out, vbd_view_sieve(kind->find ? req->role : vbd_view_role(req, task),
					 kind->page->members, NULL, &sieve));
	kind->encode(&out, task);
	add_public_body(req, kind, task);
	vbd_reply_json(req, status, &out);
}

void vbd_task_created(
	struct vbd_request *req, const struct vbd_task_kind *kind, const struct vbd_object *task)
{
	vbd_request_add_location(req, task->registry->plural, task->id);
	vbd_task_reply(req, 201, kind, task);
}
