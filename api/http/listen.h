/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets for the server: TCP and unix.
 *
 * Any thread; short system calls only.
 */
#ifndef VBD_API_HTTP_LISTEN_H
#define VBD_API_HTTP_LISTEN_H

#include "base/error.h"

#include <sys/types.h>

#define VBD_LISTEN_OWN_GROUP ((gid_t)-1)

/**
 * vbd_listen_tcp - listen on a numeric address, also on one that no interface has yet
 * @addr:   "127.0.0.1", "::1", "0.0.0.0"
 * @port:   0: the kernel picks one
 * @ret_fd: owned by the caller
 */
enum vbd_status vbd_listen_tcp(
	const char *addr, uint16_t port, int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_listen_check - set @err if this process may not listen there; it is no error that a process
 * does */
void vbd_listen_check(const char *addr, uint16_t port, struct vbd_error *err);

/**
 * vbd_listen_unix - listen on a path
 * @group: who owns the socket beside the user; VBD_LISTEN_OWN_GROUP for the group of the process
 * @mode:  permissions: who may write may connect
 *
 * The socket file of a process that has ended is replaced. Returns VBD_E_ADDRESS_IN_USE if a
 * process listens on the path, or if the file is no socket. The caller owns @ret_fd, and unlinks
 * the path in the end.
 */
enum vbd_status vbd_listen_unix(const char *path, gid_t group, mode_t mode, int *ret_fd,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_listen_is_own - does an interface have this numeric address now? True for a wildcard. */
bool vbd_listen_is_own(const char *addr);

/** vbd_listen_port - the TCP port of a listening socket, host order; 0 if it has none */
uint16_t vbd_listen_port(int fd);

#endif
