/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/cq.h"

#include "rdma/device/device.h"
#include "rdma/provider/provider.h"

enum vbd_status vbd_cq_create(uint64_t id, struct vbd_device *device, struct vbd_worker *worker,
	uint32_t depth_cqe, unsigned int comp_vector, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_cq *cq = calloc(1, sizeof(*cq));
	enum vbd_status status;

	if (!cq)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a completion queue");
	if (device->attr.max_cqe && depth_cqe > device->attr.max_cqe)
		depth_cqe = device->attr.max_cqe;
	vbd_list_init(&cq->link);
	vbd_list_init(&cq->active_link);
	vbd_list_init(&cq->purges);
	cq->id = id;
	cq->worker = worker;
	status = vbd_pv_create_comp_channel(device->context, &cq->comp_channel, err);
	if (status)
		goto free_cq;
	status = vbd_pv_create_cq(&cq->account, device->context, depth_cqe, cq, cq->comp_channel,
		comp_vector, &cq->cq, err);
	if (status)
		goto destroy_comp_channel;
	cq->capacity_cqe = (uint32_t)cq->cq->cqe;
	cq->device = device;
	vbd_device_ref(device);
	*ret_cq = cq;
	return VBD_OK;

destroy_comp_channel:
	vbd_pv_destroy_comp_channel(cq->comp_channel);
free_cq:
	free(cq);
	return status;
}

void vbd_cq_destroy(struct vbd_cq *cq)
{
	vbd_list_remove(&cq->link);
	cq->device->ended_cq_completions += vbd_counter_get(&cq->completions);
	cq->device->ended_cq_error_completions += vbd_counter_get(&cq->error_completions);
	vbd_pv_destroy_cq(&cq->account, cq->cq);
	vbd_pv_destroy_comp_channel(cq->comp_channel);
	vbd_account_close(&cq->account);
	vbd_device_unref(cq->device);
	free(cq);
}

bool vbd_cq_admit(struct vbd_cq *cq, uint32_t cqe)
{
	if (cq->removing || cq->failed || cqe > cq->capacity_cqe - cq->reserved_cqe)
		return false;
	cq->reserved_cqe += cqe;
	cq->connections++;
	return true;
}

void vbd_cq_release(struct vbd_cq *cq, uint32_t cqe)
{
	cq->reserved_cqe -= cqe;
	cq->connections--;
}

void vbd_cq_count_outstanding(struct vbd_cq *cq, uint64_t n)
{
	uint64_t outstanding = vbd_counter_get(&cq->outstanding) + n;

	vbd_counter_set(&cq->outstanding, outstanding);
	if (outstanding > vbd_counter_get(&cq->high_water))
		vbd_counter_set(&cq->high_water, outstanding);
}

void vbd_cq_uncount_outstanding(struct vbd_cq *cq, uint64_t n)
{
	vbd_counter_set(&cq->outstanding, vbd_counter_get(&cq->outstanding) - n);
}
