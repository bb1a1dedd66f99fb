/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_path.h"

#include "daemon/memory/checksum.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PART_MARK    ".verbsd-"
#define PART_DIGITS  15
#define NS_PER_S     1000000000
#define OPEN_TRIES   16
#define SUM_BYTES    9 /* "~1234abcd" */
#define SUFFIX_BYTES (sizeof(PART_MARK) - 1 + PART_DIGITS)

_Static_assert(SUFFIX_BYTES < VBD_COPY_PART_BYTES, "the suffix has room for a NUL");

enum vbd_copy_fault vbd_copy_fault_of(int number)
{
	static const struct {
		int number;
		enum vbd_copy_fault fault;
	} faults[] = {
		{ENOENT, VBD_COPY_FAULT_NOT_FOUND},
		{EACCES, VBD_COPY_FAULT_PERMISSION},
		{EPERM, VBD_COPY_FAULT_PERMISSION},
		{EXDEV, VBD_COPY_FAULT_OUTSIDE},
		{ELOOP, VBD_COPY_FAULT_NOT_REGULAR},
		{ENXIO, VBD_COPY_FAULT_NOT_REGULAR}, /* a socket, or a FIFO without a reader */
		{ENODEV, VBD_COPY_FAULT_NOT_REGULAR},
		{EISDIR, VBD_COPY_FAULT_IS_DIRECTORY},
		{ENOTDIR, VBD_COPY_FAULT_NOT_DIRECTORY},
		{ENAMETOOLONG, VBD_COPY_FAULT_NAME_TOO_LONG},
		{ENOSPC, VBD_COPY_FAULT_NO_SPACE},
		{EDQUOT, VBD_COPY_FAULT_QUOTA},
		{EROFS, VBD_COPY_FAULT_READ_ONLY},
		{EFBIG, VBD_COPY_FAULT_TOO_LARGE},
		{EEXIST, VBD_COPY_FAULT_EXISTS},
		{ENOMEM, VBD_COPY_FAULT_NO_RESOURCES},
		{EMFILE, VBD_COPY_FAULT_NO_RESOURCES},
		{ENFILE, VBD_COPY_FAULT_NO_RESOURCES},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(faults); i++) {
		if (faults[i].number == number)
			return faults[i].fault;
	}
	return VBD_COPY_FAULT_IO;
}

void vbd_copy_part_suffix(uint64_t id, char ret_suffix[VBD_COPY_PART_BYTES])
{
	(void)snprintf(ret_suffix, VBD_COPY_PART_BYTES, PART_MARK "%0*" PRIx64, PART_DIGITS,
		id & ((UINT64_C(1) << (4 * PART_DIGITS)) - 1));
}

bool vbd_copy_is_part(const char *name)
{
	size_t len = strlen(name);
	const char *suffix = name + len - SUFFIX_BYTES;

	return len > SUFFIX_BYTES && strncmp(suffix, PART_MARK, sizeof(PART_MARK) - 1) == 0 &&
	       strspn(suffix + sizeof(PART_MARK) - 1, "0123456789abcdef") == PART_DIGITS;
}

void vbd_copy_part_name(const char *name, const char *suffix, char ret_part[NAME_MAX + 1])
{
	int len = (int)strnlen(name, NAME_MAX), most = NAME_MAX - (int)strlen(suffix);

	if (len <= most)
		(void)snprintf(ret_part, NAME_MAX + 1, "%.*s%s", len, name, suffix);
	else
		(void)snprintf(ret_part, NAME_MAX + 1, "%.*s~%08" PRIx32 "%s", most - SUM_BYTES,
			name, vbd_crc32c_add(0, name, (uint64_t)len), suffix);
}

/* Append the components of @path to the path of @len bytes. */
static enum vbd_copy_fault append(
	char joined[PATH_MAX], size_t *len, const char *path, size_t path_bytes)
{
	const char *end = path + path_bytes;

	if (path_bytes > 0 && path[0] == '/')
		return VBD_COPY_FAULT_OUTSIDE;
	for (const char *next; path < end; path = next + 1) {
		size_t part;

		next = memchr(path, '/', (size_t)(end - path));
		next = next ? next : end;
		part = (size_t)(next - path);
		if (part == 0 || (part == 1 && path[0] == '.'))
			continue;
		if (part == 2 && memcmp(path, "..", 2) == 0)
			return VBD_COPY_FAULT_OUTSIDE;
		if (part > NAME_MAX || *len + part + 2 > PATH_MAX)
			return VBD_COPY_FAULT_NAME_TOO_LONG;
		if (*len > 0)
			joined[(*len)++] = '/';
		memcpy(joined + *len, path, part);
		*len += part;
	}
	joined[*len] = '\0';
	return VBD_COPY_FAULT_OK;
}

enum vbd_copy_fault vbd_copy_join(
	const char *path, const uint8_t *below, uint32_t below_bytes, char ret_joined[PATH_MAX])
{
	size_t len = 0;
	enum vbd_copy_fault fault = append(ret_joined, &len, path, strlen(path));

	if (fault == VBD_COPY_FAULT_OK && below_bytes > 0)
		fault = append(ret_joined, &len, (const char *)below, below_bytes);
	if (fault == VBD_COPY_FAULT_OK && len == 0)
		(void)snprintf(ret_joined, PATH_MAX, ".");
	return fault;
}

enum vbd_copy_fault vbd_copy_open(int dir_fd, const char *path, int flags, int *ret_fd)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	long fd = -1;

	/* openat2(2) may give EAGAIN while another process renames or mounts something. */
	for (int tries = 0; tries < OPEN_TRIES && fd < 0; tries++) {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	if (fd < 0)
		return vbd_copy_fault_of(errno);
	*ret_fd = (int)fd;
	return VBD_COPY_FAULT_OK;
}

enum vbd_copy_fault vbd_copy_sync_dir(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum vbd_copy_fault fault = VBD_COPY_FAULT_OK;

	if (fd < 0)
		return vbd_copy_fault_of(errno);
	/* Some file systems can't fsync directories, and say EINVAL. */
	if (fsync(fd) != 0 && errno != EINVAL)
		fault = vbd_copy_fault_of(errno);
	(void)close(fd);
	return fault;
}

/* Make a directory and open it, unless there is one. The permissions are set in the open directory:
 * the umask of the process has no part in them, and a setgid bit that the directory has from the
 * one above it stays. */
static enum vbd_copy_fault make_dir(int above_fd, const char *name, mode_t mode, int *ret_fd)
{
	bool made = mkdirat(above_fd, name, 0700) == 0;
	struct stat about;

	if (!made && errno != EEXIST)
		return vbd_copy_fault_of(errno);
	*ret_fd = openat(
		above_fd, name, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | (made ? O_RDONLY : O_PATH));
	if (*ret_fd < 0)
		return vbd_copy_fault_of(errno);
	if (!made)
		return VBD_COPY_FAULT_OK;
	if (fstat(*ret_fd, &about) != 0 || fchmod(*ret_fd, (about.st_mode & S_ISGID) | mode) != 0)
		return vbd_copy_fault_of(errno);
	return vbd_copy_sync_dir(above_fd);
}

enum vbd_copy_fault vbd_copy_make_dirs(int dir_fd, const char *path, mode_t mode, int *ret_fd)
{
	enum vbd_copy_fault fault = vbd_copy_open(dir_fd, path, O_PATH | O_DIRECTORY, ret_fd);
	char name[NAME_MAX + 1];
	int fd = dir_fd;

	if (fault != VBD_COPY_FAULT_NOT_FOUND)
		return fault;
	do {
		int above_fd = fd, len = (int)strcspn(path, "/");

		(void)snprintf(name, sizeof(name), "%.*s", len, path);
		fd = -1;
		fault = make_dir(above_fd, name, mode, &fd);
		if (above_fd != dir_fd)
			(void)close(above_fd);
		path += len + (path[len] == '/');
	} while (fault == VBD_COPY_FAULT_OK && *path);
	if (fault == VBD_COPY_FAULT_OK)
		*ret_fd = fd;
	else if (fd >= 0)
		(void)close(fd);
	return fault;
}

int64_t vbd_copy_mtime_ns(const struct stat *about)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)about->st_mtim.tv_sec, (int64_t)NS_PER_S, &ns) ||
		__builtin_add_overflow(ns, (int64_t)about->st_mtim.tv_nsec, &ns))
		return about->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}
