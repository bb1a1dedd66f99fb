/* SPDX-License-Identifier: Apache-2.0 */
/* caller: who sends the requests, and its quotas. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

static const struct vbd_ctl_column quota_columns[] = {VBD_CTL_TEXT("QUOTA", "name"),
	VBD_CTL_NUMBER("USED", "used"), VBD_CTL_NUMBER("LIMIT", "limit")};

/* A new array with a row for each quota; NULL without memory. */
static json_t *rows_of(const json_t *quotas)
{
	json_t *rows = json_array();
	const char *name;
	json_t *quota;

	json_object_foreach((json_t *)quotas, name, quota)
	{
		json_t *row = json_pack("{s:s, s:O?, s:O?}", "name", name, "used",
			json_object_get(quota, "used"), "limit", json_object_get(quota, "limit"));

		(void)json_array_append_new(rows, row);
	}
	return rows;
}

static void put_caller(const struct vbd_ctl *ctl, json_t *caller)
{
	json_t *rows = rows_of(vbd_ctl_json_at(caller, "quotas"));

	VBD_CTL_MEMBERS_PUT(caller, VBD_CTL_TEXT("caller", "name"), VBD_CTL_TEXT("role", "role"),
		VBD_CTL_TEXT("known by", "authenticated_by"),
		VBD_CTL_TEXT("certificate", "certificate_name"),
		VBD_CTL_TIME("expires", "expires_at"), VBD_CTL_TEXT("client", "client"));
	vbd_ctl_heading_put("quotas");
	vbd_ctl_table_put(quota_columns, VBD_ARRAY_LEN(quota_columns), rows, ctl->color);
	json_decref(rows);
}

enum vbd_ctl_exit vbd_ctl_caller(struct vbd_ctl *ctl)
{
	return vbd_ctl_call_put(ctl, "GET", "/v1/caller", NULL, VBD_CTL_NO_WAIT, put_caller);
}
