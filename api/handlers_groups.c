/* SPDX-License-Identifier: Apache-2.0 */
#include "api/encode.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/waiter.h"
#include "daemon/groups.h"

#include <stdlib.h>
#include <string.h>

/* --- one group ------------------------------------------------------------------------------- */

static json_t *encode_group(const void *item, struct vbd_request *req)
{
	const struct vbd_group_record *record = item;
	const struct vbd_group *group = &record->group;
	struct vbd_encoder out = vbd_encode_begin();
	char mgid[VBD_GID_TEXT_BYTES];

	vbd_put_object(&out, &record->object);
	vbd_put_text(&out, "state", vbd_group_state_json(group->state));
	vbd_put_text_or_null(&out, "waits_for", vbd_group_state_waits_for(group->state));
	vbd_put_u64(&out, "endpoint", record->endpoint_id);
	vbd_put_address(&out, "addr", &group->addr);
	vbd_put_text(&out, "mode", vbd_group_mode_name(group->mode));
	vbd_put_text(&out, "mgid", group->known ? vbd_gid_text(group->path.dgid, mgid) : NULL);
	vbd_put_u64_or_null(&out, "mlid", group->known, group->path.dlid);
	vbd_put_u64_or_null(&out, "sl", group->known, group->path.sl);
	if (req->role == VBD_ROLE_CONTROL && group->known)
		vbd_put_hex(&out, "qkey", group->qkey, 8);
	else if (req->role == VBD_ROLE_CONTROL)
		vbd_put_null(&out, "qkey");
	vbd_put_u64(&out, "users", group->users);
	vbd_put_u64(&out, "timeout_ms", record->timeout_ms);
	vbd_put(&out, "error", vbd_encode_error(&group->error));
	vbd_put_time(&out, "created_at", record->created_ns);
	return vbd_encode_end(&out);
}

/* The group of the path; NULL, and an answer, if there is none. */
static struct vbd_group_record *find(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_group_record *record = vbd_group_find(vbd_request_daemon(req), req->ref, &err);

	if (!record)
		vbd_reply_problem(req, &err);
	return record;
}

void vbd_get_group(struct vbd_request *req)
{
	struct vbd_group_record *record = find(req);

	if (record)
		vbd_reply_json(req, 200, encode_group(record, req));
}

/* --- waiting --------------------------------------------------------------------------------- */

struct group_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_group_record *record;
};

static void answer_join(struct vbd_waiter *base, enum vbd_wake why)
{
	struct group_waiter *waiter = VBD_CONTAINER_OF(base, struct group_waiter, waiter);
	struct vbd_group_record *record = waiter->record;
	struct vbd_request *req = base->req;
	struct vbd_error err = {0};
	bool joined;

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the group was left meanwhile");
		vbd_reply_problem(req, &err);
		return;
	}
	joined = record->group.state == VBD_GROUP_IS_JOINED;
	/* Without a wait the state is told as it is; with one, why it failed is the answer. */
	if (record->group.state == VBD_GROUP_IS_FAILED && req->wait_asked) {
		vbd_group_problem(record, &err);
		vbd_reply_problem(req, &err);
		return;
	}
	if (!joined && why != VBD_WAKE_TIMEOUT)
		return;
	vbd_request_add_location(req, "groups", record->object.id);
	vbd_reply_json(req, joined ? 201 : 202, encode_group(record, req));
}

static void answer_leave(struct vbd_waiter *base, enum vbd_wake why)
{
	struct group_waiter *waiter = VBD_CONTAINER_OF(base, struct group_waiter, waiter);

	if (why == VBD_WAKE_OBJECT_GONE)
		vbd_reply_empty(base->req, 204);
	else if (why == VBD_WAKE_TIMEOUT)
		vbd_reply_json(base->req, 202, encode_group(waiter->record, base->req));
}

static void wait_for(struct vbd_request *req, struct vbd_group_record *record,
	void (*answer)(struct vbd_waiter *waiter, enum vbd_wake why))
{
	struct group_waiter *waiter = calloc(1, sizeof(*waiter));
	struct vbd_error err = {0};

	if (!waiter) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory to wait");
		vbd_reply_problem(req, &err);
		return;
	}
	waiter->waiter.answer = answer;
	waiter->record = record;
	vbd_waiter_run(&waiter->waiter, req, &record->watches, (uint64_t)req->wait_s * 1000);
}

void vbd_delete_group(struct vbd_request *req)
{
	struct vbd_group_record *record = find(req);

	if (!record)
		return;
	vbd_group_forget(record);
	if (vbd_group_state_ended(record->group.state) && record->group.users == 0)
		vbd_reply_empty(req, 204);
	else
		wait_for(req, record, answer_leave);
}

/* --- creation -------------------------------------------------------------------------------- */

struct group_create {
	const char *name;
	struct vbd_json_ref endpoint;
	const char *addr;
	enum vbd_group_mode mode;
	uint32_t timeout_ms;
};

static const char *const mode_names[VBD_GROUP_MODE_COUNT] = {
#define MODE_NAME(sym, json) [VBD_GROUP_##sym] = json,
	VBD_GROUP_MODE_MAP(MODE_NAME)
#undef MODE_NAME
};

static const struct vbd_field create_fields[] = {
	{.name = "name",
		.type = VBD_FIELD_STRING,
		VBD_FIELD_AT(struct group_create, name),
		.max = 63,
		.check = vbd_name_valid,
		.check_text = VBD_NAME_RULE},
	{.name = "endpoint",
		.type = VBD_FIELD_REF,
		.required = true,
		VBD_FIELD_AT(struct group_create, endpoint)},
	{.name = "addr",
		.type = VBD_FIELD_STRING,
		.required = true,
		VBD_FIELD_AT(struct group_create, addr),
		.min = 1,
		.max = 255},
	{.name = "mode",
		.type = VBD_FIELD_ENUM,
		VBD_FIELD_AT(struct group_create, mode),
		.names = mode_names,
		.n_names = VBD_GROUP_MODE_COUNT},
	{.name = "timeout_ms",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct group_create, timeout_ms),
		.min = 1,
		.max = 600000},
};

static enum vbd_status decode_create(
	const struct vbd_request *req, struct vbd_group_spec *spec, struct vbd_error *err)
{
	struct group_create input = {.timeout_ms = 10000};
	char text[VBD_REF_TEXT_BYTES];
	enum vbd_status status =
		vbd_decode(req->json, create_fields, VBD_ARRAY_LEN(create_fields), &input, err);

	if (status != VBD_OK)
		return status;
	*spec = (struct vbd_group_spec){.mode = input.mode, .timeout_ms = input.timeout_ms};
	vbd_copy_text(spec->name, sizeof(spec->name), input.name);
	vbd_copy_text(spec->addr, sizeof(spec->addr), input.addr);
	spec->endpoint = vbd_endpoint_find(
		vbd_request_daemon(req), vbd_ref_text(&input.endpoint, text), err);
	if (spec->endpoint)
		return VBD_OK;
	vbd_blame(err, "/endpoint");
	return VBD_E_NOT_FOUND;
}

void vbd_create_group(struct vbd_request *req)
{
	struct vbd_group_record *record;
	struct vbd_group_spec spec;
	struct vbd_error err = {0};

	if (decode_create(req, &spec, &err) != VBD_OK ||
		vbd_group_create(vbd_request_daemon(req), &spec, &record, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	wait_for(req, record, answer_join);
}

/* --- list ------------------------------------------------------------------------------------ */

static void walk_groups(void *context, vbd_page_visit_cb visit, void *visitor)
{
	vbd_walk_registry(((struct vbd_api *)context)->daemon->groups, visit, visitor);
}

static const struct vbd_group_record *record_of(const void *item)
{
	return item;
}

static bool group_in_state(const void *item, const char *state)
{
	return strcmp(vbd_group_state_json(record_of(item)->group.state), state) == 0;
}

VBD_PAGE_BY(by_state, record_of, group.state)
VBD_PAGE_BY(by_endpoint, record_of, endpoint_id)
VBD_PAGE_BY(by_created, record_of, created_ns)

static const char *const group_fields[] = {"id", "name", "state", "waits_for", "endpoint", "addr",
	"mode", "mgid", "mlid", "sl", "qkey", "users", "timeout_ms", "error", "created_at", NULL};
static const char *const group_states[] = {"joining", "joined", "leaving", "left", "failed", NULL};

static const struct vbd_page_key group_keys[] = {
	{"name", vbd_object_compare_name},
	{"state", by_state},
	{"endpoint", by_endpoint},
	{"created_at", by_created},
	{NULL, NULL},
};

static const struct vbd_page_source group_page = {
	.fields = group_fields,
	.keys = group_keys,
	.states = group_states,
	.in_state = group_in_state,
	.id = vbd_object_id,
	.walk = walk_groups,
	.encode = encode_group,
};

void vbd_list_groups(struct vbd_request *req)
{
	vbd_page_reply(req, &group_page);
}
