/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/reconciler.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

TEST(test_kept_fsm__every_pair_is_decided)
{
	for (unsigned int at = 0; at < VBD_KEPT_STATE_COUNT; at++) {
		for (unsigned int event = 0; event < VBD_KEPT_EVENT_COUNT; event++) {
			const struct vbd_rule *rule =
				vbd_kept_rule((enum vbd_kept_state)at, (enum vbd_kept_event)event);

			assert_non_null(rule->note);
		}
	}
}

/* Otherwise it would wait for ever. */
TEST(test_kept_fsm__what_begins_to_wait_gets_a_turn)
{
	for (unsigned int at = 0; at < VBD_KEPT_STATE_COUNT; at++) {
		for (unsigned int event = 0; event < VBD_KEPT_EVENT_COUNT; event++) {
			const struct vbd_rule *rule =
				vbd_kept_rule((enum vbd_kept_state)at, (enum vbd_kept_event)event);

			if (rule->next == VBD_KEPT_WAITING && at != VBD_KEPT_WAITING)
				assert_true(rule->action == VBD_KEPT_DO_LATER ||
					    rule->action == VBD_KEPT_DO_SOON);
		}
	}
}

TEST(test_kept_fsm__only_what_is_removed_is_forgotten)
{
	for (unsigned int at = 0; at < VBD_KEPT_STATE_COUNT; at++) {
		for (unsigned int event = 0; event < VBD_KEPT_EVENT_COUNT; event++) {
			const struct vbd_rule *rule =
				vbd_kept_rule((enum vbd_kept_state)at, (enum vbd_kept_event)event);

			if (rule->action == VBD_KEPT_DO_FORGET)
				assert_int_equal(at, VBD_KEPT_REMOVING);
		}
	}
}

TEST(test_kept_fsm__names_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_property_enum("Desired", "state", &contract);
	assert_int_equal(contract.count, VBD_KEPT_STATE_COUNT);
	for (unsigned int i = 0; i < VBD_KEPT_STATE_COUNT; i++)
		assert_string_equal(
			contract.values[i], vbd_kept_state_name((enum vbd_kept_state)i));
	openapi_read_property_enum("Desired", "source", &contract);
	assert_int_equal(contract.count, VBD_KEPT_SOURCE_COUNT);
	for (unsigned int i = 0; i < VBD_KEPT_SOURCE_COUNT; i++)
		assert_string_equal(
			contract.values[i], vbd_kept_source_name((enum vbd_kept_source)i));
	openapi_read_property_enum("ConnectionCreate", "reconnect", &contract);
	assert_int_equal(contract.count, VBD_RECONNECT_COUNT);
	for (unsigned int i = 0; i < VBD_RECONNECT_COUNT; i++)
		assert_string_equal(contract.values[i], vbd_reconnect_name((enum vbd_reconnect)i));
}

TEST(test_kept_fsm__pauses_double_up_to_the_longest)
{
	const struct vbd_kept_policy policy = {.min_ms = 100, .max_ms = 1000};

	assert_int_equal(vbd_reconciler_pause_ms(&policy, 1, 0), 100);
	assert_int_equal(vbd_reconciler_pause_ms(&policy, 2, 0), 200);
	assert_int_equal(vbd_reconciler_pause_ms(&policy, 4, 0), 800);
	assert_int_equal(vbd_reconciler_pause_ms(&policy, 5, 0), 1000);
	assert_int_equal(vbd_reconciler_pause_ms(&policy, UINT32_MAX, 0), 1000);
}

TEST(test_kept_fsm__at_most_half_of_a_pause_is_left_out)
{
	const struct vbd_kept_policy policy = {.min_ms = 100, .max_ms = 100};

	for (uint64_t random = 0; random < 1000; random++) {
		uint64_t pause_ms = vbd_reconciler_pause_ms(&policy, 1, random);

		assert_true(pause_ms >= 50 && pause_ms <= 100);
	}
	assert_int_not_equal(
		vbd_reconciler_pause_ms(&policy, 1, 7), vbd_reconciler_pause_ms(&policy, 1, 8));
}
