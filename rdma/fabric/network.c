/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call threads ask ports of devices, and addresses of interfaces. A port may answer only when
 * nobody changes network interfaces any more (ib_get_eth_speed() in core/verbs.c, 6.1), and so may
 * getifaddrs(3).
 */
#include "rdma/device/port_counters.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric_parts.h"

#include <ifaddrs.h>
#include <net/if.h>

/* The time to ask again. Soft-RoCE and siw report all changes of ports and interfaces by events. */
#define AGE_NS (10 * VBD_NS_PER_S)

/* Call thread. */
static void ask_ports_work(struct vbd_call *call)
{
	struct vbd_device *device = VBD_CONTAINER_OF(call, struct vbd_device, call);
	struct vbd_ports_answer *answer = &device->ports_answer;

	answer->ports =
		vbd_device_ask_ports(device->context, device->attr.phys_port_cnt, &answer->error);
	answer->cm_messages = vbd_cm_messages_in(device, answer->cm_port_num);
}

static void on_ports_read(struct vbd_call *call)
{
	struct vbd_device *device = VBD_CONTAINER_OF(call, struct vbd_device, call);
	const struct vbd_ports_answer *answer = &device->ports_answer;
	struct vbd_port *unused = answer->ports;

	device->ports_asked = false;
	/* The answer may be older than the last event. */
	if (device->ports_owed) {
		vbd_ports_ask(device);
	} else if (unused) {
		unused = device->ports;
		device->ports = answer->ports;
		device->ports_error = answer->error;
		vbd_cm_silence_counted(device, answer->cm_messages);
	} else {
		device->ports_owed = true;
	}
	free(unused);
	vbd_device_unref(device);
}

void vbd_ports_ask(struct vbd_device *device)
{
	device->ports_owed = true;
	if (device->ports_asked || device->state != VBD_DEVICE_PRESENT)
		return;
	device->ports_owed = false;
	device->ports_asked = true;
	vbd_device_ref(device);
	device->ports_answer = (struct vbd_ports_answer){.cm_port_num = device->cm_port_num};
	device->call = (struct vbd_call){.work = ask_ports_work, .done = on_ports_read};
	vbd_call_start(device->calls, &device->call, VBD_LANE_PEER);
}

/* Call thread. */
static void read_interfaces_work(struct vbd_call *call)
{
	struct vbd_fabric *fabric = VBD_CONTAINER_OF(call, struct vbd_fabric, interfaces_call);

	if (getifaddrs(&fabric->interfaces_read) != 0)
		fabric->interfaces_read = NULL;
}

static void on_interfaces_read(struct vbd_call *call)
{
	struct vbd_fabric *fabric = VBD_CONTAINER_OF(call, struct vbd_fabric, interfaces_call);
	struct ifaddrs *unused = fabric->interfaces_read;

	fabric->interfaces_asked = false;
	if (fabric->interfaces_owed) {
		vbd_interfaces_ask(fabric);
	} else if (unused) {
		unused = fabric->interfaces;
		fabric->interfaces = fabric->interfaces_read;
	} else {
		fabric->interfaces_owed = true;
	}
	freeifaddrs(unused);
}

void vbd_interfaces_ask(struct vbd_fabric *fabric)
{
	fabric->interfaces_owed = fabric->interfaces_asked;
	if (fabric->interfaces_asked)
		return;
	fabric->interfaces_asked = true;
	fabric->interfaces_call.work = read_interfaces_work;
	fabric->interfaces_call.done = on_interfaces_read;
	vbd_call_start(fabric->calls, &fabric->interfaces_call, VBD_LANE_PEER);
}

const struct ifaddrs *vbd_interfaces_known(const struct vbd_fabric *fabric)
{
	return fabric->interfaces_asked || fabric->interfaces_owed ? NULL : fabric->interfaces;
}

void vbd_fabric_check_network(struct vbd_fabric *fabric, uint64_t now_ns)
{
	bool old = now_ns >= fabric->network_at_ns + AGE_NS;

	if (old)
		fabric->network_at_ns = now_ns;
	if (old || fabric->interfaces_owed)
		vbd_interfaces_ask(fabric);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (old || device->ports_owed || vbd_cm_is_silent(device))
			vbd_ports_ask(device);
	}
}

/* --- the device that serves an address ------------------------------------------------------- */

/* Addresses that a refusal lists; a host with more devices is shown the first ones. */
#define LIST_BYTES 120

/* The loopback interface has the whole of 127.0.0.0/8. */
static const char *interface_of_addr(const struct ifaddrs *interfaces, const struct sockaddr *addr)
{
	const char *loopback = NULL;

	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		if (!each->ifa_addr || each->ifa_addr->sa_family != addr->sa_family)
			continue;
		if (vbd_sockaddr_is_same(each->ifa_addr, addr))
			return each->ifa_name;
		if (each->ifa_flags & IFF_LOOPBACK)
			loopback = each->ifa_name;
	}
	return vbd_sockaddr_is_loopback(addr) ? loopback : NULL;
}

/* The GID of an iWARP device on an interface without a hardware address is random
 * (siw_device_create(), siw_main.c, 6.1): nothing tells which interface it serves. */
static bool has_unknown_interface(const struct vbd_device *device, const struct vbd_gid *gids,
	size_t gid_count, const struct ifaddrs *interfaces)
{
	if (!vbd_device_is_iwarp(device))
		return false;
	for (const struct ifaddrs *each = interfaces; each; each = each->ifa_next) {
		if (vbd_source_has_interface(gids, gid_count, interfaces, each->ifa_name))
			return false;
	}
	return true;
}

static bool device_serves_addr(const struct vbd_device *device, const struct vbd_gid *gids,
	size_t gid_count, const struct ifaddrs *interfaces, const struct sockaddr *addr)
{
	const char *netdev = interface_of_addr(interfaces, addr);

	if (vbd_source_find(gids, gid_count, interfaces, addr))
		return true;
	return netdev && (vbd_source_has_interface(gids, gid_count, interfaces, netdev) ||
				 has_unknown_interface(device, gids, gid_count, interfaces));
}

/* Add the address that a peer would use for @device to @list. */
static void list_device_addr(char list[LIST_BYTES], const struct vbd_device *device,
	const struct vbd_gid *gids, size_t gid_count, const struct ifaddrs *interfaces,
	const struct sockaddr *towards)
{
	char text[VBD_ADDR_TEXT_BYTES], item[sizeof(text) + sizeof(device->name_before) + 8];
	size_t used = strlen(list);
	struct sockaddr_storage own;

	if (!vbd_source_pick(gids, gid_count, interfaces, towards, &own))
		return;
	(void)vbd_addr_format(&own, text);
	(void)snprintf(item, sizeof(item), "%s%s (%s)", used ? ", " : "", text, device->name);
	if (used + strlen(item) < LIST_BYTES)
		memcpy(list + used, item, strlen(item) + 1);
}

/* Is @addr served by a device? If not, @list names addresses that are. */
static bool find_serving_device(const struct vbd_fabric *fabric, const struct ifaddrs *interfaces,
	const struct sockaddr *addr, char list[LIST_BYTES])
{
	bool any = false, served = false;

	list[0] = '\0';
	vbd_list_for_each_of (const struct vbd_device, device, link, &fabric->devices) {
		struct vbd_gid *gids;
		size_t count;

		if (device->state != VBD_DEVICE_PRESENT)
			continue;
		if (vbd_device_query_gids(device, &gids, &count, NULL) != VBD_OK)
			return true;
		served = device_serves_addr(device, gids, count, interfaces, addr);
		if (!served)
			list_device_addr(list, device, gids, count, interfaces, addr);
		free(gids);
		if (served)
			return true;
		any = true;
	}
	/* Without a device the caller reports that, and not this address. */
	return !any;
}

enum vbd_status vbd_reach_check_own(const struct vbd_fabric *fabric, const struct sockaddr *addr,
	const char *param, struct vbd_error *err)
{
	char text[VBD_ADDR_TEXT_BYTES];
	const struct ifaddrs *interfaces = vbd_interfaces_known(fabric);
	char list[LIST_BYTES];
	bool found, own;

	if (vbd_sockaddr_is_any(addr) || !interfaces)
		return VBD_OK;
	found = find_serving_device(fabric, interfaces, addr, list);
	own = interface_of_addr(interfaces, addr) != NULL;
	if (found)
		return VBD_OK;
	(void)vbd_addr_format((const struct sockaddr_storage *)(const void *)addr, text);
	return vbd_error_param(err, VBD_E_ADDRESS_NOT_AVAILABLE, param,
		"%s %s%s; addresses of this host with RDMA: %s",
		own ? "no RDMA device serves" : "no interface of this host has", text,
		vbd_sockaddr_is_loopback(addr) ? ", the loopback" : "",
		*list ? list : "none of this family");
}

enum vbd_status vbd_reach_check_dst(const struct vbd_fabric *fabric, const struct sockaddr *dst,
	const char *param, struct vbd_error *err)
{
	return vbd_sockaddr_is_loopback(dst) ? vbd_reach_check_own(fabric, dst, param, err)
					     : VBD_OK;
}
