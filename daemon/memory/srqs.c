/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/shared.h"

#include "daemon/core/devices.h"
#include "daemon/core/quota.h"

struct vbd_srq_creation {
	struct vbd_call call;
	struct vbd_daemon *daemon;
	struct vbd_origin origin; /* with references */
	struct vbd_srq *srq;	  /* not in the fabric */
	char name[64];
	/* A client may delete these meanwhile; 0 without a CQ. */
	uint64_t pd_id, cq_id;
	bool cancelled;
	struct vbd_error error;
	vbd_srq_made_cb made;
	void *arg;
};

static enum vbd_status choose_pd(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	struct vbd_pd **ret_pd, struct vbd_error *err)
{
	struct vbd_device *device = spec->pd   ? spec->pd->device
				    : spec->cq ? spec->cq->device
					       : NULL;
	enum vbd_status status;

	if (device && spec->device_name[0] && strcmp(device->name, spec->device_name) != 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/device",
			"device is %s, but the given object belongs to %s", spec->device_name,
			device->name);
	status = device ? vbd_device_usable(device, err)
			: vbd_device_choose(daemon, spec->device_name, &device, err);
	if (!status)
		*ret_pd = spec->pd ? spec->pd : device->pd;
	return status;
}

static enum vbd_status plan_srq(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	struct vbd_srq **ret_srq, struct vbd_error *err)
{
	enum vbd_status status =
		vbd_shared_may_add(daemon->srqs, spec->origin.caller, spec->name, err);
	struct vbd_pd *pd;

	if (!status && spec->params.limit > spec->params.depth)
		status = vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/srq_limit",
			"limit is %u; the queue holds %u receives", spec->params.limit,
			spec->params.depth);
	if (!status)
		status = choose_pd(daemon, spec, &pd, err);
	if (!status)
		status = vbd_receives_check(daemon, spec->origin.caller,
			(uint64_t)spec->params.depth * spec->params.recv_size_bytes, "/max_wr",
			err);
	return status ? status : vbd_fabric_plan_srq(pd, spec->cq, &spec->params, ret_srq, err);
}

/* Call thread. */
static void register_memory(struct vbd_call *call)
{
	struct vbd_srq_creation *creation = VBD_CONTAINER_OF(call, struct vbd_srq_creation, call);

	(void)!vbd_mem_prepare(&creation->srq->mem, &creation->error);
}

/* A client may have deleted the PD or the CQ, and the device may have gone, while the call thread
 * registered the memory. */
static enum vbd_status recheck_pd_and_cq(
	const struct vbd_srq_creation *creation, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	const struct vbd_fabric *fabric = creation->daemon->fabric;
	const struct vbd_pd *pd = creation->srq->pd;
	enum vbd_status status = vbd_device_usable(pd->device, err);

	*ret_cq = vbd_fabric_cq(fabric, creation->cq_id);
	if (!status && vbd_fabric_pd(fabric, creation->pd_id) != pd)
		status = vbd_error_input(err, VBD_E_NOT_FOUND, "/pd",
			"pd %llu was deleted in the meantime", (unsigned long long)creation->pd_id);
	if (!status && creation->cq_id && !*ret_cq)
		status = vbd_error_input(err, VBD_E_NOT_FOUND, "/cq",
			"cq %llu was deleted in the meantime", (unsigned long long)creation->cq_id);
	return status;
}

static enum vbd_status finish_srq(
	struct vbd_srq_creation *creation, struct vbd_shared **ret_shared, struct vbd_error *err)
{
	struct vbd_daemon *daemon = creation->daemon;
	struct vbd_srq *srq = creation->srq;
	struct vbd_cq *cq;
	enum vbd_status status =
		vbd_shared_may_add(daemon->srqs, creation->origin.caller, creation->name, err);

	if (!status)
		status = recheck_pd_and_cq(creation, &cq, err);
	if (!status)
		status = vbd_fabric_add_srq(daemon->fabric, srq, cq, err);
	if (status)
		return status;
	creation->srq = NULL;
	status = vbd_shared_add(
		daemon->srqs, &creation->origin, srq->id, srq, creation->name, ret_shared, err);
	if (status)
		vbd_fabric_delete_srq(srq);
	else
		vbd_object_pin(&(*ret_shared)->object, srq->mem.size_bytes);
	return status;
}

static void on_memory_registered(struct vbd_call *call)
{
	struct vbd_srq_creation *creation = VBD_CONTAINER_OF(call, struct vbd_srq_creation, call);
	struct vbd_daemon *daemon = creation->daemon;
	struct vbd_shared *shared = NULL;

	daemon->qp_receives_bytes -= creation->srq->mem.size_bytes;
	vbd_quota_give_back(
		creation->origin.caller, VBD_QUOTA_pinned_bytes, creation->srq->mem.size_bytes);
	if (!creation->cancelled && !creation->error.status)
		(void)!finish_srq(creation, &shared, &creation->error);
	if (creation->srq)
		vbd_srq_destroy(creation->srq);
	if (!creation->cancelled)
		creation->made(
			creation->error.status ? NULL : shared, &creation->error, creation->arg);
	vbd_caller_unref(creation->origin.caller);
	vbd_labels_unref(creation->origin.labels);
	free(creation);
}

enum vbd_status vbd_srq_request(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	vbd_srq_made_cb made, void *arg, struct vbd_srq_creation **ret_creation,
	struct vbd_error *err)
{
	struct vbd_srq_creation *creation = calloc(1, sizeof(*creation));
	enum vbd_status status;

	if (!creation)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a shared receive queue");
	status = plan_srq(daemon, spec, &creation->srq, err);
	if (status) {
		free(creation);
		return status;
	}
	creation->call = (struct vbd_call){.work = register_memory, .done = on_memory_registered};
	creation->daemon = daemon;
	creation->origin = spec->origin;
	(void)vbd_caller_ref(creation->origin.caller);
	(void)vbd_labels_ref(creation->origin.labels);
	(void)snprintf(creation->name, sizeof(creation->name), "%s", spec->name);
	creation->pd_id = creation->srq->pd->id;
	creation->cq_id = spec->cq ? spec->cq->id : 0;
	creation->made = made;
	creation->arg = arg;
	daemon->qp_receives_bytes += creation->srq->mem.size_bytes;
	vbd_quota_count(
		creation->origin.caller, VBD_QUOTA_pinned_bytes, creation->srq->mem.size_bytes);
	vbd_call_start(daemon->fabric->calls, &creation->call, VBD_LANE_MEMORY);
	*ret_creation = creation;
	return VBD_OK;
}

void vbd_srq_cancel(struct vbd_srq_creation *creation)
{
	creation->cancelled = true;
}
