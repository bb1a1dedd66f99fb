/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/qp_pool_kinds.h"

#include "base/attr.h"
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

void vbd_qp_kinds_init(struct vbd_qp_kinds *kinds)
{
	*kinds = (struct vbd_qp_kinds){0};
	for (unsigned int i = 0; i < VBD_QP_POOL_RECENT; i++)
		vbd_list_init(&kinds->rows[i].ready);
	vbd_list_init(&kinds->unwanted);
}

struct vbd_qp_kind *vbd_qp_kinds_find(struct vbd_qp_kinds *kinds, const struct vbd_qp_shape *shape)
{
	for (unsigned int i = 0; i < VBD_QP_POOL_RECENT; i++) {
		struct vbd_qp_kind *kind = &kinds->rows[i];

		if (kind->opens && vbd_qp_shape_same(&kind->shape, shape))
			return kind;
	}
	return NULL;
}

void vbd_qp_kinds_put(
	struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind, struct vbd_pooled_qp *pooled)
{
	vbd_list_append(&kind->ready, &pooled->link);
	kind->count++;
	kinds->count++;
}

struct vbd_pooled_qp *vbd_qp_kinds_take(struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind)
{
	struct vbd_pooled_qp *pooled = VBD_LIST_FIRST(&kind->ready, struct vbd_pooled_qp, link);

	if (!pooled)
		return NULL;
	vbd_list_remove(&pooled->link);
	kind->count--;
	kinds->count--;
	return pooled;
}

void vbd_qp_kinds_give_up(struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind, unsigned int count)
{
	for (; count && kind->count; count--)
		vbd_list_append(&kinds->unwanted, &vbd_qp_kinds_take(kinds, kind)->link);
}

static void forget(struct vbd_qp_kinds *kinds, unsigned int i)
{
	struct vbd_qp_kind *kind = kinds->recent[i];

	kinds->recent[i] = NULL;
	if (kind && --kind->opens == 0)
		vbd_qp_kinds_give_up(kinds, kind, kind->count);
}

void vbd_qp_kinds_forget(struct vbd_qp_kinds *kinds, const void *part)
{
	for (unsigned int i = 0; i < VBD_QP_POOL_RECENT; i++) {
		const struct vbd_qp_kind *kind = kinds->recent[i];

		if (kind && (!part || kind->shape.cq == part || kind->shape.srq == part))
			forget(kinds, i);
	}
}

/* There are as many rows as recent opens, and the oldest open has just been forgotten. */
static struct vbd_qp_kind *free_row(struct vbd_qp_kinds *kinds)
{
	struct vbd_qp_kind *kind = kinds->rows;

	while (kind->opens)
		kind++;
	return kind;
}

struct vbd_qp_kind *vbd_qp_kinds_open(struct vbd_qp_kinds *kinds, const struct vbd_qp_shape *shape)
{
	struct vbd_qp_kind *kind = vbd_qp_kinds_find(kinds, shape);

	/* Counted first: the oldest open may be the only other one of its kind. */
	if (kind)
		kind->opens++;
	forget(kinds, kinds->next_recent);
	if (!kind) {
		kind = free_row(kinds);
		kind->shape = *shape;
		kind->init = (struct vbd_qp_init){0};
		kind->opens = 1;
	}
	kinds->recent[kinds->next_recent] = kind;
	kinds->next_recent = (kinds->next_recent + 1) % VBD_QP_POOL_RECENT;
	return kind;
}

int vbd_qp_kinds_missing(
	const struct vbd_qp_kinds *kinds, const struct vbd_qp_kind *kind, unsigned int size)
{
	unsigned int opens = 0;

	if (!kind->opens)
		return 0;
	for (unsigned int i = 0; i < VBD_QP_POOL_RECENT; i++)
		opens += kinds->recent[i] != NULL;
	return (int)((size * kind->opens + opens - 1) / opens) - (int)kind->count;
}

struct vbd_qp_kind *vbd_qp_kinds_furthest(struct vbd_qp_kinds *kinds, unsigned int size, int sign)
{
	struct vbd_qp_kind *furthest = NULL;
	int most = 0;

	for (unsigned int i = 0; i < VBD_QP_POOL_RECENT; i++) {
		int count = sign * vbd_qp_kinds_missing(kinds, &kinds->rows[i], size);

		if (count > most) {
			furthest = &kinds->rows[i];
			most = count;
		}
	}
	return furthest;
}
