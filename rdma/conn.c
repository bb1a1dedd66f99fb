/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/log.h"
#include "rdma/conn_cm.h"
#include "rdma/conn_qp.h"
#include "rdma/device.h"
#include "rdma/fabric.h"
#include "rdma/names.h"
#include "rdma/provider.h"
#include "rdma/transfer.h"
#include "rdma/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the CM may take to say why a QP was flushed. */
#define CAUSE_WAIT_MS 1000

struct vbd_conn_params vbd_conn_params_default(void)
{
	return (struct vbd_conn_params){
		.service = VBD_SERVICE_INBOX,
		.sq_depth = 64,
		.rq_depth = 16,
		.recv_size_bytes = 4096,
		.max_send_sge = 4,
		.max_recv_sge = 1,
		.inline_bytes = VBD_INLINE_BYTES,
		.signal_every = 1,
		.retry_count = 4, /* 7 never ends on rxe (rxe_comp.c, 6.1) */
		.rnr_retry = 7, /* a slow reader holds its sender back; transfers have deadlines */
		.ack_timeout =
			14, /* 67 ms: a dead peer is noticed in 0.4 s instead of 8 (rdma_cm's 19) */
		.min_rnr_timer = 12, /* 0.64 ms; the 0 that rdma_cm leaves there is 655 ms */
		.responder_resources = 16,
		.initiator_depth = 16,
	};
}

/* An event on its way through the table. */
struct cause {
	const struct vbd_error *error; /* NULL if it is none */
	int opcode;		       /* enum vbd_op; -1 if none */
	uint64_t transfer;
};

static const struct cause no_cause = {.opcode = -1};

static void step(struct vbd_conn *conn, enum vbd_conn_event event, const struct cause *cause);

void vbd_conn_note(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what,
	const char *detail_fmt, ...)
{
	struct vbd_timeline *timeline = &conn->timeline;
	uint32_t count = timeline->count;
	char detail[80];
	va_list ap;

	va_start(ap, detail_fmt);
	(void)vsnprintf(detail, sizeof(detail), detail_fmt, ap);
	va_end(ap);
	vbd_timeline_add(timeline, kind, what, "%s", detail);
	if (conn->ops->noted && timeline->count > count)
		conn->ops->noted(conn, &timeline->entries[count], conn->ops_arg);
}

/* The one setter of the state. */
static void set_state(struct vbd_conn *conn, enum vbd_conn_state next, enum vbd_conn_event event)
{
	if (conn->state == next)
		return;
	vbd_log(VBD_LOG_DEBUG, "conn", "%llu %s -> %s (%s)", (unsigned long long)conn->id,
		vbd_conn_state_name(conn->state), vbd_conn_state_name(next),
		vbd_conn_event_name(event));
	conn->state = next;
	if (vbd_conn_state_terminal(next))
		conn->ended_ns = vbd_clock_mono_ns();
}

void vbd_conn_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms)
{
	conn->deadline_ms = timeout_ms;
	conn->deadline_since_ns = vbd_clock_mono_ns();
	if (conn->ops->set_deadline)
		conn->ops->set_deadline(conn, timeout_ms, conn->ops_arg);
}

static enum vbd_reason reason_of(enum vbd_conn_event event, const struct cause *cause)
{
	static const enum vbd_reason reasons[VBD_CONN_EVENT_COUNT] = {
		[VBD_CONN_EV_NAME_FAILED] = VBD_REASON_NAME_ERROR,
		[VBD_CONN_EV_ADDR_ERROR] = VBD_REASON_ADDR_ERROR,
		[VBD_CONN_EV_ROUTE_ERROR] = VBD_REASON_ROUTE_ERROR,
		[VBD_CONN_EV_CONNECT_ERROR] = VBD_REASON_CONNECT_ERROR,
		[VBD_CONN_EV_UNREACHABLE] = VBD_REASON_UNREACHABLE,
		[VBD_CONN_EV_REJECTED] = VBD_REASON_REJECTED,
		[VBD_CONN_EV_DISCONNECTED] = VBD_REASON_PEER_DISCONNECT,
		[VBD_CONN_EV_DEVICE_REMOVAL] = VBD_REASON_DEVICE_REMOVED,
		[VBD_CONN_EV_QP_ERROR] = VBD_REASON_QP_FATAL,
		[VBD_CONN_EV_FLUSHED] = VBD_REASON_QP_FATAL,
		[VBD_CONN_EV_DEADLINE] = VBD_REASON_DEADLINE,
		[VBD_CONN_EV_CMD_REJECT] = VBD_REASON_REJECTED_LOCALLY,
		[VBD_CONN_EV_CMD_CLOSE] = VBD_REASON_LOCAL_CLOSE,
		[VBD_CONN_EV_SHUTDOWN] = VBD_REASON_SHUTDOWN,
	};

	if (event == VBD_CONN_EV_WC_ERROR)
		return vbd_reason_of_status(cause->error->status);
	if (event == VBD_CONN_EV_CALL_FAILED) {
		enum vbd_reason reason = vbd_reason_of_status(cause->error->status);

		return reason == VBD_REASON_LOCAL_ERROR ? VBD_REASON_RESOURCE_ERROR : reason;
	}
	return reasons[event] != VBD_REASON_NONE ? reasons[event] : VBD_REASON_PROTOCOL_ERROR;
}

/* The first cause stays; what comes behind it is noise of the same fall. */
static void remember(struct vbd_conn *conn, enum vbd_conn_event event, const struct cause *cause)
{
	if (conn->reason == VBD_REASON_NONE)
		conn->reason = reason_of(event, cause);
	if (!cause->error)
		return;
	if (conn->first_error.at_ns) {
		conn->errors_after_first++;
		return;
	}
	conn->first_error = (struct vbd_first_error){
		.at_ns = vbd_clock_mono_ns(),
		.error = *cause->error,
		.opcode = cause->opcode,
		.transfer = cause->transfer,
	};
}

/* A flush is nobody's cause: what led to it is. */
static void name_cause(struct vbd_conn *conn, enum vbd_conn_event event, const struct cause *cause)
{
	if (!conn->cause_open)
		return;
	conn->reason = VBD_REASON_NONE;
	conn->first_error = (struct vbd_first_error){0};
	remember(conn, event, cause);
}

/* A peer may hang up over an error that we learn of a moment later: then the error is the cause. */
static void count_error(struct vbd_conn *conn, enum vbd_conn_event event, const struct cause *cause)
{
	if (conn->reason == VBD_REASON_PEER_DISCONNECT && event == VBD_CONN_EV_WC_ERROR) {
		conn->reason = VBD_REASON_NONE;
		remember(conn, event, cause);
	} else {
		conn->errors_after_first++;
	}
}

static enum vbd_status make_qp(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_open(conn, err);

	return status ? status : vbd_conn_qp_attach(conn, err);
}

static enum vbd_status do_connect(struct vbd_conn *conn, struct vbd_error *err)
{
	struct rdma_conn_param param;
	enum vbd_status status;

	status = vbd_pv_set_ack_timeout(conn->cm_id, conn->params.ack_timeout, err);
	if (!status)
		status = make_qp(conn, err);
	if (status)
		return status;
	param = vbd_conn_cm_param(conn);
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_connect", "qp_num 0x%06x", param.qp_num);
	return vbd_pv_connect(conn->cm_id, &param, err);
}

static enum vbd_status qp_to_rts(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_RTR, err);

	return status ? status : vbd_conn_qp_move(conn, IBV_QPS_RTS, err);
}

static enum vbd_status confirmed(struct vbd_conn *conn)
{
	conn->cm_connected = conn->cm_id != NULL;
	if (!conn->established_ns)
		conn->established_ns = vbd_clock_mono_ns();
	vbd_conn_set_deadline(conn, 0);
	vbd_conn_refresh_qp(conn);
	return VBD_OK;
}

static enum vbd_status go_rts(struct vbd_conn *conn, struct vbd_error *err)
{
	/* Once more to INIT: only now does the CM know which access the peer may have (librdmacm
	 * does the same). */
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_INIT, err);

	conn->cm_connected = true;
	if (!status)
		status = qp_to_rts(conn, err);
	if (status)
		return status;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_establish", "%s", "");
	status = vbd_pv_establish(conn->cm_id, err);
	return status ? status : confirmed(conn);
}

static enum vbd_status confirm_iwarp(struct vbd_conn *conn)
{
	conn->qp_info.state = IBV_QPS_RTS;
	vbd_conn_note(conn, VBD_TIMELINE_QP, "INIT -> RTS", "by the kernel's iWARP CM, lqpn 0x%06x",
		conn->qp_info.lqpn);
	return confirmed(conn);
}

static enum vbd_status do_accept(struct vbd_conn *conn, struct vbd_error *err)
{
	struct rdma_conn_param param;
	enum vbd_status status;

	status = vbd_pv_set_ack_timeout(conn->cm_id, conn->params.ack_timeout, err);
	if (!status)
		status = make_qp(conn, err);
	if (!status)
		status = qp_to_rts(conn, err);
	if (status)
		return status;
	param = vbd_conn_cm_param(conn);
	conn->cm_connected = true;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_accept", "qp_num 0x%06x", param.qp_num);
	vbd_conn_set_deadline(conn, conn->timeout_ms);
	return vbd_pv_accept(conn->cm_id, &param, err);
}

static void let_go_of_id(struct vbd_conn *conn)
{
	vbd_conn_set_deadline(conn, 0);
	if (!conn->cm_id)
		return;
	vbd_pv_destroy_id(conn->cm_id);
	conn->cm_id = NULL;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_destroy_id", "%s", "");
}

static enum vbd_status reject(struct vbd_conn *conn)
{
	vbd_conn_cm_reject(conn);
	let_go_of_id(conn);
	return VBD_OK;
}

/* Every letter that was sent must be back before its memory goes. */
static bool is_drained(const struct vbd_channel *channel)
{
	return !channel || !channel->attached ||
	       (channel->drained && channel->sweep_sent == channel->swept);
}

static void drained(struct vbd_conn *conn)
{
	if (conn->cause_open)
		return;
	step(conn,
		vbd_reason_clean(conn->reason) ? VBD_CONN_EV_DRAINED_CLEAN
					       : VBD_CONN_EV_DRAINED_FAILED,
		&no_cause);
}

static void disconnect(struct vbd_conn *conn)
{
	struct vbd_error error = {0};

	if (!conn->cm_connected || !conn->cm_id)
		return;
	conn->cm_connected = false;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_disconnect", "%s", "");
	if (vbd_pv_disconnect(conn->cm_id, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "conn", "%s", error.text);
}

/* Nothing more is heard of why it was flushed, or it has been heard. */
static void settle_cause(struct vbd_conn *conn)
{
	conn->cause_open = false;
	disconnect(conn);
	if (is_drained(conn->channel))
		drained(conn);
	else
		vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
}

/* The QP can't go before its worker has taken the drain letter: until then it may post on it. */
static enum vbd_status force(struct vbd_conn *conn)
{
	struct vbd_channel *channel = conn->channel;

	if (conn->cause_open) {
		settle_cause(conn);
		return VBD_OK;
	}
	if (channel->sweep_sent)
		return VBD_OK;
	channel->sweep_sent = true;
	vbd_worker_send(channel->worker, &channel->mail_sweep, VBD_WORKER_FENCE);
	return VBD_OK;
}

static void go_down(struct vbd_conn *conn)
{
	struct vbd_channel *channel = conn->channel;
	struct vbd_error error = {0};

	/* The kernel still works on the QP: the drain goes on in vbd_conn_moved(). */
	if (conn->manual.move) {
		vbd_conn_set_deadline(conn, 0);
		return;
	}
	if (!channel || !channel->attached) {
		drained(conn);
		return;
	}
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	if (channel->drain_sent)
		return;
	channel->drain_sent = true;
	vbd_worker_send(channel->worker, &channel->mail_drain, VBD_WORKER_DRAIN);
	/* A device that no longer takes orders will not flush either. */
	if (vbd_conn_qp_move(conn, IBV_QPS_ERR, &error) != VBD_OK)
		(void)force(conn);
}

static enum vbd_status drain(struct vbd_conn *conn)
{
	disconnect(conn);
	go_down(conn);
	return VBD_OK;
}

/* Only the CM of iWARP moves a QP by itself. Our own disconnect waits: the CM would report it like
 * the peer's. */
static enum vbd_status await_cause(struct vbd_conn *conn)
{
	if (!conn->cm_id || !vbd_device_is_iwarp(conn->device))
		return drain(conn);
	go_down(conn);
	conn->cause_open = true;
	vbd_conn_set_deadline(conn, CAUSE_WAIT_MS);
	return VBD_OK;
}

static enum vbd_status finish(struct vbd_conn *conn)
{
	vbd_conn_qp_release(conn);
	let_go_of_id(conn);
	return VBD_OK;
}

static enum vbd_status notify(struct vbd_conn *conn, struct vbd_error *err)
{
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_notify", "IBV_EVENT_COMM_EST");
	return vbd_pv_notify_established(conn->cm_id, err);
}

static enum vbd_status perform(
	struct vbd_conn *conn, enum vbd_conn_action action, struct vbd_error *err)
{
	switch (action) {
	case VBD_CONN_DO_RESOLVE_ROUTE:
		return vbd_conn_cm_resolve_route(conn, err);
	case VBD_CONN_DO_CONNECT:
		return do_connect(conn, err);
	case VBD_CONN_DO_ACCEPT:
		return do_accept(conn, err);
	case VBD_CONN_DO_REJECT:
		return reject(conn);
	case VBD_CONN_DO_GO_RTS:
		return go_rts(conn, err);
	case VBD_CONN_DO_CONFIRM:
		return confirmed(conn);
	case VBD_CONN_DO_CONFIRM_IWARP:
		return confirm_iwarp(conn);
	case VBD_CONN_DO_MOVE_QP:
		vbd_manual_step(conn);
		return VBD_OK;
	case VBD_CONN_DO_PARK:
		vbd_manual_park(conn);
		return VBD_OK;
	case VBD_CONN_DO_PARKED:
		return vbd_manual_parked(conn, err);
	case VBD_CONN_DO_END_EMPTY:
		let_go_of_id(conn);
		return VBD_OK;
	case VBD_CONN_DO_DRAIN:
		return drain(conn);
	case VBD_CONN_DO_AWAIT_CAUSE:
		return await_cause(conn);
	case VBD_CONN_DO_NAME_CAUSE:
		if (conn->cause_open)
			settle_cause(conn);
		return VBD_OK;
	case VBD_CONN_DO_NOTIFY:
		return notify(conn, err);
	case VBD_CONN_DO_FORCE:
		return force(conn);
	case VBD_CONN_DO_FINISH:
		return finish(conn);
	case VBD_CONN_DO_COUNT:
	case VBD_CONN_DO_IGNORE:
	case VBD_CONN_DO_REFUSE:
	case VBD_CONN_ACTION_COUNT:
		break;
	}
	return VBD_OK;
}

static bool begins_the_end(enum vbd_conn_action action)
{
	return action == VBD_CONN_DO_DRAIN || action == VBD_CONN_DO_AWAIT_CAUSE ||
	       action == VBD_CONN_DO_END_EMPTY || action == VBD_CONN_DO_REJECT;
}

/*
 * Look the pair up, set the state, act. The state comes first, so that an action that fails
 * half-way is undone by the new state's own row; observers hear of a state only when its action is
 * done.
 */
static void step(struct vbd_conn *conn, enum vbd_conn_event event, const struct cause *cause)
{
	const struct vbd_conn_rule *rule = vbd_conn_rule(conn->state, event);
	enum vbd_conn_state old = conn->state;
	struct vbd_error error = {0};

	if (begins_the_end(rule->action))
		remember(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_COUNT)
		count_error(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_NAME_CAUSE)
		name_cause(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_IGNORE)
		vbd_log(VBD_LOG_DEBUG, "conn", "%llu ignores %s in %s: %s",
			(unsigned long long)conn->id, vbd_conn_event_name(event),
			vbd_conn_state_name(old), rule->note);
	set_state(conn, rule->next, event);
	if (perform(conn, rule->action, &error) != VBD_OK) {
		const struct cause failure = {.error = &error, .opcode = -1};

		step(conn, VBD_CONN_EV_CALL_FAILED, &failure);
		return;
	}
	/* An action may have gone a step further by itself; then that step has told. */
	if (conn->state == old || conn->state != rule->next)
		return;
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "on %s",
		vbd_conn_event_name(event));
	if (conn->ops->state_changed)
		conn->ops->state_changed(conn, old, conn->ops_arg);
}

static void step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error)
{
	const struct cause cause = {.error = error, .opcode = -1};

	step(conn, event, &cause);
}

void vbd_conn_raise(struct vbd_conn *conn, enum vbd_conn_event event)
{
	step(conn, event, &no_cause);
}

static struct vbd_conn *allocate(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg)
{
	struct vbd_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->tag.kind = VBD_CM_CONN;
	vbd_list_init(&conn->fabric_link);
	conn->id = id;
	conn->fabric = fabric;
	conn->params = *params;
	conn->cm = *cm;
	conn->timeout_ms = timeout_ms;
	conn->ops = ops;
	conn->ops_arg = ops_arg;
	conn->created_ns = vbd_clock_mono_ns();
	conn->peer_responder_resources = UINT8_MAX;
	conn->peer_initiator_depth = UINT8_MAX;
	return conn;
}

enum vbd_status vbd_conn_create(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err)
{
	struct vbd_conn *conn = allocate(fabric, id, params, cm, timeout_ms, ops, ops_arg);

	if (!conn)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	conn->cm.private_data.message = VBD_CM_MESSAGE_REQUEST;
	conn->state = VBD_CONN_RESOLVING_ADDR;
	*ret_conn = conn;
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "%s", "");
	vbd_conn_set_deadline(conn, timeout_ms);
	return VBD_OK;
}

enum vbd_status vbd_conn_create_manual(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_device *device,
	const struct vbd_manual_local *local, uint64_t timeout_ms, const struct vbd_conn_ops *ops,
	void *ops_arg, struct vbd_conn **ret_conn, struct vbd_error *err)
{
	const struct vbd_cm_params cm = vbd_cm_params_default();
	struct vbd_conn *conn = allocate(fabric, id, params, &cm, timeout_ms, ops, ops_arg);

	if (!conn)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	conn->manual.on = true;
	conn->manual.local = *local;
	/* Told to the peer with the rest, so that both sides keep to it. */
	if (params->path_mtu_bytes && params->path_mtu_bytes < local->mtu_bytes)
		conn->manual.local.mtu_bytes = params->path_mtu_bytes;
	(void)snprintf(conn->device_name, sizeof(conn->device_name), "%s", device->name);
	conn->port_num = local->port_num;
	conn->state = VBD_CONN_AWAITING_REMOTE;
	*ret_conn = conn;
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "%s", "");
	return VBD_OK;
}

void vbd_conn_open_manual(struct vbd_conn *conn, bool stay_in_reset)
{
	struct vbd_error error = {0};
	enum vbd_status status = vbd_conn_qp_open(conn, &error);

	vbd_conn_set_deadline(conn, conn->timeout_ms);
	if (!status)
		vbd_channel_hold_back(conn->channel);
	if (!status && !stay_in_reset)
		status = vbd_conn_qp_attach(conn, &error);
	if (status)
		step_error(conn, VBD_CONN_EV_CALL_FAILED, &error);
}

void vbd_conn_moved(struct vbd_conn *conn)
{
	/* Nobody waits for the call any more: the waiter finds it there. */
	(void)!vbd_manual_finish_move(conn, &conn->manual.failure);
	if (conn->state == VBD_CONN_DRAINING)
		(void)drain(conn);
	else if (conn->ops->stepped)
		conn->ops->stepped(conn, conn->ops_arg);
}

void vbd_conn_resolve(struct vbd_conn *conn, const struct sockaddr *dst)
{
	struct vbd_error error = {0};

	if (vbd_conn_cm_resolve(conn, dst, &error) != VBD_OK)
		step_error(conn, VBD_CONN_EV_CALL_FAILED, &error);
}

void vbd_conn_name_failed(struct vbd_conn *conn, const struct vbd_error *why)
{
	step_error(conn, VBD_CONN_EV_NAME_FAILED, why);
}

enum vbd_status vbd_conn_create_passive(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm,
	uint64_t decide_timeout_ms, const struct vbd_pv_cm_event *request,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err)
{
	struct vbd_conn *conn = allocate(fabric, id, params, cm, decide_timeout_ms, ops, ops_arg);

	if (!conn)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	conn->cm.private_data.message = VBD_CM_MESSAGE_REPLY;
	conn->passive = true;
	conn->state = VBD_CONN_REQUESTED;
	conn->cm_id = request->id;
	vbd_pv_set_id_context(conn->cm_id, &conn->tag);
	vbd_conn_take_device_name(conn);
	vbd_conn_cm_take_addresses(conn);
	vbd_conn_cm_take_peer_data(conn, request);
	*ret_conn = conn;
	vbd_conn_note(conn, VBD_TIMELINE_CM_EVENT, vbd_cm_event_name((int)request->type),
		"rqpn 0x%06x, status %d", request->qp_num, request->status);
	vbd_conn_note(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(conn->state), "%s", "");
	vbd_conn_set_deadline(conn, decide_timeout_ms);
	return VBD_OK;
}

static enum vbd_status check_requested(const struct vbd_conn *conn, struct vbd_error *err)
{
	if (vbd_conn_rule(conn->state, VBD_CONN_EV_CMD_ACCEPT)->action != VBD_CONN_DO_REFUSE)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"connection %llu is %s; only a requested one can be accepted or rejected",
		(unsigned long long)conn->id, vbd_conn_state_name(conn->state));
}

enum vbd_status vbd_conn_accept(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = check_requested(conn, err);

	if (status)
		return status;
	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "accept", "service %s",
		vbd_service_name(conn->params.service));
	step(conn, VBD_CONN_EV_CMD_ACCEPT, &no_cause);
	return VBD_OK;
}

enum vbd_status vbd_conn_reject(struct vbd_conn *conn, const struct vbd_private_data *private_data,
	bool vendor_option, struct vbd_error *err)
{
	enum vbd_status status = check_requested(conn, err);

	if (status)
		return status;
	conn->cm.private_data =
		private_data ? *private_data : (struct vbd_private_data){.length_bytes = 0};
	conn->cm.private_data.message = VBD_CM_MESSAGE_REJECT;
	conn->reject_vendor_option = vendor_option;
	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "reject", "%u bytes of private data",
		conn->cm.private_data.length_bytes);
	step(conn, VBD_CONN_EV_CMD_REJECT, &no_cause);
	return VBD_OK;
}

void vbd_conn_close(struct vbd_conn *conn, enum vbd_reason reason)
{
	if (vbd_conn_state_terminal(conn->state))
		return;
	vbd_conn_note(conn, VBD_TIMELINE_COMMAND, "close", "%s", vbd_reason_name(reason));
	step(conn, reason == VBD_REASON_SHUTDOWN ? VBD_CONN_EV_SHUTDOWN : VBD_CONN_EV_CMD_CLOSE,
		&no_cause);
}

void vbd_conn_fail(struct vbd_conn *conn, const struct vbd_error *why, uint64_t transfer)
{
	const struct cause cause = {.error = why, .opcode = -1, .transfer = transfer};

	step(conn, VBD_CONN_EV_CALL_FAILED, &cause);
}

void vbd_conn_deadline(struct vbd_conn *conn)
{
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE, .raw = (int64_t)conn->deadline_ms};

	(void)vbd_error_set(&error, VBD_E_DEADLINE, "%llu ms passed in %s, waiting for %s",
		(unsigned long long)conn->deadline_ms, vbd_conn_state_name(conn->state),
		vbd_conn_state_waits_for(conn->state));
	step_error(conn, VBD_CONN_EV_DEADLINE, &error);
}

void vbd_conn_device_removed(struct vbd_conn *conn)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(
		&error, VBD_E_DEVICE_REMOVED, "device %s is being removed", conn->device_name);
	step_error(conn, VBD_CONN_EV_DEVICE_REMOVAL, &error);
}

void vbd_conn_release_message(struct vbd_conn *conn, struct vbd_recv_slot *slot)
{
	/* While it drains the receive would only be flushed, and its letter could outlive the
	 * channel. */
	slot->held = false;
	if (!slot->srq && (!conn->channel->attached || conn->channel->drain_sent))
		return;
	vbd_worker_send(conn->channel->worker, &slot->mail, VBD_WORKER_RELEASE_RECV);
}

const struct vbd_op_counters *vbd_conn_op_counters(const struct vbd_conn *conn, enum vbd_op op)
{
	return conn->channel ? &conn->channel->ops[op] : &conn->ended_ops[op];
}

void vbd_conn_destroy(struct vbd_conn *conn)
{
	if (!conn)
		return;
	vbd_timeline_fini(&conn->timeline);
	free(conn);
}

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
	const struct cause cause = {.error = status ? &error : NULL, .opcode = -1};

	vbd_conn_cm_take_peer_data(conn, event);
	vbd_conn_note(conn, VBD_TIMELINE_CM_EVENT, vbd_cm_event_name((int)event->type),
		"status %d%s%s", event->status, rejected ? ": " : "", rejected ? text : "");
	if (status)
		(void)vbd_error_set(&error, status, "%s (CM status %d)", text, event->status);
	step(conn, known ? cm_meanings[event->type].event : VBD_CONN_EV_UNEXPECTED_CM, &cause);
}

void vbd_conn_on_async_event(struct vbd_conn *conn, int type)
{
	struct vbd_error error = {.source = VBD_SOURCE_ASYNC, .kind = type};

	vbd_conn_note(conn, VBD_TIMELINE_ASYNC_EVENT, vbd_async_event_name(type), "lqpn 0x%06x",
		conn->qp_info.lqpn);
	if (type == IBV_EVENT_COMM_EST) {
		step(conn, VBD_CONN_EV_COMM_EST, &no_cause);
		return;
	}
	if (type != IBV_EVENT_QP_FATAL && type != IBV_EVENT_QP_REQ_ERR &&
		type != IBV_EVENT_QP_ACCESS_ERR)
		return;
	(void)vbd_error_set(&error, VBD_E_QP_FATAL, "%s", vbd_async_event_text(type));
	step_error(conn, VBD_CONN_EV_QP_ERROR, &error);
}

static void on_channel_error(void *owner)
{
	struct vbd_conn *conn = owner;
	const struct vbd_channel *channel = conn->channel;
	const struct vbd_error *error = &channel->first_error;
	const struct cause cause = {
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
		step(conn, VBD_CONN_EV_LATE_ERROR, &cause);
	else
		step(conn, flushed ? VBD_CONN_EV_FLUSHED : VBD_CONN_EV_WC_ERROR, &cause);
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
		drained(conn);
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
