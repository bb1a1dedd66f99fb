/* SPDX-License-Identifier: Apache-2.0 */
/* The linker redirects every allocation here (-Wl,--wrap). */
#include "tests/fake/fake.h"

#include <stdatomic.h>
#include <sys/mman.h>

static atomic_uint calls_left;
static atomic_bool failed;
static atomic_bool lends_huge;

void fake_memory_fail_nth(unsigned int nth)
{
	atomic_store(&failed, false);
	atomic_store(&calls_left, nth);
}

bool fake_memory_failed(void)
{
	return atomic_load(&failed);
}

void fake_memory_lend_huge(bool lends)
{
	atomic_store(&lends_huge, lends);
}

static bool fails(void)
{
	unsigned int left = atomic_load(&calls_left);

	while (left > 0) {
		if (!atomic_compare_exchange_weak(&calls_left, &left, left - 1))
			continue;
		if (left > 1)
			return false;
		atomic_store(&failed, true);
		errno = ENOMEM;
		return true;
	}
	return false;
}

void *__real_malloc(size_t len_bytes);
void *__real_calloc(size_t count, size_t len_bytes);
void *__real_realloc(void *old, size_t len_bytes);
void *__real_reallocarray(void *old, size_t count, size_t len_bytes);
void *__real_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t len_bytes);
void *__wrap_malloc(size_t len_bytes)
{
	return fails() ? NULL : __real_malloc(len_bytes);
}

void *__wrap_calloc(size_t count, size_t len_bytes);
void *__wrap_calloc(size_t count, size_t len_bytes)
{
	return fails() ? NULL : __real_calloc(count, len_bytes);
}

void *__wrap_realloc(void *old, size_t len_bytes);
void *__wrap_realloc(void *old, size_t len_bytes)
{
	return fails() ? NULL : __real_realloc(old, len_bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t len_bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t len_bytes)
{
	return fails() ? NULL : __real_reallocarray(old, count, len_bytes);
}

void *__wrap_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, off_t offset)
{
	/* The size of the pages is among the flags, too. */
	if (flags & MAP_HUGETLB && atomic_load(&lends_huge))
		flags &= MAP_PRIVATE | MAP_ANONYMOUS;
	return fails() ? MAP_FAILED : __real_mmap(addr, len_bytes, prot, flags, fd, offset);
}

void *fake_allocate(size_t len_bytes)
{
	void *memory = __real_calloc(1, len_bytes);

	if (!memory)
		fake_abort("out of memory");
	return memory;
}

void *fake_grow(void *old, size_t len_bytes)
{
	void *memory = __real_realloc(old, len_bytes);

	if (!memory)
		fake_abort("out of memory");
	return memory;
}
