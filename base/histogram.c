/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#define SUB_BITS 5
#define SUBS	 (1U << SUB_BITS)

/* Each value below 32 has its own bucket. Above, the leading bit and the five bits after it choose
 * the bucket. */
static unsigned int bucket_of_value(uint64_t value)
{
	unsigned int shift;

	if (value >> VBD_HISTOGRAM_BITS)
		return VBD_HISTOGRAM_BUCKETS - 1;
	if (value < SUBS)
		return (unsigned int)value;
	shift = 63U - (unsigned int)__builtin_clzll(value) - SUB_BITS;
	return (shift + 1) * SUBS + (unsigned int)(value >> shift) - SUBS;
}

static uint64_t bucket_middle(unsigned int bucket)
{
	unsigned int shift = bucket < SUBS ? 0 : bucket / SUBS - 1;
	uint64_t low = bucket < SUBS ? bucket : (uint64_t)(bucket % SUBS + SUBS) << shift;

	return low + ((UINT64_C(1) << shift) >> 1);
}

void vbd_histogram_add(struct vbd_histogram *histogram, uint64_t value)
{
	if (!vbd_counter_get(&histogram->count) || value < vbd_counter_get(&histogram->min))
		vbd_counter_set(&histogram->min, value);
	if (value > vbd_counter_get(&histogram->max))
		vbd_counter_set(&histogram->max, value);
	vbd_counter_add(&histogram->sum, value);
	vbd_counter_add(&histogram->buckets[bucket_of_value(value)], 1);
	vbd_counter_add(&histogram->count, 1);
}

void vbd_histogram_merge(struct vbd_histogram *histogram, const struct vbd_histogram *other)
{
	uint64_t count = vbd_counter_get(&other->count);
	uint64_t min = vbd_counter_get(&other->min);
	uint64_t max = vbd_counter_get(&other->max);

	if (!count)
		return;
	if (!vbd_counter_get(&histogram->count) || min < vbd_counter_get(&histogram->min))
		vbd_counter_set(&histogram->min, min);
	if (max > vbd_counter_get(&histogram->max))
		vbd_counter_set(&histogram->max, max);
	vbd_counter_add(&histogram->sum, vbd_counter_get(&other->sum));
	for (unsigned int i = bucket_of_value(min); i < VBD_HISTOGRAM_BUCKETS; i++)
		vbd_counter_add(&histogram->buckets[i], vbd_counter_get(&other->buckets[i]));
	vbd_counter_add(&histogram->count, count);
}

uint64_t vbd_histogram_mean(const struct vbd_histogram *histogram)
{
	uint64_t count = vbd_counter_get(&histogram->count);

	return count ? vbd_counter_get(&histogram->sum) / count : 0;
}

uint64_t vbd_histogram_permille(const struct vbd_histogram *histogram, unsigned int permille)
{
	uint64_t count = vbd_counter_get(&histogram->count);
	uint64_t wanted = (count * permille + 999) / 1000;
	uint64_t min = vbd_counter_get(&histogram->min);
	uint64_t max = vbd_counter_get(&histogram->max);
	unsigned int bucket = bucket_of_value(min);
	uint64_t seen = 0;
	uint64_t value;

	if (!count)
		return 0;
	for (; bucket < VBD_HISTOGRAM_BUCKETS - 1; bucket++) {
		seen += vbd_counter_get(&histogram->buckets[bucket]);
		if (seen >= wanted)
			break;
	}
	value = bucket_middle(bucket);
	if (value < min)
		return min;
	return value > max ? max : value;
}

/* Each power of two begins a bucket, so these counts are exact. */
static unsigned int bucket_of_power(unsigned int bits)
{
	if (bits >= VBD_HISTOGRAM_BITS)
		return VBD_HISTOGRAM_BUCKETS - 1;
	return bits ? bucket_of_value(UINT64_C(1) << bits) : 0;
}

uint64_t vbd_histogram_between(
	const struct vbd_histogram *histogram, unsigned int from_bits, unsigned int to_bits)
{
	unsigned int end = bucket_of_power(to_bits);
	uint64_t count = 0;

	if (!vbd_counter_get(&histogram->count))
		return 0;
	for (unsigned int i = bucket_of_power(from_bits); i < end; i++)
		count += vbd_counter_get(&histogram->buckets[i]);
	return count;
}
