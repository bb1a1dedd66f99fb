/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory: allocated here, zeroed, registered with one protection domain.
 *
 * vbd_mem_allocate() and vbd_mem_register() may run on a pool thread and take time in proportion to
 * the size; the rest runs on the control thread.
 */
#ifndef VBD_RDMA_DEVICE_MEM_H
#define VBD_RDMA_DEVICE_MEM_H

#include "rdma/provider/account.h"

struct ibv_mr;
struct vbd_pd;

enum vbd_mem_kind {
	VBD_MEM_ANONYMOUS,
	VBD_MEM_SHARED,	  /* behind a descriptor that local programs can map */
	VBD_MEM_HUGEPAGE, /* anonymous, of huge pages */
};

enum vbd_mem_access {
	VBD_ACCESS_REMOTE_WRITE = 1,
	VBD_ACCESS_REMOTE_READ = 2,
	VBD_ACCESS_REMOTE_ATOMIC = 4,
	VBD_ACCESS_MW_BIND = 8, /* memory windows may be bound to it */
};

/** vbd_mem_access_flags - IBV_ACCESS_* for the bits of enum vbd_mem_access, without local write */
unsigned int vbd_mem_access_flags(unsigned int access);

struct vbd_mem {
	enum vbd_mem_kind kind;
	unsigned int access;   /* vbd_mem_access */
	bool relaxed_ordering; /* the device may reorder what it writes */
	bool on_demand_paging; /* not pinned: the device faults pages in */
	size_t size_bytes;
	size_t page_size_bytes; /* of vbd_hugepage_choose() for huge pages, which HUGEPAGE has, and
				   SHARED if this is more than the kernel's normal page */
	uintptr_t addr;		/* for devices, 0: not mapped; this process uses the calls below */
	bool has_bytes;		/* SHARED: `fd` is memory of an earlier run, with its bytes */
	int fd;		   /* SHARED: of vbd_memfd_create() while `addr` or `has_bytes` is set */
	struct vbd_pd *pd; /* with a reference while registered */
	struct vbd_account account;
	struct ibv_mr *mr; /* NULL while not registered */
	uint32_t lkey;
	uint32_t rkey;
};

/** vbd_mem_is_huge - does the memory consist of huge pages? */
bool vbd_mem_is_huge(const struct vbd_mem *mem);

/** vbd_mem_mapped_bytes - the mapped size: size_bytes rounded up to whole huge pages */
size_t vbd_mem_mapped_bytes(const struct vbd_mem *mem);

/** vbd_mem_allocate - map @mem->size_bytes of zeroed memory of @mem->kind, or with `has_bytes`
 * that of `fd`, which vbd_memfd_check() has passed; any thread */
enum vbd_status vbd_mem_allocate(struct vbd_mem *mem, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_mem_register - register with a protection domain; any thread
 *
 * The caller has a reference to @pd meanwhile; a success takes the reference over.
 */
enum vbd_status vbd_mem_register(
	struct vbd_mem *mem, struct vbd_pd *pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_mem_plan - control; take the reference to @pd for vbd_mem_prepare() on another thread.
 * vbd_mem_deregister() returns it. */
void vbd_mem_plan(struct vbd_mem *mem, struct vbd_pd *pd);

/** vbd_mem_prepare - any thread; allocate and register; a failure leaves nothing */
enum vbd_status vbd_mem_prepare(struct vbd_mem *mem, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_mem_unprepare - any thread; deregister and unmap; harmless if there is nothing */
void vbd_mem_unprepare(struct vbd_mem *mem);

/**
 * vbd_mem_revoke - no peer and no work request can use the memory any more; any thread
 *
 * Takes time in proportion to the size. The reference to its PD stays until vbd_mem_deregister().
 */
void vbd_mem_revoke(struct vbd_mem *mem);

/**
 * vbd_mem_own - the memory of a mem that only this process maps
 *
 * Returns NULL for SHARED memory, of which no plain access is safe: see vbd_mem_read(). Any thread.
 */
uint8_t *vbd_mem_own(const struct vbd_mem *mem);

/**
 * vbd_mem_read - copy bytes out of the memory
 * vbd_mem_write - copy bytes into the memory
 * @offset, @len_bytes: inside the memory
 *
 * The only way in which this process itself touches shared memory: a program that has a descriptor
 * of it can give pages back, and then a plain access ends in SIGBUS if the kernel has no page to
 * replace one, as happens with huge pages.
 *
 * Any thread; takes time in proportion to the length. Returns VBD_E_NO_MEMORY in that case.
 */
enum vbd_status vbd_mem_read(const struct vbd_mem *mem, size_t offset, void *bytes,
	size_t len_bytes, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_mem_write(const struct vbd_mem *mem, size_t offset, const void *bytes,
	size_t len_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_mem_load - as vbd_mem_read(), from the address of a range of memory of any kind; a system
 * call for any length */
enum vbd_status vbd_mem_load(
	uintptr_t addr, void *bytes, size_t len_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_mem_empty - give deregistered shared memory back to the kernel, whoever maps it
 *
 * Programs that map it read zeros from then on. Does nothing to memory of other kinds. Any thread;
 * takes time in proportion to the size.
 */
void vbd_mem_empty(struct vbd_mem *mem);

/** vbd_mem_unmap - unmap the deregistered memory; other programs keep what they map; any thread */
void vbd_mem_unmap(struct vbd_mem *mem);

/** vbd_mem_deregister - control; no work request uses the memory. Harmless if not registered. */
void vbd_mem_deregister(struct vbd_mem *mem);

/** vbd_mem_free - control; deregister and unmap */
void vbd_mem_free(struct vbd_mem *mem);

#endif
