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

/* --- texts that were reviewed ----------------------------------------------------------------- */

static struct {
	const char *test;   /* that runs */
	unsigned int nth;   /* text of the test */
	unsigned int count; /* of texts, of all tests */
	char *file;	    /* NULL: not read yet, or written anew */
	bool is_written;    /* instead of read */
	FILE *out;	    /* NULL: no text was written yet */
} golden;

void unit_enter(const char *test)
{
	golden.test = test;
	golden.nth = 0;
}

static void golden_path(char path[256])
{
	(void)snprintf(path, 256, "%s/tests/unit/%s.golden", VBD_SOURCE_DIR,
		program_invocation_short_name);
}

static void golden_write(const char *title, const char *text)
{
	char path[256];

	golden_path(path);
	if (!golden.out)
		golden.out = fopen(path, "we");
	assert_non_null(golden.out);
	(void)fprintf(golden.out, "%s%s\n", title, text);
}

static void golden_read(void)
{
	char path[256];
	size_t room = 0;
	FILE *file;

	golden_path(path);
	file = fopen(path, "re");
	if (!file || getdelim(&golden.file, &room, '\0', file) <= 0)
		fail_msg("%s can not be read; --write writes it", path);
	(void)fclose(file);
}

/* The text of the file below this title, without its last end of line; NULL if there is none. */
static char *golden_find(const char *title)
{
	const char *at = strstr(golden.file, title), *end;

	if (!at)
		return NULL;
	at += strlen(title);
	end = strstr(at, "\n=== ");
	return strndup(at, end ? (size_t)(end - at) : strlen(at) - 1);
}

void unit_golden(const char *text)
{
	size_t len = strlen(text);
	char title[256], *seen = strndup(text, len && text[len - 1] == '\n' ? len - 1 : len);
	char *wanted;

	assert_non_null(seen);
	golden.count++;
	(void)snprintf(title, sizeof(title), "=== %s %u\n", golden.test, ++golden.nth);
	if (golden.is_written) {
		golden_write(title, seen);
		free(seen);
		return;
	}
	if (!golden.file)
		golden_read();
	wanted = golden_find(title);
	if (!wanted || strcmp(seen, wanted) != 0) {
		/* cmocka cuts long messages. */
		(void)fprintf(stderr, "%s%s\n--- and not\n%s\n--- if that is right: %s --write\n",
			title, seen, wanted ? wanted : "(nothing)", program_invocation_short_name);
		fail();
	}
	free(wanted);
	free(seen);
}

/* Whether the file has a text that no test tells any more. */
static bool golden_has_more(void)
{
	unsigned int count = golden.file && strncmp(golden.file, "=== ", 4) == 0;

	for (const char *at = golden.file; at && (at = strstr(at, "\n=== ")); at++)
		count++;
	if (golden.file && count != golden.count)
		(void)fprintf(stderr, "the golden file has %u texts, and the tests %u\n", count,
			golden.count);
	return golden.file && count != golden.count;
}

/* --- the program ------------------------------------------------------------------------------ */

int unit_run(int argc, char **argv, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct CMUnitTest tests[TESTS_MAX];
	size_t count = 0;
	int failed;

	for (const struct unit_test *test = first; test; test = test->next) {
		assert_in_range(count, 0, TESTS_MAX - 1);
		tests[count++] = test->test;
	}
	golden.is_written = argc > 1 && strcmp(argv[1], "--write") == 0;
	if (argc > 1 && !golden.is_written)
		cmocka_set_test_filter(argv[1]);
	failed = _cmocka_run_group_tests(
		program_invocation_short_name, tests, count, setup, teardown);
	if (golden.out)
		(void)fclose(golden.out);
	if (argc == 1 && !failed && golden_has_more())
		failed = 1;
	free(golden.file);
	return failed;
}

/* --- waits ------------------------------------------------------------------------------------ */

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
