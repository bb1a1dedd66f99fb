/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the files of a connection share:
 *
 *   conn.c         creation, commands; conn_manual.c  commands of a manual bring-up
 *   conn_events.c  events of the CM, the QP and the layer above
 *   conn_step.c    a step through the table, and the actions; conn_end.c  those of the end;
 *                  conn_move.c  those of a manual bring-up
 *   conn_qp.c      the QP; conn_cm.c  the CM id; conn_cm_error.c  its failures; conn_call.c  the
 *                  call that may block
 *   conn_record.c  the record: timeline, deadline, the reason of the end
 *
 * Each file calls only files below it in this list.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_CONN_PARTS_H
#define VBD_RDMA_CONN_CONN_PARTS_H

#include "base/attr.h"
#include "rdma/conn/conn.h"

/* --- conn_events.c --------------------------------------------------------------------------- */

extern const struct vbd_qp_ops vbd_conn_qp_ops;

/** vbd_conn_on_call_done - the call of the connection has returned: its call_done */
void vbd_conn_on_call_done(struct vbd_call *call);

/* --- conn_step.c ----------------------------------------------------------------------------- */

/**
 * vbd_conn_step - look up the rule, set the state, act, and continue with the event that follows
 *
 * The state is set before the action, so that the new state's row undoes an action that fails
 * half-way. state_changed() is called once, with the last state, when no event follows.
 * Without a cause: vbd_conn_raise().
 */
void vbd_conn_step(struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_step_error - vbd_conn_step() with the cause @error */
void vbd_conn_step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error);

/** vbd_conn_raise - vbd_conn_step() without a cause; VBD_CONN_NO_EVENT does nothing */
void vbd_conn_raise(struct vbd_conn *conn, enum vbd_conn_event event);

/** vbd_conn_drained - every command to the worker is back: go on with the end, unless a CM event
 * may still name the reason */
void vbd_conn_drained(struct vbd_conn *conn);

/* --- conn_end.c ------------------------------------------------------------------------------ */

/* Each returns the event that follows. */

/** vbd_conn_end_empty - there is no QP: destroy the CM id */
void vbd_conn_end_empty(struct vbd_conn *conn);

/** vbd_conn_end_drain - disconnect, and move the QP to ERR: its flushes follow */
enum vbd_conn_event vbd_conn_end_drain(struct vbd_conn *conn);

/** vbd_conn_end_await_cause - drain a QP that was flushed; over iWARP a CM event that names the
 * reason is waited for */
enum vbd_conn_event vbd_conn_end_await_cause(struct vbd_conn *conn);

/** vbd_conn_end_await_error - the peer has disconnected: drain, but sends that are outstanding may
 * first say how they failed, for a second at most */
enum vbd_conn_event vbd_conn_end_await_error(struct vbd_conn *conn);

/** vbd_conn_end_hurry - a send has failed: if its error was waited for, go on with the drain */
enum vbd_conn_event vbd_conn_end_hurry(struct vbd_conn *conn);

/** vbd_conn_end_settle - a wait of the end is over: go on with the drain */
enum vbd_conn_event vbd_conn_end_settle(struct vbd_conn *conn);

/** vbd_conn_end_force - the deadline of a step of the end has passed */
enum vbd_conn_event vbd_conn_end_force(struct vbd_conn *conn);

/** vbd_conn_end_drained - every command to the worker is back: NO_EVENT while a CM event may still
 * name the reason */
enum vbd_conn_event vbd_conn_end_drained(const struct vbd_conn *conn);

/** vbd_conn_end_finish - give away the drained QP and the CM id */
void vbd_conn_end_finish(struct vbd_conn *conn);

/* --- conn_call.c ----------------------------------------------------------------------------- */

/** vbd_conn_call_create - a call that has not begun; the caller starts it, or frees it by free(3)
 */
enum vbd_status vbd_conn_call_create(struct vbd_conn *conn, struct vbd_conn_call **ret_call,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_call_start - run @work on a call thread; vbd_conn_on_call_done() follows, which frees
 * @call. None is under way. @work uses nothing of the connection but its CM id or QP. */
void vbd_conn_call_start(struct vbd_conn_call *call, enum vbd_conn_calling what,
	void (*work)(struct vbd_call *call));

/** vbd_conn_call_of - any thread; the call that @call is part of */
static inline struct vbd_conn_call *vbd_conn_call_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_conn_call, call);
}

/* --- conn_record.c --------------------------------------------------------------------------- */

/** vbd_conn_set_deadline - have vbd_conn_deadline() called in @timeout_ms; 0: cancel */
void vbd_conn_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms);

/** vbd_conn_remember - record the cause with which the end begins; later errors follow from the
 * first */
void vbd_conn_remember(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_rename_cause - replace the cause that vbd_conn_remember() has recorded */
void vbd_conn_rename_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_name_cause - replace a flush as the cause by the event that led to it */
void vbd_conn_name_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_refusal_disproved - something else explains why the QP is in ERR */
void vbd_conn_refusal_disproved(struct vbd_conn *conn);

/** vbd_conn_count_error - count a later error; it becomes the cause if the end began with the
 * peer's disconnect or with the state of the QP, both of which may precede the error here. That a
 * peer which has disconnected does not answer is no cause. */
void vbd_conn_count_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

#endif
