/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/*
 * The bytes that carry the descriptor: an interim answer, which every client skips (RFC 9110,
 * section 15.2). They can't come between other bytes: libmicrohttpd begins an answer when the
 * handler is done, and a request when the answer before it was sent.
 */
static char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";

static bool send_fd(int socket, int fd)
{
	struct iovec bytes = {.iov_base = interim, .iov_len = sizeof(interim) - 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	/* A unix socket takes so few bytes as a whole or not at all. */
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes.iov_len;
}

enum vbd_status vbd_exchange_pass_fd(struct vbd_exchange *exchange, int fd, struct vbd_error *err)
{
	const struct vbd_client *client = exchange->client;

	if (!client->endpoint->is_unix)
		return vbd_error_set(err, VBD_E_UNIX_SOCKET_ONLY,
			"%s is connected by TCP, which carries no descriptors", client->name);
	if (!exchange->wire.http_1_1)
		return vbd_error_set(err, VBD_E_UNIX_SOCKET_ONLY,
			"a client of HTTP/1.0 knows no interim answer, which has the descriptor");
	if (exchange->req.head || send_fd(client->fd, fd))
		return VBD_OK;
	if (errno == EAGAIN || errno == ETOOMANYREFS)
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"%s does not take the answers that it already has", client->name);
	return vbd_error_errno(err, VBD_OK, "sendmsg", errno, "%s", client->name);
}
