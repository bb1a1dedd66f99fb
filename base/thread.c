/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include "base/clock.h"

#include <signal.h>

enum vbd_status vbd_thread_start(void *(*main)(void *), void *arg, const char *what,
	pthread_t *ret_thread, struct vbd_error *err)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(ret_thread, NULL, main, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? vbd_error_errno(err, VBD_OK, "pthread_create", rc, "%s", what) : VBD_OK;
}

void vbd_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

struct timespec vbd_cond_deadline(unsigned int timeout_ms)
{
	uint64_t until_ns = vbd_clock_mono_ns() + timeout_ms * VBD_NS_PER_MS;

	return (struct timespec){
		.tv_sec = (time_t)(until_ns / VBD_NS_PER_S),
		.tv_nsec = (long)(until_ns % VBD_NS_PER_S),
	};
}
