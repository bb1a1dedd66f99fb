/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address handles: where a datagram goes.
 *
 * Control thread, but for vbd_ah_make().
 */
#ifndef VBD_RDMA_UD_AH_H
#define VBD_RDMA_UD_AH_H

#include "base/error.h"
#include "rdma/data/channel.h"

#include <stdbool.h>
#include <stdint.h>

struct ibv_ah;
struct ibv_ah_attr;
struct vbd_device;
struct vbd_pd;

/* The qkey that rdma_cm uses for IP addresses, whatever anybody asks for: RDMA_UDP_QKEY. */
#define VBD_CM_QKEY 0x01234567U

/* What an address handle is made of. */
struct vbd_ah_path {
	bool global; /* the members of the route header are there: always on Ethernet */
	uint8_t dgid[16];
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label; /* 20 bits */
	uint16_t dlid;	     /* InfiniBand */
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t port_num;
};

/* Where a message came from, as its completion and its route header say. */
struct vbd_ah_source {
	uint32_t qpn;
	uint16_t lid;
	uint8_t sl;
	unsigned int wc_flags; /* enum ibv_wc_flags */
	uint8_t grh[VBD_GRH_BYTES];
};

/** vbd_ah_path_of - what the library calls struct ibv_ah_attr */
struct vbd_ah_path vbd_ah_path_of(const struct ibv_ah_attr *attr);

/** vbd_ah_source_of - a datagram that control has */
struct vbd_ah_source vbd_ah_source_of(const struct vbd_recv_slot *slot);

/**
 * vbd_ah_path_back - the way back to the sender of a message; addr_error if the message does not
 * say
 * @sgid_index: where the way begins if the message came by a group, to no address of ours
 */
enum vbd_status vbd_ah_path_back(const struct vbd_device *device, uint8_t port_num,
	uint8_t sgid_index, const struct vbd_ah_source *source, struct vbd_ah_path *ret_path,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_ah_source_gid - the sender's GID; false without a route header
 *
 * On Ethernet an IPv4 header may stand in the last 20 bytes of the route header's place, the first
 * 20 being undefined: then the GID is the address as IPv6 maps it.
 */
bool vbd_ah_source_gid(const struct vbd_ah_source *source, uint8_t ret_gid[16]);

/**
 * vbd_ah_make - any thread; blocks for up to 3 s while the neighbour is looked up
 * @pd: the caller holds a reference
 */
enum vbd_status vbd_ah_make(const struct vbd_pd *pd, const struct vbd_ah_path *path,
	struct ibv_ah **ret_ah, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_ah_destroy - NULL is fine; no send that uses it is outstanding */
void vbd_ah_destroy(struct ibv_ah *ah);

#endif
