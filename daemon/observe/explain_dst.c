/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/explain.h"

#include "base/addr.h"
#include "daemon/core/devices.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric.h"

#include <ifaddrs.h>
#include <netinet/in.h>

/* Most bytes of headers before the data in a RoCE v2 packet (iboe_get_mtu(), kernel 6.1). */
#define ROCE_HEADER_BYTES 96

static bool has_interface(
	const struct vbd_device *device, const struct ifaddrs *interfaces, const char *netdev)
{
	struct vbd_gid *gids = NULL;
	size_t count = 0;
	bool has = device->state == VBD_DEVICE_PRESENT &&
		   vbd_device_query_gids(device, &gids, &count, NULL) == VBD_OK &&
		   vbd_source_has_interface(gids, count, interfaces, netdev);

	free(gids);
	return has;
}

static bool find_gid(const struct vbd_device *device, const struct ifaddrs *interfaces,
	const struct sockaddr *src, struct vbd_gid *ret_gid)
{
	struct vbd_gid *gids = NULL;
	const struct vbd_gid *gid = NULL;
	size_t count = 0;

	if (device->state == VBD_DEVICE_PRESENT &&
		vbd_device_query_gids(device, &gids, &count, NULL) == VBD_OK)
		gid = vbd_source_find(gids, count, interfaces, src);
	if (gid)
		*ret_gid = *gid;
	free(gids);
	return gid != NULL;
}

/* Several devices may belong to one interface. */
static void find_devices(const struct vbd_fabric *fabric, struct vbd_facts *facts)
{
	facts->netroute_has_rdma = facts->netroute_by_device = false;
	vbd_list_for_each (link, &fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (!has_interface(device, fabric->interfaces, facts->netroute.netdev))
			continue;
		facts->netroute_has_rdma = true;
		if (strcmp(device->name, facts->device) == 0)
			facts->netroute_by_device = true;
	}
}

/* Set the device that rdma_cm would choose, that of the source address, with its port and GID. */
static void find_source_device(
	const struct vbd_fabric *fabric, const struct sockaddr *src, struct vbd_facts *facts)
{
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (!find_gid(device, fabric->interfaces, src, &facts->qp.sgid))
			continue;
		facts->device_id = device->id;
		(void)snprintf(facts->device, sizeof(facts->device), "%s", device->name);
		facts->iwarp = vbd_device_is_iwarp(device);
		facts->qp.sgid_known = !facts->iwarp;
		facts->port_known = vbd_device_port(device, facts->qp.sgid.port_num, &facts->port,
					    NULL) == VBD_OK;
		break;
	}
}

/* An interface that is down has no route: there is none, or one by another interface. */
static void find_dead_port(
	const struct vbd_fabric *fabric, const struct sockaddr *dst, struct vbd_facts *facts)
{
	const struct sockaddr *src = (const struct sockaddr *)&facts->netroute.src;
	struct vbd_facts way = *facts;

	if (facts->netroute.route_errnum || !facts->netroute_has_rdma)
		src = vbd_source_that_is_down(fabric->interfaces, dst);
	if (src && src->sa_family)
		find_source_device(fabric, src, &way);
	if (way.port_known && way.port.state != IBV_PORT_ACTIVE)
		*facts = way;
}

void vbd_explain_netroute(const struct vbd_fabric *fabric, const struct vbd_pv_netroute *netroute,
	const struct sockaddr *dst, struct vbd_facts *facts)
{
	facts->netroute_known = true;
	facts->netroute = *netroute;
	if (!netroute->route_errnum)
		find_devices(fabric, facts);
	if (dst && !*facts->device && !netroute->local)
		find_dead_port(fabric, dst, facts);
}

enum vbd_status vbd_destination_choose(
	const struct vbd_daemon *daemon, struct vbd_destination *destination, struct vbd_error *err)
{
	const struct sockaddr *dst = (const struct sockaddr *)&destination->addr;
	const struct sockaddr *src = (const struct sockaddr *)&destination->src;
	struct vbd_device *device;
	enum vbd_status status = VBD_OK;

	if (src->sa_family && src->sa_family != dst->sa_family)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "src_addr",
			"src_addr and dst_addr are of different address families");
	if (vbd_sockaddr_needs_scope(dst) && !*destination->device && !src->sa_family)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "dst_addr",
			"a link-local address needs its interface as well, as in fe80::1%%eth0");
	if (*destination->device)
		status = vbd_device_choose(daemon, destination->device, &device, err);
	if (!status && *destination->device)
		destination->device_id = device->id;
	if (!status && *destination->device && !src->sa_family)
		status = vbd_source_of_device(
			device, daemon->fabric->interfaces, dst, &destination->src, err);
	if (!status && vbd_sockaddr_needs_scope(dst))
		((struct sockaddr_in6 *)&destination->addr)->sin6_scope_id =
			((const struct sockaddr_in6 *)(const void *)src)->sin6_scope_id;
	return status;
}

/* The path MTU that the kernel would choose (cma_resolve_iboe_route(), 6.1). */
static uint32_t path_mtu(const struct vbd_facts *facts)
{
	uint32_t mtu_bytes = facts->port.active_mtu_bytes;

	if (!facts->port_known || facts->iwarp)
		return 0;
	if (strcmp(facts->port.link_layer, "ethernet") != 0 || !facts->netroute.mtu_bytes)
		return mtu_bytes;
	while (mtu_bytes > 256 && mtu_bytes + ROCE_HEADER_BYTES > facts->netroute.mtu_bytes)
		mtu_bytes /= 2;
	return mtu_bytes;
}

static void gather_facts(const struct vbd_daemon *daemon, const struct vbd_destination *destination,
	const struct vbd_pv_netroute *netroute, struct vbd_facts *facts)
{
	const struct sockaddr_storage *src =
		destination->src.ss_family ? &destination->src : &netroute->src;

	*facts = (struct vbd_facts){.destination = true, .memlock_known = true};
	vbd_memlock(&facts->locked_bytes, &facts->lock_limit_bytes);
	vbd_explain_netroute(
		daemon->fabric, netroute, (const struct sockaddr *)&destination->addr, facts);
	if (netroute->route_errnum || !src->ss_family)
		return;
	find_source_device(daemon->fabric, (const struct sockaddr *)src, facts);
	facts->qp.path_mtu_bytes = path_mtu(facts);
	/* A local address is routed through lo, so netroute_has_rdma means nothing for it. */
	facts->sgid_none = !*facts->device && (netroute->local || facts->netroute_has_rdma);
	if (!*facts->device)
		facts->failed_device = vbd_fabric_unopened_device(daemon->fabric, NULL);
}

static void summarise(const struct vbd_destination *destination,
	const struct vbd_explanation *explanation, char *text, size_t room)
{
	const struct vbd_verdicts *verdicts = &explanation->verdicts;
	const struct vbd_facts *facts = &explanation->facts;
	char addr[VBD_ADDR_TEXT_BYTES];
	char mtu[32] = "";

	(void)vbd_addr_format(&destination->addr, addr);
	if (vbd_verdicts_bad(verdicts)) {
		(void)snprintf(
			text, room, "RDMA does not reach %s: %s", addr, verdicts->findings[0].text);
		return;
	}
	if (facts->qp.path_mtu_bytes)
		(void)snprintf(mtu, sizeof(mtu), ", path MTU %u", facts->qp.path_mtu_bytes);
	if (facts->qp.sgid_known)
		(void)snprintf(text, room,
			"A connection to %s would leave by %s over %s port %u with GID index %u "
			"(%s, %s)%s.",
			addr,
			*facts->qp.sgid.netdev ? facts->qp.sgid.netdev : facts->netroute.netdev,
			facts->device, facts->port.port_num, facts->qp.sgid.gid_index,
			facts->qp.sgid.type, facts->qp.sgid.scope, mtu);
	else
		(void)snprintf(text, room, "A connection to %s would leave by %s over %s.", addr,
			facts->netroute.netdev, *facts->device ? facts->device : "no known device");
}

void vbd_explain_destination(const struct vbd_daemon *daemon,
	const struct vbd_destination *destination, const struct vbd_pv_netroute *netroute,
	struct vbd_explanation *ret_explanation)
{
	ret_explanation->preceding = NULL;
	gather_facts(daemon, destination, netroute, &ret_explanation->facts);
	vbd_judge(&ret_explanation->facts, &ret_explanation->verdicts);
	/* Nothing has failed yet: the findings say all. */
	ret_explanation->verdicts.cause_count = 0;
	summarise(destination, ret_explanation, ret_explanation->summary,
		sizeof(ret_explanation->summary));
}
