/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/endpoint_fsm.h"
#include "rdma/ud/group.h"
#include "rdma/ud/peer.h"
#include "tests/unit/unit.h"

/* Each pair has a decision with a reason; no event leaves an ended state; all states are
 * reachable. */
#define TEST_TABLE(kind, KIND, is_end, first)                                                  \
	TEST(test_ud_fsm__every_pair_of_##kind##_is_decided)                                   \
	{                                                                                      \
		bool reached[VBD_##KIND##_STATE_COUNT] = {[first] = true};                     \
                                                                                               \
		for (unsigned int s = 0; s < VBD_##KIND##_STATE_COUNT; s++) {                  \
			enum vbd_##kind##_state state = (enum vbd_##kind##_state)s;            \
                                                                                               \
			assert_true(*vbd_##kind##_state_name(state));                          \
			for (unsigned int e = 0; e < VBD_##KIND##_EVENT_COUNT; e++) {          \
				enum vbd_##kind##_event event = (enum vbd_##kind##_event)e;    \
				const struct vbd_rule *rule = vbd_##kind##_rule(state, event); \
                                                                                               \
				assert_true(*vbd_##kind##_event_name(event));                  \
				assert_non_null(rule->note);                                   \
				assert_true(*rule->note);                                      \
				reached[rule->next] = true;                                    \
				if (is_end(state))                                             \
					assert_int_equal(rule->next, state);                   \
			}                                                                      \
		}                                                                              \
		for (unsigned int s = 0; s < VBD_##KIND##_STATE_COUNT; s++)                    \
			assert_true(reached[s]);                                               \
	}

static bool peer_is_over(enum vbd_peer_state state)
{
	return state == VBD_PEER_FAILED;
}

TEST_TABLE(endpoint, ENDPOINT, vbd_endpoint_state_ended, VBD_ENDPOINT_OPENING)
TEST_TABLE(peer, PEER, peer_is_over, VBD_PEER_RESOLVING_ADDR)
TEST_TABLE(group, GROUP, vbd_group_state_ended, VBD_GROUP_IS_RESOLVING)

/* A destroyed id must not be used, and an id in use must not be destroyed. */
TEST(test_ud_fsm__a_wait_for_the_cm_ends_by_deadline_or_device)
{
	static const enum vbd_peer_state peers[] = {VBD_PEER_RESOLVING_ADDR,
		VBD_PEER_RESOLVING_ROUTE, VBD_PEER_ASKING, VBD_PEER_RETRYING};
	static const enum vbd_group_state groups[] = {
		VBD_GROUP_IS_RESOLVING, VBD_GROUP_IS_JOINING, VBD_GROUP_IS_JOINED};

	for (size_t i = 0; i < VBD_ARRAY_LEN(peers); i++) {
		assert_int_equal(
			vbd_peer_rule(peers[i], VBD_PEER_EV_DEADLINE)->next, VBD_PEER_FAILED);
		assert_int_equal(vbd_peer_rule(peers[i], VBD_PEER_EV_DEVICE_REMOVAL)->action,
			VBD_PEER_DO_FAIL);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(groups); i++)
		assert_int_equal(vbd_group_rule(groups[i], VBD_GROUP_EV_DEVICE_REMOVAL)->action,
			VBD_GROUP_DO_FAIL);
}
