/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/uevent.h"

#include <libudev.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

struct vbd_uevent {
	struct udev *udev;
	struct udev_monitor *monitor;
};

static enum vbd_status listen_to_kernel(struct vbd_uevent *uevent, struct vbd_error *err)
{
	static const char *const subsystems[] = {"infiniband", "infiniband_verbs"};
	int rc;

	uevent->udev = udev_new();
	if (!uevent->udev)
		return vbd_error_errno(err, VBD_OK, "udev_new", errno, "no uevents");
	uevent->monitor = udev_monitor_new_from_netlink(uevent->udev, "kernel");
	if (!uevent->monitor)
		return vbd_error_errno(
			err, VBD_OK, "udev_monitor_new_from_netlink", errno, "no uevents");
	for (size_t i = 0; i < VBD_ARRAY_LEN(subsystems); i++) {
		rc = udev_monitor_filter_add_match_subsystem_devtype(
			uevent->monitor, subsystems[i], NULL);
		if (rc < 0)
			return vbd_error_errno(err, VBD_OK,
				"udev_monitor_filter_add_match_subsystem_devtype", -rc,
				"no uevents");
	}
	rc = udev_monitor_enable_receiving(uevent->monitor);
	if (rc < 0)
		return vbd_error_errno(
			err, VBD_OK, "udev_monitor_enable_receiving", -rc, "no uevents");
	return VBD_OK;
}

enum vbd_status vbd_uevent_create(struct vbd_uevent **ret_uevent, struct vbd_error *err)
{
	struct vbd_uevent *uevent = calloc(1, sizeof(*uevent));
	enum vbd_status status;

	if (!uevent)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for uevents");
	status = listen_to_kernel(uevent, err);
	if (status != VBD_OK) {
		vbd_uevent_destroy(uevent);
		return status;
	}
	*ret_uevent = uevent;
	return VBD_OK;
}

void vbd_uevent_destroy(struct vbd_uevent *uevent)
{
	if (!uevent)
		return;
	/* Both functions take NULL. */
	(void)udev_monitor_unref(uevent->monitor);
	(void)udev_unref(uevent->udev);
	free(uevent);
}

int vbd_uevent_fd(const struct vbd_uevent *uevent)
{
	return udev_monitor_get_fd(uevent->monitor);
}

bool vbd_uevent_drain(struct vbd_uevent *uevent, vbd_uevent_cb cb, void *arg)
{
	struct udev_device *device;
	bool complete = true;

	for (;;) {
		const char *action;

		errno = 0;
		device = udev_monitor_receive_device(uevent->monitor);
		if (!device && errno == ENOBUFS) {
			complete = false; /* reported once; the queued events follow */
			continue;
		}
		if (!device)
			return complete;
		action = udev_device_get_action(device);
		cb(action ? action : "", udev_device_get_sysname(device), arg);
		(void)udev_device_unref(device);
	}
}

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
