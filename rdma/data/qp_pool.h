/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of queue pairs of each device: made while no connection opens, and taken by those that
 * open later, so that an open needs neither ibv_create_qp(3) nor the move to INIT.
 *
 * The last opens decide what a pool holds: as many queue pairs of each shape as its share of them.
 * A call thread makes and destroys a few at a time. A queue pair in a pool has no work requests, so
 * it needs no room in its CQ, and it is no user of its CQ or SRQ; what is about to be freed has to
 * be dropped from the pool first.
 *
 * A queue pair that was connected never comes back: docs/lifetimes.md says why.
 *
 * Control thread. Nothing blocks, except for vbd_qp_pool_destroy().
 */
#ifndef VBD_RDMA_DATA_QP_POOL_H
#define VBD_RDMA_DATA_QP_POOL_H

#include "base/error.h"
#include "rdma/data/qp_pool_kinds.h"

#include <stdbool.h>
#include <stdint.h>

struct ibv_qp;
struct vbd_calls;
struct vbd_cq;
struct vbd_device;
struct vbd_srq;

/* The state that the pools of all devices share; a member of the fabric. */
struct vbd_qp_pools {
	struct vbd_calls *calls;
	unsigned int size; /* queue pairs in each pool at most; 0: none is kept */
	uint64_t last_open_ns;
	unsigned int queue_pairs; /* that can be taken, of all pools */
	uint64_t hits, misses, failures;
	/* A queue pair was destroyed that had kept these from being freed; @srq may be NULL. */
	void (*given_back)(
		struct vbd_device *device, struct vbd_cq *cq, struct vbd_srq *srq, void *arg);
	void *arg;
};

/**
 * vbd_qp_pool_take - a connection opens: take a queue pair of @shape, and remember the shape
 * @ret_init: with what it is in INIT; all zero if it is in RESET
 *
 * Returns a queue pair that is in no account yet, or NULL. Only opens that a queue pair of a pool
 * could serve ask, so that each is a hit or a miss.
 */
struct ibv_qp *vbd_qp_pool_take(struct vbd_qp_pools *pools, struct vbd_device *device,
	const struct vbd_qp_shape *shape, struct vbd_qp_init *ret_init);

/** vbd_qp_pool_learn - a queue pair of @shape moved to INIT with @init: those made later are in
 * INIT with it */
void vbd_qp_pool_learn(const struct vbd_device *device, const struct vbd_qp_shape *shape,
	const struct vbd_qp_init *init);

/** vbd_qp_pool_turn - call it every now and then: make some queue pairs if some are missing and no
 * connection has opened for a while */
void vbd_qp_pool_turn(struct vbd_device *device);

/**
 * vbd_qp_pool_yield - the device has refused to make an object of any kind with @status: destroy a
 * queue pair of its pool; none is made for a while
 * @err: what the refused call said; NULL is fine
 *
 * Returns true, with @err empty, if the call that was refused may be repeated: the status is about
 * limits or memory, and there was a queue pair.
 */
bool vbd_qp_pool_yield(
	struct vbd_device *device, enum vbd_status status, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_pool_drop - destroy the queue pairs of @part, a CQ or an SRQ, and forget their shapes;
 * all of the device if it is NULL. `given_back` follows for each. */
void vbd_qp_pool_drop(struct vbd_device *device, const void *part);

/** vbd_qp_pool_destroy - destroy the pool of @device, with what is left in it; no call is under way
 * any more. `given_back` is not called. May block as ibv_destroy_qp(3) does. */
void vbd_qp_pool_destroy(struct vbd_device *device);

#endif
