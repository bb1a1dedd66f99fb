/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "base/log.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_STOPPED  7
#define EXIT_RELOADED 8
#define EXIT_BROKEN   9

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

static unsigned int g_reloads;

static void on_reload(void *arg)
{
	(void)arg;
	g_reloads++;
}

static struct vbd_loop *watch(uint64_t timeout_ms)
{
	struct vbd_loop *loop = NULL;

	if (vbd_log_start(NULL) != VBD_OK || vbd_signals_start(NULL) != VBD_OK ||
		vbd_loop_create(&loop, NULL) != VBD_OK ||
		vbd_signals_watch(loop, on_signal, on_reload, NULL, NULL) != VBD_OK)
		_exit(EXIT_BROKEN);
	vbd_signals_use_timeout(timeout_ms);
	return loop;
}

static void stop_in_order(void)
{
	struct vbd_loop *loop = watch(60000);

	signal_self(SIGTERM);
	for (;;)
		vbd_loop_turn(loop, true);
}

TEST(test_signals__the_first_one_calls_back_on_the_control_thread)
{
	int status = status_of(stop_in_order);

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

TEST(test_signals__a_second_one_ends_a_stuck_process)
{
	int status = status_of(be_stuck_at_a_second_signal);

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

TEST(test_signals__the_deadline_ends_a_stuck_process)
{
	int status = status_of(be_stuck_at_the_deadline);

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

TEST(test_signals__one_during_the_start_ends_the_process)
{
	int status = status_of(be_stuck_at_the_start);

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

TEST(test_signals__one_that_the_shell_ignores_counts)
{
	int status = status_of(ignore_at_first);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void turn_until_reloaded(struct vbd_loop *loop, unsigned int times)
{
	while (g_reloads < times)
		vbd_loop_turn(loop, true);
}

static void hang_up(void)
{
	struct vbd_loop *loop;

	vbd_signals_hold();
	signal_self(SIGHUP);
	loop = watch(60000);
	turn_until_reloaded(loop, 1);
	signal_self(SIGHUP);
	turn_until_reloaded(loop, 2);
	vbd_signals_unwatch();
	vbd_loop_destroy(loop);
	signal_self(SIGHUP);
	_exit(EXIT_RELOADED);
}

TEST(test_signals__a_hangup_at_any_time_reloads_or_does_nothing)
{
	int status = status_of(hang_up);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_RELOADED);
}

static void hang_up_and_stop(void)
{
	struct vbd_loop *loop;

	(void)signal(SIGHUP, SIG_IGN);
	vbd_signals_hold();
	signal_self(SIGHUP);
	loop = watch(60000);
	turn_until_reloaded(loop, 1);
	signal_self(SIGTERM);
	for (;;)
		vbd_loop_turn(loop, true);
}

TEST(test_signals__a_hangup_that_nohup_ignores_counts_and_is_no_stop)
{
	int status = status_of(hang_up_and_stop);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_STOPPED);
}
