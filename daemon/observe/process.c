/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/process.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void read_memory(struct vbd_process *process)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long pages, resident_pages;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return;
	if (fscanf(file, "%llu %llu", &pages, &resident_pages) == 2) {
		process->virtual_bytes = pages * page_bytes;
		process->resident_bytes = resident_pages * page_bytes;
	}
	(void)fclose(file);
}

/* The folder has an entry for each file descriptor, that of the folder itself included. */
static uint64_t count_fds(void)
{
	const struct dirent *entry;
	uint64_t count = 0;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	(void)closedir(dir);
	return count ? count - 1 : 0;
}

void vbd_process_read(struct vbd_process *ret_process)
{
	struct rlimit limit = {0};
	struct timespec cpu = {0};

	*ret_process = (struct vbd_process){.open_fds = count_fds()};
	read_memory(ret_process);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	ret_process->max_fds = limit.rlim_cur;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	ret_process->cpu_ns = (uint64_t)cpu.tv_sec * VBD_NS_PER_S + (uint64_t)cpu.tv_nsec;
}
