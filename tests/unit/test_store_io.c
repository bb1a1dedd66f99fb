/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a daemon one after the other, each in a process of its own that is killed, while the disk
 * fails once, or for good. No id and no number of an event is given twice, and what was kept is
 * there as soon as the disk is well.
 */
#include "daemon/store/disk.h"
#include "daemon/store/keeper.h"
#include "daemon/store/store.h"
#include "tests/unit/io_faults.h"
#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT	   5
#define EVENTS_MAX 64

enum end {
	AT_ONCE,   /* killed when it has given an id */
	WHEN_WELL, /* killed when it has recovered, and has kept one more object */
	PREPARED,  /* the first run, which keeps objects */
	USED_UP,   /* the disk is full, and the run uses up its reserve of ids several times */
	UNFLUSHED, /* the disk takes everything, and flushes nothing */
};

/* One run, and what it told its clients. */
struct run {
	enum io_fault fault;
	int nth, more;
	enum end end;
	uint64_t ids[3];
	size_t id_count;
	uint64_t seqs[EVENTS_MAX];
	size_t seq_count;
	unsigned int kept; /* a bit for each */
	int calls;
	struct vbd_store_state state;
};

#define RUNS_MAX 4

struct fixture {
	char folder[SCRATCH_PATH_BYTES];
	char prepared[SCRATCH_PATH_BYTES + 32], dir[SCRATCH_PATH_BYTES + 32];
	struct run *run; /* shared with the process of the run */
	struct run before[RUNS_MAX];
	size_t count;
};

/* --- the process of a run -------------------------------------------------------------------- */

/* The pause between two attempts of the store is short. */
struct timespec __real_vbd_cond_deadline(unsigned int timeout_ms);
struct timespec __wrap_vbd_cond_deadline(unsigned int timeout_ms);
struct timespec __wrap_vbd_cond_deadline(unsigned int timeout_ms)
{
	return __real_vbd_cond_deadline(timeout_ms == 1000 ? 5 : timeout_ms);
}

/* Two runs of a test follow each other faster than those of a daemon: within the random part of a
 * number of the clock, which is left out. */
ssize_t __real_getrandom(void *bytes, size_t len, unsigned int flags);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned int flags);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned int flags)
{
	ssize_t got = __real_getrandom(bytes, len, flags);

	if (len == sizeof(uint64_t))
		*(uint64_t *)bytes &= (UINT64_C(1) << 47) - 1;
	return got;
}

static void take_id(struct svc *svc, struct run *run)
{
	const struct vbd_buffer_spec spec = {.size_bytes = 4096};
	struct vbd_buffer *buffer = NULL;

	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	run->ids[run->id_count++] = buffer->object.id;
}

static void see_kept(const struct vbd_desired *row, void *arg)
{
	struct run *run = arg;

	run->kept |= 1U << (row->name[0] - 'a');
}

static void keep(struct svc *svc, char letter)
{
	const char name[] = {letter, '\0'};
	const struct vbd_desired row = {
		.kind = "buffer", .name = name, .owner = "", .body = "{\"size_bytes\": 1}"};
	uint64_t ticket = vbd_keeper_put_desired(svc->daemon->keeper, &row);

	UNIT_UNTIL (vbd_keeper_has(svc->daemon->keeper, ticket))
		svc_turn(svc);
}

static void recover(struct svc *svc)
{
	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).failing && vbd_keeper_state(svc->daemon).loaded)
		svc_turn(svc);
	svc_turn(svc);
}

static void take_seqs(const struct svc *svc, struct run *run)
{
	const struct vbd_event_filter all = {0};
	const struct vbd_event *event = NULL;

	while ((event = vbd_eventlog_next(svc->daemon->eventlog, event ? event->seq : 0, &all))) {
		if (event->run)
			continue;
		assert_true(run->seq_count < EVENTS_MAX);
		run->seqs[run->seq_count++] = event->seq;
	}
}

/* Each attempt of the store that begins now and fails has written the mark. */
static void use_up(struct svc *svc)
{
	const struct vbd_event event = {.type = VBD_EVENT_DAEMON_STARTED};

	io_let_fail(IO_FULL, 1, INT_MAX);
	for (unsigned int round = 0; round < 14; round++) {
		uint64_t before = vbd_keeper_state(svc->daemon).failures;

		for (uint64_t i = 0; i < VBD_IDS_AHEAD / 4; i++)
			(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "one of many");
		UNIT_UNTIL (vbd_keeper_state(svc->daemon).failures >= before + 2)
			svc_turn(svc);
	}
}

/* A power cut would take what was not flushed. */
static void need_flushes(struct svc *svc)
{
	const struct vbd_event event = {.type = VBD_EVENT_DAEMON_STARTED};
	const struct vbd_answer answer = {
		.key = "alice k", .status = 201, .code = "", .content_type = "", .headers = ""};
	const struct vbd_desired row = {
		.kind = "buffer", .name = "front", .owner = "", .body = "{\"size_bytes\": 1}"};
	uint64_t answered, kept;

	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
		svc_turn(svc);
	io_let_fail(IO_NO_FLUSH, 1, INT_MAX);
	(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "an event needs no flush");
	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
		svc_turn(svc);
	assert_false(vbd_keeper_state(svc->daemon).failing);
	answered = vbd_keeper_put_answer(svc->daemon->keeper, &answer);
	UNIT_UNTIL (vbd_keeper_state(svc->daemon).failing)
		svc_turn(svc);
	kept = vbd_keeper_put_desired(svc->daemon->keeper, &row);
	assert_false(vbd_keeper_has(svc->daemon->keeper, answered));
	io_let_fail(IO_NO_FAULT, 0, 0);
	UNIT_UNTIL (vbd_keeper_has(svc->daemon->keeper, kept))
		svc_turn(svc);
	assert_true(vbd_keeper_has(svc->daemon->keeper, answered));
}

static void live(struct run *run, const char *dir)
{
	void *state = NULL;
	struct svc *svc;

	io_faults_install();
	assert_int_equal(svc_setup(&state), 0);
	svc = state;
	svc_stop(svc);
	(void)snprintf(svc->config.state_dir, sizeof(svc->config.state_dir), "%s", dir);
	svc->config.records.events = EVENTS_MAX / 2;
	io_let_fail(run->fault, run->nth, run->more);
	assert_true(svc_start(svc));
	run->calls = io_calls();
	take_id(svc, run);
	vbd_keeper_take_desired(svc->daemon->keeper, see_kept, run);
	if (run->end == USED_UP) {
		use_up(svc);
		take_id(svc, run);
	} else if (run->end == UNFLUSHED) {
		need_flushes(svc);
	} else if (run->end != AT_ONCE) {
		recover(svc);
		take_id(svc, run);
		vbd_keeper_take_desired(svc->daemon->keeper, see_kept, run);
		for (char letter = 'a'; run->end == PREPARED && letter < 'a' + KEPT; letter++)
			keep(svc, letter);
		keep(svc, 'z');
		take_id(svc, run);
		UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
			svc_turn(svc);
	}
	take_seqs(svc, run);
	run->state = vbd_keeper_state(svc->daemon);
}

/* --- the tests ------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	scratch_make(f->folder);
	(void)snprintf(f->prepared, sizeof(f->prepared), "%s/prepared", f->folder);
	f->run = mmap(
		NULL, sizeof(*f->run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->run, MAP_FAILED);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)munmap(f->run, sizeof(*f->run));
	scratch_remove(f->folder);
	free(f);
	return 0;
}

#define STORE_IO_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void check_apart(const uint64_t *some, size_t some_count, const uint64_t *others,
	size_t other_count, const char *of, const char *what)
{
	for (size_t i = 0; i < some_count; i++) {
		for (size_t at = 0; at < other_count; at++) {
			if (some[i] == others[at])
				fail_msg("%s: two %s have the number %llu", what, of,
					(unsigned long long)some[i]);
		}
	}
}

/* Nothing has a number of a run before. */
static void check_numbers(const struct fixture *f, const struct run *run, const char *what)
{
	assert_true(run->id_count && run->seq_count);
	for (size_t i = 0; i < f->count; i++) {
		const struct run *before = &f->before[i];

		check_apart(
			run->ids, run->id_count, before->ids, before->id_count, "buffers", what);
		check_apart(
			run->seqs, run->seq_count, before->seqs, before->seq_count, "events", what);
	}
}

static const struct run *run_in(
	struct fixture *f, const char *dir, struct run begin, const char *what)
{
	int status;
	pid_t child;

	*f->run = begin;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		live(f->run, dir);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("%s: run %zu ended with the status %#x", what, f->count, status);
	check_numbers(f, f->run, what);
	assert_true(f->count < RUNS_MAX);
	f->before[f->count++] = *f->run;
	return &f->before[f->count - 1];
}

static void check_kept(const struct fixture *f, const struct run *run, const char *what)
{
	char aside[SCRATCH_PATH_BYTES + 96];

	(void)snprintf(aside, sizeof(aside), "%s/" VBD_STORE_FILE_DAMAGED, f->dir);
	if (access(aside, F_OK) == 0)
		fail_msg("%s: a healthy file was set aside", what);
	for (unsigned int i = 0; i < KEPT; i++) {
		if (!(run->kept & 1U << i))
			fail_msg("%s: a kept object is not there: %#x are", what, run->kept);
	}
	if (run->state.losses)
		fail_msg("%s: lost, though nothing is: %s", what, run->state.loss);
}

/* Returns whether the start made as many calls. */
static bool fail_nth(struct fixture *f, enum io_fault fault, int nth, int more)
{
	static const char *const names[] = {
		[IO_EIO] = "EIO", [IO_SHORT_READ] = "a short read", [IO_ENOSPC] = "ENOSPC"};
	const struct run faulty = {.fault = fault, .nth = nth, .more = more};
	struct run well = {.fault = fault, .nth = nth, .end = WHEN_WELL};
	char what[80];
	bool came;

	(void)snprintf(what, sizeof(what), "%s at call %d%s", names[fault], nth,
		more ? " and behind it" : "");
	(void)snprintf(f->dir, sizeof(f->dir), "%s/state", f->folder);
	scratch_copy(f->prepared, f->dir);
	f->count = 1;
	came = run_in(f, f->dir, faulty, what)->calls >= nth;
	if (!more)
		check_kept(f, run_in(f, f->dir, well, what), what);
	well.fault = IO_NO_FAULT;
	check_kept(f, run_in(f, f->dir, well, what), what);
	scratch_remove(f->dir);
	return came;
}

static void fail_each(struct fixture *f, enum io_fault fault, int more)
{
	int nth = 1;

	(void)run_in(f, f->prepared, (struct run){.end = PREPARED}, "the first run");
	while (fail_nth(f, fault, nth, more))
		nth++;
	print_message("%d calls of the start have failed\n", nth - 1);
	assert_true(nth > 5);
}

STORE_IO_TEST(test_store_io__any_call_may_fail_once)
{
	fail_each(f, IO_EIO, 0);
}

STORE_IO_TEST(test_store_io__any_read_may_be_short)
{
	fail_each(f, IO_SHORT_READ, 0);
}

STORE_IO_TEST(test_store_io__any_write_may_find_no_room)
{
	fail_each(f, IO_ENOSPC, 0);
}

STORE_IO_TEST(test_store_io__the_disk_may_fail_for_good_at_any_call)
{
	fail_each(f, IO_EIO, INT_MAX);
}

STORE_IO_TEST(test_store_io__the_disk_may_be_full_from_any_write_on)
{
	fail_each(f, IO_ENOSPC, INT_MAX);
}

STORE_IO_TEST(test_store_io__the_reserve_of_ids_goes_on_in_the_mark)
{
	const struct run *used_up, *next;
	uint64_t last;

	(void)run_in(f, f->prepared, (struct run){.end = PREPARED}, "the first run");
	used_up = run_in(f, f->prepared, (struct run){.end = USED_UP}, "a full disk");
	last = used_up->seqs[used_up->seq_count - 1];
	assert_true(last > 3 * VBD_IDS_AHEAD && last < UINT64_C(1) << 32);
	next = run_in(f, f->prepared, (struct run){.end = WHEN_WELL}, "the next run");
	assert_true(next->seqs[0] > last && next->seqs[0] < UINT64_C(1) << 32);
	assert_true(next->ids[0] > used_up->ids[1]);
	assert_int_equal(next->state.losses, 0);
}

STORE_IO_TEST(test_store_io__an_answer_counts_as_written_when_it_is_flushed)
{
	(void)run_in(f, f->prepared, (struct run){.end = UNFLUSHED}, "no flush");
}
