/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn_parts.h"

#include "base/attr.h"
#include "rdma/conn_cm.h"
#include "rdma/conn_qp.h"
#include "rdma/names.h"
#include "rdma/provider.h"
#include "rdma/worker_messages.h"

/* What a CM event means for the table, and the error that it stands for (VBD_OK: none). */
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

void vbd_conn_on_cm_event(struct vbd_conn *conn, const struct vbd_pv_cm_event *event)
{
	bool known = (size_t)event->type < VBD_ARRAY_LEN(cm_meanings);
	enum vbd_status status = known ? cm_meanings[event->type].status : VBD_E_INTERNAL;
	bool rejected = event->type == RDMA_CM_EVENT_REJECTED;
	const char *text =
		rejected ? vbd_cm_reject_name(event->status) : vbd_cm_event_text((int)event->type);
	struct vbd_error error = {
		.source = VBD_SOURCE_CM_EVENT,
		.kind = (int)event->type,
		.raw = event->status,
	};
	const struct vbd_conn_cause cause = {.error = status ? &error : NULL, .opcode = -1};

	vbd_conn_cm_take_peer_data(conn, event);
	vbd_conn_note(conn, VBD_TIMELINE_CM_EVENT, vbd_cm_event_name((int)event->type),
		"status %d%s%s", event->status, rejected ? ": " : "", rejected ? text : "");
	if (status)
		(void)vbd_error_set(&error, status, "%s (CM status %d)", text, event->status);
	vbd_conn_step(
		conn, known ? cm_meanings[event->type].event : VBD_CONN_EV_UNEXPECTED_CM, &cause);
}

void vbd_conn_on_async_event(struct vbd_conn *conn, int type)
{
	struct vbd_error error = {.source = VBD_SOURCE_ASYNC, .kind = type};

	vbd_conn_note(conn, VBD_TIMELINE_ASYNC_EVENT, vbd_async_event_name(type), "lqpn 0x%06x",
		conn->qp_info.lqpn);
	if (type == IBV_EVENT_COMM_EST) {
		vbd_conn_raise(conn, VBD_CONN_EV_COMM_EST);
		return;
	}
	if (type != IBV_EVENT_QP_FATAL && type != IBV_EVENT_QP_REQ_ERR &&
		type != IBV_EVENT_QP_ACCESS_ERR)
		return;
	(void)vbd_error_set(&error, VBD_E_QP_FATAL, "%s", vbd_async_event_text(type));
	vbd_conn_step_error(conn, VBD_CONN_EV_QP_ERROR, &error);
}

static void on_channel_error(void *owner)
{
	struct vbd_conn *conn = owner;
	const struct vbd_channel *channel = conn->channel;
	const struct vbd_error *error = &channel->first_error;
	const struct vbd_conn_cause cause = {
		.error = error,
		.opcode = (int)channel->first_error_op,
		.transfer = channel->first_error_transfer,
	};
	bool flushed = error->source == VBD_SOURCE_WC && error->kind == IBV_WC_WR_FLUSH_ERR;

	if (error->source == VBD_SOURCE_WC)
		vbd_conn_note(conn, VBD_TIMELINE_WC, vbd_wc_status_name(error->kind),
			"%s, vendor_err %lld", vbd_op_name(channel->first_error_op),
			(long long)error->raw);
	if (conn->manual.parking)
		vbd_conn_step(conn, VBD_CONN_EV_LATE_ERROR, &cause);
	else
		vbd_conn_step(conn, flushed ? VBD_CONN_EV_FLUSHED : VBD_CONN_EV_WC_ERROR, &cause);
}

static void on_fenced(void *owner)
{
	struct vbd_conn *conn = owner;
	struct vbd_channel *channel = conn->channel;

	vbd_conn_qp_destroy(conn);
	vbd_worker_send(channel->worker, &channel->mail_sweep, VBD_WORKER_SWEEP);
}

static void on_letter_back(void *owner)
{
	struct vbd_conn *conn = owner;
	struct vbd_channel *channel = conn->channel;

	/* Receives of an SRQ don't say when the last one is over, as some devices never raise
	 * LAST_WQE_REACHED (rxe, 6.1): without a QP there are no more than the CQ has. */
	if (channel->drained && channel->limits.srq && !channel->sweep_sent) {
		channel->sweep_sent = true;
		on_fenced(conn);
		return;
	}
	if (channel->drained && channel->sweep_sent == channel->swept)
		vbd_conn_drained(conn);
}

static void on_message(void *owner, struct vbd_recv_slot *slot)
{
	struct vbd_conn *conn = owner;

	slot->held = true;
	if (conn->ops->message)
		conn->ops->message(conn, slot, conn->ops_arg);
}

const struct vbd_channel_owner_ops vbd_conn_channel_ops = {
	.on_error = on_channel_error,
	.on_fenced = on_fenced,
	.on_letter_back = on_letter_back,
	.on_message = on_message,
};
