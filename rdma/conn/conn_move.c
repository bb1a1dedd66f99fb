/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

/* Records the failure of a step; no event follows. */
static enum vbd_conn_event failed(
	struct vbd_conn *conn, enum vbd_status status, const struct vbd_error *error)
{
	conn->manual->failure = *error;
	conn->manual->failure.status = status;
	return VBD_CONN_NO_EVENT;
}

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

static enum vbd_conn_event attach(struct vbd_conn *conn)
{
	struct vbd_error error = {0};
	enum vbd_status status = vbd_conn_qp_attach(conn, &error);

	return status ? failed(conn, status, &error) : VBD_CONN_NO_EVENT;
}

static enum vbd_conn_event go_up(struct vbd_conn *conn)
{
	bool was_up = conn->qp.info.state == IBV_QPS_SQD;
	struct vbd_error error = {0};
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_RTS, &error);

	if (status)
		return failed(conn, status, &error);
	vbd_channel_resume(conn->qp.channel);
	return was_up ? VBD_CONN_NO_EVENT : VBD_CONN_EV_QP_UP;
}

/* The neighbour does not answer the kernel, or has no route. */
static bool is_unreachable(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_ERRNO &&
	       (error->raw == ETIMEDOUT || error->raw == EHOSTUNREACH || error->raw == ENETUNREACH);
}

enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn, const struct vbd_conn_call *call)
{
	enum vbd_status status = call->status;

	if (status)
		(void)failed(conn, is_unreachable(&call->error) ? VBD_E_ADDR_ERROR : status,
			&call->error);
	/* The connection's end may have begun during the move. */
	if (status || conn->manual->then == IBV_QPS_RTR || conn->state != VBD_CONN_AWAITING_REMOTE)
		return VBD_CONN_NO_EVENT;
	return go_up(conn);
}

static enum vbd_conn_event go_to_rtr(struct vbd_conn *conn)
{
	struct vbd_error error = {0};
	enum vbd_status status = vbd_conn_qp_call_rtr(conn, &error);

	return status ? failed(conn, status, &error) : VBD_CONN_NO_EVENT;
}

/* Sends wait in the channel during SQD: Soft-RoCE continues after SQD only when a work request is
 * posted (rxe_qp.c, 6.1). */
static enum vbd_conn_event go_to_sqd(struct vbd_conn *conn)
{
	struct vbd_error error = {0};
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_SQD, &error);

	if (status)
		return failed(conn, status, &error);
	vbd_channel_pause(conn->qp.channel);
	return VBD_CONN_NO_EVENT;
}

/* RESET alone would remove posted work requests without completions. */
static enum vbd_conn_event go_down(struct vbd_conn *conn)
{
	bool attached = conn->qp.channel->attached;
	struct vbd_error error = {0};
	enum vbd_status status =
		vbd_conn_qp_move(conn, attached ? IBV_QPS_ERR : conn->manual->to, &error);

	if (status)
		return failed(conn, status, &error);
	if (!attached)
		return VBD_CONN_NO_EVENT;
	conn->manual->parking = true;
	return VBD_CONN_EV_QP_DOWN;
}

enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn)
{
	switch (conn->manual->to) {
	case IBV_QPS_INIT:
		return attach(conn);
	case IBV_QPS_RTR:
		return go_to_rtr(conn);
	case IBV_QPS_RTS:
		return go_up(conn);
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return go_down(conn);
	default:
		return go_to_sqd(conn);
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
