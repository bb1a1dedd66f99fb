/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include "base/clock.h"
#include "base/log.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- deadlines ------------------------------------------------------------------------------- */

static void on_client_timer(void *arg)
{
	struct vbd_client *client = arg;
	uint64_t now_ns = vbd_loop_now_ns(client->endpoint->server->loop);

	client->armed_ns = 0;
	if (!client->deadline_ns)
		return;
	if (now_ns < client->deadline_ns) {
		client->armed_ns = client->deadline_ns;
		vbd_timer_set(client->timer,
			(client->deadline_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS);
		return;
	}
	client->deadline_ns = 0;
	if (client->exchange) {
		client->endpoint->server->stats.too_slow++;
		vbd_log(VBD_LOG_INFO, client->name,
			"the client is too slow; the connection is closed");
	}
	/* MHD has no call to close a connection; it cleans up when it reads the end of stream. */
	(void)shutdown(client->fd, SHUT_RDWR);
}

/* A later deadline leaves the timer alone; on_client_timer() sets it again. So a busy client costs
 * no timer work. */
void vbd_client_set_deadline(struct vbd_client *client, uint64_t timeout_ms)
{
	uint64_t now_ns = vbd_loop_now_ns(client->endpoint->server->loop);

	client->deadline_ns = now_ns + timeout_ms * VBD_NS_PER_MS;
	if (client->armed_ns && client->armed_ns <= client->deadline_ns)
		return;
	client->armed_ns = client->deadline_ns;
	vbd_timer_set(client->timer, timeout_ms);
}

void vbd_client_clear_deadline(struct vbd_client *client)
{
	client->deadline_ns = 0;
}

void vbd_client_begin(struct vbd_client *client, struct vbd_exchange *exchange)
{
	struct vbd_server *server = client->endpoint->server;

	if (client->deadline_ns >
		vbd_loop_now_ns(server->loop) + server->config.header_timeout_ms * VBD_NS_PER_MS)
		vbd_client_set_deadline(client, server->config.header_timeout_ms);
	client->exchange = exchange;
}

/*
 * True if the client sent the end of its stream right after its request. MHD does not read again
 * after a short read (recv_param_adapter() in 0.9.75), so it would not see the end before the idle
 * deadline.
 */
static bool has_hung_up(const struct vbd_client *client)
{
	char byte;

	return recv(client->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

void vbd_client_end(struct vbd_client *client)
{
	client->exchange = NULL;
	/* MHD starts a pipelined request before the next turn, and so before a deadline of 0. */
	vbd_client_set_deadline(
		client, has_hung_up(client) ? 0 : client->endpoint->server->config.idle_timeout_ms);
}

/* --- create and destroy ---------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Format an address, a v4-mapped IPv6 address as IPv4; false for other families. */
static bool address_text(
	const union address *address, char text[INET6_ADDRSTRLEN], uint16_t *ret_port)
{
	const void *bytes = &address->v4.sin_addr;
	int family = address->any.sa_family;

	*ret_port = ntohs(address->v4.sin_port); /* same offset in v4 and v6 */
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr)) {
		bytes = &address->v6.sin6_addr.s6_addr[12];
		family = AF_INET;
	} else if (family == AF_INET6) {
		bytes = &address->v6.sin6_addr;
	} else if (family != AF_INET) {
		return false;
	}
	return inet_ntop(family, bytes, text, INET6_ADDRSTRLEN) != NULL;
}

static void learn_tcp_peer(struct vbd_client *client)
{
	char text[INET6_ADDRSTRLEN] = "?";
	union address address;
	socklen_t len = sizeof(address);
	uint16_t port = 0;

	memset(&address, 0, sizeof(address));
	if (getpeername(client->fd, &address.any, &len) == 0 && address_text(&address, text, &port))
		client->peer.loopback = strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
	(void)snprintf(client->name, sizeof(client->name), strchr(text, ':') ? "[%s]:%u" : "%s:%u",
		text, port);
	len = sizeof(address);
	if (getsockname(client->fd, &address.any, &len) == 0 &&
		address_text(&address, client->local_addr, &port))
		client->peer.local_addr = client->local_addr;
}

static void learn_unix_peer(struct vbd_client *client)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t len = sizeof(cred);

	client->peer.unix_socket = true;
	(void)getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	client->peer.uid = cred.uid;
	(void)snprintf(client->name, sizeof(client->name), "unix uid %u", cred.uid);
}

struct vbd_client *vbd_client_create(
	struct vbd_server_endpoint *endpoint, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct vbd_server *server = endpoint->server;
	struct vbd_client *client = calloc(1, sizeof(*client));

	if (!client || !info)
		goto fail;
	client->endpoint = endpoint;
	client->fd = info->connect_fd;
	if (vbd_timer_create(server->loop, on_client_timer, client, &client->timer, NULL) != VBD_OK)
		goto fail;
	if (endpoint->is_unix)
		learn_unix_peer(client);
	else
		learn_tcp_peer(client);
	vbd_list_append(&server->clients, &client->link);
	server->stats.connections++;
	server->stats.connections_open++;
	vbd_client_set_deadline(client, server->config.header_timeout_ms);
	return client;
fail:
	free(client);
	return NULL;
}

void vbd_client_destroy(struct vbd_client *client)
{
	struct vbd_server *server = client->endpoint->server;

	if (client->unread)
		vbd_linger_add(server->linger, client->fd);
	client->endpoint->run_again = true; /* MHD may accept another client */
	vbd_timer_destroy(client->timer);
	vbd_list_remove(&client->link);
	server->stats.connections_open--;
	free(client);
	if (server->stopping && vbd_list_empty(&server->clients))
		vbd_timer_set(server->stop_timer, 0);
}

void vbd_server_cut_idle(struct vbd_server *server)
{
	vbd_list_for_each (link, &server->clients) {
		struct vbd_client *client = VBD_CONTAINER_OF(link, struct vbd_client, link);

		if (!client->exchange || !client->exchange->begun)
			(void)shutdown(client->fd, SHUT_RDWR);
	}
}
