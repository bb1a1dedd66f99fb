/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/endpoint_qp.h"

#include "rdma/cq.h"
#include "rdma/device.h"
#include "rdma/fabric.h"
#include "rdma/gid_choice.h"
#include "rdma/pd.h"
#include "rdma/provider.h"
#include "rdma/resources.h"
#include "rdma/service.h"
#include "rdma/worker_messages.h"

#include <string.h>

/* Port, GID, MTU. */

static enum vbd_status choose_gid(
	struct vbd_endpoint *endpoint, bool infiniband, struct vbd_error *err)
{
	struct vbd_endpoint_params *params = &endpoint->params;
	const struct vbd_gid_criteria criteria = {
		.port_num = params->port_num,
		.infiniband = infiniband,
		.gid_index = params->gid_index,
		.addr = &endpoint->addr,
	};
	struct vbd_gid gid = {0};
	bool found;
	enum vbd_status status = vbd_gid_choose(endpoint->device, &criteria, &gid, &found, err);

	if (status)
		return status;
	params->gid_index = (int)gid.gid_index;
	memcpy(endpoint->gid, gid.raw, sizeof(endpoint->gid));
	return VBD_OK;
}

enum vbd_status vbd_endpoint_choose(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	const struct vbd_device *device = endpoint->device;
	uint8_t port_num = endpoint->params.port_num;
	enum vbd_status status;
	struct vbd_port port;

	if (port_num > device->attr.phys_port_cnt)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "port_num", "device %s has %u ports",
			device->name, device->attr.phys_port_cnt);
	status = vbd_device_query_port(device, port_num, &port, err);
	if (status)
		return status;
	endpoint->lid = port.lid;
	endpoint->mtu_bytes = port.active_mtu_bytes;
	return choose_gid(endpoint, strcmp(port.link_layer, "infiniband") == 0, err);
}

/* The QP. */

static uint32_t cqe_needed(const struct vbd_endpoint *endpoint)
{
	return endpoint->params.qp.sq_depth + endpoint->params.qp.rq_depth;
}

static enum vbd_status admit(
	struct vbd_endpoint *endpoint, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	uint64_t cq_id = endpoint->params.qp.cq_id;
	struct vbd_cq *cq;

	if (!cq_id)
		return vbd_fabric_admit(
			endpoint->fabric, endpoint->device, cqe_needed(endpoint), ret_cq, err);
	cq = vbd_fabric_cq(endpoint->fabric, cq_id);
	if (!cq || cq->device != endpoint->device)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "cq",
			"the endpoint is on %s, completion queue %llu is not",
			endpoint->device_name, (unsigned long long)cq_id);
	*ret_cq = cq;
	return vbd_fabric_admit_in(cq, cqe_needed(endpoint), err);
}

static enum vbd_status make_channel(struct vbd_endpoint *endpoint,
	const struct vbd_channel_owner_ops *owner_ops, struct vbd_error *err)
{
	struct vbd_endpoint_params *params = &endpoint->params;
	uint32_t device_sges = endpoint->device->attr.max_sge;
	struct vbd_channel_limits limits;
	enum vbd_status status;
	struct vbd_cq *cq;

	if (params->qp.max_send_sge > device_sges &&
		params->qp.max_send_sge <= vbd_conn_params_default().qp.max_send_sge)
		params->qp.max_send_sge = device_sges;
	if (params->qp.max_send_sge > device_sges || params->qp.max_recv_sge > device_sges)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE,
			params->qp.max_send_sge > device_sges ? "max_send_sge" : "max_recv_sge",
			"a work request of device %s has %u ranges at most", endpoint->device_name,
			device_sges);
	limits = (struct vbd_channel_limits){
		.transport = params->qp.transport,
		.sq_depth = params->qp.sq_depth,
		.rq_depth = params->qp.rq_depth,
		.recv_size_bytes = params->qp.recv_size_bytes,
		.max_send_sge = params->qp.max_send_sge,
		.max_recv_sge = params->qp.max_recv_sge,
		.inline_bytes = params->qp.inline_bytes,
		.signal_every = params->qp.signal_every,
		.service = params->qp.service,
		.service_ops = vbd_service_ops(params->qp.service),
	};
	status = admit(endpoint, &cq, err);
	if (status)
		return status;
	status = vbd_channel_create(
		owner_ops, endpoint, endpoint->pd, cq, &limits, &endpoint->channel, err);
	if (status) {
		vbd_cq_release(cq, cqe_needed(endpoint));
		return status;
	}
	endpoint->cq_id = cq->id;
	return VBD_OK;
}

/* No attribute says how much goes inline: the device refuses the queue pair. */
static enum vbd_status refused(struct vbd_endpoint *endpoint, struct ibv_qp_init_attr init,
	const struct vbd_error *why, struct vbd_error *err)
{
	struct ibv_qp *qp;

	if (init.cap.max_inline_data > VBD_INLINE_BYTES) {
		init.cap.max_inline_data = VBD_INLINE_BYTES;
		if (vbd_pv_create_qp(&endpoint->account, endpoint->pd->ibv_pd, &init, &qp, NULL) ==
			VBD_OK) {
			vbd_pv_destroy_qp(&endpoint->account, qp);
			return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "inline_bytes",
				"device %s has no room for %u bytes in a work request",
				endpoint->device_name, endpoint->params.qp.inline_bytes);
		}
	}
	if (err && err->status == VBD_OK)
		*err = *why;
	return vbd_error_failure(why->status);
}

static enum vbd_status create_qp(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct vbd_channel *channel = endpoint->channel;
	const struct vbd_channel_limits *limits = &channel->limits;
	struct ibv_qp_init_attr init = {
		.send_cq = channel->cq->cq,
		.recv_cq = channel->cq->cq,
		.cap =
			{
				.max_send_wr = limits->sq_depth,
				.max_recv_wr = limits->rq_depth,
				.max_send_sge = limits->max_send_sge,
				.max_recv_sge = limits->max_recv_sge,
				.max_inline_data = limits->inline_bytes,
			},
		.qp_type = IBV_QPT_UD,
	};
	struct vbd_error error = {0};

	if (vbd_pv_create_qp(&endpoint->account, endpoint->pd->ibv_pd, &init, &endpoint->qp,
		    &error) != VBD_OK)
		return refused(endpoint, init, &error, err);
	channel->qp = endpoint->qp;
	channel->qpn = endpoint->qp->qp_num;
	endpoint->qpn = endpoint->qp->qp_num;
	vbd_fabric_add_endpoint(endpoint->fabric, endpoint);
	return VBD_OK;
}

static enum vbd_status to_init(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = endpoint->params.pkey_index,
		.port_num = endpoint->params.port_num,
		.qkey = endpoint->params.qkey,
	};

	return vbd_pv_modify_qp(endpoint->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, err);
}

static enum vbd_status to_rts(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	enum vbd_status status = vbd_pv_modify_qp(endpoint->qp, &attr, IBV_QP_STATE, err);

	if (status)
		return status;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = endpoint->params.psn;
	return vbd_pv_modify_qp(endpoint->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, err);
}

enum vbd_status vbd_endpoint_qp_make(struct vbd_endpoint *endpoint,
	const struct vbd_channel_owner_ops *owner_ops, struct vbd_error *err)
{
	enum vbd_status status = make_channel(endpoint, owner_ops, err);

	if (!status)
		status = create_qp(endpoint, err);
	if (!status)
		status = to_init(endpoint, err);
	/* Before anybody can send: a datagram without a receive is lost. */
	if (!status)
		status = vbd_channel_post_receives(endpoint->channel, err);
	if (!status)
		status = to_rts(endpoint, err);
	if (status)
		return status;
	endpoint->channel->attached = true;
	vbd_worker_send(
		endpoint->channel->worker, &endpoint->channel->mail_attach, VBD_WORKER_ATTACH);
	return VBD_OK;
}

enum vbd_status vbd_endpoint_qp_to_err(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return vbd_pv_modify_qp(endpoint->qp, &attr, IBV_QP_STATE, err);
}

void vbd_endpoint_qp_destroy(struct vbd_endpoint *endpoint)
{
	if (!endpoint->qp)
		return;
	endpoint->ops->before_qp_goes(endpoint, endpoint->ops_arg);
	vbd_fabric_remove_endpoint(endpoint);
	vbd_pv_destroy_qp(&endpoint->account, endpoint->qp);
	endpoint->qp = NULL;
}

/* Numbers outlive the channel: the record shows them. */
static void keep_counters(struct vbd_endpoint *endpoint)
{
	for (unsigned int op = 0; op < VBD_OP_COUNT; op++)
		vbd_op_counters_copy(&endpoint->ended_ops[op], &endpoint->channel->ops[op]);
}

void vbd_endpoint_qp_release(struct vbd_endpoint *endpoint)
{
	struct vbd_pd *pd = endpoint->pd;

	vbd_endpoint_qp_destroy(endpoint);
	if (endpoint->channel) {
		struct vbd_cq *cq = endpoint->channel->cq;

		keep_counters(endpoint);
		endpoint->ops->before_memory_goes(endpoint, endpoint->ops_arg);
		vbd_channel_destroy(endpoint->channel);
		endpoint->channel = NULL;
		vbd_cq_release(cq, cqe_needed(endpoint));
	}
	endpoint->device = NULL;
	endpoint->pd = NULL;
	if (!pd)
		return;
	vbd_fabric_release_device(endpoint->fabric, pd->device);
	vbd_pd_unref(pd);
}
