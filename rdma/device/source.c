/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/source.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

/* The hardware address of an IPoIB interface: 4 bytes of flags and QP number, then the GID. */
#define IPOIB_GID_OFFSET 4
#define ETHERNET_BYTES	 6

/* Does the local address @own match @towards? Any routable one matches "any". */
static bool addr_matches(const struct sockaddr *own, const struct sockaddr *towards)
{
	if (own->sa_family != towards->sa_family ||
		vbd_sockaddr_is_link_local(own) != vbd_sockaddr_is_link_local(towards))
		return false;
	return !vbd_sockaddr_is_link_local(own) || !vbd_sockaddr_scope(towards) ||
	       vbd_sockaddr_scope(own) == vbd_sockaddr_scope(towards);
}

/* Is @towards on the network of the interface that has @own? A device with a VLAN, or with several
 * networks, has an address in each, and only the address in the network of @towards reaches it. */
static bool is_on_same_network(const struct sockaddr *own, const struct sockaddr *towards,
	const struct ifaddrs *interfaces)
{
	size_t count, ignored;
	const uint8_t *to = vbd_sockaddr_data(towards, &ignored);
	const uint8_t *from = vbd_sockaddr_data(own, &count), *mask;

	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		size_t i = 0;

		if (!each->ifa_addr || !each->ifa_netmask ||
			each->ifa_addr->sa_family != own->sa_family ||
			memcmp(vbd_sockaddr_data(each->ifa_addr, &ignored), from, count) != 0)
			continue;
		mask = vbd_sockaddr_data(each->ifa_netmask, &ignored);
		while (i < count && !((from[i] ^ to[i]) & mask[i]))
			i++;
		if (i == count)
			return true;
	}
	return false;
}

/* The search prefers an address on the network of @towards, then one link-local just as it is. */
struct criteria {
	const struct sockaddr *towards;
	const struct ifaddrs *interfaces;
	enum { NEAR, REACHING, ANY, CLOSENESS_COUNT } closeness;
};

static bool is_wanted_addr(const struct sockaddr *own, const struct criteria *criteria)
{
	if (!addr_matches(own, criteria->towards))
		return false;
	if (criteria->closeness == NEAR)
		return is_on_same_network(own, criteria->towards, criteria->interfaces);
	return criteria->closeness == ANY ||
	       vbd_sockaddr_is_of_link(own) == vbd_sockaddr_is_of_link(criteria->towards);
}

/* On RoCE a GID is an address of the interface, with IPv4 addresses mapped into IPv6. */
static void addr_of_gid(const struct vbd_gid *gid, struct sockaddr_storage *ret_addr)
{
	*ret_addr = vbd_addr_of_bytes(gid->raw);
	if (vbd_sockaddr_is_link_local((const struct sockaddr *)ret_addr))
		((struct sockaddr_in6 *)ret_addr)->sin6_scope_id = if_nametoindex(gid->netdev);
}

static bool is_roce_gid(const struct vbd_gid *gid)
{
	return strcmp(gid->type, "roce_v1") == 0 || strcmp(gid->type, "roce_v2") == 0;
}

/* Elsewhere a GID is in the hardware address of the interface: the whole GID on IPoIB; an iWARP
 * device's GID begins with the Ethernet address (kernel siw, cxgb4, irdma). */
static bool hardware_has_gid(const struct sockaddr_ll *hardware, const struct vbd_gid *gid)
{
	if (hardware->sll_halen == ETHERNET_BYTES)
		return memcmp(hardware->sll_addr, gid->raw, ETHERNET_BYTES) == 0;
	/* sll_addr is declared with 8 bytes, but sll_halen is its length (packet(7)). */
	return hardware->sll_halen == IPOIB_GID_OFFSET + sizeof(gid->raw) &&
	       memcmp((const uint8_t *)hardware + offsetof(struct sockaddr_ll, sll_addr) +
			       IPOIB_GID_OFFSET,
		       gid->raw, sizeof(gid->raw)) == 0;
}

static bool pick_from_interface(
	const char *name, const struct criteria *criteria, struct sockaddr_storage *ret_addr)
{
	for (const struct ifaddrs *each = criteria->interfaces; each; each = each->ifa_next) {
		if (!each->ifa_addr || strcmp(each->ifa_name, name) != 0 ||
			!is_wanted_addr(each->ifa_addr, criteria))
			continue;
		vbd_addr_copy(ret_addr, each->ifa_addr);
		return true;
	}
	return false;
}

static bool pick_by_hwaddr(const struct vbd_gid *gid, const struct criteria *criteria,
	struct sockaddr_storage *ret_addr)
{
	for (const struct ifaddrs *each = criteria->interfaces; each; each = each->ifa_next) {
		if (each->ifa_addr && each->ifa_addr->sa_family == AF_PACKET &&
			hardware_has_gid(
				(const struct sockaddr_ll *)(const void *)each->ifa_addr, gid) &&
			pick_from_interface(each->ifa_name, criteria, ret_addr))
			return true;
	}
	return false;
}

static bool pick_addr(const struct vbd_gid *gids, size_t gid_count, const struct criteria *criteria,
	struct sockaddr_storage *ret_addr)
{
	struct sockaddr_storage addr;

	for (size_t i = 0; i < gid_count; i++) {
		if (!is_roce_gid(&gids[i])) {
			if (pick_by_hwaddr(&gids[i], criteria, ret_addr))
				return true;
			continue;
		}
		addr_of_gid(&gids[i], &addr);
		if (!is_wanted_addr((const struct sockaddr *)&addr, criteria))
			continue;
		*ret_addr = addr;
		return true;
	}
	return false;
}

bool vbd_source_pick(const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct sockaddr *towards, struct sockaddr_storage *ret_addr)
{
	struct criteria criteria = {.towards = towards, .interfaces = interfaces};

	for (; criteria.closeness < CLOSENESS_COUNT; criteria.closeness++) {
		if (pick_addr(gids, gid_count, &criteria, ret_addr))
			return true;
	}
	return false;
}

/* @name: NULL: of any interface */
static bool interface_has_addr(
	const struct ifaddrs *interfaces, const char *name, const struct sockaddr *addr)
{
	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		if (each->ifa_addr && each->ifa_addr->sa_family == addr->sa_family &&
			(!name || strcmp(each->ifa_name, name) == 0) &&
			vbd_sockaddr_is_same(each->ifa_addr, addr))
			return true;
	}
	return false;
}

/* Is @gid made of the hardware address of the interface @netdev (without @netdev: of the interface
 * that has @addr)? */
static bool is_gid_of_interface(const struct vbd_gid *gid, const struct ifaddrs *interfaces,
	const char *netdev, const struct sockaddr *addr)
{
	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		if (each->ifa_addr && each->ifa_addr->sa_family == AF_PACKET &&
			hardware_has_gid(
				(const struct sockaddr_ll *)(const void *)each->ifa_addr, gid) &&
			(netdev ? strcmp(each->ifa_name, netdev) == 0
				: interface_has_addr(interfaces, each->ifa_name, addr)))
			return true;
	}
	return false;
}

static bool gid_sends_from(
	const struct vbd_gid *gid, const struct ifaddrs *interfaces, const struct sockaddr *addr)
{
	struct sockaddr_storage own;

	if (!is_roce_gid(gid))
		return is_gid_of_interface(gid, interfaces, NULL, addr);
	addr_of_gid(gid, &own);
	return vbd_sockaddr_is_same((const struct sockaddr *)&own, addr);
}

const struct vbd_gid *vbd_source_find(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const struct sockaddr *addr)
{
	const struct vbd_gid *second = NULL;

	for (size_t i = 0; i < gid_count; i++) {
		if (!gid_sends_from(&gids[i], interfaces, addr))
			continue;
		if (strcmp(gids[i].type, "roce_v1") != 0)
			return &gids[i];
		second = second ? second : &gids[i];
	}
	return second;
}

const struct sockaddr *vbd_source_that_is_down(
	const struct ifaddrs *interfaces, const struct sockaddr *towards)
{
	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		if (each->ifa_addr && !(each->ifa_flags & IFF_UP) &&
			each->ifa_addr->sa_family == towards->sa_family &&
			is_on_same_network(each->ifa_addr, towards, interfaces))
			return each->ifa_addr;
	}
	return NULL;
}

bool vbd_source_of_gid(const struct vbd_gid *gid, struct sockaddr_storage *ret_addr)
{
	if (is_roce_gid(gid))
		addr_of_gid(gid, ret_addr);
	return is_roce_gid(gid);
}

/* The GIDs that are no addresses come first: vbd_source_has() compares each of these few. */
static int compare_gids(const void *left, const void *right)
{
	const struct vbd_gid *a = left, *b = right;
	int order = (int)is_roce_gid(a) - (int)is_roce_gid(b);

	if (!order)
		order = memcmp(a->raw, b->raw, sizeof(a->raw));
	return order || a->raw[0] != 0xfe || !*a->netdev || !*b->netdev
		       ? order
		       : strcmp(a->netdev, b->netdev);
}

void vbd_source_sort(struct vbd_gid *gids, size_t gid_count)
{
	qsort(gids, gid_count, sizeof(*gids), compare_gids);
}

bool vbd_source_has(const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct ifaddrs *own)
{
	struct vbd_gid key = {.type = "roce_v2"};

	vbd_addr_to_bytes(own->ifa_addr, key.raw);
	(void)snprintf(key.netdev, sizeof(key.netdev), "%s", own->ifa_name);
	for (size_t i = 0; i < gid_count && !is_roce_gid(&gids[i]); i++) {
		if (is_gid_of_interface(&gids[i], interfaces, own->ifa_name, NULL))
			return true;
	}
	return bsearch(&key, gids, gid_count, sizeof(key), compare_gids);
}

bool vbd_source_has_interface(const struct vbd_gid *gids, size_t gid_count,
	const struct ifaddrs *interfaces, const char *netdev)
{
	for (size_t i = 0; i < gid_count; i++) {
		if (is_roce_gid(&gids[i]) ? strcmp(gids[i].netdev, netdev) == 0
					  : is_gid_of_interface(&gids[i], interfaces, netdev, NULL))
			return true;
	}
	return false;
}

enum vbd_status vbd_source_of_device(const struct vbd_device *device,
	const struct ifaddrs *interfaces, const struct sockaddr *towards,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	enum vbd_status status;
	struct vbd_gid *gids;
	size_t count;
	bool found;

	status = vbd_device_query_gids(device, &gids, &count, err);
	if (status)
		return status;
	found = vbd_source_pick(gids, count, interfaces, towards, ret_addr);
	free(gids);
	if (found)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_ADDRESS_NOT_AVAILABLE, "device %s has no %s address",
		device->name,
		towards->sa_family != AF_INET6	      ? "IPv4"
		: vbd_sockaddr_is_link_local(towards) ? "link-local IPv6"
						      : "global IPv6");
}

/* Does this host have @addr? True if that can't be told. */
static bool is_own(const struct ifaddrs *interfaces, const struct sockaddr *addr)
{
	return !interfaces || vbd_sockaddr_is_any(addr) ||
	       interface_has_addr(interfaces, NULL, addr);
}

enum vbd_status vbd_source_judge_bind(const struct ifaddrs *interfaces, const struct sockaddr *addr,
	const char *param, const struct vbd_error *error, struct vbd_error *err)
{
	bool taken = error->source == VBD_SOURCE_ERRNO &&
		     (error->raw == EADDRINUSE || (error->raw == EADDRNOTAVAIL && addr->sa_family &&
							  is_own(interfaces, addr)));
	unsigned int port = ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);

	if (!taken || !port) {
		if (err && !err->status)
			*err = *error;
		return error->status;
	}
	if (err && !err->status) {
		err->call = error->call;
		err->raw = error->raw;
		(void)vbd_error_param(err, VBD_E_ADDRESS_IN_USE, param,
			"port %u is taken by another program or listener: %s", port, error->text);
		err->source = VBD_SOURCE_ERRNO;
	}
	return VBD_E_ADDRESS_IN_USE;
}
