/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/datagrams/endpoints.h"

/* --- one group ------------------------------------------------------------------------------- */

static void encode_group(struct vbd_encoder *out, const void *item)
{
	const struct vbd_group_record *record = item;
	const struct vbd_group *group = &record->group;
	char mgid[VBD_GID_TEXT_BYTES];

	vbd_put_object(out, &record->object);
	vbd_put_text(out, "state", vbd_group_state_json(group->state));
	vbd_put_text_or_null(out, "waits_for", vbd_group_state_waits_for(group->state));
	vbd_put_ref(out, "ud_endpoint", record->object.registry->daemon->ud_endpoints,
		record->endpoint_id);
	vbd_put_address(out, "addr", &group->addr);
	vbd_put_text(out, "mode", vbd_group_mode_name(group->mode));
	vbd_put_text(
		out, "mgid", group->known ? vbd_gid_text(group->path.grh.dgid.raw, mgid) : NULL);
	vbd_put_u64_or_null(out, "mlid", group->known, group->path.dlid);
	vbd_put_u64_or_null(out, "sl", group->known, group->path.sl);
	if (group->known)
		vbd_put_hex(out, "qkey", group->qkey, 8);
	else
		vbd_put_null(out, "qkey");
	vbd_put_u64(out, "user_count", group->users);
	vbd_put_u64(out, "timeout_ms", record->timeout_ms);
	vbd_put_error(out, "error", NULL, &group->error, NULL);
	vbd_put_time(out, "created_at", record->object.created_ns);
}

/* --- creation -------------------------------------------------------------------------------- */

static const char *const mode_names[VBD_GROUP_MODE_COUNT] = {VBD_GROUP_MODE_MAP(VBD_ENUM_NAME)};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct vbd_group_spec, name)},
	{VBD_FIELD_OF(UD_ENDPOINT, "ud_endpoint", struct vbd_group_spec, endpoint),
		.required = true},
	{VBD_FIELD(TEXT, "addr", struct vbd_group_spec, addr), .required = true, .min = 1,
		.max = 255},
	{VBD_FIELD(ENUM, "mode", struct vbd_group_spec, mode), VBD_NAMES(mode_names)},
	{VBD_FIELD(UINT, "timeout_ms", struct vbd_group_spec, timeout_ms), .min = 1, .max = 600000},
};

static void *create_group(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_group_spec spec = {.origin = vbd_request_origin(req), .timeout_ms = 10000};
	struct vbd_group_record *record = NULL;

	if (vbd_request_decode_found(req, VBD_FIELDS(create_fields), &spec, err) == VBD_OK)
		(void)!vbd_group_create(vbd_request_daemon(req), &spec, &record, err);
	return record;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_group_record, group.state)
VBD_PAGE_NUMBER(by_endpoint, struct vbd_group_record, endpoint_id)

static const struct vbd_page_column group_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"ud_endpoint", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_UD_ENDPOINT, .number = by_endpoint},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

const struct vbd_task_kind vbd_multicast_membership_task = {
	.kind = VBD_KIND_MULTICAST_MEMBERSHIP,
	.create = create_group,
	.done = VBD_STATES(VBD_GROUP_IS_JOINED),
	.failed = VBD_STATES(VBD_GROUP_IS_FAILED),
	.page.members = vbd_multicast_membership_members,
	.page.columns = group_columns,
	.page.states = VBD_PAGE_STATES_AWAITED(VBD_GROUP_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_group,
};
