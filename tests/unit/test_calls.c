/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/calls.h"

#include "base/clock.h"

#include "rdma/data/worker.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

/* More calls than the lane has threads. */
#define CALLS 4

static struct {
	struct vbd_mailbox control;
	struct vbd_calls *calls;
	sem_t begun, go_on;
	unsigned int done, cancelled;
} rig;

struct waiting {
	struct vbd_call call;
	int errnum;
};

static int setup(void **state)
{
	struct vbd_error err = {0};

	(void)state;
	rig.done = rig.cancelled = 0;
	assert_int_equal(sem_init(&rig.begun, 0, 0), 0);
	assert_int_equal(sem_init(&rig.go_on, 0, 0), 0);
	assert_int_equal(vbd_mailbox_init(&rig.control, &err), VBD_OK);
	assert_int_equal(vbd_calls_create(&rig.control, &rig.calls, &err), VBD_OK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vbd_calls_destroy(rig.calls);
	vbd_mailbox_fini(&rig.control);
	return 0;
}

#define CALLS_TEST(name) TEST_WITH(name, void *no_fixture, setup, teardown)

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void work(struct vbd_call *call)
{
	(void)call;
	assert_int_equal(sem_post(&rig.begun), 0);
	wait_for(&rig.go_on);
}

static void done(struct vbd_call *call)
{
	assert_false(call->running);
	rig.done++;
	rig.cancelled += call->cancelled;
}

/* Until a call is back. */
static void take_one(void)
{
	struct pollfd fd = {.fd = vbd_mailbox_fd(&rig.control), .events = POLLIN};
	struct vbd_mailbox_item *item;

	UNIT_UNTIL ((item = vbd_mailbox_take(&rig.control)) != NULL) {
		assert_int_equal(poll(&fd, 1, -1), 1);
		vbd_mailbox_rearm(&rig.control);
	}
	assert_int_equal(item->kind, VBD_CONTROL_CALL_DONE);
	vbd_call_done(item);
}

static void assert_load(enum vbd_lane lane, unsigned int queued, unsigned int running)
{
	unsigned int got_queued, got_running;

	vbd_calls_load(rig.calls, lane, &got_queued, &got_running);
	assert_int_equal(got_queued, queued);
	assert_int_equal(got_running, running);
}

CALLS_TEST(test_calls__more_than_threads_wait_and_can_be_called_off)
{
	struct waiting calls[CALLS];

	for (unsigned int i = 0; i < CALLS; i++) {
		calls[i].call = (struct vbd_call){.work = work, .done = done};
		vbd_call_start(rig.calls, &calls[i].call, VBD_LANE_MEMORY);
	}
	wait_for(&rig.begun);
	wait_for(&rig.begun);
	assert_load(VBD_LANE_MEMORY, 2, 2);
	assert_load(VBD_LANE_PEER, 0, 0);
	assert_load(VBD_LANE_END, 0, 0);
	assert_int_equal(rig.calls->under_way, CALLS);
	assert_int_equal(rig.calls->lanes[VBD_LANE_MEMORY].thread_count, 2);
	vbd_call_interrupt(rig.calls, &calls[3].call);
	assert_load(VBD_LANE_MEMORY, 1, 2);
	take_one();
	assert_true(calls[3].call.cancelled);
	assert_int_equal(rig.cancelled, 1);
	assert_int_equal(rig.calls->under_way, CALLS - 1);
	/* The call is on no list any more: a second time changes nothing. */
	vbd_call_interrupt(rig.calls, &calls[3].call);
	assert_load(VBD_LANE_MEMORY, 1, 2);
	for (unsigned int i = 0; i < CALLS - 1; i++)
		assert_int_equal(sem_post(&rig.go_on), 0);
	for (unsigned int i = 0; i < CALLS - 1; i++)
		take_one();
	assert_int_equal(rig.done, CALLS);
	assert_int_equal(rig.cancelled, 1);
	assert_int_equal(rig.calls->under_way, 0);
	assert_load(VBD_LANE_MEMORY, 0, 0);
	assert_null(vbd_mailbox_take(&rig.control));
}

/* Two threads take one each; the third waits. */
static void start_three(struct waiting calls[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		calls[i].call = (struct vbd_call){.work = work, .done = done};
		vbd_call_start(rig.calls, &calls[i].call, VBD_LANE_MEMORY);
	}
	wait_for(&rig.begun);
	wait_for(&rig.begun);
}

CALLS_TEST(test_calls__one_that_was_called_off_can_be_started_again)
{
	struct waiting calls[3];

	start_three(calls);
	vbd_call_interrupt(rig.calls, &calls[2].call);
	take_one();
	vbd_call_start(rig.calls, &calls[2].call, VBD_LANE_PEER);
	assert_false(calls[2].call.cancelled);
	wait_for(&rig.begun);
	assert_load(VBD_LANE_PEER, 0, 1);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(sem_post(&rig.go_on), 0);
	for (unsigned int i = 0; i < 3; i++)
		take_one();
	assert_int_equal(rig.done, 4);
	assert_int_equal(rig.cancelled, 1);
}

/* A function of the control thread, called while another thread has the lock. */
struct control {
	enum { LOADS, INTERRUPTS, STARTS } does;
	struct vbd_call *call;
	_Atomic pid_t tid;
	_Atomic bool over;
};

static void *control_main(void *arg)
{
	struct control *control = arg;
	unsigned int queued, running;

	control->tid = gettid();
	if (control->does == LOADS)
		vbd_calls_load(rig.calls, VBD_LANE_MEMORY, &queued, &running);
	else if (control->does == INTERRUPTS)
		vbd_call_interrupt(rig.calls, control->call);
	else
		vbd_call_start(rig.calls, control->call, VBD_LANE_MEMORY);
	control->over = true;
	return NULL;
}

/* Whether the kernel lets the thread sleep, as proc(5) tells; nothing but a lock makes it. */
static bool sleeps(pid_t tid)
{
	char path[64], text[128] = "";
	const char *end;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = tid ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	(void)!fgets(text, sizeof(text), file);
	(void)fclose(file);
	end = strrchr(text, ')');
	return end && strncmp(end, ") S", 3) == 0;
}

CALLS_TEST(test_calls__the_control_thread_waits_for_the_lock)
{
	struct waiting calls[3];

	start_three(calls);
	for (int does = LOADS; does <= STARTS; does++) {
		struct control control = {.does = does, .call = &calls[2].call};
		pthread_t thread;

		assert_int_equal(pthread_mutex_lock(&rig.calls->lock), 0);
		assert_int_equal(pthread_create(&thread, NULL, control_main, &control), 0);
		UNIT_UNTIL (control.over || sleeps(control.tid))
			(void)sched_yield();
		assert_false(control.over);
		assert_int_equal(pthread_mutex_unlock(&rig.calls->lock), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_load(VBD_LANE_MEMORY, does != INTERRUPTS, 2);
		if (does == INTERRUPTS)
			take_one();
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(sem_post(&rig.go_on), 0);
	for (unsigned int i = 0; i < 3; i++)
		take_one();
	assert_int_equal(rig.done, 4);
	assert_int_equal(rig.cancelled, 1);
}

static void sleep_long(struct vbd_call *call)
{
	struct waiting *waiting = VBD_CONTAINER_OF(call, struct waiting, call);
	const struct timespec hour = {.tv_sec = 3600};

	assert_int_equal(sem_post(&rig.begun), 0);
	waiting->errnum = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
}

/* The signal may come before the call sleeps: then the next one ends it. */
CALLS_TEST(test_calls__a_system_call_is_interrupted)
{
	struct waiting waiting = {.call = {.work = sleep_long, .done = done}};
	struct pollfd fd = {.fd = vbd_mailbox_fd(&rig.control), .events = POLLIN};

	vbd_mailbox_rearm(&rig.control);
	vbd_call_start(rig.calls, &waiting.call, VBD_LANE_PEER);
	wait_for(&rig.begun);
	do
		vbd_call_interrupt(rig.calls, &waiting.call);
	while (poll(&fd, 1, 1) == 0);
	take_one();
	assert_int_equal(waiting.errnum, EINTR);
	assert_false(waiting.call.cancelled);
}

/* Whether a thread of this process has the name, as `ps -L` shows it. */
static bool has_thread(const char *name)
{
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;
	bool found = false;

	assert_non_null(folder);
	while (!found && (entry = readdir(folder))) {
		char path[300], text[32] = "";
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file))
			text[strcspn(text, "\n")] = '\0';
		(void)fclose(file);
		found = strcmp(text, name) == 0;
	}
	(void)closedir(folder);
	return found;
}

CALLS_TEST(test_calls__threads_have_the_name_of_their_lane)
{
	static const char *const names[] = {"verbsd-memory", "verbsd-peer", "verbsd-end"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		UNIT_UNTIL (has_thread(names[i]))
			(void)sched_yield();
	}
}

/* STUCK_NS is 100 ms, and the clock of the check is the caller's. */
CALLS_TEST(test_calls__a_lane_that_is_stuck_gets_threads_for_all_that_waits)
{
	struct waiting calls[12];

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		calls[i].call = (struct vbd_call){.work = work, .done = done};
		vbd_call_start(rig.calls, &calls[i].call, VBD_LANE_END);
	}
	for (unsigned int threads = 4; threads <= 12; threads += 4) {
		for (unsigned int i = 0; i < 4; i++)
			wait_for(&rig.begun);
		assert_load(VBD_LANE_END, 12 - threads, threads);
		/* A lane that has just moved is not stuck. */
		vbd_calls_check(rig.calls, vbd_clock_mono_ns());
		assert_int_equal(rig.calls->lanes[VBD_LANE_END].thread_count, threads);
		vbd_calls_check(rig.calls, vbd_clock_mono_ns() + 100 * VBD_NS_PER_MS);
	}
	assert_int_equal(rig.calls->lanes[VBD_LANE_END].thread_count, 12);
	assert_int_equal(rig.calls->lanes[VBD_LANE_PEER].thread_count, 1);
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++)
		assert_int_equal(sem_post(&rig.go_on), 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++)
		take_one();
}

CALLS_TEST(test_calls__lanes_have_names)
{
	assert_string_equal(vbd_lane_name(VBD_LANE_MEMORY), "memory");
	assert_string_equal(vbd_lane_name(VBD_LANE_PEER), "peer");
	assert_string_equal(vbd_lane_name(VBD_LANE_END), "end");
	vbd_calls_destroy(NULL);
}
