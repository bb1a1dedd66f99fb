/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include "base/clock.h"

#include <microhttpd.h>

#define LATE_MS	  1000 /* a timer that fires so much later tells of a process that was stopped */
#define SPARED_MS 5000

/* --- deadlines ------------------------------------------------------------------------------- */

/* True if MHD has still to read bytes that the client sent. */
static bool has_unread(const struct vbd_client *client)
{
	char byte;

	return recv(client->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* A process that was stopped, or a turn that took long, is no fault of a client: what came
 * meanwhile is read in this turn, behind the timers. Once for each request, since bytes may come
 * for ever. */
static bool grant_late_client(struct vbd_client *client, uint64_t late_ns)
{
	if (client->spared || client->hung_up)
		return false;
	if (late_ns < LATE_MS * VBD_NS_PER_MS && !has_unread(client))
		return false;
	client->spared = true;
	vbd_client_set_deadline(client, SPARED_MS);
	return true;
}

/*
 * A client that has ended its stream may still read, or be gone. Send something: the system of a
 * client that is gone resets the connection.
 */
static void ask_if_alive(struct vbd_client *client)
{
	vbd_client_send(client, VBD_INTERIM);
	vbd_client_set_deadline(client, VBD_ASK_MS);
}

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
	if (grant_late_client(client, now_ns - client->deadline_ns))
		return;
	if (client->exchange && client->exchange->ran && !client->exchange->queued) {
		ask_if_alive(client);
		return;
	}
	client->deadline_ns = 0;
	if (client->exchange && !client->hung_up) {
		client->endpoint->server->stats.too_slow++;
		vbd_log(VBD_LOG_INFO, client->name,
			"the client is too slow; the connection is closed");
	}
	vbd_client_cut(client);
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

static uint32_t head_timeout_ms(const struct vbd_client *client)
{
	const struct vbd_server_config *config = &client->endpoint->server->config;

	return client->seat.known || config->header_timeout_ms < config->stranger_timeout_ms
		       ? config->header_timeout_ms
		       : config->stranger_timeout_ms;
}

void vbd_client_begin(struct vbd_client *client, struct vbd_exchange *exchange)
{
	uint32_t timeout_ms = head_timeout_ms(client);

	vbd_client_tls_requested(client);
	if (!client->hung_up && vbd_client_watch(client, NULL) != VBD_OK)
		vbd_client_cut(client);
	if (client->deadline_ns >
		vbd_loop_now_ns(client->endpoint->server->loop) + timeout_ms * VBD_NS_PER_MS)
		vbd_client_set_deadline(client, timeout_ms);
	client->exchange = exchange;
	client->spared = false;
}

void vbd_client_end(struct vbd_client *client)
{
	const struct vbd_server *server = client->endpoint->server;
	const struct vbd_server_config *config = &server->config;
	uint32_t idle_ms =
		client->seat.known ? config->idle_timeout_ms : config->stranger_timeout_ms;

	client->exchange = NULL;
	client->spared = false;
	/* MHD starts a pipelined request before the next turn, and so before a deadline of 0. The
	 * answer to a feed that ends at a stop was begun with a connection that stays. */
	vbd_client_set_deadline(client, client->hung_up || server->stopping ? 0 : idle_ms);
}

/* --- hang-ups -------------------------------------------------------------------------------- */

static void unwatch_hangup(struct vbd_client *client)
{
	vbd_fd_watch_stop(client->hangup);
	client->hangup = NULL;
}

void vbd_client_cut(struct vbd_client *client)
{
	unwatch_hangup(client);
	client->hung_up = true;
	client->deadline_ns = 0;
	/* MHD has no call to close a connection; it cleans up when it reads the end of stream. */
	(void)shutdown(client->fd, SHUT_RDWR);
	vbd_client_tls_go_on(client);
}

static void on_client_gone(unsigned int events, void *arg)
{
	struct vbd_client *client = arg;

	(void)events;
	unwatch_hangup(client);
	if (client->exchange && client->exchange->hang_up)
		client->exchange->hang_up(client->exchange, true);
}

/*
 * MHD does not read again after a short read (recv_param_adapter() in 0.9.75), so it would not see
 * an end that came together with the bytes before it. A request that is complete is still answered.
 */
static void on_hangup(unsigned int events, void *arg)
{
	struct vbd_client *client = arg;
	struct vbd_exchange *exchange = client->exchange;
	bool incomplete = !exchange || (!exchange->ran && !exchange->req.reply.status);

	(void)events;
	if (incomplete && has_unread(client))
		return;
	unwatch_hangup(client);
	client->hung_up = true;
	if (exchange && exchange->hang_up)
		exchange->hang_up(exchange, false);
	/* MHD starts a request that it has read whole before this deadline, see above. */
	if (incomplete)
		vbd_client_set_deadline(client, 0);
}

enum vbd_status vbd_client_watch(struct vbd_client *client, struct vbd_error *err)
{
	if (client->hangup)
		return VBD_OK;
	return vbd_fd_watch_start(client->endpoint->server->loop, client->fd,
		client->hung_up ? VBD_FD_GONE : VBD_FD_HANGUP,
		client->hung_up ? on_client_gone : on_hangup, client, &client->hangup, err);
}

/* --- create and destroy ---------------------------------------------------------------------- */

/* Without the interface of a link-local address, which no Host names. */
static char *address_text(struct sockaddr_storage *addr, char text[VBD_ADDR_TEXT_BYTES])
{
	vbd_addr_unmap(addr);
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_scope_id = 0;
	return vbd_addr_format(addr, text);
}

static void learn_tcp_peer(struct vbd_client *client, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage peer = *addr, own = {0};
	socklen_t len = sizeof(own);
	char text[VBD_ADDR_TEXT_BYTES];

	(void)address_text(&peer, text);
	client->source = vbd_source_of_address(&peer);
	client->peer.loopback = vbd_sockaddr_is_loopback((const struct sockaddr *)&peer);
	(void)snprintf(client->name, sizeof(client->name), strchr(text, ':') ? "[%s]:%u" : "%s:%u",
		text, vbd_addr_port(&peer));
	if (getsockname(client->fd, (struct sockaddr *)&own, &len) == 0)
		client->peer.local_addr = address_text(&own, client->local_addr);
}

/* SO_PEERGROUPS has the groups of the process when it connected. A client whose groups can't be
 * had is in its primary group only. */
static void learn_groups(struct vbd_client *client, gid_t primary)
{
	socklen_t len = 0;
	gid_t *gids;

	/* Without room it says how much is needed. */
	(void)getsockopt(client->fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len);
	gids = malloc(sizeof(gid_t) + len);
	if (!gids)
		return;
	gids[0] = primary;
	if (len && getsockopt(client->fd, SOL_SOCKET, SO_PEERGROUPS, gids + 1, &len) != 0)
		len = 0;
	client->gids = gids;
	client->peer.gids = gids;
	client->peer.n_gids = 1 + len / sizeof(gid_t);
}

static void learn_unix_peer(struct vbd_client *client)
{
	struct ucred cred = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t len = sizeof(cred);

	client->peer.unix_socket = true;
	(void)getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	client->peer.uid = cred.uid;
	client->source = vbd_source_of_uid(cred.uid);
	learn_groups(client, cred.gid);
	(void)snprintf(client->name, sizeof(client->name), "unix uid %u", cred.uid);
}

struct vbd_client *vbd_client_create(
	struct vbd_server_endpoint *endpoint, int fd, const struct sockaddr_storage *addr)
{
	struct vbd_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	vbd_list_init(&client->link);
	vbd_list_init(&client->suspect);
	client->endpoint = endpoint;
	client->fd = fd;
	if (endpoint->is_unix)
		learn_unix_peer(client);
	else
		learn_tcp_peer(client, addr);
	return client;
}

bool vbd_client_start(struct vbd_client *client)
{
	struct vbd_server *server = client->endpoint->server;

	if (vbd_timer_create(server->loop, on_client_timer, client, &client->timer, NULL) != VBD_OK)
		return false;
	/* A handshake has a watch of its own. */
	if (!client->endpoint->tls && vbd_client_watch(client, NULL) != VBD_OK)
		return false;
	vbd_list_append(&server->clients, &client->link);
	server->stats.connections++;
	server->stats.connections_open++;
	vbd_client_set_deadline(client, head_timeout_ms(client));
	return true;
}

void vbd_client_destroy(struct vbd_client *client)
{
	struct vbd_server *server = client->endpoint->server;

	vbd_client_tls_end(client);
	if (client->unread)
		vbd_linger_add(&server->linger, client->fd);
	vbd_server_run_soon(client->endpoint); /* MHD frees connections in its next run */
	unwatch_hangup(client);
	vbd_timer_destroy(client->timer);
	vbd_seat_give_up(server->admission, &client->seat);
	if (!vbd_list_empty(&client->link))
		server->stats.connections_open--;
	vbd_list_remove(&client->link);
	vbd_list_remove(&client->suspect);
	free(client->gids);
	free(client);
	if (server->stopping && vbd_list_empty(&server->clients))
		vbd_timer_set(server->stop_timer, 0);
}

void vbd_server_cut(struct vbd_server *server, bool all)
{
	vbd_list_for_each (link, &server->clients) {
		struct vbd_client *client = VBD_CONTAINER_OF(link, struct vbd_client, link);

		if (all || !client->exchange || !client->exchange->begun_ns)
			vbd_client_cut(client);
	}
}
