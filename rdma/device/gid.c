/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/error.h"
#include "rdma/device/device.h"
#include "rdma/provider/provider.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

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
	static const uint8_t v4_mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(raw, v4_mapped, sizeof(v4_mapped)) == 0;
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
static int vlan_of(const char *netdev)
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

static struct vbd_gid gid_of_entry(const struct ibv_gid_entry *entry)
{
	struct vbd_gid gid = {
		.gid_index = entry->gid_index,
		.port_num = (uint8_t)entry->port_num,
		.type = gid_type_name(entry->gid_type),
		.scope = vbd_gid_scope(entry->gid.raw),
		.vlan_id = -1,
	};

	memcpy(gid.raw, entry->gid.raw, sizeof(gid.raw));
	if (entry->ndev_ifindex && if_indextoname(entry->ndev_ifindex, gid.netdev))
		gid.vlan_id = vlan_of(gid.netdev);
	return gid;
}

enum vbd_status vbd_device_query_gids(const struct vbd_device *device, struct vbd_gid *gids,
	size_t *ret_count, struct vbd_error *err)
{
	struct ibv_gid_entry entries[VBD_DEVICE_GIDS_MAX];
	enum vbd_status status;
	size_t count;

	if (!device->context)
		return vbd_device_usable(device, err);
	status = vbd_pv_query_gids(device->context, entries, VBD_DEVICE_GIDS_MAX, &count, err);
	if (status)
		return status;
	for (size_t i = 0; i < count; i++)
		gids[i] = gid_of_entry(&entries[i]);
	*ret_count = count;
	return VBD_OK;
}

static bool is_recent(const struct vbd_device *device, uint8_t port_num, uint32_t gid_index)
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

	if (!is_recent(device, port_num, gid_index)) {
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
	*ret_gid = gid_of_entry(&entry);
	return VBD_OK;
}
