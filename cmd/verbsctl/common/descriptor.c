/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const struct vbd_ctl_http *http)
{
	const struct timeval patience = {.tv_sec = http->patience_s};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(http->unix_path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, http->unix_path, strlen(http->unix_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Sends a few hundred bytes, which a fresh socket takes at once. */
static bool send_request(const struct vbd_ctl_http *http, int socket, const char *path)
{
	char *token = http->token ? vbd_ctl_format("Authorization: Bearer %s\r\n", http->token)
				  : vbd_ctl_format("%s", "");
	char *text = vbd_ctl_format("GET %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: "
				    "close\r\n\r\n",
		path, token);
	ssize_t len = (ssize_t)strlen(text);
	bool sent = send(socket, text, (size_t)len, MSG_NOSIGNAL) == len;

	explicit_bzero(text, strlen(text));
	explicit_bzero(token, strlen(token));
	free(text);
	free(token);
	return sent;
}

/* The descriptor comes with the first bytes of the answer. Returns -1 if there is none. */
static int receive(int socket)
{
	char bytes[512];
	struct iovec iov = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	const struct cmsghdr *header;
	ssize_t n;
	int fd;

	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

enum vbd_ctl_exit vbd_ctl_descriptor_get(struct vbd_ctl_http *http, const char *path, int *ret_fd)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = path};
	int socket = http->unix_path ? connect_to(http) : -1;
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;

	*ret_fd = socket >= 0 && send_request(http, socket, path) ? receive(socket) : -1;
	if (socket >= 0)
		(void)close(socket);
	if (*ret_fd >= 0)
		return VBD_CTL_OK;
	/* The same request by the usual way says what is wrong. */
	exit_status = vbd_ctl_http_call(http, &request, &answer);
	vbd_ctl_answer_fini(&answer);
	if (exit_status == VBD_CTL_OK)
		return vbd_ctl_fail("%s answered without a descriptor", http->shown);
	return exit_status;
}
