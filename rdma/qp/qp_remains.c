/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp_remains.h"

#include "base/attr.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/fabric.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"

#include <stdlib.h>

static struct vbd_qp_remains *remains_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_qp_remains, call);
}

enum vbd_status vbd_qp_remains_create(
	struct vbd_qp *qp, struct vbd_qp_remains **ret_remains, struct vbd_error *err)
{
	struct vbd_qp_remains *remains = calloc(1, sizeof(*remains));

	if (!remains)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a queue pair");
	remains->tag.kind = VBD_CM_OVER;
	remains->qp = qp;
	remains->fabric = qp->fabric;
	*ret_remains = remains;
	return VBD_OK;
}

/* Call thread. */
static void destroy_qp_work(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of(call);

	vbd_pv_destroy_qp(remains->qp->account, remains->ibv_qp);
}

void vbd_qp_remains_destroy_qp(
	struct vbd_qp_remains *remains, struct ibv_qp *ibv_qp, void (*done)(struct vbd_call *call))
{
	remains->ibv_qp = ibv_qp;
	remains->call.work = destroy_qp_work;
	remains->call.done = done;
	vbd_call_start(remains->fabric->calls, &remains->call, VBD_LANE_END);
}

/* Call thread. */
static void free_work(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of(call);

	if (remains->ibv_qp)
		vbd_pv_destroy_qp(&remains->account, remains->ibv_qp);
	if (remains->channel)
		vbd_channel_free_memory(remains->channel);
}

static void on_freed(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of(call);
	struct vbd_channel *channel = remains->channel;
	struct vbd_cq *cq = channel ? channel->cq : NULL;
	struct vbd_pd *pd = remains->pd;

	/* After the queue pair, and without its places in the CQ and the PD: a peer that does not
	 * answer holds up nothing but its id. */
	vbd_calls_end_id(remains->fabric->calls, &remains->account, remains->cm_id);
	vbd_channel_destroy(channel);
	if (cq)
		vbd_cq_release(cq, remains->reserved_cqe);
	vbd_fabric_qp_gone(remains->fabric, cq, remains->srq);
	if (pd) {
		vbd_fabric_release_device(remains->fabric, pd->device);
		vbd_pd_unref(pd);
	}
	vbd_account_close(&remains->account);
	free(remains);
}

void vbd_qp_remains_free(struct vbd_qp_remains *remains)
{
	if (remains->cm_id)
		vbd_pv_set_id_context(remains->cm_id, &remains->tag);
	remains->qp = NULL;
	if (remains->fabric->exits) {
		remains->fabric->left_to_kernel = true;
		return;
	}
	remains->call.work = free_work;
	remains->call.done = on_freed;
	vbd_call_start(remains->fabric->calls, &remains->call, VBD_LANE_END);
}
