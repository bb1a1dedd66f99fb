/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp_remains.h"

#include "base/attr.h"
#include "rdma/device/cq.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/fabric.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"

#include <stdlib.h>

static struct vbd_qp_remains *remains_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_qp_remains, call);
}

enum vbd_status vbd_qp_remains_create(struct vbd_qp *qp, struct vbd_device *device,
	struct vbd_qp_remains **ret_remains, struct vbd_error *err)
{
	struct vbd_qp_remains *remains = calloc(1, sizeof(*remains));

	if (!remains)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a queue pair");
	remains->tag.kind = VBD_CM_REMAINS;
	remains->qp = qp;
	remains->fabric = qp->fabric;
	remains->device = device;
	*ret_remains = remains;
	return VBD_OK;
}

/* Over iWARP the kernel waits for a peer that has not spoken yet: siw_destroy_qp() in siw_verbs.c,
 * 6.1. */
static enum vbd_lane lane_of(const struct vbd_qp_remains *remains)
{
	return vbd_device_is_iwarp(remains->device) ? VBD_LANE_END : VBD_LANE_MEMORY;
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
	vbd_call_start(remains->fabric->calls, &remains->call, lane_of(remains));
}

/* Call thread. */
static void free_work(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of(call);

	if (remains->ibv_qp)
		vbd_pv_destroy_qp(&remains->account, remains->ibv_qp);
	if (remains->channel)
		vbd_channel_free_memory(remains->channel);
	vbd_pv_destroy_id(&remains->account, remains->cm_id);
}

static void on_freed(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of(call);
	struct vbd_channel *channel = remains->channel;
	struct vbd_cq *cq = channel ? channel->cq : NULL;
	struct vbd_pd *pd = remains->pd;

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
	vbd_call_start(remains->fabric->calls, &remains->call, lane_of(remains));
}
