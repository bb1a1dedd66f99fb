/* SPDX-License-Identifier: Apache-2.0 */
/* ConnectionCreate, for the CM. */
#include "api/resources/connections.h"
#include "api/resources/context.h"
#include "api/resources/common_json.h"
#include "api/resources/qp_params.h"
#include "api/resources/task.h"
#include "daemon/connections/connections.h"
#include "daemon/kept/kept.h"

struct connection_create {
	struct vbd_connection_spec spec;
	enum vbd_bringup bringup;
	enum vbd_qp_transport qp_type;
	struct vbd_json_ref device;
	struct vbd_private_data_input private_data;
	struct vbd_qp_input qp;
};

static const struct vbd_field create_fields[] = {
	VBD_BRINGUP_FIELDS(struct connection_create),
	{VBD_FIELD_NAME(struct connection_create, spec.name)},
	{VBD_FIELD(TEXT, "dst_addr", struct connection_create, spec.dst_addr), .required = true,
		.min = 1, .max = 255, .check = vbd_addr_is_host, .check_text = VBD_ADDR_NO_HOST},
	{VBD_FIELD(UINT, "dst_port", struct connection_create, spec.dst_port), .required = true,
		.min = 1, .max = 65535},
	{VBD_FIELD(TEXT, "src_addr", struct connection_create, spec.src_addr), .min = 1, .max = 255,
		.check = vbd_addr_is_own, .check_text = VBD_ADDR_NOT_OWN},
	{VBD_FIELD(UINT, "timeout_ms", struct connection_create, spec.timeout_ms), .min = 1,
		.max = 600000},
	{VBD_FIELD(UINT, "tos", struct connection_create, spec.cm.tos), .max = 255},
	{VBD_FIELD(REF, "device", struct connection_create, device)},
	{VBD_FIELD(UINT, "src_port", struct connection_create, spec.cm.src_port), .min = 1,
		.max = 65535},
	{VBD_FIELD(BOOL, "reuse_addr", struct connection_create, spec.cm.reuse_addr)},
	VBD_PRIVATE_DATA_FIELD(struct connection_create),
	VBD_QP_FIELDS(struct connection_create),
};

static void use_heartbeat(struct vbd_qp_input *qp)
{
	if (qp->seen.heartbeat_ms)
		return;
	qp->params.qp.heartbeat_ms = VBD_KEPT_HEARTBEAT_MS;
	qp->params.qp.heartbeat_if_able = true;
}

enum vbd_status vbd_connection_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, bool kept, struct vbd_connection_spec *ret_spec,
	struct vbd_faults *faults, struct vbd_error *err)
{
	struct connection_create input = {
		.spec = {.timeout_ms = 10000, .cm.tos = -1}, .qp = vbd_qp_input_default()};
	struct vbd_cm_params *cm = &input.spec.cm;
	enum vbd_status status = vbd_manual_refuse_members(json, err);

	if (status == VBD_OK)
		status = vbd_decode_all(json, "", VBD_FIELDS(create_fields), &input, faults, err);
	if (status == VBD_OK)
		status = vbd_qp_input_check(daemon, origin->caller, &input.qp, err);
	if (status == VBD_OK && input.qp_type != VBD_TRANSPORT_RC)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/qp_type",
			"the CM brings up rc only; uc needs bringup manual");
	if (kept)
		use_heartbeat(&input.qp);
	if (status == VBD_OK)
		status = vbd_private_data_decode(&input.private_data, &cm->private_data, err);
	if (status == VBD_OK)
		status = vbd_member_device(
			daemon, &input.device, cm->device, sizeof(cm->device), err);
	*ret_spec = input.spec;
	ret_spec->origin = *origin;
	ret_spec->params = input.qp.params;
	return status;
}
