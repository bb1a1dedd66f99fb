/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/fd_store.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or with @ before it the name of an abstract socket (sd_notify(3)). */
static bool find_socket(struct sockaddr_un *ret_addr, socklen_t *ret_bytes)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(ret_addr->sun_path) || (path[0] != '/' && path[0] != '@'))
		return false;
	*ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret_addr->sun_path, path, len);
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	if (path[0] == '@') {
		ret_addr->sun_path[0] = '\0';
		(*ret_bytes)--;
	}
	return true;
}

/* @fd: -1 for none */
static enum vbd_status send_text(int to, char *text, int fd, struct vbd_error *err)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = text, .iov_len = strlen(text)};
	struct sockaddr_un addr;
	struct msghdr message = {.msg_name = &addr, .msg_iov = &iov, .msg_iovlen = 1};

	if (!find_socket(&addr, &message.msg_namelen))
		return vbd_error_set(err, VBD_E_NOT_FOUND, "there is no socket of systemd");
	if (fd >= 0) {
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	if (sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return vbd_error_errno(
			err, VBD_E_INTERNAL, "sendmsg", errno, "systemd takes no message");
	return VBD_OK;
}

static enum vbd_status send_message(char *text, int fd, struct vbd_error *err)
{
	enum vbd_status status;
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (to < 0)
		return vbd_error_errno(
			err, VBD_E_INTERNAL, "socket", errno, "a message to systemd");
	status = send_text(to, text, fd, err);
	(void)close(to);
	return status;
}

void vbd_fd_store_notify(char *text)
{
	(void)!send_message(text, -1, NULL);
}

static enum vbd_status tell(const char *what, const char *name, int fd, struct vbd_error *err)
{
	char text[320];

	(void)snprintf(text, sizeof(text), "%s=1\nFDNAME=%s", what, name);
	return send_message(text, fd, err);
}

enum vbd_status vbd_fd_store_add(const char *name, int fd, struct vbd_error *err)
{
	return tell("FDSTORE", name, fd, err);
}

enum vbd_status vbd_fd_store_remove(const char *name, struct vbd_error *err)
{
	return tell("FDSTOREREMOVE", name, -1, err);
}
