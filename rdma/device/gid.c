/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "rdma/device/source.h"
#include "rdma/provider/ask.h"

#include <net/if.h>
#include <netinet/in.h>

static const char *gid_type_name(uint32_t type)
{
	switch (type) {
	case IBV_GID_TYPE_IB:
		return "ib";
	case IBV_GID_TYPE_ROCE_V1:
		return "roce_v1";
	case IBV_GID_TYPE_ROCE_V2:
		return "roce_v2";
	default:
		return "unknown";
	}
}

bool vbd_gid_is_ipv4(const uint8_t raw[16])
{
	return vbd_addr_of_bytes(raw).ss_family == AF_INET;
}

const char *vbd_gid_scope(const uint8_t raw[16])
{
	if (vbd_gid_is_ipv4(raw))
		return raw[12] == 169 && raw[13] == 254 ? "link_local" : "ipv4_mapped";
	if (raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80)
		return "link_local";
	return "global";
}

/* Returns -1 for an interface that is no VLAN. The ioctl SIOCGIFVLAN waits while somebody changes
 * network interfaces (vlan_ioctl_handler() in net/8021q/vlan.c, 6.1); the file does not. */
static int read_vlan_id(const char *netdev)
{
	char path[64];
	FILE *file;
	int vlan_id = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/net/vlan/%s", netdev);
	file = fopen(path, "re");
	if (!file)
		return -1;
	(void)!fscanf(file, "%*s VID: %d", &vlan_id);
	(void)fclose(file);
	return vlan_id;
}

/* @before: the entry before @entry, or NULL; @known: the GID of @before with its interface */
static struct vbd_gid gid_from_entry(const struct ibv_gid_entry *entry,
	const struct ibv_gid_entry *before, const struct vbd_gid *known)
{
	struct vbd_gid gid = {
		.gid_index = entry->gid_index,
		.port_num = (uint8_t)entry->port_num,
		.type = gid_type_name(entry->gid_type),
		.scope = vbd_gid_scope(entry->gid.raw),
		.vlan_id = -1,
	};

	memcpy(gid.raw, entry->gid.raw, sizeof(gid.raw));
	if (before && before->ndev_ifindex == entry->ndev_ifindex) {
		memcpy(gid.netdev, known->netdev, sizeof(gid.netdev));
		gid.vlan_id = known->vlan_id;
	} else if (entry->ndev_ifindex && if_indextoname(entry->ndev_ifindex, gid.netdev)) {
		gid.vlan_id = read_vlan_id(gid.netdev);
	}
	return gid;
}

/* GIDs that one call asks for at first: more than nearly all devices have. */
#define GIDS_AT_FIRST 256

/* An attribute of a system call of uverbs has 64 KiB at most. */
#define GIDS_OF_A_CALL (UINT16_MAX / sizeof(struct ibv_gid_entry))

/* Query entry by entry, as no single call returns so many. */
static enum vbd_status query_each_gid(const struct vbd_device *device,
	struct ibv_gid_entry **entries, size_t *ret_count, struct vbd_error *err)
{
	struct ibv_gid_entry *grown;
	size_t room = 0, count = 0;

	for (unsigned int i = 0; i < device->attr.phys_port_cnt; i++)
		room += device->ports[i].gids;
	grown = realloc(*entries, (room + 1) * sizeof(*grown));
	if (!grown)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the GID table");
	*entries = grown;
	for (unsigned int i = 0; i < device->attr.phys_port_cnt; i++) {
		for (uint32_t index = 0; index < device->ports[i].gids; index++)
			count += vbd_pv_query_gid(device->context, (uint8_t)(i + 1), index,
					 &grown[count], NULL) == VBD_OK;
	}
	*ret_count = count;
	return VBD_OK;
}

/* The kernel refuses to answer with a part of the table (rdma_query_gid_table() in core/cache.c).
 */
static enum vbd_status query_all_gids(const struct vbd_device *device,
	struct ibv_gid_entry **entries, size_t *ret_count, struct vbd_error *err)
{
	struct vbd_error error = {.raw = EINVAL};

	for (size_t room = GIDS_AT_FIRST; error.raw == EINVAL && room <= GIDS_OF_A_CALL;) {
		struct ibv_gid_entry *grown = realloc(*entries, room * sizeof(*grown));

		if (!grown)
			return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the GID table");
		*entries = grown;
		error = (struct vbd_error){0};
		if (vbd_pv_query_gids(device->context, grown, room, ret_count, &error) == VBD_OK)
			return VBD_OK;
		room = room < GIDS_OF_A_CALL && 4 * room > GIDS_OF_A_CALL ? GIDS_OF_A_CALL
									  : 4 * room;
	}
	if (error.raw == EINVAL)
		return query_each_gid(device, entries, ret_count, err);
	if (err && !err->status)
		*err = error;
	return error.status;
}

/* The calls for ports take numbers of 8 bits: 257 would be taken for port 1. */
static size_t drop_far_ports(struct ibv_gid_entry *entries, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (entries[i].port_num <= UINT8_MAX)
			entries[kept++] = entries[i];
	}
	return kept;
}

enum vbd_status vbd_device_query_gids(const struct vbd_device *device, struct vbd_gid **ret_gids,
	size_t *ret_count, struct vbd_error *err)
{
	struct ibv_gid_entry *entries = NULL;
	struct vbd_gid *gids = NULL;
	enum vbd_status status;
	size_t count = 0;

	if (!device->context)
		return vbd_device_usable(device, err);
	status = query_all_gids(device, &entries, &count, err);
	count = status ? 0 : drop_far_ports(entries, count);
	if (!status)
		gids = calloc(count + 1, sizeof(*gids));
	if (!status && !gids)
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the GID table");
	for (size_t i = 0; !status && i < count; i++)
		gids[i] = gid_from_entry(
			&entries[i], i ? &entries[i - 1] : NULL, &gids[i ? i - 1 : 0]);
	free(entries);
	if (status)
		return status;
	*ret_gids = gids;
	*ret_count = count;
	return VBD_OK;
}

static bool is_recent_gid(const struct vbd_device *device, uint8_t port_num, uint32_t gid_index)
{
	const struct vbd_gid *gid = &device->recent.gid;

	return device->recent.gid_at_ns && gid->port_num == port_num &&
	       gid->gid_index == gid_index &&
	       vbd_clock_mono_ns() < device->recent.gid_at_ns + VBD_DEVICE_RECENT_NS;
}

enum vbd_status vbd_device_recent_gid(
	struct vbd_device *device, uint8_t port_num, uint32_t gid_index, struct vbd_gid *ret_gid)
{
	uint64_t at_ns = vbd_clock_mono_ns();
	enum vbd_status status;

	if (!is_recent_gid(device, port_num, gid_index)) {
		status = vbd_device_query_gid(
			device, port_num, gid_index, &device->recent.gid, NULL);
		device->recent.gid_at_ns = status ? 0 : at_ns;
		if (status)
			return status;
	}
	*ret_gid = device->recent.gid;
	return VBD_OK;
}

enum vbd_status vbd_device_query_gid(const struct vbd_device *device, uint8_t port_num,
	uint32_t gid_index, struct vbd_gid *ret_gid, struct vbd_error *err)
{
	struct ibv_gid_entry entry;
	enum vbd_status status;

	if (!device->context)
		return vbd_device_usable(device, err);
	status = vbd_pv_query_gid(device->context, port_num, gid_index, &entry, err);
	if (status)
		return status;
	*ret_gid = gid_from_entry(&entry, NULL, NULL);
	return VBD_OK;
}

/* The GID of an IP address on RoCE. */
static bool gid_of_addr(const struct sockaddr_storage *addr, uint8_t ret_gid[16])
{
	if (!addr || vbd_sockaddr_is_any((const struct sockaddr *)addr))
		return false;
	vbd_addr_to_bytes((const struct sockaddr *)addr, ret_gid);
	return true;
}

/* Paths name their GID by 8 bits (struct ibv_global_route), in the kernel too. */
#define GID_INDEX_MAX UINT8_MAX

/* Smaller is better: a GID with a wider reach comes first. */
static unsigned int rank_gid(const struct vbd_gid *gid, const uint8_t *wanted)
{
	unsigned int rank = strcmp(gid->type, "roce_v2") == 0 ? 0 : 3;

	if (wanted)
		rank += memcmp(gid->raw, wanted, sizeof(gid->raw)) == 0 ? 0 : 6;
	if (strcmp(gid->scope, "ipv4_mapped") == 0)
		return rank;
	return rank + (strcmp(gid->scope, "global") == 0 ? 1 : 2);
}

static const struct vbd_gid *best_gid(
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
					    rank_gid(gid, wanted) < rank_gid(best, wanted))) {
			best = gid;
		}
	}
	return best;
}

static enum vbd_status set_missing_gid_error(const struct vbd_device *device,
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

/* Fail if the GID of the address has an index that no path can name. */
static enum vbd_status check_gid_index(const struct vbd_gid *gids, size_t count,
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
	gid = best_gid(gids, count, criteria);
	status = check_gid_index(gids, count, criteria, err);
	*ret_found = gid != NULL;
	if (gid)
		*ret_gid = *gid;
	else if (!status)
		status = set_missing_gid_error(device, criteria, err);
	free(gids);
	return status;
}

/* Neighbours. */

/* The kernel takes an entry for valid for 5 s and three probes after it was last used
 * (delay_first_probe_time in arp(7)). */
#define KNOWN_NS (1 * VBD_NS_PER_S)

/* Hosts of a network differ in the last bytes. */
static size_t neighbour_index(const struct ibv_ah_attr *path)
{
	const uint8_t *raw = path->grh.dgid.raw;

	return (raw[12] * 31U + raw[13] * 17U + raw[14] * 7U + raw[15]) % VBD_NEIGHBOURS;
}

static bool is_same_neighbour(const struct vbd_neighbour *neighbour, const struct ibv_ah_attr *path)
{
	return neighbour->at_ns && neighbour->port_num == path->port_num &&
	       neighbour->sgid_index == path->grh.sgid_index &&
	       memcmp(neighbour->gid, path->grh.dgid.raw, sizeof(neighbour->gid)) == 0;
}

/* The kernel does not say here which entry it lost: forget all neighbours. */
static void forget_lost_neighbours(struct vbd_device *device)
{
	if (vbd_pv_neighbours_lost(device->neighbour_watch))
		memset(device->recent.neighbours, 0, sizeof(device->recent.neighbours));
}

bool vbd_neighbour_is_known(struct vbd_device *device, const struct ibv_ah_attr *path)
{
	const struct vbd_neighbour *neighbour = &device->recent.neighbours[neighbour_index(path)];

	forget_lost_neighbours(device);
	return path->is_global && is_same_neighbour(neighbour, path) &&
	       vbd_clock_mono_ns() < neighbour->at_ns + KNOWN_NS;
}

void vbd_neighbour_learn(struct vbd_device *device, const struct ibv_ah_attr *path)
{
	struct vbd_neighbour *neighbour = &device->recent.neighbours[neighbour_index(path)];

	if (!path->is_global)
		return;
	memcpy(neighbour->gid, path->grh.dgid.raw, sizeof(neighbour->gid));
	neighbour->port_num = path->port_num;
	neighbour->sgid_index = path->grh.sgid_index;
	neighbour->at_ns = vbd_clock_mono_ns();
}
