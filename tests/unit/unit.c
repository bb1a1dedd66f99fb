/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define TESTS_MAX 256

static struct unit_test *first;

/* The compiler may reorder constructors, hence the search by line. */
void unit_register(struct unit_test *test)
{
	struct unit_test **place = &first;

	while (*place && (*place)->line < test->line)
		place = &(*place)->next;
	test->next = *place;
	*place = test;
}

int unit_run(int argc, char **argv, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct CMUnitTest tests[TESTS_MAX];
	size_t count = 0;

	for (const struct unit_test *test = first; test; test = test->next) {
		assert_in_range(count, 0, TESTS_MAX - 1);
		tests[count++] = test->test;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests(
		program_invocation_short_name, tests, count, setup, teardown);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unit_wait current;
static bool is_watched;

/* Seconds in which the process did not run, as it was stopped, count as one. */
static void *watch(void *arg)
{
	const struct timespec second = {.tv_sec = 1};

	(void)arg;
	for (;;) {
		(void)nanosleep(&second, NULL);
		(void)pthread_mutex_lock(&lock);
		if (current.condition && ++current.seconds >= UNIT_WAIT_S) {
			(void)fprintf(stderr, "%s:%d: waited %d s, in vain, for: %s\n",
				current.file, current.line, UNIT_WAIT_S, current.condition);
			(void)fflush(NULL);
			_exit(1);
		}
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* The thread takes no signal that is meant for a test. */
static void start_watching(void)
{
	sigset_t all, before;
	pthread_t thread;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	assert_int_equal(pthread_create(&thread, NULL, watch, NULL), 0);
	(void)pthread_detach(thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct unit_wait unit_wait(const char *condition, const char *file, int line)
{
	struct unit_wait outer;

	if (!is_watched)
		start_watching();
	is_watched = true;
	(void)pthread_mutex_lock(&lock);
	outer = current;
	current = (struct unit_wait){condition, file, line, 0};
	(void)pthread_mutex_unlock(&lock);
	return outer;
}

bool unit_waits(const struct unit_wait *outer, bool has_come)
{
	if (!has_come)
		return true;
	(void)pthread_mutex_lock(&lock);
	current = *outer;
	(void)pthread_mutex_unlock(&lock);
	return false;
}
