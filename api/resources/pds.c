/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains: a list of the fabric, ids ascending. */
#include "api/resources/context.h"
#include "api/json/decode.h"
#include "api/json/encode.h"
#include "api/http/page.h"
#include "api/resources/pds.h"
#include "api/resources/task.h"
#include "daemon/memory/shared.h"
#include "rdma/device/device.h"

#include <string.h>

static json_t *encode_pd(const void *item, struct vbd_request *req)
{
	const struct vbd_pd *pd = item;
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_shared_users users;

	vbd_pd_users_of(vbd_request_daemon(req), pd, &users);
	vbd_put_u64(&out, "id", pd->id);
	vbd_put_text_or_null(&out, "name", pd->name);
	vbd_put_text(&out, "device", pd->device->name);
	vbd_put(&out, "default", json_boolean(pd->is_default));
	vbd_put_u64(&out, "users", pd->is_default ? vbd_pd_users(pd) : users.total);
	vbd_put_time(&out, "created_at", pd->created_ns);
	return vbd_encode_end(&out);
}

static struct vbd_pd *find_pd(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_pd *pd = vbd_pd_find_ref(vbd_request_daemon(req), req->ref, &err);

	if (!pd)
		vbd_reply_problem(req, &err);
	return pd;
}

void vbd_get_pd(struct vbd_request *req)
{
	const struct vbd_pd *pd = find_pd(req);

	if (pd)
		vbd_reply_json(req, 200, encode_pd(pd, req));
}

void vbd_delete_pd(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_pd *pd = find_pd(req);
	struct vbd_shared_users users;
	struct vbd_error err = {0};

	if (!pd)
		return;
	vbd_pd_users_of(daemon, pd, &users);
	if (vbd_pd_delete_unused(daemon, pd, &err) == VBD_OK)
		vbd_reply_empty(req, 204);
	else
		vbd_reply_in_use(req, &err, users.paths, users.shown);
}

struct pd_create {
	const char *name;
	const char *device;
};

static const struct vbd_field pd_fields[] = {
	{VBD_FIELD_NAME(struct pd_create)},
	{VBD_FIELD(STRING, "device", struct pd_create, device), .min = 1, .max = 63},
};

void vbd_create_pd(struct vbd_request *req)
{
	struct pd_create input = {0};
	struct vbd_error err = {0};
	struct vbd_pd *pd;

	if (vbd_decode(req->json, pd_fields, VBD_ARRAY_LEN(pd_fields), &input, &err) != VBD_OK ||
		vbd_pd_request(vbd_request_daemon(req), input.name ? input.name : "",
			input.device ? input.device : "", &pd, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_reply_created(req, "pds", pd->id, encode_pd(pd, req));
}

static uint64_t pd_id(const void *item)
{
	return ((const struct vbd_pd *)item)->id;
}

static void walk_pds(void *listed, vbd_page_visit_cb visit, void *visitor)
{
	const struct vbd_fabric *fabric = listed;

	vbd_list_for_each (link, &fabric->pds) {
		struct vbd_pd *pd = VBD_CONTAINER_OF(link, struct vbd_pd, fabric_link);

		if (pd->ibv_pd)
			visit(pd, visitor);
	}
}

static int by_pd_name(const void *a, const void *b)
{
	return strcmp(((const struct vbd_pd *)a)->name, ((const struct vbd_pd *)b)->name);
}

static int by_pd_device(const void *a, const void *b)
{
	return strcmp(
		((const struct vbd_pd *)a)->device->name, ((const struct vbd_pd *)b)->device->name);
}

static const char *const pd_names[] = {
	"id", "name", "device", "default", "users", "created_at", NULL};

static const struct vbd_page_key pd_keys[] = {
	{"name", by_pd_name},
	{"device", by_pd_device},
	{NULL, NULL},
};

static const struct vbd_page_source pd_page = {
	.fields = pd_names,
	.keys = pd_keys,
	.id = pd_id,
	.walk = walk_pds,
	.encode = encode_pd,
};

void vbd_list_pds(struct vbd_request *req)
{
	vbd_page_reply(req, &pd_page, vbd_request_daemon(req)->fabric);
}
