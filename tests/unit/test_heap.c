/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include "tests/unit/unit.h"

#define NODES 500

struct fixture {
	struct vbd_heap heap;
	struct vbd_heap_node nodes[NODES];
};

/* Keys in no order, some of them the same. */
static uint64_t key_of(unsigned int i)
{
	return (uint64_t)i * 7919 % 251;
}

static void fill(struct fixture *f)
{
	for (unsigned int i = 0; i < NODES; i++)
		vbd_heap_add(&f->heap, &f->nodes[i], key_of(i));
}

static unsigned int empty_in_order(struct fixture *f)
{
	uint64_t last = 0;
	unsigned int count = 0;

	for (; f->heap.first; count++) {
		assert_true(f->heap.first->key >= last);
		last = f->heap.first->key;
		vbd_heap_remove(&f->heap, f->heap.first);
	}
	return count;
}

TEST(test_heap__the_first_has_the_smallest_key)
{
	struct fixture f = {0};

	fill(&f);
	assert_int_equal(empty_in_order(&f), NODES);
}

TEST(test_heap__any_node_can_be_removed)
{
	struct fixture f = {0};

	fill(&f);
	/* The first removal arranges them in a tree of some depth. */
	vbd_heap_remove(&f.heap, f.heap.first);
	for (unsigned int i = 0; i < NODES; i += 3)
		vbd_heap_remove(&f.heap, &f.nodes[i]);
	for (unsigned int i = 0; i < NODES; i += 3)
		assert_false(f.nodes[i].queued);
	assert_in_range(empty_in_order(&f), NODES - NODES / 3 - 2, NODES - NODES / 3);
}

TEST(test_heap__a_removed_node_can_be_added_again_with_another_key)
{
	struct fixture f = {0};

	fill(&f);
	for (unsigned int i = 0; i < NODES; i++) {
		vbd_heap_remove(&f.heap, &f.nodes[i]);
		vbd_heap_add(&f.heap, &f.nodes[i], key_of(i + 17));
	}
	assert_int_equal(empty_in_order(&f), NODES);
}

TEST(test_heap__removing_twice_is_harmless)
{
	struct fixture f = {0};

	vbd_heap_add(&f.heap, &f.nodes[0], 5);
	vbd_heap_remove(&f.heap, &f.nodes[0]);
	vbd_heap_remove(&f.heap, &f.nodes[0]);
	assert_null(f.heap.first);
}
