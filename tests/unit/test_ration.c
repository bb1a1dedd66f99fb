/* SPDX-License-Identifier: Apache-2.0 */
/* A ration of events, on a real loop. */
#include "daemon/core/turns.h"

#include "daemon/core/loop.h"
#include "tests/unit/unit.h"

struct teller {
	struct vbd_loop *loop;
	struct vbd_ration ration;
	struct vbd_error err;
	unsigned int summaries;
	uint64_t summed;
	unsigned int flood; /* the next summary is followed at once by so many */
};

static unsigned int take(struct teller *teller, unsigned int times)
{
	unsigned int told = 0;

	for (unsigned int i = 0; i < times; i++)
		told += vbd_ration_take(&teller->ration);
	return told;
}

static void on_summary(void *arg, uint64_t count)
{
	struct teller *teller = arg;

	teller->summaries++;
	teller->summed += count;
	assert_int_equal(take(teller, teller->flood), 0);
	teller->flood = 0;
}

static void begin(struct teller *teller, uint64_t period_ms)
{
	teller->ration = (struct vbd_ration){
		.full = 3, .period_ms = period_ms, .summary = on_summary, .arg = teller};
	assert_int_equal(vbd_loop_create(&teller->loop, &teller->err), VBD_OK);
	assert_int_equal(vbd_ration_init(&teller->ration, teller->loop, &teller->err), VBD_OK);
}

static void end(struct teller *teller)
{
	vbd_ration_fini(&teller->ration);
	vbd_loop_destroy(teller->loop);
}

TEST(test_ration__the_first_are_told_and_the_others_summed_up)
{
	struct teller teller = {0};

	begin(&teller, 1);
	assert_int_equal(take(&teller, 1000), 3);
	teller.flood = 10;
	UNIT_UNTIL (teller.summaries >= 2)
		vbd_loop_turn(teller.loop, true);
	assert_int_equal(teller.summed, 1007);
	end(&teller);
	assert_int_equal(teller.summaries, 2);
}

TEST(test_ration__after_a_quiet_period_they_are_told_again)
{
	struct teller teller = {0};

	begin(&teller, 1);
	assert_int_equal(take(&teller, 2), 2);
	UNIT_UNTIL (!teller.ration.told)
		vbd_loop_turn(teller.loop, true);
	assert_int_equal(take(&teller, 3), 3);
	end(&teller);
	assert_int_equal(teller.summaries, 0);
}

TEST(test_ration__the_end_tells_what_is_due)
{
	struct teller teller = {0};

	begin(&teller, 3600000);
	assert_int_equal(take(&teller, 5), 3);
	end(&teller);
	assert_int_equal(teller.summaries, 1);
	assert_int_equal(teller.summed, 2);
	vbd_ration_fini(&(struct vbd_ration){0});
}
