/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/shared.h"

#include "rdma/fabric/fabric_parts.h"
#include "rdma/provider/provider.h"

enum vbd_status vbd_fabric_make_pd(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_pd **ret_pd, struct vbd_error *err)
{
	enum vbd_status status = vbd_pd_create(device, ret_pd, err);

	if (status)
		return status;
	(*ret_pd)->id = ++fabric->last_pd_id;
	return VBD_OK;
}

struct vbd_pd *vbd_fabric_pd(const struct vbd_fabric *fabric, uint64_t id)
{
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		vbd_list_for_each_of (struct vbd_pd, pd, link, &device->pds) {
			if (id && pd->id == id && !pd->delete_pending)
				return pd;
		}
	}
	return NULL;
}

enum vbd_status vbd_fabric_check_cq(const struct vbd_device *device, uint32_t depth_cqe,
	const struct vbd_cq_moderation *how, struct vbd_error *err)
{
	const struct vbd_device_attr *attr = &device->attr;
	enum vbd_status status;

	if (attr->max_cqe && depth_cqe > attr->max_cqe)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "cqe",
			"a completion queue of device %s holds %u at most", device->name,
			attr->max_cqe);
	if (!how || (!how->count && !how->period_us))
		return VBD_OK;
	status = vbd_device_require(device, VBD_CAP_CQ_MODERATION, err);
	if (status)
		return status;
	if (how->count > attr->max_cq_count)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "moderation_count",
			"device %s allows a count of %u at most", device->name, attr->max_cq_count);
	if (how->period_us > attr->max_cq_period_us)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "moderation_period_us",
			"device %s allows a period of %u us at most", device->name,
			attr->max_cq_period_us);
	return VBD_OK;
}

enum vbd_status vbd_fabric_make_cq(struct vbd_fabric *fabric, struct vbd_device *device,
	uint32_t depth_cqe, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_worker *worker = vbd_fabric_least_used_worker(fabric);
	enum vbd_status status = vbd_fabric_check_cq(device, depth_cqe, NULL, err);
	struct vbd_cq *cq;

	if (!status)
		status = vbd_fabric_new_cq(fabric, device, worker, depth_cqe, &cq, err);
	if (status)
		return status;
	cq->asked_for = true;
	*ret_cq = cq;
	return VBD_OK;
}

struct vbd_cq *vbd_fabric_cq(const struct vbd_fabric *fabric, uint64_t id)
{
	vbd_list_for_each_of (struct vbd_cq, cq, link, &fabric->cqs) {
		if (cq->id == id && !cq->removing && !cq->deleted)
			return cq;
	}
	return NULL;
}

enum vbd_status vbd_fabric_resize_cq(struct vbd_cq *cq, uint32_t depth_cqe, struct vbd_error *err)
{
	enum vbd_status status = vbd_device_require(cq->device, VBD_CAP_CQ_RESIZE, err);

	if (!status)
		status = vbd_fabric_check_cq(cq->device, depth_cqe, NULL, err);
	if (status)
		return status;
	if (depth_cqe < cq->reserved_cqe)
		return vbd_error_param(err, VBD_E_IN_USE, "cqe",
			"cq %llu has %u completions reserved and can't be smaller than that",
			(unsigned long long)cq->id, cq->reserved_cqe);
	status = vbd_pv_resize_cq(cq->cq, depth_cqe, err);
	if (!status)
		cq->capacity_cqe = (uint32_t)cq->cq->cqe;
	return status;
}

enum vbd_status vbd_fabric_moderate_cq(
	struct vbd_cq *cq, const struct vbd_cq_moderation *how, struct vbd_error *err)
{
	enum vbd_status status = vbd_fabric_check_cq(cq->device, 0, how, err);

	/* Switching moderation off on a device without moderation needs no call. */
	if (!status && !vbd_device_can(cq->device, VBD_CAP_CQ_MODERATION))
		return VBD_OK;
	if (!status)
		status = vbd_pv_moderate_cq(cq->cq, how->count, how->period_us, err);
	if (status)
		return status;
	cq->moderation_count = how->count;
	cq->moderation_period_us = how->period_us;
	return VBD_OK;
}

void vbd_fabric_delete_cq(struct vbd_fabric *fabric, struct vbd_cq *cq)
{
	cq->deleted = true;
	vbd_fabric_remove_cq_if_idle(fabric, cq);
}

/* Shared receive queues. */

enum vbd_status vbd_fabric_plan_srq(struct vbd_pd *pd, const struct vbd_cq *cq,
	const struct vbd_srq_params *params, struct vbd_srq **ret_srq, struct vbd_error *err)
{
	const struct vbd_device *device = pd->device;
	enum vbd_status status = vbd_device_require(device, VBD_CAP_SRQ, err);
	uint32_t most = device->attr.max_srq_wr;

	if (status)
		return status;
	/* The CQ needs room for the completion of each receive of the SRQ. */
	if (device->attr.max_cqe && device->attr.max_cqe < most)
		most = device->attr.max_cqe;
	if (params->depth > most)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "depth",
			"a shared receive queue of device %s holds %u at most", device->name, most);
	if (cq && cq->device != device)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "srq_cq",
			"cq %llu belongs to %s, but the pd belongs to %s",
			(unsigned long long)cq->id, cq->device->name, device->name);
	return vbd_srq_plan(pd, params, ret_srq, err);
}

enum vbd_status vbd_fabric_add_srq(
	struct vbd_fabric *fabric, struct vbd_srq *srq, struct vbd_cq *cq, struct vbd_error *err)
{
	enum vbd_status status =
		cq ? vbd_fabric_admit_in(cq, srq->depth, err)
		   : vbd_fabric_admit(fabric, srq->pd->device, srq->depth, &cq, err);

	if (status)
		return status;
	status = vbd_srq_open(srq, ++fabric->last_srq_id, cq, err);
	if (status) {
		vbd_cq_release(cq, srq->depth);
		return status;
	}
	vbd_list_append(&fabric->srqs, &srq->link);
	fabric->srqs_bytes += srq->mem.size_bytes;
	vbd_worker_send(srq->worker, &srq->add_command, VBD_WORKER_ADD_SRQ);
	return VBD_OK;
}

struct vbd_srq *vbd_fabric_srq(const struct vbd_fabric *fabric, uint64_t id)
{
	vbd_list_for_each_of (struct vbd_srq, srq, link, &fabric->srqs) {
		if (srq->id == id && !srq->removing)
			return srq;
	}
	return NULL;
}

/* The limit command must be back before the remove command may free the SRQ. */
static void remove_srq_if_idle(struct vbd_srq *srq)
{
	if (!srq->removing || srq->remove_sent || srq->limit_sent || srq->users > 0)
		return;
	srq->remove_sent = true;
	vbd_worker_send(srq->worker, &srq->remove_command, VBD_WORKER_REMOVE_SRQ);
}

void vbd_fabric_qp_gone(struct vbd_fabric *fabric, struct vbd_cq *cq, struct vbd_srq *srq)
{
	if (srq) {
		vbd_srq_cqs_left(srq, cq);
		srq->users--;
		remove_srq_if_idle(srq);
	}
	if (cq && cq->deleted)
		vbd_fabric_remove_cq_if_idle(fabric, cq);
}

void vbd_fabric_delete_srq(struct vbd_srq *srq)
{
	srq->removing = true;
	remove_srq_if_idle(srq);
}

void vbd_resources_srq_limit_seen(struct vbd_srq *srq)
{
	vbd_srq_on_limit_seen(srq);
	remove_srq_if_idle(srq);
}

void vbd_resources_srq_removed(struct vbd_fabric *fabric, struct vbd_srq *srq)
{
	uint32_t depth = srq->depth;
	struct vbd_cq *cq = srq->cq;

	fabric->srqs_bytes -= srq->mem.size_bytes;
	vbd_srq_destroy(srq);
	vbd_cq_release(cq, depth);
	if (cq->deleted)
		vbd_fabric_remove_cq_if_idle(fabric, cq);
}

void vbd_resources_srq_runs_low(struct vbd_fabric *fabric, const struct ibv_srq *ibv_srq)
{
	vbd_list_for_each_of (struct vbd_srq, srq, link, &fabric->srqs) {
		if (srq->srq == ibv_srq)
			vbd_srq_on_limit_event(srq);
	}
}

void vbd_resources_device_removing(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each_of (struct vbd_srq, srq, link, &fabric->srqs) {
		if (srq->pd->device != device)
			continue;
		if (fabric->ops->gone)
			fabric->ops->gone(VBD_PV_SRQ, srq->id, fabric->ops_arg);
		vbd_fabric_delete_srq(srq);
	}
	vbd_list_for_each_of (struct vbd_pd, pd, link, &device->pds) {
		if (!pd->is_default)
			vbd_pd_revoke(pd);
	}
}

void vbd_resources_abandon(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each_of (struct vbd_srq, srq, link, &fabric->srqs) {
		if (srq->pd->device != device)
			continue;
		srq->worker = NULL;
		vbd_srq_cqs_forget(srq);
		fabric->srqs_bytes -= srq->mem.size_bytes;
		vbd_srq_destroy(srq);
	}
	vbd_list_for_each_of (struct vbd_pd, pd, link, &device->pds) {
		if (!pd->is_default && !pd->delete_pending)
			vbd_pd_destroy(pd);
	}
}
