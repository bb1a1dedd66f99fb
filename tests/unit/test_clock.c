/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "tests/unit/unit.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t g_step_s;   /* an administrator added it to the wall clock */
static int64_t g_noise_ns; /* time between two readings of one clock */
static uint64_t g_exact_reads;

/* In place of that of libc. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int64_t passed_ns;
	bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
	bool is_coarse = clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
	int64_t ns;

	if (syscall(SYS_clock_gettime, clock, now) != 0)
		return -1;
	passed_ns += g_noise_ns;
	g_exact_reads += !is_coarse;
	ns = now->tv_nsec + passed_ns;
	now->tv_sec += ns / (int64_t)VBD_NS_PER_S + (is_wall ? g_step_s : 0);
	now->tv_nsec = ns % (int64_t)VBD_NS_PER_S;
	return 0;
}

TEST(test_clock__monotonic_time_only_grows)
{
	uint64_t before_ns = vbd_clock_mono_ns();

	assert_true(before_ns > 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t now_ns = vbd_clock_mono_ns();

		assert_true(now_ns >= before_ns);
		before_ns = now_ns;
	}
}

TEST(test_clock__wall_time_keeps_the_distances_of_monotonic_time)
{
	uint64_t first_ns = vbd_clock_wall_of_ns(1000);

	assert_true(vbd_clock_wall_of_ns(1001) - first_ns == 1);
	assert_true(vbd_clock_wall_of_ns(5000000001) - first_ns == 4999999001);
	assert_true(vbd_clock_wall_of_ns(1000) == first_ns);
}

/* But for some that a tick of the coarse clocks falls into. */
TEST(test_clock__wall_time_reads_no_exact_clock_as_a_rule)
{
	uint64_t before;

	(void)vbd_clock_wall_of_ns(0);
	before = g_exact_reads;
	for (int i = 0; i < 1000; i++)
		(void)vbd_clock_wall_of_ns(0);
	assert_true(g_exact_reads - before < 1000);
}

TEST(test_clock__wall_time_is_that_of_the_system)
{
	struct timespec before;
	struct timespec after;
	uint64_t seconds;

	(void)vbd_clock_wall_of_ns(1); /* the first call reads the offset between the clocks */
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &before), 0);
	seconds = vbd_clock_wall_of_ns(vbd_clock_mono_ns()) / VBD_NS_PER_S;
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &after), 0);
	assert_in_range(seconds, (uint64_t)before.tv_sec - 1, (uint64_t)after.tv_sec + 1);
}

TEST(test_clock__a_clock_set_later_shows_in_all_times)
{
	uint64_t before_ns = vbd_clock_wall_of_ns(1000);
	uint64_t after_ns;

	g_step_s = 3600;
	after_ns = vbd_clock_wall_of_ns(1000);
	assert_in_range(after_ns - before_ns, 3599 * VBD_NS_PER_S, 3601 * VBD_NS_PER_S);
	assert_true(vbd_clock_wall_of_ns(1001) - after_ns == 1);
	g_step_s = -7200;
	assert_in_range(
		before_ns - vbd_clock_wall_of_ns(1000), 7199 * VBD_NS_PER_S, 7201 * VBD_NS_PER_S);
	g_step_s = 0;
}

TEST(test_clock__a_slow_look_at_the_clock_moves_no_time)
{
	uint64_t before_ns = vbd_clock_wall_of_ns(1000);

	g_noise_ns = 20000000; /* as if the thread lost its CPU between two readings */
	assert_true(vbd_clock_wall_of_ns(1000) == before_ns);
	g_noise_ns = 0;
	assert_true(vbd_clock_wall_of_ns(1000) == before_ns);
}

/* The pattern of Time in openapi.yaml. */
static bool is_rfc3339(const char *text)
{
	static const char pattern[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";

	if (strlen(text) != strlen(pattern))
		return false;
	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i])
			return false;
	}
	return true;
}

TEST(test_clock__a_moment_is_written_with_all_its_nanoseconds)
{
	char text[VBD_TIME_TEXT_BYTES];
	/* wall-clock time 2026-01-02T03:04:05.000000006Z */
	uint64_t mono_ns = 1767323045000000006ULL - vbd_clock_wall_of_ns(0);

	assert_ptr_equal(vbd_clock_format(mono_ns, text), text);
	assert_string_equal(text, "2026-01-02T03:04:05.000000006Z");
	(void)vbd_clock_format(mono_ns + 999999993, text);
	assert_string_equal(text, "2026-01-02T03:04:05.999999999Z");
	(void)vbd_clock_format(mono_ns + 999999994, text);
	assert_string_equal(text, "2026-01-02T03:04:06.000000000Z");
	assert_true(is_rfc3339(vbd_clock_format(vbd_clock_mono_ns(), text)));
	assert_ptr_equal(vbd_clock_format_wall(1767323045000000006ULL, text), text);
	assert_string_equal(text, "2026-01-02T03:04:05.000000006Z");
}
