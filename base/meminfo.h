/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's figures about memory, from /proc/meminfo.
 *
 * Any thread. Reads a small file, which is in memory.
 */
#ifndef VBD_BASE_MEMINFO_H
#define VBD_BASE_MEMINFO_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Other programs allocate at the same time: large memory is allocated in steps, with a check before
 * each. */
#define VBD_MEMINFO_STEP_BYTES ((size_t)64 << 20)

/**
 * vbd_meminfo_bytes - one figure
 * @name: as in proc(5), "MemAvailable" for example
 *
 * Returns bytes, 0 if the kernel does not have the figure.
 */
uint64_t vbd_meminfo_bytes(const char *name);

/**
 * vbd_meminfo_check - ask whether memory can be used without a lack of it for others
 *
 * If pages that are pinned, or those of a memfd, are the last ones, the OOM killer ends this
 * process or all others. Returns VBD_E_NO_MEMORY unless a sixteenth of what is available is left.
 * What can't be known is not refused.
 */
enum vbd_status vbd_meminfo_check(size_t size_bytes, struct vbd_error *err) VBD_MUST_CHECK;

#endif
