/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a pool of queue pairs, and its aim: of each shape as many queue pairs as the
 * shape has a share in the recent opens. For rdma/data/qp_pool.c only.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_DATA_QP_POOL_KINDS_H
#define VBD_RDMA_DATA_QP_POOL_KINDS_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct ibv_qp_attr;
struct ibv_qp_init_attr;
struct vbd_cq;
struct vbd_srq;

/* A queue pair of the pool serves a connection that asks for all of these values. */
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

/* The opens that decide what is made. */
#define VBD_QP_POOL_RECENT 16

/* A queue pair that belongs to nobody; with a reference to the device. */
struct vbd_pooled_qp {
	struct vbd_link link;
	struct ibv_qp *ibv_qp; /* NULL before it is made, and when it is destroyed */
	struct vbd_qp_shape shape;
	struct vbd_qp_init init;
};

/* A shape that one of the recent opens had. */
struct vbd_qp_kind {
	struct vbd_qp_shape shape;
	struct vbd_qp_init init; /* of the last queue pair of the shape */
	unsigned int opens;	 /* of the recent ones; 0: the row is free */
	unsigned int count;	 /* in `ready` */
	struct vbd_link ready;	 /* of struct vbd_pooled_qp */
};

struct vbd_qp_kinds {
	struct vbd_qp_kind rows[VBD_QP_POOL_RECENT];
	struct vbd_qp_kind *recent[VBD_QP_POOL_RECENT]; /* a ring; NULL: no open, or forgotten */
	unsigned int next_recent;
	unsigned int count;	  /* ready ones of all kinds */
	struct vbd_link unwanted; /* of struct vbd_pooled_qp */
};

/** vbd_qp_kinds_init - no open yet */
void vbd_qp_kinds_init(struct vbd_qp_kinds *kinds);

/** vbd_qp_kinds_find - the kind of @shape; NULL if no recent open had it */
struct vbd_qp_kind *vbd_qp_kinds_find(struct vbd_qp_kinds *kinds, const struct vbd_qp_shape *shape);

/** vbd_qp_kinds_open - remember an open; the oldest one of a full ring is forgotten */
struct vbd_qp_kind *vbd_qp_kinds_open(struct vbd_qp_kinds *kinds, const struct vbd_qp_shape *shape);

/** vbd_qp_kinds_forget - the opens whose shape has @part, a CQ or an SRQ; all opens if it is NULL.
 * Their queue pairs become unwanted. */
void vbd_qp_kinds_forget(struct vbd_qp_kinds *kinds, const void *part);

/** vbd_qp_kinds_put, vbd_qp_kinds_take - a queue pair that is ready; NULL if there is none */
void vbd_qp_kinds_put(
	struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind, struct vbd_pooled_qp *pooled);
struct vbd_pooled_qp *vbd_qp_kinds_take(struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind);

/** vbd_qp_kinds_give_up - @count queue pairs of @kind at most become unwanted */
void vbd_qp_kinds_give_up(struct vbd_qp_kinds *kinds, struct vbd_qp_kind *kind, unsigned int count);

/** vbd_qp_kinds_missing - how many more ready ones than it has the share of @kind in @size is;
 * below 0: how many fewer */
int vbd_qp_kinds_missing(
	const struct vbd_qp_kinds *kinds, const struct vbd_qp_kind *kind, unsigned int size);

/** vbd_qp_kinds_furthest - the kind that misses the most, or if @sign is -1 has the most too many;
 * NULL if none */
struct vbd_qp_kind *vbd_qp_kinds_furthest(struct vbd_qp_kinds *kinds, unsigned int size, int sign);

#endif
