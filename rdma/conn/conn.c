/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn.h"

#include "base/clock.h"
#include "rdma/conn/conn_parts.h"
#include "rdma/provider/provider.h"

static struct vbd_conn *alloc_conn(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg)
{
	struct vbd_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->tag.kind = VBD_CM_CONN;
	conn->id = id;
	conn->fabric = fabric;
	conn->params = *params;
	conn->cm = *cm;
	conn->timeout_ms = timeout_ms;
	conn->ops = ops;
	conn->ops_arg = ops_arg;
	conn->call_done = vbd_conn_on_call_done;
	vbd_qp_init(&conn->qp, fabric, &conn->account, id, &vbd_conn_qp_ops);
	conn->qp.fault_subject = ops_arg;
	conn->created_ns = vbd_clock_mono_ns();
	conn->peer_responder_resources = UINT8_MAX;
	conn->peer_initiator_depth = UINT8_MAX;
	return conn;
}

enum vbd_status vbd_conn_create_queued(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err)
{
	struct vbd_conn *conn = alloc_conn(fabric, id, params, cm, timeout_ms, ops, ops_arg);

	if (!conn)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	conn->cm.private_data.message = VBD_CM_MESSAGE_REQUEST;
	conn->state = VBD_CONN_QUEUED;
	*ret_conn = conn;
	return VBD_OK;
}

enum vbd_status vbd_conn_create(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err)
{
	struct vbd_conn *conn;
	enum vbd_status status = vbd_conn_create_queued(
		fabric, id, params, cm, timeout_ms, ops, ops_arg, &conn, err);

	if (status)
		return status;
	conn->state = VBD_CONN_RESOLVING_ADDR;
	*ret_conn = conn;
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "");
	vbd_conn_set_deadline(conn, timeout_ms);
	return VBD_OK;
}

void vbd_conn_begin(struct vbd_conn *conn)
{
	vbd_conn_raise(conn, VBD_CONN_EV_BEGIN);
}

enum vbd_status vbd_conn_create_manual(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_device *device,
	const struct vbd_manual_local *local, uint64_t timeout_ms, const struct vbd_conn_ops *ops,
	void *ops_arg, struct vbd_conn **ret_conn, struct vbd_error *err)
{
	const struct vbd_cm_params cm = vbd_cm_params_default();
	struct vbd_conn *conn = alloc_conn(fabric, id, params, &cm, timeout_ms, ops, ops_arg);

	if (conn)
		conn->manual = calloc(1, sizeof(*conn->manual));
	if (!conn || !conn->manual) {
		free(conn);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	}
	conn->manual->local = *local;
	/* Part of the attributes for the peer, so that both sides use it. */
	if (params->path_mtu_bytes && params->path_mtu_bytes < local->port_mtu_bytes)
		conn->manual->local.port_mtu_bytes = params->path_mtu_bytes;
	conn->manual->local.responder_resources = vbd_conn_lowered(
		params->responder_resources, device->attr.max_qp_rd_atom, UINT8_MAX);
	conn->manual->local.initiator_depth = vbd_conn_lowered(
		params->initiator_depth, device->attr.max_qp_init_rd_atom, UINT8_MAX);
	conn->device = vbd_device_id_of(device);
	conn->port_num = local->port_num;
	conn->state = VBD_CONN_AWAITING_REMOTE;
	*ret_conn = conn;
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "");
	return VBD_OK;
}

void vbd_conn_open_manual(struct vbd_conn *conn, bool stay_in_reset)
{
	struct vbd_error error = {0};

	conn->manual->stay_in_reset = stay_in_reset;
	vbd_conn_set_deadline(conn, conn->timeout_ms);
	if (vbd_conn_qp_prepare(conn, &error) != VBD_OK)
		vbd_conn_step_error(conn, VBD_CONN_EV_CALL_FAILED, &error);
	else if (!conn->calling)
		vbd_conn_raise(conn, VBD_CONN_EV_PREPARED);
}

void vbd_conn_resolve(struct vbd_conn *conn, const struct sockaddr *dst)
{
	struct sockaddr_storage addr = {0};
	struct vbd_error error = {0};

	memcpy(&addr, dst, vbd_sockaddr_bytes(dst));
	if (vbd_conn_tries_begin(conn, &addr, 1, false, &error) != VBD_OK)
		vbd_conn_step_error(conn, VBD_CONN_EV_CALL_FAILED, &error);
}

void vbd_conn_resolve_named(struct vbd_conn *conn, const struct vbd_addrs *addrs)
{
	struct vbd_error error = {0};

	if (vbd_conn_tries_begin(conn, addrs->items, addrs->count, true, &error) != VBD_OK)
		vbd_conn_step_error(conn, VBD_CONN_EV_CALL_FAILED, &error);
}

void vbd_conn_name_failed(struct vbd_conn *conn, const struct vbd_error *why)
{
	vbd_conn_tries_name_failed(conn);
	vbd_conn_step_error(conn, VBD_CONN_EV_NAME_FAILED, why);
}

enum vbd_status vbd_conn_create_passive(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm,
	uint64_t decide_timeout_ms, const struct vbd_pv_cm_event *request,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err)
{
	struct vbd_conn *conn = alloc_conn(fabric, id, params, cm, decide_timeout_ms, ops, ops_arg);

	if (!conn)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	conn->cm.private_data.message = VBD_CM_MESSAGE_REPLY;
	conn->passive = true;
	conn->state = VBD_CONN_REQUESTED;
	conn->cm_id = request->id;
	vbd_account_hand_over(NULL, &conn->account, VBD_PV_CM_ID);
	vbd_pv_set_id_context(conn->cm_id, &conn->tag);
	vbd_conn_cm_take_device(conn);
	vbd_conn_cm_take_addresses(conn);
	vbd_conn_cm_take_peer_data(conn, request);
	*ret_conn = conn;
	vbd_conn_notef(conn, VBD_TIMELINE_CM_EVENT, vbd_cm_event_name((int)request->type),
		"rqpn 0x%06x, status %d", request->qp_num, request->status);
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "");
	vbd_conn_set_deadline(conn, decide_timeout_ms);
	return VBD_OK;
}

static enum vbd_status check_state_requested(const struct vbd_conn *conn, struct vbd_error *err)
{
	if (vbd_conn_rule(conn->state, VBD_CONN_EV_CMD_ACCEPT)->action != VBD_CONN_DO_REFUSE)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"connection %llu is %s; only a requested connection can be accepted or rejected",
		(unsigned long long)conn->id, vbd_conn_state_name(conn->state));
}

enum vbd_status vbd_conn_accept(struct vbd_conn *conn, int service,
	const struct vbd_private_data *reply, struct vbd_error *err)
{
	enum vbd_status status = check_state_requested(conn, err);

	if (status)
		return status;
	if (service >= 0)
		conn->params.qp.service = (enum vbd_service)service;
	if (reply) {
		conn->cm.private_data = *reply;
		conn->cm.private_data.message = VBD_CM_MESSAGE_REPLY;
	}
	vbd_conn_notef(conn, VBD_TIMELINE_COMMAND, "accept", "service %s",
		vbd_service_name(conn->params.qp.service));
	vbd_conn_raise(conn, VBD_CONN_EV_CMD_ACCEPT);
	return VBD_OK;
}

enum vbd_status vbd_conn_reject(struct vbd_conn *conn, const struct vbd_private_data *private_data,
	bool vendor_option, struct vbd_error *err)
{
	enum vbd_status status = check_state_requested(conn, err);

	if (status)
		return status;
	conn->cm.private_data =
		private_data ? *private_data : (struct vbd_private_data){.length_bytes = 0};
	conn->cm.private_data.message = VBD_CM_MESSAGE_REJECT;
	conn->reject_vendor_option = vendor_option;
	vbd_conn_notef(conn, VBD_TIMELINE_COMMAND, "reject", "%u bytes of private data",
		conn->cm.private_data.length_bytes);
	vbd_conn_raise(conn, VBD_CONN_EV_CMD_REJECT);
	return VBD_OK;
}

void vbd_conn_destroy(struct vbd_conn *conn)
{
	if (!conn)
		return;
	vbd_timeline_fini(&conn->timeline);
	vbd_qp_fini(&conn->qp);
	vbd_account_close(&conn->account);
	free(conn->manual);
	free(conn->tries);
	free(conn);
}
