/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_move.h"

#include "rdma/conn/conn_parts.h"
#include "rdma/conn/conn_qp.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/provider.h"

#include <errno.h>
#include <stdlib.h>

/* A move that may block, with everything that its thread needs. */
struct vbd_conn_move {
	struct ibv_qp *qp;
	struct ibv_qp_attr attr;
	int mask;
	enum vbd_status status;
	struct vbd_error error;
};

/* Records the failure of a step; no event follows. */
static enum vbd_conn_event failed(
	struct vbd_conn *conn, enum vbd_status status, const struct vbd_error *error)
{
	conn->manual.failure = *error;
	conn->manual.failure.status = status;
	return VBD_CONN_NO_EVENT;
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

void vbd_conn_move_work(struct vbd_conn *conn)
{
	struct vbd_conn_move *move = conn->manual.move;

	move->status = vbd_pv_modify_qp(move->qp, &move->attr, move->mask, &move->error);
}

/* The neighbour does not answer the kernel, or has no route. */
static bool is_unreachable(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_ERRNO &&
	       (error->raw == ETIMEDOUT || error->raw == EHOSTUNREACH || error->raw == ENETUNREACH);
}

enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn)
{
	struct vbd_conn_move *move = conn->manual.move;
	enum vbd_status status = move->status;

	conn->manual.move = NULL;
	if (status)
		(void)failed(conn, is_unreachable(&move->error) ? VBD_E_ADDR_ERROR : status,
			&move->error);
	else
		vbd_qp_moved(&conn->qp, IBV_QPS_RTR);
	free(move);
	/* The connection's end may have begun during the move. */
	if (status || conn->manual.then == IBV_QPS_RTR || conn->state != VBD_CONN_AWAITING_REMOTE)
		return VBD_CONN_NO_EVENT;
	return go_up(conn);
}

/* On RoCE the kernel resolves the peer's hardware address, which blocks for up to a second
 * (ib_resolve_eth_dmac() in core/verbs.c, 6.1). */
static enum vbd_conn_event go_to_rtr(struct vbd_conn *conn)
{
	struct vbd_conn_move *move = calloc(1, sizeof(*move));
	struct vbd_error error = {0};
	enum vbd_status status;

	if (!move)
		return failed(conn, vbd_error_set(&error, VBD_E_NO_MEMORY, "no memory for a step"),
			&error);
	move->qp = conn->qp.ibv_qp;
	status = vbd_conn_qp_attributes(conn, IBV_QPS_RTR, &move->attr, &move->mask, &error);
	if (status) {
		free(move);
		return failed(conn, status, &error);
	}
	conn->manual.move = move;
	if (conn->ops->move_slowly && conn->ops->move_slowly(conn, conn->ops_arg))
		return VBD_CONN_NO_EVENT;
	vbd_conn_move_work(conn);
	return vbd_conn_move_finish(conn);
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
		vbd_conn_qp_move(conn, attached ? IBV_QPS_ERR : conn->manual.to, &error);

	if (status)
		return failed(conn, status, &error);
	if (!attached)
		return VBD_CONN_NO_EVENT;
	conn->manual.parking = true;
	return VBD_CONN_EV_QP_DOWN;
}

enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn)
{
	switch (conn->manual.to) {
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
	conn->manual.parking = false;
	vbd_conn_set_deadline(conn, conn->timeout_ms);
	if (conn->manual.to == IBV_QPS_RESET)
		status = vbd_conn_qp_move(conn, IBV_QPS_RESET, err);
	if (!status && conn->ops->stepped)
		conn->ops->stepped(conn, conn->ops_arg);
	return status;
}
