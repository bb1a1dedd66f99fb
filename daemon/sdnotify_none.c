/* SPDX-License-Identifier: Apache-2.0 */
/* Built where there is no libsystemd. */
#include "daemon/sdnotify.h"

void vbd_sdnotify_ready(const char *status)
{
	(void)status;
}

void vbd_sdnotify_reloading(void)
{
}

void vbd_sdnotify_stopping(uint64_t within_ms)
{
	(void)within_ms;
}

uint64_t vbd_sdnotify_watchdog_ms(void)
{
	return 0;
}

void vbd_sdnotify_alive(void)
{
}

unsigned int vbd_sdnotify_store_max(void)
{
	return 0;
}

enum vbd_status vbd_sdnotify_sockets(
	struct vbd_sdnotify_sockets *ret_sockets, struct vbd_error *err)
{
	(void)err;
	*ret_sockets = (struct vbd_sdnotify_sockets){.unix_fd = -1};
	return VBD_OK;
}

void vbd_sdnotify_stored(void (*cb)(const char *name, int fd, void *arg), void *arg)
{
	(void)cb;
	(void)arg;
}
