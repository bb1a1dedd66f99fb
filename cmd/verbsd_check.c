/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "api/http/listen.h"
#include "base/addr.h"
#include "base/text.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

/* A file that is not there is made in its folder. Other errors than EROFS depend on the user, who
 * need not be the daemon's, and a folder may be made before the start. */
static void check_path(const char *key, const char *path, struct vbd_error *err)
{
	char folder[VBD_PATH_MAX_BYTES];
	int rc = access(path, W_OK) < 0 ? errno : 0;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	if (rc == ENOENT)
		rc = access(dirname(folder), W_OK) < 0 ? errno : 0;
	if (path[0] && rc == EROFS)
		(void)vbd_error_errno(err, VBD_OK, "access", rc, "%s: can't write %s", key,
			vbd_text_path(path).text);
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
	const char *absent;
	size_t next = 0;

	if (!config->tls.certificate[0] || vbd_tls_load(&config->tls, &tls, &error) == VBD_OK)
		check_sockets(config, &error);
	vbd_tls_unref(tls);
	check_path("audit_file", config->audit_file, &error);
	if (error.status) { /* the first one */
		(void)fprintf(stderr, "verbsd: %s\n", error.text);
		return EXIT_USAGE;
	}
	while ((absent = vbd_sockets_absent(config, &next)))
		(void)printf("warning: listen: no interface has the address of %s now\n", absent);
	check_path("state_dir", config->state_dir, &of_state);
	if (of_state.status)
		(void)printf("warning: %s; verbsd would serve without\n", of_state.text);
	(void)puts("the configuration is fine");
	return EXIT_SUCCESS;
}
