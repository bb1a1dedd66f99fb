/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a connection share:
 *
 *   conn.c         creation, commands; conn_manual.c  commands of a manual bring-up
 *   conn_events.c  events of the CM, the QP and the layer above
 *   conn_step.c    a step through the table, and the actions; conn_move.c  actions of a manual
 *                  bring-up
 *   conn_qp.c      the QP; conn_cm.c  the CM id
 *   conn_record.c  what a connection remembers and notifies: timeline, deadline, why it ended
 *
 * Each calls those below it in this list only.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_CONN_PARTS_H
#define VBD_RDMA_CONN_CONN_PARTS_H

#include "rdma/conn/conn.h"

/* --- conn_events.c --------------------------------------------------------------------------- */

extern const struct vbd_qp_ops vbd_conn_qp_ops;

/* --- conn_step.c ----------------------------------------------------------------------------- */

/**
 * vbd_conn_step - look the pair up, set the state, act, and go on with the event that follows
 *
 * The state is set before the action, so that an action that fails half-way is undone by the new
 * state's own row. Observers are notified once, of the last state, when no event follows any more.
 * Without a cause: vbd_conn_raise().
 */
void vbd_conn_step(struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_step_error - the same, @error being the cause */
void vbd_conn_step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error);

/** vbd_conn_raise - the same without a cause; VBD_CONN_NO_EVENT does nothing */
void vbd_conn_raise(struct vbd_conn *conn, enum vbd_conn_event event);

/** vbd_conn_resume_drain - a move that another thread made is over: now the QP can be flushed */
void vbd_conn_resume_drain(struct vbd_conn *conn);

/** vbd_conn_drained - every command that was sent is back: the QP can go, unless the CM may still
 * name the reason */
void vbd_conn_drained(struct vbd_conn *conn);

/* --- conn_record.c --------------------------------------------------------------------------- */

/** vbd_conn_set_deadline - vbd_conn_deadline() shall be called in @timeout_ms; 0: not any more */
void vbd_conn_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms);

/** vbd_conn_remember - the end begins: the first cause stays, what comes behind it is noise of the
 * same fall */
void vbd_conn_remember(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_name_cause - a flush is nobody's cause: what led to it is */
void vbd_conn_name_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_count_error - a peer may hang up over an error that we learn of a moment later: then
 * the error is the cause; else it is counted */
void vbd_conn_count_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

#endif
