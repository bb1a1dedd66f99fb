/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * VBD_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t vbd_clock_mono_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

/* If two monotonic readings are further apart, the wall clock was not read close enough to them. */
#define NOISE_NS 100000

/* A smaller difference is the noise of reading two clocks. */
#define STEP_NS 1000000

/* False if so much time passed between the readings that the offset is inexact. */
static bool read_wall_offset(uint64_t *ret_offset_ns)
{
	uint64_t before_ns = vbd_clock_mono_ns();
	uint64_t wall_ns = read_clock_ns(CLOCK_REALTIME);
	uint64_t after_ns = vbd_clock_mono_ns();

	*ret_offset_ns = wall_ns - before_ns;
	return after_ns - before_ns < NOISE_NS;
}

static bool offsets_differ(uint64_t offset_ns, uint64_t held_ns)
{
	return offset_ns > held_ns + STEP_NS || held_ns > offset_ns + STEP_NS;
}

/* No machine needs a system call to read a coarse clock. A tick between the two reads only leads to
 * a needless read of the exact clocks. */
static bool clock_may_be_set(uint64_t held_ns)
{
	uint64_t wall_ns = read_clock_ns(CLOCK_REALTIME_COARSE);

	return offsets_differ(wall_ns - read_clock_ns(CLOCK_MONOTONIC_COARSE), held_ns);
}

uint64_t vbd_clock_wall_of_ns(uint64_t mono_ns)
{
	static _Atomic uint64_t offset_ns;
	uint64_t held = atomic_load_explicit(&offset_ns, memory_order_relaxed);
	uint64_t fresh;

	if (held && !clock_may_be_set(held))
		return mono_ns + held;
	/* The first thread to see a clock that was set decides, so that all threads agree. */
	if ((read_wall_offset(&fresh) && offsets_differ(fresh, held)) || !held) {
		if (atomic_compare_exchange_strong(&offset_ns, &held, fresh))
			held = fresh;
	}
	return mono_ns + held;
}

uint64_t vbd_clock_mono_of_wall_ns(uint64_t wall_ns)
{
	return wall_ns - vbd_clock_wall_of_ns(0);
}

/* Write a number of @digits digits, and @mark behind it. Returns what follows. */
static char *write_digits(char *at, unsigned int number, unsigned int digits, char mark)
{
	for (unsigned int i = digits; i-- > 0; number /= 10)
		at[i] = (char)('0' + number % 10);
	at[digits] = mark;
	return at + digits + 1;
}

/* By hand, since most objects of an answer have some times, and strftime(3) takes a microsecond. */
char *vbd_clock_format_wall(uint64_t wall_ns, char text[VBD_TIME_TEXT_BYTES])
{
	time_t seconds = (time_t)(wall_ns / VBD_NS_PER_S);
	struct tm utc;
	char *at = text;

	(void)gmtime_r(&seconds, &utc);
	at = write_digits(at, (unsigned int)utc.tm_year + 1900, 4, '-');
	at = write_digits(at, (unsigned int)utc.tm_mon + 1, 2, '-');
	at = write_digits(at, (unsigned int)utc.tm_mday, 2, 'T');
	at = write_digits(at, (unsigned int)utc.tm_hour, 2, ':');
	at = write_digits(at, (unsigned int)utc.tm_min, 2, ':');
	at = write_digits(at, (unsigned int)utc.tm_sec, 2, '.');
	at = write_digits(at, (unsigned int)(wall_ns % VBD_NS_PER_S), 9, 'Z');
	*at = '\0';
	return text;
}

char *vbd_clock_format(uint64_t mono_ns, char text[VBD_TIME_TEXT_BYTES])
{
	return vbd_clock_format_wall(vbd_clock_wall_of_ns(mono_ns), text);
}

uint64_t vbd_bucket_take(uint64_t full_ns, uint32_t per_s, uint32_t burst, uint64_t now_ns)
{
	uint64_t each_ns = VBD_NS_PER_S / per_s;
	uint64_t from_ns = full_ns > now_ns ? full_ns : now_ns;

	return from_ns - now_ns > (burst - 1) * each_ns ? 0 : from_ns + each_ns;
}

uint64_t vbd_bucket_taken(uint64_t full_ns, uint32_t per_s, uint64_t now_ns)
{
	uint64_t each_ns = VBD_NS_PER_S / per_s;

	return full_ns > now_ns ? (full_ns - now_ns + each_ns - 1) / each_ns : 0;
}
