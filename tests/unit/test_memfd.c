/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memfd.h"

#include "base/hugepage.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE_BYTES   ((size_t)12345)
#define ANOTHER_USER 12345

struct fixture {
	int fd;
	unsigned int descriptors; /* before it */
	uint8_t *bytes;		  /* the mapping that must stay readable */
	struct vbd_error err;
};

/* How much memory is available at the next calls; 0: as the kernel says. */
static uint64_t available_bytes[4];
static size_t n_asked;

/* The files of a host with huge pages of 2 MiB: all that is read while there are any. */
#define HUGE_DIR  "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define FREE_FILE HUGE_DIR "free_hugepages"
static struct {
	const char *path, *text;
} files[10];

/* The pages that the failed attempt holds are not free while it holds them. */
static bool attempt_fails, attempt_holds;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_fallocate(int fd, int mode, off_t offset, off_t len);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len);

static FILE *open_file(const char *path)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(files) && files[i].path; i++) {
		const char *text = files[i].text;

		if (strcmp(path, files[i].path) != 0)
			continue;
		if (attempt_holds && strcmp(path, FREE_FILE) == 0)
			text = "0\n";
		return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	}
	errno = ENOENT;
	return NULL;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t len)
{
	if (!attempt_fails)
		return __real_fallocate(fd, mode, offset, len);
	attempt_holds = mode == 0;
	errno = ENOSPC;
	return attempt_holds ? -1 : 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	static char text[64];
	uint64_t bytes;

	if (files[0].path)
		return open_file(path);
	if (strcmp(path, "/proc/meminfo") != 0)
		return __real_fopen(path, mode);
	bytes = n_asked < VBD_ARRAY_LEN(available_bytes) ? available_bytes[n_asked] : 0;
	n_asked++;
	if (!bytes)
		return __real_fopen(path, mode);
	(void)snprintf(text, sizeof(text), "MemAvailable: %" PRIu64 " kB\n", bytes >> 10);
	return fmemopen(text, strlen(text), "r");
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memset(available_bytes, 0, sizeof(available_bytes));
	f->descriptors = unit_descriptors();
	assert_int_equal(vbd_memfd_create(SIZE_BYTES, 0, &f->fd, &f->err), VBD_OK);
	f->bytes = mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)munmap(f->bytes, SIZE_BYTES);
	(void)close(f->fd);
	assert_int_equal(unit_descriptors(), f->descriptors);
	free(f);
	return 0;
}

#define MEMFD_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void assert_every_byte(const struct fixture *f, uint8_t value)
{
	for (size_t i = 0; i < SIZE_BYTES; i++)
		assert_int_equal(f->bytes[i], value);
}

static blkcnt_t blocks(int fd)
{
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_size, SIZE_BYTES);
	return stat.st_blocks;
}

MEMFD_TEST(test_memfd__its_memory_is_zeroed_and_there_from_the_start)
{
	assert_true((size_t)blocks(f->fd) * 512 >= SIZE_BYTES);
	assert_every_byte(f, 0);
	assert_int_equal(fcntl(f->fd, F_GETFD), FD_CLOEXEC);
}

/* A memfd that takes all memory makes the OOM killer end every process of the host. RLIMIT_FSIZE
 * prevents that here, should the check for it be gone. */
MEMFD_TEST(test_memfd__memory_that_is_not_there_is_refused_before_it_is_used)
{
	struct rlimit limit, low;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = (struct rlimit){.rlim_cur = (rlim_t)1 << 20, .rlim_max = limit.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(
		vbd_memfd_create(vbd_proc_bytes("/proc/meminfo", "MemTotal"), 0, &fd, &f->err),
		VBD_E_NO_MEMORY);
	assert_non_null(strstr(f->err.text, "are available on this host"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

MEMFD_TEST(test_memfd__memory_that_others_take_meanwhile_is_told)
{
	const uint64_t mib = 1048576;
	int fd = -1;

	n_asked = 0;
	available_bytes[0] = 64 * mib;
	available_bytes[1] = 15 * mib; /* a sixteenth is for the others */
	assert_int_equal(vbd_memfd_create(15 * mib, 0, &fd, &f->err), VBD_E_NO_MEMORY);
	assert_int_equal(fd, -1);
	assert_string_equal(
		f->err.text, "15728640 bytes are needed, and 15728640 are available on this host");
	assert_int_equal(n_asked, 2);
	n_asked = 0;
	available_bytes[1] = 16 * mib;
	assert_int_equal(vbd_memfd_create(15 * mib, 0, &fd, &f->err), VBD_OK);
	(void)close(fd);
}

/* cp(1) opens its destination so. Afterwards the mapping would end in SIGBUS. */
/* More huge pages than any machine has reserved. */
MEMFD_TEST(test_memfd__huge_pages_that_are_not_there_are_refused)
{
	struct vbd_error err = {0};
	uint64_t page_bytes;
	int fd = -1;

	if (vbd_hugepage_choose(0, &page_bytes, &err) != VBD_OK)
		skip();
	assert_int_equal(
		vbd_memfd_create(page_bytes << 18, page_bytes, &fd, &err), VBD_E_NO_MEMORY);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.text, "262144 huge pages"));
}

/* Fill @files, from pairs of a path and a text. */
static void have_files(const char *const (*rows)[2], size_t count)
{
	memset(files, 0, sizeof(files));
	for (size_t i = 0; i < count; i++) {
		files[i].path = rows[i][0];
		files[i].text = rows[i][1];
	}
}

MEMFD_TEST(test_memfd__huge_pages_that_an_attempt_took_are_free_again)
{
	static const char *const rows[][2] = {{HUGE_DIR "nr_hugepages", "4\n"}, {FREE_FILE, "2\n"},
		{HUGE_DIR "resv_hugepages", "0\n"}};
	struct vbd_error err = {0};
	enum vbd_status status;
	int fd = -1;

	have_files(rows, VBD_ARRAY_LEN(rows));
	attempt_fails = true;
	status = vbd_memfd_create((size_t)8 << 20, (size_t)2 << 20, &fd, &err);
	attempt_fails = attempt_holds = false;
	have_files(NULL, 0);
	assert_int_equal(status, VBD_E_NO_MEMORY);
	assert_string_equal(err.text,
		"4 huge pages of 2097152 bytes are needed, 2 of 4 are free: echo 6 > " HUGE_DIR
		"nr_hugepages");
}

/* The text for 4 pages where 30 of 32 are free. */
static void must_explain(const char *const (*more)[2], size_t count, const char *text)
{
	const char *rows[VBD_ARRAY_LEN(files)][2] = {{HUGE_DIR "nr_hugepages", "32\n"},
		{FREE_FILE, "30\n"}, {HUGE_DIR "resv_hugepages", "0\n"}};
	struct vbd_error err = {0};
	enum vbd_status status;

	memcpy(rows + 3, more, count * sizeof(rows[0]));
	have_files((const char *const(*)[2])rows, count + 3);
	status = vbd_hugepage_shortage((uint64_t)2 << 20, 4, &err);
	have_files(NULL, 0);
	assert_int_equal(status, VBD_E_NO_MEMORY);
	assert_string_equal(err.text, text);
}

#define NEEDED "4 huge pages of 2097152 bytes are needed, 30 of 32 are free, "
#define OTHER  NEEDED "and the kernel refused them for another reason, as a NUMA policy"
#define V2     "/sys/fs/cgroup/"
#define V1     "/sys/fs/cgroup/hugetlb/"

MEMFD_TEST(test_memfd__huge_pages_within_the_free_ones_are_refused_by_another_limit)
{
	static const struct {
		const char *files[4][2];
		const char *text;
	} rows[] = {
		{{{"/proc/self/cgroup", "0::/\n"}}, OTHER},
		{{{"/proc/self/cgroup", "0::/a/b\n"}, {V2 "a/b/hugetlb.2MB.max", "max\n"},
			 {V2 "a/b/hugetlb.2MB.rsvd.max", "8388608\n"}},
			OTHER},
		{{{"/proc/self/cgroup", "0::/a/b\n"}, {V2 "a/b/hugetlb.2MB.max", "4194304\n"}},
			NEEDED "but " V2 "a/b/hugetlb.2MB.max is 4194304, and 0 are used"},
		{{{"/proc/self/cgroup", "0::/a/b\n"}, {V2 "a/b/hugetlb.2MB.max", "max\n"},
			 {V2 "a/hugetlb.2MB.rsvd.max", "0\n"}},
			NEEDED "but " V2 "a/hugetlb.2MB.rsvd.max is 0, and 0 are used"},
		{{{"/proc/self/cgroup", "0::/\n"}, {V2 "hugetlb.2MB.max", "10485760\n"},
			 {V2 "hugetlb.2MB.current", "4194304\n"}},
			NEEDED "but " V2 "hugetlb.2MB.max is 10485760, and 4194304 are used"},
		{{{"/proc/self/cgroup", "7:cpu:/x\n3:misc,hugetlb:/a:b\n0::/\n"},
			 {V1 "a:b/hugetlb.2MB.limit_in_bytes", "2097152\n"}},
			NEEDED "but " V1
			       "a:b/hugetlb.2MB.limit_in_bytes is 2097152, and 0 are used"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		size_t count = 0;

		while (count < VBD_ARRAY_LEN(rows[i].files) && rows[i].files[count][0])
			count++;
		must_explain(rows[i].files, count, rows[i].text);
	}
}

MEMFD_TEST(test_memfd__nobody_can_truncate_it)
{
	char path[40];

	memset(f->bytes, 7, SIZE_BYTES);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	assert_int_equal(open(path, O_WRONLY | O_TRUNC), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(f->fd, 0), -1);
	assert_int_equal(ftruncate(f->fd, (off_t)SIZE_BYTES + 1), -1);
	assert_int_equal(fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)1 << 20), -1);
	assert_every_byte(f, 7);
}

MEMFD_TEST(test_memfd__nobody_can_seal_it_further)
{
	assert_int_equal(fcntl(f->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(errno, EPERM);
}

MEMFD_TEST(test_memfd__a_hole_reads_as_zeros)
{
	memset(f->bytes, 7, SIZE_BYTES);
	assert_int_equal(
		fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)SIZE_BYTES),
		0);
	assert_every_byte(f, 0);
}

MEMFD_TEST(test_memfd__a_descriptor_for_reading_can_not_write)
{
	uint8_t byte = 1;
	void *bytes;
	int fd;

	assert_int_equal(vbd_memfd_reopen(f->fd, false, &fd, &f->err), VBD_OK);
	assert_int_equal(write(fd, &byte, 1), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	assert_ptr_equal(
		mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	bytes = mmap(NULL, SIZE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	assert_int_equal(mprotect(bytes, SIZE_BYTES, PROT_READ | PROT_WRITE), -1);
	f->bytes[0] = 9;
	assert_int_equal(*(uint8_t *)bytes, 9);
	assert_int_equal(munmap(bytes, SIZE_BYTES), 0);
	assert_int_equal(close(fd), 0);
}

MEMFD_TEST(test_memfd__a_descriptor_for_writing_has_an_offset_of_its_own)
{
	uint8_t byte = 1;
	int fd;

	assert_int_equal(vbd_memfd_reopen(f->fd, true, &fd, &f->err), VBD_OK);
	assert_int_equal(write(fd, &byte, 1), 1);
	assert_int_equal(f->bytes[0], 1);
	assert_int_equal(lseek(f->fd, 0, SEEK_CUR), 0);
	assert_int_equal(close(fd), 0);
}

static void must_refuse(int fd, size_t size_bytes, const char *text)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_memfd_check(fd, size_bytes, 0, &err), VBD_E_BAD_VALUE);
	assert_non_null(strstr(err.text, text));
}

MEMFD_TEST(test_memfd__one_from_elsewhere_is_taken_only_if_it_is_like_an_own_one)
{
	int other = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int fds[2];
	int fd = -1;

	assert_int_equal(vbd_memfd_check(f->fd, SIZE_BYTES, 0, &f->err), VBD_OK);
	must_refuse(f->fd, SIZE_BYTES + 1, "has 12345 bytes, and 12346 are wanted");
	assert_int_equal(
		vbd_memfd_check(f->fd, SIZE_BYTES, (size_t)2 << 20, &f->err), VBD_E_BAD_VALUE);
	assert_int_equal(vbd_memfd_reopen(f->fd, false, &fd, &f->err), VBD_OK);
	must_refuse(fd, SIZE_BYTES, "another mode");
	assert_int_equal(ftruncate(other, SIZE_BYTES), 0);
	must_refuse(other, SIZE_BYTES, "not sealed");
	assert_int_equal(fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	must_refuse(other, SIZE_BYTES, "another mode");
	assert_int_equal(pipe(fds), 0);
	must_refuse(fds[0], SIZE_BYTES, "not sealed");
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(other);
	(void)close(fd);
}

MEMFD_TEST(test_memfd__another_user_gets_no_writable_one_from_it)
{
	char path[40];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(setuid(ANOTHER_USER) == 0 && open(path, O_RDONLY) >= 0 &&
					open(path, O_RDWR) < 0 && errno == EACCES
				? 0
				: 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

MEMFD_TEST(test_memfd__emptied_it_keeps_no_memory_for_others)
{
	memset(f->bytes, 7, SIZE_BYTES);
	vbd_memfd_empty(f->fd, SIZE_BYTES);
	assert_int_equal(blocks(f->fd), 0);
	assert_every_byte(f, 0);
}
