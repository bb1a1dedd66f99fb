/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CQs of the users of a shared receive queue: the SRQ's own CQ, and more of the same worker
 * when that one is full.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_FABRIC_SRQ_CQS_H
#define VBD_RDMA_FABRIC_SRQ_CQS_H

#include "rdma/data/srq.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"

/* A further CQ of an SRQ, in which its depth is reserved. */
struct vbd_srq_cq {
	struct vbd_link link; /* the SRQ's list */
	struct vbd_cq *cq;
	unsigned int users; /* QPs */
};

/**
 * vbd_srq_cqs_admit - reserve room for @cqe sends of a user of @srq
 *
 * The user leaves by vbd_cq_release() and then vbd_srq_cqs_left(). limit_reached if the SRQ's CQ is
 * one that a client has chosen, and full; no_memory, and the errors of the device.
 */
enum vbd_status vbd_srq_cqs_admit(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_cqs_left - a user of @srq in @cq has released its room: after the last one the depth of
 * @srq is released too */
void vbd_srq_cqs_left(struct vbd_srq *srq, const struct vbd_cq *cq);

/** vbd_srq_cqs_forget - free the list; the CQs are gone, or go with the device */
void vbd_srq_cqs_forget(struct vbd_srq *srq);

#endif
