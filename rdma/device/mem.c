/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/mem.h"

#include "base/hugepage.h"
#include "base/memfd.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/provider/provider.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

unsigned int vbd_mem_access_flags(unsigned int access)
{
	unsigned int flags = 0;

	if (access & VBD_ACCESS_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (access & VBD_ACCESS_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & VBD_ACCESS_REMOTE_ATOMIC)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	if (access & VBD_ACCESS_MW_BIND)
		flags |= IBV_ACCESS_MW_BIND;
	return flags;
}

static bool is_shared(const struct vbd_mem *mem)
{
	return mem->kind == VBD_MEM_SHARED;
}

bool vbd_mem_is_huge(const struct vbd_mem *mem)
{
	return mem->kind == VBD_MEM_HUGEPAGE ||
	       (is_shared(mem) && mem->page_size_bytes > (size_t)sysconf(_SC_PAGESIZE));
}

size_t vbd_mem_mapped_bytes(const struct vbd_mem *mem)
{
	if (!vbd_mem_is_huge(mem))
		return mem->size_bytes;
	return (mem->size_bytes + mem->page_size_bytes - 1) / mem->page_size_bytes *
	       mem->page_size_bytes;
}

static enum vbd_status set_shortage_error(const struct vbd_mem *mem, struct vbd_error *err)
{
	return vbd_hugepage_shortage(
		mem->page_size_bytes, vbd_mem_mapped_bytes(mem) / mem->page_size_bytes, err);
}

static enum vbd_status map_memory(struct vbd_mem *mem, int flags, int fd, struct vbd_error *err)
{
	size_t mapped_bytes = vbd_mem_mapped_bytes(mem);
	void *addr = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (addr == MAP_FAILED && errno == ENOMEM && vbd_mem_is_huge(mem))
		return set_shortage_error(mem, err);
	if (addr == MAP_FAILED)
		return vbd_error_errno(
			err, VBD_OK, "mmap", errno, "%zu bytes can't be mapped", mapped_bytes);
	/* A core dump must not contain remote memory; without kernel support the memory still
	 * works. */
	(void)madvise(addr, mapped_bytes, MADV_DONTDUMP);
	mem->addr = (uintptr_t)addr;
	return VBD_OK;
}

static enum vbd_status allocate_shared(struct vbd_mem *mem, struct vbd_error *err)
{
	enum vbd_status status;

	if (mem->has_bytes)
		return map_memory(mem, MAP_SHARED, mem->fd, err);
	status = vbd_memfd_create(vbd_mem_mapped_bytes(mem),
		vbd_mem_is_huge(mem) ? mem->page_size_bytes : 0, &mem->fd, err);

	if (status)
		return status;
	status = map_memory(mem, MAP_SHARED, mem->fd, err);
	if (status)
		(void)close(mem->fd);
	return status;
}

static int huge_page_flags(const struct vbd_mem *mem)
{
	/* The flags contain the logarithm of the page size: mmap(2). */
	return MAP_HUGETLB | __builtin_ctzll(mem->page_size_bytes) << MAP_HUGE_SHIFT;
}

/* A lack of memory is an error here; in a registration the OOM killer would end processes, or huge
 * pages would fail with EFAULT. A kernel that can't populate pages leaves them to the registration,
 * after the first vbd_meminfo_check(). */
static enum vbd_status populate_pages(struct vbd_mem *mem, struct vbd_error *err)
{
	bool is_huge = vbd_mem_is_huge(mem);
	enum vbd_status status = VBD_OK;
	size_t at, step;

	for (at = 0; at < mem->size_bytes && status == VBD_OK; at += step) {
		size_t left = mem->size_bytes - at;

		step = left < VBD_MEMINFO_STEP_BYTES ? left : VBD_MEMINFO_STEP_BYTES;
		if (!is_huge)
			status = vbd_meminfo_check(left, err);
		if (status == VBD_OK &&
			madvise((void *)(mem->addr + at), step, MADV_POPULATE_WRITE) != 0 &&
			is_huge && errno != EINVAL) {
			/* The pages that were there are counted as free ones. */
			vbd_mem_unmap(mem);
			return set_shortage_error(mem, err);
		}
	}
	if (status != VBD_OK)
		vbd_mem_unmap(mem);
	return status;
}

enum vbd_status vbd_mem_allocate(struct vbd_mem *mem, struct vbd_error *err)
{
	enum vbd_status status;

	if (is_shared(mem))
		return allocate_shared(mem, err);
	status = map_memory(mem,
		MAP_PRIVATE | MAP_ANONYMOUS | (vbd_mem_is_huge(mem) ? huge_page_flags(mem) : 0), -1,
		err);
	if (status != VBD_OK || mem->on_demand_paging)
		return status;
	return populate_pages(mem, err);
}

static enum vbd_status reg_mr(struct vbd_mem *mem, const struct vbd_pd *pd, struct vbd_error *err)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | vbd_mem_access_flags(mem->access);
	enum vbd_status status;

	if (mem->relaxed_ordering)
		access |= IBV_ACCESS_RELAXED_ORDERING;
	if (mem->on_demand_paging)
		access |= IBV_ACCESS_ON_DEMAND;
	status = vbd_pv_reg_mr(&mem->account, pd->ibv_pd, (void *)mem->addr, mem->size_bytes,
		(int)access, &mem->mr, err);
	if (status)
		return status;
	mem->lkey = mem->mr->lkey;
	mem->rkey = mem->mr->rkey;
	return VBD_OK;
}

enum vbd_status vbd_mem_register(struct vbd_mem *mem, struct vbd_pd *pd, struct vbd_error *err)
{
	enum vbd_status status = reg_mr(mem, pd, err);

	if (!status)
		mem->pd = pd;
	return status;
}

void vbd_mem_plan(struct vbd_mem *mem, struct vbd_pd *pd)
{
	vbd_pd_ref(pd);
	mem->pd = pd;
}

enum vbd_status vbd_mem_prepare(struct vbd_mem *mem, struct vbd_error *err)
{
	enum vbd_status status = vbd_mem_allocate(mem, err);

	if (!status)
		status = reg_mr(mem, mem->pd, err);
	if (status)
		vbd_mem_unprepare(mem);
	return status;
}

void vbd_mem_unprepare(struct vbd_mem *mem)
{
	vbd_mem_revoke(mem);
	vbd_mem_unmap(mem);
}

void vbd_mem_revoke(struct vbd_mem *mem)
{
	vbd_pv_dereg_mr(&mem->account, mem->mr);
	mem->mr = NULL;
}

void vbd_mem_deregister(struct vbd_mem *mem)
{
	struct vbd_pd *pd = mem->pd;

	vbd_mem_revoke(mem);
	mem->pd = NULL;
	if (pd)
		vbd_pd_unref(pd);
}

/* The kernel copies, and answers EFAULT where a plain access ends in a signal. */
static enum vbd_status check_copied(ssize_t copied, size_t len_bytes, struct vbd_error *err)
{
	if (copied == (ssize_t)len_bytes)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_NO_MEMORY,
		"a program has given back pages of the shared memory, and there are no others%s%s",
		copied < 0 ? ": " : "", copied < 0 ? vbd_errno_name(errno) : "");
}

uint8_t *vbd_mem_own(const struct vbd_mem *mem)
{
	return is_shared(mem) ? NULL : (uint8_t *)mem->addr;
}

enum vbd_status vbd_mem_load(uintptr_t addr, void *bytes, size_t len_bytes, struct vbd_error *err)
{
	const struct iovec to = {.iov_base = bytes, .iov_len = len_bytes};
	const struct iovec from = {.iov_base = (void *)addr, .iov_len = len_bytes};

	return check_copied(process_vm_readv(getpid(), &to, 1, &from, 1, 0), len_bytes, err);
}

enum vbd_status vbd_mem_read(const struct vbd_mem *mem, size_t offset, void *bytes,
	size_t len_bytes, struct vbd_error *err)
{
	if (is_shared(mem))
		return vbd_mem_load(mem->addr + offset, bytes, len_bytes, err);
	memcpy(bytes, vbd_mem_own(mem) + offset, len_bytes);
	return VBD_OK;
}

enum vbd_status vbd_mem_write(const struct vbd_mem *mem, size_t offset, const void *bytes,
	size_t len_bytes, struct vbd_error *err)
{
	const struct iovec to = {.iov_base = (void *)(mem->addr + offset), .iov_len = len_bytes};
	/* The cast is safe: the kernel reads from there. */
	const struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len_bytes};

	if (is_shared(mem))
		return check_copied(
			process_vm_writev(getpid(), &from, 1, &to, 1, 0), len_bytes, err);
	memcpy(vbd_mem_own(mem) + offset, bytes, len_bytes);
	return VBD_OK;
}

void vbd_mem_empty(struct vbd_mem *mem)
{
	if (is_shared(mem) && mem->addr)
		vbd_memfd_empty(mem->fd, vbd_mem_mapped_bytes(mem));
}

void vbd_mem_unmap(struct vbd_mem *mem)
{
	if (is_shared(mem) && (mem->addr || mem->has_bytes))
		(void)close(mem->fd);
	if (mem->addr)
		(void)munmap((void *)mem->addr, vbd_mem_mapped_bytes(mem));
	mem->addr = 0;
	mem->has_bytes = false;
	vbd_account_close(&mem->account);
}

void vbd_mem_free(struct vbd_mem *mem)
{
	vbd_mem_deregister(mem);
	vbd_mem_unmap(mem);
}
