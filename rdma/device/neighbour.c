/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/neighbour.h"

#include "base/clock.h"
#include "rdma/device/device.h"
#include "rdma/provider/ask.h"

#include <infiniband/verbs.h>
#include <string.h>

/* The kernel takes an entry for valid for 5 s and three probes after it was last used
 * (delay_first_probe_time in arp(7)). */
#define KNOWN_NS (1 * VBD_NS_PER_S)

/* Hosts of a network differ in the last bytes. */
static size_t place_of(const struct ibv_ah_attr *path)
{
	const uint8_t *raw = path->grh.dgid.raw;

	return (raw[12] * 31U + raw[13] * 17U + raw[14] * 7U + raw[15]) % VBD_NEIGHBOURS;
}

static bool is_of(const struct vbd_neighbour *neighbour, const struct ibv_ah_attr *path)
{
	return neighbour->at_ns && neighbour->port_num == path->port_num &&
	       neighbour->sgid_index == path->grh.sgid_index &&
	       memcmp(neighbour->gid, path->grh.dgid.raw, sizeof(neighbour->gid)) == 0;
}

/* An entry that is deleted now may be that of any of them. */
static void forget_lost(struct vbd_device *device)
{
	if (vbd_pv_neighbours_lost(device->neighbour_watch))
		memset(device->recent.neighbours, 0, sizeof(device->recent.neighbours));
}

bool vbd_neighbour_is_known(struct vbd_device *device, const struct ibv_ah_attr *path)
{
	const struct vbd_neighbour *neighbour = &device->recent.neighbours[place_of(path)];

	forget_lost(device);
	return path->is_global && is_of(neighbour, path) &&
	       vbd_clock_mono_ns() < neighbour->at_ns + KNOWN_NS;
}

void vbd_neighbour_learn(struct vbd_device *device, const struct ibv_ah_attr *path)
{
	struct vbd_neighbour *neighbour = &device->recent.neighbours[place_of(path)];

	if (!path->is_global)
		return;
	memcpy(neighbour->gid, path->grh.dgid.raw, sizeof(neighbour->gid));
	neighbour->port_num = path->port_num;
	neighbour->sgid_index = path->grh.sgid_index;
	neighbour->at_ns = vbd_clock_mono_ns();
}
