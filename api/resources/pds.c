/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains. */
#include "api/http/page.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "daemon/memory/shared.h"

static void encode_pd(struct vbd_encoder *out, const void *item)
{
	const struct vbd_shared *shared = item;
	const struct vbd_pd *pd = shared->pd;
	struct vbd_users users;

	vbd_shared_users_of(shared, NULL, &users);
	vbd_put_object(out, &shared->object);
	vbd_put_reference(out, "device", pd->device->id, pd->device->name);
	vbd_put_bool(out, "default", pd->is_default);
	vbd_put_u64(out, "user_count", pd->is_default ? vbd_pd_users(pd) : users.total);
	vbd_put_time(out, "created_at", shared->object.created_ns);
}

struct pd_create {
	char name[VBD_NAME_BYTES];
	struct vbd_json_ref device;
};

static const struct vbd_field pd_fields[] = {
	{VBD_FIELD_NAME(struct pd_create, name)},
	{VBD_FIELD(REF, "device", struct pd_create, device)},
};

static void *create_pd(struct vbd_request *req, struct vbd_error *err)
{
	struct pd_create input = {0};
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_shared *pd = NULL;
	const struct vbd_origin origin = vbd_request_origin(req);
	char device[64];

	if (vbd_request_decode(req, VBD_FIELDS(pd_fields), &input, err) != VBD_OK ||
		vbd_member_device(daemon, &input.device, device, sizeof(device), err) != VBD_OK ||
		vbd_pd_request(daemon, &origin, input.name, device, &pd, err) != VBD_OK)
		return NULL;
	return pd;
}

static const char *by_pd_device(const void *item)
{
	return ((const struct vbd_shared *)item)->pd->device->name;
}

static const struct vbd_page_key pd_keys[] = {
	VBD_PAGE_KEY_NAME,
	{.name = "device", .text = by_pd_device},
	{.name = NULL},
};

static const struct vbd_page_filter pd_filters[] = {
	VBD_PAGE_FILTER_NAME,
	VBD_PAGE_FILTER_DEVICE(by_pd_device),
	{.name = NULL},
};

static const struct vbd_page_source pd_page = {
	.members = vbd_pd_members,
	.keys = pd_keys,
	.filters = pd_filters,
	.encode = encode_pd,
};

const struct vbd_task_kind vbd_pd_task = {
	.kind = VBD_KIND_PD,
	.encode = encode_pd,
	.create = create_pd,
	.remove = vbd_remove_shared,
	.page = &pd_page,
};
