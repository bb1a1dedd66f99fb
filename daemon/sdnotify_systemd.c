/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sdnotify.h"

#include "base/clock.h"
#include "daemon/kept/held.h"

#include <systemd/sd-daemon.h>

#include <fcntl.h>

void vbd_sdnotify_ready(const char *status)
{
	char text[320];

	(void)snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
	vbd_fd_store_notify(text);
}

void vbd_sdnotify_reloading(void)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reloading",
		(unsigned long long)(vbd_clock_mono_ns() / 1000));
	vbd_fd_store_notify(text);
}

void vbd_sdnotify_stopping(uint64_t within_ms)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=%llu",
		(unsigned long long)within_ms * 1000);
	vbd_fd_store_notify(text);
}

uint64_t vbd_sdnotify_watchdog_ms(void)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return usec < 2000 ? 1 : usec / 2000;
}

void vbd_sdnotify_alive(void)
{
	char text[] = "WATCHDOG=1";

	vbd_fd_store_notify(text);
}

/* The place for the next socket of this one's family; NULL if there is none. */
static int *place_for_socket(int fd, struct vbd_sdnotify_sockets *sockets, struct vbd_error *err)
{
	bool tcp = sd_is_socket(fd, AF_INET, SOCK_STREAM, 1) > 0 ||
		   sd_is_socket(fd, AF_INET6, SOCK_STREAM, 1) > 0;

	if (!tcp && sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) <= 0) {
		(void)vbd_error_set(err, VBD_E_BAD_VALUE,
			"descriptor %d from systemd is no listening TCP or unix socket", fd);
		return NULL;
	}
	if (tcp && sockets->tcp_count < VBD_LISTEN_MAX)
		return &sockets->tcp_fds[sockets->tcp_count++];
	if (!tcp && sockets->unix_fd < 0)
		return &sockets->unix_fd;
	(void)vbd_error_set(err, VBD_E_BAD_VALUE,
		"descriptor %d from systemd is one too many: it may pass %d TCP sockets and a unix "
		"socket",
		fd, VBD_LISTEN_MAX);
	return NULL;
}

static enum vbd_status take_socket(
	int fd, struct vbd_sdnotify_sockets *sockets, struct vbd_error *err)
{
	int *place = place_for_socket(fd, sockets, err);
	int flags;

	if (!place)
		return VBD_E_BAD_VALUE;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return vbd_error_errno(
			err, VBD_E_BAD_VALUE, "fcntl", errno, "descriptor %d from systemd", fd);
	*place = fd;
	return VBD_OK;
}

/* systemd before version 254 does not set the variable: the unit does. */
unsigned int vbd_sdnotify_store_max(void)
{
	const char *max = getenv("FDSTORE");
	unsigned long count = max && getenv("NOTIFY_SOCKET") ? strtoul(max, NULL, 10) : 0;

	return count < VBD_HELD_MAX ? (unsigned int)count : VBD_HELD_MAX;
}

static bool is_fd_store_name(const char *name)
{
	return strncmp(name, VBD_HELD_PREFIX, strlen(VBD_HELD_PREFIX)) == 0;
}

static void free_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free((void *)names);
}

enum vbd_status vbd_sdnotify_sockets(
	struct vbd_sdnotify_sockets *ret_sockets, struct vbd_error *err)
{
	struct vbd_sdnotify_sockets sockets = {.unix_fd = -1};
	enum vbd_status status = VBD_OK;
	char **names = NULL;
	int count = sd_listen_fds_with_names(0, &names);

	if (count < 0)
		return vbd_error_errno(err, VBD_E_BAD_VALUE, "sd_listen_fds_with_names", -count,
			"sockets from systemd");
	for (int i = 0; i < count && status == VBD_OK; i++) {
		if (!is_fd_store_name(names[i]))
			status = take_socket(SD_LISTEN_FDS_START + i, &sockets, err);
	}
	free_names(names);
	if (status == VBD_OK)
		*ret_sockets = sockets;
	return status;
}

void vbd_sdnotify_stored(void (*cb)(const char *name, int fd, void *arg), void *arg)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < count; i++) {
		if (is_fd_store_name(names[i]))
			cb(names[i], SD_LISTEN_FDS_START + i, arg);
	}
	free_names(names);
}
