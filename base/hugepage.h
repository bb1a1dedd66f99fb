/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The huge pages that the kernel has: sizes and numbers, from sysfs and procfs.
 *
 * Any thread; reads some small files of file systems in memory.
 */
#ifndef VBD_BASE_HUGEPAGE_H
#define VBD_BASE_HUGEPAGE_H

#include "base/error.h"

#include <stdint.h>

/**
 * vbd_hugepage_choose - the size that a mapping gets
 * @wanted_bytes: 0 for the kernel's default
 *
 * Returns VBD_OK; VBD_E_NOT_SUPPORTED for a kernel without huge pages; VBD_E_BAD_VALUE for a size
 * that it does not have, naming those that it has.
 */
enum vbd_status vbd_hugepage_choose(
	uint64_t wanted_bytes, uint64_t *ret_page_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_hugepage_shortage - say why a mapping of huge pages was refused, and how to get more
 * @page_bytes: as vbd_hugepage_choose() gave it
 * @pages:      how many the mapping needs
 *
 * Returns VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_hugepage_shortage(uint64_t page_bytes, uint64_t pages, struct vbd_error *err);

#endif
