/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes and the number of huge pages that the kernel offers, from sysfs and procfs.
 *
 * Any thread. Functions read a few small files, which are in memory.
 */
#ifndef VBD_BASE_HUGEPAGE_H
#define VBD_BASE_HUGEPAGE_H

#include "base/error.h"

/**
 * vbd_hugepage_choose - choose the page size of a mapping
 * @wanted_bytes:   a size, or 0 for the kernel's default huge page size
 * @ret_page_bytes: set on success
 *
 * Returns VBD_OK; VBD_E_NOT_SUPPORTED if the kernel has no huge pages; VBD_E_BAD_VALUE if it has
 * none of this size, with the sizes that exist in @err.
 */
enum vbd_status vbd_hugepage_choose(
	uint64_t wanted_bytes, uint64_t *ret_page_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_hugepage_shortage - record why the kernel refused a mapping of huge pages, and how to get
 * more
 * @page_size_bytes: a result of vbd_hugepage_choose()
 * @pages:      how many pages the mapping needs; those that it had are free again
 *
 * If enough pages are free, a limit of the hugetlb controller of cgroups is the reason that is
 * looked for. Returns VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_hugepage_shortage(
	uint64_t page_size_bytes, uint64_t pages, struct vbd_error *err);

/* Other programs allocate at the same time: large memory is allocated in steps, with a check before
 * each. */
#define VBD_MEMINFO_STEP_BYTES ((size_t)64 << 20)

/**
 * vbd_proc_bytes - one figure of a file like /proc/meminfo
 * @name: as in proc(5), "MemAvailable" for example
 *
 * Returns bytes, 0 if the kernel does not have the figure.
 */
uint64_t vbd_proc_bytes(const char *path, const char *name);

/**
 * vbd_meminfo_check - ask whether memory can be used without a lack of it for others
 *
 * If pages that are pinned, or those of a memfd, are the last ones, the OOM killer ends this
 * process or all others. Returns VBD_E_NO_MEMORY unless a sixteenth of what is available is left.
 * What can't be known is not refused.
 */
enum vbd_status vbd_meminfo_check(size_t size_bytes, struct vbd_error *err) VBD_MUST_CHECK;

#endif
