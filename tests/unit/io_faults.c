/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/io_faults.h"

#include "tests/unit/unit.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>

static atomic_int armed;     /* enum io_fault */
static atomic_int fail_at;   /* the number of the first call that fails */
static atomic_int fail_more; /* the calls behind it that fail too */
static atomic_int calls;

void io_let_fail(enum io_fault fault, int nth, int more)
{
	atomic_store(&armed, IO_NO_FAULT);
	atomic_store(&calls, 0);
	atomic_store(&fail_at, nth);
	atomic_store(&fail_more, more);
	atomic_store(&armed, (int)fault);
}

int io_calls(void)
{
	return atomic_load(&calls);
}

enum call { CALL_READ, CALL_WRITE, CALL_WRITE_MARK, CALL_CUT, CALL_FLUSH };

/* The fault that this call meets. */
static enum io_fault meet(enum call call)
{
	static const bool meets[][CALL_FLUSH + 1] = {
		[IO_EIO] = {true, true, true, true, true},
		[IO_SHORT_READ] = {[CALL_READ] = true},
		[IO_ENOSPC] = {[CALL_WRITE] = true, [CALL_WRITE_MARK] = true},
		[IO_FULL] = {[CALL_WRITE] = true},
		[IO_NO_FLUSH] = {[CALL_FLUSH] = true},
	};
	enum io_fault fault = (enum io_fault)atomic_load(&armed);
	int number, first = atomic_load(&fail_at);

	if (fault == IO_NO_FAULT || !meets[fault][call])
		return IO_NO_FAULT;
	number = atomic_fetch_add(&calls, 1) + 1;
	return number >= first && number - first <= atomic_load(&fail_more) ? fault : IO_NO_FAULT;
}

/* --- SQLite ---------------------------------------------------------------------------------- */

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
};

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct file *)file)->real;
}

/* The results are those of os_unix.c for the errno. */
static int file_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at)
{
	enum io_fault fault = meet(CALL_READ);
	int rc;

	if (fault == IO_EIO)
		return SQLITE_IOERR_CORRUPTFS;
	rc = real_of(file)->pMethods->xRead(real_of(file), bytes, len, at);
	if (fault != IO_SHORT_READ)
		return rc;
	memset((char *)bytes + len / 2, 0, (size_t)(len - len / 2));
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	enum io_fault fault = meet(CALL_WRITE);

	if (fault == IO_NO_FAULT)
		return real_of(file)->pMethods->xWrite(real_of(file), bytes, len, at);
	return fault == IO_EIO ? SQLITE_IOERR_WRITE : SQLITE_FULL;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	if (meet(CALL_CUT) != IO_NO_FAULT)
		return SQLITE_IOERR_TRUNCATE;
	return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	if (meet(CALL_FLUSH) != IO_NO_FAULT)
		return SQLITE_IOERR_FSYNC;
	return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_is_reserved(sqlite3_file *file, int *ret_is)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret_is);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector_size(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_traits(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **ret_at)
{
	return real_of(file)->pMethods->xShmMap(real_of(file), page, bytes, extend, ret_at);
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
	return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shm_barrier(sqlite3_file *file)
{
	real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int also_delete)
{
	return real_of(file)->pMethods->xShmUnmap(real_of(file), also_delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

static sqlite3_vfs *real_vfs;

static int open_file(
	sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
	struct file *self = (struct file *)file;
	int rc;

	(void)vfs;
	self->real = (sqlite3_file *)(self + 1);
	self->base.pMethods = NULL;
	rc = real_vfs->xOpen(real_vfs, path, self->real, flags, ret_flags);
	if (self->real->pMethods)
		self->base.pMethods = &methods;
	return rc;
}

void io_faults_install(void)
{
	static sqlite3_vfs vfs;

	real_vfs = sqlite3_vfs_find(NULL);
	assert_non_null(real_vfs);
	vfs = *real_vfs;
	vfs.zName = "verbsd_faults";
	vfs.szOsFile += (int)sizeof(struct file);
	vfs.xOpen = open_file;
	assert_int_equal(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
}

/* --- the mark -------------------------------------------------------------------------------- */

ssize_t __real_pread(int fd, void *bytes, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t at)
{
	enum io_fault fault = meet(CALL_READ);

	if (fault != IO_EIO)
		return __real_pread(fd, bytes, fault == IO_SHORT_READ ? len / 4 : len, at);
	errno = EIO;
	return -1;
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	enum io_fault fault = meet(CALL_WRITE_MARK);

	if (fault == IO_NO_FAULT)
		return __real_pwrite(fd, bytes, len, at);
	errno = fault == IO_ENOSPC ? ENOSPC : EIO;
	return -1;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	if (meet(CALL_FLUSH) == IO_NO_FAULT)
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
	if (meet(CALL_CUT) == IO_NO_FAULT)
		return __real_ftruncate(fd, size);
	errno = EIO;
	return -1;
}
