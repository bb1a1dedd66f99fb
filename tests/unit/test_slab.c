/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory that queue pairs share: where ranges come from, and what becomes of them. */
#include "base/attr.h"
#include "tests/unit/rig.h"
#include "tests/unit/slabs.h"

#include <unistd.h>

static struct vbd_slabs *slabs_of(struct rig *rig)
{
	struct vbd_pd *pd = vbd_fabric_device(rig->fabric, "fake0")->pd;

	assert_int_equal(vbd_slabs_create(pd, NULL), VBD_OK);
	return pd->slabs;
}

static void give(struct vbd_slabs *slabs, struct vbd_slab_range *range)
{
	vbd_slabs_give(slabs, range);
	assert_null(range->slab);
}

RIG_TEST(test_slab__many_ranges_need_one_registration)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range ranges[20];

	fake_one_thread();
	assert_false(vbd_slabs_try_take(slabs, 66000, &ranges[0]));
	for (size_t i = 0; i < VBD_ARRAY_LEN(ranges); i++) {
		if (!vbd_slabs_try_take(slabs, 66000, &ranges[i]))
			assert_int_equal(
				vbd_slabs_take(slabs, 66000, &ranges[i], &rig->err), VBD_OK);
		assert_int_equal(ranges[i].lkey, ranges[0].lkey);
		for (size_t k = 0; k < i; k++)
			assert_true(ranges[i].addr >= ranges[k].addr + 66000 ||
				    ranges[k].addr >= ranges[i].addr + 66000);
	}
	assert_int_equal(fake_count("ibv_reg_mr"), 1);
	assert_int_equal(vbd_slabs_use(slabs).slabs, 1);
	assert_int_equal(vbd_slabs_use(slabs).registered_bytes, VBD_SLAB_BYTES);
	assert_int_equal(vbd_slabs_use(slabs).taken_bytes, 20 * 129 * VBD_SLAB_GRAIN_BYTES);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ranges); i++)
		give(slabs, &ranges[i]);
	assert_int_equal(vbd_slabs_use(slabs).taken_bytes, 0);
}

RIG_TEST(test_slab__a_full_one_is_followed_by_another_and_one_stays)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range ranges[7], again;

	fake_one_thread();
	for (size_t i = 0; i < VBD_ARRAY_LEN(ranges); i++)
		assert_int_equal(
			vbd_slabs_take(slabs, VBD_SLAB_BYTES / 2, &ranges[i], &rig->err), VBD_OK);
	assert_int_equal(vbd_slabs_use(slabs).slabs, 4);
	/* A hole in the middle is found again. */
	give(slabs, &ranges[2]);
	assert_true(vbd_slabs_try_take(slabs, VBD_SLAB_BYTES / 2, &again));
	give(slabs, &again);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ranges); i++)
		vbd_slabs_give(slabs, &ranges[i]);
	assert_int_equal(vbd_slabs_use(slabs).slabs, 1);
	assert_int_equal(fake_count("ibv_dereg_mr"), 3);
}

RIG_TEST(test_slab__a_large_range_has_its_own_and_leaves_nothing)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range range;

	fake_one_thread();
	assert_int_equal(vbd_slabs_take(slabs, VBD_SLAB_BYTES / 2 + 1, &range, &rig->err), VBD_OK);
	assert_int_equal(
		vbd_slabs_use(slabs).registered_bytes, VBD_SLAB_BYTES / 2 + VBD_SLAB_GRAIN_BYTES);
	give(slabs, &range);
	assert_int_equal(vbd_slabs_use(slabs).slabs, 0);
	assert_int_equal(fake_live().mrs, 0);
}

RIG_TEST(test_slab__what_one_owner_received_the_next_does_not_see)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range range;
	uint8_t *addr;

	fake_one_thread();
	assert_int_equal(vbd_slabs_take(slabs, 100, &range, &rig->err), VBD_OK);
	addr = range.addr;
	memset(addr, 's', 100);
	give(slabs, &range);
	assert_true(vbd_slabs_try_take(slabs, 100, &range));
	assert_ptr_equal(range.addr, addr);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(range.addr[i], 0);
	give(slabs, &range);
}

RIG_TEST(test_slab__a_registration_that_fails_leaves_nothing)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range range = {0};

	fake_one_thread();
	for (size_t size_bytes = 100; size_bytes <= VBD_SLAB_BYTES;
		size_bytes += VBD_SLAB_BYTES - 100) {
		fake_fail_next("ibv_reg_mr", ENOMEM);
		assert_int_equal(
			vbd_slabs_take(slabs, size_bytes, &range, &rig->err), VBD_E_NO_MEMORY);
		assert_int_equal(vbd_slabs_use(slabs).slabs, 0);
		assert_null(range.slab);
		rig->err = (struct vbd_error){0};
	}
	vbd_slabs_give(slabs, &range);
}

/* The memory that the whole process has mapped. */
static size_t mapped_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%zu", &pages), 1);
	(void)fclose(statm);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

RIG_TEST(test_slab__memory_that_can_not_be_registered_is_unmapped)
{
	struct vbd_slabs *slabs = slabs_of(rig);
	struct vbd_slab_range range = {0};
	size_t before_bytes = mapped_bytes();

	fake_one_thread();
	for (int i = 0; i < 64; i++) {
		fake_fail_next("ibv_reg_mr", ENOMEM);
		assert_int_equal(vbd_slabs_take(slabs, 100, &range, NULL), VBD_E_NO_MEMORY);
	}
	assert_true(mapped_bytes() < before_bytes + 32 * VBD_SLAB_BYTES);
}

struct other {
	pthread_t thread;
	struct vbd_slabs *slabs;
};

static void *take_and_give(void *arg)
{
	struct other *other = arg;
	struct vbd_slab_range range;

	for (int i = 0; i < 2000; i++) {
		if (vbd_slabs_take(other->slabs, 50000, &range, NULL) != VBD_OK)
			return other;
		memset(range.addr, 1, 50000);
		vbd_slabs_give(other->slabs, &range);
	}
	return NULL;
}

RIG_TEST(test_slab__threads_share_them)
{
	struct other others[4];
	void *failed;

	for (size_t i = 0; i < VBD_ARRAY_LEN(others); i++) {
		others[i].slabs = slabs_of(rig);
		assert_int_equal(
			pthread_create(&others[i].thread, NULL, take_and_give, &others[i]), 0);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(others); i++) {
		assert_int_equal(pthread_join(others[i].thread, &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(vbd_slabs_use(slabs_of(rig)).taken_bytes, 0);
}

RIG_TEST(test_slab__a_device_that_goes_takes_its_slabs_along)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(rig->removed, 1);
	assert_int_equal(fake_live().mrs, 0);
	assert_true(fake_device_let_go(rig->device));
}
