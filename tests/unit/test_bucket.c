/* SPDX-License-Identifier: Apache-2.0 */

#include "base/clock.h"
#include "tests/unit/unit.h"

#define MS VBD_NS_PER_MS

/* Ten a second, and three at once. */
static bool take(uint64_t *full_ns, uint64_t now_ns)
{
	uint64_t full = vbd_bucket_take(*full_ns, 10, 3, now_ns);

	if (full)
		*full_ns = full;
	return full != 0;
}

TEST(test_bucket__gives_a_burst_and_then_one_for_each_time)
{
	uint64_t now_ns = 5000 * MS;
	uint64_t full_ns = 0;

	for (int i = 0; i < 3; i++)
		assert_true(take(&full_ns, now_ns));
	assert_false(take(&full_ns, now_ns));
	assert_true(full_ns == 5300 * MS);
	now_ns += 100 * MS;
	assert_false(take(&full_ns, now_ns - 1));
	assert_true(take(&full_ns, now_ns));
	assert_false(take(&full_ns, now_ns));
	now_ns += 200 * MS;
	assert_true(take(&full_ns, now_ns));
	assert_true(take(&full_ns, now_ns));
	assert_false(take(&full_ns, now_ns));
	now_ns += 60000 * MS; /* no more than a burst */
	for (int i = 0; i < 3; i++)
		assert_true(take(&full_ns, now_ns));
	assert_false(take(&full_ns, now_ns));
}

TEST(test_bucket__tells_how_many_are_missing)
{
	const uint64_t now_ns = 5000 * MS;
	uint64_t full_ns = 0;

	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns), 0);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_true(take(&full_ns, now_ns));
		assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns), i);
	}
	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns + 1), 3);
	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns + 100 * MS), 2);
	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns + 300 * MS - 1), 1);
	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns + 300 * MS), 0);
	assert_int_equal(vbd_bucket_taken(full_ns, 10, now_ns + 900 * MS), 0);
}
