/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a queue pair that is brought up by hand: the actions MOVE_QP, PARK and PARKED.
 *
 * Control thread, but for vbd_conn_move_work(). An action returns the event that follows from it,
 * or VBD_CONN_NO_EVENT.
 */
#ifndef VBD_RDMA_CONN_CONN_MOVE_H
#define VBD_RDMA_CONN_CONN_MOVE_H

#include "rdma/conn/conn.h"

/** vbd_conn_move_work - any thread, may block for a second: the move that move_slowly() announced.
 * Nothing else of the connection is touched. */
void vbd_conn_move_work(struct vbd_conn *conn);

/** vbd_conn_move_finish - take the result of vbd_conn_move_work(), and go on to RTS where that was
 * asked for. manual.failure says whether it failed. */
enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn);

/** vbd_conn_move - MOVE_QP: take the QP to manual.to and then to manual.then; manual.failure says
 * whether it failed */
enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn);

/** vbd_conn_move_park - PARK: have the worker collect the flushes */
void vbd_conn_move_park(struct vbd_conn *conn);

/** vbd_conn_move_parked - PARKED: the flushes are in; the channel is as new */
enum vbd_status vbd_conn_move_parked(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

#endif
