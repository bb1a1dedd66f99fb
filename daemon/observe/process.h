/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time, memory and file descriptors of this process.
 *
 * Any thread. The time that it takes grows with the number of file descriptors.
 */
#ifndef VBD_DAEMON_OBSERVE_PROCESS_H
#define VBD_DAEMON_OBSERVE_PROCESS_H

#include <stdint.h>

struct vbd_process {
	uint64_t cpu_ns; /* of all threads, in user and kernel mode */
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t open_fds;
	uint64_t max_fds;
};

/** vbd_process_read - read all members; 0 where /proc can't be read */
void vbd_process_read(struct vbd_process *ret_process);

#endif
