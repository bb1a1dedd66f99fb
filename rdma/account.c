/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/account.h"

#include "rdma/channel.h"
#include "rdma/cq.h"
#include "rdma/fabric.h"
#include "rdma/pd.h"
#include "rdma/provider.h"
#include "rdma/srq.h"

const char *vbd_object_type_name(enum vbd_pv_object type)
{
	static const char *const names[VBD_PV_OBJECT_COUNT] = {
#define OBJECT_NAME(sym, name) [VBD_PV_##sym] = name,
		VBD_PV_OBJECT_MAP(OBJECT_NAME)
#undef OBJECT_NAME
	};

	return names[type];
}

enum vbd_status vbd_account_kernel(uint64_t ret_counts[VBD_PV_OBJECT_COUNT], struct vbd_error *err)
{
	return vbd_pv_count_objects(ret_counts, err);
}

void vbd_account_librdmacm(uint64_t ret_counts[VBD_PV_OBJECT_COUNT])
{
	vbd_pv_own_objects(ret_counts);
}

void vbd_account_channel(const struct vbd_channel *channel, uint64_t counts[VBD_PV_OBJECT_COUNT])
{
	if (!channel)
		return;
	counts[VBD_PV_MR] += channel->mem.mr != NULL;
	counts[VBD_PV_MR] += channel->rping != NULL;
}

static void account_device(const struct vbd_device *device, uint64_t counts[VBD_PV_OBJECT_COUNT])
{
	counts[VBD_PV_CONTEXT] += device->context != NULL;
	vbd_list_for_each (link, &device->pds) {
		const struct vbd_pd *pd = VBD_CONTAINER_OF(link, struct vbd_pd, link);

		counts[VBD_PV_PD] += pd->ibv_pd != NULL;
		counts[VBD_PV_MR] += pd->msgpool != NULL;
	}
}

void vbd_account_fabric(const struct vbd_fabric *fabric, uint64_t counts[VBD_PV_OBJECT_COUNT])
{
	vbd_list_for_each (link, &fabric->devices)
		account_device(VBD_CONTAINER_OF(link, struct vbd_device, link), counts);
	vbd_list_for_each (link, &fabric->cqs)
		counts[VBD_PV_CQ] += VBD_CONTAINER_OF(link, struct vbd_cq, link)->cq != NULL;
	vbd_list_for_each (link, &fabric->srqs) {
		const struct vbd_srq *srq = VBD_CONTAINER_OF(link, struct vbd_srq, link);

		counts[VBD_PV_SRQ] += srq->srq != NULL;
		counts[VBD_PV_MR] += srq->mem.mr != NULL;
	}
}
