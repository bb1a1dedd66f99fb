/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/linkwatch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Each message is one datagram; the next turn takes those that are left. */
#define DRAIN_COUNT 64

enum vbd_status vbd_linkwatch_open(int *ret_fd, struct vbd_error *err)
{
	const struct sockaddr_nl to = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	enum vbd_status status;

	if (fd < 0)
		return vbd_error_errno(
			err, VBD_OK, "socket", errno, "no news of network interfaces");
	if (bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0) {
		*ret_fd = fd;
		return VBD_OK;
	}
	status = vbd_error_errno(err, VBD_OK, "bind", errno, "no news of network interfaces");
	(void)close(fd);
	return status;
}

bool vbd_linkwatch_drain(int fd)
{
	unsigned int taken = 0;
	char first;

	/* One byte is enough: it does not matter what a message says. ENOBUFS tells that messages
	 * were lost, so it is a change too. */
	while (taken < DRAIN_COUNT && (recv(fd, &first, sizeof(first), 0) >= 0 || errno == ENOBUFS))
		taken++;
	return taken > 0;
}
