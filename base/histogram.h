/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of times, for percentiles without storing each value. Each power of two has 32
 * buckets, so a percentile is at most 1.6 % off. Minimum, maximum and sum are exact.
 *
 * One thread writes, any thread reads; no function here blocks. A reader that runs during an
 * addition may see a part of it: the new count with the old sum.
 *
 * An all-zero struct is an empty histogram.
 */
#ifndef VBD_BASE_HISTOGRAM_H
#define VBD_BASE_HISTOGRAM_H

#include "base/counter.h"

/* Values of 2^40 ns (18 minutes) and more share the last bucket. */
#define VBD_HISTOGRAM_BITS    40
#define VBD_HISTOGRAM_BUCKETS ((VBD_HISTOGRAM_BITS - 4) * 32)

struct vbd_histogram {
	struct vbd_counter count;
	struct vbd_counter sum;
	struct vbd_counter min; /* undefined while count is 0 */
	struct vbd_counter max;
	struct vbd_counter buckets[VBD_HISTOGRAM_BUCKETS];
};

/**
 * vbd_histogram_add - add one value; only the writing thread
 * @value: in ns
 */
void vbd_histogram_add(struct vbd_histogram *histogram, uint64_t value);

/**
 * vbd_histogram_merge - add all values of @other; only the writing thread
 * @other: unchanged
 */
void vbd_histogram_merge(struct vbd_histogram *histogram, const struct vbd_histogram *other);

/** vbd_histogram_mean - the mean of all values in ns; 0 for an empty histogram */
uint64_t vbd_histogram_mean(const struct vbd_histogram *histogram);

/**
 * vbd_histogram_permille - a percentile, within 1.6 %
 * @permille: 1 to 1000, how many thousandths of the values are at most as large as the result; 500
 *            is the median, 999 is known as p99.9
 *
 * Returns nanoseconds between the minimum and the maximum; 0 for an empty histogram.
 */
uint64_t vbd_histogram_permille(const struct vbd_histogram *histogram, unsigned int permille);

/**
 * vbd_histogram_between - count the values from 2^@from_bits ns up to 2^@to_bits - 1 ns
 * @from_bits: 5 to 40, or 0 to count every value below 2^@to_bits
 * @to_bits:   5 to 40, above @from_bits
 */
uint64_t vbd_histogram_between(
	const struct vbd_histogram *histogram, unsigned int from_bits, unsigned int to_bits);

#endif
