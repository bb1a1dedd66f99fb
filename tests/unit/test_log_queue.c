/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Lines that are more than the queue and a pipe hold. */
#define TOO_MANY 20000

struct fixture {
	int saved_stderr;
	int reader; /* of the pipe that standard error is */
	uint64_t dropped_before;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int ends[2];

	assert_non_null(f);
	f->saved_stderr = dup(STDERR_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	(void)close(ends[1]);
	f->reader = ends[0];
	f->dropped_before = vbd_log_state().lines_dropped;
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_JOURNAL);
	assert_int_equal(vbd_log_start(NULL), VBD_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)dup2(f->saved_stderr, STDERR_FILENO);
	(void)close(f->saved_stderr);
	(void)close(f->reader);
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_TEXT);
	free(f);
	return 0;
}

#define QUEUE_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static uint64_t dropped(const struct fixture *f)
{
	return vbd_log_state().lines_dropped - f->dropped_before;
}

/* Read one line without its newline; false at the end. */
static bool next_line(FILE *log, char line[200])
{
	if (!fgets(line, 200, log))
		return false;
	assert_non_null(strchr(line, '\n'));
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* Close the writing end, so that the reader sees the end. */
static FILE *end_of_log(struct fixture *f)
{
	FILE *log;

	assert_true(dup2(f->saved_stderr, STDERR_FILENO) >= 0);
	log = fdopen(dup(f->reader), "r");
	assert_non_null(log);
	return log;
}

QUEUE_TEST(test_log_queue__lines_are_written_in_their_order_before_the_stop_ends)
{
	char line[200], wanted[32];
	FILE *log;

	for (int i = 0; i < 100; i++)
		vbd_log(VBD_LOG_INFO, NULL, "line %d", i);
	vbd_log_stop(60000);
	vbd_log(VBD_LOG_INFO, NULL, "line %d", 100); /* without the thread */
	log = end_of_log(f);
	for (int i = 0; i <= 100; i++) {
		(void)snprintf(wanted, sizeof(wanted), "<6>verbsd: line %d", i);
		assert_true(next_line(log, line));
		assert_string_equal(line, wanted);
	}
	assert_false(next_line(log, line));
	assert_true(dropped(f) == 0);
	(void)fclose(log);
}

static void *stop_log(void *arg)
{
	(void)arg;
	vbd_log_stop(60000);
	(void)close(STDERR_FILENO);
	return NULL;
}

/* Counts lines, which have increasing numbers, and those that a notice speaks of. */
static void count_lines(FILE *log, uint64_t *ret_seen, uint64_t *ret_said)
{
	unsigned long long number, before = 0, said;
	char line[200];

	*ret_seen = 0;
	*ret_said = 0;
	while (next_line(log, line)) {
		if (sscanf(line, "<4>verbsd: %llu line", &said) == 1) {
			*ret_said += said;
			before += said;
			continue;
		}
		assert_int_equal(sscanf(line, "<6>verbsd: line %llu", &number), 1);
		assert_true(number == before + 1);
		before = number;
		(*ret_seen)++;
	}
}

QUEUE_TEST(test_log_queue__a_notice_stands_where_lines_found_no_room)
{
	uint64_t seen, said;
	pthread_t stopper;
	FILE *log;

	for (unsigned int i = 1; i <= TOO_MANY; i++)
		vbd_log(VBD_LOG_INFO, NULL, "line %u", i); /* nobody reads: it must not block */
	assert_true(dropped(f) > 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop_log, NULL), 0);
	log = fdopen(dup(f->reader), "r");
	count_lines(log, &seen, &said);
	assert_int_equal(pthread_join(stopper, NULL), 0);
	assert_true(said == dropped(f));
	assert_true(seen + said == TOO_MANY);
	(void)fclose(log);
}

/* Waits for the thread that writes. */
static void await_dropped(const struct fixture *f, uint64_t lines)
{
	UNIT_UNTIL (dropped(f) >= lines)
		(void)usleep(1000);
}

QUEUE_TEST(test_log_queue__lines_lost_by_an_error_are_said_after_it)
{
	int pipe_fd = dup(STDERR_FILENO);
	int full = open("/dev/full", O_WRONLY);
	uint64_t seen, said;
	FILE *log;

	assert_true(dup2(full, STDERR_FILENO) >= 0);
	/* The notice of those before goes with each line, and is not written either. */
	for (unsigned int i = 1; i <= 3; i++) {
		vbd_log(VBD_LOG_INFO, NULL, "line %u", i);
		await_dropped(f, i);
	}
	assert_int_equal(vbd_log_state().error, ENOSPC);
	assert_true(dup2(pipe_fd, STDERR_FILENO) >= 0);
	(void)close(pipe_fd);
	(void)close(full);
	vbd_log(VBD_LOG_INFO, NULL, "line %u", 4);
	vbd_log_stop(60000);
	assert_int_equal(vbd_log_state().error, 0);
	log = end_of_log(f);
	count_lines(log, &seen, &said);
	assert_true(said == 3);
	assert_true(seen == 1);
	(void)fclose(log);
}

QUEUE_TEST(test_log_queue__the_log_of_a_terminal_that_is_gone_is_dropped)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	int pipe_fd = dup(STDERR_FILENO);
	int end;

	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	assert_true(dup2(end, STDERR_FILENO) >= 0);
	(void)close(end);
	(void)close(terminal);
	vbd_log(VBD_LOG_INFO, NULL, "line 1");
	await_dropped(f, 1);
	assert_int_equal(vbd_log_state().error, EIO);
	assert_true(dup2(pipe_fd, STDERR_FILENO) >= 0);
	(void)close(pipe_fd);
	vbd_log(VBD_LOG_INFO, NULL, "line 2");
	vbd_log_stop(60000);
	assert_int_equal(vbd_log_state().error, 0);
}

/* In a process of its own, since a thread stays behind in its write. */
static void stop_while_nobody_reads(void)
{
	for (unsigned int i = 0; i < TOO_MANY; i++)
		vbd_log(VBD_LOG_INFO, NULL, "line %u", i);
	vbd_log_stop(10);
	vbd_log(VBD_LOG_INFO, NULL, "one more");
	_exit(vbd_log_state().lines_dropped > 0 ? 7 : 8);
}

QUEUE_TEST(test_log_queue__a_stop_does_not_wait_for_ever_for_the_reader)
{
	pid_t child;
	int status;

	vbd_log_stop(60000);
	child = fork();
	if (child == 0) {
		if (vbd_log_start(NULL) != VBD_OK)
			_exit(9);
		stop_while_nobody_reads();
	}
	assert_true(child > 0);
	assert_true(waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void *log_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		vbd_log(VBD_LOG_INFO, arg, "%s", "a line of one of four threads");
	return NULL;
}

QUEUE_TEST(test_log_queue__lines_of_several_threads_do_not_mix)
{
	static char names[4][4] = {"t/0", "t/1", "t/2", "t/3"};
	pthread_t threads[4], stopper;
	unsigned int counts[4] = {0};
	char line[200];
	FILE *log = fdopen(dup(f->reader), "r");

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, names[i]), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop_log, NULL), 0);
	while (next_line(log, line)) {
		assert_string_equal(line + 6, ": a line of one of four threads");
		assert_in_range(line[5], '0', '3');
		counts[line[5] - '0']++;
	}
	assert_int_equal(pthread_join(stopper, NULL), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(counts[i], 500);
	(void)fclose(log);
}

/* --- a file of its own ----------------------------------------------------------------------- */

static size_t count_notice(char line[VBD_LOG_LINE_BYTES], uint64_t lines)
{
	return (size_t)snprintf(line, VBD_LOG_LINE_BYTES, "%llu lost\n", (unsigned long long)lines);
}

static void assert_file(const char *path, const char *wanted)
{
	char text[200] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	assert_string_equal(text, wanted);
}

TEST(test_log_queue__a_rotated_file_is_opened_again_by_its_path)
{
	unsigned int descriptors = unit_descriptors();
	struct vbd_log_queue *queue = NULL;
	char path[200], old[220];

	(void)snprintf(path, sizeof(path), "%s/queue-%d", unit_tmpdir(), (int)getpid());
	(void)snprintf(old, sizeof(old), "%s.1", path);
	assert_int_equal(vbd_log_queue_create(path, 0600, count_notice, &queue, NULL), VBD_OK);
	vbd_log_queue_put(queue, "one\n", 4);
	vbd_log_queue_destroy(queue, 60000);
	assert_int_equal(vbd_log_queue_create(path, 0600, count_notice, &queue, NULL), VBD_OK);
	assert_int_equal(rename(path, old), 0);
	vbd_log_queue_reopen(queue);
	while (access(path, F_OK) != 0)
		(void)usleep(1000);
	vbd_log_queue_put(queue, "two\n", 4);
	vbd_log_queue_destroy(queue, 60000);
	assert_file(old, "one\n");
	assert_file(path, "two\n");
	assert_int_equal(unit_descriptors(), descriptors);
	(void)unlink(path);
	(void)unlink(old);
}

TEST(test_log_queue__a_file_that_cannot_be_opened_again_stays)
{
	unsigned int descriptors = unit_descriptors();
	struct vbd_log_queue *queue = NULL;
	char folder[200], path[220];
	struct vbd_error err = {0};

	(void)snprintf(folder, sizeof(folder), "%s/folder-%d", unit_tmpdir(), (int)getpid());
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(vbd_log_queue_create(path, 0600, count_notice, &queue, NULL), VBD_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	vbd_log_queue_reopen(queue);
	UNIT_UNTIL (vbd_log_queue_state(queue).reopen_error)
		(void)usleep(1000);
	assert_int_equal(vbd_log_queue_state(queue).reopen_error, ENOENT);
	vbd_log_queue_put(queue, "one\n", 4);
	vbd_log_queue_destroy(queue, 60000);
	assert_int_not_equal(vbd_log_queue_create(path, 0600, count_notice, &queue, &err), VBD_OK);
	assert_non_null(strstr(err.text, "can't write"));
	assert_int_equal(unit_descriptors(), descriptors);
	vbd_log_queue_destroy(NULL, 0);
}

static bool no_memory, no_thread;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
enum vbd_status __real_vbd_thread_start(void *(*run)(void *), void *arg, const char *text,
	pthread_t *ret_thread, struct vbd_error *err);
enum vbd_status __wrap_vbd_thread_start(void *(*run)(void *), void *arg, const char *text,
	pthread_t *ret_thread, struct vbd_error *err);

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

enum vbd_status __wrap_vbd_thread_start(void *(*run)(void *), void *arg, const char *text,
	pthread_t *ret_thread, struct vbd_error *err)
{
	return no_thread ? vbd_error_set(err, VBD_E_INTERNAL, "%s", text)
			 : __real_vbd_thread_start(run, arg, text, ret_thread, err);
}

TEST(test_log_queue__one_that_can_not_begin_leaves_nothing)
{
	unsigned int descriptors = unit_descriptors();
	struct vbd_log_queue *queue = NULL;
	struct vbd_error err = {0};

	no_memory = true;
	assert_int_equal(vbd_log_queue_create("/dev/null", 0600, count_notice, &queue, &err),
		VBD_E_NO_MEMORY);
	no_memory = false;
	assert_string_equal(err.text, "no memory for the lines of /dev/null");
	memset(&err, 0, sizeof(err));
	no_thread = true;
	assert_int_equal(vbd_log_queue_create("/dev/null", 0600, count_notice, &queue, &err),
		VBD_E_INTERNAL);
	no_thread = false;
	assert_string_equal(err.text, "no thread for the log");
	assert_null(queue);
	assert_int_equal(unit_descriptors(), descriptors);
}
