/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that hold secrets: tokens, keys. Such a file is of use only while nobody else can
 * change it, and no stranger can read it.
 */
#ifndef VBD_DAEMON_CONFIG_SECRET_FILE_H
#define VBD_DAEMON_CONFIG_SECRET_FILE_H

#include "base/error.h"

/**
 * vbd_secret_file_read - read a whole file that only its owner can change
 * @path:	any length; the error's text has its first 100 characters
 * @text:	filled in with the file's bytes and a terminating 0; all zeros after an error
 * @text_bytes: size of @text; a file of @text_bytes or more is refused
 * @ret_len:	length in bytes, without the 0; the file may contain zeros itself
 *
 * The group may read: a credential of systemd has mode 0440 and an access list that names one user.
 *
 * Returns VBD_OK; VBD_E_NOT_FOUND; VBD_E_PERMISSION_DENIED if the file can't be opened, others can
 * read or change it, the group can change it, or it belongs neither to root nor to the daemon's own
 * user; VBD_E_BAD_VALUE for anything but a regular file; VBD_E_TOO_LONG. The text of @err begins
 * with the path.
 *
 * Any thread. Blocks on the file system, but never on a FIFO or a terminal.
 */
enum vbd_status vbd_secret_file_read(const char *path, char *text, size_t text_bytes,
	size_t *ret_len, struct vbd_error *err) VBD_MUST_CHECK;

#endif
