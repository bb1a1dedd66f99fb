/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of the entry of a port's GID table for a queue pair, where the CM does not choose.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_DEVICE_GID_CHOICE_H
#define VBD_RDMA_DEVICE_GID_CHOICE_H

#include "base/attr.h"
#include "rdma/device/device.h"

#include <sys/socket.h>

struct vbd_gid_criteria {
	uint8_t port_num;
	bool infiniband;		     /* of the port's link layer */
	int gid_index;			     /* -1: the best entry of the port */
	const struct sockaddr_storage *addr; /* prefer its GID; NULL: no preference */
};

/**
 * vbd_gid_choose - the entry that matches @criteria
 * @ret_found: false on InfiniBand if the port has no GID at all: LIDs lead to the peer
 *
 * RoCE v2 comes before v1, then an IPv4 address before a global one, then a link-local one. On
 * InfiniBand the first entry matches, as the subnet manager uses that entry.
 *
 * Returns bad_value with the pointer /gid_index or /port_num if there is no such entry, and
 * address_not_available if the GID of `addr` has an index that no path can name.
 */
enum vbd_status vbd_gid_choose(const struct vbd_device *device,
	const struct vbd_gid_criteria *criteria, struct vbd_gid *ret_gid, bool *ret_found,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
