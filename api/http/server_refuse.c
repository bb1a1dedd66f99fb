/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that MHD can't give, as to a client that it does not know yet; and clients that have not
 * read theirs. What MHD can't parse it answers itself, in HTML (docs/http.md).
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
	if (status < 500 && gmtime_r(&now_s, &tm)) /* RFC 9110, 6.6.1 */
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
