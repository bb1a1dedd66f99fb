/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memfd.h"

#include "base/hugepage.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	static char text[64];
	uint64_t bytes;

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

static void test_memfd__its_memory_is_zeroed_and_there_from_the_start(void **state)
{
	struct fixture *f = *state;

	assert_true((size_t)blocks(f->fd) * 512 >= SIZE_BYTES);
	assert_every_byte(f, 0);
	assert_int_equal(fcntl(f->fd, F_GETFD), FD_CLOEXEC);
}

/* A memfd that takes all memory makes the OOM killer end every process of the host. RLIMIT_FSIZE
 * prevents that here, should the check for it be gone. */
static void test_memfd__memory_that_is_not_there_is_refused_before_it_is_used(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit, low;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = (struct rlimit){.rlim_cur = (rlim_t)1 << 20, .rlim_max = limit.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(
		vbd_memfd_create(vbd_meminfo_bytes("MemTotal"), 0, &fd, &f->err), VBD_E_NO_MEMORY);
	assert_non_null(strstr(f->err.text, "are available on this host"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_memfd__memory_that_others_take_meanwhile_is_told(void **state)
{
	const uint64_t mib = 1048576;
	struct fixture *f = *state;
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
static void test_memfd__huge_pages_that_are_not_there_are_refused(void **state)
{
	struct vbd_error err = {0};
	uint64_t page_bytes;
	int fd = -1;

	(void)state;
	if (vbd_hugepage_choose(0, &page_bytes, &err) != VBD_OK)
		skip();
	assert_int_equal(
		vbd_memfd_create(page_bytes << 18, page_bytes, &fd, &err), VBD_E_NO_MEMORY);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.text, "262144 huge pages"));
}

static void test_memfd__nobody_can_truncate_it(void **state)
{
	struct fixture *f = *state;
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

static void test_memfd__nobody_can_seal_it_further(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(fcntl(f->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(errno, EPERM);
}

static void test_memfd__a_hole_reads_as_zeros(void **state)
{
	struct fixture *f = *state;

	memset(f->bytes, 7, SIZE_BYTES);
	assert_int_equal(
		fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)SIZE_BYTES),
		0);
	assert_every_byte(f, 0);
}

static void test_memfd__a_descriptor_for_reading_can_not_write(void **state)
{
	struct fixture *f = *state;
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

static void test_memfd__a_descriptor_for_writing_has_an_offset_of_its_own(void **state)
{
	struct fixture *f = *state;
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

static void test_memfd__one_from_elsewhere_is_taken_only_if_it_is_like_an_own_one(void **state)
{
	struct fixture *f = *state;
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

static void test_memfd__another_user_gets_no_writable_one_from_it(void **state)
{
	struct fixture *f = *state;
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

static void test_memfd__emptied_it_keeps_no_memory_for_others(void **state)
{
	struct fixture *f = *state;

	memset(f->bytes, 7, SIZE_BYTES);
	vbd_memfd_empty(f->fd, SIZE_BYTES);
	assert_int_equal(blocks(f->fd), 0);
	assert_every_byte(f, 0);
}

#define MEMFD_TEST(name) cmocka_unit_test_setup_teardown(test_memfd__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MEMFD_TEST(its_memory_is_zeroed_and_there_from_the_start),
		MEMFD_TEST(memory_that_is_not_there_is_refused_before_it_is_used),
		MEMFD_TEST(huge_pages_that_are_not_there_are_refused),
		MEMFD_TEST(memory_that_others_take_meanwhile_is_told),
		MEMFD_TEST(nobody_can_truncate_it),
		MEMFD_TEST(nobody_can_seal_it_further),
		MEMFD_TEST(a_hole_reads_as_zeros),
		MEMFD_TEST(a_descriptor_for_reading_can_not_write),
		MEMFD_TEST(a_descriptor_for_writing_has_an_offset_of_its_own),
		MEMFD_TEST(one_from_elsewhere_is_taken_only_if_it_is_like_an_own_one),
		MEMFD_TEST(another_user_gets_no_writable_one_from_it),
		MEMFD_TEST(emptied_it_keeps_no_memory_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
