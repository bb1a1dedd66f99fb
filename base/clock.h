/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. Monotonic time drives everything; wall-clock time is only shown.
 *
 * Any thread; never blocks.
 */
#ifndef VBD_BASE_CLOCK_H
#define VBD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define VBD_NS_PER_MS 1000000ULL
#define VBD_NS_PER_S  1000000000ULL

/* "2026-01-02T03:04:05.000000006Z" and its NUL. */
#define VBD_TIME_TEXT_BYTES 31

/** vbd_clock_mono_ns - CLOCK_MONOTONIC in ns; never 0 */
uint64_t vbd_clock_mono_ns(void);

/**
 * vbd_clock_wall_of_ns - wall-clock time, in ns since 1970, of a moment of the monotonic clock
 * @mono_ns: a value of vbd_clock_mono_ns()
 *
 * The offset between the clocks is read once, at the first call, so that timestamps of one run stay
 * in order when somebody sets the clock.
 */
uint64_t vbd_clock_wall_of_ns(uint64_t mono_ns);

/** vbd_clock_format - RFC 3339 text, UTC with nanoseconds, of a moment of the monotonic clock;
 * returns @text */
char *vbd_clock_format(uint64_t mono_ns, char text[VBD_TIME_TEXT_BYTES]);

#endif
