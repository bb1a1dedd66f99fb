/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/timeline.h"

#include "base/clock.h"
#include "tests/unit/unit.h"

static struct vbd_timeline_entry *add(
	struct vbd_timeline *timeline, enum vbd_timeline_kind kind, const char *detail)
{
	const struct vbd_timeline_note note = {.kind = kind, .what = "what", .detail = detail};

	return vbd_timeline_add(timeline, &note);
}

TEST(test_timeline__an_entry_has_its_parts)
{
	const struct vbd_timeline_note move = {.kind = VBD_TIMELINE_QP,
		.what = "RTR",
		.from = "INIT",
		.to = "RTR",
		.detail = "lqpn 0x11"};
	const struct vbd_timeline_note change = {.kind = VBD_TIMELINE_STATE,
		.what = "closed",
		.from = "draining",
		.to = "closed",
		.detail = ""};
	struct vbd_timeline timeline = {0};
	uint64_t before_ns = vbd_clock_mono_ns();
	const struct vbd_timeline_entry *entry = vbd_timeline_add(&timeline, &move);

	assert_in_range(entry->at_ns, before_ns, vbd_clock_mono_ns());
	assert_int_equal(entry->kind, VBD_TIMELINE_QP);
	assert_string_equal(entry->what, "INIT -> RTR");
	assert_string_equal(entry->from, "INIT");
	assert_string_equal(entry->to, "RTR");
	assert_string_equal(entry->detail, "lqpn 0x11");
	entry = vbd_timeline_add(&timeline, &change);
	assert_string_equal(entry->what, "closed");
	assert_string_equal(entry->detail, "");
	assert_int_equal(timeline.count, 2);
	assert_ptr_equal(timeline.entries[1], entry);
	assert_int_equal(timeline.dropped, 0);
	vbd_timeline_fini(&timeline);
	assert_null(timeline.entries);
	assert_int_equal(timeline.count, 0);
}

TEST(test_timeline__a_long_detail_is_cut)
{
	struct vbd_timeline timeline = {0};
	char detail[VBD_TIMELINE_DETAIL_BYTES + 2];

	memset(detail, 'x', sizeof(detail));
	detail[VBD_TIMELINE_DETAIL_BYTES - 1] = '\0';
	assert_int_equal(strlen(add(&timeline, VBD_TIMELINE_CALL, detail)->detail),
		VBD_TIMELINE_DETAIL_BYTES - 1);
	detail[VBD_TIMELINE_DETAIL_BYTES - 1] = 'x';
	detail[VBD_TIMELINE_DETAIL_BYTES] = '\0';
	assert_int_equal(strlen(add(&timeline, VBD_TIMELINE_CALL, detail)->detail),
		VBD_TIMELINE_DETAIL_BYTES - 1);
	vbd_timeline_fini(&timeline);
}

TEST(test_timeline__what_has_no_room_is_counted)
{
	struct vbd_timeline timeline = {0};

	for (unsigned int i = 0; i < VBD_TIMELINE_MAX; i++) {
		assert_non_null(add(&timeline, VBD_TIMELINE_CALL, ""));
		assert_in_range(timeline.capacity, timeline.count, VBD_TIMELINE_MAX);
		/* An idle connection has 17 entries, and should need no more. */
		if (i == 0)
			assert_int_equal(timeline.capacity, 18);
	}
	assert_int_equal(timeline.count, VBD_TIMELINE_MAX);
	assert_int_equal(timeline.dropped, 0);
	assert_null(add(&timeline, VBD_TIMELINE_CALL, ""));
	assert_int_equal(timeline.count, VBD_TIMELINE_MAX);
	assert_int_equal(timeline.dropped, 1);
	vbd_timeline_fini(&timeline);
}

TEST(test_timeline__the_newest_tries_are_carried_over_in_front)
{
	struct vbd_timeline before = {0}, next = {0};
	char detail[16];

	for (unsigned int i = 0; i < VBD_TIMELINE_TRIES_MAX + 2; i++) {
		struct vbd_timeline_note note = {
			.kind = VBD_TIMELINE_TRY, .what = VBD_TIMELINE_WAITING, .detail = detail};

		(void)snprintf(detail, sizeof(detail), "%u", i);
		vbd_timeline_add(&before, &note)->at_ns = 1000 + i;
		(void)add(&before, VBD_TIMELINE_TRY, "an address of a name");
		(void)add(&before, VBD_TIMELINE_CALL, "a call");
	}
	(void)add(&next, VBD_TIMELINE_STATE, "its own");
	(void)add(&next, VBD_TIMELINE_CALL, "its second");
	vbd_timeline_carry_tries(&next, &before);
	assert_int_equal(next.count, VBD_TIMELINE_TRIES_MAX + 2);
	for (unsigned int i = 0; i < VBD_TIMELINE_TRIES_MAX; i++) {
		(void)snprintf(detail, sizeof(detail), "%u", i + 2);
		assert_int_equal(next.entries[i]->kind, VBD_TIMELINE_TRY);
		assert_string_equal(next.entries[i]->detail, detail);
		assert_string_equal(next.entries[i]->what, VBD_TIMELINE_WAITING);
		assert_int_equal(next.entries[i]->at_ns, 1002 + i);
	}
	assert_string_equal(next.entries[VBD_TIMELINE_TRIES_MAX]->detail, "its own");
	assert_string_equal(next.entries[VBD_TIMELINE_TRIES_MAX + 1]->detail, "its second");
	vbd_timeline_drop(&next, VBD_TIMELINE_WAITING);
	vbd_timeline_drop(&next, "no such");
	assert_int_equal(next.count, VBD_TIMELINE_TRIES_MAX + 1);
	(void)snprintf(detail, sizeof(detail), "%u", VBD_TIMELINE_TRIES_MAX);
	assert_string_equal(next.entries[VBD_TIMELINE_TRIES_MAX - 2]->detail, detail);
	assert_string_equal(next.entries[VBD_TIMELINE_TRIES_MAX - 1]->detail, "its own");
	vbd_timeline_fini(&before);
	vbd_timeline_fini(&next);
}
