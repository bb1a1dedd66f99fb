/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * VBD_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t vbd_clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t vbd_clock_wall_of_ns(uint64_t mono_ns)
{
	static _Atomic uint64_t offset_ns;
	uint64_t offset = atomic_load_explicit(&offset_ns, memory_order_relaxed);

	if (!offset) {
		uint64_t fresh = read_ns(CLOCK_REALTIME) - vbd_clock_mono_ns();

		/* The first thread to get here decides, so that all threads agree. */
		if (atomic_compare_exchange_strong(&offset_ns, &offset, fresh))
			offset = fresh;
	}
	return mono_ns + offset;
}

char *vbd_clock_format(uint64_t mono_ns, char text[VBD_TIME_TEXT_BYTES])
{
	uint64_t wall_ns = vbd_clock_wall_of_ns(mono_ns);
	time_t seconds = (time_t)(wall_ns / VBD_NS_PER_S);
	struct tm utc;
	size_t len;

	(void)gmtime_r(&seconds, &utc);
	len = strftime(text, VBD_TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
	(void)snprintf(text + len, VBD_TIME_TEXT_BYTES - len, ".%09uZ",
		(unsigned int)(wall_ns % VBD_NS_PER_S));
	return text;
}
