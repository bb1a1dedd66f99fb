/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "base/log.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_STOPPED 7
#define EXIT_BROKEN  9

/* Each scene runs in a process of its own, which signals itself only. */
static int status_of(void (*scene)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		vbd_log_setup(VBD_LOG_ERROR, VBD_LOG_TEXT);
		scene();
		_exit(EXIT_BROKEN);
	}
	assert_true(child > 0);
	assert_true(waitpid(child, &status, 0) == child);
	return status;
}

static void signal_self(int signum)
{
	if (kill(getpid(), signum) != 0)
		_exit(EXIT_BROKEN);
}

static void on_signal(int signum, void *arg)
{
	(void)arg;
	_exit(signum == SIGTERM ? EXIT_STOPPED : EXIT_BROKEN);
}

static struct vbd_loop *watch(uint64_t deadline_ms)
{
	struct vbd_loop *loop = NULL;

	if (vbd_log_start(NULL) != VBD_OK || vbd_signals_start(NULL) != VBD_OK ||
		vbd_loop_create(&loop, NULL) != VBD_OK ||
		vbd_signals_watch(loop, deadline_ms, on_signal, NULL, NULL) != VBD_OK)
		_exit(EXIT_BROKEN);
	return loop;
}

static void stop_in_order(void)
{
	struct vbd_loop *loop = watch(60000);

	signal_self(SIGTERM);
	for (;;)
		vbd_loop_turn(loop, true);
}

static void test_signals__the_first_one_calls_back_on_the_control_thread(void **state)
{
	int status = status_of(stop_in_order);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_STOPPED);
}

static void be_stuck_at_a_second_signal(void)
{
	(void)watch(60000);
	/* Two signals of one kind can be merged by the kernel. */
	signal_self(SIGTERM);
	signal_self(SIGINT);
	for (;;)
		(void)pause();
}

static void test_signals__a_second_one_ends_a_stuck_process(void **state)
{
	int status = status_of(be_stuck_at_a_second_signal);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void be_stuck_at_the_deadline(void)
{
	(void)watch(1);
	signal_self(SIGTERM);
	for (;;)
		(void)pause();
}

static void test_signals__the_deadline_ends_a_stuck_process(void **state)
{
	int status = status_of(be_stuck_at_the_deadline);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void be_stuck_at_the_start(void)
{
	if (vbd_log_start(NULL) != VBD_OK || vbd_signals_start(NULL) != VBD_OK)
		_exit(EXIT_BROKEN);
	signal_self(SIGTERM);
	for (;;)
		(void)pause();
}

static void test_signals__one_during_the_start_ends_the_process(void **state)
{
	int status = status_of(be_stuck_at_the_start);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void ignore_at_first(void)
{
	(void)signal(SIGINT, SIG_IGN);
	(void)watch(60000);
	signal_self(SIGTERM);
	signal_self(SIGINT);
	for (;;)
		(void)pause();
}

static void test_signals__one_that_the_shell_ignores_counts(void **state)
{
	int status = status_of(ignore_at_first);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals__the_first_one_calls_back_on_the_control_thread),
		cmocka_unit_test(test_signals__a_second_one_ends_a_stuck_process),
		cmocka_unit_test(test_signals__the_deadline_ends_a_stuck_process),
		cmocka_unit_test(test_signals__one_during_the_start_ends_the_process),
		cmocka_unit_test(test_signals__one_that_the_shell_ignores_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
