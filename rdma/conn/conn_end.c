/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

/* Limit of the wait for the CM event that names the reason of a flush. */
#define CAUSE_WAIT_MS 1000

/* After the peer's disconnect it is looked so often whether sends are still outstanding: for a
 * second in all. */
#define LOOK_MS 10
#define LOOKS	100

/* The interrupt of a call that does not sleep in the kernel yet is lost: repeat it. */
#define INTERRUPT_AGAIN_MS 20

void vbd_conn_end_empty(struct vbd_conn *conn)
{
	vbd_conn_set_deadline(conn, 0);
	if (!conn->cm_id)
		return;
	vbd_calls_end_id(conn->fabric->calls, &conn->account, conn->cm_id);
	conn->cm_id = NULL;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_destroy_id", "");
}

enum vbd_conn_event vbd_conn_end_drained(const struct vbd_conn *conn)
{
	if (conn->reason_pending)
		return VBD_CONN_NO_EVENT;
	return vbd_reason_clean(conn->qp.reason) ? VBD_CONN_EV_DRAINED_CLEAN
						 : VBD_CONN_EV_DRAINED_FAILED;
}

static enum vbd_conn_event wait_for_call(struct vbd_conn *conn)
{
	if (conn->call)
		vbd_call_interrupt(conn->fabric->calls, &conn->call->call);
	vbd_conn_set_deadline(conn, INTERRUPT_AGAIN_MS);
	return VBD_CONN_NO_EVENT;
}

static enum vbd_conn_event flush(struct vbd_conn *conn)
{
	if (vbd_qp_is_drained(&conn->qp))
		return vbd_conn_end_drained(conn);
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	vbd_qp_drain(&conn->qp);
	return VBD_CONN_NO_EVENT;
}

/* Without a reject the CM would give the peer no reason, and only when the id is destroyed. */
static bool failed_to_accept(const struct vbd_conn *conn)
{
	return conn->passive && conn->cm_id && !conn->cm_asked && !conn->peer_disconnected;
}

enum vbd_conn_event vbd_conn_end_drain(struct vbd_conn *conn)
{
	if (conn->calling)
		return wait_for_call(conn);
	if (failed_to_accept(conn))
		vbd_conn_cm_reject(conn);
	vbd_conn_cm_disconnect(conn);
	return flush(conn);
}

/* Only the CM of iWARP moves a QP by itself. The local disconnect is postponed: the CM would report
 * it like the peer's. */
enum vbd_conn_event vbd_conn_end_await_cause(struct vbd_conn *conn)
{
	enum vbd_conn_event next;

	if (!conn->cm_id || conn->calling || !vbd_device_is_iwarp(conn->qp.device))
		return vbd_conn_end_drain(conn);
	next = flush(conn);
	if (next != VBD_CONN_NO_EVENT)
		return next;
	conn->reason_pending = true;
	vbd_conn_set_deadline(conn, CAUSE_WAIT_MS);
	return VBD_CONN_NO_EVENT;
}

/* The peer's disconnect may overtake the answer of its device to a request of this side: on
 * Soft-RoCE two threads of the kernel bring them. In ERR the QP would not take that answer. */
enum vbd_conn_event vbd_conn_end_await_error(struct vbd_conn *conn)
{
	if (conn->calling || vbd_device_is_iwarp(conn->qp.device) || !vbd_qp_has_sends(&conn->qp))
		return vbd_conn_end_drain(conn);
	vbd_conn_cm_disconnect(conn);
	vbd_qp_stop(&conn->qp);
	conn->looks_left = LOOKS;
	vbd_conn_set_deadline(conn, LOOK_MS);
	return VBD_CONN_NO_EVENT;
}

enum vbd_conn_event vbd_conn_end_hurry(struct vbd_conn *conn)
{
	if (!conn->looks_left)
		return VBD_CONN_NO_EVENT;
	conn->looks_left = 0;
	return flush(conn);
}

static enum vbd_conn_event look(struct vbd_conn *conn)
{
	if (conn->looks_left == 1 || !vbd_qp_has_sends(&conn->qp))
		return vbd_conn_end_hurry(conn);
	conn->looks_left--;
	vbd_conn_set_deadline(conn, LOOK_MS);
	return VBD_CONN_NO_EVENT;
}

enum vbd_conn_event vbd_conn_end_settle(struct vbd_conn *conn)
{
	if (!conn->reason_pending)
		return vbd_conn_end_hurry(conn);
	conn->reason_pending = false;
	vbd_conn_cm_disconnect(conn);
	if (vbd_qp_is_drained(&conn->qp))
		return vbd_conn_end_drained(conn);
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	return VBD_CONN_NO_EVENT;
}

enum vbd_conn_event vbd_conn_end_force(struct vbd_conn *conn)
{
	if (conn->calling)
		return wait_for_call(conn);
	if (conn->looks_left)
		return look(conn);
	if (conn->reason_pending)
		return vbd_conn_end_settle(conn);
	vbd_qp_force(&conn->qp);
	return VBD_CONN_NO_EVENT;
}

void vbd_conn_end_finish(struct vbd_conn *conn)
{
	struct rdma_cm_id *cm_id = conn->cm_id;

	vbd_conn_set_deadline(conn, 0);
	if (vbd_conn_cm_outlives(conn))
		cm_id = NULL;
	conn->cm_id = NULL;
	vbd_qp_release(&conn->qp, cm_id);
	if (cm_id)
		vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_destroy_id", "");
}
