/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/caps.h"

#include "rdma/device/device.h"
#include "rdma/provider/provider.h"

VBD_ENUM_NAMES(vbd_cap_name, enum vbd_cap, VBD_CAP_MAP)

static uint64_t cap_bit(enum vbd_cap cap, bool has)
{
	return has ? 1ULL << cap : 0;
}

/* The capabilities of the IBTA transport that iWARP lacks: RFC 5040 has no immediates, no datagrams
 * and no acknowledgements of its own (a write is complete when TCP has it), RFC 5044 no connection
 * without its TCP stream, and no kernel driver has atomics (RFC 7306). */
static uint64_t caps_of_transport(const struct ibv_device_attr *attr, bool iwarp)
{
	if (iwarp)
		return 0;
	return cap_bit(VBD_CAP_UC, true) | cap_bit(VBD_CAP_UD, true) |
	       cap_bit(VBD_CAP_MULTICAST, attr->max_mcast_grp > 0) |
	       cap_bit(VBD_CAP_ATOMICS, attr->atomic_cap != IBV_ATOMIC_NONE) |
	       cap_bit(VBD_CAP_WRITE_IMM, true) | cap_bit(VBD_CAP_SEND_IMM, true) |
	       cap_bit(VBD_CAP_MANUAL_BRINGUP, true) | cap_bit(VBD_CAP_PATH_MTU, true) |
	       cap_bit(VBD_CAP_SQD, true) | cap_bit(VBD_CAP_WRITE_ACK, true);
}

/*
 * No attribute shows relaxed ordering, and a driver without it ignores the flag (an optional one):
 * the answer is certain only for a device without a bus.
 */
static bool has_bus(const struct ibv_device_attr *attr)
{
	return attr->vendor_id != VBD_VENDOR_RXE && attr->vendor_id != VBD_VENDOR_SIW;
}

uint64_t vbd_caps_of(const struct ibv_device_attr_ex *attr, bool iwarp, bool resizes_cqs)
{
	const struct ibv_device_attr *orig = &attr->orig_attr;
	const unsigned int type_2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	return caps_of_transport(orig, iwarp) | cap_bit(VBD_CAP_RC, true) |
	       cap_bit(VBD_CAP_SRQ, orig->max_srq > 0) |
	       cap_bit(VBD_CAP_MW_TYPE_1, orig->device_cap_flags & IBV_DEVICE_MEM_WINDOW) |
	       cap_bit(VBD_CAP_MW_TYPE_2, orig->device_cap_flags & type_2) |
	       cap_bit(VBD_CAP_ON_DEMAND_PAGING, attr->odp_caps.general_caps & IBV_ODP_SUPPORT) |
	       cap_bit(VBD_CAP_RELAXED_ORDERING, has_bus(orig)) |
	       cap_bit(VBD_CAP_CQ_MODERATION, attr->cq_mod_caps.max_cq_count > 0) |
	       cap_bit(VBD_CAP_CQ_RESIZE, resizes_cqs);
}

bool vbd_device_can(const struct vbd_device *device, enum vbd_cap cap)
{
	return device->caps >> cap & 1;
}

enum vbd_status vbd_device_require(
	const struct vbd_device *device, enum vbd_cap cap, struct vbd_error *err)
{
	if (vbd_device_can(device, cap))
		return VBD_OK;
	if (err && err->status == VBD_OK) {
		(void)snprintf(err->device, sizeof(err->device), "%s", device->name);
		err->capability = vbd_cap_name(cap);
	}
	return vbd_error_set(err, VBD_E_NOT_SUPPORTED, "device %s (%s) lacks %s", device->name,
		device->transport, vbd_cap_name(cap));
}
