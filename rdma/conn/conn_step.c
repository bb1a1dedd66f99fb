/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/log.h"
#include "rdma/conn/conn_parts.h"
#include "rdma/provider/provider.h"

/* The end of a connection. */

/* Limit of the wait for the CM event that names the reason of a flush. */
#define CAUSE_WAIT_MS 1000

/* After the peer's disconnect: interval and number of the looks for outstanding sends, one second
 * in all. */
#define LOOK_MS 10
#define LOOKS	100

/* The interrupt of a call that does not sleep in the kernel yet is lost: repeat it. */
#define INTERRUPT_AGAIN_MS 20

/* There is no QP: destroy the CM id. */
static void destroy_cm_id(struct vbd_conn *conn)
{
	vbd_conn_set_deadline(conn, 0);
	if (!conn->cm_id)
		return;
	vbd_calls_end_id(conn->fabric->calls, &conn->account, conn->cm_id);
	conn->cm_id = NULL;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_destroy_id", "");
}

/* Every command to the worker is back; NO_EVENT while a CM event may still name the reason. */
static enum vbd_conn_event event_of_drained(const struct vbd_conn *conn)
{
	if (conn->reason_pending)
		return VBD_CONN_NO_EVENT;
	return vbd_reason_clean(conn->qp.reason) ? VBD_CONN_EV_DRAINED_CLEAN
						 : VBD_CONN_EV_DRAINED_FAILED;
}

static enum vbd_conn_event interrupt_call(struct vbd_conn *conn)
{
	if (conn->call)
		vbd_call_interrupt(conn->fabric->calls, &conn->call->call);
	vbd_conn_set_deadline(conn, INTERRUPT_AGAIN_MS);
	return VBD_CONN_NO_EVENT;
}

static enum vbd_conn_event drain_qp(struct vbd_conn *conn)
{
	if (vbd_qp_is_drained(&conn->qp))
		return event_of_drained(conn);
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	vbd_qp_drain(&conn->qp);
	return VBD_CONN_NO_EVENT;
}

/* Without a reject the CM would give the peer no reason, and only when the id is destroyed. */
static bool must_reject(const struct vbd_conn *conn)
{
	return conn->passive && conn->cm_id && !conn->cm_asked && !conn->peer_disconnected;
}

/* Disconnect, and move the QP to ERR: its flushes follow. */
static enum vbd_conn_event disconnect_and_drain(struct vbd_conn *conn)
{
	if (conn->calling)
		return interrupt_call(conn);
	if (must_reject(conn))
		vbd_conn_cm_reject(conn);
	vbd_conn_cm_disconnect(conn);
	return drain_qp(conn);
}

/* Only the CM of iWARP moves a QP by itself. The local disconnect is postponed: the CM would report
 * it like the peer's. */
static enum vbd_conn_event await_cause(struct vbd_conn *conn)
{
	enum vbd_conn_event next;

	if (!conn->cm_id || conn->calling || !vbd_device_is_iwarp(conn->qp.device))
		return disconnect_and_drain(conn);
	next = drain_qp(conn);
	if (next != VBD_CONN_NO_EVENT)
		return next;
	conn->reason_pending = true;
	vbd_conn_set_deadline(conn, CAUSE_WAIT_MS);
	return VBD_CONN_NO_EVENT;
}

/* The peer's disconnect may overtake the answer of its device to a request of this side: on
 * Soft-RoCE two threads of the kernel bring them. In ERR the QP would not take that answer. */
static enum vbd_conn_event await_error(struct vbd_conn *conn)
{
	if (conn->calling || vbd_device_is_iwarp(conn->qp.device) || !vbd_qp_has_sends(&conn->qp))
		return disconnect_and_drain(conn);
	vbd_conn_cm_disconnect(conn);
	vbd_qp_stop(&conn->qp);
	conn->looks_left = LOOKS;
	vbd_conn_set_deadline(conn, LOOK_MS);
	return VBD_CONN_NO_EVENT;
}

/* A send has failed: if its error was waited for, go on with the drain. */
static enum vbd_conn_event stop_awaiting_error(struct vbd_conn *conn)
{
	if (!conn->looks_left)
		return VBD_CONN_NO_EVENT;
	conn->looks_left = 0;
	return drain_qp(conn);
}

static enum vbd_conn_event look_for_sends(struct vbd_conn *conn)
{
	if (conn->looks_left == 1 || !vbd_qp_has_sends(&conn->qp))
		return stop_awaiting_error(conn);
	conn->looks_left--;
	vbd_conn_set_deadline(conn, LOOK_MS);
	return VBD_CONN_NO_EVENT;
}

/* A wait of the end is over: go on with the drain. */
static enum vbd_conn_event end_cause_wait(struct vbd_conn *conn)
{
	if (!conn->reason_pending)
		return stop_awaiting_error(conn);
	conn->reason_pending = false;
	vbd_conn_cm_disconnect(conn);
	if (vbd_qp_is_drained(&conn->qp))
		return event_of_drained(conn);
	vbd_conn_set_deadline(conn, conn->fabric->drain_timeout_ms);
	return VBD_CONN_NO_EVENT;
}

/* The deadline of a step of the end has passed. */
static enum vbd_conn_event on_end_deadline(struct vbd_conn *conn)
{
	if (conn->calling)
		return interrupt_call(conn);
	if (conn->looks_left)
		return look_for_sends(conn);
	if (conn->reason_pending)
		return end_cause_wait(conn);
	vbd_qp_force(&conn->qp);
	return VBD_CONN_NO_EVENT;
}

/* Hand the drained QP and the CM id to a call thread, which destroys them. */
static void release_qp_and_cm_id(struct vbd_conn *conn)
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

/* Sets the state; nothing else does. */
static void set_state(struct vbd_conn *conn, enum vbd_conn_state next, enum vbd_conn_event event)
{
	if (conn->state == next)
		return;
	vbd_log(VBD_LOG_DEBUG, "conn", "%llu %s -> %s (%s)", (unsigned long long)conn->id,
		vbd_conn_state_name(conn->state), vbd_conn_state_name(next),
		vbd_conn_event_name(event));
	if (conn->state != VBD_CONN_DRAINING)
		conn->ended_in = vbd_conn_tries_state(conn);
	conn->state = next;
	if (vbd_conn_state_terminal(next))
		conn->ended_ns = vbd_clock_mono_ns();
}

static enum vbd_conn_event prepare_qp(struct vbd_conn *conn, struct vbd_error *err)
{
	/* The time for the decision is over, that for the peer's confirmation begins. */
	if (conn->passive)
		vbd_conn_set_deadline(conn, conn->timeout_ms);
	if (vbd_conn_qp_prepare(conn, err) != VBD_OK)
		return VBD_CONN_EV_CALL_FAILED;
	return conn->calling ? VBD_CONN_NO_EVENT : VBD_CONN_EV_PREPARED;
}

static enum vbd_status open_and_attach_qp(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_open(conn, err);

	return status ? status : vbd_conn_qp_attach(conn, err);
}

/* Call thread. */
static void connect_work(struct vbd_call *call)
{
	struct vbd_conn_call *of = vbd_conn_call_of(call);

	of->status = vbd_pv_connect(of->conn->cm_id, &of->param, &of->error);
}

static enum vbd_status make_qp_and_connect(struct vbd_conn *conn, struct vbd_error *err)
{
	struct rdma_conn_param param;
	enum vbd_status status;

	status = vbd_pv_set_ack_timeout(conn->cm_id, conn->params.ack_timeout, err);
	if (!status)
		status = open_and_attach_qp(conn, err);
	if (status)
		return status;
	param = vbd_conn_cm_param(conn);
	conn->cm_asked = true;
	vbd_conn_notef(conn, VBD_TIMELINE_CALL, "rdma_connect", "qp_num 0x%06x", param.qp_num);
	if (!vbd_device_is_iwarp(conn->qp.device))
		return vbd_pv_connect(conn->cm_id, &param, err);
	/* The TCP handshake (siw_connect() in siw_cm.c, 6.1). */
	return vbd_conn_call(conn, VBD_CONN_CALLS_CONNECT, connect_work,
		&(const struct vbd_conn_call){.param = param}, err);
}

static void confirm_established(struct vbd_conn *conn)
{
	conn->cm_connected = conn->cm_id != NULL;
	if (!conn->established_ns)
		conn->established_ns = vbd_clock_mono_ns();
	vbd_conn_set_deadline(conn, 0);
	vbd_conn_qp_up(conn);
	vbd_qp_start_heartbeat(&conn->qp);
}

/* In RTR a message may come, but the answer of a service must wait for RTS. */
static enum vbd_status begin_move_to_rtr(struct vbd_conn *conn, struct vbd_error *err)
{
	vbd_channel_pause(conn->qp.channel);
	return vbd_conn_qp_go_rtr(conn, err);
}

static enum vbd_status move_to_rts(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_RTS, err);

	if (!status)
		vbd_channel_resume(conn->qp.channel);
	return status;
}

static enum vbd_status go_to_rtr(struct vbd_conn *conn, struct vbd_error *err)
{
	/* The peer repeated its reply. */
	if (conn->calling)
		return VBD_OK;
	conn->cm_connected = true;
	return begin_move_to_rtr(conn, err);
}

static enum vbd_status go_to_rts(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = move_to_rts(conn, err);

	if (status)
		return status;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_establish", "");
	status = vbd_pv_establish(conn->cm_id, err);
	if (!status)
		confirm_established(conn);
	return status;
}

static void confirm_iwarp_conn(struct vbd_conn *conn)
{
	char detail[64];

	conn->qp.info.state = conn->qp.told_state = IBV_QPS_RTS;
	(void)snprintf(detail, sizeof(detail), "by the kernel's iWARP CM, lqpn 0x%06x",
		conn->qp.info.lqpn);
	vbd_conn_note_change(conn, VBD_TIMELINE_QP, vbd_qp_state_name(IBV_QPS_INIT),
		vbd_qp_state_name(IBV_QPS_RTS), detail);
	confirm_established(conn);
}

static enum vbd_status make_qp_and_go_rtr(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_pv_set_ack_timeout(conn->cm_id, conn->params.ack_timeout, err);

	if (!status)
		status = open_and_attach_qp(conn, err);
	return status ? status : begin_move_to_rtr(conn, err);
}

/* Before rdma_accept(3) the kernel does not report that the peer has given up its request. */
static enum vbd_status call_accept(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	struct vbd_error fault = {0};
	enum vbd_status status = vbd_pv_accept(id, param, &fault);

	if (status == VBD_OK)
		return status;
	if (fault.source == VBD_SOURCE_ERRNO && fault.raw == EINVAL)
		(void)snprintf(fault.text, sizeof(fault.text),
			"rdma_accept: the request is over; most likely the peer has given up");
	if (err && !err->status)
		*err = fault;
	return status;
}

static enum vbd_status go_to_rts_and_accept(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = move_to_rts(conn, err);
	struct rdma_conn_param param;

	if (status)
		return status;
	param = vbd_conn_cm_param(conn);
	conn->cm_asked = true;
	/* Over iWARP rdma_disconnect waits until the peer has spoken (iw_cm_disconnect() in
	 * core/iwcm.c, 6.1), which confirm_established() knows. */
	conn->cm_connected = !vbd_device_is_iwarp(conn->qp.device);
	vbd_conn_notef(conn, VBD_TIMELINE_CALL, "rdma_accept", "qp_num 0x%06x", param.qp_num);
	return call_accept(conn->cm_id, &param, err);
}

static enum vbd_status notify_cm_of_data(struct vbd_conn *conn, struct vbd_error *err)
{
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_notify", "IBV_EVENT_COMM_EST");
	return vbd_pv_notify_established(conn->cm_id, err);
}

static enum vbd_conn_event event_after_call(enum vbd_status status)
{
	return status ? VBD_CONN_EV_CALL_FAILED : VBD_CONN_NO_EVENT;
}

static enum vbd_conn_event event_after_rtr(const struct vbd_conn *conn, enum vbd_status status)
{
	if (status)
		return VBD_CONN_EV_CALL_FAILED;
	return conn->calling ? VBD_CONN_NO_EVENT : VBD_CONN_EV_QP_RTR;
}

#define DO(action, statement)      \
	case VBD_CONN_DO_##action: \
		statement;         \
		return VBD_CONN_NO_EVENT;
#define NEXT(action, event)        \
	case VBD_CONN_DO_##action: \
		return event;
#define CALL(action, status) NEXT(action, event_after_call(status))

/* clang-format off */
/* Returns the event that follows from @action; sets @err with CALL_FAILED. */
static enum vbd_conn_event perform_action(
	struct vbd_conn *conn, enum vbd_conn_action action, struct vbd_error *err)
{
	switch (action) {
	DO(BEGIN, vbd_conn_set_deadline(conn, conn->timeout_ms))
	NEXT(RETREAT, disconnect_and_drain(conn))
	NEXT(REST, (release_qp_and_cm_id(conn), vbd_conn_tries_rest(conn)))
	CALL(TRY, vbd_conn_tries_next(conn, err))
	CALL(RESOLVE_ROUTE, vbd_conn_cm_resolve_route(conn, err))
	NEXT(PREPARE, prepare_qp(conn, err))
	CALL(CONNECT, make_qp_and_connect(conn, err))
	CALL(OPEN, vbd_conn_move_open(conn, err))
	NEXT(BRING_UP, event_after_rtr(conn, make_qp_and_go_rtr(conn, err)))
	CALL(ACCEPT, go_to_rts_and_accept(conn, err))
	DO(REJECT, (vbd_conn_cm_reject(conn), destroy_cm_id(conn)))
	NEXT(GO_RTR, event_after_rtr(conn, go_to_rtr(conn, err)))
	CALL(GO_RTS, go_to_rts(conn, err))
	DO(CONFIRM, confirm_established(conn))
	DO(CONFIRM_IWARP, confirm_iwarp_conn(conn))
	NEXT(MOVE_QP, vbd_conn_move(conn))
	DO(PARK, vbd_conn_move_park(conn))
	CALL(PARKED, vbd_conn_move_parked(conn, err))
	DO(END_EMPTY, destroy_cm_id(conn))
	NEXT(DRAIN, disconnect_and_drain(conn))
	NEXT(GO_ON, disconnect_and_drain(conn))
	NEXT(AWAIT_CAUSE, await_cause(conn))
	NEXT(AWAIT_ERROR, await_error(conn))
	NEXT(NAME_CAUSE, end_cause_wait(conn))
	NEXT(COUNT, stop_awaiting_error(conn))
	CALL(NOTIFY, notify_cm_of_data(conn, err))
	NEXT(FORCE, on_end_deadline(conn))
	DO(FINISH, release_qp_and_cm_id(conn))
	case VBD_CONN_DO_IGNORE:
	case VBD_CONN_DO_REFUSE:
	case VBD_CONN_ACTION_COUNT:
		break;
	}
	return VBD_CONN_NO_EVENT;
}
/* clang-format on */

static bool begins_the_end(enum vbd_conn_action action)
{
	return action == VBD_CONN_DO_DRAIN || action == VBD_CONN_DO_AWAIT_CAUSE ||
	       action == VBD_CONN_DO_AWAIT_ERROR || action == VBD_CONN_DO_END_EMPTY ||
	       action == VBD_CONN_DO_REJECT;
}

static void record_cause(struct vbd_conn *conn, const struct vbd_rule *rule,
	enum vbd_conn_event event, const struct vbd_cause *cause)
{
	if (begins_the_end(rule->action))
		vbd_conn_remember(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_COUNT)
		vbd_conn_count_error(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_NAME_CAUSE && conn->reason_pending)
		/* A flush is replaced as the cause by the event that led to it. */
		vbd_conn_rename_cause(conn, event, cause);
	else if (rule->action == VBD_CONN_DO_IGNORE)
		vbd_log(VBD_LOG_DEBUG, "conn", "%llu ignores %s in %s: %s",
			(unsigned long long)conn->id, vbd_conn_event_name(event),
			vbd_conn_state_name(conn->state), rule->note);
}

void vbd_conn_step(struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause)
{
	enum vbd_conn_event changed_by = VBD_CONN_NO_EVENT;
	enum vbd_conn_state old = conn->state;
	struct vbd_cause follow_up = *cause;
	struct vbd_error error = {0};

	while (event != VBD_CONN_NO_EVENT) {
		const struct vbd_rule *rule;
		enum vbd_conn_event blamed;

		event = vbd_conn_tries_judge(conn, event, &follow_up, &blamed);
		rule = vbd_conn_rule(conn->state, event);
		record_cause(conn, rule, blamed, &follow_up);
		if (conn->state != rule->next) {
			old = conn->state;
			changed_by = event;
		}
		set_state(conn, rule->next, event);
		error = (struct vbd_error){0};
		event = perform_action(conn, rule->action, &error);
		follow_up = (struct vbd_cause){.op = -1};
		if (event == VBD_CONN_EV_CALL_FAILED)
			follow_up.error = &error;
	}
	vbd_conn_tries_free_if_over(conn);
	if (changed_by == VBD_CONN_NO_EVENT)
		return;
	vbd_conn_note_change(conn, VBD_TIMELINE_STATE, vbd_conn_state_name(old),
		vbd_conn_state_name(conn->state), vbd_conn_event_text(changed_by));
	if (conn->ops->state_changed)
		conn->ops->state_changed(conn, old, conn->ops_arg);
}

void vbd_conn_drained(struct vbd_conn *conn)
{
	vbd_conn_raise(conn, event_of_drained(conn));
}

void vbd_conn_step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error)
{
	const struct vbd_cause cause = {.error = error, .op = -1};

	vbd_conn_step(conn, event, &cause);
}

void vbd_conn_raise(struct vbd_conn *conn, enum vbd_conn_event event)
{
	const struct vbd_cause none = {.op = -1};

	vbd_conn_step(conn, event, &none);
}
