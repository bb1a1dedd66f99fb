/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/secret_file.h"

#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <unistd.h>

static enum vbd_status check_owner_and_mode(
	const char *path, const struct stat *stat, struct vbd_error *err)
{
	if (stat->st_uid != 0 && stat->st_uid != geteuid())
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%s belongs to uid %u, who can change it; the owner must be root or "
			"the daemon's user",
			vbd_text_path(path).text, (unsigned int)stat->st_uid);
	if (stat->st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%s has mode %04o, so others can read or change it: chmod 0600",
			vbd_text_path(path).text, (unsigned int)(stat->st_mode & 07777));
	return VBD_OK;
}

enum vbd_status vbd_secret_file_read(
	const char *path, char *text, size_t text_bytes, size_t *ret_len, struct vbd_error *err)
{
	struct stat stat;
	size_t len = 0;
	enum vbd_status status = vbd_config_read_file(path, text, text_bytes, &len, &stat, err);

	if (status == VBD_OK)
		status = check_owner_and_mode(path, &stat, err);
	if (status != VBD_OK) {
		explicit_bzero(text, text_bytes);
		return status;
	}
	memset(text + len, 0, text_bytes - len);
	*ret_len = len;
	return VBD_OK;
}
