/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include "tests/unit/unit.h"

static struct vbd_histogram *empty(void)
{
	struct vbd_histogram *histogram = calloc(1, sizeof(*histogram));

	assert_non_null(histogram);
	return histogram;
}

TEST(test_histogram__none_has_no_percentile)
{
	struct vbd_histogram *histogram = empty();

	assert_int_equal(vbd_histogram_permille(histogram, 500), 0);
	assert_int_equal(vbd_histogram_mean(histogram), 0);
	free(histogram);
}

TEST(test_histogram__of_one_all_are_that_one)
{
	static const uint64_t values[] = {0, 1, 31, 32, 33, 12345, 1000000007, UINT64_C(1) << 39,
		UINT64_C(1) << 40, UINT64_MAX};

	for (size_t i = 0; i < VBD_ARRAY_LEN(values); i++) {
		struct vbd_histogram *histogram = empty();

		vbd_histogram_add(histogram, values[i]);
		assert_int_equal(vbd_counter_get(&histogram->min), values[i]);
		assert_int_equal(vbd_counter_get(&histogram->max), values[i]);
		assert_int_equal(vbd_histogram_mean(histogram), values[i]);
		assert_int_equal(vbd_histogram_permille(histogram, 1), values[i]);
		assert_int_equal(vbd_histogram_permille(histogram, 1000), values[i]);
		free(histogram);
	}
}

TEST(test_histogram__percentiles_are_near)
{
	static const unsigned int permilles[] = {1, 10, 250, 500, 750, 900, 990, 999, 1000};

	for (uint64_t scale = 1; scale <= 10000000; scale *= 10) {
		struct vbd_histogram *histogram = empty();

		for (uint64_t value = 1000; value > 0; value--)
			vbd_histogram_add(histogram, value * scale);
		for (size_t i = 0; i < VBD_ARRAY_LEN(permilles); i++) {
			double exact = (double)(permilles[i] * scale);
			double seen = (double)vbd_histogram_permille(histogram, permilles[i]);

			assert_true(seen >= exact * 0.984 && seen <= exact * 1.016);
		}
		assert_int_equal(vbd_histogram_mean(histogram), 1001 * scale / 2);
		free(histogram);
	}
}

TEST(test_histogram__a_late_one_moves_only_the_last_percentile)
{
	struct vbd_histogram *histogram = empty();

	for (unsigned int i = 0; i < 99; i++)
		vbd_histogram_add(histogram, 7);
	vbd_histogram_add(histogram, 7000000);
	assert_int_equal(vbd_histogram_permille(histogram, 500), 7);
	assert_int_equal(vbd_histogram_permille(histogram, 990), 7);
	assert_in_range(vbd_histogram_permille(histogram, 1000), 6890000, 7000000);
	free(histogram);
}

TEST(test_histogram__counts_between_powers_of_two_are_exact)
{
	static const uint64_t values[] = {
		0, 1023, 1024, 1025, 4095, 4096, UINT64_C(1) << 36, UINT64_C(1) << 39, UINT64_MAX};
	struct vbd_histogram *histogram = empty();

	for (size_t i = 0; i < VBD_ARRAY_LEN(values); i++)
		vbd_histogram_add(histogram, values[i]);
	assert_int_equal(vbd_histogram_between(histogram, 0, 10), 2);
	assert_int_equal(vbd_histogram_between(histogram, 10, 12), 3);
	assert_int_equal(vbd_histogram_between(histogram, 12, 36), 1);
	assert_int_equal(vbd_histogram_between(histogram, 0, 36), 6);
	assert_int_equal(vbd_histogram_between(histogram, 0, 39), 7);
	free(histogram);
}

TEST(test_histogram__merged_they_are_as_one)
{
	struct vbd_histogram *one = empty(), *other = empty(), *both = empty();

	for (uint64_t value = 1; value <= 2000; value++) {
		vbd_histogram_add(value % 3 ? one : other, value * 1000);
		vbd_histogram_add(both, value * 1000);
	}
	vbd_histogram_merge(one, other);
	assert_memory_equal(one, both, sizeof(*both));
	free(other);
	other = empty();
	vbd_histogram_merge(one, other);
	assert_memory_equal(one, both, sizeof(*both));
	vbd_histogram_merge(other, one);
	assert_memory_equal(other, both, sizeof(*both));
	free(one);
	free(other);
	free(both);
}
