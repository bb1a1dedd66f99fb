/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memfd.h"

#include "base/hugepage.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Linux 6.3 has it; a kernel with vm.memfd_noexec=2 creates no memfd without it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* Linux 6.3 sets it on each memfd with MFD_NOEXEC_SEAL. */
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define MODE  (S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH)

static int create_memfd(size_t huge_page_bytes)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd;

	/* The flags contain the logarithm of the page size, at the place of those of mmap(2). */
	if (huge_page_bytes)
		flags |= MFD_HUGETLB | (unsigned int)__builtin_ctzll(huge_page_bytes)
					       << MAP_HUGE_SHIFT;
	fd = memfd_create("verbsd", flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("verbsd", flags);
	return fd;
}

static enum vbd_status allocate_huge_pages(
	int fd, size_t size_bytes, size_t huge_page_bytes, struct vbd_error *err)
{
	if (fallocate(fd, 0, 0, (off_t)size_bytes) == 0)
		return VBD_OK;
	if (errno == ENOSPC || errno == ENOMEM) {
		/* The pages that were there are counted as free ones. */
		vbd_memfd_empty(fd, size_bytes);
		return vbd_hugepage_shortage(huge_page_bytes, size_bytes / huge_page_bytes, err);
	}
	return vbd_error_errno(
		err, VBD_E_NO_MEMORY, "fallocate", errno, "%zu bytes of huge pages", size_bytes);
}

static enum vbd_status allocate_small_pages(int fd, size_t size_bytes, struct vbd_error *err)
{
	enum vbd_status status;
	size_t at = 0;

	while (at < size_bytes) {
		size_t left = size_bytes - at;
		size_t step = left < VBD_MEMINFO_STEP_BYTES ? left : VBD_MEMINFO_STEP_BYTES;

		status = vbd_meminfo_check(size_bytes - at, err);
		if (status)
			return status;
		if (fallocate(fd, 0, (off_t)at, (off_t)step) == 0)
			at += step;
		else if (errno != EINTR)
			return vbd_error_errno(err, VBD_E_NO_MEMORY, "fallocate", errno,
				"shared memory of %zu bytes", size_bytes);
	}
	return VBD_OK;
}

/* Allocate the pages, not only set the size: so a lack of memory is an error here, and not at the
 * first access. */
static enum vbd_status allocate_memory(
	int fd, size_t size_bytes, size_t huge_page_bytes, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (!huge_page_bytes)
		status = vbd_meminfo_check(size_bytes, err);
	if (status == VBD_OK && ftruncate(fd, (off_t)size_bytes) != 0)
		status = vbd_error_errno(err, VBD_E_NO_MEMORY, "ftruncate", errno,
			"shared memory of %zu bytes", size_bytes);
	if (status != VBD_OK)
		return status;
	return huge_page_bytes ? allocate_huge_pages(fd, size_bytes, huge_page_bytes, err)
			       : allocate_small_pages(fd, size_bytes, err);
}

/* A descriptor can be opened anew through /proc/self/fd, where the mode counts: with the mode of a
 * fresh memfd, 0777, a read-only descriptor would be as good as a writable one. */
static enum vbd_status restrict_and_seal(int fd, struct vbd_error *err)
{
	if (fchmod(fd, MODE) != 0)
		return vbd_error_errno(err, VBD_OK, "fchmod", errno, "shared memory");
	if (fcntl(fd, F_ADD_SEALS, SEALS) != 0)
		return vbd_error_errno(err, VBD_OK, "F_ADD_SEALS", errno, "shared memory");
	return VBD_OK;
}

enum vbd_status vbd_memfd_create(
	size_t size_bytes, size_t huge_page_bytes, int *ret_fd, struct vbd_error *err)
{
	enum vbd_status status;
	int fd = create_memfd(huge_page_bytes);

	if (fd < 0)
		return vbd_error_errno(err, VBD_OK, "memfd_create", errno, "shared memory");
	status = allocate_memory(fd, size_bytes, huge_page_bytes, err);
	if (status == VBD_OK)
		status = restrict_and_seal(fd, err);
	if (status == VBD_OK)
		*ret_fd = fd;
	else
		(void)close(fd);
	return status;
}

static bool is_restricted(int fd, const struct stat *stat)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDWR && stat->st_uid == geteuid() &&
	       (stat->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) == MODE;
}

static bool has_page_size(int fd, size_t huge_page_bytes)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	if (!huge_page_bytes)
		return fs.f_type == TMPFS_MAGIC;
	return fs.f_type == HUGETLBFS_MAGIC && (size_t)fs.f_bsize == huge_page_bytes;
}

enum vbd_status vbd_memfd_check(
	int fd, size_t size_bytes, size_t huge_page_bytes, struct vbd_error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;

	if (seals < 0 || (seals & ~F_SEAL_EXEC) != SEALS || fstat(fd, &stat) != 0)
		return vbd_error_set(err, VBD_E_BAD_VALUE, "it is not sealed memory of verbsd");
	if (!is_restricted(fd, &stat))
		return vbd_error_set(
			err, VBD_E_BAD_VALUE, "it belongs to another user, or has another mode");
	if ((size_t)stat.st_size != size_bytes)
		return vbd_error_set(err, VBD_E_BAD_VALUE, "it has %lld bytes, and %zu are wanted",
			(long long)stat.st_size, size_bytes);
	if (!has_page_size(fd, huge_page_bytes))
		return vbd_error_set(err, VBD_E_BAD_VALUE, "it has pages of another size");
	return VBD_OK;
}

enum vbd_status vbd_memfd_reopen(int fd, bool writable, int *ret_fd, struct vbd_error *err)
{
	char path[40];
	int copy;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (copy < 0)
		return vbd_error_errno(err, VBD_OK, "open", errno, "%s", path);
	*ret_fd = copy;
	return VBD_OK;
}

void vbd_memfd_empty(int fd, size_t size_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	/* The kernel gives back whole pages only. */
	size_t pages = (size_bytes + page_bytes - 1) / page_bytes;

	(void)fallocate(
		fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(pages * page_bytes));
}
