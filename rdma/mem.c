/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/mem.h"

#include "rdma/device.h"
#include "rdma/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static enum vbd_status map(struct vbd_mem *mem, int flags, int fd, struct vbd_error *err)
{
	void *addr = mmap(NULL, mem->size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (addr == MAP_FAILED)
		return vbd_error_errno(
			err, VBD_OK, "mmap", errno, "%zu bytes can't be mapped", mem->size_bytes);
	/* Remote memory does not belong into a core dump; a kernel that can't leave it out still
	 * works. */
	(void)madvise(addr, mem->size_bytes, MADV_DONTDUMP);
	mem->addr = addr;
	return VBD_OK;
}

static enum vbd_status allocate_shared(struct vbd_mem *mem, struct vbd_error *err)
{
	enum vbd_status status;
	int errnum;
	int fd;

	fd = shm_open(mem->shm_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		status = vbd_error_errno(
			err, VBD_OK, "shm_open", errno, "/dev/shm%s", mem->shm_name);
		mem->shm_name[0] = '\0'; /* it is not ours to unlink */
		return status;
	}
	/* Allocated, not just sized: a full /dev/shm is an error here instead of SIGBUS at the
	 * first touch. */
	errnum = posix_fallocate(fd, 0, (off_t)mem->size_bytes);
	if (errnum) {
		status = vbd_error_errno(err, VBD_E_NO_MEMORY, "posix_fallocate", errnum,
			"/dev/shm%s can't have %zu bytes", mem->shm_name, mem->size_bytes);
		goto unlink;
	}
	status = map(mem, MAP_SHARED, fd, err);
	if (status)
		goto unlink;
	(void)close(fd);
	return VBD_OK;

unlink:
	(void)close(fd);
	(void)shm_unlink(mem->shm_name);
	mem->shm_name[0] = '\0';
	return status;
}

enum vbd_status vbd_mem_allocate(struct vbd_mem *mem, struct vbd_error *err)
{
	if (mem->kind == VBD_MEM_SHARED)
		return allocate_shared(mem, err);
	return map(mem, MAP_PRIVATE | MAP_ANONYMOUS, -1, err);
}

enum vbd_status vbd_mem_register(
	struct vbd_mem *mem, struct vbd_device *device, struct vbd_error *err)
{
	int access = IBV_ACCESS_LOCAL_WRITE;
	enum vbd_status status;

	if (mem->access & VBD_ACCESS_REMOTE_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (mem->access & VBD_ACCESS_REMOTE_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	status = vbd_pv_reg_mr(device->pd, mem->addr, mem->size_bytes, access, &mem->mr, err);
	if (status)
		return status;
	mem->device = device;
	mem->lkey = mem->mr->lkey;
	mem->rkey = mem->mr->rkey;
	return VBD_OK;
}

void vbd_mem_revoke(struct vbd_mem *mem)
{
	vbd_pv_dereg_mr(mem->mr);
	mem->mr = NULL;
}

void vbd_mem_deregister(struct vbd_mem *mem)
{
	struct vbd_device *device = mem->device;

	vbd_mem_revoke(mem);
	mem->device = NULL;
	if (device)
		vbd_device_unref(device);
}

void vbd_mem_unlink(struct vbd_mem *mem)
{
	if (mem->shm_name[0])
		(void)shm_unlink(mem->shm_name);
	mem->shm_name[0] = '\0';
}

void vbd_mem_unmap(struct vbd_mem *mem)
{
	vbd_mem_unlink(mem);
	if (mem->addr)
		(void)munmap(mem->addr, mem->size_bytes);
	mem->addr = NULL;
}

void vbd_mem_free(struct vbd_mem *mem)
{
	vbd_mem_deregister(mem);
	vbd_mem_unmap(mem);
}
