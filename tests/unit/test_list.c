/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include "base/counter.h"
#include "tests/unit/unit.h"

struct item {
	char before;
	struct vbd_link link;
	int value;
};

struct fixture {
	struct vbd_link head;
	struct item items[4];
};

static void fill(struct fixture *f)
{
	vbd_list_init(&f->head);
	for (int i = 0; i < 4; i++) {
		f->items[i].value = i;
		vbd_list_init(&f->items[i].link);
		vbd_list_append(&f->head, &f->items[i].link);
	}
}

static void assert_values(const struct fixture *f, const int *values, size_t count)
{
	size_t seen = 0;

	vbd_list_for_each (link, &f->head) {
		assert_true(seen < count);
		assert_int_equal(VBD_CONTAINER_OF(link, struct item, link)->value, values[seen]);
		seen++;
	}
	assert_int_equal(seen, count);
}

TEST(test_list__links_are_walked_in_the_order_they_came)
{
	struct fixture f;

	fill(&f);
	assert_values(&f, (const int[]){0, 1, 2, 3}, 4);
	assert_ptr_equal(VBD_LIST_FIRST(&f.head, struct item, link), &f.items[0]);
}

TEST(test_list__an_empty_list_has_no_first)
{
	struct vbd_link head;

	vbd_list_init(&head);
	assert_true(vbd_list_empty(&head));
	assert_null(VBD_LIST_FIRST(&head, struct item, link));
}

TEST(test_list__a_link_may_be_removed_twice_and_come_back)
{
	struct fixture f;

	fill(&f);
	vbd_list_remove(&f.items[1].link);
	vbd_list_remove(&f.items[1].link);
	assert_values(&f, (const int[]){0, 2, 3}, 3);
	vbd_list_append(&f.head, &f.items[1].link);
	assert_values(&f, (const int[]){0, 2, 3, 1}, 4);
}

TEST(test_list__the_link_at_hand_may_be_removed_in_a_walk)
{
	struct fixture f;

	fill(&f);
	vbd_list_for_each (link, &f.head) {
		if (VBD_CONTAINER_OF(link, struct item, link)->value % 2)
			vbd_list_remove(link);
	}
	assert_values(&f, (const int[]){0, 2}, 2);
	vbd_list_for_each (link, &f.head)
		vbd_list_remove(link);
	assert_true(vbd_list_empty(&f.head));
}

TEST(test_list__a_counter_adds_and_takes_what_it_is_set_to)
{
	struct vbd_counter counter = {0};

	vbd_counter_add(&counter, 5);
	vbd_counter_add(&counter, UINT64_MAX);
	assert_int_equal(vbd_counter_get(&counter), 4);
	vbd_counter_set(&counter, 9);
	assert_int_equal(vbd_counter_get(&counter), 9);
}
