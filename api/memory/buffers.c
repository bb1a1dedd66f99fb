/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers as objects. buffer_data.c has the handlers of their bytes.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "daemon/memory/buffers.h"

#include <assert.h>
#include <unistd.h>

static const char *const kind_names[] = {
	[VBD_MEM_ANONYMOUS] = "anonymous",
	[VBD_MEM_SHARED] = "shared",
	[VBD_MEM_HUGEPAGE] = "hugepage",
};

/* --- one buffer ------------------------------------------------------------------------------ */

/* Null while no peer can reach the buffer. */
static void put_remote(struct vbd_encoder *out, const struct vbd_buffer *buffer)
{
	const unsigned int remote =
		VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_ATOMIC;
	bool ready = buffer->state == VBD_BUFFER_READY;

	/* Without a remote access some devices have a key, others 0; neither is of use. */
	vbd_put_hex_or_null(out, "addr", ready, buffer->mem.addr, 1);
	vbd_put_hex_or_null(out, "rkey", ready && buffer->mem.access & remote, buffer->mem.rkey, 8);
}

static void encode_buffer(struct vbd_encoder *out, const void *item)
{
	const struct vbd_buffer *buffer = item;
	const struct vbd_mem *mem = &buffer->mem;

	vbd_put_object(out, &buffer->object);
	vbd_put_text(out, "state", vbd_buffer_state_name(buffer->state));
	vbd_put_text(out, "kind", kind_names[mem->kind]);
	vbd_put_u64(out, "size_bytes", mem->size_bytes);
	vbd_put_u64(out, "page_size_bytes", mem->page_size_bytes);
	vbd_put_access(out, "access", mem->access);
	vbd_put_bool(out, "relaxed_ordering", mem->relaxed_ordering);
	vbd_put_bool(out, "on_demand_paging", mem->on_demand_paging);
	vbd_put_reference(out, "device", buffer->device.id, buffer->device.name);
	vbd_put_ref(out, "pd", buffer->object.registry->daemon->pds, buffer->pd_id);
	put_remote(out, buffer);
	vbd_put_time(out, "created_at", buffer->object.created_ns);
	vbd_put_u64(out, "user_count", buffer->users);
	vbd_put_desired(out, &buffer->object);
	if (buffer->state == VBD_BUFFER_FAILED)
		vbd_put_error(out, "error", NULL, &buffer->error, NULL);
	else
		vbd_put_null(out, "error");
}

/* --- creation -------------------------------------------------------------------------------- */

struct buffer_create {
	struct vbd_buffer_spec spec;
	const struct vbd_object *pd;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct buffer_create, spec.name)},
	{VBD_FIELD(UINT, "size_bytes", struct buffer_create, spec.size_bytes), .required = true,
		.min = 1, .max = UINT64_C(1) << 40},
	{VBD_FIELD(ENUM, "kind", struct buffer_create, spec.kind), VBD_NAMES(kind_names)},
	{VBD_FIELD(UINT, "page_size_bytes", struct buffer_create, spec.page_size_bytes),
		.min = 4096, .max = UINT64_C(1) << 40},
	{VBD_FIELD(ENUM_SET, "access", struct buffer_create, spec.access),
		VBD_NAMES(vbd_access_names)},
	{VBD_FIELD(BOOL, "relaxed_ordering", struct buffer_create, spec.relaxed_ordering)},
	{VBD_FIELD(BOOL, "on_demand_paging", struct buffer_create, spec.on_demand_paging)},
	{VBD_FIELD(DEVICE, "device", struct buffer_create, spec.device_name)},
	{VBD_FIELD_OF(PD, "pd", struct buffer_create, pd)},
};

enum vbd_status vbd_buffer_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_buffer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct buffer_create input = {.spec = {.origin = *origin, .kind = VBD_MEM_ANONYMOUS}};
	enum vbd_status status =
		vbd_decode_all(json, "", VBD_FIELDS(create_fields), &input, faults, err);

	if (status == VBD_OK)
		status = vbd_members_find(
			daemon, origin->caller, json, "", VBD_FIELDS(create_fields), &input, err);
	input.spec.pd_id = input.pd ? input.pd->id : 0;
	*ret_spec = input.spec;
	return status;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_buffer, state)
VBD_PAGE_TEXT(by_device, struct vbd_buffer, device.name)
VBD_PAGE_NUMBER(by_pd, struct vbd_buffer, pd_id)
VBD_PAGE_NUMBER(by_size, struct vbd_buffer, mem.size_bytes)
VBD_PAGE_NUMBER(by_users, struct vbd_buffer, users)

static const struct vbd_page_column buffer_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"size_bytes", VBD_SORTS, .number = by_size},
	VBD_COLUMN_CREATED,
	{"user_count", VBD_SORTS, .number = by_users},
	VBD_COLUMN_DEVICE(VBD_SELECTS, by_device),
	{"pd", VBD_SELECTS, .kind = VBD_KIND_PD, .number = by_pd},
	{.name = NULL},
};

static enum vbd_status delete_buffer(struct vbd_object *object, struct vbd_error *err)
{
	return vbd_buffer_delete(VBD_CONTAINER_OF(object, struct vbd_buffer, object), err);
}

static void find_users(const struct vbd_object *object, const struct vbd_caller *caller,
	struct vbd_users *ret_users)
{
	vbd_buffer_users_of(
		VBD_CONTAINER_OF(object, const struct vbd_buffer, object), caller, ret_users);
}

const struct vbd_task_kind vbd_buffer_task = {
	.kind = VBD_KIND_BUFFER,
	/* As a task, a buffer is done when it is registered. */
	.done = ~VBD_STATES(VBD_BUFFER_REGISTERING) & ~VBD_STATES(VBD_BUFFER_FAILED),
	.failed = VBD_STATES(VBD_BUFFER_FAILED),
	.answer = vbd_task_answer_made,
	.remove = delete_buffer,
	.users = find_users,
	.page.members = vbd_buffer_members,
	.page.columns = buffer_columns,
	.page.states = VBD_PAGE_STATES(VBD_BUFFER_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_buffer,
};

enum { ACCESS_WRITE, ACCESS_READ };

static const char *const access_names[] = {
	[ACCESS_WRITE] = "write",
	[ACCESS_READ] = "read",
};

static enum vbd_status pass_descriptor(struct vbd_request *req, const struct vbd_buffer *buffer)
{
	size_t access = ACCESS_WRITE;
	enum vbd_status status = vbd_query_enum(
		req, "access", access_names, VBD_ARRAY_LEN(access_names), &access, &req->err);
	int fd;

	if (status == VBD_OK)
		status = vbd_buffer_open(buffer, access == ACCESS_WRITE, &fd, &req->err);
	if (status != VBD_OK)
		return status;
	status = req->transport->pass_fd(req, fd, &req->err);
	(void)close(fd);
	return status;
}

void vbd_get_buffer_fd(struct vbd_request *req)
{
	const struct vbd_buffer *buffer = vbd_task_find(req, &vbd_buffer_task);
	char tag[VBD_TAG_BYTES];

	if (!buffer || vbd_task_unchanged(req, &vbd_buffer_task, buffer, &req->err) != VBD_OK)
		return;
	if (vbd_condition_is_known(req, vbd_task_tag(req, &vbd_buffer_task, buffer, tag)) ||
		pass_descriptor(req, buffer) == VBD_OK)
		vbd_task_reply(req, 200, &vbd_buffer_task, buffer);
}
