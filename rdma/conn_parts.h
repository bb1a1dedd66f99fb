/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a connection share:
 *
 *   conn.c         creation, commands
 *   conn_events.c  what the CM, the device and the worker report
 *   conn_step.c    a step through the table, and the actions
 *   conn_record.c  what it remembers and tells its observer: timeline, deadline, why it ended
 *
 * Each calls those below it in this list only. conn_cm.c, conn_qp.c and conn_manual.c are what the
 * actions are made of; they call conn_record.c, and conn_manual.c raises events of its own.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_PARTS_H
#define VBD_RDMA_CONN_PARTS_H

#include "rdma/conn.h"

/* What an event on its way through the table brings along. */
struct vbd_conn_cause {
	const struct vbd_error *error; /* NULL if it is none */
	int opcode;		       /* enum vbd_op; -1 if none */
	uint64_t transfer;
};

/* --- conn_step.c ----------------------------------------------------------------------------- */

/**
 * vbd_conn_step - look the pair up, set the state, act
 *
 * The state comes first, so that an action that fails half-way is undone by the new state's own
 * row; observers hear of a state only when its action is done. Without a cause: vbd_conn_raise().
 */
void vbd_conn_step(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_conn_cause *cause);

/** vbd_conn_step_error - the same, @error being the cause */
void vbd_conn_step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error);

/** vbd_conn_drain - disconnect, and have the QP flushed */
void vbd_conn_drain(struct vbd_conn *conn);

/** vbd_conn_drained - every letter is back: the QP can go */
void vbd_conn_drained(struct vbd_conn *conn);

/* --- conn_record.c --------------------------------------------------------------------------- */

/** vbd_conn_remember - the end begins: the first cause stays, what comes behind it is noise of the
 * same fall */
void vbd_conn_remember(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_conn_cause *cause);

/** vbd_conn_name_cause - a flush is nobody's cause: what led to it is */
void vbd_conn_name_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_conn_cause *cause);

/** vbd_conn_count_error - a peer may hang up over an error that we learn of a moment later: then
 * the error is the cause; else it is counted */
void vbd_conn_count_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_conn_cause *cause);

#endif
