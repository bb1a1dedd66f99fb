/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. Deadlines, intervals and the order of events use monotonic time. Wall-clock time is only
 * shown.
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_CLOCK_H
#define VBD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define VBD_NS_PER_US 1000ULL
#define VBD_NS_PER_MS 1000000ULL
#define VBD_NS_PER_S  1000000000ULL

/* Length of "2026-01-02T03:04:05.000000006Z" with its NUL. */
#define VBD_TIME_TEXT_BYTES 31

/**
 * vbd_clock_mono_ns - read CLOCK_MONOTONIC
 *
 * Returns nanoseconds, never 0: callers use 0 for "not set".
 */
uint64_t vbd_clock_mono_ns(void);

/**
 * vbd_clock_wall_of_ns - convert a moment of the monotonic clock to wall-clock time
 * @mono_ns: a value of vbd_clock_mono_ns(), in ns
 *
 * Returns nanoseconds since 1970-01-01T00:00:00Z by the wall clock as it is set now. When an
 * administrator sets the clock by 1 ms or more, all moments move with it, those before too, so that
 * times shown together stay in order and keep their distances.
 */
uint64_t vbd_clock_wall_of_ns(uint64_t mono_ns);

/**
 * vbd_clock_mono_of_wall_ns - convert wall-clock time to a moment of the monotonic clock
 * @wall_ns: nanoseconds since 1970-01-01T00:00:00Z
 *
 * Returns the moment that vbd_clock_wall_of_ns() converts to @wall_ns now. One before the boot of
 * the host is a number above those of all others, and no distance can be computed from it.
 */
uint64_t vbd_clock_mono_of_wall_ns(uint64_t wall_ns);

/**
 * vbd_clock_format - format a moment of the monotonic clock as RFC 3339 text in UTC
 * @mono_ns: a value of vbd_clock_mono_ns(), in ns
 * @text:    filled with the time to the nanosecond, NUL-terminated
 *
 * Returns @text.
 */
char *vbd_clock_format(uint64_t mono_ns, char text[VBD_TIME_TEXT_BYTES]);

/** vbd_clock_format_wall - as vbd_clock_format(), of a moment in ns since 1970-01-01T00:00:00Z */
char *vbd_clock_format_wall(uint64_t wall_ns, char text[VBD_TIME_TEXT_BYTES]);

/**
 * vbd_bucket_take - take a token out of a token bucket, kept as the time when it is full again
 * @full_ns: when it is full again now; 0 at first
 * @per_s:   1 or more
 * @burst:   tokens in a full bucket, 1 or more
 * @now_ns:  of the monotonic clock
 *
 * Returns the new @full_ns, which the caller keeps; 0 and no token taken if the bucket is empty.
 */
uint64_t vbd_bucket_take(uint64_t full_ns, uint32_t per_s, uint32_t burst, uint64_t now_ns);

/** vbd_bucket_taken - how many tokens are missing in the bucket */
uint64_t vbd_bucket_taken(uint64_t full_ns, uint32_t per_s, uint64_t now_ns);

#endif
