/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a manual bring-up: the actions OPEN, MOVE_QP, PARK and PARKED.
 *
 * Control thread. An action returns the event that follows from it, or VBD_CONN_NO_EVENT.
 */
#ifndef VBD_RDMA_CONN_CONN_MOVE_H
#define VBD_RDMA_CONN_CONN_MOVE_H

#include "rdma/conn/conn.h"

/** vbd_conn_move_open - OPEN: create the QP, and move it to INIT with its receives posted unless
 * manual.stay_in_reset */
enum vbd_status vbd_conn_move_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_move_finish - process the result of @call, the move to RTR, and move on to manual.then.
 * Sets manual.failure on failure. */
enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn, const struct vbd_conn_call *call);

/** vbd_conn_move - MOVE_QP: move the QP to manual.to and then to manual.then, to RTR on a call
 * thread; sets manual.failure on failure */
enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn);

/** vbd_conn_move_park - PARK: the worker begins to collect the flushes */
void vbd_conn_move_park(struct vbd_conn *conn);

/** vbd_conn_move_parked - PARKED: the flushes are collected; the channel is reset */
enum vbd_status vbd_conn_move_parked(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

#endif
