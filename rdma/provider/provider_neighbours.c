/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/netroute.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <unistd.h>

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
