/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FILE "lock"

static enum vbd_status check_directory(const char *state_dir, struct vbd_error *err)
{
	struct stat about;

	if (mkdir(state_dir, 0700) != 0 && errno != EEXIST)
		return vbd_error_errno(err, VBD_OK, "mkdir", errno, "can't make %.120s", state_dir);
	if (stat(state_dir, &about) != 0)
		return vbd_error_errno(err, VBD_OK, "stat", errno, "%.120s", state_dir);
	if (!S_ISDIR(about.st_mode))
		return vbd_error_set(err, VBD_E_BAD_VALUE, "%.120s is not a directory", state_dir);
	if (about.st_mode & (S_IWGRP | S_IWOTH))
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%.120s can be written to by others than its owner", state_dir);
	return VBD_OK;
}

/* Make the file before SQLite does, which would give it the mode that the umask leaves. SQLite
 * gives its other files the mode of the database. */
static enum vbd_status open_file(const char *path, int *ret_fd, struct vbd_error *err)
{
	struct stat about;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return vbd_error_errno(err, VBD_OK, "open", errno, "can't write %.120s", path);
	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
		(void)close(fd);
		return vbd_error_set(err, VBD_E_BAD_VALUE, "%.120s is not a regular file", path);
	}
	*ret_fd = fd;
	return VBD_OK;
}

static enum vbd_status take_lock(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err)
{
	char path[VBD_STORE_PATH_BYTES];
	enum vbd_status status;

	(void)snprintf(path, sizeof(path), "%s/" LOCK_FILE, state_dir);
	status = open_file(path, &files->lock_fd, err);
	if (status != VBD_OK || flock(files->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return status;
	if (errno == EWOULDBLOCK)
		return vbd_error_set(err, VBD_E_IN_USE, "another daemon uses %.120s", state_dir);
	return vbd_error_errno(err, VBD_OK, "flock", errno, "%.120s", path);
}

static enum vbd_status make_database(const char *path, struct vbd_error *err)
{
	int fd = -1;
	enum vbd_status status = open_file(path, &fd, err);

	if (status == VBD_OK)
		(void)close(fd);
	return status;
}

enum vbd_status vbd_store_files_open(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err)
{
	enum vbd_status status = check_directory(state_dir, err);

	files->lock_fd = -1;
	(void)snprintf(files->database, sizeof(files->database), "%s/" VBD_STORE_FILE, state_dir);
	if (status == VBD_OK)
		status = take_lock(files, state_dir, err);
	if (status == VBD_OK)
		status = make_database(files->database, err);
	if (status != VBD_OK)
		vbd_store_files_close(files);
	return status;
}

/* Returns 0 or an errno. */
static int rename_with(const char *path, const char *end)
{
	char from[VBD_STORE_PATH_BYTES + 32], to[VBD_STORE_PATH_BYTES + 32];

	(void)snprintf(from, sizeof(from), "%s%s", path, end);
	(void)snprintf(to, sizeof(to), "%s.damaged%s", path, end);
	if (rename(from, to) == 0)
		return 0;
	/* A file beside the database may be missing, but an older one must not take its place. */
	if (errno == ENOENT && *end)
		return unlink(to) == 0 || errno == ENOENT ? 0 : errno;
	return errno;
}

enum vbd_status vbd_store_files_set_aside(
	const struct vbd_store_files *files, struct vbd_error *err)
{
	/* The database goes last: SQLite would take a log that stays for that of the new one. */
	static const char *const ends[] = {"-wal", "-shm", ""};
	int rc = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(ends) && !rc; i++)
		rc = rename_with(files->database, ends[i]);
	if (rc)
		return vbd_error_errno(
			err, VBD_OK, "rename", rc, "can't set aside %.100s", files->database);
	return make_database(files->database, err);
}

void vbd_store_files_close(struct vbd_store_files *files)
{
	if (files->lock_fd >= 0)
		(void)close(files->lock_fd);
	files->lock_fd = -1;
}
