/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers in MHD's place. MHD 0.9.75 answers some faults itself: in HTML, and with two heads if the
 * fault is in a Content-Length (parse_connection_headers()). It says so to its log alone, before it
 * sends the answer, and not whose request it is. So all clients with an incomplete request are
 * suspended then, and the answer that one of them has after the run is replaced.
 */
#include "api/http/problem.h"
#include "api/http/server_parts.h"
#include "api/json/writer.h"
#include "base/clock.h"

#include <gnutls/gnutls.h>
#include <microhttpd.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

char *vbd_refusal_print(const struct vbd_server *server, const struct vbd_error *err, bool head)
{
	const char *server_id = server->config.dispatch.server_id;
	const unsigned int status = vbd_problem_http(err, NULL);
	const uint32_t retry_s = vbd_status_retry_after_s(err->status);
	struct vbd_encoder problem = vbd_encode_begin();
	const time_t now_s = (time_t)(vbd_clock_wall_of_ns(vbd_clock_mono_ns()) / VBD_NS_PER_S);
	char retry[40] = "", date[48] = "", length[48] = "";
	struct tm tm;
	char *text = NULL;
	size_t bytes = 0;
	char *body;

	vbd_put_problem(&problem, err, NULL);
	body = vbd_encode_end_line(&problem, &bytes);
	if (!head) /* a client that has not sent HEAD sees an empty body */
		(void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n", bytes);
	if (retry_s)
		(void)snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", retry_s);
	if (status < 500 && gmtime_r(&now_s, &tm)) /* RFC 9110, 6.6.1; others are kept */
		(void)strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
	if (body && asprintf(&text,
			    "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\n"
			    "%s%s%s%s%s%sCache-Control: no-store\r\n"
			    "Connection: close\r\n\r\n%.*s",
			    status, MHD_get_reason_phrase_for(status), length, date, retry,
			    server_id ? "Verbsd-Server: " : "", server_id ? server_id : "",
			    server_id ? "\r\n" : "", head ? 0 : (int)bytes, body) < 0)
		text = NULL;
	free(body);
	return text;
}

void vbd_client_send(struct vbd_client *client, const char *text)
{
	if (client->tls.greeted)
		(void)gnutls_record_send(client->tls.session, text, strlen(text));
	else
		(void)send(client->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void vbd_client_refuse(struct vbd_client *client, const struct vbd_error *err, bool head)
{
	char *text = vbd_refusal_print(client->endpoint->server, err, head);

	if (text)
		vbd_client_send(client, text);
	free(text);
	(void)shutdown(client->fd, SHUT_WR); /* MHD's own answer fails, and MHD closes */
	client->unread = true;
}

/* A refusal costs 2 us for each client that may be the one: the newest are looked at, as many as
 * limits.http_connections allows by default. */
#define SUSPECTS_MAX 272

/* MHD has shut the sending side of a client that it will free. */
static bool may_have_mhd_answer(const struct vbd_client *client)
{
	const struct vbd_exchange *exchange = client->exchange;

	if (exchange)
		return !exchange->queued && !exchange->ran;
	return !client->tls.session && send(client->fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) == 0;
}

void vbd_server_suspect(struct vbd_server_endpoint *endpoint)
{
	struct vbd_link *clients = &endpoint->server->clients;
	unsigned int seen = 0;

	for (struct vbd_link *at = clients->prev; at != clients && seen < SUSPECTS_MAX;
		at = at->prev, seen++) {
		struct vbd_client *client = VBD_CONTAINER_OF(at, struct vbd_client, link);

		if (client->endpoint != endpoint || !vbd_list_empty(&client->suspect) ||
			!may_have_mhd_answer(client))
			continue;
		vbd_list_append(&endpoint->suspects, &client->suspect);
		MHD_suspend_connection(client->mhd);
	}
}

static void replace_mhd_answer(struct vbd_client *client, unsigned int status)
{
	const struct vbd_exchange *exchange = client->exchange;
	bool head = exchange && exchange->req.head;
	struct vbd_error err = {0};

	switch (status) {
	case MHD_HTTP_URI_TOO_LONG:
		head = true; /* for all that is known */
		(void)vbd_error_head(&err, SIZE_MAX);
		break;
	case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
		(void)vbd_error_head(&err, exchange ? exchange->target_bytes : 0);
		break;
	case MHD_HTTP_CONTENT_TOO_LARGE:
		(void)vbd_error_set(&err, VBD_E_BODY_TOO_LARGE,
			"the Content-Length or the size of a chunk is more than 2^64");
		break;
	case MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED:
		(void)vbd_error_set(&err, VBD_E_VERSION_NOT_SUPPORTED,
			"the request line names a version that is not HTTP/1");
		break;
	default:
		(void)vbd_error_set(&err, VBD_E_MALFORMED_REQUEST, "the %s",
			!exchange ? "request line has no version of HTTP"
			: exchange->begun_ns
				? "body has a malformed chunk or trailer"
				: "head has a line without a colon, or a Content-Length "
				  "that is not a decimal number");
	}
	vbd_client_refuse(client, &err, head);
}

void vbd_server_convict(struct vbd_server_endpoint *endpoint)
{
	const union MHD_ConnectionInfo *info;
	struct vbd_client *client;

	while ((client = VBD_LIST_FIRST(&endpoint->suspects, struct vbd_client, suspect))) {
		vbd_list_remove(&client->suspect);
		info = MHD_get_connection_info(client->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
		if (info)
			replace_mhd_answer(client, info->http_status);
		MHD_resume_connection(client->mhd);
		vbd_server_run_soon(endpoint);
	}
}

enum vbd_status vbd_error_head(struct vbd_error *err, size_t target_bytes)
{
	const bool target = target_bytes > VBD_HEAD_BYTES_MAX / 2;

	return vbd_error_set(err, target ? VBD_E_TARGET_TOO_LONG : VBD_E_HEAD_TOO_LARGE,
		"the request line and the header fields have more than %u KiB, with %u bytes for "
		"each field added",
		VBD_HEAD_BYTES_MAX / 1024, VBD_FIELD_BYTES);
}

/* --- clients that were answered before the whole request was read ---------------------------- */

#define LINGER_MAX	  32
#define LINGER_MS	  2000
#define LINGER_BYTES_MAX  ((size_t)67108864)
#define LINGER_TURN_BYTES ((size_t)262144)

struct lingering {
	struct vbd_linger *linger;
	struct vbd_link link;
	int fd;
	size_t read_bytes;
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer;
};

void vbd_linger_init(struct vbd_linger *linger, struct vbd_loop *loop)
{
	*linger = (struct vbd_linger){.loop = loop};
	vbd_list_init(&linger->sockets);
}

static void close_lingering(struct lingering *socket)
{
	vbd_fd_watch_stop(socket->watch);
	vbd_timer_destroy(socket->timer);
	vbd_list_remove(&socket->link);
	socket->linger->count--;
	(void)close(socket->fd);
	free(socket);
}

void vbd_linger_end(struct vbd_linger *linger)
{
	vbd_list_for_each (link, &linger->sockets)
		close_lingering(VBD_CONTAINER_OF(link, struct lingering, link));
}

static void on_timeout(void *arg)
{
	close_lingering(arg);
}

static void drain_socket(unsigned int events, void *arg)
{
	struct lingering *socket = arg;
	static char scrap[65536]; /* static: one thread; never read */
	size_t turn_bytes = 0;
	ssize_t got;

	(void)events;
	do {
		got = recv(socket->fd, scrap, sizeof(scrap), MSG_DONTWAIT);
		if (got > 0)
			turn_bytes += (size_t)got;
	} while (got > 0 && turn_bytes < LINGER_TURN_BYTES);
	socket->read_bytes += turn_bytes;
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) ||
		socket->read_bytes > LINGER_BYTES_MAX)
		close_lingering(socket);
}

void vbd_linger_take(struct vbd_linger *linger, int fd)
{
	struct lingering *socket = linger->count < LINGER_MAX ? calloc(1, sizeof(*socket)) : NULL;

	if (!socket) {
		(void)close(fd);
		return;
	}
	socket->linger = linger;
	vbd_list_append(&linger->sockets, &socket->link);
	linger->count++;
	socket->fd = fd;
	if (vbd_fd_watch_start(linger->loop, fd, VBD_FD_READ, drain_socket, socket, &socket->watch,
		    NULL) != VBD_OK ||
		vbd_timer_create(linger->loop, on_timeout, socket, &socket->timer, NULL) !=
			VBD_OK) {
		close_lingering(socket);
		return;
	}
	vbd_timer_set(socket->timer, LINGER_MS);
}

void vbd_linger_add(struct vbd_linger *linger, int fd)
{
	int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own_fd >= 0)
		vbd_linger_take(linger, own_fd);
}
