/* SPDX-License-Identifier: Apache-2.0 */
/* Route and neighbour of an address, read as by `ip route get` and `ip neigh get`, and news of
 * neighbours. */
#include "rdma/provider/ask.h"

#include "base/addr.h"
#include "rdma/provider/provider_parts.h"

#include <libmnl/libmnl.h>

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A message and its attributes by type, as far as they are used. */
struct message {
	union {
		struct nlmsghdr head;
		char bytes[8192];
	};
	const struct nlattr *attrs[RTA_VIA + 1];
};

/* Leave an attribute out whose length is not that of an address of @family. */
static void copy_addr(int family, const void *bytes, size_t len, struct sockaddr_storage *to)
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

/* libmnl's macros that walk attributes do not compile without warnings. */
static int index_attr(const struct nlattr *attr, void *arg)
{
	const struct nlattr **attrs = arg;

	if (mnl_attr_get_type(attr) <= RTA_VIA)
		attrs[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

/* Send the request in @message, whose answer replaces it; both have a header of @extra_bytes.
 * Returns 0, or the errno of the kernel's refusal. */
static int query_kernel(struct mnl_socket *socket, struct message *message, size_t extra_bytes)
{
	ssize_t len;

	message->head.nlmsg_flags = NLM_F_REQUEST;
	if (mnl_socket_sendto(socket, &message->head, message->head.nlmsg_len) < 0)
		return errno;
	len = mnl_socket_recvfrom(socket, message->bytes, sizeof(message->bytes));
	if (len < 0)
		return errno;
	if (!mnl_nlmsg_ok(&message->head, (int)len))
		return EBADMSG;
	if (message->head.nlmsg_type == NLMSG_ERROR)
		return -((const struct nlmsgerr *)mnl_nlmsg_get_payload(&message->head))->error;
	memset(message->attrs, 0, sizeof(message->attrs));
	return mnl_attr_parse(
		       &message->head, (unsigned int)extra_bytes, index_attr, message->attrs) < 0
		       ? errno
		       : 0;
}

static void copy_attr_addr(
	int family, const struct nlattr *attr, size_t skipped_bytes, struct sockaddr_storage *to)
{
	if (attr && mnl_attr_get_payload_len(attr) > skipped_bytes)
		copy_addr(family, (const uint8_t *)mnl_attr_get_payload(attr) + skipped_bytes,
			mnl_attr_get_payload_len(attr) - skipped_bytes, to);
}

/* --- route ----------------------------------------------------------------------------------- */

static int query_route(struct mnl_socket *socket, const struct sockaddr *dst,
	const struct sockaddr *src, struct message *message)
{
	struct rtmsg *route;
	size_t bytes;
	const uint8_t *data = vbd_sockaddr_data(dst, &bytes);

	(void)mnl_nlmsg_put_header(message);
	route = mnl_nlmsg_put_extra_header(&message->head, sizeof(*route));
	message->head.nlmsg_type = RTM_GETROUTE;
	route->rtm_family = (unsigned char)dst->sa_family;
	route->rtm_dst_len = (unsigned char)(bytes * 8);
	mnl_attr_put(&message->head, RTA_DST, bytes, data);
	if (src) {
		route->rtm_src_len = (unsigned char)(bytes * 8);
		mnl_attr_put(&message->head, RTA_SRC, bytes, vbd_sockaddr_data(src, &bytes));
	}
	if (vbd_sockaddr_scope(dst))
		mnl_attr_put_u32(&message->head, RTA_OIF, vbd_sockaddr_scope(dst));
	return query_kernel(socket, message, sizeof(*route));
}

/* The route leaves some addresses out. That of a local address is on "lo", so the scope of a
 * link-local address must be that of @dst. */
static void fill_addresses(const struct message *message, const struct sockaddr *dst,
	unsigned int ifindex, struct vbd_pv_netroute *netroute)
{
	const struct nlattr *via = message->attrs[RTA_VIA];
	unsigned int scope = vbd_sockaddr_scope(dst) ? vbd_sockaddr_scope(dst) : ifindex;
	size_t bytes;
	const uint8_t *data = vbd_sockaddr_data(dst, &bytes);

	copy_attr_addr(dst->sa_family, message->attrs[RTA_PREFSRC], 0, &netroute->src);
	copy_attr_addr(dst->sa_family, message->attrs[RTA_GATEWAY], 0, &netroute->next);
	/* A router of the other family: the family comes before the address. */
	if (via)
		copy_attr_addr(mnl_attr_get_u16(via), via, sizeof(uint16_t), &netroute->next);
	netroute->gateway = via || message->attrs[RTA_GATEWAY];
	if (!netroute->next.ss_family)
		copy_addr(dst->sa_family, data, bytes, &netroute->next);
	if (!netroute->src.ss_family && netroute->local)
		copy_addr(dst->sa_family, data, bytes, &netroute->src);
	set_scope(&netroute->src, scope);
	set_scope(&netroute->next, scope);
}

/* --- interface and neighbour ----------------------------------------------------------------- */

static void fill_interface(const struct mnl_socket *socket, const struct message *message,
	unsigned int ifindex, struct vbd_pv_netroute *netroute)
{
	const struct nlattr *metrics[RTA_VIA + 1] = {0};
	struct ifreq ifreq = {0};

	if (message->attrs[RTA_METRICS] &&
		mnl_attr_parse_nested(message->attrs[RTA_METRICS], index_attr, metrics) >= 0 &&
		metrics[RTAX_MTU])
		netroute->mtu_bytes = mnl_attr_get_u32(metrics[RTAX_MTU]);
	if (!ifindex || !if_indextoname(ifindex, netroute->netdev))
		return;
	(void)snprintf(ifreq.ifr_name, sizeof(ifreq.ifr_name), "%s", netroute->netdev);
	if (ioctl(mnl_socket_get_fd(socket), SIOCGIFMTU, &ifreq) == 0 && ifreq.ifr_mtu > 0 &&
		(!netroute->mtu_bytes || (uint32_t)ifreq.ifr_mtu < netroute->mtu_bytes))
		netroute->mtu_bytes = (uint32_t)ifreq.ifr_mtu;
}

static const char *neighbour_state_name(uint16_t state)
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

/* A kernel without requests for one entry (before 5.0) leaves the neighbour unknown. */
static void query_neighbour(struct mnl_socket *socket, struct message *message,
	unsigned int ifindex, struct vbd_pv_netroute *netroute)
{
	const struct sockaddr *next = (const struct sockaddr *)&netroute->next;
	size_t bytes;
	const uint8_t *data = vbd_sockaddr_data(next, &bytes);
	const struct nlattr *hwaddr;
	struct ndmsg *entry;
	int errnum;

	(void)mnl_nlmsg_put_header(message);
	entry = mnl_nlmsg_put_extra_header(&message->head, sizeof(*entry));
	message->head.nlmsg_type = RTM_GETNEIGH;
	entry->ndm_family = (unsigned char)next->sa_family;
	entry->ndm_ifindex = (int)ifindex;
	mnl_attr_put(&message->head, NDA_DST, bytes, data);
	errnum = query_kernel(socket, message, sizeof(*entry));
	if (errnum == ENOENT)
		netroute->neighbour = "none";
	if (errnum)
		return;
	netroute->neighbour = neighbour_state_name(entry->ndm_state);
	hwaddr = message->attrs[NDA_LLADDR];
	if (hwaddr && mnl_attr_get_payload_len(hwaddr) <= sizeof(netroute->hwaddr)) {
		netroute->hwaddr_bytes = mnl_attr_get_payload_len(hwaddr);
		memcpy(netroute->hwaddr, mnl_attr_get_payload(hwaddr), netroute->hwaddr_bytes);
	}
}

enum vbd_status vbd_pv_find_netroute(const struct sockaddr *dst, const struct sockaddr *src,
	struct vbd_pv_netroute *ret_netroute, struct vbd_error *err)
{
	struct vbd_pv_netroute netroute = {0};
	unsigned int ifindex;
	struct message message;
	struct mnl_socket *socket;
	enum vbd_status status = vbd_netlink_open(NETLINK_ROUTE, &socket, err);

	if (status)
		return status;
	netroute.route_errnum =
		query_route(socket, dst, src && src->sa_family ? src : NULL, &message);
	if (!netroute.route_errnum) {
		ifindex = message.attrs[RTA_OIF] ? mnl_attr_get_u32(message.attrs[RTA_OIF]) : 0;
		netroute.local =
			((const struct rtmsg *)mnl_nlmsg_get_payload(&message.head))->rtm_type ==
			RTN_LOCAL;
		fill_addresses(&message, dst, ifindex, &netroute);
		fill_interface(socket, &message, ifindex, &netroute);
		if (!netroute.local && ifindex)
			query_neighbour(socket, &message, ifindex, &netroute);
	}
	(void)mnl_socket_close(socket);
	*ret_netroute = netroute;
	return VBD_OK;
}

/* News of neighbours. */

/* An entry in another state has no hardware address that may be used (NUD_VALID in
 * net/neighbour.h). */
#define VALID_STATES (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

/* Messages wait in the socket until somebody asks. A few are enough: an overflow counts as a
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

static bool has_lost_neighbour(const struct nlmsghdr *message, ssize_t size_bytes)
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
		lost |= size_bytes < 0 || has_lost_neighbour(&news.first, size_bytes);
	}
	return lost;
}
