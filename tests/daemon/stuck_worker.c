/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: a data worker that is about to sleep blocks in open(2) on the FIFO VBD_STUCK_FIFO
 * for as long as nobody writes to it. Without the FIFO nothing is different.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WORKER "verbsd-data-"

typedef int (*wait_fn)(int, struct epoll_event *, int, int);

static void block_worker(void)
{
	const char *path = getenv("VBD_STUCK_FIFO");
	char name[16] = "";
	int fd;

	if (!path || pthread_getname_np(pthread_self(), name, sizeof(name)) ||
		strncmp(name, WORKER, strlen(WORKER)) != 0)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)close(fd);
}

int epoll_wait(int epoll_fd, struct epoll_event *events, int room, int timeout_ms)
{
	void *symbol = dlsym(RTLD_NEXT, "epoll_wait");
	wait_fn real;

	block_worker();
	memcpy(&real, &symbol, sizeof(real)); /* ISO C has no cast to a function */
	return real(epoll_fd, events, room, timeout_ms);
}
