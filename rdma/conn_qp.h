/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of a connection: making it, moving it from state to state, taking it apart. The part of
 * a connection that talks to the device.
 *
 * Control thread; used by the files that rdma/conn_parts.h names.
 */
#ifndef VBD_RDMA_CONN_QP_H
#define VBD_RDMA_CONN_QP_H

#include "rdma/conn.h"

struct ibv_qp_attr;

/** vbd_conn_qp_open - device, CQ, channel and QP, in RESET */
enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_attach - the QP to INIT, receives posted, handed to the worker; if that fails it is
 * in RESET as before */
enum vbd_status vbd_conn_qp_attach(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_qp_move - the one place where a QP changes its state
 * @state: enum ibv_qp_state
 *
 * The attributes are those of the CM (rdma_init_qp_attr(3)), with the timers and retries that the
 * connection asked for. A CM that has nothing to set for the state (iWARP: RTS) leaves the QP to
 * the kernel.
 */
enum vbd_status vbd_conn_qp_move(
	struct vbd_conn *conn, int state, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * The halves of vbd_conn_qp_move(), for a move that another thread makes: what ibv_modify_qp(3)
 * shall get, and what is to be remembered of its success.
 */
enum vbd_status vbd_conn_qp_attributes(struct vbd_conn *conn, int state, struct ibv_qp_attr *attr,
	int *ret_mask, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_conn_qp_moved(struct vbd_conn *conn, int state);

/** vbd_conn_qp_destroy - destroy the QP without its channel; harmless without a QP */
void vbd_conn_qp_destroy(struct vbd_conn *conn);

/** vbd_conn_qp_release - QP, channel, CQ reservation and device; the channel is drained or was
 * never attached */
void vbd_conn_qp_release(struct vbd_conn *conn);

#endif
