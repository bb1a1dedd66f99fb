/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker redirects what takes and releases a mutex here (-Wl,--wrap): a thread that releases
 * one which it does not hold ends the program. A wait for a condition releases and takes it unseen.
 */
#include "tests/fake/fake.h"

#include <pthread.h>

#define HELD_MAX 16

static _Thread_local const pthread_mutex_t *held[HELD_MAX];

static void note(const pthread_mutex_t *mutex)
{
	size_t i = 0;

	while (i < HELD_MAX && held[i])
		i++;
	if (i == HELD_MAX)
		fake_abort("a thread holds too many mutexes");
	held[i] = mutex;
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int errnum = __real_pthread_mutex_lock(mutex);

	if (!errnum)
		note(mutex);
	return errnum;
}

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int errnum = __real_pthread_mutex_trylock(mutex);

	if (!errnum)
		note(mutex);
	return errnum;
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	size_t i = 0;

	while (i < HELD_MAX && held[i] != mutex)
		i++;
	if (i == HELD_MAX)
		fake_abort("a thread releases a mutex that it does not hold");
	held[i] = NULL;
	return __real_pthread_mutex_unlock(mutex);
}
