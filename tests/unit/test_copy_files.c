/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of files that are read and written, and files that are put in their places. */
#include "daemon/memory/checksum.h"
#include "tests/unit/copies.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The wrapped calls: see CMakeLists.txt. */
static struct {
	int openat2_errno, openat2_times; /* the next calls fail so */
	bool choppy;			  /* reads and writes are interrupted, then short */
	bool no_noreplace;		  /* the file system does not know RENAME_NOREPLACE */
	int fsync_errno;
	char done[256]; /* calls in their order */
} calls;

static void note(const char *call)
{
	size_t len = strlen(calls.done);

	(void)snprintf(calls.done + len, sizeof(calls.done) - len, "%s ", call);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long args[4];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_openat2 && calls.openat2_times > 0) {
		calls.openat2_times--;
		errno = calls.openat2_errno;
		return -1;
	}
	return __real_syscall(number, args[0], args[1], args[2], args[3]);
}

/* Whether this call is interrupted: every other one is. */
static bool is_interrupted(size_t *len)
{
	static int count;

	if (!calls.choppy)
		return false;
	*len = (*len + 1) / 2;
	errno = EINTR;
	return count++ % 2 == 0;
}

ssize_t __real_pread(int fd, void *bytes, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t offset)
{
	return is_interrupted(&len) ? -1 : __real_pread(fd, bytes, len, offset);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	return is_interrupted(&len) ? -1 : __real_pwrite(fd, bytes, len, offset);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat about;
	bool is_dir = fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);

	note(is_dir ? "sync_dir" : "sync_file");
	if (is_dir && calls.fsync_errno) {
		errno = calls.fsync_errno;
		return -1;
	}
	return __real_fsync(fd);
}

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	note("rename");
	if (flags && calls.no_noreplace) {
		errno = EINVAL;
		return -1;
	}
	return __real_renameat2(from_fd, from, to_fd, to, flags);
}

static int setup(void **state)
{
	memset(&calls, 0, sizeof(calls));
	return copies_setup(state);
}

#define FILES_TEST(name) TEST_WITH(name, struct copies *c, setup, copies_teardown)

FILES_TEST(test_copy_files__pieces_in_any_order_make_the_file)
{
	struct vbd_copy_item item = copies_item("a", 10);
	char first[] = "12345", second[] = "67890";

	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_OK);
	calls.choppy = true;
	assert_int_equal(copies_write(&c->root, &item, 5, second), VBD_COPY_FAULT_OK);
	assert_int_equal(copies_write(&c->root, &item, 0, first), VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "a", NULL);
	copies_expect(c->root.dir_fd, "a.verbsd-123456789abcdef", "1234567890");
	assert_int_equal(copies_place(&c->root, &item), VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "a", "1234567890");
	assert_int_equal(copies_count(c->root.dir_fd, "."), 1);
}

FILES_TEST(test_copy_files__an_empty_file_has_one_piece)
{
	struct vbd_copy_item item = copies_item("a", 0);

	assert_int_equal(copies_receive(&c->root, &item, ""), VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "a", "");
}

FILES_TEST(test_copy_files__a_file_is_synced_before_its_name_and_the_directory_after_all)
{
	char text[] = "1";
	struct vbd_copy_item items[] = {copies_directory("d"), copies_item("d/a", 1),
		copies_item("d/b", 1), copies_item("e", 1)};
	struct vbd_copy_item *all[] = {&items[0], &items[1], &items[2], &items[3]};

	vbd_copy_pick_wanted(&c->root, items, 4);
	assert_string_equal(calls.done, "sync_dir ");
	for (int i = 1; i < 4; i++)
		assert_int_equal(copies_write(&c->root, &items[i], 0, text), VBD_COPY_FAULT_OK);
	calls.done[0] = '\0';
	vbd_copy_place(&c->root, all, 4);
	assert_string_equal(calls.done, "sync_file rename sync_file rename sync_dir "
					"sync_file rename sync_dir ");
	for (int i = 0; i < 4; i++)
		assert_true(items[i].placed);
}

FILES_TEST(test_copy_files__a_directory_that_can_not_be_synced_fails_its_files)
{
	struct vbd_copy_item item = copies_item("a", 1), other = copies_item("b", 1);

	calls.fsync_errno = EIO;
	assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_IO);
	calls.fsync_errno = EINVAL; /* some file systems can't */
	assert_int_equal(copies_receive(&c->root, &other, "1"), VBD_COPY_FAULT_OK);
}

FILES_TEST(test_copy_files__mtime_is_kept_if_asked)
{
	static const int64_t times[] = {0, 1, -1, -1000000001, 1500000000123456789};

	for (size_t i = 0; i < VBD_ARRAY_LEN(times); i++) {
		struct vbd_copy_item item = copies_item("f", 1), found;

		item.entry.mtime_ns = times[i];
		c->root.options = VBD_COPY_PRESERVE_MTIME;
		assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_OK);
		found = copies_source(c->root.dir_fd, "f");
		assert_int_equal(found.entry.mtime_ns, times[i]);
		item.fault = VBD_COPY_FAULT_OK;
		c->root.options = 0;
		assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_OK);
		found = copies_source(c->root.dir_fd, "f");
		assert_true(found.entry.mtime_ns > times[4]);
	}
}

FILES_TEST(test_copy_files__overwrite_says_what_is_wanted)
{
	static const struct {
		enum vbd_copy_overwrite overwrite;
		int64_t later_ns;
		uint64_t size_bytes;
		enum vbd_copy_fault fault;
	} rows[] = {
		{VBD_COPY_OVERWRITE_NEVER, 1, 3, VBD_COPY_FAULT_EXISTS},
		{VBD_COPY_OVERWRITE_NEVER, 0, 3, VBD_COPY_FAULT_EXISTS},
		{VBD_COPY_OVERWRITE_ALWAYS, 0, 3, VBD_COPY_FAULT_OK},
		{VBD_COPY_OVERWRITE_ALWAYS, -1, 3, VBD_COPY_FAULT_OK},
		{VBD_COPY_OVERWRITE_IF_NEWER, 1, 3, VBD_COPY_FAULT_OK},
		{VBD_COPY_OVERWRITE_IF_NEWER, 0, 3, VBD_COPY_FAULT_SAME},
		{VBD_COPY_OVERWRITE_IF_NEWER, 0, 4, VBD_COPY_FAULT_EXISTS},
		{VBD_COPY_OVERWRITE_IF_NEWER, -1, 4, VBD_COPY_FAULT_EXISTS},
		{VBD_COPY_OVERWRITE_IF_DIFFERENT, 0, 3, VBD_COPY_FAULT_SAME},
		{VBD_COPY_OVERWRITE_IF_DIFFERENT, 0, 4, VBD_COPY_FAULT_OK},
		{VBD_COPY_OVERWRITE_IF_DIFFERENT, -1, 3, VBD_COPY_FAULT_OK},
	};

	copies_put(c->root.dir_fd, "f", "old");
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_copy_item item = copies_source(c->root.dir_fd, "f"), other;

		c->root.overwrite = rows[i].overwrite;
		item.entry.mtime_ns += rows[i].later_ns;
		item.entry.size_bytes = rows[i].size_bytes;
		assert_int_equal(copies_judge(&c->root, &item), rows[i].fault);
		other = copies_item("none", 1);
		assert_int_equal(copies_judge(&c->root, &other), VBD_COPY_FAULT_OK);
	}
}

/* The file comes between the question and the answer. */
FILES_TEST(test_copy_files__never_replaces_nothing)
{
	for (int i = 0; i < 2; i++) {
		struct vbd_copy_item item = copies_item("f", 3), fresh = copies_item("g", 3);
		char text[] = "new";

		calls.no_noreplace = i == 1;
		c->root.overwrite = VBD_COPY_OVERWRITE_NEVER;
		assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_OK);
		assert_int_equal(copies_write(&c->root, &item, 0, text), VBD_COPY_FAULT_OK);
		copies_put(c->root.dir_fd, "f", "old");
		assert_int_equal(copies_place(&c->root, &item), VBD_COPY_FAULT_EXISTS);
		copies_discard(&c->root, &item);
		copies_expect(c->root.dir_fd, "f", "old");
		assert_int_equal(copies_receive(&c->root, &fresh, "new"), VBD_COPY_FAULT_OK);
		copies_expect(c->root.dir_fd, "g", "new");
		assert_int_equal(copies_count(c->root.dir_fd, "."), 2);
		assert_int_equal(unlinkat(c->root.dir_fd, "f", 0), 0);
		assert_int_equal(unlinkat(c->root.dir_fd, "g", 0), 0);
	}
}

FILES_TEST(test_copy_files__bytes_that_are_not_as_told_are_refused)
{
	struct vbd_copy_item item = copies_item("f", 4);
	char text[] = "1234";
	struct vbd_copy_slot_job *job = copies_job(&c->root, &item, 0, text, 4);

	text[2] ^= 1;
	vbd_copy_write(job);
	assert_int_equal(job->faults[0], VBD_COPY_FAULT_CORRUPT);
	free(job);
	assert_int_equal(copies_write(&c->root, &item, 1, text), VBD_COPY_FAULT_PROTOCOL);
	assert_int_equal(copies_write(&c->root, &item, 5, text), VBD_COPY_FAULT_PROTOCOL);
	assert_int_equal(copies_write(&c->root, &item, UINT64_MAX, text), VBD_COPY_FAULT_PROTOCOL);
	assert_int_equal(copies_count(c->root.dir_fd, "."), 0);
}

FILES_TEST(test_copy_files__a_file_that_is_not_complete_gets_no_name)
{
	struct vbd_copy_item item = copies_item("f", 4), none = copies_item("none", 4);
	char text[] = "123";

	copies_put(c->root.dir_fd, "f", "old");
	assert_int_equal(copies_write(&c->root, &item, 0, text), VBD_COPY_FAULT_OK);
	assert_int_equal(copies_place(&c->root, &item), VBD_COPY_FAULT_PROTOCOL);
	assert_int_equal(copies_place(&c->root, &none), VBD_COPY_FAULT_NOT_FOUND);
	copies_expect(c->root.dir_fd, "f", "old");
	copies_discard(&c->root, &item);
	copies_discard(&c->root, &none);
	assert_int_equal(copies_count(c->root.dir_fd, "."), 1);
}

FILES_TEST(test_copy_files__a_fault_of_one_piece_leaves_the_others)
{
	struct vbd_copy_item a, b = copies_item("gone", 2), d;
	char bytes[7] = "xxxxxx";
	struct vbd_copy_slot_job *job;

	copies_put(c->root.dir_fd, "a", "12");
	copies_put(c->root.dir_fd, "d", "34");
	a = copies_source(c->root.dir_fd, "a");
	d = copies_source(c->root.dir_fd, "d");
	job = copies_job(&c->root, &a, 0, bytes, 2);
	job->pieces[1] = job->pieces[2] = job->pieces[0];
	job->items[1] = &b;
	job->items[2] = &d;
	job->count = 3;
	vbd_copy_read(job);
	assert_int_equal(job->faults[0], VBD_COPY_FAULT_OK);
	assert_int_equal(job->faults[1], VBD_COPY_FAULT_NOT_FOUND);
	assert_int_equal(job->faults[2], VBD_COPY_FAULT_OK);
	assert_memory_equal(bytes, "12\0\00034", 6);
	job->pieces[1].crc32c ^= 1;
	a = copies_item("new/a", 2);
	d = copies_item("new/d", 2);
	assert_int_equal(mkdirat(c->root.dir_fd, "new", 0755), 0);
	vbd_copy_write(job);
	assert_int_equal(job->faults[0], VBD_COPY_FAULT_OK);
	assert_int_equal(job->faults[1], VBD_COPY_FAULT_CORRUPT);
	assert_int_equal(job->faults[2], VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "new/d.verbsd-123456789abcdef", "34");
	free(job);
}

FILES_TEST(test_copy_files__a_source_that_changes_is_noticed)
{
	static const char *const texts[] = {"1234", "12", "abc"};
	static const struct timespec touched[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 5}};
	char text[8];

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		struct vbd_copy_item item;

		copies_put(c->root.dir_fd, "f", "123");
		item = copies_source(c->root.dir_fd, "f");
		calls.choppy = true;
		assert_int_equal(copies_read(&c->root, &item, 1, text, 2), VBD_COPY_FAULT_OK);
		assert_string_equal(text, "23");
		copies_put(c->root.dir_fd, "f", texts[i]);
		assert_int_equal(utimensat(c->root.dir_fd, "f", touched, 0), 0);
		assert_int_equal(copies_read(&c->root, &item, 1, text, 2), VBD_COPY_FAULT_CHANGED);
		assert_memory_equal(text, "\0\0", 2);
		assert_int_equal(unlinkat(c->root.dir_fd, "f", 0), 0);
		assert_int_equal(
			copies_read(&c->root, &item, 1, text, 2), VBD_COPY_FAULT_NOT_FOUND);
		assert_int_equal(mkdirat(c->root.dir_fd, "f", 0755), 0);
		assert_int_equal(
			copies_read(&c->root, &item, 1, text, 2), VBD_COPY_FAULT_NOT_REGULAR);
		assert_int_equal(unlinkat(c->root.dir_fd, "f", AT_REMOVEDIR), 0);
	}
	copies_put(c->root.dir_fd, "f", "123");
	{
		struct vbd_copy_item item = copies_source(c->root.dir_fd, "f");

		assert_int_equal(copies_read(&c->root, &item, 2, text, 2), VBD_COPY_FAULT_CHANGED);
	}
}

FILES_TEST(test_copy_files__a_hole_is_zeros)
{
	int fd = openat(c->root.dir_fd, "hole", O_RDWR | O_CREAT, 0644);
	static char bytes[65537];
	struct vbd_copy_item item;

	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(pwrite(fd, "end", 3, (1 << 20) - 3), 3);
	assert_int_equal(close(fd), 0);
	item = copies_source(c->root.dir_fd, "hole");
	for (uint64_t at = 0; at < 1 << 20; at += 65536) {
		assert_int_equal(copies_read(&c->root, &item, at, bytes, 65536), VBD_COPY_FAULT_OK);
		assert_int_equal(bytes[0], 0);
		assert_int_equal(memcmp(bytes, bytes + 1, 65532), 0);
	}
	assert_string_equal(bytes + 65533, "end");
}

/* A job on a thread of its own. */
static void *write_job(void *arg)
{
	vbd_copy_write(arg);
	return NULL;
}

FILES_TEST(test_copy_files__two_jobs_may_write_one_file)
{
	static uint8_t bytes[2][65536];
	struct stat about;

	memset(bytes[0], '0', sizeof(bytes[0]));
	memset(bytes[1], '1', sizeof(bytes[1]));
	for (int round = 0; round < 50; round++) {
		struct vbd_copy_item item = copies_item("f", sizeof(bytes));
		struct vbd_copy_slot_job *jobs[2];
		pthread_t threads[2];

		for (size_t i = 0; i < 2; i++) {
			jobs[i] = copies_job(&c->root, &item, i * 65536, bytes[i], 65536);
			assert_int_equal(pthread_create(&threads[i], NULL, write_job, jobs[i]), 0);
		}
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			assert_int_equal(jobs[i]->faults[0], VBD_COPY_FAULT_OK);
			free(jobs[i]);
		}
		assert_int_equal(copies_place(&c->root, &item), VBD_COPY_FAULT_OK);
		assert_int_equal(fstatat(c->root.dir_fd, "f", &about, 0), 0);
		assert_int_equal(about.st_size, sizeof(bytes));
	}
}

FILES_TEST(test_copy_files__a_kill_before_the_place_leaves_the_old_file)
{
	struct vbd_copy_item item = copies_item("f", 3);
	char text[] = "new";
	int status;
	pid_t child;

	copies_put(c->root.dir_fd, "f", "old");
	child = fork();
	if (child == 0) {
		(void)copies_write(&c->root, &item, 0, text);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	copies_expect(c->root.dir_fd, "f", "old");
	assert_int_equal(copies_count(c->root.dir_fd, "."), 2);
	vbd_copy_part_suffix(2, c->root.part_suffix);
	assert_int_equal(copies_receive(&c->root, &item, "new"), VBD_COPY_FAULT_OK);
	copies_expect(c->root.dir_fd, "f", "new");
}

FILES_TEST(test_copy_files__discard_leaves_nothing)
{
	struct vbd_copy_item items[] = {
		copies_directory("d"), copies_item("d/a", 2), copies_item("b", 2)};
	struct vbd_copy_item *all[] = {&items[0], &items[1], &items[2]};
	char text[] = "1";

	vbd_copy_pick_wanted(&c->root, items, 3);
	assert_int_equal(copies_write(&c->root, &items[1], 0, text), VBD_COPY_FAULT_OK);
	assert_int_equal(copies_write(&c->root, &items[2], 0, text), VBD_COPY_FAULT_OK);
	vbd_copy_discard(&c->root, all, 3);
	assert_int_equal(copies_count(c->root.dir_fd, "d"), 0);
	assert_int_equal(copies_count(c->root.dir_fd, "."), 1);
}

FILES_TEST(test_copy_files__a_rename_nearby_is_tried_again)
{
	struct vbd_copy_item item = copies_item("f", 1), other = copies_item("g", 1);

	calls.openat2_errno = EAGAIN;
	calls.openat2_times = 3;
	assert_int_equal(copies_receive(&c->root, &item, "1"), VBD_COPY_FAULT_OK);
	calls.openat2_times = 1000;
	assert_int_equal(copies_receive(&c->root, &other, "1"), VBD_COPY_FAULT_IO);
	calls.openat2_errno = ENOSYS; /* there is no other way that is safe */
	assert_int_equal(copies_judge(&c->root, &item), VBD_COPY_FAULT_IO);
}

TEST(test_copy_files__errors_of_the_file_system_have_faults)
{
	static const struct {
		int number;
		enum vbd_copy_fault fault;
	} rows[] = {{ENOSPC, VBD_COPY_FAULT_NO_SPACE}, {EDQUOT, VBD_COPY_FAULT_QUOTA},
		{EROFS, VBD_COPY_FAULT_READ_ONLY}, {EACCES, VBD_COPY_FAULT_PERMISSION},
		{ENAMETOOLONG, VBD_COPY_FAULT_NAME_TOO_LONG}, {ELOOP, VBD_COPY_FAULT_NOT_REGULAR},
		{EXDEV, VBD_COPY_FAULT_OUTSIDE}, {EMFILE, VBD_COPY_FAULT_NO_RESOURCES},
		{EIO, VBD_COPY_FAULT_IO}, {ENOSYS, VBD_COPY_FAULT_IO}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		assert_int_equal(vbd_copy_fault_of(rows[i].number), rows[i].fault);
}
