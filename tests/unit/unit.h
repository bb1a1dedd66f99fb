/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that register themselves, on cmocka, which is preceded by the headers that it needs. */
#ifndef VBD_TESTS_UNIT_UNIT_H
#define VBD_TESTS_UNIT_UNIT_H

#include "base/attr.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>

/* The bytes of a struct vbd_mem, which only a test may take for plain memory. */
#define UNIT_BYTES(mem_) ((uint8_t *)(mem_)->addr)

/* The folder for temporary files, as in all other tests. */
static inline const char *unit_tmpdir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] != '\0' ? dir : "/tmp";
}

/* Counts the open descriptors of the process, and a few that are always the same. */
static inline unsigned int unit_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

/* A test of this program; see TEST(). */
struct unit_test {
	struct CMUnitTest test;
	int line; /* of its definition */
	struct unit_test *next;
};

/**
 * TEST - define a test, without a fixture:
 *
 *	TEST(test_bucket__an_empty_one_refuses)
 *	{
 *		...
 *	}
 *
 * The program runs its tests in the order of their lines. Tests have no list, and need no main().
 */
#define TEST(name) TEST_WITH(name, void *no_fixture, NULL, NULL)

/**
 * TEST_WITH - define a test with a fixture
 * @fixture: declares what the body has, for example `struct rig *rig`: the *state of cmocka
 * @setup, @teardown: as of cmocka, run before and after the test; NULL: none
 *
 * Tests with the same fixture share a macro, for example RIG_TEST(name) of rig.h.
 */
#define TEST_WITH(name, fixture, setup, teardown)                                     \
	static void name(fixture);                                                    \
	static void name##__run(void **state)                                         \
	{                                                                             \
		unit_enter(#name);                                                    \
		name(*state);                                                         \
	}                                                                             \
	__attribute__((constructor)) static void name##__register(void)               \
	{                                                                             \
		static struct unit_test name##__entry = {                             \
			{#name, name##__run, setup, teardown, NULL}, __LINE__, NULL}; \
                                                                                      \
		unit_register(&name##__entry);                                        \
	}                                                                             \
	static void name(__attribute__((unused)) fixture)

/** unit_enter - a test begins; TEST_WITH() calls this */
void unit_enter(const char *test);

/** unit_register - add a test to the program; TEST_WITH() calls this before main() */
void unit_register(struct unit_test *test);

/**
 * unit_run - run the tests; for main()
 * @argv: a pattern of names, with * and ?, chooses tests: test_conn '*late*'; --write: see
 *         unit_golden()
 * @setup, @teardown: run before the first test and after the last one; NULL: none
 *
 * Returns the exit status: 0 if no test failed.
 */
int unit_run(int argc, char **argv, CMFixtureFunction setup, CMFixtureFunction teardown);

/**
 * unit_golden - fail the test unless @text is what was reviewed: what tests/unit/PROGRAM.golden has
 * for this call of the test
 *
 * `PROGRAM --write` writes the file anew, with the texts of all its tests; review the difference.
 */
void unit_golden(const char *text);

/* A wait that is under way. */
struct unit_wait {
	const char *condition, *file; /* NULL: none */
	int line;
	unsigned int seconds;
};

/* Executes the statement that follows until the condition holds. A wait that takes UNIT_WAIT_S
 * seconds of a running process ends the program, with the condition. No statement may leave it by
 * `break`. */
#define UNIT_UNTIL(condition)                                                         \
	for (struct unit_wait outer_wait = unit_wait(#condition, __FILE__, __LINE__); \
		unit_waits(&outer_wait, (condition));)
#define UNIT_WAIT_S 30

/** unit_wait, unit_waits - the parts of UNIT_UNTIL; a wait within another one is bounded by itself
 */
struct unit_wait unit_wait(const char *condition, const char *file, int line);
bool unit_waits(const struct unit_wait *outer, bool has_come);

#endif
