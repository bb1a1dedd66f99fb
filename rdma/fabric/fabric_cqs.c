/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/fabric_parts.h"

#include "rdma/device/pd.h"

void vbd_fabric_remove_cq_if_idle(struct vbd_fabric *fabric, struct vbd_cq *cq)
{
	if (cq->removing || cq->connections > 0)
		return;
	cq->removing = true;
	if (fabric->ops->gone)
		fabric->ops->gone(VBD_PV_CQ, cq->id, fabric->ops_arg);
	vbd_worker_send(cq->worker, &cq->remove_command, VBD_WORKER_REMOVE_CQ);
}

void vbd_fabric_remove_idle_cqs(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each_of (struct vbd_cq, cq, link, &fabric->cqs) {
		if (cq->device == device)
			vbd_fabric_remove_cq_if_idle(fabric, cq);
	}
}

struct vbd_cq *vbd_fabric_fail_cq(struct vbd_fabric *fabric, const struct ibv_cq *ibv_cq)
{
	vbd_list_for_each_of (struct vbd_cq, cq, link, &fabric->cqs) {
		if (cq->cq != ibv_cq || cq->failed || cq->removing)
			continue;
		cq->failed = true;
		return cq;
	}
	return NULL;
}

/* A CQ is spare if it has failed, or if an earlier one of its worker can serve later connections.
 */
static bool is_spare(const struct vbd_fabric *fabric, const struct vbd_cq *cq)
{
	vbd_list_for_each_of (const struct vbd_cq, earlier, link, &fabric->cqs) {
		if (cq->failed || earlier == cq)
			break;
		if (cq->device == earlier->device && cq->worker == earlier->worker &&
			!earlier->asked_for && !earlier->removing && !earlier->failed)
			return true;
	}
	return cq->failed;
}

/* CQs are made when there is no room, and freed only here. */
void vbd_fabric_remove_spare_cqs(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each_of (struct vbd_cq, cq, link, &fabric->cqs) {
		if (cq->device == device && !cq->asked_for && is_spare(fabric, cq))
			vbd_fabric_remove_cq_if_idle(fabric, cq);
	}
}

struct vbd_worker *vbd_fabric_least_used_worker(const struct vbd_fabric *fabric)
{
	struct {
		uint32_t queue_pairs, cqs;
	} used[VBD_WORKERS_MAX] = {0};
	unsigned int least = 0;

	vbd_list_for_each_of (const struct vbd_cq, cq, link, &fabric->cqs) {
		used[cq->worker->number].queue_pairs += cq->connections;
		used[cq->worker->number].cqs++;
	}
	for (unsigned int i = 1; i < fabric->worker_count; i++) {
		if (used[i].queue_pairs < used[least].queue_pairs ||
			(used[i].queue_pairs == used[least].queue_pairs &&
				used[i].cqs < used[least].cqs))
			least = i;
	}
	return fabric->workers[least];
}

enum vbd_status vbd_fabric_new_cq(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_worker *worker, uint32_t depth_cqe, struct vbd_cq **ret_cq,
	struct vbd_error *err)
{
	enum vbd_status status = vbd_cq_create(
		++fabric->last_cq_id, device, worker, depth_cqe, worker->number, ret_cq, err);

	if (status)
		return status;
	vbd_list_append(&fabric->cqs, &(*ret_cq)->link);
	vbd_worker_send(worker, &(*ret_cq)->add_command, VBD_WORKER_ADD_CQ);
	return VBD_OK;
}

static enum vbd_status make_cq(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_worker *worker, uint32_t cqe, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	uint32_t depth_cqe = cqe > fabric->default_cqe ? cqe : fabric->default_cqe;
	enum vbd_status status;
	struct vbd_cq *cq;

	if (device->attr.max_cqe && cqe > device->attr.max_cqe)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "qp",
			"sq_depth + rq_depth is %u; a completion queue of device %s holds %u", cqe,
			device->name, device->attr.max_cqe);
	status = vbd_fabric_new_cq(fabric, device, worker, depth_cqe, &cq, err);
	if (status)
		return status;
	if (fabric->ops->made)
		fabric->ops->made(VBD_PV_CQ, cq->id, cq, fabric->ops_arg);
	*ret_cq = cq;
	return VBD_OK;
}

enum vbd_status vbd_fabric_admit_on(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_worker *worker, uint32_t cqe, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	enum vbd_status status;
	struct vbd_cq *cq;

	vbd_list_for_each_of (struct vbd_cq, each, link, &fabric->cqs) {
		if (each->device != device || each->worker != worker || each->asked_for ||
			!vbd_cq_admit(each, cqe))
			continue;
		*ret_cq = each;
		return VBD_OK;
	}
	status = make_cq(fabric, device, worker, cqe, &cq, err);
	if (status)
		return status;
	if (!vbd_cq_admit(cq, cqe))
		return vbd_error_set(err, VBD_E_DEVICE_LIMIT,
			"device %s made a CQ of %u entries; %u were requested", device->name,
			cq->capacity_cqe, cqe);
	*ret_cq = cq;
	return VBD_OK;
}

enum vbd_status vbd_fabric_admit(struct vbd_fabric *fabric, struct vbd_device *device, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	return vbd_fabric_admit_on(
		fabric, device, vbd_fabric_least_used_worker(fabric), cqe, ret_cq, err);
}

enum vbd_status vbd_fabric_admit_in(struct vbd_cq *cq, uint32_t cqe, struct vbd_error *err)
{
	if (vbd_cq_admit(cq, cqe))
		return VBD_OK;
	if (cq->failed)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"the device has given up cq %llu; create another one",
			(unsigned long long)cq->id);
	if (err && err->status == VBD_OK)
		err->limit = cq->capacity_cqe;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED,
		"cq %llu holds %u completions and has %u reserved: no room for %u more",
		(unsigned long long)cq->id, cq->capacity_cqe, cq->reserved_cqe, cqe);
}

void vbd_fabric_cq_totals(const struct vbd_fabric *fabric, const struct vbd_device *device,
	struct vbd_cq_totals *ret_totals)
{
	struct vbd_cq_totals totals = {0};

	vbd_list_for_each_of (const struct vbd_device, each, link, &fabric->devices) {
		if (device && each != device)
			continue;
		totals.completions += each->ended_cq_completions;
		totals.error_completions += each->ended_cq_error_completions;
	}
	vbd_list_for_each_of (const struct vbd_cq, cq, link, &fabric->cqs) {
		uint64_t high_water = vbd_counter_get(&cq->high_water);

		if (device && cq->device != device)
			continue;
		totals.outstanding_cqe += vbd_counter_get(&cq->outstanding);
		totals.reserved_cqe += cq->reserved_cqe;
		totals.capacity_cqe += cq->capacity_cqe;
		totals.completions += vbd_counter_get(&cq->completions);
		totals.error_completions += vbd_counter_get(&cq->error_completions);
		if (high_water > totals.high_water_cqe)
			totals.high_water_cqe = high_water;
	}
	*ret_totals = totals;
}

/* Another CQ, with room for the receives of the SRQ and for @cqe more. */
static enum vbd_status add_srq_cq(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_srq_cq **ret_more, struct vbd_error *err)
{
	struct vbd_srq_cq *more = calloc(1, sizeof(*more));
	enum vbd_status status;

	if (!more)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a completion queue");
	status = vbd_fabric_admit_on(
		fabric, srq->pd->device, srq->worker, srq->depth + cqe, &more->cq, err);
	if (status) {
		free(more);
		return status;
	}
	/* The two are released one after the other. */
	vbd_cq_release(more->cq, srq->depth + cqe);
	(void)vbd_cq_admit(more->cq, srq->depth);
	vbd_list_append(&srq->more_cqs, &more->link);
	*ret_more = more;
	return VBD_OK;
}

enum vbd_status vbd_srq_cqs_admit(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_srq_cq *more = NULL;
	enum vbd_status status;

	/* A client that has chosen the CQ knows how large it is. */
	if (srq->cq->asked_for || vbd_cq_admit(srq->cq, cqe)) {
		*ret_cq = srq->cq;
		return srq->cq->asked_for ? vbd_fabric_admit_in(srq->cq, cqe, err) : VBD_OK;
	}
	vbd_list_for_each_of (struct vbd_srq_cq, each, link, &srq->more_cqs) {
		if (!more && vbd_cq_admit(each->cq, cqe))
			more = each;
	}
	if (!more) {
		status = add_srq_cq(fabric, srq, cqe, &more, err);
		if (status)
			return status;
		(void)vbd_cq_admit(more->cq, cqe);
	}
	more->users++;
	*ret_cq = more->cq;
	return VBD_OK;
}

void vbd_srq_cqs_left(struct vbd_srq *srq, const struct vbd_cq *cq)
{
	vbd_list_for_each_of (struct vbd_srq_cq, more, link, &srq->more_cqs) {
		if (more->cq != cq || --more->users > 0)
			continue;
		vbd_cq_release(more->cq, srq->depth);
		vbd_list_remove(&more->link);
		free(more);
	}
}

void vbd_srq_cqs_forget(struct vbd_srq *srq)
{
	vbd_list_for_each_of (struct vbd_srq_cq, more, link, &srq->more_cqs)
		free(more);
}
