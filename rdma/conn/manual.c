/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/manual.h"

#include "base/addr.h"
#include "rdma/device/device.h"

#include <sys/random.h>

#define PSN_MASK 0xffffffU

/* LIDs from here on are multicast (IBTA 4.1.3). */
#define LID_MULTICAST 0xc000

static bool is_zero_gid(const uint8_t gid[16])
{
	static const uint8_t none[16];

	return memcmp(gid, none, sizeof(none)) == 0;
}

static enum vbd_status check_peer_address(const struct vbd_manual_local *local,
	const struct vbd_manual_remote *remote, struct vbd_error *err)
{
	bool global = !is_zero_gid(remote->gid), group = vbd_addr_gid_is_group(remote->gid);

	if (local->infiniband && (remote->lid == 0 || remote->lid >= LID_MULTICAST))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "lid",
			"on InfiniBand the peer's LID is a number from 1 to %u", LID_MULTICAST - 1);
	if (!local->infiniband && !global)
		return vbd_error_param(
			err, VBD_E_BAD_VALUE, "gid", "on RoCE the peer's GID is needed");
	if (global && (group || (local->infiniband && !local->gid_known)))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid",
			group ? "the GID is that of a multicast group"
			      : "the local port has no GID to which the peer could answer");
	if (!local->infiniband && vbd_gid_is_ipv4(remote->gid) != vbd_gid_is_ipv4(local->gid))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid",
			"both GIDs of a RoCE path must be of one family, and the local GID at "
			"index %u is of an IPv%d address",
			local->gid_index, vbd_gid_is_ipv4(local->gid) ? 4 : 6);
	return VBD_OK;
}

static uint32_t vbd_manual_path_mtu_bytes(
	const struct vbd_manual_local *local, const struct vbd_manual_remote *remote)
{
	uint32_t mtu_bytes = local->port_mtu_bytes;

	if (remote->port_mtu_bytes && remote->port_mtu_bytes < mtu_bytes)
		mtu_bytes = remote->port_mtu_bytes;
	if (remote->path_mtu_bytes && remote->path_mtu_bytes < mtu_bytes)
		mtu_bytes = remote->path_mtu_bytes;
	return mtu_bytes;
}

/* A receiver drops packets of another length than its own path MTU, so the sender retries for
 * nothing; and RoCE v1 and v2 are different protocols. */
static enum vbd_status check_compatible(const struct vbd_manual_local *local,
	enum vbd_qp_transport transport, const struct vbd_manual_remote *remote,
	struct vbd_error *err)
{
	uint32_t mtu_bytes = vbd_manual_path_mtu_bytes(local, remote);

	if (remote->qp_type && strcmp(remote->qp_type, vbd_transport_name(transport)) != 0)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "qp_type",
			"the peer's queue pair is %s, and this one is %s", remote->qp_type,
			vbd_transport_name(transport));
	if (*remote->gid_type && strcmp(remote->gid_type, local->gid_type) != 0)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid_type",
			"the peer's GID is of type %s, and the local one at index %u is of type "
			"%s: choose another gid_index on one side",
			remote->gid_type, local->gid_index, local->gid_type);
	if (remote->path_mtu_bytes > mtu_bytes)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "path_mtu_bytes",
			"the peer's queue pair sends packets of %u bytes already, and this one "
			"takes %u at most: bring both up with the same path MTU",
			remote->path_mtu_bytes, mtu_bytes);
	return VBD_OK;
}

enum vbd_status vbd_manual_check_remote(const struct vbd_manual_local *local,
	enum vbd_qp_transport transport, const struct vbd_manual_remote *remote,
	struct vbd_error *err)
{
	enum vbd_status status = check_peer_address(local, remote, err);

	return status ? status : check_compatible(local, transport, remote, err);
}

static void fill_path(const struct vbd_conn_manual *manual, struct ibv_ah_attr *ah)
{
	const struct vbd_manual_local *local = &manual->local;
	const struct vbd_manual_remote *remote = &manual->remote;

	*ah = (struct ibv_ah_attr){
		.dlid = local->infiniband ? remote->lid : 0,
		.sl = remote->sl,
		.port_num = local->port_num,
		/* RoCE needs the GRH; InfiniBand only across subnets. */
		.is_global = !local->infiniband || !is_zero_gid(remote->gid),
	};
	if (!ah->is_global)
		return;
	ah->grh = (struct ibv_global_route){
		.flow_label = remote->flow_label,
		.sgid_index = (uint8_t)local->gid_index,
		.hop_limit = remote->hop_limit,
		.traffic_class = remote->traffic_class,
	};
	memcpy(ah->grh.dgid.raw, remote->gid, sizeof(remote->gid));
}

static int fill_init_attr(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	struct ibv_qp_attr *attr)
{
	attr->pkey_index = manual->local.pkey_index;
	attr->port_num = manual->local.port_num;
	/* As the CM sets them; the access flags of each buffer restrict the peer further. */
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (transport == VBD_TRANSPORT_RC)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int fill_rtr_attr(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	fill_path(manual, &attr->ah_attr);
	attr->path_mtu = (enum ibv_mtu)vbd_mtu_of_bytes(
		vbd_manual_path_mtu_bytes(&manual->local, &manual->remote));
	attr->dest_qp_num = manual->remote.qpn;
	attr->rq_psn = manual->remote.psn;
	if (transport == VBD_TRANSPORT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return mask;
}

static int fill_rts_attr(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	int old_state, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (old_state == IBV_QPS_SQD)
		return IBV_QP_STATE;
	attr->sq_psn = manual->local.psn;
	if (transport == VBD_TRANSPORT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return mask;
}

void vbd_manual_attributes(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	int old_state, struct ibv_qp_attr *attr, int *ret_mask)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		*ret_mask = fill_init_attr(manual, transport, attr);
		return;
	case IBV_QPS_RTR:
		*ret_mask = fill_rtr_attr(manual, transport, attr);
		return;
	case IBV_QPS_RTS:
		*ret_mask = fill_rts_attr(manual, transport, old_state, attr);
		return;
	case IBV_QPS_SQD:
		attr->en_sqd_async_notify = 1;
		*ret_mask = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
		return;
	case IBV_QPS_RESET:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR:
	case IBV_QPS_UNKNOWN:
		break;
	}
	*ret_mask = IBV_QP_STATE;
}

/* Choice of port, GID and PSN. */

static enum vbd_status choose_gid(const struct vbd_device *device,
	const struct vbd_manual_params *params, struct vbd_manual_local *local,
	struct vbd_error *err)
{
	const struct vbd_gid_criteria criteria = {
		.port_num = params->port_num,
		.infiniband = local->infiniband,
		.gid_index = params->gid_index_given ? (int)params->gid_index : -1,
	};
	struct vbd_gid gid;
	enum vbd_status status = vbd_gid_choose(device, &criteria, &gid, &local->gid_known, err);

	local->gid_type = "ib";
	if (status || !local->gid_known)
		return status;
	local->gid_index = gid.gid_index;
	local->gid_type = gid.type;
	memcpy(local->gid, gid.raw, sizeof(local->gid));
	return VBD_OK;
}

static enum vbd_status choose_psn(
	const struct vbd_manual_params *params, uint32_t *ret_psn, struct vbd_error *err)
{
	uint32_t psn = params->psn;

	if (!params->psn_given && getrandom(&psn, sizeof(psn), 0) != (ssize_t)sizeof(psn))
		return vbd_error_errno(err, VBD_E_INTERNAL, "getrandom", errno, "a first PSN");
	*ret_psn = psn & PSN_MASK;
	return VBD_OK;
}

enum vbd_status vbd_manual_choose(const struct vbd_device *device,
	const struct vbd_manual_params *params, struct vbd_manual_local *ret_local,
	struct vbd_error *err)
{
	struct vbd_manual_local local = {
		.port_num = params->port_num, .pkey_index = params->pkey_index, .sl = params->sl};
	enum vbd_status status = vbd_device_usable(device, err);
	struct vbd_port port;

	/* iWARP QPs need the TCP connection that the CM of iWARP makes. */
	if (!status)
		status = vbd_device_require(device, VBD_CAP_MANUAL_BRINGUP, err);
	if (status)
		return status;
	if (params->port_num < 1 || params->port_num > device->attr.phys_port_cnt)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "port_num",
			"device %s has %u ports", device->name, device->attr.phys_port_cnt);
	status = vbd_device_port(device, params->port_num, &port, err);
	if (status)
		return status;
	if (params->pkey_index >= port.pkeys)
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "pkey_index",
			"port %u of device %s has %u partition keys", params->port_num,
			device->name, port.pkeys);
	local.infiniband = strcmp(port.link_layer, "infiniband") == 0;
	local.lid = port.lid;
	local.port_mtu_bytes = port.active_mtu_bytes;
	status = choose_gid(device, params, &local, err);
	if (!status)
		status = choose_psn(params, &local.psn, err);
	if (!status)
		*ret_local = local;
	return status;
}
