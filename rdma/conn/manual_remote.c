/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/manual_remote.h"

#include "rdma/device/device.h"
#include "rdma/names/names.h"

#include <string.h>

/* LIDs from here on are multicast (IBTA 4.1.3). */
#define LID_MULTICAST 0xc000

static bool is_zero(const uint8_t gid[16])
{
	static const uint8_t none[16];

	return memcmp(gid, none, sizeof(none)) == 0;
}

static bool is_ipv4(const uint8_t gid[16])
{
	return strcmp(vbd_gid_scope(gid), "ipv4_mapped") == 0;
}

static enum vbd_status check_address(const struct vbd_manual_local *local,
	const struct vbd_manual_remote *remote, struct vbd_error *err)
{
	bool global = !is_zero(remote->gid);

	if (local->infiniband && (remote->lid == 0 || remote->lid >= LID_MULTICAST))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "lid",
			"on InfiniBand the peer's LID is a number from 1 to %u", LID_MULTICAST - 1);
	if (!local->infiniband && !global)
		return vbd_error_param(
			err, VBD_E_BAD_VALUE, "gid", "on RoCE the peer's GID is needed");
	if (global && (remote->gid[0] == 0xff || (local->infiniband && !local->gid_known)))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid",
			remote->gid[0] == 0xff
				? "the GID is that of a multicast group"
				: "the local port has no GID to which the peer could answer");
	if (!local->infiniband && is_ipv4(remote->gid) != is_ipv4(local->gid))
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid",
			"both GIDs of a RoCE path must be of one family, and the local GID at "
			"index %u is of an IPv%d address",
			local->gid_index, is_ipv4(local->gid) ? 4 : 6);
	return VBD_OK;
}

uint32_t vbd_manual_path_mtu_bytes(
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
static enum vbd_status check_contradiction(const struct vbd_manual_local *local,
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
	enum vbd_status status = check_address(local, remote, err);

	return status ? status : check_contradiction(local, transport, remote, err);
}
