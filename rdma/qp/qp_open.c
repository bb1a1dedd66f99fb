/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp.h"

#include "rdma/fabric/fabric_parts.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"

static enum vbd_status set_not_found(
	const char *param, const char *kind, uint64_t id, struct vbd_error *err)
{
	return vbd_error_param(
		err, VBD_E_NOT_FOUND, param, "there is no %s '%llu'", kind, (unsigned long long)id);
}

static enum vbd_status check_pd(const struct vbd_qp *qp, const struct vbd_device *device,
	const struct vbd_pd *pd, const struct vbd_srq *srq, struct vbd_error *err)
{
	char one[40], other[40];

	if (pd->device != device)
		return vbd_error_param(err, VBD_E_BAD_VALUE, srq ? "srq" : "pd",
			"the %s is on %s, its protection domain on %s", qp->ops->owner,
			device->name, pd->device->name);
	if (!srq)
		return VBD_OK;
	(void)snprintf(one, sizeof(one), "srq %llu", (unsigned long long)srq->id);
	(void)snprintf(other, sizeof(other), "the %s", qp->ops->owner);
	return vbd_pd_require_same(srq->pd, one, pd, other, err);
}

/* The parameters have ids, not pointers: the objects may be freed with their device. */
static enum vbd_status ref_resources(struct vbd_qp *qp, struct vbd_device *device,
	const struct vbd_qp_params *params, struct vbd_error *err)
{
	struct vbd_srq *srq = NULL;
	struct vbd_pd *pd = device->pd;
	enum vbd_status status;

	if (params->srq_id) {
		srq = vbd_fabric_srq(qp->fabric, params->srq_id);
		if (!srq)
			return set_not_found("srq", "shared receive queue", params->srq_id, err);
		pd = srq->pd;
	}
	if (params->pd_id) {
		pd = vbd_fabric_pd(qp->fabric, params->pd_id);
		if (!pd || !pd->ibv_pd)
			return set_not_found("pd", "protection domain", params->pd_id, err);
	}
	status = check_pd(qp, device, pd, srq, err);
	if (status)
		return status;
	qp->device = device;
	qp->pd = pd;
	vbd_pd_ref(pd);
	qp->srq = srq;
	if (srq)
		srq->users++;
	return VBD_OK;
}

static enum vbd_status reserve_cq_entries(struct vbd_qp *qp, const struct vbd_qp_params *params,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_cq *cq;

	/* The SRQ has reserved the CQ entries of its receives. */
	qp->reserved_cqe = params->sq_depth + (qp->srq ? 0 : params->rq_depth);
	if (!params->cq_id)
		return qp->srq ? vbd_srq_cqs_admit(
					 qp->fabric, qp->srq, qp->reserved_cqe, ret_cq, err)
			       : vbd_fabric_admit(
					 qp->fabric, qp->device, qp->reserved_cqe, ret_cq, err);
	cq = qp->srq ? qp->srq->cq : vbd_fabric_cq(qp->fabric, params->cq_id);
	if (!cq)
		return set_not_found("cq", "completion queue", params->cq_id, err);
	if (cq->device != qp->device)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "cq", "cq %llu is of %s, the %s on %s",
			(unsigned long long)cq->id, cq->device->name, qp->ops->owner,
			qp->device->name);
	*ret_cq = cq;
	return vbd_fabric_admit_in(cq, qp->reserved_cqe, err);
}

static enum vbd_status check_receives(
	const struct vbd_qp *qp, const struct vbd_qp_params *params, struct vbd_error *err)
{
	if (!qp->srq || params->service != VBD_SERVICE_NONE)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_BAD_VALUE, "srq",
		"with the service none a client posts the receives; srq %llu has its own receives",
		(unsigned long long)qp->srq->id);
}

/* The default is lowered to the device's limit; a value above both is refused. */
static enum vbd_status check_sges(
	const struct vbd_qp *qp, const struct vbd_qp_params *params, struct vbd_error *err)
{
	uint32_t of_device = qp->device->attr.max_sge;
	bool send = params->max_send_sge > of_device &&
		    params->max_send_sge > vbd_conn_params_default().qp.max_send_sge;

	if (!send && params->max_recv_sge <= of_device)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_OUT_OF_RANGE, send ? "max_send_sge" : "max_recv_sge",
		"%s is %u; a work request of device %s has %u ranges at most",
		send ? "max_send_sge" : "max_recv_sge",
		send ? params->max_send_sge : params->max_recv_sge, qp->device->name, of_device);
}

static struct vbd_channel_limits channel_limits(
	const struct vbd_qp *qp, const struct vbd_qp_params *params)
{
	const struct vbd_srq *srq = qp->srq;
	uint32_t of_device = qp->device->attr.max_sge;

	return (struct vbd_channel_limits){
		.transport = params->transport,
		.sq_depth = params->sq_depth,
		.rq_depth = srq ? srq->depth : params->rq_depth,
		.recv_size_bytes = srq ? srq->recv_size_bytes : params->recv_size_bytes,
		.srq = qp->srq,
		.max_send_sge = params->max_send_sge < of_device ? params->max_send_sge : of_device,
		.max_recv_sge = params->max_recv_sge,
		.inline_bytes = params->inline_bytes,
		.signal_every = params->signal_every,
		.poll = params->poll,
		.spin_ns = params->spin_us * VBD_NS_PER_US,
		.heartbeat_ns = params->heartbeat_ms * VBD_NS_PER_MS,
		.service = params->service,
		.service_ops = vbd_service_ops(params->service),
	};
}

static enum vbd_status make_channel(
	struct vbd_qp *qp, const struct vbd_qp_params *params, struct vbd_error *err)
{
	const struct vbd_channel_limits limits = channel_limits(qp, params);
	enum vbd_status status;
	struct vbd_cq *cq;

	status = check_sges(qp, params, err);
	if (!status)
		status = check_receives(qp, params, err);
	if (!status)
		status = reserve_cq_entries(qp, params, &cq, err);
	if (status)
		return status;
	status =
		vbd_channel_create(&vbd_qp_channel_ops, qp, qp->pd, cq, &limits, &qp->channel, err);
	if (status) {
		vbd_cq_release(cq, qp->reserved_cqe);
		if (qp->srq)
			vbd_srq_cqs_left(qp->srq, cq);
		return status;
	}
	qp->channel->fault_subject = qp->fault_subject;
	qp->cq_id = cq->id;
	return VBD_OK;
}

/* No device attribute gives the limit of inline data: ibv_create_qp(3) fails above it. */
static bool is_inline_too_large(const struct vbd_qp *qp, struct ibv_qp_init_attr init)
{
	struct ibv_qp *probe;

	if (init.cap.max_inline_data <= VBD_INLINE_BYTES)
		return false;
	init.cap.max_inline_data = VBD_INLINE_BYTES;
	if (vbd_pv_create_qp(qp->account, qp->pd->ibv_pd, &init, &probe, NULL) != VBD_OK)
		return false;
	vbd_pv_destroy_qp(qp->account, probe);
	return true;
}

static enum vbd_status explain_refused_qp(const struct vbd_qp *qp,
	const struct ibv_qp_init_attr *init, const struct vbd_error *why, struct vbd_error *err)
{
	if (is_inline_too_large(qp, *init))
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "inline_bytes",
			"a work request of device %s has no room for %u bytes", qp->device->name,
			qp->channel->limits.inline_bytes);
	if (err && err->status == VBD_OK)
		*err = *why;
	return vbd_error_failure(why->status);
}

static enum ibv_qp_type qp_type_of(enum vbd_qp_transport transport)
{
	switch (transport) {
	case VBD_TRANSPORT_UC:
		return IBV_QPT_UC;
	case VBD_TRANSPORT_UD:
		return IBV_QPT_UD;
	case VBD_TRANSPORT_RC:
	case VBD_TRANSPORT_COUNT:
		break;
	}
	return IBV_QPT_RC;
}

static struct ibv_qp_init_attr make_init_attr(const struct vbd_qp *qp)
{
	const struct vbd_channel_limits *limits = &qp->channel->limits;

	return (struct ibv_qp_init_attr){
		.send_cq = qp->channel->cq->cq,
		.recv_cq = qp->channel->cq->cq,
		.srq = qp->srq ? qp->srq->srq : NULL,
		.cap =
			{
				.max_send_wr = limits->sq_depth,
				.max_recv_wr = qp->srq ? 0 : limits->rq_depth,
				.max_send_sge = limits->max_send_sge,
				.max_recv_sge = limits->max_recv_sge,
				.max_inline_data = limits->inline_bytes,
			},
		.qp_type = qp_type_of(limits->transport),
	};
}

static enum vbd_status create_qp(struct vbd_qp *qp, struct vbd_error *err)
{
	const struct ibv_qp_init_attr init = make_init_attr(qp);
	struct ibv_qp_init_attr attr = init;
	struct vbd_error error = {0};
	enum vbd_status status =
		vbd_pv_create_qp(qp->account, qp->pd->ibv_pd, &attr, &qp->ibv_qp, &error);

	return status ? explain_refused_qp(qp, &init, &error, err) : VBD_OK;
}

enum vbd_status vbd_qp_open(struct vbd_qp *qp, struct vbd_error *err)
{
	struct vbd_channel *channel = qp->channel;
	enum vbd_status status;

	/* While the memory was registered, the event reached only queue pairs that existed. */
	if (channel->cq->failed)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"the device has given up cq %llu in the meantime; open another connection",
			(unsigned long long)channel->cq->id);
	status = create_qp(qp, err);
	if (status)
		return status;
	channel->qp = qp->ibv_qp;
	channel->qpn = qp->ibv_qp->qp_num;
	qp->info = (struct vbd_qp_info){.state = IBV_QPS_RESET, .lqpn = qp->ibv_qp->qp_num};
	vbd_list_append(&qp->fabric->channels, &channel->fabric_link);
	return VBD_OK;
}

static enum vbd_status make_remains(struct vbd_qp *qp, struct vbd_error *err)
{
	qp->remains = calloc(1, sizeof(*qp->remains));
	if (!qp->remains)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a queue pair");
	qp->remains->tag.kind = VBD_CM_OVER;
	qp->remains->qp = qp;
	qp->remains->fabric = qp->fabric;
	return VBD_OK;
}

enum vbd_status vbd_qp_reserve(struct vbd_qp *qp, struct vbd_device *device,
	const struct vbd_qp_params *params, struct vbd_error *err)
{
	enum vbd_status status = make_remains(qp, err);

	if (!status)
		status = ref_resources(qp, device, params, err);
	if (!status)
		status = make_channel(qp, params, err);
	return status;
}
