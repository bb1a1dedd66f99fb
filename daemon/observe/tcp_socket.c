/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/tcp_socket.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

/* A host with more sockets than this is not searched to the end. */
#define LINES_MAX  65536
#define LINE_BYTES 256

/* Address and port as the kernel writes them: the words of the address in the order of this host's
 * bytes, then the port (get_tcp4_sock() and get_tcp6_sock(), kernel 6.1). */
#define END_BYTES 40

static bool write_end(const struct sockaddr *addr, char text[END_BYTES])
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)addr;
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)addr;
	uint32_t words[4];

	if (addr->sa_family == AF_INET && four->sin_port) {
		(void)snprintf(text, END_BYTES, "%08" PRIX32 ":%04X", four->sin_addr.s_addr,
			(unsigned int)ntohs(four->sin_port));
		return true;
	}
	if (addr->sa_family != AF_INET6 || !six->sin6_port)
		return false;
	memcpy(words, &six->sin6_addr, sizeof(words));
	(void)snprintf(text, END_BYTES, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X",
		words[0], words[1], words[2], words[3], (unsigned int)ntohs(six->sin6_port));
	return true;
}

/* The end of what the peer sends counts as one byte that nobody has read. */
bool vbd_tcp_socket_read(const char *line, const struct sockaddr *local,
	const struct sockaddr *peer, struct vbd_tcp_socket *ret_socket)
{
	char local_end[END_BYTES], peer_end[END_BYTES];
	char line_local[END_BYTES], line_peer[END_BYTES];
	unsigned int state, unread_bytes;

	if (!write_end(local, local_end) || !write_end(peer, peer_end) ||
		sscanf(line, " %*u: %39s %39s %2x %*8x:%8x", line_local, line_peer, &state,
			&unread_bytes) != 4 ||
		strcmp(line_local, local_end) != 0 || strcmp(line_peer, peer_end) != 0 ||
		(state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT))
		return false;
	ret_socket->hung_up = state == TCP_CLOSE_WAIT;
	ret_socket->unread_bytes = unread_bytes - (ret_socket->hung_up && unread_bytes);
	return true;
}

bool vbd_tcp_socket_find(const struct sockaddr *local, const struct sockaddr *peer,
	struct vbd_tcp_socket *ret_socket)
{
	FILE *table = fopen(peer->sa_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
	char line[LINE_BYTES];
	bool found = false;

	if (!table)
		return false;
	for (unsigned int i = 0; !found && i < LINES_MAX && fgets(line, sizeof(line), table); i++)
		found = vbd_tcp_socket_read(line, local, peer, ret_socket);
	(void)fclose(table);
	return found;
}
