/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/uevent.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

/* The group in which the kernel itself sends uevents; udevd sends its own in another one. */
#define GROUP_KERNEL 1

/* The longest uevent has 2048 bytes, and a header (UEVENT_BUFFER_SIZE in linux/kobject.h). */
#define UEVENT_BYTES 8192

/* Each message is one datagram; the next turn takes those that are left. */
#define DRAIN_COUNT 64

static enum vbd_status open_netlink(
	int protocol, unsigned int groups, const char *lack, int *ret_fd, struct vbd_error *err)
{
	const struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	enum vbd_status status;

	if (fd < 0)
		return vbd_error_errno(err, VBD_OK, "socket", errno, "%s", lack);
	if (bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0) {
		*ret_fd = fd;
		return VBD_OK;
	}
	status = vbd_error_errno(err, VBD_OK, "bind", errno, "%s", lack);
	(void)close(fd);
	return status;
}

enum vbd_status vbd_uevent_open(int *ret_fd, struct vbd_error *err)
{
	return open_netlink(NETLINK_KOBJECT_UEVENT, GROUP_KERNEL, "no uevents", ret_fd, err);
}

/* The value of "KEY=value" in a uevent; each of its texts has a NUL behind it. */
static const char *find_value(const char *uevent, size_t len_bytes, const char *key)
{
	for (const char *at = uevent; at < uevent + len_bytes; at += strlen(at) + 1) {
		if (strncmp(at, key, strlen(key)) == 0)
			return at + strlen(key);
	}
	return "";
}

static void report_uevent(const char *uevent, size_t len_bytes, vbd_uevent_cb cb, void *arg)
{
	const char *subsystem = find_value(uevent, len_bytes, "SUBSYSTEM=");
	const char *path = find_value(uevent, len_bytes, "DEVPATH=");
	const char *slash = strrchr(path, '/');

	if (strcmp(subsystem, "infiniband") == 0 || strcmp(subsystem, "infiniband_verbs") == 0)
		cb(find_value(uevent, len_bytes, "ACTION="), slash ? slash + 1 : path, arg);
}

bool vbd_uevent_drain(int fd, vbd_uevent_cb cb, void *arg)
{
	char uevent[UEVENT_BYTES + 1];
	bool complete = true;

	for (;;) {
		struct sockaddr_nl from = {0};
		socklen_t from_bytes = sizeof(from);
		ssize_t len = recvfrom(
			fd, uevent, UEVENT_BYTES, 0, (struct sockaddr *)&from, &from_bytes);

		if (len < 0 && errno != ENOBUFS)
			return complete;
		if (len < 0) {
			complete = false; /* reported once; the queued uevents follow */
			continue;
		}
		uevent[len] = '\0';
		/* Only the kernel sends from port 0. */
		if (from.nl_pid == 0)
			report_uevent(uevent, (size_t)len, cb, arg);
	}
}

enum vbd_status vbd_linkwatch_open(int *ret_fd, struct vbd_error *err)
{
	return open_netlink(NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
		"no news of network interfaces", ret_fd, err);
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
