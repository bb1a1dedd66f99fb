/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of a connection: making it, moving it from state to state, taking it apart. The part of
 * a connection that talks to the device.
 *
 * Control thread; used by the files that rdma/conn/conn_parts.h names.
 */
#ifndef VBD_RDMA_CONN_CONN_QP_H
#define VBD_RDMA_CONN_CONN_QP_H

#include "rdma/conn/conn.h"

struct ibv_qp_attr;

/** vbd_conn_qp_open - find the device, and vbd_qp_open() on it */
enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_attach - the QP to INIT, receives posted, handed to the worker; if that fails it is
 * in RESET as before */
enum vbd_status vbd_conn_qp_attach(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_qp_move - vbd_qp_modify() to @state (enum ibv_qp_state)
 *
 * The attributes are those of the CM (rdma_init_qp_attr(3)), with the timers and retries of the
 * connection's parameters. If the CM has no attributes for the state (iWARP: RTS), the kernel moves
 * the QP, and this function does nothing.
 */
enum vbd_status vbd_conn_qp_move(
	struct vbd_conn *conn, int state, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_attributes - the first half of vbd_conn_qp_move(), for a move that another thread
 * makes: the attributes for ibv_modify_qp(3). vbd_qp_moved() is the other half. */
enum vbd_status vbd_conn_qp_attributes(struct vbd_conn *conn, int state, struct ibv_qp_attr *attr,
	int *ret_mask, struct vbd_error *err) VBD_MUST_CHECK;

#endif
