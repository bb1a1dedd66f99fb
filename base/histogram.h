/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of times, for percentiles without keeping every value: 32 buckets to each power of
 * two, so that a percentile is off by 1.6 % at most. Least, greatest and sum are exact.
 *
 * One writer, any reader. A reader that comes while something is added may see half of it.
 */
#ifndef VBD_BASE_HISTOGRAM_H
#define VBD_BASE_HISTOGRAM_H

#include "base/counter.h"

/* Values of 2^40 ns (18 minutes) and above share the last bucket. */
#define VBD_HISTOGRAM_BITS    40
#define VBD_HISTOGRAM_BUCKETS ((VBD_HISTOGRAM_BITS - 4) * 32)

struct vbd_histogram {
	struct vbd_counter count;
	struct vbd_counter sum;
	struct vbd_counter min; /* meaningless while count is 0 */
	struct vbd_counter max;
	struct vbd_counter buckets[VBD_HISTOGRAM_BUCKETS];
};

/** vbd_histogram_add - the writer; one value more. An all-zero struct is an empty histogram. */
void vbd_histogram_add(struct vbd_histogram *histogram, uint64_t value);

/** vbd_histogram_merge - the writer; all values of another one more */
void vbd_histogram_merge(struct vbd_histogram *histogram, const struct vbd_histogram *other);

/** vbd_histogram_mean - 0 of none */
uint64_t vbd_histogram_mean(const struct vbd_histogram *histogram);

/**
 * vbd_histogram_permille - the value that so many of a thousand are not above, within 1.6 %
 * @permille: 1 to 1000; 500 is the median, 999 is known as p99.9
 *
 * Never below the least or above the greatest; 0 of none.
 */
uint64_t vbd_histogram_permille(const struct vbd_histogram *histogram, unsigned int permille);

/**
 * vbd_histogram_between - how many values are from 2^@from_bits up to, but not, 2^@to_bits
 * @from_bits: 5 to 40, or 0 for all below 2^@to_bits
 * @to_bits:   5 to 40
 */
uint64_t vbd_histogram_between(
	const struct vbd_histogram *histogram, unsigned int from_bits, unsigned int to_bits);

#endif
