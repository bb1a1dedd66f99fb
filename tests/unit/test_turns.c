/* SPDX-License-Identifier: Apache-2.0 */
/* Work in steps over several turns, on a real loop. */
#include "daemon/core/turns.h"

#include "daemon/core/loop.h"
#include "tests/unit/unit.h"

static struct {
	struct vbd_loop *loop;
	struct vbd_turns turns;
	char order[64]; /* names of the works, step by step */
} test;

struct work {
	struct vbd_steps steps;
	char name;
	unsigned int left;
	struct work *next; /* is added by the first step */
};

static void add(struct work *work)
{
	vbd_list_init(&work->steps.link);
	vbd_turns_add(&test.turns, &work->steps);
}

static bool step(struct vbd_steps *steps)
{
	struct work *work = VBD_CONTAINER_OF(steps, struct work, steps);
	size_t len = strlen(test.order);

	(void)snprintf(test.order + len, sizeof(test.order) - len, "%c", work->name);
	if (work->next)
		add(work->next);
	work->next = NULL;
	return --work->left == 0;
}

static struct work make(char name, unsigned int count)
{
	return (struct work){.steps.step = step, .name = name, .left = count};
}

static int setup(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	if (vbd_loop_create(&test.loop, NULL) != VBD_OK)
		return -1;
	return vbd_turns_init(&test.turns, test.loop, NULL) == VBD_OK ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	vbd_turns_fini(&test.turns);
	vbd_loop_destroy(test.loop);
	return 0;
}

#define TURNS_TEST(name) TEST_WITH(name, void *no_fixture, setup, teardown)

/* Turns the loop until that many steps were taken; returns the turns that had a step. */
static unsigned int turn_until(size_t count)
{
	unsigned int turns = 0;

	UNIT_UNTIL (strlen(test.order) >= count) {
		size_t before = strlen(test.order);

		vbd_loop_turn(test.loop, false);
		turns += strlen(test.order) > before;
	}
	return turns;
}

TURNS_TEST(test_turns__without_time_each_turn_takes_a_step)
{
	struct work a = make('a', 3);

	test.turns.budget_ns = 0;
	add(&a);
	assert_string_equal(test.order, "");
	assert_int_equal(turn_until(3), 3);
	vbd_loop_turn(test.loop, false);
	assert_string_equal(test.order, "aaa");
}

TURNS_TEST(test_turns__with_time_a_turn_takes_a_step_of_each)
{
	struct work a = make('a', 3), b = make('b', 2);

	test.turns.budget_ns = UINT64_MAX;
	add(&a);
	add(&b);
	assert_int_equal(turn_until(5), 3);
	assert_string_equal(test.order, "ababa");
}

TURNS_TEST(test_turns__works_take_their_steps_in_turn)
{
	struct work a = make('a', 4), b = make('b', 2), c = make('c', 1);

	test.turns.budget_ns = 0;
	a.next = &c;
	vbd_list_init(&c.steps.link);
	add(&a);
	add(&b);
	(void)turn_until(7);
	assert_string_equal(test.order, "abcabaa");
}

TURNS_TEST(test_turns__a_dropped_work_takes_no_step)
{
	struct work a = make('a', 2), b = make('b', 3);

	test.turns.budget_ns = 0;
	add(&a);
	add(&b);
	(void)turn_until(2);
	vbd_turns_drop(&b.steps);
	(void)turn_until(3);
	vbd_loop_turn(test.loop, false);
	vbd_loop_turn(test.loop, false);
	assert_string_equal(test.order, "aba");
}
