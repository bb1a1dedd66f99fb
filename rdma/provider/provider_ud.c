/* SPDX-License-Identifier: Apache-2.0 */
/* The provider made of librdmacm and libibverbs: address handles and multicast. */
#include "rdma/provider/provider.h"

#include "rdma/provider/faults.h"

enum vbd_status vbd_pv_create_ah(
	struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ret_ah, struct vbd_error *err)
{
	int rc = VBD_PV_RESULT(CREATE_AH, VBD_PV_MADE(ret_ah, ibv_create_ah(pd, attr)));

	/* Not every driver sets errno when it can't resolve the neighbour. */
	if (rc == VBD_PV_NO_ERRNO)
		return vbd_error_errno(
			err, VBD_E_ADDR_ERROR, "ibv_create_ah", EHOSTUNREACH, "no address handle");
	return rc ? vbd_pv_failed(VBD_PV_CALL_CREATE_AH, rc, err, "no address handle") : VBD_OK;
}

void vbd_pv_destroy_ah(struct ibv_ah *ah)
{
	if (ah)
		(void)ibv_destroy_ah(ah);
}

enum vbd_status vbd_pv_ah_attr_of_wc(struct ibv_context *context, uint8_t port_num,
	struct ibv_wc *wc, const uint8_t grh[40], struct ibv_ah_attr *ret_attr,
	struct vbd_error *err)
{
	int rc = vbd_pv_fault(VBD_PV_CALL_AH_ATTR_OF_WC);
	struct ibv_grh header;

	if (rc)
		return vbd_pv_failed(VBD_PV_CALL_AH_ATTR_OF_WC, rc, err, "no source address");
	memcpy(&header, grh, sizeof(header));
	if (ibv_init_ah_from_wc(context, port_num, wc, &header, ret_attr) != 0)
		return vbd_error_set(err, VBD_E_ADDR_ERROR,
			"ibv_init_ah_from_wc: the message has no source address");
	return VBD_OK;
}

static union ibv_gid gid_from_raw(const uint8_t raw[16])
{
	union ibv_gid gid;

	memcpy(gid.raw, raw, sizeof(gid.raw));
	return gid;
}

enum vbd_status vbd_pv_attach_mcast(
	struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid, struct vbd_error *err)
{
	const union ibv_gid gid = gid_from_raw(mgid);

	return VBD_PV_DO(
		ATTACH_MCAST, ibv_attach_mcast(qp, &gid, mlid), err, "qp 0x%06x", qp->qp_num);
}

void vbd_pv_detach_mcast(struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid)
{
	const union ibv_gid gid = gid_from_raw(mgid);

	(void)ibv_detach_mcast(qp, &gid, mlid);
}

enum vbd_status vbd_pv_join_multicast(struct rdma_cm_id *id, bool send_only, struct vbd_error *err)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = send_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
					: RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = rdma_get_peer_addr(id),
	};

	/* No context: the event's id identifies the group, as librdmacm does not own the QP. */
	return VBD_PV_DO(JOIN_MULTICAST, VBD_PV_ERRNO(rdma_join_multicast_ex(id, &attr, NULL)), err,
		"no join");
}
