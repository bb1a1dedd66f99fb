/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include <microhttpd.h>

#include <sys/eventfd.h>
#include <unistd.h>

/* MHD reads the heads of these before the next ones are accepted: a client that sends its request
 * at once shows its credential before others can take its seat. */
#define ACCEPTS_PER_TURN 8
/* The listening socket rests for so long if a client can't be accepted for lack of descriptors. */
#define REST_MS 100

/* --- calls of MHD_run() ---------------------------------------------------------------------- */

/* MHD's timeout knows nothing of connections that its callbacks have resumed, so that they would
 * wait for the next request. */
static void set_mhd_timer(struct vbd_server_endpoint *endpoint)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;

	if (endpoint->run_soon)
		return;
	if (MHD_get_timeout(endpoint->mhd, &timeout_ms) == MHD_YES)
		vbd_timer_set(endpoint->timer, timeout_ms);
	else
		vbd_timer_clear(endpoint->timer);
}

static void run_mhd(struct vbd_server_endpoint *endpoint)
{
	endpoint->run_soon = false;
	endpoint->server->stats.runs++;
	vbd_server_take_turns(endpoint);
	(void)MHD_run(endpoint->mhd);
	vbd_server_convict(endpoint);
	set_mhd_timer(endpoint);
}

void vbd_server_on_ready(unsigned int events, void *arg)
{
	(void)events;
	run_mhd(arg);
}

void vbd_server_on_timer(void *arg)
{
	run_mhd(arg);
}

/* --- refusals -------------------------------------------------------------------------------- */

static void report_turned_away(
	struct vbd_server *server, const char *client, enum vbd_status code, const char *text)
{
	struct vbd_error err = {0};

	(void)vbd_error_set(&err, code, "%s", text);
	if (server->config.on_turned_away)
		server->config.on_turned_away(server->config.dispatch.context, client, &err);
}

/* Answer a client without a seat, which need not have sent a request. */
static void send_refusal(const struct vbd_server_endpoint *endpoint, int fd)
{
	struct vbd_error err = {0};
	char *text;

	if (endpoint->tls) /* nothing is said in clear there */
		return;
	(void)vbd_error_set(&err, VBD_E_TOO_MANY_CLIENTS,
		"there are as many HTTP connections as limits.http_connections allows, or half of "
		"them from one address");
	text = vbd_refusal_print(endpoint->server, &err, false);
	if (text)
		(void)send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(text);
}

static void refuse_fd(struct vbd_server_endpoint *endpoint, int fd, const char *client,
	enum vbd_status code, const char *text)
{
	struct vbd_server *server = endpoint->server;

	server->stats.refused++;
	send_refusal(endpoint, fd);
	(void)shutdown(fd, SHUT_WR);
	vbd_linger_take(&server->linger, fd);
	report_turned_away(server, client, code, text);
}

/* Disconnect a stranger whose seat is given up. */
static void send_away(struct vbd_server *server, struct vbd_seat *seat)
{
	struct vbd_client *client = VBD_CONTAINER_OF(seat, struct vbd_client, seat);

	server->stats.sent_away++;
	if (!client->answered)
		send_refusal(client->endpoint, client->fd);
	report_turned_away(server, client->name, VBD_E_TOO_MANY_CLIENTS,
		"the client has shown no token, and another one needs its connection");
	vbd_client_cut(client);
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void open_spare_fds(struct vbd_server *server)
{
	while (server->n_spares < VBD_SERVER_SPARE_FDS) {
		int fd = eventfd(0, EFD_CLOEXEC);

		if (fd < 0)
			return;
		server->spares[server->n_spares++] = fd;
	}
}

static int accept_client(
	struct vbd_server_endpoint *endpoint, struct sockaddr_storage *ret_addr, socklen_t *ret_len)
{
	*ret_len = sizeof(*ret_addr);
	return accept4(endpoint->listen_fd, (struct sockaddr *)ret_addr, ret_len,
		SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void listen_again(void *arg);

static void pause_listening(struct vbd_server_endpoint *endpoint)
{
	vbd_fd_watch_stop(endpoint->listening);
	endpoint->listening = NULL;
	vbd_timer_set(endpoint->rest_timer, REST_MS);
}

/*
 * No descriptor is left. A stranger is disconnected: the descriptor is free in the next turn.
 * Without strangers the next clients get the spare ones, so that whoever has the role "control" can
 * tidy up; the last spare one serves to refuse the others.
 */
static int accept_at_limit(
	struct vbd_server_endpoint *endpoint, struct sockaddr_storage *ret_addr, socklen_t *ret_len)
{
	struct vbd_server *server = endpoint->server;
	struct vbd_seat *stranger = vbd_seat_oldest_stranger(server->admission);
	int fd = -1;

	if (stranger) {
		send_away(server, stranger);
		return -1;
	}
	if (server->n_spares) {
		(void)close(server->spares[--server->n_spares]);
		fd = accept_client(endpoint, ret_addr, ret_len);
	}
	if (fd < 0) {
		pause_listening(endpoint);
		return -1;
	}
	if (server->n_spares)
		return fd;
	server->stats.refused++;
	send_refusal(endpoint, fd);
	(void)close(fd);
	report_turned_away(server, "a client", VBD_E_FD_LIMIT, "no file descriptor is left for it");
	return -1;
}

/* --- accepting ------------------------------------------------------------------------------- */

static void add_client(struct vbd_server_endpoint *endpoint, int fd,
	const struct sockaddr_storage *addr, socklen_t len)
{
	struct vbd_server *server = endpoint->server;
	struct vbd_client *client = vbd_client_create(endpoint, fd, addr);
	struct vbd_seat *victim = NULL;

	if (!client) {
		refuse_fd(endpoint, fd, "a client", VBD_E_NO_MEMORY, "no memory for the client");
		return;
	}
	if (!vbd_seat_take(server->admission, &client->source, &client->seat, &victim)) {
		refuse_fd(endpoint, fd, client->name, VBD_E_TOO_MANY_CLIENTS,
			"all HTTP connections are taken, also those of the reserve");
		vbd_client_destroy(client);
		return;
	}
	if (victim)
		send_away(server, victim);
	if (!vbd_client_start(client)) {
		vbd_client_destroy(client);
		(void)close(fd);
		return;
	}
	endpoint->arriving = client;
	/* MHD closes the socket if it fails. */
	(void)MHD_add_connection(endpoint->mhd, fd, (const struct sockaddr *)addr, len);
	if (endpoint->arriving)
		vbd_client_destroy(endpoint->arriving);
	endpoint->arriving = NULL;
}

static void on_connectable(unsigned int events, void *arg)
{
	struct vbd_server_endpoint *endpoint = arg;
	struct sockaddr_storage addr;
	socklen_t len;

	(void)events;
	open_spare_fds(endpoint->server);
	for (unsigned int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept_client(endpoint, &addr, &len);

		/* accept4() takes a descriptor before it looks for a client: only the first one of
		 * a turn is known to be there. */
		if (fd < 0 && i == 0 && (errno == EMFILE || errno == ENFILE))
			fd = accept_at_limit(endpoint, &addr, &len);
		if (fd < 0)
			break;
		add_client(endpoint, fd, &addr, len);
	}
	vbd_server_on_ready(0, endpoint);
}

static void listen_again(void *arg)
{
	struct vbd_server_endpoint *endpoint = arg;

	if (vbd_fd_watch_start(endpoint->server->loop, endpoint->listen_fd, VBD_FD_READ,
		    on_connectable, endpoint, &endpoint->listening, NULL) != VBD_OK)
		vbd_timer_set(endpoint->rest_timer, REST_MS);
}

enum vbd_status vbd_server_accept_start(struct vbd_server_endpoint *endpoint, struct vbd_error *err)
{
	struct vbd_server *server = endpoint->server;
	enum vbd_status status;

	open_spare_fds(server);
	status = vbd_timer_create(server->loop, listen_again, endpoint, &endpoint->rest_timer, err);
	if (status != VBD_OK)
		return status;
	return vbd_fd_watch_start(server->loop, endpoint->listen_fd, VBD_FD_READ, on_connectable,
		endpoint, &endpoint->listening, err);
}

void vbd_server_accept_stop(struct vbd_server_endpoint *endpoint, bool keep_socket)
{
	vbd_fd_watch_stop(endpoint->listening);
	endpoint->listening = NULL;
	vbd_timer_destroy(endpoint->rest_timer);
	endpoint->rest_timer = NULL;
	if (!keep_socket && endpoint->listen_fd >= 0)
		(void)close(endpoint->listen_fd);
	endpoint->listen_fd = -1;
}

void vbd_server_accept_fini(struct vbd_server *server)
{
	while (server->n_spares)
		(void)close(server->spares[--server->n_spares]);
}
