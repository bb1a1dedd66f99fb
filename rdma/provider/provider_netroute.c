/* SPDX-License-Identifier: Apache-2.0 */
/* Route and neighbour of an address, read as by `ip route get` and `ip neigh get`, and news of
 * neighbours. */
#include "rdma/provider/ask.h"

#include "rdma/provider/provider_parts.h"

#include <libmnl/libmnl.h>

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct asking {
	struct mnl_socket *socket;
	int family;
	size_t addr_bytes;
	unsigned int ifindex;
	uint32_t route_mtu_bytes;
	struct vbd_pv_netroute *netroute;
};

static const void *bytes_of(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6
		       ? (const void *)&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr
		       : (const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr;
}

static unsigned int scope_of(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6
		       ? ((const struct sockaddr_in6 *)(const void *)addr)->sin6_scope_id
		       : 0;
}

/* Leave an attribute out whose length is not that of an address of @family. */
static void take_addr(int family, const void *bytes, size_t len, struct sockaddr_storage *to)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};

	if (family == AF_INET && len == sizeof(four.sin_addr)) {
		memcpy(&four.sin_addr, bytes, len);
		memcpy(to, &four, sizeof(four));
	} else if (family == AF_INET6 && len == sizeof(six.sin6_addr)) {
		memcpy(&six.sin6_addr, bytes, len);
		memcpy(to, &six, sizeof(six));
	}
}

/* The attributes come in no order: the interface may come after the addresses. */
static void set_scope(struct sockaddr_storage *addr, unsigned int ifindex)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
		six->sin6_scope_id = ifindex;
}

/* Send a request that has one answer. Returns 0, or the errno of the kernel's refusal. */
static int ask(struct asking *asking, struct nlmsghdr *request, mnl_cb_t cb)
{
	_Alignas(struct nlmsghdr) char buffer[8192];
	ssize_t len;

	request->nlmsg_flags = NLM_F_REQUEST;
	request->nlmsg_seq = 1;
	if (mnl_socket_sendto(asking->socket, request, request->nlmsg_len) < 0)
		return errno;
	len = mnl_socket_recvfrom(asking->socket, buffer, sizeof(buffer));
	if (len < 0)
		return errno;
	return mnl_cb_run(buffer, (size_t)len, 1, mnl_socket_get_portid(asking->socket), cb,
		       asking) < 0
		       ? errno
		       : 0;
}

/* --- route ----------------------------------------------------------------------------------- */

static int on_metric(const struct nlattr *attr, void *arg)
{
	struct asking *asking = arg;

	if (mnl_attr_get_type(attr) == RTAX_MTU)
		asking->route_mtu_bytes = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int on_route_attr(const struct nlattr *attr, void *arg)
{
	struct asking *asking = arg;
	struct vbd_pv_netroute *netroute = asking->netroute;
	const void *payload = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	switch (mnl_attr_get_type(attr)) {
	case RTA_OIF:
		asking->ifindex = mnl_attr_get_u32(attr);
		break;
	case RTA_PREFSRC:
		take_addr(asking->family, payload, len, &netroute->src);
		break;
	case RTA_GATEWAY:
		netroute->gateway = true;
		take_addr(asking->family, payload, len, &netroute->next);
		break;
	case RTA_VIA: /* a router of the other family: the family comes before the address */
		if (len <= sizeof(uint16_t))
			break;
		netroute->gateway = true;
		take_addr(*(const uint16_t *)payload, (const uint8_t *)payload + sizeof(uint16_t),
			len - sizeof(uint16_t), &netroute->next);
		break;
	case RTA_METRICS:
		return mnl_attr_parse_nested(attr, on_metric, arg);
	default:
		break;
	}
	return MNL_CB_OK;
}

static int on_route(const struct nlmsghdr *message, void *arg)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct asking *asking = arg;

	asking->netroute->local = route->rtm_type == RTN_LOCAL;
	return mnl_attr_parse(message, sizeof(*route), on_route_attr, arg);
}

static int ask_route(struct asking *asking, const struct sockaddr *dst, const struct sockaddr *src)
{
	_Alignas(struct nlmsghdr) char buffer[512];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(request, sizeof(*route));

	request->nlmsg_type = RTM_GETROUTE;
	route->rtm_family = (unsigned char)asking->family;
	route->rtm_dst_len = (unsigned char)(asking->addr_bytes * 8);
	mnl_attr_put(request, RTA_DST, asking->addr_bytes, bytes_of(dst));
	if (src) {
		route->rtm_src_len = (unsigned char)(asking->addr_bytes * 8);
		mnl_attr_put(request, RTA_SRC, asking->addr_bytes, bytes_of(src));
	}
	if (scope_of(dst))
		mnl_attr_put_u32(request, RTA_OIF, scope_of(dst));
	return ask(asking, request, on_route);
}

/* Fill in the addresses that the route leaves out. The route of a local address is on "lo", so the
 * scope of a link-local address must be that of @dst. */
static void complete_addresses(struct asking *asking, const struct sockaddr *dst)
{
	unsigned int scope = scope_of(dst) ? scope_of(dst) : asking->ifindex;
	struct vbd_pv_netroute *netroute = asking->netroute;

	if (!netroute->next.ss_family)
		take_addr(asking->family, bytes_of(dst), asking->addr_bytes, &netroute->next);
	if (!netroute->src.ss_family && netroute->local)
		take_addr(asking->family, bytes_of(dst), asking->addr_bytes, &netroute->src);
	set_scope(&netroute->src, scope);
	set_scope(&netroute->next, scope);
}

/* --- interface and neighbour ----------------------------------------------------------------- */

static void take_interface(struct asking *asking)
{
	struct vbd_pv_netroute *netroute = asking->netroute;
	struct ifreq ifreq = {0};

	netroute->mtu_bytes = asking->route_mtu_bytes;
	if (!asking->ifindex || !if_indextoname(asking->ifindex, netroute->netdev))
		return;
	(void)snprintf(ifreq.ifr_name, sizeof(ifreq.ifr_name), "%s", netroute->netdev);
	if (ioctl(mnl_socket_get_fd(asking->socket), SIOCGIFMTU, &ifreq) == 0 &&
		ifreq.ifr_mtu > 0 &&
		(!netroute->mtu_bytes || (uint32_t)ifreq.ifr_mtu < netroute->mtu_bytes))
		netroute->mtu_bytes = (uint32_t)ifreq.ifr_mtu;
}

static const char *neighbour_name(uint16_t state)
{
	static const struct {
		uint16_t bit;
		const char *name;
	} names[] = {
		{NUD_INCOMPLETE, "incomplete"},
		{NUD_REACHABLE, "reachable"},
		{NUD_STALE, "stale"},
		{NUD_DELAY, "delay"},
		{NUD_PROBE, "probe"},
		{NUD_FAILED, "failed"},
		{NUD_NOARP, "noarp"},
		{NUD_PERMANENT, "permanent"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		if (state & names[i].bit)
			return names[i].name;
	}
	return "none";
}

static int on_neighbour_attr(const struct nlattr *attr, void *arg)
{
	struct vbd_pv_netroute *netroute = ((struct asking *)arg)->netroute;
	size_t len = mnl_attr_get_payload_len(attr);

	if (mnl_attr_get_type(attr) == NDA_LLADDR && len <= sizeof(netroute->hwaddr)) {
		memcpy(netroute->hwaddr, mnl_attr_get_payload(attr), len);
		netroute->hwaddr_bytes = len;
	}
	return MNL_CB_OK;
}

static int on_neighbour(const struct nlmsghdr *message, void *arg)
{
	const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);

	((struct asking *)arg)->netroute->neighbour = neighbour_name(neighbour->ndm_state);
	return mnl_attr_parse(message, sizeof(*neighbour), on_neighbour_attr, arg);
}

/* A kernel without requests for one entry (before 5.0) leaves the neighbour unknown. */
static void ask_neighbour(struct asking *asking)
{
	_Alignas(struct nlmsghdr) char buffer[512];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ndmsg *neighbour = mnl_nlmsg_put_extra_header(request, sizeof(*neighbour));
	const struct sockaddr *next = (const struct sockaddr *)&asking->netroute->next;

	request->nlmsg_type = RTM_GETNEIGH;
	neighbour->ndm_family = (unsigned char)next->sa_family;
	neighbour->ndm_ifindex = (int)asking->ifindex;
	mnl_attr_put(request, NDA_DST, next->sa_family == AF_INET6 ? 16 : 4, bytes_of(next));
	if (ask(asking, request, on_neighbour) == ENOENT)
		asking->netroute->neighbour = "none";
}

enum vbd_status vbd_pv_find_netroute(const struct sockaddr *dst, const struct sockaddr *src,
	struct vbd_pv_netroute *ret_netroute, struct vbd_error *err)
{
	struct vbd_pv_netroute netroute = {0};
	struct asking asking = {
		.family = dst->sa_family,
		.addr_bytes = dst->sa_family == AF_INET6 ? 16 : 4,
		.netroute = &netroute,
	};
	enum vbd_status status = vbd_netlink_open(NETLINK_ROUTE, &asking.socket, err);

	if (status)
		return status;
	netroute.route_errnum = ask_route(&asking, dst, src && src->sa_family ? src : NULL);
	if (!netroute.route_errnum) {
		complete_addresses(&asking, dst);
		take_interface(&asking);
		if (!netroute.local && asking.ifindex)
			ask_neighbour(&asking);
	}
	(void)mnl_socket_close(asking.socket);
	*ret_netroute = netroute;
	return VBD_OK;
}

/* News of neighbours. */

/* An entry in another state has no hardware address that may be used (NUD_VALID in
 * net/neighbour.h). */
#define VALID_STATES (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

/* News that nobody asks for stay in the kernel: some are enough, since those beyond count as a
 * loss. */
#define QUEUE_BYTES 16384

/* A message tells of one entry, with its addresses. */
#define MESSAGE_BYTES 1024

int vbd_pv_neighbours_watch(void)
{
	const struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_NEIGH};
	const int queue_bytes = QUEUE_BYTES;
	int watch = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (watch < 0)
		return -1;
	(void)setsockopt(watch, SOL_SOCKET, SO_RCVBUF, &queue_bytes, sizeof(queue_bytes));
	if (bind(watch, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return watch;
	(void)close(watch);
	return -1;
}

static bool tells_of_loss(const struct nlmsghdr *message, ssize_t size_bytes)
{
	for (; NLMSG_OK(message, size_bytes); message = NLMSG_NEXT(message, size_bytes)) {
		const struct ndmsg *entry = NLMSG_DATA(message);

		if (message->nlmsg_type != RTM_NEWNEIGH ||
			message->nlmsg_len < NLMSG_LENGTH(sizeof(*entry)) ||
			!(entry->ndm_state & VALID_STATES))
			return true;
	}
	return false;
}

bool vbd_pv_neighbours_lost(int watch)
{
	union {
		struct nlmsghdr first;
		char bytes[MESSAGE_BYTES];
	} news;
	bool lost = watch < 0;
	ssize_t size_bytes;

	while (watch >= 0) {
		size_bytes = recv(watch, &news, sizeof(news), 0);
		if (size_bytes < 0 && errno != ENOBUFS && errno != EINTR)
			break;
		lost |= size_bytes < 0 || tells_of_loss(&news.first, size_bytes);
	}
	return lost;
}
