/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of processors, as the kernel and systemd write it: "0,2-5".
 *
 * Any thread; never blocks.
 */
#ifndef VBD_BASE_CPUS_H
#define VBD_BASE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

#define VBD_CPUS_MAX	    64	 /* in one list */
#define VBD_CPU_NUMBERS	    1024 /* processors are numbered from 0 to one below this */
#define VBD_CPUS_TEXT_BYTES 256

struct vbd_cpus {
	char text[VBD_CPUS_TEXT_BYTES]; /* "" for none */
	unsigned int numbers[VBD_CPUS_MAX];
	size_t count;
};

/** vbd_cpus_parse - read a list; "" is an empty one. False for any other text, for a number beyond
 * VBD_CPU_NUMBERS, and for more than VBD_CPUS_MAX. */
bool vbd_cpus_parse(const char *text, struct vbd_cpus *ret_cpus);

#endif
