/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains and completion queues; srqs.c has shared receive queues. */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/memory/shared.h"
#include "rdma/data/worker.h"

enum vbd_status vbd_remove_shared(struct vbd_object *object, struct vbd_error *err)
{
	struct vbd_users users;

	return vbd_shared_delete(
		VBD_CONTAINER_OF(object, struct vbd_shared, object), NULL, &users, err);
}

void vbd_users_of_shared(const struct vbd_object *object, const struct vbd_caller *caller,
	struct vbd_users *ret_users)
{
	vbd_shared_users_of(
		VBD_CONTAINER_OF(object, const struct vbd_shared, object), caller, ret_users);
}

/* --- protection domains ---------------------------------------------------------------------- */

static void encode_pd(struct vbd_encoder *out, const void *item)
{
	const struct vbd_shared *shared = item;
	const struct vbd_pd *pd = shared->pd;
	struct vbd_users users;

	vbd_shared_users_of(shared, NULL, &users);
	vbd_put_object(out, &shared->object);
	vbd_put_reference(out, "device", pd->device->id, pd->device->name);
	vbd_put_bool(out, "default", pd->is_default);
	vbd_put_u64(out, "user_count", pd->is_default ? pd->refs : users.total);
	vbd_put_time(out, "created_at", shared->object.created_ns);
}

struct pd_create {
	char name[VBD_NAME_BYTES];
	char device[64];
};

static const struct vbd_field pd_fields[] = {
	{VBD_FIELD_NAME(struct pd_create, name)},
	{VBD_FIELD(DEVICE, "device", struct pd_create, device)},
};

static void *create_pd(struct vbd_request *req, struct vbd_error *err)
{
	struct pd_create input = {0};
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_shared *pd = NULL;
	const struct vbd_origin origin = vbd_request_origin(req);

	if (vbd_request_decode_found(req, VBD_FIELDS(pd_fields), &input, err) == VBD_OK)
		(void)!vbd_pd_request(daemon, &origin, input.name, input.device, &pd, err);
	return pd;
}

VBD_PAGE_TEXT(by_pd_device, struct vbd_shared, pd->device->name)

static const struct vbd_page_column pd_columns[] = {
	VBD_COLUMN_NAME,
	VBD_COLUMN_DEVICE(VBD_SORTS_AND_SELECTS, by_pd_device),
	{.name = NULL},
};

const struct vbd_task_kind vbd_pd_task = {
	.kind = VBD_KIND_PD,
	.create = create_pd,
	.remove = vbd_remove_shared,
	.users = vbd_users_of_shared,
	.page.members = vbd_pd_members,
	.page.columns = pd_columns,
	.page.encode = encode_pd,
};

/* --- completion queues ----------------------------------------------------------------------- */

static void put_moderation(struct vbd_encoder *out, const char *name, const struct vbd_cq *cq)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "count", cq->moderation_count);
	vbd_put_u64(out, "period_us", cq->moderation_period_us);
	vbd_end(out);
}

static void encode_cq(struct vbd_encoder *out, const void *item)
{
	const struct vbd_shared *shared = item;
	const struct vbd_cq *cq = shared->cq;
	struct vbd_users users;

	vbd_shared_users_of(shared, NULL, &users);
	vbd_put_object(out, &shared->object);
	vbd_put_reference(out, "device", cq->device->id, cq->device->name);
	vbd_put_bool(out, "auto", !cq->asked_for);
	vbd_put_u64(out, "worker", cq->worker->number);
	vbd_put_u64(out, "cqe", cq->capacity_cqe);
	vbd_put_u64(out, "reserved_cqe", cq->reserved_cqe);
	vbd_put_u64(out, "outstanding_cqe", vbd_counter_get(&cq->outstanding));
	vbd_put_u64(out, "high_water_cqe", vbd_counter_get(&cq->high_water));
	put_moderation(out, "moderation", cq);
	vbd_put_u64(out, "completions", vbd_counter_get(&cq->completions));
	vbd_put_u64(out, "error_completions", vbd_counter_get(&cq->error_completions));
	vbd_put_u64(out, "polls", vbd_counter_get(&cq->polls));
	vbd_put_u64(out, "empty_polls", vbd_counter_get(&cq->empty_polls));
	vbd_put_u64(out, "events_armed", vbd_counter_get(&cq->events_armed));
	vbd_put_u64(out, "events_taken", vbd_counter_get(&cq->events_taken));
	vbd_put_bool(out, "failed", cq->failed);
	vbd_put_u64(out, "qp_count", cq->connections);
	vbd_put_u64(out, "user_count", users.total);
	vbd_put_time(out, "created_at", shared->object.created_ns);
}

static const struct vbd_field moderation_fields[] = {
	{VBD_FIELD(UINT, "count", struct vbd_cq_moderation, count), .max = UINT16_MAX},
	{VBD_FIELD(UINT, "period_us", struct vbd_cq_moderation, period_us), .max = UINT16_MAX},
};

/* A PATCH may have the last members of cq_fields only. */
#define CQ_CHANGEABLE 2

static const struct vbd_field cq_fields[] = {
	{VBD_FIELD_NAME(struct vbd_cq_spec, name)},
	{VBD_FIELD(DEVICE, "device", struct vbd_cq_spec, device_name)},
	{VBD_FIELD(UINT, "cqe", struct vbd_cq_spec, cqe), .min = 1, .max = 4194304},
	{VBD_FIELD(OBJECT, "moderation", struct vbd_cq_spec, moderation),
		.fields = moderation_fields, .n_fields = VBD_ARRAY_LEN(moderation_fields)},
};

static void *create_cq(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_cq_spec spec = {
		.origin = vbd_request_origin(req), .cqe = (uint32_t)daemon->config->default_cqe};
	struct vbd_shared *cq = NULL;

	if (vbd_request_decode_found(req, VBD_FIELDS(cq_fields), &spec, err) == VBD_OK)
		(void)!vbd_cq_request(daemon, &spec, &cq, err);
	return cq;
}

void vbd_patch_cq(struct vbd_request *req)
{
	struct vbd_shared *shared = vbd_task_find(req, &vbd_cq_task);
	struct vbd_cq_spec spec = {0};
	bool deeper = vbd_given(req->json, "cqe"), moderated = vbd_given(req->json, "moderation");
	struct vbd_cq *cq;

	if (!shared)
		return;
	cq = shared->cq;
	spec.moderation.count = cq->moderation_count;
	spec.moderation.period_us = cq->moderation_period_us;
	if (vbd_request_decode(req, &cq_fields[VBD_ARRAY_LEN(cq_fields) - CQ_CHANGEABLE],
		    CQ_CHANGEABLE, &spec, &req->err) == VBD_OK &&
		!deeper && !moderated)
		(void)vbd_error_set(&req->err, VBD_E_MISSING_FIELD,
			"the body changes nothing: give cqe or moderation");
	if (req->err.status == VBD_OK &&
		vbd_cq_change(cq, deeper ? &spec.cqe : NULL, moderated ? &spec.moderation : NULL,
			&req->err) == VBD_OK) {
		vbd_shared_updated(shared);
		vbd_task_reply(req, 200, &vbd_cq_task, shared);
	}
}

VBD_PAGE_TEXT(by_cq_device, struct vbd_shared, cq->device->name)

VBD_PAGE_NUMBER(by_cq_worker, struct vbd_shared, cq->worker->number)
VBD_PAGE_NUMBER(by_cq_reserved, struct vbd_shared, cq->reserved_cqe)

static const struct vbd_page_column cq_columns[] = {
	VBD_COLUMN_NAME,
	VBD_COLUMN_DEVICE(VBD_SORTS_AND_SELECTS, by_cq_device),
	{"worker", VBD_SORTS, .number = by_cq_worker},
	{"reserved_cqe", VBD_SORTS, .number = by_cq_reserved},
	{.name = NULL},
};

const struct vbd_task_kind vbd_cq_task = {
	.kind = VBD_KIND_CQ,
	.create = create_cq,
	.remove = vbd_remove_shared,
	.users = vbd_users_of_shared,
	.page.members = vbd_cq_members,
	.page.columns = cq_columns,
	.page.encode = encode_cq,
};
