/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/qp_shape.h"

#include "rdma/data/srq.h"
#include "rdma/device/cq.h"
#include "rdma/provider/provider.h"

struct ibv_qp_init_attr vbd_qp_shape_attr(const struct vbd_qp_shape *shape)
{
	return (struct ibv_qp_init_attr){
		.send_cq = shape->cq->cq,
		.recv_cq = shape->cq->cq,
		.srq = shape->srq ? shape->srq->srq : NULL,
		.cap =
			{
				.max_send_wr = shape->sq_depth,
				.max_recv_wr = shape->rq_depth,
				.max_send_sge = shape->max_send_sge,
				.max_recv_sge = shape->max_recv_sge,
				.max_inline_data = shape->inline_bytes,
			},
		.qp_type = (enum ibv_qp_type)shape->type,
	};
}

bool vbd_qp_shape_same(const struct vbd_qp_shape *a, const struct vbd_qp_shape *b)
{
	return a->cq == b->cq && a->srq == b->srq && a->type == b->type &&
	       a->sq_depth == b->sq_depth && a->rq_depth == b->rq_depth &&
	       a->max_send_sge == b->max_send_sge && a->max_recv_sge == b->max_recv_sge &&
	       a->inline_bytes == b->inline_bytes;
}

struct vbd_qp_init vbd_qp_init_of(const struct ibv_qp_attr *attr, int mask)
{
	if (mask != (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return (struct vbd_qp_init){0};
	return (struct vbd_qp_init){
		.mask = mask,
		.pkey_index = attr->pkey_index,
		.port_num = attr->port_num,
		.access = attr->qp_access_flags,
	};
}

bool vbd_qp_init_same(const struct vbd_qp_init *a, const struct vbd_qp_init *b)
{
	return a->mask && a->mask == b->mask && a->pkey_index == b->pkey_index &&
	       a->port_num == b->port_num && a->access == b->access;
}
