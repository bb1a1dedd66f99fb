/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of a connection: open it, move it from state to state, query it.
 *
 * Control thread; used by the files that rdma/conn/conn_parts.h names.
 */
#ifndef VBD_RDMA_CONN_CONN_QP_H
#define VBD_RDMA_CONN_CONN_QP_H

#include "rdma/conn/conn.h"

struct ibv_qp_attr;

/** vbd_conn_qp_prepare - vbd_qp_reserve() on the device of the connection, and get its memory: at
 * once, or if `calling` is set by vbd_qp_prepare() on a call thread, whose failure is in
 * call_status
 */
enum vbd_status vbd_conn_qp_prepare(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_prepare_again - the call of vbd_conn_qp_prepare() returned @failure: repeat it if a
 * pool of queue pairs has made room for the memory; false if not */
bool vbd_conn_qp_prepare_again(struct vbd_conn *conn, enum vbd_status failure) VBD_MUST_CHECK;

/** vbd_conn_qp_open - vbd_qp_open(), which the timeline notes */
enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_qp_call_rtr - move the QP to RTR on a call thread
 *
 * On RoCE the kernel resolves the peer's hardware address, which blocks for up to a second
 * (ib_resolve_eth_dmac() in core/verbs.c, 6.1). A failure of the call is in call_status.
 */
enum vbd_status vbd_conn_qp_call_rtr(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_go_rtr - move the QP to RTR at once, if the kernel knows the peer's hardware
 * address; else `calling` is set by vbd_conn_qp_call_rtr() */
enum vbd_status vbd_conn_qp_go_rtr(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_attach - move the QP to INIT, post its receives, attach it to the worker; after a
 * failure the QP is in RESET */
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

/** vbd_conn_qp_attributes - the attributes of vbd_conn_qp_move(), for a thread that calls
 * ibv_modify_qp(3); vbd_conn_qp_moved() must follow */
enum vbd_status vbd_conn_qp_attributes(struct vbd_conn *conn, int state, struct ibv_qp_attr *attr,
	int *ret_mask, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_moved - record that the QP was moved with the attributes @attr that @mask names */
void vbd_conn_qp_moved(struct vbd_conn *conn, const struct ibv_qp_attr *attr, int mask);

/** vbd_conn_qp_up - the QP is in RTS: its attributes are known. The device is asked only for those
 * that the kernel or a client has set. */
void vbd_conn_qp_up(struct vbd_conn *conn);

/** vbd_conn_qp_failed - whether the device reports that the QP is in ERR; false over iWARP */
bool vbd_conn_qp_failed(const struct vbd_conn *conn);

#endif
