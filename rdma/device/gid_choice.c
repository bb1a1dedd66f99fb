/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/device.h"

#include "rdma/device/source.h"

#include <netinet/in.h>
#include <stdlib.h>

/* The GID of an IP address on RoCE. */
static bool gid_of_addr(const struct sockaddr_storage *addr, uint8_t ret_gid[16])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (!addr || vbd_sockaddr_is_any((const struct sockaddr *)addr))
		return false;
	if (addr->ss_family == AF_INET6) {
		memcpy(ret_gid, &in6->sin6_addr, 16);
		return true;
	}
	memset(ret_gid, 0, 10);
	memset(ret_gid + 10, 0xff, 2);
	memcpy(ret_gid + 12, &in->sin_addr, 4);
	return true;
}

/* Paths name their GID by 8 bits (struct ibv_global_route), in the kernel too. */
#define GID_INDEX_MAX UINT8_MAX

/* Smaller is better: a GID with a wider reach comes first. */
static unsigned int rank_of(const struct vbd_gid *gid, const uint8_t *wanted)
{
	unsigned int rank = strcmp(gid->type, "roce_v2") == 0 ? 0 : 3;

	if (wanted)
		rank += memcmp(gid->raw, wanted, sizeof(gid->raw)) == 0 ? 0 : 6;
	if (strcmp(gid->scope, "ipv4_mapped") == 0)
		return rank;
	return rank + (strcmp(gid->scope, "global") == 0 ? 1 : 2);
}

static const struct vbd_gid *best_of(
	const struct vbd_gid *gids, size_t count, const struct vbd_gid_criteria *criteria)
{
	const struct vbd_gid *best = NULL;
	uint8_t gid_wanted[16];
	const uint8_t *wanted = gid_of_addr(criteria->addr, gid_wanted) ? gid_wanted : NULL;

	for (size_t i = 0; i < count; i++) {
		const struct vbd_gid *gid = &gids[i];

		if (gid->port_num != criteria->port_num || gid->gid_index > GID_INDEX_MAX)
			continue;
		if (criteria->gid_index >= 0) {
			if (gid->gid_index == (uint32_t)criteria->gid_index)
				return gid;
		} else if (!best || (!criteria->infiniband &&
					    rank_of(gid, wanted) < rank_of(best, wanted))) {
			best = gid;
		}
	}
	return best;
}

static enum vbd_status missing(const struct vbd_device *device,
	const struct vbd_gid_criteria *criteria, struct vbd_error *err)
{
	if (criteria->gid_index >= 0)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "gid_index",
			"port %u of device %s has no GID at index %d", criteria->port_num,
			device->name, criteria->gid_index);
	if (criteria->infiniband)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_BAD_VALUE, "port_num", "port %u of device %s has no GID",
		criteria->port_num, device->name);
}

/* Is the GID of the address there, where no path can name it? */
static enum vbd_status check_reachable(const struct vbd_gid *gids, size_t count,
	const struct vbd_gid_criteria *criteria, struct vbd_error *err)
{
	const struct vbd_gid *beyond = NULL;
	uint8_t wanted[16];

	if (criteria->gid_index >= 0 || !gid_of_addr(criteria->addr, wanted))
		return VBD_OK;
	for (size_t i = 0; i < count; i++) {
		if (gids[i].port_num != criteria->port_num ||
			memcmp(gids[i].raw, wanted, sizeof(wanted)) != 0)
			continue;
		if (gids[i].gid_index <= GID_INDEX_MAX)
			return VBD_OK;
		beyond = &gids[i];
	}
	if (!beyond)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_ADDRESS_NOT_AVAILABLE, "addr",
		"the GID of the address has index %u, and a queue pair can use those up to %u only",
		beyond->gid_index, GID_INDEX_MAX);
}

enum vbd_status vbd_gid_choose(const struct vbd_device *device,
	const struct vbd_gid_criteria *criteria, struct vbd_gid *ret_gid, bool *ret_found,
	struct vbd_error *err)
{
	const struct vbd_gid *gid;
	enum vbd_status status;
	struct vbd_gid *gids;
	size_t count;

	status = vbd_device_query_gids(device, &gids, &count, err);
	if (status)
		return status;
	gid = best_of(gids, count, criteria);
	status = check_reachable(gids, count, criteria, err);
	*ret_found = gid != NULL;
	if (gid)
		*ret_gid = *gid;
	else if (!status)
		status = missing(device, criteria, err);
	free(gids);
	return status;
}
