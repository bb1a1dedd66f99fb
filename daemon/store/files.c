/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/disk.h"

#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another user who owns a file may change what root reads from it. */
static enum vbd_status check_owner(
	const char *path, const struct stat *about, struct vbd_error *err)
{
	if (about->st_uid == 0 || about->st_uid == geteuid())
		return VBD_OK;
	return vbd_error_set(err, VBD_E_PERMISSION_DENIED, "%s belongs to the user %u",
		vbd_text_path(path).text, (unsigned int)about->st_uid);
}

/* A user who may write to a folder above may put another one in the place of the directory; in a
 * folder with the sticky bit, only the owner may. Our own group counts as ourselves, as in a home
 * directory. */
static enum vbd_status check_folder(const char *path, struct vbd_error *err)
{
	struct stat about;

	if (stat(path, &about) != 0)
		return vbd_error_errno(err, VBD_OK, "stat", errno, "%s", vbd_text_path(path).text);
	if (!(about.st_mode & S_ISVTX) &&
		((about.st_mode & S_IWOTH) ||
			((about.st_mode & S_IWGRP) && about.st_gid != getegid())))
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"others can write to %s, in which state_dir is", vbd_text_path(path).text);
	return check_owner(path, &about, err);
}

static enum vbd_status check_folders_above(const char *path, struct vbd_error *err)
{
	char folder[PATH_MAX];
	enum vbd_status status = VBD_OK;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	for (char *end = strrchr(folder, '/'); end && status == VBD_OK;
		end = strrchr(folder, '/')) {
		if (end == folder)
			return check_folder("/", err);
		*end = '\0';
		status = check_folder(folder, err);
	}
	return status;
}

/* Check the folders of the path as given, and as resolved: a symlink may be in another user's
 * folder. */
static enum vbd_status check_path_folders(const char *state_dir, struct vbd_error *err)
{
	char real[PATH_MAX];
	enum vbd_status status = check_folders_above(state_dir, err);

	if (status != VBD_OK)
		return status;
	if (!realpath(state_dir, real))
		return vbd_error_errno(
			err, VBD_OK, "realpath", errno, "%s", vbd_text_path(state_dir).text);
	return check_folders_above(real, err);
}

static enum vbd_status check_directory(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err)
{
	struct stat about;
	enum vbd_status status;

	if (!files->known && mkdir(state_dir, 0700) != 0 && errno != EEXIST)
		return vbd_error_errno(err, VBD_OK, "mkdir", errno, "can't make %s",
			vbd_text_path(state_dir).text);
	if (stat(state_dir, &about) != 0)
		return vbd_error_errno(
			err, VBD_OK, "stat", errno, "%s", vbd_text_path(state_dir).text);
	if (!S_ISDIR(about.st_mode))
		return vbd_error_set(err, VBD_E_BAD_VALUE, "%s is not a directory",
			vbd_text_path(state_dir).text);
	if (about.st_mode & (S_IWGRP | S_IWOTH))
		return vbd_error_set(err, VBD_E_PERMISSION_DENIED,
			"%s can be written to by others than its owner",
			vbd_text_path(state_dir).text);
	if (files->known && about.st_dev != files->directory_dev &&
		access(files->database, F_OK) != 0)
		return vbd_error_set(err, VBD_E_NOT_FOUND,
			"%s is on another file system than before", vbd_text_path(state_dir).text);
	files->directory_dev = about.st_dev;
	status = check_owner(state_dir, &about, err);
	return status == VBD_OK ? check_path_folders(state_dir, err) : status;
}

/* Make the file before SQLite does, which would give it the mode that the umask leaves. SQLite
 * gives its other files the mode of the database. */
static enum vbd_status open_file(const char *path, int *ret_fd, struct vbd_error *err)
{
	struct stat about;
	enum vbd_status status;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return vbd_error_errno(
			err, VBD_OK, "open", errno, "can't write %s", vbd_text_path(path).text);
	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
		status = vbd_error_set(
			err, VBD_E_BAD_VALUE, "%s is not a regular file", vbd_text_path(path).text);
	else
		status = check_owner(path, &about, err);
	if (status == VBD_OK && (about.st_mode & 077) && fchmod(fd, 0600) != 0)
		status = vbd_error_errno(
			err, VBD_OK, "fchmod", errno, "%s", vbd_text_path(path).text);
	if (status == VBD_OK)
		*ret_fd = fd;
	else
		(void)close(fd);
	return status;
}

/* Nobody can delete the lock of a directory and leave the directory. */
static enum vbd_status take_lock(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err)
{
	files->lock_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->lock_fd < 0)
		return vbd_error_errno(
			err, VBD_OK, "open", errno, "%s", vbd_text_path(state_dir).text);
	if (flock(files->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return VBD_OK;
	if (errno == EWOULDBLOCK)
		return vbd_error_set(
			err, VBD_E_IN_USE, "another daemon uses %s", vbd_text_path(state_dir).text);
	return vbd_error_errno(err, VBD_OK, "flock", errno, "%s", vbd_text_path(state_dir).text);
}

static enum vbd_status make_file(const char *path, struct vbd_error *err)
{
	int fd = -1;
	enum vbd_status status = open_file(path, &fd, err);

	if (status == VBD_OK)
		(void)close(fd);
	return status;
}

/* Check a file beside the database, which SQLite opens itself. */
static enum vbd_status check_companion(const char *database, const char *end, struct vbd_error *err)
{
	char path[VBD_STORE_PATH_BYTES + 32];

	(void)snprintf(path, sizeof(path), "%s%s", database, end);
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
		return VBD_OK;
	return make_file(path, err);
}

/* A daemon killed in vbd_store_files_set_aside() has left no database but `new_database`. */
static enum vbd_status make_database(const struct vbd_store_files *files, struct vbd_error *err)
{
	if (access(files->database, F_OK) != 0 && errno == ENOENT)
		(void)rename(files->new_database, files->database);
	return make_file(files->database, err);
}

enum vbd_status vbd_store_files_open(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err)
{
	static const char *const beside[] = {"-wal", "-shm", "-journal"};
	char mark[VBD_STORE_PATH_BYTES];
	enum vbd_status status;

	(void)snprintf(files->database, sizeof(files->database), "%s/" VBD_STORE_FILE, state_dir);
	(void)snprintf(files->new_database, sizeof(files->new_database), "%s/" VBD_STORE_FILE_NEW,
		state_dir);
	(void)snprintf(mark, sizeof(mark), "%s/" VBD_STORE_FILE_MARK, state_dir);
	status = check_directory(files, state_dir, err);
	if (status == VBD_OK)
		status = take_lock(files, state_dir, err);
	if (status == VBD_OK)
		status = make_database(files, err);
	for (size_t i = 0; i < VBD_ARRAY_LEN(beside) && status == VBD_OK; i++)
		status = check_companion(files->database, beside[i], err);
	if (status == VBD_OK)
		status = open_file(mark, &files->mark_fd, err);
	if (status != VBD_OK)
		vbd_store_files_close(files);
	return status;
}

/* --- a damaged database ----------------------------------------------------------------------- */

/* Files beside a database; the database itself is last, since SQLite would take a log that stays
 * for that of the new one. */
static const char *const ends[] = {"-wal", "-shm", ""};

/* Returns 0 or an errno. */
static int rename_database_file(const char *path, const char *aside, const char *end)
{
	char from[VBD_STORE_PATH_BYTES + 32], to[VBD_STORE_PATH_BYTES + 32];

	(void)snprintf(from, sizeof(from), "%s%s", path, end);
	(void)snprintf(to, sizeof(to), "%s.damaged%s%s", path, aside, end);
	if (rename(from, to) == 0)
		return 0;
	/* A file beside the database may be missing, but an older one must not take its place. */
	if (errno == ENOENT && *end)
		return unlink(to) == 0 || errno == ENOENT ? 0 : errno;
	return errno;
}

enum vbd_status vbd_store_files_make_new(const struct vbd_store_files *files, struct vbd_error *err)
{
	char path[VBD_STORE_PATH_BYTES + 32];

	for (size_t i = 0; i < VBD_ARRAY_LEN(ends); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", files->new_database, ends[i]);
		if (unlink(path) != 0 && errno != ENOENT)
			return vbd_error_errno(err, VBD_OK, "unlink", errno, "can't delete %s",
				vbd_text_path(path).text);
	}
	return make_file(files->new_database, err);
}

enum vbd_status vbd_store_files_set_aside(
	const struct vbd_store_files *files, struct vbd_error *err)
{
	char first[VBD_STORE_PATH_BYTES + 32];
	const char *aside;
	int rc = 0;

	(void)snprintf(first, sizeof(first), "%s.damaged", files->database);
	aside = access(first, F_OK) == 0 ? ".newest" : "";
	for (size_t i = 0; i < VBD_ARRAY_LEN(ends) && !rc; i++)
		rc = rename_database_file(files->database, aside, ends[i]);
	if (!rc && rename(files->new_database, files->database) != 0)
		rc = errno;
	if (rc)
		return vbd_error_errno(err, VBD_OK, "rename", rc, "can't set aside %s",
			vbd_text_path(files->database).text);
	return VBD_OK;
}

void vbd_store_files_init(struct vbd_store_files *files)
{
	*files = (struct vbd_store_files){.lock_fd = -1, .mark_fd = -1};
}

void vbd_store_files_close(struct vbd_store_files *files)
{
	if (files->lock_fd >= 0)
		(void)close(files->lock_fd);
	if (files->mark_fd >= 0)
		(void)close(files->mark_fd);
	files->lock_fd = files->mark_fd = -1;
}

/* --- the database in use --------------------------------------------------------------------- */

enum vbd_status vbd_store_files_note(struct vbd_store_files *files, struct vbd_error *err)
{
	struct stat about;

	if (stat(files->database, &about) != 0)
		return vbd_error_errno(
			err, VBD_OK, "stat", errno, "%s", vbd_text_path(files->database).text);
	files->known = true;
	files->dev = about.st_dev;
	files->ino = about.st_ino;
	files->size_bytes = about.st_size;
	return VBD_OK;
}

enum vbd_status vbd_store_files_check(struct vbd_store_files *files, struct vbd_error *err)
{
	struct stat about;

	if (stat(files->database, &about) != 0)
		return vbd_error_set(err, VBD_E_NOT_FOUND, "%s is no longer there",
			vbd_text_path(files->database).text);
	if (about.st_dev != files->dev || about.st_ino != files->ino)
		return vbd_error_set(err, VBD_E_NOT_FOUND, "%s is another file than before",
			vbd_text_path(files->database).text);
	if (about.st_size < files->size_bytes)
		return vbd_error_set(err, VBD_E_NOT_FOUND, "%s was made shorter",
			vbd_text_path(files->database).text);
	files->size_bytes = about.st_size;
	return VBD_OK;
}

/* --- the mark -------------------------------------------------------------------------------- */

#define MARK_BYTES 192
#define MARK_FORMAT                                                                   \
	"verbsd: %20" PRIu64 " transactions, ids to %20" PRIu64 ", stamp %016" PRIx64 \
	" after %016" PRIx64
#define MARK_SCAN                                                                    \
	"verbsd: %20" SCNu64 " transactions, ids to %20" SCNu64 ", stamp %16" SCNx64 \
	" after %16" SCNx64

/* Format the mark as a line with a check sum. Returns its length. */
static size_t format_mark(const struct vbd_store_mark *mark, char line[MARK_BYTES])
{
	uint64_t check = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	int len = snprintf(line, MARK_BYTES, MARK_FORMAT, mark->transactions, mark->highest,
		mark->stamp, mark->stamp_before);

	for (int i = 0; i < len; i++)
		check = (check ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
	return (size_t)(len + snprintf(line + len, MARK_BYTES - (size_t)len,
				      ", check %016" PRIx64 "\n", check));
}

enum vbd_status vbd_store_files_read_mark(
	const struct vbd_store_files *files, struct vbd_store_mark *ret_mark)
{
	char found[MARK_BYTES] = "", line[MARK_BYTES];
	struct vbd_store_mark mark;
	ssize_t bytes = pread(files->mark_fd, found, sizeof(found) - 1, 0);

	if (bytes == 0)
		return VBD_E_NOT_FOUND;
	if (sscanf(found, MARK_SCAN, &mark.transactions, &mark.highest, &mark.stamp,
		    &mark.stamp_before) != 4)
		return VBD_E_BAD_VALUE;
	(void)format_mark(&mark, line);
	if (strcmp(line, found) != 0 || mark.highest > VBD_STORE_ID_MAX ||
		mark.transactions > VBD_STORE_ID_MAX)
		return VBD_E_BAD_VALUE;
	*ret_mark = mark;
	return VBD_OK;
}

enum vbd_status vbd_store_files_write_mark(const struct vbd_store_files *files,
	const struct vbd_store_mark *mark, bool sync, struct vbd_error *err)
{
	char line[MARK_BYTES];
	size_t bytes = format_mark(mark, line);

	if (pwrite(files->mark_fd, line, bytes, 0) == (ssize_t)bytes &&
		(!sync || (ftruncate(files->mark_fd, (off_t)bytes) == 0 &&
				  fdatasync(files->mark_fd) == 0)))
		return VBD_OK;
	return vbd_error_errno(
		err, VBD_OK, "pwrite", errno, "can't write the file " VBD_STORE_FILE_MARK);
}
