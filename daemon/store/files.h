/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in state_dir: the database, its lock, and a damaged database that was set aside.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_FILES_H
#define VBD_DAEMON_STORE_FILES_H

#include "base/attr.h"
#include "base/error.h"

#define VBD_STORE_PATH_BYTES 1088 /* of a file in state_dir */

#define VBD_STORE_FILE	       "state.db"
#define VBD_STORE_FILE_DAMAGED "state.db.damaged"

struct vbd_store_files {
	char database[VBD_STORE_PATH_BYTES];
	int lock_fd; /* -1 without the lock */
};

/**
 * vbd_store_files_open - make the directory (mode 0700) and an empty file of the database (0600),
 * unless they are there, and take the lock
 *
 * Refuses a directory that others can write to, what is no directory or regular file, and a
 * directory that another daemon uses. The lock goes with the process.
 */
enum vbd_status vbd_store_files_open(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_set_aside - give the closed database another name, over an earlier one that was
 * set aside, and make an empty one */
enum vbd_status vbd_store_files_set_aside(
	const struct vbd_store_files *files, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_close - return the lock */
void vbd_store_files_close(struct vbd_store_files *files);

#endif
