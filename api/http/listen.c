/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/listen.h"

#include "base/addr.h"

#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

static enum vbd_status open_socket(int family, int *ret_fd, struct vbd_error *err)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return vbd_error_errno(err, VBD_OK, "socket", errno, "can't make a socket");
	*ret_fd = fd;
	return VBD_OK;
}

static bool bind_to(int fd, const struct sockaddr_storage *where)
{
	const struct sockaddr *addr = (const struct sockaddr *)where;

	return bind(fd, addr, (socklen_t)vbd_sockaddr_bytes(addr)) == 0;
}

static enum vbd_status open_tcp(
	const char *addr, uint16_t port, bool listens, int *ret_fd, struct vbd_error *err)
{
	struct sockaddr_storage where;
	const int on = 1;
	int fd = -1;
	enum vbd_status status;

	if (!vbd_addr_parse(addr, port, &where))
		return vbd_error_set(
			err, VBD_E_BAD_VALUE, "'%.128s' is not a numeric address", addr);
	status = open_socket(where.ss_family, &fd, err);
	if (status != VBD_OK)
		return status;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* At boot the interface may get its address later; ip(7): also without privileges. */
	(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	if (where.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (!bind_to(fd, &where))
		status = vbd_error_errno(err, VBD_OK, "bind", errno,
			"can't listen on %.64s port %u%s", addr, port,
			errno == EACCES
				? ", which needs CAP_NET_BIND_SERVICE or a socket of systemd"
				: "");
	else if (listens && listen(fd, BACKLOG) < 0)
		status = vbd_error_errno(
			err, VBD_OK, "listen", errno, "can't listen on %.64s port %u", addr, port);
	if (status == VBD_OK && listens)
		*ret_fd = fd;
	else
		(void)close(fd);
	return status;
}

enum vbd_status vbd_listen_tcp(const char *addr, uint16_t port, int *ret_fd, struct vbd_error *err)
{
	return open_tcp(addr, port, true, ret_fd, err);
}

void vbd_listen_check(const char *addr, uint16_t port, struct vbd_error *err)
{
	struct vbd_error error = {0};

	if (open_tcp(addr, port, false, NULL, &error) != VBD_E_ADDRESS_IN_USE && error.status)
		*err = error;
}

bool vbd_listen_is_own(const char *addr)
{
	struct sockaddr_storage where;
	int fd = -1;
	bool own;

	if (!vbd_addr_parse(addr, 0, &where) || open_socket(where.ss_family, &fd, NULL) != VBD_OK)
		return true;
	own = bind_to(fd, &where) || errno != EADDRNOTAVAIL;
	(void)close(fd);
	return own;
}

/* A daemon that was killed leaves its socket file: remove the file if no process listens on it. */
static enum vbd_status remove_stale(const struct sockaddr_un *where, struct vbd_error *err)
{
	struct stat st;
	int fd = -1, rc;
	enum vbd_status status;

	if (lstat(where->sun_path, &st) < 0)
		return errno == ENOENT ? VBD_OK
				       : vbd_error_errno(err, VBD_OK, "lstat", errno,
						 "can't stat %s", where->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return vbd_error_set(err, VBD_E_ADDRESS_IN_USE, "%s exists and is not a socket",
			where->sun_path);
	status = open_socket(AF_UNIX, &fd, err);
	if (status != VBD_OK)
		return status;
	rc = connect(fd, (const struct sockaddr *)where, sizeof(*where)) < 0 ? errno : 0;
	(void)close(fd);
	if (rc == EACCES)
		return vbd_error_errno(err, VBD_OK, "connect", rc,
			"can't see whether a process listens on %s", where->sun_path);
	if (rc != ECONNREFUSED)
		return vbd_error_set(err, VBD_E_ADDRESS_IN_USE,
			"another process already listens on %s", where->sun_path);
	if (unlink(where->sun_path) < 0)
		return vbd_error_errno(err, VBD_OK, "unlink", errno,
			"can't remove the stale socket %s", where->sun_path);
	return VBD_OK;
}

/* A socket file that nobody listens on refuses to be connected to, so the group and the mode are
 * there before the first client. */
static enum vbd_status bind_unix(
	int fd, const struct sockaddr_un *where, gid_t group, mode_t mode, struct vbd_error *err)
{
	const char *path = where->sun_path;
	mode_t mask = umask(S_IXUSR | S_IRWXG | S_IRWXO);
	struct stat st;
	int rc = bind(fd, (const struct sockaddr *)where, sizeof(*where)) < 0 ? errno : 0;

	(void)umask(mask);
	if (rc)
		return vbd_error_errno(err, VBD_OK, "bind", rc, "can't listen on %.128s", path);
	/* The unit of systemd allows no lchown(2), which its own group does not need. */
	if (group != VBD_LISTEN_OWN_GROUP && (lstat(path, &st) < 0 || st.st_gid != group) &&
		lchown(path, (uid_t)-1, group) < 0) {
		rc = errno;
		(void)unlink(path);
		return vbd_error_errno(err, VBD_OK, "lchown", rc,
			"can't give %.128s to group %u; the daemon's user must be a member, and "
			"the unit have SupplementaryGroups= and SystemCallFilter=lchown",
			path, (unsigned int)group);
	}
	if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0) {
		rc = errno;
		(void)unlink(path);
		return vbd_error_errno(err, VBD_OK, "listen", rc, "can't listen on %.128s", path);
	}
	return VBD_OK;
}

enum vbd_status vbd_listen_unix(
	const char *path, gid_t group, mode_t mode, int *ret_fd, struct vbd_error *err)
{
	struct sockaddr_un where = {.sun_family = AF_UNIX};
	enum vbd_status status;
	int fd = -1;

	if (strlen(path) >= sizeof(where.sun_path))
		return vbd_error_set(err, VBD_E_TOO_LONG,
			"the path of the unix socket has more than %zu bytes: %.64s",
			sizeof(where.sun_path) - 1, path);
	memcpy(where.sun_path, path, strlen(path) + 1);
	status = remove_stale(&where, err);
	if (status == VBD_OK)
		status = open_socket(AF_UNIX, &fd, err);
	if (status != VBD_OK)
		return status;
	status = bind_unix(fd, &where, group, mode, err);
	if (status != VBD_OK) {
		(void)close(fd);
		return status;
	}
	*ret_fd = fd;
	return VBD_OK;
}

uint16_t vbd_listen_port(int fd)
{
	struct sockaddr_storage addr = {0};
	socklen_t len = sizeof(addr);

	return getsockname(fd, (struct sockaddr *)&addr, &len) < 0 ? 0 : vbd_addr_port(&addr);
}
