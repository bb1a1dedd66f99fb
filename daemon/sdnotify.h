/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to systemd: readiness, watchdog, inherited sockets. The functions do nothing if the
 * daemon was not started by systemd, or was built without libsystemd.
 *
 * Any thread, but the last two only at the start.
 */
#ifndef VBD_DAEMON_SDNOTIFY_H
#define VBD_DAEMON_SDNOTIFY_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/config/config.h"

/** vbd_sdnotify_ready - READY=1, with a line for `systemctl status` */
void vbd_sdnotify_ready(const char *status);

/** vbd_sdnotify_reloading - RELOADING=1 with the time; vbd_sdnotify_ready() ends it */
void vbd_sdnotify_reloading(void);

/** vbd_sdnotify_stopping - STOPPING=1; systemd waits @within_ms, if its own timeout is shorter */
void vbd_sdnotify_stopping(uint64_t within_ms);

/** vbd_sdnotify_watchdog_ms - interval for vbd_sdnotify_alive(), half of systemd's timeout; 0: no
 * watchdog */
uint64_t vbd_sdnotify_watchdog_ms(void);

/** vbd_sdnotify_alive - WATCHDOG=1 */
void vbd_sdnotify_alive(void);

/** vbd_sdnotify_store_max - how many descriptors systemd holds for this service, by $FDSTORE; 0:
 * there is no such store */
unsigned int vbd_sdnotify_store_max(void);

/* Inherited listening sockets, non-blocking. */
struct vbd_sdnotify_sockets {
	int tcp_fds[VBD_LISTEN_MAX];
	size_t tcp_count;
	int unix_fd; /* -1: none */
};

/**
 * vbd_sdnotify_sockets - get the inherited listening sockets; the caller closes them
 *
 * Returns VBD_OK, also without sockets; VBD_E_BAD_VALUE for a socket that is not a listening stream
 * socket of these families, a second unix socket, or more than VBD_LISTEN_MAX TCP sockets.
 * Descriptors of the FD store are skipped: see vbd_sdnotify_stored().
 */
enum vbd_status vbd_sdnotify_sockets(
	struct vbd_sdnotify_sockets *ret_sockets, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_sdnotify_stored - call @cb for each descriptor that an earlier run has left with systemd (by
 * its name: daemon/kept/held.h), which is the caller's then
 *
 * @name is valid in the call only. Once, at the start, after vbd_sdnotify_sockets(): what systemd
 * has passed is forgotten.
 */
void vbd_sdnotify_stored(void (*cb)(const char *name, int fd, void *arg), void *arg);

#endif
