/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/registry.h"

#include "tests/unit/unit.h"

struct fixture {
	struct vbd_history history;
	struct vbd_link ended[3];
};

static void end_all(struct fixture *f)
{
	vbd_history_init(&f->history);
	for (size_t i = 0; i < VBD_ARRAY_LEN(f->ended); i++) {
		vbd_list_init(&f->ended[i]);
		vbd_history_add(&f->history, &f->ended[i]);
	}
}

TEST(test_history__the_oldest_leaves_when_there_are_more_than_may_stay)
{
	struct fixture f;

	end_all(&f);
	assert_null(vbd_history_take_oldest(&f.history, 3));
	assert_ptr_equal(vbd_history_take_oldest(&f.history, 2), &f.ended[0]);
	assert_true(vbd_list_empty(&f.ended[0]));
	assert_null(vbd_history_take_oldest(&f.history, 2));
	assert_int_equal(f.history.count, 2);
}

TEST(test_history__where_nothing_may_stay_all_leave_in_turn)
{
	struct fixture f;

	end_all(&f);
	for (size_t i = 0; i < VBD_ARRAY_LEN(f.ended); i++)
		assert_ptr_equal(vbd_history_take_oldest(&f.history, 0), &f.ended[i]);
	assert_null(vbd_history_take_oldest(&f.history, 0));
	assert_int_equal(f.history.count, 0);
}

TEST(test_history__leaving_twice_or_before_the_end_counts_nothing)
{
	struct vbd_link lives;
	struct fixture f;

	end_all(&f);
	vbd_list_init(&lives);
	vbd_history_leave(&f.history, &lives);
	vbd_history_leave(&f.history, &f.ended[1]);
	vbd_history_leave(&f.history, &f.ended[1]);
	assert_int_equal(f.history.count, 2);
	assert_ptr_equal(vbd_history_take_oldest(&f.history, 1), &f.ended[0]);
	assert_ptr_equal(vbd_history_take_oldest(&f.history, 0), &f.ended[2]);
}
