/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talking to systemd: readiness, watchdog, sockets that it hands over. Everything here does
 * nothing when the daemon was not started by systemd, or was built without libsystemd.
 *
 * Any thread, but vbd_sdnotify_sockets(), which is for the start.
 */
#ifndef VBD_DAEMON_SDNOTIFY_H
#define VBD_DAEMON_SDNOTIFY_H

#include "base/attr.h"
#include "base/error.h"

#include <stdint.h>

/** vbd_sdnotify_ready - READY=1, with a line for `systemctl status` */
void vbd_sdnotify_ready(const char *status);

/** vbd_sdnotify_stopping - STOPPING=1 */
void vbd_sdnotify_stopping(void);

/**
 * vbd_sdnotify_watchdog_ms - how often to call vbd_sdnotify_alive(); 0: never
 *
 * Half of the time that systemd waits.
 */
uint64_t vbd_sdnotify_watchdog_ms(void);

/** vbd_sdnotify_alive - WATCHDOG=1 */
void vbd_sdnotify_alive(void);

/**
 * vbd_sdnotify_sockets - the listening sockets that were handed over, non-blocking
 * @ret_tcp_fd:  -1 if there is none
 * @ret_unix_fd: -1 if there is none
 *
 * Returns VBD_OK, also with no sockets; VBD_E_BAD_VALUE for a socket that is no listening stream
 * socket of these families, or a second one of a family. They are the caller's to close.
 */
enum vbd_status vbd_sdnotify_sockets(
	int *ret_tcp_fd, int *ret_unix_fd, struct vbd_error *err) VBD_MUST_CHECK;

#endif
