/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remains of a queue pair that is over: its objects in the kernel and their memory. A call
 * thread destroys them, since the kernel may wait (docs/blocking.md). Their owner does not.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_QP_QP_REMAINS_H
#define VBD_RDMA_QP_QP_REMAINS_H

#include "rdma/data/calls.h"
#include "rdma/names/cm_tag.h"
#include "rdma/provider/account.h"
#include "rdma/qp/qp.h"

struct vbd_qp_remains {
	struct vbd_cm_tag tag; /* of cm_id: nobody wants its events any more */
	struct vbd_call call;
	struct vbd_qp *qp; /* its owner, as long as there is one */
	struct vbd_account account;
	struct ibv_qp *ibv_qp;
	struct rdma_cm_id *cm_id;
	struct vbd_channel *channel;
	uint32_t reserved_cqe; /* in the channel's CQ */
	struct vbd_fabric *fabric;
	struct vbd_pd *pd;
	struct vbd_srq *srq;
};

/** vbd_qp_remains_create - nothing yet, for a QP that hands it to vbd_qp_remains_free() */
enum vbd_status vbd_qp_remains_create(struct vbd_qp *qp, struct vbd_qp_remains **ret_remains,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_remains_destroy_qp - destroy the QP alone, because it does not flush; @done follows with
 * remains->call */
void vbd_qp_remains_destroy_qp(
	struct vbd_qp_remains *remains, struct ibv_qp *ibv_qp, void (*done)(struct vbd_call *call));

/** vbd_qp_remains_free - destroy all that @remains has, in the order of docs/lifetimes.md, then
 * release its places in the CQ, the SRQ, the PD and the device, and free it; but leave it as it is
 * if its fabric `exits` */
void vbd_qp_remains_free(struct vbd_qp_remains *remains);

#endif
