/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

enum vbd_status vbd_conn_move_open(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_open(conn, err);

	if (!status)
		vbd_channel_pause(conn->qp.channel);
	if (!status && !conn->manual->stay_in_reset)
		status = vbd_conn_qp_attach(conn, err);
	if (!status && conn->ops->stepped)
		conn->ops->stepped(conn, conn->ops_arg);
	return status;
}

/* The functions below record the failure of a step in manual.failure; no event follows. */

static enum vbd_conn_event move_to_rts(struct vbd_conn *conn)
{
	bool was_up = conn->qp.info.state == IBV_QPS_SQD;

	if (vbd_conn_qp_move(conn, IBV_QPS_RTS, &conn->manual->failure) != VBD_OK)
		return VBD_CONN_NO_EVENT;
	vbd_channel_resume(conn->qp.channel);
	return was_up ? VBD_CONN_NO_EVENT : VBD_CONN_EV_QP_UP;
}

/* The neighbour does not answer the kernel, or has no route. */
static bool is_peer_unreachable(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_ERRNO &&
	       (error->raw == ETIMEDOUT || error->raw == EHOSTUNREACH || error->raw == ENETUNREACH);
}

enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn, const struct vbd_conn_call *call)
{
	conn->manual->failure = call->error;
	if (call->status && is_peer_unreachable(&call->error))
		conn->manual->failure.status = VBD_E_ADDR_ERROR;
	/* The connection's end may have begun during the move. */
	if (call->status || conn->manual->then == IBV_QPS_RTR ||
		conn->state != VBD_CONN_AWAITING_REMOTE)
		return VBD_CONN_NO_EVENT;
	return move_to_rts(conn);
}

/* Sends wait in the channel during SQD: Soft-RoCE continues after SQD only when a work request is
 * posted (rxe_qp.c, 6.1). */
static void move_to_sqd(struct vbd_conn *conn)
{
	if (vbd_conn_qp_move(conn, IBV_QPS_SQD, &conn->manual->failure) == VBD_OK)
		vbd_channel_pause(conn->qp.channel);
}

/* RESET alone would remove posted work requests without completions. */
static enum vbd_conn_event move_to_err_or_reset(struct vbd_conn *conn)
{
	bool attached = conn->qp.channel->attached;
	enum vbd_status status = vbd_conn_qp_move(
		conn, attached ? IBV_QPS_ERR : conn->manual->to, &conn->manual->failure);

	if (status || !attached)
		return VBD_CONN_NO_EVENT;
	conn->manual->parking = true;
	return VBD_CONN_EV_QP_DOWN;
}

enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn)
{
	switch (conn->manual->to) {
	case IBV_QPS_INIT:
		(void)!vbd_conn_qp_attach(conn, &conn->manual->failure);
		return VBD_CONN_NO_EVENT;
	case IBV_QPS_RTR:
		(void)!vbd_conn_qp_go_rtr(conn, &conn->manual->failure);
		return VBD_CONN_NO_EVENT;
	case IBV_QPS_RTS:
		return move_to_rts(conn);
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return move_to_err_or_reset(conn);
	default:
		move_to_sqd(conn);
		return VBD_CONN_NO_EVENT;
	}
}

void vbd_conn_move_park(struct vbd_conn *conn)
{
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	vbd_qp_collect_flushes(&conn->qp);
}

enum vbd_status vbd_conn_move_parked(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	vbd_channel_renew(conn->qp.channel);
	vbd_channel_pause(conn->qp.channel);
	conn->manual->parking = false;
	vbd_conn_set_deadline(conn, conn->timeout_ms);
	if (conn->manual->to == IBV_QPS_RESET)
		status = vbd_conn_qp_move(conn, IBV_QPS_RESET, err);
	if (!status && conn->ops->stepped)
		conn->ops->stepped(conn, conn->ops_arg);
	return status;
}
