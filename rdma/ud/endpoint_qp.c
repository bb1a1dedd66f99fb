/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/endpoint.h"

#include "rdma/provider/provider.h"

static enum vbd_status choose_gid(struct vbd_endpoint *endpoint, const struct vbd_device *device,
	bool infiniband, struct vbd_error *err)
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
	enum vbd_status status = vbd_gid_choose(device, &criteria, &gid, &found, err);

	if (status)
		return status;
	params->gid_index = (int)gid.gid_index;
	memcpy(endpoint->gid, gid.raw, sizeof(endpoint->gid));
	return VBD_OK;
}

enum vbd_status vbd_endpoint_choose(
	struct vbd_endpoint *endpoint, const struct vbd_device *device, struct vbd_error *err)
{
	uint8_t port_num = endpoint->params.port_num;
	enum vbd_status status;
	struct vbd_port port;

	if (port_num > device->attr.phys_port_cnt)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "port_num", "device %s has %u ports",
			device->name, device->attr.phys_port_cnt);
	status = vbd_device_port(device, port_num, &port, err);
	if (status)
		return status;
	endpoint->lid = port.lid;
	endpoint->mtu_bytes = port.active_mtu_bytes;
	return choose_gid(endpoint, device, strcmp(port.link_layer, "infiniband") == 0, err);
}

static enum vbd_status move_to_init(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = endpoint->params.pkey_index,
		.port_num = endpoint->params.port_num,
		.qkey = endpoint->params.qkey,
	};

	return vbd_qp_modify(&endpoint->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, err);
}

static enum vbd_status move_to_rts(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	enum vbd_status status = vbd_qp_modify(&endpoint->qp, &attr, IBV_QP_STATE, err);

	if (status)
		return status;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = endpoint->params.psn;
	return vbd_qp_modify(&endpoint->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, err);
}

enum vbd_status vbd_endpoint_qp_open(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	struct vbd_qp *qp = &endpoint->qp;
	enum vbd_status status = vbd_qp_open(qp, err);

	if (!status)
		status = move_to_init(endpoint, err);
	/* Post before RTR: a datagram without a receive is lost. */
	if (!status)
		status = vbd_channel_post_receives(qp->channel, err);
	if (!status)
		status = move_to_rts(endpoint, err);
	if (status)
		return status;
	endpoint->params.qp.max_send_sge = qp->channel->limits.max_send_sge;
	vbd_qp_attach(qp);
	return VBD_OK;
}
