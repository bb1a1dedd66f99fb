/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "base/clock.h"

#include <stdarg.h>

static void notify_of_entry(struct vbd_conn *conn, const struct vbd_timeline_entry *entry)
{
	if (entry && conn->ops->noted)
		conn->ops->noted(conn, entry, conn->ops_arg);
}

void vbd_conn_note(
	struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what, const char *detail)
{
	const struct vbd_timeline_note note = {.kind = kind, .what = what, .detail = detail};

	notify_of_entry(conn, vbd_timeline_add(&conn->timeline, &note));
}

void vbd_conn_notef(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what,
	const char *detail_fmt, ...)
{
	char detail[VBD_TIMELINE_DETAIL_BYTES];
	va_list ap;

	va_start(ap, detail_fmt);
	(void)vsnprintf(detail, sizeof(detail), detail_fmt, ap);
	va_end(ap);
	vbd_conn_note(conn, kind, what, detail);
}

void vbd_conn_note_change(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *from,
	const char *to, const char *detail)
{
	const struct vbd_timeline_note note = {
		.kind = kind, .what = to, .from = from, .to = to, .detail = detail};

	notify_of_entry(conn, vbd_timeline_add(&conn->timeline, &note));
}

void vbd_conn_replaced(struct vbd_conn *conn, uint64_t new_id, struct vbd_conn *next)
{
	conn->id = new_id;
	conn->qp.owner_id = new_id;
	vbd_timeline_carry_tries(&next->timeline, &conn->timeline);
}

void vbd_conn_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms)
{
	conn->deadline_ms = timeout_ms;
	conn->deadline_since_ns = vbd_clock_mono_ns();
	if (conn->ops->set_deadline)
		conn->ops->set_deadline(conn, timeout_ms, conn->ops_arg);
}

/* Events whose error has the reason: this host may have failed, not the peer or its address. */
static bool is_reason_in_error(enum vbd_conn_event event)
{
	return event == VBD_CONN_EV_CALL_FAILED || event == VBD_CONN_EV_NAME_FAILED ||
	       event == VBD_CONN_EV_ADDR_ERROR || event == VBD_CONN_EV_CMD_CLOSE;
}

static enum vbd_reason reason_of_event(enum vbd_conn_event event, const struct vbd_cause *cause)
{
	static const enum vbd_reason reasons[VBD_CONN_EVENT_COUNT] = {
		[VBD_CONN_EV_NAME_FAILED] = VBD_REASON_NAME_NOT_RESOLVED,
		[VBD_CONN_EV_ADDR_ERROR] = VBD_REASON_ADDR_ERROR,
		[VBD_CONN_EV_ROUTE_ERROR] = VBD_REASON_ROUTE_ERROR,
		[VBD_CONN_EV_CONNECT_ERROR] = VBD_REASON_CONNECT_ERROR,
		[VBD_CONN_EV_UNREACHABLE] = VBD_REASON_UNREACHABLE,
		[VBD_CONN_EV_REJECTED] = VBD_REASON_REJECTED,
		[VBD_CONN_EV_DISCONNECTED] = VBD_REASON_PEER_DISCONNECT,
		[VBD_CONN_EV_DEVICE_REMOVAL] = VBD_REASON_DEVICE_REMOVED,
		[VBD_CONN_EV_QP_ERROR] = VBD_REASON_QP_FATAL,
		[VBD_CONN_EV_FLUSHED] = VBD_REASON_QP_FATAL,
		[VBD_CONN_EV_DEADLINE] = VBD_REASON_TIMED_OUT,
		[VBD_CONN_EV_CMD_REJECT] = VBD_REASON_REJECTED_LOCALLY,
		[VBD_CONN_EV_CMD_CLOSE] = VBD_REASON_LOCAL_CLOSE,
		[VBD_CONN_EV_SHUTDOWN] = VBD_REASON_STOPPING,
	};

	if (event == VBD_CONN_EV_WC_ERROR)
		return vbd_reason_of_status(cause->error->status);
	if (cause->error && is_reason_in_error(event)) {
		enum vbd_reason reason = vbd_reason_of_status(cause->error->status);

		return reason == VBD_REASON_LOCAL_ERROR ? VBD_REASON_RESOURCE_ERROR : reason;
	}
	return reasons[event] != VBD_REASON_NONE ? reasons[event] : VBD_REASON_PROTOCOL_ERROR;
}

void vbd_conn_remember(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause)
{
	vbd_qp_remember(&conn->qp, reason_of_event(event, cause), cause);
}

void vbd_conn_rename_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause)
{
	conn->qp.reason = VBD_REASON_NONE;
	conn->qp.first_error = (struct vbd_first_error){0};
	vbd_conn_remember(conn, event, cause);
}

void vbd_conn_refusal_disproved(struct vbd_conn *conn)
{
	if (conn->refusal == VBD_REFUSAL_QP_STATE)
		conn->refusal = VBD_REFUSAL_NONE;
}

static bool is_peer_silence(const struct vbd_error *error)
{
	return error->source == VBD_SOURCE_WC &&
	       (error->kind == IBV_WC_RETRY_EXC_ERR || error->kind == IBV_WC_RESP_TIMEOUT_ERR);
}

static bool explains_the_end(
	const struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause)
{
	if (event != VBD_CONN_EV_WC_ERROR)
		return false;
	return conn->refusal == VBD_REFUSAL_QP_STATE ||
	       (conn->qp.reason == VBD_REASON_PEER_DISCONNECT && !is_peer_silence(cause->error));
}

void vbd_conn_count_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause)
{
	bool supposed = conn->refusal == VBD_REFUSAL_QP_STATE;

	if (explains_the_end(conn, event, cause)) {
		vbd_conn_refusal_disproved(conn);
		conn->qp.reason = VBD_REASON_NONE;
		if (supposed)
			conn->qp.first_error = (struct vbd_first_error){0};
		vbd_conn_remember(conn, event, cause);
	} else {
		conn->qp.errors_after_first++;
	}
}
