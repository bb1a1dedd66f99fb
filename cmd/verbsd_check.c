/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "api/http/listen.h"
#include "base/addr.h"
#include "base/text.h"

#include <libgen.h>
#include <unistd.h>

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
