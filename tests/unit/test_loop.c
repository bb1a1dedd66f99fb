/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/loop.h"

#include "base/clock.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* libuv's calls of the kernel: the test program's epoll_pwait() replaces glibc's. */
static struct {
	int last_timeout_ms;
	int wake_fd; /* made readable when the loop waits without a limit; -1 for none */
} g_epoll = {.wake_fd = -1};

int epoll_pwait(
	int epfd, struct epoll_event *events, int maxevents, int timeout_ms, const sigset_t *mask)
{
	static int (*real)(int, struct epoll_event *, int, int, const sigset_t *);
	const uint64_t one = 1;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "epoll_pwait");
	g_epoll.last_timeout_ms = timeout_ms;
	if (timeout_ms < 0 && g_epoll.wake_fd >= 0)
		assert_int_equal(write(g_epoll.wake_fd, &one, sizeof(one)), sizeof(one));
	return real(epfd, events, maxevents, timeout_ms, mask);
}

int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout_ms)
{
	return epoll_pwait(epfd, events, maxevents, timeout_ms, NULL);
}

/* The linker redirects the loop's calloc() to this function. */
static bool g_no_memory;
void *__real_calloc(size_t count, size_t len_bytes);
void *__wrap_calloc(size_t count, size_t len_bytes);
void *__wrap_calloc(size_t count, size_t len_bytes)
{
	return g_no_memory ? NULL : __real_calloc(count, len_bytes);
}

/* A host "silent" is looked up until the gate opens. */
static sem_t g_silent;
static atomic_uint g_silent_count;
int __real_vbd_addr_look_up(
	const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs, int *ret_errno);
int __wrap_vbd_addr_look_up(
	const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs, int *ret_errno);
int __wrap_vbd_addr_look_up(
	const char *host, uint16_t port, int family, struct vbd_addrs *ret_addrs, int *ret_errno)
{
	if (strcmp(host, "silent") != 0)
		return __real_vbd_addr_look_up(host, port, family, ret_addrs, ret_errno);
	atomic_fetch_add(&g_silent_count, 1);
	while (sem_wait(&g_silent) != 0)
		;
	return EAI_AGAIN;
}

struct fixture {
	struct vbd_loop *loop;
	struct vbd_error err;
	struct vbd_fd_watch *watch;
	struct vbd_timer *timer;
	struct vbd_timer *other;
	struct vbd_deferred deferred;
	struct vbd_deferred second;
	struct vbd_resolution *resolution;
	sem_t gate;
	int calls;
	int deferred_calls;
	unsigned int events;
	uint64_t seen_ns;
	struct sockaddr_storage addr;
	struct vbd_error answer;
	struct silent *silent;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(vbd_loop_create(&f->loop, &f->err), VBD_OK);
	assert_int_equal(sem_init(&f->gate, 0, 0), 0);
	g_epoll.wake_fd = -1;
	g_no_memory = false;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_loop_destroy(f->loop);
	(void)sem_destroy(&f->gate);
	free(f);
	return 0;
}

#define LOOP_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void count(void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	f->seen_ns = vbd_loop_now_ns(f->loop);
}

static void drain_eventfd(unsigned int events, void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	f->events = events;
}

static void turn_until(struct fixture *f, const int *counter, int target)
{
	UNIT_UNTIL (*counter >= target)
		vbd_loop_turn(f->loop, true);
}

static void note_order(void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(f->events, VBD_FD_READ);
	f->deferred_calls++;
}

LOOP_TEST(test_loop__after_a_stop_of_the_process_descriptors_go_before_deadlines)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;

	assert_int_equal(vbd_timer_create(f->loop, note_order, f, &f->timer, &f->err), VBD_OK);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	vbd_timer_set(f->timer, 1);
	/* As if SIGSTOP had come: what the deadline is about comes in the meantime. */
	(void)usleep(1100000);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	turn_until(f, &f->deferred_calls, 1);
	vbd_fd_watch_stop(f->watch);
	vbd_timer_destroy(f->timer);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_readable_descriptor_is_reported_until_it_is_read)
{
	int fd = eventfd(1, EFD_CLOEXEC);
	uint64_t n;

	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, true);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->calls, 2);
	assert_int_equal(f->events, VBD_FD_READ);
	assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 2);
	vbd_fd_watch_stop(f->watch);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_stopped_watch_says_nothing_and_its_descriptor_can_be_watched_again)
{
	int fd = eventfd(1, EFD_CLOEXEC);

	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	vbd_fd_watch_stop(f->watch);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->calls, 1);
	vbd_fd_watch_stop(f->watch);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_second_watch_of_a_descriptor_is_refused)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct vbd_fd_watch *second = NULL;

	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	assert_int_not_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &second, &f->err),
		VBD_OK);
	assert_null(second);
	assert_string_equal(f->err.call, "uv_poll_init");
	vbd_fd_watch_stop(f->watch);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_descriptor_that_cannot_be_polled_is_an_error)
{
	assert_int_not_equal(vbd_fd_watch_start(f->loop, 9999, VBD_FD_READ, drain_eventfd, f,
				     &f->watch, &f->err),
		VBD_OK);
	assert_int_equal(f->err.raw, EBADF);
}

static void stop_own_watch(unsigned int events, void *arg)
{
	struct fixture *f = arg;

	(void)events;
	f->calls++;
	vbd_fd_watch_stop(f->watch);
	f->watch = NULL;
}

LOOP_TEST(test_loop__a_watch_may_be_stopped_in_its_own_callback)
{
	int fd = eventfd(1, EFD_CLOEXEC);

	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, stop_own_watch, f, &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, true);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 1);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_peer_that_closes_is_a_hangup)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(vbd_fd_watch_start(f->loop, pair[0], VBD_FD_HANGUP, drain_eventfd, f,
				 &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	(void)close(pair[1]);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->events & VBD_FD_HANGUP, VBD_FD_HANGUP);
	vbd_fd_watch_stop(f->watch);
	(void)close(pair[0]);
}

LOOP_TEST(test_loop__a_peer_that_may_still_read_is_not_gone)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(vbd_fd_watch_start(f->loop, pair[0], VBD_FD_GONE, drain_eventfd, f,
				 &f->watch, &f->err),
		VBD_OK);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	(void)close(pair[1]);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->events, VBD_FD_GONE);
	vbd_fd_watch_stop(f->watch);
	(void)close(pair[0]);
}

LOOP_TEST(test_loop__an_error_on_a_descriptor_is_reported_and_the_watch_goes_on)
{
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	(void)close(pipe_fds[0]); /* the writing end now polls as EPOLLERR */
	assert_int_equal(vbd_fd_watch_start(f->loop, pipe_fds[1], VBD_FD_HANGUP, drain_eventfd, f,
				 &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, true);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->calls, 2);
	assert_int_equal(f->events, VBD_FD_HANGUP);
	vbd_fd_watch_stop(f->watch);
	(void)close(pipe_fds[1]);
}

LOOP_TEST(test_loop__an_epoll_descriptor_can_be_watched)
{
	struct epoll_event want = {.events = EPOLLIN};
	int inner = eventfd(1, EFD_CLOEXEC);
	int fd = epoll_create1(EPOLL_CLOEXEC);

	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, inner, &want), 0);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->calls, 1);
	vbd_fd_watch_stop(f->watch);
	(void)close(fd);
	(void)close(inner);
}

LOOP_TEST(test_loop__a_timer_comes_once_and_never_early)
{
	uint64_t set_ns;

	assert_int_equal(vbd_timer_create(f->loop, count, f, &f->timer, &f->err), VBD_OK);
	set_ns = vbd_clock_mono_ns();
	vbd_timer_set(f->timer, 3);
	turn_until(f, &f->calls, 1);
	assert_true(vbd_clock_mono_ns() - set_ns >= 3 * VBD_NS_PER_MS);
	assert_true(f->seen_ns - set_ns >= 3 * VBD_NS_PER_MS);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 1);
	vbd_timer_destroy(f->timer);
}

LOOP_TEST(test_loop__a_timer_counts_from_now_and_not_from_the_start_of_the_turn)
{
	const struct timespec pause = {.tv_nsec = 5 * (long)VBD_NS_PER_MS};
	uint64_t set_ns;

	assert_int_equal(vbd_timer_create(f->loop, count, f, &f->timer, &f->err), VBD_OK);
	vbd_loop_turn(f->loop, false); /* libuv's cached time ages from here */
	(void)nanosleep(&pause, NULL);
	set_ns = vbd_clock_mono_ns();
	vbd_timer_set(f->timer, 4);
	turn_until(f, &f->calls, 1);
	assert_true(f->seen_ns - set_ns >= 4 * VBD_NS_PER_MS);
	vbd_timer_destroy(f->timer);
}

LOOP_TEST(test_loop__a_timer_cleared_or_set_again_drops_its_old_time)
{
	assert_int_equal(vbd_timer_create(f->loop, count, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	vbd_timer_clear(f->timer);
	vbd_loop_turn(f->loop, false);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	vbd_timer_set(f->timer, 0);
	vbd_timer_set(f->timer, 3600000);
	vbd_loop_turn(f->loop, false);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	vbd_timer_set(f->timer, UINT64_MAX);
	vbd_timer_set(f->timer, 0);
	turn_until(f, &f->calls, 1);
	vbd_timer_destroy(f->timer);
}

static void set_again_with_0(void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	vbd_timer_set(f->timer, 0);
}

LOOP_TEST(test_loop__a_timer_of_0_ms_that_sets_itself_again_does_not_hold_the_turn)
{
	assert_int_equal(
		vbd_timer_create(f->loop, set_again_with_0, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	for (int i = 0; i < 10; i++)
		vbd_loop_turn(f->loop, true);
	assert_in_range(f->calls, 5, 20);
	assert_int_equal(g_epoll.last_timeout_ms, 0);
	vbd_timer_destroy(f->timer);
}

static void destroy_both_timers(void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	vbd_timer_destroy(f->timer);
	vbd_timer_destroy(f->other);
}

LOOP_TEST(test_loop__a_timer_may_destroy_itself_and_one_that_is_due)
{
	assert_int_equal(
		vbd_timer_create(f->loop, destroy_both_timers, f, &f->timer, &f->err), VBD_OK);
	assert_int_equal(
		vbd_timer_create(f->loop, destroy_both_timers, f, &f->other, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	vbd_timer_set(f->other, 0);
	turn_until(f, &f->calls, 1);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 1);
}

LOOP_TEST(test_loop__stopping_nothing_is_fine)
{
	vbd_fd_watch_stop(NULL);
	vbd_timer_clear(NULL);
	vbd_timer_destroy(NULL);
	vbd_resolve_cancel(NULL);
	vbd_loop_destroy(NULL);
}

static void on_deferred(struct vbd_deferred *self)
{
	struct fixture *f = VBD_CONTAINER_OF(self, struct fixture, deferred);

	f->deferred_calls++;
}

static void defer_from_timer(void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	vbd_loop_defer(f->loop, &f->deferred);
	vbd_loop_defer(f->loop, &f->deferred);
	assert_int_equal(f->deferred_calls, 0);
}

LOOP_TEST(test_loop__what_a_timer_defers_runs_once_without_a_sleep_before)
{
	vbd_deferred_init(&f->deferred, on_deferred);
	assert_int_equal(
		vbd_timer_create(f->loop, defer_from_timer, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	turn_until(f, &f->deferred_calls, 1);
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->deferred_calls, 1);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->deferred_calls, 1);
	vbd_timer_destroy(f->timer);
}

LOOP_TEST(test_loop__what_is_deferred_outside_a_turn_keeps_the_loop_from_sleeping)
{
	vbd_deferred_init(&f->deferred, on_deferred);
	vbd_loop_defer(f->loop, &f->deferred);
	vbd_loop_turn(f->loop, true);
	assert_int_equal(f->deferred_calls, 1);
	assert_int_equal(g_epoll.last_timeout_ms, 0);
}

static void defer_again(struct vbd_deferred *self)
{
	struct fixture *f = VBD_CONTAINER_OF(self, struct fixture, deferred);

	if (f->deferred_calls++ < 20)
		vbd_loop_defer(f->loop, self);
	else
		vbd_loop_stop(f->loop);
}

LOOP_TEST(test_loop__what_defers_itself_again_runs_turn_by_turn)
{
	vbd_deferred_init(&f->deferred, defer_again);
	vbd_loop_defer(f->loop, &f->deferred);
	vbd_loop_run(f->loop);
	assert_int_equal(f->deferred_calls, 21);
}

static void remove_the_second(struct vbd_deferred *self)
{
	struct fixture *f = VBD_CONTAINER_OF(self, struct fixture, deferred);

	f->deferred_calls++;
	vbd_list_remove(&f->second.link);
}

static void must_not_run(struct vbd_deferred *self)
{
	(void)self;
	fail();
}

LOOP_TEST(test_loop__what_is_deferred_may_be_taken_back)
{
	vbd_deferred_init(&f->deferred, remove_the_second);
	vbd_deferred_init(&f->second, must_not_run);
	vbd_loop_defer(f->loop, &f->deferred);
	vbd_loop_defer(f->loop, &f->second);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->deferred_calls, 1);
}

LOOP_TEST(test_loop__what_is_still_deferred_runs_when_the_loop_is_destroyed)
{
	vbd_deferred_init(&f->deferred, on_deferred);
	vbd_loop_defer(f->loop, &f->deferred);
	vbd_loop_destroy(f->loop);
	f->loop = NULL;
	assert_int_equal(f->deferred_calls, 1);
}

static void stop_the_loop(unsigned int events, void *arg)
{
	struct fixture *f = arg;

	(void)events;
	f->calls++;
	vbd_loop_stop(f->loop);
}

LOOP_TEST(test_loop__an_idle_loop_sleeps_without_a_limit)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, stop_the_loop, f, &f->watch, &f->err),
		VBD_OK);
	g_epoll.wake_fd = fd;
	vbd_loop_run(f->loop);
	assert_int_equal(f->calls, 1);
	assert_int_equal(g_epoll.last_timeout_ms, -1);
	vbd_fd_watch_stop(f->watch);
	(void)close(fd);
}

LOOP_TEST(test_loop__a_loop_stopped_before_it_runs_returns_at_once)
{
	vbd_loop_stop(f->loop);
	vbd_loop_run(f->loop);
}

static void wait_at_gate(void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(sem_wait(&f->gate), 0);
	f->events = 1;
}

static void work_done(void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(f->events, 1);
	f->calls++;
	vbd_timer_destroy(f->timer);
	vbd_fd_watch_stop(f->watch);
}

LOOP_TEST(test_loop__work_is_done_on_the_control_thread_once)
{
	assert_int_equal(
		vbd_loop_work(f->loop, VBD_WORK_MEMORY, NULL, wait_at_gate, work_done, f, &f->err),
		VBD_OK);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	assert_int_equal(sem_post(&f->gate), 0);
	turn_until(f, &f->calls, 1);
	assert_int_equal(f->calls, 1);
}

static void count_done(void *arg)
{
	((struct fixture *)arg)->calls++;
}

static void wait_only(void *arg)
{
	while (sem_wait(&((struct fixture *)arg)->gate) != 0)
		;
}

static void do_nothing(void *arg)
{
	(void)arg;
}

#define MANY_JOBS 100

LOOP_TEST(test_loop__work_of_one_kind_never_waits_for_that_of_another)
{
	for (unsigned int kind = 0; kind < VBD_WORK_COUNT; kind++) {
		struct fixture other = {0};

		assert_int_equal(sem_init(&other.gate, 0, 0), 0);
		for (unsigned int i = 0; i < MANY_JOBS; i++)
			assert_int_equal(
				vbd_loop_work(f->loop, (enum vbd_work)kind, (void *)(uintptr_t)i,
					wait_only, count_done, &other, &f->err),
				VBD_OK);
		f->calls = 0;
		for (unsigned int i = 0; i < VBD_WORK_COUNT; i++)
			if (i != kind)
				assert_int_equal(vbd_loop_work(f->loop, (enum vbd_work)i, NULL,
							 do_nothing, count_done, f, &f->err),
					VBD_OK);
		turn_until(f, &f->calls, VBD_WORK_COUNT - 1);
		assert_int_equal(other.calls, 0);
		for (unsigned int i = 0; i < MANY_JOBS; i++)
			assert_int_equal(sem_post(&other.gate), 0);
		turn_until(f, &other.calls, MANY_JOBS);
		assert_int_equal(sem_destroy(&other.gate), 0);
	}
}

LOOP_TEST(test_loop__an_owner_with_much_work_leaves_threads_to_others)
{
	static const enum vbd_work kinds[] = {
		VBD_WORK_BYTES, VBD_WORK_MEMORY, VBD_WORK_NAMES, VBD_WORK_OBSERVE};

	for (size_t k = 0; k < VBD_ARRAY_LEN(kinds); k++) {
		struct fixture greedy = {0};

		assert_int_equal(sem_init(&greedy.gate, 0, 0), 0);
		for (unsigned int i = 0; i < MANY_JOBS; i++)
			assert_int_equal(vbd_loop_work(f->loop, kinds[k], &greedy, wait_only,
						 count_done, &greedy, &f->err),
				VBD_OK);
		f->calls = 0;
		assert_int_equal(
			vbd_loop_work(f->loop, kinds[k], f, do_nothing, count_done, f, &f->err),
			VBD_OK);
		turn_until(f, &f->calls, 1);
		assert_int_equal(greedy.calls, 0);
		for (unsigned int i = 0; i < MANY_JOBS; i++)
			assert_int_equal(sem_post(&greedy.gate), 0);
		turn_until(f, &greedy.calls, MANY_JOBS);
		assert_int_equal(sem_destroy(&greedy.gate), 0);
	}
}

static void fail_if_called(unsigned int events, void *arg)
{
	(void)events;
	(void)arg;
	fail();
}

static void fail_timer(void *arg)
{
	(void)arg;
	fail();
}

LOOP_TEST(test_loop__destroying_waits_for_work_whose_end_may_free_handles)
{
	int fd = eventfd(1, EFD_CLOEXEC);

	assert_int_equal(vbd_timer_create(f->loop, fail_timer, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, fail_if_called, f, &f->watch, &f->err),
		VBD_OK);
	assert_int_equal(
		vbd_loop_work(f->loop, VBD_WORK_MEMORY, NULL, wait_at_gate, work_done, f, &f->err),
		VBD_OK);
	assert_int_equal(sem_post(&f->gate), 0);
	vbd_loop_destroy(f->loop);
	f->loop = NULL;
	assert_int_equal(f->calls, 1);
	(void)close(fd);
}

LOOP_TEST(test_loop__destroying_frees_handles_that_nobody_stopped)
{
	int fd = eventfd(1, EFD_CLOEXEC);

	assert_int_equal(vbd_timer_create(f->loop, fail_timer, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, fail_if_called, f, &f->watch, &f->err),
		VBD_OK);
	vbd_loop_destroy(f->loop);
	f->loop = NULL;
	(void)close(fd);
}

static void on_resolved(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	f->resolution = NULL;
	if (addrs)
		f->addr = addrs->items[0];
	else
		f->answer = *err;
}

static void resolve(struct fixture *f, const char *host, uint16_t port)
{
	assert_int_equal(vbd_resolve(f->loop, NULL, host, port, AF_UNSPEC, on_resolved, f,
				 &f->resolution, &f->err),
		VBD_OK);
}

LOOP_TEST(test_loop__a_numeric_ipv4_address_resolves_to_itself_with_its_port)
{
	const struct sockaddr_in *addr = (const struct sockaddr_in *)&f->addr;

	resolve(f, "192.0.2.7", 7471);
	turn_until(f, &f->calls, 1);
	assert_int_equal(addr->sin_family, AF_INET);
	assert_int_equal(addr->sin_port, htons(7471));
	assert_int_equal(addr->sin_addr.s_addr, inet_addr("192.0.2.7"));
}

LOOP_TEST(test_loop__a_numeric_ipv6_address_keeps_its_scope)
{
	const struct sockaddr_in6 *addr = (const struct sockaddr_in6 *)&f->addr;

	resolve(f, "fe80::1%lo", 9);
	turn_until(f, &f->calls, 1);
	assert_int_equal(addr->sin6_family, AF_INET6);
	assert_int_equal(addr->sin6_port, htons(9));
	assert_int_equal(addr->sin6_scope_id, if_nametoindex("lo"));
}

LOOP_TEST(test_loop__a_name_that_does_not_exist_says_so_and_names_the_host)
{
	resolve(f, "no-such-host.invalid", 9);
	turn_until(f, &f->calls, 1);
	assert_int_equal(f->answer.status, VBD_E_NAME_NOT_RESOLVED);
	assert_int_equal(f->answer.source, VBD_SOURCE_GAI);
	assert_string_equal(f->answer.call, "getaddrinfo");
	assert_non_null(strstr(f->answer.text, "no-such-host.invalid"));
}

LOOP_TEST(test_loop__a_name_that_is_too_long_is_refused_without_a_callback)
{
	char host[1000];

	memset(host, 'x', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(vbd_resolve(f->loop, NULL, host, 9, AF_UNSPEC, on_resolved, f,
				 &f->resolution, &f->err),
		VBD_E_NAME_NOT_RESOLVED);
	assert_null(f->resolution);
	assert_int_equal(f->err.status, VBD_E_NAME_NOT_RESOLVED);
	vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
}

LOOP_TEST(test_loop__a_cancelled_resolution_never_calls_back)
{
	for (int i = 0; i < 50; i++) {
		resolve(f, "127.0.0.1", 9);
		if (i % 2)
			vbd_loop_turn(f->loop, false);
		if (f->calls == 0)
			vbd_resolve_cancel(f->resolution);
		f->calls = 0;
	}
	vbd_loop_destroy(f->loop);
	f->loop = NULL;
	assert_int_equal(f->calls, 0);
}

static void fail_resolved(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	(void)addrs;
	(void)err;
	(void)arg;
	fail();
}

#define SILENT_MAX 64

struct silent {
	struct vbd_resolution *items[SILENT_MAX];
	size_t count;
};

static void ask_silent(
	struct fixture *f, struct silent *silent, const void *owner, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(vbd_resolve(f->loop, owner, "silent", 9, AF_UNSPEC, fail_resolved,
					 f, &silent->items[silent->count++], &f->err),
			VBD_OK);
}

static void leave_silent(struct silent *silent)
{
	while (silent->count)
		vbd_resolve_cancel(silent->items[--silent->count]);
}

static void let_silent_end(struct fixture *f)
{
	UNIT_UNTIL (!vbd_loop_has_work(f->loop)) {
		for (unsigned int i = atomic_exchange(&g_silent_count, 0); i > 0; i--)
			assert_int_equal(sem_post(&g_silent), 0);
		vbd_loop_turn(f->loop, false);
	}
	assert_int_equal(sem_destroy(&g_silent), 0);
}

/* Neither those that run, nor those that wait and never run. */
LOOP_TEST(test_loop__look_ups_that_nobody_awaits_hold_up_nobody)
{
	struct silent silent = {0};

	assert_int_equal(sem_init(&g_silent, 0, 0), 0);
	for (int i = 0; i < 4; i++) {
		ask_silent(f, &silent, NULL, 40);
		UNIT_UNTIL (g_silent_count == 4u * (unsigned int)(i + 1))
			vbd_loop_turn(f->loop, false);
		leave_silent(&silent);
		f->calls = 0;
		resolve(f, "127.0.0.1", 9);
		turn_until(f, &f->calls, 1);
	}
	let_silent_end(f);
}

/* Look-ups that one owner leaves again and again wait in the end, but only those of that owner. */
LOOP_TEST(test_loop__an_owner_that_leaves_look_ups_leaves_threads_to_others)
{
	struct silent silent = {0};
	const char owners[2] = "";

	assert_int_equal(sem_init(&g_silent, 0, 0), 0);
	for (unsigned int i = 1; i <= 17; i++) {
		ask_silent(f, &silent, &owners[0], 4);
		UNIT_UNTIL (g_silent_count == 4 * i)
			vbd_loop_turn(f->loop, false);
		leave_silent(&silent);
	}
	assert_int_equal(vbd_resolve(f->loop, &owners[0], "127.0.0.1", 9, AF_UNSPEC, on_resolved, f,
				 &f->resolution, &f->err),
		VBD_OK);
	for (int i = 0; i < 10; i++)
		vbd_loop_turn(f->loop, false);
	assert_int_equal(f->calls, 0);
	vbd_resolve_cancel(f->resolution);
	assert_int_equal(vbd_resolve(f->loop, &owners[1], "127.0.0.1", 9, AF_UNSPEC, on_resolved, f,
				 &f->resolution, &f->err),
		VBD_OK);
	turn_until(f, &f->calls, 1);
	let_silent_end(f);
}

static void leave_all(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct fixture *f = arg;

	(void)addrs;
	(void)err;
	f->calls++;
	leave_silent(f->silent);
}

LOOP_TEST(test_loop__a_resolution_may_cancel_all_others_in_its_callback)
{
	struct silent silent = {0};

	f->silent = &silent;
	assert_int_equal(sem_init(&g_silent, 0, 0), 0);
	ask_silent(f, &silent, NULL, 3);
	assert_int_equal(vbd_resolve(f->loop, NULL, "127.0.0.1", 9, AF_UNSPEC, leave_all, f,
				 &f->resolution, &f->err),
		VBD_OK);
	ask_silent(f, &silent, NULL, 8);
	turn_until(f, &f->calls, 1);
	let_silent_end(f);
}

static void cancel_self(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct fixture *f = arg;

	(void)addrs;
	(void)err;
	f->calls++;
	vbd_resolve_cancel(f->resolution);
}

LOOP_TEST(test_loop__a_resolution_may_be_cancelled_in_its_own_callback)
{
	assert_int_equal(vbd_resolve(f->loop, NULL, "::1", 9, AF_UNSPEC, cancel_self, f,
				 &f->resolution, &f->err),
		VBD_OK);
	turn_until(f, &f->calls, 1);
}

static void cancel_when_work_is_done(void *arg)
{
	struct fixture *f = arg;

	vbd_resolve_cancel(f->resolution);
}

LOOP_TEST(test_loop__destroying_ends_resolutions_without_their_callback)
{
	struct vbd_resolution *forgotten;

	assert_int_equal(vbd_resolve(f->loop, NULL, "127.0.0.1", 9, AF_UNSPEC, on_resolved, f,
				 &forgotten, &f->err),
		VBD_OK);
	resolve(f, "127.0.0.1", 9);
	assert_int_equal(vbd_loop_work(f->loop, VBD_WORK_MEMORY, NULL, wait_at_gate,
				 cancel_when_work_is_done, f, &f->err),
		VBD_OK);
	assert_int_equal(sem_post(&f->gate), 0);
	vbd_loop_destroy(f->loop);
	f->loop = NULL;
	assert_int_equal(f->calls, 0);
}

static void compare_times(void *arg)
{
	struct fixture *f = arg;
	uint64_t now_ns = vbd_loop_now_ns(f->loop);

	f->calls++;
	while (vbd_clock_mono_ns() == now_ns)
		;
	assert_true(vbd_loop_now_ns(f->loop) == now_ns);
}

LOOP_TEST(test_loop__the_time_stands_still_within_a_turn)
{
	uint64_t before_ns = vbd_loop_now_ns(f->loop);

	assert_int_equal(vbd_timer_create(f->loop, compare_times, f, &f->timer, &f->err), VBD_OK);
	vbd_timer_set(f->timer, 0);
	turn_until(f, &f->calls, 1);
	assert_true(vbd_loop_now_ns(f->loop) > before_ns);
	vbd_timer_destroy(f->timer);
}

LOOP_TEST(test_loop__everything_that_needs_memory_says_when_there_is_none)
{
	struct vbd_loop *loop = NULL;
	int fd = eventfd(0, EFD_CLOEXEC);

	g_no_memory = true;
	assert_int_equal(vbd_loop_create(&loop, &f->err), VBD_E_NO_MEMORY);
	assert_int_equal(
		vbd_fd_watch_start(f->loop, fd, VBD_FD_READ, drain_eventfd, f, &f->watch, &f->err),
		VBD_E_NO_MEMORY);
	assert_int_equal(vbd_timer_create(f->loop, count, f, &f->timer, &f->err), VBD_E_NO_MEMORY);
	assert_int_equal(
		vbd_loop_work(f->loop, VBD_WORK_MEMORY, NULL, wait_at_gate, work_done, f, &f->err),
		VBD_E_NO_MEMORY);
	assert_int_equal(vbd_resolve(f->loop, NULL, "::1", 9, AF_UNSPEC, on_resolved, f,
				 &f->resolution, &f->err),
		VBD_E_NO_MEMORY);
	g_no_memory = false;
	assert_null(loop);
	assert_null(f->watch);
	assert_null(f->timer);
	assert_null(f->resolution);
	(void)close(fd);
}
