/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections are made: by the CM, or by hand, with the peer's attributes and the steps of the QP.
 */
#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "api/core/qp_params.h"
#include "api/work/transfers.h"
#include "daemon/connections/connections.h"

/* The members of ConnectionCreate for one kind of bring-up only. */
static const char *const cm_members[] = {
	"dst_addr", "dst_port", "src_addr", "src_port", "tos", "private_data", "reuse_addr", NULL};
static const char *const manual_members[] = {
	"port_num", "gid_index", "pkey_index", "sl", "psn", "initial_state", NULL};

static enum vbd_status refuse_members(
	const json_t *json, const char *const *members, const char *bringup, struct vbd_error *err)
{
	char pointer[40];

	for (; *members; members++) {
		if (!vbd_given(json, *members))
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/%s", *members);
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s is allowed with bringup %s only", *members, bringup);
	}
	return VBD_OK;
}

bool vbd_manual_requested(const json_t *json)
{
	const char *bringup = json_string_value(json_object_get(json, "bringup"));

	return bringup && strcmp(bringup, vbd_bringup_names[VBD_BRINGUP_MANUAL]) == 0;
}

/* The members `bringup` and `qp_type` of a struct that has `enum vbd_bringup bringup` and `enum
 * vbd_qp_transport qp_type`. */
#define BRINGUP_FIELDS(type_)                                                            \
	{VBD_FIELD(ENUM, "bringup", type_, bringup), VBD_NAMES(vbd_bringup_names)},      \
	{                                                                                \
		VBD_FIELD(ENUM, "qp_type", type_, qp_type), VBD_NAMES(vbd_qp_type_names) \
	}

/* --- creation by the CM ---------------------------------------------------------------------- */

struct connection_create {
	struct vbd_connection_spec spec;
	enum vbd_bringup bringup;
	enum vbd_qp_transport qp_type;
	struct vbd_private_data_input private_data;
	struct vbd_qp_input qp;
};

static const struct vbd_field cm_fields[] = {
	BRINGUP_FIELDS(struct connection_create),
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
	{VBD_FIELD(DEVICE, "device", struct connection_create, spec.cm.device)},
	{VBD_FIELD(UINT, "src_port", struct connection_create, spec.cm.src_port), .min = 1,
		.max = 65535},
	{VBD_FIELD(BOOL, "reuse_addr", struct connection_create, spec.cm.reuse_addr)},
	VBD_PRIVATE_DATA_FIELD(struct connection_create),
	VBD_QP_FIELDS(struct connection_create),
};

enum vbd_status vbd_connection_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, bool kept, struct vbd_connection_spec *ret_spec,
	struct vbd_faults *faults, struct vbd_error *err)
{
	struct connection_create input = {
		.spec = {.timeout_ms = 10000, .cm.tos = -1}, .qp = vbd_qp_input_default()};
	struct vbd_cm_params *cm = &input.spec.cm;
	enum vbd_status status = refuse_members(json, manual_members, "manual", err);

	if (status == VBD_OK)
		status = vbd_decode_all(json, "", VBD_FIELDS(cm_fields), &input, faults, err);
	if (status == VBD_OK)
		status = vbd_qp_input_check(daemon, origin->caller, &input.qp, err);
	if (status == VBD_OK && input.qp_type != VBD_TRANSPORT_RC)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/qp_type",
			"the CM brings up rc only; uc needs bringup manual");
	if (kept)
		vbd_qp_input_heartbeat(&input.qp, VBD_KEPT_HEARTBEAT_MS);
	if (status == VBD_OK)
		status = vbd_private_data_decode(&input.private_data, &cm->private_data, err);
	if (status == VBD_OK)
		status = vbd_members_find(
			daemon, origin->caller, json, "", VBD_FIELDS(cm_fields), &input, err);
	*ret_spec = input.spec;
	ret_spec->origin = *origin;
	ret_spec->params = input.qp.params;
	return status;
}

/* --- creation by hand ------------------------------------------------------------------------ */

struct manual_create {
	enum vbd_bringup bringup;
	enum vbd_qp_transport qp_type;
	struct vbd_manual_spec spec;
	bool to_init;
	struct vbd_qp_input qp;
};

/* The states in which a creation may leave the QP. Index: `to_init`. */
static const char *const initial_states[] = {"RESET", "INIT"};

static const struct vbd_field manual_fields[] = {
	BRINGUP_FIELDS(struct manual_create),
	{VBD_FIELD_NAME(struct manual_create, spec.name)},
	{VBD_FIELD(DEVICE, "device", struct manual_create, spec.device)},
	{VBD_FIELD(UINT, "timeout_ms", struct manual_create, spec.timeout_ms), .min = 1,
		.max = 600000},
	{VBD_FIELD(UINT, "port_num", struct manual_create, spec.how.port_num), .min = 1,
		.max = 255},
	{VBD_FIELD(UINT, "gid_index", struct manual_create, spec.how.gid_index), .max = 255,
		VBD_FIELD_SEEN(struct manual_create, spec.how.gid_index_given)},
	{VBD_FIELD(UINT, "pkey_index", struct manual_create, spec.how.pkey_index), .max = 65535},
	{VBD_FIELD(UINT, "sl", struct manual_create, spec.how.sl), .max = 15},
	{VBD_FIELD(UINT, "psn", struct manual_create, spec.how.psn), .max = 0xffffff,
		VBD_FIELD_SEEN(struct manual_create, spec.how.psn_given)},
	{VBD_FIELD(ENUM, "initial_state", struct manual_create, to_init),
		VBD_NAMES(initial_states)},
	VBD_QP_FIELDS(struct manual_create),
};

static enum vbd_status decode_manual(
	struct vbd_request *req, struct vbd_manual_spec *ret_spec, struct vbd_error *err)
{
	struct manual_create input = {
		.spec = {.origin = vbd_request_origin(req), .how.port_num = 1},
		.to_init = true,
		.qp = vbd_qp_input_default(),
	};
	struct vbd_manual_spec *spec = &input.spec;
	enum vbd_status status = refuse_members(req->json, cm_members, "cm", err);

	if (!status)
		status = vbd_request_decode_found(req, VBD_FIELDS(manual_fields), &input, err);
	if (!status)
		status = vbd_qp_input_check(vbd_request_daemon(req), req->caller, &input.qp, err);
	/* A QP that is moved to RESET would delete receives of the SRQ. */
	if (status == VBD_OK && input.qp.seen.srq)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/srq",
			"a connection that is brought up by hand has receives of its own");
	spec->how.stay_in_reset = !input.to_init;
	spec->params = input.qp.params;
	spec->params.qp.transport = input.qp_type;
	*ret_spec = *spec;
	return status;
}

void vbd_create_by_hand(struct vbd_request *req)
{
	struct vbd_manual_spec spec;
	struct vbd_connection *connection;

	if (decode_manual(req, &spec, &req->err) == VBD_OK &&
		vbd_connection_create_manual(
			vbd_request_daemon(req), &spec, &connection, &req->err) == VBD_OK)
		vbd_task_answer_post(req, &vbd_connection_task, &connection->object);
}

/* --- the peer's attributes ------------------------------------------------------------------- */

struct remote_input {
	const char *gid;
	unsigned int gid_index; /* of the peer; part of its `manual.local`, and not needed here */
	enum vbd_qp_transport qp_type;
	unsigned int bring_to;
	struct vbd_manual_remote remote;
};

static const char *const goals[] = {"RTR", "RTS"};
static const enum vbd_qp_step goal_steps[] = {VBD_QP_TO_RTR, VBD_QP_TO_RTS};
#define GOAL_RTS 1

static bool gid_valid(const char *text)
{
	uint8_t gid[16];

	return vbd_addr_parse_gid(text, gid);
}

static bool mtu_valid(uint32_t bytes)
{
	return vbd_mtu_of_bytes(bytes) != 0;
}

static enum vbd_status refuse_mtu(const char *pointer, struct vbd_error *err)
{
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, pointer, "must be 256, 512, 1024, 2048 or 4096");
}

static const struct vbd_field remote_fields[] = {
	{VBD_FIELD(UINT, "lid", struct remote_input, remote.lid), .max = 65535},
	{VBD_FIELD(STRING, "gid", struct remote_input, gid), .min = 2, .max = 45,
		.check = gid_valid, .check_text = "must be written like an IPv6 address"},
	{VBD_FIELD(UINT, "gid_index", struct remote_input, gid_index), .max = 255},
	{VBD_FIELD(UINT, "qpn", struct remote_input, remote.qpn), .required = true, .min = 2,
		.max = 0xffffff},
	{VBD_FIELD(UINT, "psn", struct remote_input, remote.psn), .required = true,
		.max = 0xffffff},
	{VBD_FIELD(UINT, "port_mtu_bytes", struct remote_input, remote.port_mtu_bytes), .min = 256,
		.max = 4096},
	{VBD_FIELD(UINT, "sl", struct remote_input, remote.sl), .max = 15},
	{VBD_FIELD(UINT, "hop_limit", struct remote_input, remote.hop_limit), .max = 255},
	{VBD_FIELD(UINT, "traffic_class", struct remote_input, remote.traffic_class), .max = 255},
	{VBD_FIELD(UINT, "flow_label", struct remote_input, remote.flow_label), .max = 0xfffff},
	{VBD_FIELD(ENUM, "qp_type", struct remote_input, qp_type), VBD_NAMES(vbd_qp_type_names)},
	{VBD_FIELD(TEXT, "gid_type", struct remote_input, remote.gid_type), .min = 1, .max = 15},
	{VBD_FIELD(UINT, "path_mtu_bytes", struct remote_input, remote.path_mtu_bytes), .min = 256,
		.max = 4096, .nullable = true},
	{VBD_FIELD(UINT, "responder_resources", struct remote_input, remote.responder_resources),
		.max = VBD_DEPTH_UNKNOWN - 1},
	{VBD_FIELD(UINT, "initiator_depth", struct remote_input, remote.initiator_depth),
		.max = VBD_DEPTH_UNKNOWN - 1},
	{VBD_FIELD(UINT, "recv_size_bytes", struct remote_input, remote.recv_size_bytes), .min = 1,
		.max = UINT32_MAX, .nullable = true},
	{VBD_FIELD(ENUM, "bring_to", struct remote_input, bring_to), VBD_NAMES(goals)},
};

static enum vbd_status decode_remote(
	struct vbd_request *req, struct remote_input *input, struct vbd_error *err)
{
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(remote_fields), input, err);

	if (status)
		return status;
	if (input->remote.port_mtu_bytes && !mtu_valid(input->remote.port_mtu_bytes))
		return refuse_mtu("/port_mtu_bytes", err);
	if (input->remote.path_mtu_bytes && !mtu_valid(input->remote.path_mtu_bytes))
		return refuse_mtu("/path_mtu_bytes", err);
	if (vbd_given(req->json, "qp_type"))
		input->remote.qp_type = vbd_qp_type_names[input->qp_type];
	if (input->gid)
		(void)vbd_addr_parse_gid(input->gid, input->remote.gid);
	return VBD_OK;
}

void vbd_set_remote(struct vbd_request *req)
{
	struct remote_input input = {
		.bring_to = GOAL_RTS,
		.remote = {.hop_limit = 64,
			.responder_resources = VBD_DEPTH_UNKNOWN,
			.initiator_depth = VBD_DEPTH_UNKNOWN},
	};
	struct vbd_connection *connection = vbd_request_connection(req);

	if (!connection || decode_remote(req, &input, &req->err) != VBD_OK)
		return;
	if (!vbd_given(req->json, "sl") && connection->conn->manual)
		input.remote.sl = connection->conn->manual->local.sl;
	if (vbd_conn_remote(connection->conn, &input.remote, goal_steps[input.bring_to],
		    &req->err) == VBD_OK)
		vbd_connection_wait(req, connection, VBD_GOAL_STEPPED, 200);
}

/* --- steps ----------------------------------------------------------------------------------- */

static const char *const step_names[VBD_QP_STEP_COUNT] = {
#define STEP_NAME(sym, json) [VBD_QP_TO_##sym] = json,
	VBD_QP_STEP_MAP(STEP_NAME)
#undef STEP_NAME
};

struct qp_state_input {
	enum vbd_qp_step state;
};

static const struct vbd_field qp_state_fields[] = {
	{VBD_FIELD(ENUM, "state", struct qp_state_input, state), .required = true,
		VBD_NAMES(step_names)},
};

void vbd_set_qp_state(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct qp_state_input input = {0};

	if (connection &&
		vbd_request_decode(req, VBD_FIELDS(qp_state_fields), &input, &req->err) == VBD_OK &&
		vbd_conn_set_qp_state(connection->conn, input.state, &req->err) == VBD_OK)
		vbd_connection_wait(req, connection, VBD_GOAL_STEPPED, 200);
}

/* --- many by one request --------------------------------------------------------------------- */

static enum vbd_status prepare_connections(struct vbd_request *req,
	const struct vbd_batch_input *input, const json_t *json, struct vbd_batch_made *made,
	struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_connection_spec spec;
	enum vbd_status status;

	if (vbd_manual_requested(json))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/bringup",
			"connections of a batch are brought up by the CM; a connection with "
			"bringup manual needs a request of its own");
	status = vbd_connection_decode(daemon, &origin, json, false, &spec, &req->faults, err);
	if (status)
		return status;
	spec.count = input->count;
	spec.numbered = vbd_given(req->json, "count");
	status = vbd_connections_prepare(daemon, &spec, &made->objects[made->count], err);
	made->count += status ? 0 : spec.count;
	return status;
}

void vbd_create_connection_batch(struct vbd_request *req)
{
	static const struct vbd_field fields[] = {
		{VBD_FIELD(ARRAY, "connections", struct vbd_batch_input, items), .required = true,
			.min = 1, .max = VBD_BATCH_MAX},
		{VBD_FIELD(UINT, "count", struct vbd_batch_input, count), .min = 1,
			.max = VBD_BATCH_MAX},
	};
	static const struct vbd_batch_form form = {
		"connection", &vbd_connection_batch_ops, VBD_FIELDS(fields), prepare_connections};

	vbd_batch_answer(req, &form);
}
