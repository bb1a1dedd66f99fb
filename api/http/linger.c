/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/linger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define LINGER_MAX	  32
#define LINGER_MS	  2000
#define LINGER_BYTES_MAX  ((size_t)67108864)
#define LINGER_TURN_BYTES ((size_t)262144)

struct vbd_linger {
	struct vbd_loop *loop;
	struct vbd_link sockets;
	unsigned int count;
};

struct lingering {
	struct vbd_linger *linger;
	struct vbd_link link;
	int fd;
	size_t read_bytes;
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer;
};

struct vbd_linger *vbd_linger_create(struct vbd_loop *loop)
{
	struct vbd_linger *linger = calloc(1, sizeof(*linger));

	if (!linger)
		return NULL;
	linger->loop = loop;
	vbd_list_init(&linger->sockets);
	return linger;
}

static void end(struct lingering *socket)
{
	vbd_fd_watch_stop(socket->watch);
	vbd_timer_destroy(socket->timer);
	vbd_list_remove(&socket->link);
	socket->linger->count--;
	(void)close(socket->fd);
	free(socket);
}

void vbd_linger_destroy(struct vbd_linger *linger)
{
	if (!linger)
		return;
	vbd_list_for_each (link, &linger->sockets)
		end(VBD_CONTAINER_OF(link, struct lingering, link));
	free(linger);
}

static void on_time(void *arg)
{
	end(arg);
}

static void on_readable(unsigned int events, void *arg)
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
		end(socket);
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
	if (vbd_fd_watch_start(linger->loop, fd, VBD_FD_READ, on_readable, socket, &socket->watch,
		    NULL) != VBD_OK ||
		vbd_timer_create(linger->loop, on_time, socket, &socket->timer, NULL) != VBD_OK) {
		end(socket);
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
