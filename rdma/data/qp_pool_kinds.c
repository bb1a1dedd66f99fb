/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/qp_pool_kinds.h"

#include "base/attr.h"

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
