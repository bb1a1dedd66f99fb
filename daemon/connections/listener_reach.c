/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/listeners.h"

#include "base/list.h"
#include "rdma/device/device.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <unistd.h>

struct search {
	const struct vbd_listener *listener;
	bool ipv4; /* an IPv6 listener takes IPv4 peers too */
	const struct ifaddrs *interfaces;
	struct vbd_gid *gids;
	size_t gid_count;
	bool of_link; /* the second pass, over addresses that vbd_sockaddr_is_of_link() */
	struct vbd_reach *reach;
	size_t count, room;
};

/* The default of a listener without v6_only (rdma_bind_addr_dst() in cma.c, 6.1). */
static bool system_is_v6_only(void)
{
	int fd = open("/proc/sys/net/ipv6/bindv6only", O_RDONLY | O_CLOEXEC);
	char text = '0';

	if (fd < 0)
		return false;
	if (read(fd, &text, 1) != 1)
		text = '0';
	(void)close(fd);
	return text == '1';
}

static bool takes_ipv4(const struct vbd_listener *listener)
{
	enum vbd_choice v6_only = listener->cm_params.v6_only;

	return v6_only == VBD_CHOICE_NONE ? !system_is_v6_only() : v6_only == VBD_CHOICE_NO;
}

/* Does the listener take requests to @addr, an address of this host? */
static bool takes_requests_to(const struct search *search, const struct sockaddr *addr)
{
	const struct sockaddr *own = (const struct sockaddr *)&search->listener->addr;

	if (!vbd_sockaddr_is_any(own))
		return vbd_sockaddr_is_same(addr, own);
	if (vbd_sockaddr_is_link_local(addr))
		return false;
	return addr->sa_family == own->sa_family || (addr->sa_family == AF_INET && search->ipv4);
}

static struct vbd_reach *add_reach(struct search *search)
{
	size_t room = search->room ? 2 * search->room : 16;
	struct vbd_reach *grown;

	if (search->count == search->room) {
		grown = realloc(search->reach, room * sizeof(*grown));
		if (!grown)
			return NULL;
		search->reach = grown;
		search->room = room;
	}
	return &search->reach[search->count++];
}

static void add_addresses(struct search *search, const struct vbd_device *device)
{
	for (const struct ifaddrs *each = search->interfaces; each; each = each->ifa_next) {
		struct vbd_reach *reach;

		if (!each->ifa_addr || !vbd_sockaddr_bytes(each->ifa_addr) ||
			vbd_sockaddr_is_of_link(each->ifa_addr) != search->of_link ||
			!takes_requests_to(search, each->ifa_addr) ||
			!vbd_source_has(search->gids, search->gid_count, search->interfaces, each))
			continue;
		reach = add_reach(search);
		if (!reach)
			return;
		*reach = (struct vbd_reach){.device = device};
		memcpy(&reach->addr, each->ifa_addr, vbd_sockaddr_bytes(each->ifa_addr));
	}
}

static bool is_usable_device(const struct vbd_listener *listener, const struct vbd_device *device)
{
	const char *name = listener->cm.device.name;

	return vbd_device_usable(device, NULL) == VBD_OK && vbd_device_port_active(device) &&
	       (!*name || strcmp(name, device->name) == 0);
}

static void search_devices(struct search *search, const struct vbd_fabric *fabric)
{
	vbd_list_for_each_of (const struct vbd_device, device, link, &fabric->devices) {
		if (!is_usable_device(search->listener, device) ||
			vbd_device_query_gids(device, &search->gids, &search->gid_count, NULL) !=
				VBD_OK)
			continue;
		vbd_source_sort(search->gids, search->gid_count);
		add_addresses(search, device);
		free(search->gids);
	}
}

size_t vbd_listener_reach(const struct vbd_listener *listener, struct vbd_reach **ret_reach)
{
	const struct vbd_fabric *fabric = listener->object.registry->daemon->fabric;
	struct search search = {.listener = listener,
		.ipv4 = listener->addr.ss_family == AF_INET6 && takes_ipv4(listener),
		.interfaces = fabric->interfaces};

	*ret_reach = NULL;
	if (listener->state != VBD_LISTENER_LISTENING)
		return 0;
	search_devices(&search, fabric);
	search.of_link = true;
	search_devices(&search, fabric);
	*ret_reach = search.reach;
	return search.count;
}
