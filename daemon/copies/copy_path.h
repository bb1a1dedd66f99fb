/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of a copy, which stay beneath the directory of an export: how they are joined, opened and
 * made, and what an error of the file system means for a copy.
 *
 * Any thread; what opens or makes blocks on the file system.
 */
#ifndef VBD_DAEMON_COPIES_COPY_PATH_H
#define VBD_DAEMON_COPIES_COPY_PATH_H

#include "daemon/copies/copy_wire.h"

#include <limits.h>
#include <sys/stat.h>

#define VBD_COPY_PART_BYTES 24 /* of the suffix of incomplete files, with a NUL */

/** vbd_copy_fault_of - the fault of an errno: ENOSPC: NO_SPACE, ...; IO for all that have none of
 * their own */
enum vbd_copy_fault vbd_copy_fault_of(int number);

/** vbd_copy_part_suffix - the end of the names of incomplete files; @id: random, unique for the
 * copy; its lower 60 bits count */
void vbd_copy_part_suffix(uint64_t id, char ret_suffix[VBD_COPY_PART_BYTES]);

/** vbd_copy_is_part - whether the name ends like those of incomplete files, of whichever copy */
bool vbd_copy_is_part(const char *name);

/** vbd_copy_part_name - the name of the incomplete file for the file @name. A name that would be
 * too long with the suffix is cut, and has a checksum of itself instead. */
void vbd_copy_part_name(const char *name, const char *suffix, char ret_part[NAME_MAX + 1]);

/**
 * vbd_copy_join - the path @below beneath @path, without "." and empty components; "." if nothing
 * is left
 * @below_bytes: 0: none
 *
 * Returns OUTSIDE for an absolute path and one with "..", NAME_TOO_LONG for one that does not fit
 * into PATH_MAX, or whose component does not fit into NAME_MAX.
 */
enum vbd_copy_fault vbd_copy_join(
	const char *path, const uint8_t *below, uint32_t below_bytes, char ret_joined[PATH_MAX]);

/** vbd_copy_open - open what exists at @path beneath the directory @dir_fd, without following a
 * symlink anywhere; @flags: of open(2). NOT_REGULAR for a symlink, but with O_PATH | O_NOFOLLOW it
 * is opened itself. */
enum vbd_copy_fault vbd_copy_open(int dir_fd, const char *path, int flags, int *ret_fd);

/** vbd_copy_make_dirs - open the directory @path, which is joined, as O_PATH, after it and those
 * above it were made with the permissions @mode where they are missing */
enum vbd_copy_fault vbd_copy_make_dirs(int dir_fd, const char *path, mode_t mode, int *ret_fd);

/** vbd_copy_sync_dir - fsync(2) of a directory that was opened as O_PATH */
enum vbd_copy_fault vbd_copy_sync_dir(int dir_fd);

/** vbd_copy_mtime_ns - since 1970; a time that does not fit is the nearest that does */
int64_t vbd_copy_mtime_ns(const struct stat *about);

#endif
