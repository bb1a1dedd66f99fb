/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protection domains, completion queues and shared receive queues that clients create, in addition
 * to those that the fabric makes by itself.
 *
 * Control thread. The layer above keeps account of the users, and deletes only unused objects.
 */
#ifndef VBD_RDMA_FABRIC_SHARED_H
#define VBD_RDMA_FABRIC_SHARED_H

#include "rdma/data/srq.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/fabric.h"

/* A CQ raises an event after this many completions, or this long after the first completion. */
struct vbd_cq_moderation {
	uint16_t count;
	uint16_t period_us;
};

/** vbd_fabric_make_pd - a protection domain of a device that is PRESENT */
enum vbd_status vbd_fabric_make_pd(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_pd **ret_pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_pd - by id; NULL if there is none */
struct vbd_pd *vbd_fabric_pd(const struct vbd_fabric *fabric, uint64_t id);

/** vbd_fabric_make_cq - a completion queue for a client; out_of_range for a depth beyond the
 * device's limit */
enum vbd_status vbd_fabric_make_cq(struct vbd_fabric *fabric, struct vbd_device *device,
	uint32_t depth_cqe, struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_cq - by id; NULL if there is none */
struct vbd_cq *vbd_fabric_cq(const struct vbd_fabric *fabric, uint64_t id);

/**
 * vbd_fabric_resize_cq - make its depth at least @depth_cqe; @cq may be in use
 *
 * in_use if @depth_cqe is below the reserved room, as @cq could overrun; not_supported;
 * out_of_range.
 */
enum vbd_status vbd_fabric_resize_cq(
	struct vbd_cq *cq, uint32_t depth_cqe, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_moderate_cq - not_supported, or out_of_range, naming the device */
enum vbd_status vbd_fabric_moderate_cq(struct vbd_cq *cq, const struct vbd_cq_moderation *how,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_check_cq - does @device support a CQ of this depth and moderation? */
enum vbd_status vbd_fabric_check_cq(const struct vbd_device *device, uint32_t depth_cqe,
	const struct vbd_cq_moderation *how, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_delete_cq - no lookup finds the CQ any more; freed when its worker has released it */
void vbd_fabric_delete_cq(struct vbd_fabric *fabric, struct vbd_cq *cq);

/**
 * vbd_fabric_plan_srq - a shared receive queue whose memory vbd_mem_prepare() makes ready for
 * vbd_fabric_add_srq(); not_supported, or out_of_range, naming the device; bad_value
 * @cq: that it is meant for; NULL for a CQ of the fabric
 */
enum vbd_status vbd_fabric_plan_srq(struct vbd_pd *pd, const struct vbd_cq *cq,
	const struct vbd_srq_params *params, struct vbd_srq **ret_srq,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_fabric_add_srq - open a prepared shared receive queue, whose device is usable
 * @srq: belongs to the fabric then; after a failure the caller destroys it
 * @cq:  of the same device; NULL for a CQ of the fabric
 */
enum vbd_status vbd_fabric_add_srq(struct vbd_fabric *fabric, struct vbd_srq *srq,
	struct vbd_cq *cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_srq - by id; NULL if there is none */
struct vbd_srq *vbd_fabric_srq(const struct vbd_fabric *fabric, uint64_t id);

/** vbd_fabric_qp_gone - a QP with a place in @cq, and a user of @srq, is destroyed; either may be
 * NULL. What a client has deleted meanwhile goes now. */
void vbd_fabric_qp_gone(struct vbd_fabric *fabric, struct vbd_cq *cq, struct vbd_srq *srq);

/** vbd_fabric_delete_srq - no lookup finds it any more; freed when its worker has released it */
void vbd_fabric_delete_srq(struct vbd_srq *srq);

/* For the fabric only. */
void vbd_resources_device_removing(struct vbd_fabric *fabric, const struct vbd_device *device);
void vbd_resources_abandon(struct vbd_fabric *fabric, const struct vbd_device *device);
void vbd_resources_srq_runs_low(struct vbd_fabric *fabric, const struct ibv_srq *ibv_srq);
void vbd_resources_srq_limit_seen(struct vbd_srq *srq);
void vbd_resources_srq_removed(struct vbd_fabric *fabric, struct vbd_srq *srq);

#endif
