/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/context.h"

#include "daemon/daemon.h"
#include "tests/unit/unit.h"

static struct vbd_daemon daemon_of_run = {.server_id = "0123456789abcdef"};

static struct vbd_event event_with(uint64_t seq)
{
	return (struct vbd_event){
		.seq = seq, .type = VBD_EVENT_DAEMON_STARTED, .detail = "it is a test"};
}

TEST(test_event_text__an_event_is_encoded_once_for_all_who_follow)
{
	struct vbd_event_texts texts = {0};
	const struct vbd_event event = event_with(7), other = event_with(8);
	struct vbd_event_text *first = vbd_event_text_of(&texts, &daemon_of_run, &event);

	assert_non_null(first);
	assert_memory_equal(first->bytes, "id: 0123456789abcdef-7\ndata: {", 30);
	assert_memory_equal(first->bytes + first->len_bytes - 3, "}\n\n", 3);
	for (int i = 0; i < 100; i++) {
		assert_ptr_equal(vbd_event_text_of(&texts, &daemon_of_run, &event), first);
		vbd_event_text_unref(first);
	}
	vbd_event_text_unref(first);
	first = vbd_event_text_of(&texts, &daemon_of_run, &other);
	assert_memory_equal(first->bytes, "id: 0123456789abcdef-8\n", 23);
	vbd_event_text_unref(first);
	vbd_event_texts_fini(&texts);
}

TEST(test_event_text__a_slow_follower_keeps_its_text_when_newer_events_come)
{
	struct vbd_event_texts texts = {0};
	const struct vbd_event event = event_with(1);
	struct vbd_event_text *slow = vbd_event_text_of(&texts, &daemon_of_run, &event);
	struct vbd_event_text *again;

	for (uint64_t seq = 2; seq <= 1 + VBD_EVENT_TEXTS; seq++) {
		const struct vbd_event newer = event_with(seq);

		vbd_event_text_unref(vbd_event_text_of(&texts, &daemon_of_run, &newer));
	}
	again = vbd_event_text_of(&texts, &daemon_of_run, &event);
	assert_ptr_not_equal(again, slow);
	assert_int_equal(again->len_bytes, slow->len_bytes);
	assert_memory_equal(again->bytes, slow->bytes, slow->len_bytes);
	vbd_event_text_unref(again);
	vbd_event_text_unref(slow);
	vbd_event_texts_fini(&texts);
}
