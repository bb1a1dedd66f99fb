/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which peers does the kernel know the hardware address of?
 *
 * To move a queue pair of RoCE to RTR the kernel looks the peer's hardware address up in its table
 * of neighbours, and asks the network, for up to a second, only if the entry is missing or not
 * valid (dst_fetch_ha() in core/addr.c, 6.1). An entry that answered a moment ago is valid.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_DEVICE_NEIGHBOUR_H
#define VBD_RDMA_DEVICE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_ah_attr;
struct vbd_device;

/* Later ones take the places of earlier ones. */
#define VBD_NEIGHBOURS 64

struct vbd_neighbour {
	uint8_t gid[16];
	uint8_t port_num;
	uint8_t sgid_index;
	uint64_t at_ns; /* when its address was last found; 0: an empty place */
};

/**
 * vbd_neighbour_is_known - did a queue pair move to RTR with this path within the last second, and
 * has the kernel lost no neighbour since, nor has an event about a port come? False if the path has
 * no GID.
 */
bool vbd_neighbour_is_known(struct vbd_device *device, const struct ibv_ah_attr *path);

/** vbd_neighbour_learn - a queue pair has moved to RTR with @path */
void vbd_neighbour_learn(struct vbd_device *device, const struct ibv_ah_attr *path);

#endif
