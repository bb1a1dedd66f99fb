/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of verbsd, and the check of what a start would open. */
#include "cmd/verbsd.h"

#include "api/http/listen.h"
#include "base/addr.h"
#include "base/text.h"
#include "daemon/sdnotify.h"

#include <assert.h>
#include <libgen.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

static_assert(VBD_LISTEN_MAX < VBD_SERVER_SOCKETS_MAX, "a unix socket has room too");

static void add_socket(struct vbd_sockets *sockets, int fd, bool is_unix, bool tls)
{
	sockets->items[sockets->count++] =
		(struct vbd_server_socket){.fd = fd, .is_unix = is_unix, .tls = tls};
}

static void log_address(const struct sockaddr_storage *addr, int fd, bool tls)
{
	char text[VBD_ADDR_TEXT_BYTES];

	vbd_log(VBD_LOG_NOTICE, NULL, "serves %s on %s, port %u", tls ? "HTTPS" : "HTTP",
		vbd_addr_format(addr, text), vbd_listen_port(fd));
	if (!tls && !vbd_config_is_loopback((const struct sockaddr *)addr))
		vbd_log(VBD_LOG_WARNING, NULL,
			"insecure: whoever sees the network between here and a client of %s sees "
			"its token, may use it, and sees and changes all that is sent",
			text);
}

/* Add an inherited TCP socket, which is closed by the caller if it is refused. */
static enum vbd_status add_inherited(
	const struct vbd_config *config, struct vbd_sockets *sockets, int fd, struct vbd_error *err)
{
	struct sockaddr_storage addr = {0};
	socklen_t addr_bytes = sizeof(addr);
	bool tls = false;
	enum vbd_status status;

	(void)getsockname(fd, (struct sockaddr *)&addr, &addr_bytes);
	status = vbd_config_check_addr(
		config, (const struct sockaddr *)&addr, VBD_CONFIG_SCHEME_DEFAULT, &tls, err);
	add_socket(sockets, fd, false, tls);
	if (status == VBD_OK)
		log_address(&addr, fd, tls);
	return status;
}

static void add_inherited_unix(struct vbd_sockets *sockets, int fd)
{
	struct sockaddr_un addr = {0};
	socklen_t addr_bytes = sizeof(addr);

	(void)getsockname(fd, (struct sockaddr *)&addr, &addr_bytes);
	/* unix(7): the first byte of a name without a file is 0. */
	vbd_log(VBD_LOG_NOTICE, NULL, "serves HTTP on %s%.*s", addr.sun_path[0] ? "" : "@",
		(int)sizeof(addr.sun_path) - 1, addr.sun_path + !addr.sun_path[0]);
	add_socket(sockets, fd, true, false);
}

static enum vbd_status open_tcp(const struct vbd_config *config,
	const struct vbd_config_listen *listen, struct vbd_sockets *sockets, struct vbd_error *err)
{
	char text[VBD_ADDR_TEXT_BYTES];
	bool tls = false;
	int fd = -1;
	enum vbd_status status = vbd_config_check_addr(
		config, (const struct sockaddr *)&listen->addr, listen->scheme, &tls, err);

	if (status == VBD_OK)
		status = vbd_listen_tcp(vbd_addr_format(&listen->addr, text),
			vbd_addr_port(&listen->addr), &fd, err);
	if (status != VBD_OK)
		return status;
	add_socket(sockets, fd, false, tls);
	log_address(&listen->addr, fd, tls);
	return VBD_OK;
}

static enum vbd_status open_unix(
	const struct vbd_config *config, struct vbd_sockets *sockets, struct vbd_error *err)
{
	int fd = -1;
	enum vbd_status status = vbd_listen_unix(config->unix_socket, config->unix_socket_gid,
		(mode_t)config->unix_socket_mode, &fd, err);

	if (status != VBD_OK)
		return status;
	add_socket(sockets, fd, true, false);
	if (lstat(config->unix_socket, &sockets->own_file) == 0)
		(void)snprintf(
			sockets->own_path, sizeof(sockets->own_path), "%s", config->unix_socket);
	vbd_log(VBD_LOG_NOTICE, NULL, "serves HTTP on %s", config->unix_socket);
	return VBD_OK;
}

const char *vbd_sockets_absent(const struct vbd_config *config, size_t *ret_next)
{
	char text[VBD_ADDR_TEXT_BYTES];

	for (size_t i = *ret_next; i < config->listen_count; i++) {
		if (vbd_listen_is_own(vbd_addr_format(&config->listen[i].addr, text)))
			continue;
		*ret_next = i + 1;
		return config->listen[i].text;
	}
	return NULL;
}

static enum vbd_status open_configured(const struct vbd_config *config, bool tcp, bool unix_socket,
	struct vbd_sockets *sockets, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;
	const char *absent;
	size_t next = 0;

	for (size_t i = 0; tcp && i < config->listen_count && status == VBD_OK; i++)
		status = open_tcp(config, &config->listen[i], sockets, err);
	if (status == VBD_OK && unix_socket && config->unix_socket[0])
		status = open_unix(config, sockets, err);
	while (status == VBD_OK && tcp && (absent = vbd_sockets_absent(config, &next)))
		vbd_log(VBD_LOG_WARNING, NULL,
			"no interface has the address of %s now; it is served as soon as one has",
			absent);
	return status;
}

enum vbd_status vbd_sockets_open(
	const struct vbd_config *config, struct vbd_sockets *ret_sockets, struct vbd_error *err)
{
	struct vbd_sdnotify_sockets inherited = {.unix_fd = -1};
	struct vbd_sockets sockets = {0};
	enum vbd_status status = vbd_sdnotify_sockets(&inherited, err);

	for (size_t i = 0; i < inherited.tcp_count && status == VBD_OK; i++)
		status = add_inherited(config, &sockets, inherited.tcp_fds[i], err);
	if (status == VBD_OK && inherited.unix_fd >= 0)
		add_inherited_unix(&sockets, inherited.unix_fd);
	if (status == VBD_OK)
		status = open_configured(
			config, inherited.tcp_count == 0, inherited.unix_fd < 0, &sockets, err);
	if (status != VBD_OK) {
		vbd_sockets_close(&sockets);
		return status;
	}
	*ret_sockets = sockets;
	return VBD_OK;
}

void vbd_sockets_close(struct vbd_sockets *sockets)
{
	vbd_sockets_remove(sockets);
	for (size_t i = 0; i < sockets->count; i++)
		(void)close(sockets->items[i].fd);
	sockets->count = 0;
}

void vbd_sockets_remove(struct vbd_sockets *sockets)
{
	struct stat now;

	if (sockets->own_path[0] && lstat(sockets->own_path, &now) == 0 &&
		now.st_dev == sockets->own_file.st_dev && now.st_ino == sockets->own_file.st_ino)
		(void)unlink(sockets->own_path);
	sockets->own_path[0] = '\0';
}

/* --- the check of a configuration ------------------------------------------------------------ */

/* A file that is not there is made in its folder. Other errors depend on the user, who need not be
 * the daemon's, and a folder may be made before the start. */
static void check_path(const char *key, const char *path, struct vbd_error *err)
{
	char folder[VBD_PATH_MAX_BYTES + 2];
	int rc = access(path, W_OK) < 0 ? errno : 0;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	if (rc == ENOENT)
		rc = access(dirname(folder), W_OK) < 0 ? errno : 0;
	if (path[0] && (rc == EROFS || rc == ENOTDIR))
		(void)vbd_error_errno(err, VBD_OK, "access", rc, "%s: can't write %s", key,
			vbd_text_path(path).text);
}

/* No user can make a socket where something else stands, nor add lines to a directory. The check
 * opens no FIFO, since that would end a program that waits for its writer. */
static void check_kinds(const char *socket, const char *audit, struct vbd_error *err)
{
	struct stat st;

	if (socket[0] && lstat(socket, &st) == 0 && !S_ISSOCK(st.st_mode))
		(void)vbd_error_set(err, VBD_E_BAD_VALUE, "unix_socket: %s exists and is no socket",
			vbd_text_path(socket).text);
	if (!audit[0] || stat(audit, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode))
		(void)vbd_error_set(err, VBD_E_BAD_VALUE, "audit_file: %s is no file",
			vbd_text_path(audit).text);
	else if (S_ISFIFO(st.st_mode))
		(void)printf("warning: audit_file: verbsd starts only while %s has a reader\n",
			vbd_text_path(audit).text);
}

static void check_sockets(const struct vbd_config *config, struct vbd_error *err)
{
	char text[VBD_ADDR_TEXT_BYTES];

	for (size_t i = 0; i < config->listen_count && !err->status; i++)
		vbd_listen_check(vbd_addr_format(&config->listen[i].addr, text),
			vbd_addr_port(&config->listen[i].addr), err);
	check_path("unix_socket", config->unix_socket, err);
	if (config->unix_socket_group[0] && geteuid() != 0 &&
		config->unix_socket_gid != getegid() && !group_member(config->unix_socket_gid))
		(void)vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"unix_socket_group: this user is no member of %s (SupplementaryGroups=)",
			config->unix_socket_group);
}

int vbd_check_start(const struct vbd_config *config)
{
	struct vbd_error error = {0}, of_state = {0};
	struct vbd_tls *tls = NULL;
	char inside[VBD_PATH_MAX_BYTES + 2];
	const char *absent;
	size_t next = 0;

	if (!config->tls.certificate[0] || vbd_tls_load(&config->tls, &tls, &error) == VBD_OK)
		check_sockets(config, &error);
	vbd_tls_unref(tls);
	check_path("audit_file", config->audit_file, &error);
	check_kinds(config->unix_socket, config->audit_file, &error);
	if (error.status) { /* the first one */
		(void)fprintf(stderr, "verbsd: %s\n", error.text);
		return EXIT_USAGE;
	}
	while ((absent = vbd_sockets_absent(config, &next)))
		(void)printf("warning: listen: no interface has the address of %s now\n", absent);
	/* ENOTDIR, if something else is there */
	(void)snprintf(inside, sizeof(inside), "%s/.", config->state_dir);
	if (config->state_dir[0])
		check_path("state_dir", inside, &of_state);
	if (of_state.status)
		(void)printf("warning: %s; verbsd would serve without\n", of_state.text);
	(void)puts("the configuration is fine");
	return EXIT_SUCCESS;
}
