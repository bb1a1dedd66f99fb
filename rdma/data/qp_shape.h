/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters by which a pool of queue pairs tells one that fits from others. Pure.
 */
#ifndef VBD_RDMA_DATA_QP_SHAPE_H
#define VBD_RDMA_DATA_QP_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_qp_attr;
struct ibv_qp_init_attr;
struct vbd_cq;
struct vbd_srq;

/* Two queue pairs of the same shape can take each other's place. */
struct vbd_qp_shape {
	struct vbd_cq *cq;
	struct vbd_srq *srq; /* in the default PD of the device, as is the queue pair; or NULL */
	int type;	     /* enum ibv_qp_type */
	uint32_t sq_depth, rq_depth, max_send_sge, max_recv_sge, inline_bytes;
};

/* The attributes with which a queue pair moved to INIT; all zero if it has not. */
struct vbd_qp_init {
	int mask; /* enum ibv_qp_attr_mask */
	uint16_t pkey_index;
	uint8_t port_num;
	unsigned int access; /* enum ibv_access_flags */
};

/** vbd_qp_shape_attr - the attributes of ibv_create_qp(3) for a queue pair of @shape */
struct ibv_qp_init_attr vbd_qp_shape_attr(const struct vbd_qp_shape *shape);

/** vbd_qp_shape_same - whether queue pairs of both shapes can take each other's place */
bool vbd_qp_shape_same(const struct vbd_qp_shape *a, const struct vbd_qp_shape *b);

/** vbd_qp_init_of - from the attributes of ibv_modify_qp(3) to INIT; all zero if they have others
 * than the CM's */
struct vbd_qp_init vbd_qp_init_of(const struct ibv_qp_attr *attr, int mask);

/** vbd_qp_init_same - whether a move to INIT with @b changes nothing after one with @a */
bool vbd_qp_init_same(const struct vbd_qp_init *a, const struct vbd_qp_init *b);

#endif
