/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address handles: the path of a datagram.
 *
 * Control thread, except vbd_ah_make().
 */
#ifndef VBD_RDMA_UD_AH_H
#define VBD_RDMA_UD_AH_H

#include "rdma/data/channel.h"
#include "rdma/device/calls.h"

#include <infiniband/verbs.h>

struct vbd_device;
struct vbd_pd;

/* The only qkey that rdma_cm uses for IP addresses: RDMA_UDP_QKEY. */
#define VBD_CM_QKEY 0x01234567U

/* The sender of a message, from the completion and the GRH. */
struct vbd_ah_source {
	uint32_t qpn;
	uint16_t lid;
	uint8_t sl;
	unsigned int wc_flags; /* enum ibv_wc_flags */
	uint8_t grh[VBD_GRH_BYTES];
};

/** vbd_ah_source_of - the sender of the datagram in @slot, which belongs to the control thread */
struct vbd_ah_source vbd_ah_source_of(const struct vbd_recv_slot *slot);

/**
 * vbd_ah_path_back - the path to the sender of a message; addr_error without a known sender
 * @sgid_index: local GID of the path if the message was sent to a multicast group
 */
enum vbd_status vbd_ah_path_back(const struct vbd_device *device, uint8_t port_num,
	uint8_t sgid_index, const struct vbd_ah_source *source, struct ibv_ah_attr *ret_path,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_ah_source_gid - the sender's GID; false without a GRH
 *
 * On Ethernet the last 20 of the GRH's 40 bytes may be an IPv4 header, and the first 20 undefined:
 * then the GID is the IPv4-mapped address.
 */
bool vbd_ah_source_gid(const struct vbd_ah_source *source, uint8_t ret_gid[16]);

/* An address handle. */
struct vbd_ah {
	struct ibv_ah *ibv_ah;
	struct vbd_pd *pd;
	struct vbd_call call; /* destroys it */
};

/**
 * vbd_ah_make - create a handle. Any thread; blocks for up to 3 s to resolve the neighbour
 * @pd: the caller holds a reference
 */
enum vbd_status vbd_ah_make(struct vbd_pd *pd, const struct ibv_ah_attr *path,
	struct vbd_ah **ret_ah, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_ah_destroy - a call thread destroys the handle, which keeps its PD until then; no send with
 * @ah is outstanding. NULL is fine. Control thread. */
void vbd_ah_destroy(struct vbd_calls *calls, struct vbd_ah *ah);

#endif
