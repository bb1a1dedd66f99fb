/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "rdma/provider/provider.h"

/* The event of the state table and the error of each CM event (VBD_OK: none). */
static const struct {
	enum vbd_conn_event event;
	enum vbd_status status;
} cm_meanings[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = {VBD_CONN_EV_ADDR_RESOLVED, VBD_OK},
	[RDMA_CM_EVENT_ADDR_ERROR] = {VBD_CONN_EV_ADDR_ERROR, VBD_E_ADDR_ERROR},
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = {VBD_CONN_EV_ROUTE_RESOLVED, VBD_OK},
	[RDMA_CM_EVENT_ROUTE_ERROR] = {VBD_CONN_EV_ROUTE_ERROR, VBD_E_ROUTE_ERROR},
	[RDMA_CM_EVENT_CONNECT_REQUEST] = {VBD_CONN_EV_UNEXPECTED_CM, VBD_E_INTERNAL},
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = {VBD_CONN_EV_CONNECT_RESPONSE, VBD_OK},
	[RDMA_CM_EVENT_CONNECT_ERROR] = {VBD_CONN_EV_CONNECT_ERROR, VBD_E_CONNECT_ERROR},
	[RDMA_CM_EVENT_UNREACHABLE] = {VBD_CONN_EV_UNREACHABLE, VBD_E_UNREACHABLE},
	[RDMA_CM_EVENT_REJECTED] = {VBD_CONN_EV_REJECTED, VBD_E_REJECTED},
	[RDMA_CM_EVENT_ESTABLISHED] = {VBD_CONN_EV_ESTABLISHED, VBD_OK},
	[RDMA_CM_EVENT_DISCONNECTED] = {VBD_CONN_EV_DISCONNECTED, VBD_OK},
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = {VBD_CONN_EV_DEVICE_REMOVAL, VBD_E_DEVICE_REMOVED},
	[RDMA_CM_EVENT_MULTICAST_JOIN] = {VBD_CONN_EV_UNEXPECTED_CM, VBD_E_INTERNAL},
	[RDMA_CM_EVENT_MULTICAST_ERROR] = {VBD_CONN_EV_UNEXPECTED_CM, VBD_E_INTERNAL},
	[RDMA_CM_EVENT_ADDR_CHANGE] = {VBD_CONN_EV_ADDR_CHANGE, VBD_OK},
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = {VBD_CONN_EV_TIMEWAIT_EXIT, VBD_OK},
};

/* Before rdma_connect(3) or rdma_accept(3) there is no QP for CONNECT_RESPONSE or ESTABLISHED. */
static bool is_expected_cm_event(const struct vbd_conn *conn, enum vbd_conn_event event)
{
	return conn->cm_asked ||
	       (event != VBD_CONN_EV_CONNECT_RESPONSE && event != VBD_CONN_EV_ESTABLISHED);
}

static void record_cm_event(struct vbd_conn *conn, const struct vbd_pv_cm_event *event)
{
	const char *name = vbd_cm_event_name((int)event->type);

	if (event->type == RDMA_CM_EVENT_REJECTED)
		vbd_conn_notef(conn, VBD_TIMELINE_CM_EVENT, name, "status %d: %s", event->status,
			vbd_cm_reject_name(event->status));
	else if (event->status)
		vbd_conn_notef(conn, VBD_TIMELINE_CM_EVENT, name, "status %d", event->status);
	else
		vbd_conn_note(conn, VBD_TIMELINE_CM_EVENT, name, "status 0");
}

/* Set the error of an event that means something else than its name says; else return false. */
static bool set_error_of_meaning(
	const struct vbd_conn *conn, const struct vbd_pv_cm_event *event, struct vbd_error *error)
{
	enum vbd_conn_state state = conn->state == VBD_CONN_DRAINING ? conn->ended_in : conn->state;
	enum vbd_cm_meaning meaning = vbd_cm_meaning(
		(int)event->type, event->status, state == VBD_CONN_ESTABLISHED, conn->passive);
	char peer[VBD_ADDR_TEXT_BYTES];

	if (meaning == VBD_CM_AS_IT_SAYS)
		return false;
	error->hint = vbd_cm_meaning_hint(meaning);
	(void)snprintf(error->text, sizeof(error->text), "%s%s", vbd_addr_format(&conn->peer, peer),
		vbd_cm_meaning_text(meaning));
	return true;
}

void vbd_conn_on_cm_event(struct vbd_conn *conn, const struct vbd_pv_cm_event *event)
{
	bool known = (size_t)event->type < VBD_ARRAY_LEN(cm_meanings) &&
		     is_expected_cm_event(conn, cm_meanings[event->type].event);
	enum vbd_status status = known ? cm_meanings[event->type].status : VBD_E_INTERNAL;
	struct vbd_error error;
	const struct vbd_cause cause = {.error = status ? &error : NULL, .op = -1};

	/* The peer's disconnect hides why its request failed. */
	if (event->type == RDMA_CM_EVENT_DISCONNECTED) {
		conn->peer_disconnected = true;
		vbd_conn_check_qp(conn);
	}
	/* cm_rej_handler() and cm_timewait_handler() in core/cm.c, 6.1. */
	if (event->type == RDMA_CM_EVENT_REJECTED || event->type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		conn->cm_over = true;
	vbd_conn_cm_take_peer_data(conn, event);
	record_cm_event(conn, event);
	if (status)
		vbd_cm_error_of_event(conn->fabric, event, status, &error);
	if (status && !set_error_of_meaning(conn, event, &error) &&
		event->type == RDMA_CM_EVENT_UNREACHABLE)
		vbd_cm_error_of_silence(conn->qp.device, &error);
	vbd_conn_step(
		conn, known ? cm_meanings[event->type].event : VBD_CONN_EV_UNEXPECTED_CM, &cause);
}

/* The call threads. */

static enum vbd_conn_event success_event(enum vbd_conn_calling what)
{
	switch (what) {
	case VBD_CONN_CALLS_PREPARE:
		return VBD_CONN_EV_PREPARED;
	case VBD_CONN_CALLS_RTR:
		return VBD_CONN_EV_QP_RTR;
	case VBD_CONN_CALLS_CONNECT:
	case VBD_CONN_CALLS_NOTHING:
		break;
	}
	return VBD_CONN_EV_CALL_RETURNED;
}

static void on_call_returned(
	struct vbd_conn *conn, enum vbd_conn_calling what, const struct vbd_conn_call *call)
{
	if (what == VBD_CONN_CALLS_RTR && !call->call.cancelled && !call->status)
		vbd_conn_qp_moved(conn, &call->attr, call->mask);
	if (what == VBD_CONN_CALLS_RTR && conn->manual)
		vbd_conn_moved(conn, call);
	/* The failure of a call that the end has interrupted is no error. */
	else if (conn->state == VBD_CONN_DRAINING || conn->state == VBD_CONN_RETRYING)
		vbd_conn_raise(conn, VBD_CONN_EV_CALL_RETURNED);
	else if (call->status)
		vbd_conn_step_error(conn, VBD_CONN_EV_CALL_FAILED, &call->error);
	else
		vbd_conn_raise(conn, success_event(what));
}

void vbd_conn_on_call_done(struct vbd_call *done)
{
	struct vbd_conn_call *call = vbd_conn_call_of(done);
	struct vbd_conn *conn = call->conn;
	enum vbd_conn_calling what = conn->calling;

	conn->calling = VBD_CONN_CALLS_NOTHING;
	conn->call = NULL;
	if (what == VBD_CONN_CALLS_CONNECT && call->status)
		vbd_cm_error_of_connect(&call->error);
	on_call_returned(conn, what, call);
	free(call);
}

/* The layer above. */

void vbd_conn_close(struct vbd_conn *conn, enum vbd_reason reason)
{
	if (vbd_conn_state_terminal(conn->state))
		return;
	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "close", vbd_reason_name(reason));
	vbd_conn_raise(
		conn, reason == VBD_REASON_STOPPING ? VBD_CONN_EV_SHUTDOWN : VBD_CONN_EV_CMD_CLOSE);
}

void vbd_conn_deadline(struct vbd_conn *conn)
{
	uint64_t patience_ms = vbd_conn_tries_patience_ms(conn);
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE, .raw = (int64_t)patience_ms};

	(void)vbd_error_set(&error, VBD_E_TIMED_OUT,
		"the deadline of %llu ms passed in state %s, waiting for %s",
		(unsigned long long)patience_ms, vbd_conn_state_name(conn->state),
		vbd_conn_state_waits_for(conn->state));
	if (conn->state == VBD_CONN_CONNECTING)
		vbd_cm_error_of_silence(conn->qp.device, &error);
	vbd_conn_step_error(conn, VBD_CONN_EV_DEADLINE, &error);
}

void vbd_conn_device_removed(struct vbd_conn *conn)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(
		&error, VBD_E_DEVICE_REMOVED, "device %s is being removed", conn->device.name);
	/* The kernel moves queue pairs of a removed device to ERR before the CM reports the
	 * removal, so vbd_conn_check_qp() may have recorded that state as the cause. */
	if (conn->refusal == VBD_REFUSAL_QP_STATE)
		vbd_conn_rename_cause(conn, VBD_CONN_EV_DEVICE_REMOVAL,
			&(const struct vbd_cause){.error = &error, .op = -1});
	vbd_conn_refusal_disproved(conn);
	vbd_conn_step_error(conn, VBD_CONN_EV_DEVICE_REMOVAL, &error);
}

/* The queue pair. */

static void raise_refusal(struct vbd_conn *conn, enum vbd_refusal how)
{
	if (conn->refusal < how)
		conn->refusal = how;
}

void vbd_conn_check_qp(struct vbd_conn *conn)
{
	struct vbd_error error = {0};

	if (conn->state != VBD_CONN_ESTABLISHED || conn->calling || vbd_conn_is_flushing(conn) ||
		!vbd_conn_qp_failed(conn))
		return;
	raise_refusal(conn, VBD_REFUSAL_QP_STATE);
	(void)vbd_error_set(&error, VBD_E_QP_FATAL,
		"the device moved the queue pair to ERR, and nobody here had asked for that");
	vbd_conn_step_error(conn, VBD_CONN_EV_QP_ERROR, &error);
}

static struct vbd_conn *conn_of_qp(struct vbd_qp *qp)
{
	return VBD_CONTAINER_OF(qp, struct vbd_conn, qp);
}

static void on_async_event(struct vbd_qp *qp, int type)
{
	struct vbd_conn *conn = conn_of_qp(qp);
	struct vbd_error error = {.source = VBD_SOURCE_ASYNC, .kind = type};

	vbd_conn_notef(conn, VBD_TIMELINE_ASYNC_EVENT, vbd_async_event_name(type), "lqpn 0x%06x",
		qp->info.lqpn);
	if (type == IBV_EVENT_COMM_EST) {
		vbd_conn_raise(conn, VBD_CONN_EV_COMM_EST);
		return;
	}
	if (!vbd_qp_fails_by(type))
		return;
	if (type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR)
		raise_refusal(conn, VBD_REFUSAL_ASYNC_EVENT);
	else
		vbd_conn_refusal_disproved(conn);
	(void)vbd_error_set(&error, VBD_E_QP_FATAL, "%s", vbd_async_event_text(type));
	vbd_conn_step_error(conn, VBD_CONN_EV_QP_ERROR, &error);
}

void vbd_conn_inject_error(struct vbd_conn *conn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "fault", "the queue pair is moved to ERR");
	/* A device that refuses this has failed, which has its own event. */
	if (vbd_pv_modify_qp(conn->qp.ibv_qp, &attr, IBV_QP_STATE, NULL) == VBD_OK)
		on_async_event(&conn->qp, IBV_EVENT_QP_FATAL);
}

static void check_qp(struct vbd_qp *qp)
{
	vbd_conn_check_qp(conn_of_qp(qp));
}

/* The CM of iWARP moves the QP to ERR when the peer disconnects. */
static bool is_failed_by_device(const struct vbd_conn *conn)
{
	return (conn->state == VBD_CONN_ACCEPTING || conn->state == VBD_CONN_ESTABLISHED) &&
	       !vbd_device_is_iwarp(conn->qp.device);
}

static void on_completion_error(struct vbd_qp *qp, const struct vbd_cause *cause, bool flushed)
{
	struct vbd_conn *conn = conn_of_qp(qp);
	const struct vbd_error *error = cause->error;

	if (error->source == VBD_SOURCE_WC)
		vbd_conn_notef(conn, VBD_TIMELINE_WC, vbd_wc_status_name(error->kind),
			"%s, vendor_err %lld",
			cause->op < 0 ? "heartbeat" : vbd_op_name((enum vbd_op)cause->op),
			(long long)error->raw);
	if (flushed && !vbd_conn_is_flushing(conn) && is_failed_by_device(conn))
		raise_refusal(conn, VBD_REFUSAL_QP_STATE);
	if (vbd_conn_is_flushing(conn))
		vbd_conn_step(conn, VBD_CONN_EV_LATE_ERROR, cause);
	else
		vbd_conn_step(conn, flushed ? VBD_CONN_EV_FLUSHED : VBD_CONN_EV_WC_ERROR, cause);
}

static void on_qp_drained(struct vbd_qp *qp)
{
	vbd_conn_drained(conn_of_qp(qp));
}

static void on_qp_moved(struct vbd_qp *qp, int old_state)
{
	struct vbd_conn *conn = conn_of_qp(qp);
	const char *name = vbd_qp_state_name(qp->info.state);
	char lqpn[24];

	(void)snprintf(lqpn, sizeof(lqpn), "lqpn 0x%06x", qp->info.lqpn);
	vbd_conn_note_change(conn, VBD_TIMELINE_QP, vbd_qp_state_name(old_state), name, lqpn);
}

static void before_qp_destroyed(struct vbd_qp *qp)
{
	vbd_conn_notef(
		conn_of_qp(qp), VBD_TIMELINE_CALL, "ibv_destroy_qp", "lqpn 0x%06x", qp->info.lqpn);
}

static enum vbd_status check_conn_usable(const struct vbd_qp *qp, struct vbd_error *err)
{
	const struct vbd_conn *conn = VBD_CONTAINER_OF(qp, struct vbd_conn, qp);

	if (conn->state == VBD_CONN_ESTABLISHED)
		return VBD_OK;
	if (conn->qp.reason == VBD_REASON_NONE)
		return vbd_error_param(err, VBD_E_WRONG_STATE, "connection",
			"connection %llu is %s; data moves only while it is established",
			(unsigned long long)conn->id, vbd_conn_state_name(conn->state));
	if (err && !err->status)
		err->hint = "The explanation of the connection tells why it ended. Connect again.";
	return vbd_error_param(err, VBD_E_WRONG_STATE, "connection",
		"connection %llu is %s (%s); data moves only while it is established",
		(unsigned long long)conn->id, vbd_conn_state_name(conn->state),
		vbd_reason_name(conn->qp.reason));
}

static void end_conn(struct vbd_qp *qp, const struct vbd_error *why, uint64_t transfer)
{
	const struct vbd_cause cause = {.error = why, .op = -1, .transfer = transfer};
	bool cancelled = why->status == VBD_E_CANCELLED;

	if (cancelled)
		vbd_conn_notef(conn_of_qp(qp), VBD_TIMELINE_COMMAND, "cancel", "transfer %llu",
			(unsigned long long)transfer);
	vbd_conn_step(conn_of_qp(qp), cancelled ? VBD_CONN_EV_CMD_CLOSE : VBD_CONN_EV_CALL_FAILED,
		&cause);
}

const struct vbd_qp_ops vbd_conn_qp_ops = {
	.owner = "connection",
	.check_usable = check_conn_usable,
	.end = end_conn,
	.on_error = on_completion_error,
	.on_async = on_async_event,
	.check = check_qp,
	.on_drained = on_qp_drained,
	.moved = on_qp_moved,
	.before_destroy = before_qp_destroyed,
};
