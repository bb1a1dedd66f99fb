/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that serve a queue: signals go to the other threads, and waits end by monotonic time.
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_THREAD_H
#define VBD_BASE_THREAD_H

#include "base/error.h"

#include <pthread.h>
#include <time.h>

/**
 * vbd_thread_start - start a thread that takes no signals
 * @main:       what it runs, with @arg
 * @what:       "no thread for the log": begins the error's text
 * @ret_thread: the caller joins or detaches it
 *
 * Fails as pthread_create(3) does.
 */
enum vbd_status vbd_thread_start(void *(*main)(void *), void *arg, const char *what,
	pthread_t *ret_thread, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cond_init - a condition whose timed waits go by CLOCK_MONOTONIC */
void vbd_cond_init(pthread_cond_t *cond);

/** vbd_cond_deadline - the moment @timeout_ms from now, for a timed wait of vbd_cond_init() */
struct timespec vbd_cond_deadline(unsigned int timeout_ms);

#endif
