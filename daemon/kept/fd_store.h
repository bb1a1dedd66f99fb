/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's FD store (FileDescriptorStoreMax= in systemd.service(5)): systemd holds descriptors of
 * the service, and passes them to its next process. What follows is told to the socket that
 * $NOTIFY_SOCKET names, as sd_pid_notify_with_fds(3) does, which would wait for a systemd that is
 * behind with reading.
 *
 * Any thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_FD_STORE_H
#define VBD_DAEMON_KEPT_FD_STORE_H

#include "base/error.h"

/** vbd_fd_store_add - let systemd hold a duplicate of @fd under @name; another one of the name
 * stays there too. Fails while systemd does not read. That it has no room is not told. */
enum vbd_status vbd_fd_store_add(const char *name, int fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fd_store_remove - let systemd close what it holds under @name; fails while systemd does not
 * read */
enum vbd_status vbd_fd_store_remove(const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fd_store_notify - tell systemd @text, as sd_notify(3) does; lost while systemd does not
 * read, and without systemd */
void vbd_fd_store_notify(char *text);

#endif
