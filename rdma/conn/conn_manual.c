/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"
#include "rdma/provider/provider.h"

/* Possible steps. */

static int qp_state_of_step(enum vbd_qp_step step)
{
	static const int states[VBD_QP_STEP_COUNT] = {
#define STATE_OF(sym, json) [VBD_QP_TO_##sym] = IBV_QPS_##sym,
		VBD_QP_STEP_MAP(STATE_OF)
#undef STATE_OF
	};

	return states[step];
}

#define TO(state) (1U << IBV_QPS_##state)

static const unsigned int steps[] = {
	[IBV_QPS_RESET] = TO(INIT),
	[IBV_QPS_INIT] = TO(RTR) | TO(ERR) | TO(RESET),
	[IBV_QPS_RTR] = TO(RTS) | TO(ERR) | TO(RESET),
	[IBV_QPS_RTS] = TO(SQD) | TO(ERR) | TO(RESET),
	[IBV_QPS_SQD] = TO(RTS) | TO(ERR) | TO(RESET),
	[IBV_QPS_SQE] = TO(ERR) | TO(RESET),
	[IBV_QPS_ERR] = TO(RESET),
};

static unsigned int steps_from_state(int state)
{
	return (size_t)state < VBD_ARRAY_LEN(steps) ? steps[state] : 0;
}

static enum vbd_status refuse_step(const struct vbd_conn *conn, int to, struct vbd_error *err)
{
	unsigned int possible = steps_from_state(conn->qp.info.state);
	char list[40] = "";
	size_t used = 0;

	for (int state = 0; state < (int)VBD_ARRAY_LEN(steps); state++) {
		if (possible & (1U << state))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				used ? ", " : "", vbd_qp_state_name(state));
	}
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"the QP of connection %llu is in %s and can't go to %s; possible: %s",
		(unsigned long long)conn->id, vbd_qp_state_name(conn->qp.info.state),
		vbd_qp_state_name(to), list);
}

bool vbd_conn_stepping(const struct vbd_conn *conn)
{
	return vbd_conn_is_flushing(conn) || conn->calling != VBD_CONN_CALLS_NOTHING;
}

static enum vbd_status check_qp_movable(const struct vbd_conn *conn, struct vbd_error *err)
{
	unsigned long long id = conn->id;

	if (!conn->manual)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"connection %llu was not created with bringup manual: the CM moves its QP",
			id);
	if (vbd_conn_rule(conn->state, VBD_CONN_EV_CMD_MOVE)->action == VBD_CONN_DO_REFUSE)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "connection %llu is %s", id,
			vbd_conn_state_name(conn->state));
	if (vbd_conn_stepping(conn))
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"an earlier move of the QP of connection %llu is not complete yet", id);
	return VBD_OK;
}

static enum vbd_status check_step(const struct vbd_conn *conn, int to, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {0};

	if (!(steps_from_state(conn->qp.info.state) & (1U << to)))
		return refuse_step(conn, to, err);
	if (to == IBV_QPS_SQD)
		return vbd_device_require(conn->qp.device, VBD_CAP_SQD, err);
	if (to == IBV_QPS_RTR && !conn->manual->has_remote)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"RTR needs the peer's attributes, and connection %llu has none yet: POST "
			"…/remote",
			(unsigned long long)conn->id);
	if (conn->qp.info.state != IBV_QPS_SQD || to != IBV_QPS_RTS)
		return VBD_OK;
	if (vbd_pv_query_qp(conn->qp.ibv_qp, &attr, IBV_QP_STATE, NULL) != VBD_OK ||
		!attr.sq_draining)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"the send queue of connection %llu is still draining",
		(unsigned long long)conn->id);
}

bool vbd_conn_is_flushing(const struct vbd_conn *conn)
{
	return conn->manual && conn->manual->parking;
}

static void record_move_failure(struct vbd_conn *conn)
{
	const struct vbd_error *failure = &conn->manual->failure;

	if (failure->status)
		vbd_conn_notef(conn, VBD_TIMELINE_COMMAND, "move failed", "to %s: %s",
			vbd_qp_state_name(conn->manual->to), failure->text);
}

void vbd_conn_moved(struct vbd_conn *conn, const struct vbd_conn_call *call)
{
	vbd_conn_raise(conn, vbd_conn_move_finish(conn, call));
	record_move_failure(conn);
	if (conn->state == VBD_CONN_DRAINING)
		vbd_conn_raise(conn, VBD_CONN_EV_CALL_RETURNED);
	else if (conn->ops->stepped)
		conn->ops->stepped(conn, conn->ops_arg);
}

/* A move that fails before this function returns fails the command, not the connection. */
static enum vbd_status run_move(struct vbd_conn *conn, int to, int then, struct vbd_error *err)
{
	struct vbd_error failure;

	conn->manual->to = to;
	conn->manual->then = then;
	conn->manual->failure = (struct vbd_error){0};
	vbd_conn_raise(conn, VBD_CONN_EV_CMD_MOVE);
	record_move_failure(conn);
	failure = conn->manual->failure;
	conn->manual->failure = (struct vbd_error){0};
	if (failure.status && err)
		*err = failure;
	return failure.status;
}

enum vbd_status vbd_conn_remote(struct vbd_conn *conn, const struct vbd_manual_remote *remote,
	enum vbd_qp_step bring_to, struct vbd_error *err)
{
	int then = qp_state_of_step(bring_to);
	enum vbd_status status = check_qp_movable(conn, err);

	if (!status && conn->qp.info.state != IBV_QPS_INIT)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"the QP of connection %llu is in %s; the peer's attributes can be set in "
			"INIT only",
			(unsigned long long)conn->id, vbd_qp_state_name(conn->qp.info.state));
	if (!status)
		status = vbd_manual_check_remote(
			&conn->manual->local, conn->params.qp.transport, remote, err);
	if (status)
		return status;
	conn->manual->remote = *remote;
	conn->manual->has_remote = true;
	/* @remote has the peer's limits under the peer's names: its depth is the resources here. */
	conn->peer_responder_resources = remote->initiator_depth;
	conn->peer_initiator_depth = remote->responder_resources;
	conn->qp.peer_recv_size_bytes = remote->recv_size_bytes;
	vbd_conn_notef(conn, VBD_TIMELINE_COMMAND, "remote", "qpn 0x%06x, lid %u, to %s",
		remote->qpn, remote->lid, vbd_qp_state_name(then));
	return run_move(conn, IBV_QPS_RTR, then, err);
}

enum vbd_status vbd_conn_set_qp_state(
	struct vbd_conn *conn, enum vbd_qp_step step, struct vbd_error *err)
{
	int state = qp_state_of_step(step);
	enum vbd_status status = check_qp_movable(conn, err);

	if (!status)
		status = check_step(conn, state, err);
	if (status)
		return status;
	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "qp_state", vbd_qp_state_name(state));
	return run_move(conn, state, state, err);
}
