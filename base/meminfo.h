/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's figures about memory, from /proc/meminfo.
 *
 * Any thread. Reads a small file, which is in memory.
 */
#ifndef VBD_BASE_MEMINFO_H
#define VBD_BASE_MEMINFO_H

#include <stdint.h>

/**
 * vbd_meminfo_bytes - one figure
 * @name: as in proc(5), "MemAvailable" for example
 *
 * Returns bytes, 0 if the kernel does not have the figure.
 */
uint64_t vbd_meminfo_bytes(const char *name);

#endif
