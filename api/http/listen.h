/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets for the server: TCP and unix.
 *
 * Any thread; short system calls only.
 */
#ifndef VBD_API_HTTP_LISTEN_H
#define VBD_API_HTTP_LISTEN_H

#include "base/attr.h"
#include "base/error.h"

#include <stdint.h>

/**
 * vbd_listen_tcp - listen on a numeric address
 * @addr:   "127.0.0.1", "::1", "0.0.0.0"
 * @port:   0 has one picked
 * @ret_fd: the caller's
 */
enum vbd_status vbd_listen_tcp(
	const char *addr, uint16_t port, int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_listen_unix - listen on a path, mode 0660
 *
 * A socket file that nobody answers on is replaced; one that somebody listens on gives
 * VBD_E_ADDRESS_IN_USE, and so does a file that is no socket. Whoever made the socket unlinks the
 * path in the end.
 */
enum vbd_status vbd_listen_unix(
	const char *path, int *ret_fd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_listen_port - the TCP port of a listening socket, host order; 0 if it has none */
uint16_t vbd_listen_port(int fd);

#endif
