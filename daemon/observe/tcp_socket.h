/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TCP socket below a connection over Soft-iWARP, from the kernel's table. The socket belongs to
 * the kernel: nobody else can ask it.
 *
 * Any thread.
 */
#ifndef VBD_DAEMON_OBSERVE_TCP_SOCKET_H
#define VBD_DAEMON_OBSERVE_TCP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct vbd_tcp_socket {
	uint64_t unread_bytes; /* came from the peer, and siw has not taken them */
	bool hung_up;	       /* the peer has closed its side */
};

/** vbd_tcp_socket_read - take the socket from @line of /proc/net/tcp or /proc/net/tcp6. False if it
 * is not the one between @local and @peer, or is neither open nor left by the peer alone. Pure. */
bool vbd_tcp_socket_read(const char *line, const struct sockaddr *local,
	const struct sockaddr *peer, struct vbd_tcp_socket *ret_socket);

/** vbd_tcp_socket_find - the socket between @local and @peer, both with their ports; false if there
 * is none. May block: the kernel goes through its table of sockets. */
bool vbd_tcp_socket_find(const struct sockaddr *local, const struct sockaddr *peer,
	struct vbd_tcp_socket *ret_socket);

#endif
