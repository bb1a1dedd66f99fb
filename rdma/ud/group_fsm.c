/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/group_fsm.h"

#define ON(event, next, action, note) \
	[VBD_GROUP_EV_##event] = {VBD_GROUP_IS_##next, VBD_GROUP_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_GROUP_EVENT_COUNT] = {VBD_GROUP_IS_##next, VBD_GROUP_DO_##action, note}

/* clang-format off */
static const struct vbd_group_rule rules[VBD_GROUP_STATE_COUNT][VBD_GROUP_EVENT_COUNT + 1] = {
	[VBD_GROUP_IS_RESOLVING] = {
		ON(ADDR_RESOLVED, JOINING, JOIN, "the id has a device to join with"),
		ON(ADDR_ERROR, FAILED, FAIL, "no device leads to the group"),
		ON(MEMBER, RESOLVING, IGNORE, "nobody asked for it yet"),
		ON(NO_MEMBER, FAILED, FAIL, "the CM gives it up"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, RESOLVING, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(CMD_LEAVE, LEFT, LEAVE, "there is nothing to leave yet"),
		ON(IDLE, RESOLVING, IGNORE, "nothing was sent to it"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_JOINING] = {
		ON(ADDR_RESOLVED, JOINING, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(MEMBER, JOINED, ATTACH, "it is a member; its QP is not yet"),
		ON(NO_MEMBER, FAILED, FAIL, "the membership was refused"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, JOINING, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(CMD_LEAVE, LEFT, LEAVE, "the client no longer wants to join"),
		ON(IDLE, JOINING, IGNORE, "nothing was sent to it"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_JOINED] = {
		ON(ADDR_RESOLVED, JOINED, IGNORE, "the state already has this information"),
		ON(ADDR_ERROR, JOINED, IGNORE, "the membership is not the address's"),
		ON(MEMBER, JOINED, IGNORE, "a second time: it is a member already"),
		ON(NO_MEMBER, FAILED, FAIL, "the membership was lost"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, JOINED, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "the QP could not be attached, or there is no address handle"),
		ON(DEADLINE, JOINED, IGNORE, "the operation was in time; the timer fired late"),
		ON(CMD_LEAVE, LEAVING, LEAVE, "sends to it continue until it is freed"),
		ON(IDLE, JOINED, IGNORE, "it may be sent to again"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_LEAVING] = {
		ON(CALL_FAILED, LEAVING, IGNORE, "it needs none any more"),
		ON(DEADLINE, LEAVING, IGNORE, "a send has a deadline of its own"),
		ON(CMD_LEAVE, LEAVING, IGNORE, "it leaves already"),
		ON(IDLE, LEFT, FREE_AH, "nothing uses its address handle any more"),
		ON(ENDPOINT_ENDED, LEFT, FREE_AH, "nothing is sent any more"),
		OTHERWISE(LEAVING, IGNORE, "the CM id is destroyed"),
	},
#define ENDED(state)                                                                    \
	[VBD_GROUP_IS_##state] = {                                                      \
		ON(IDLE, state, FREE_AH, "a membership that was lost keeps its handle as long"), \
		ON(ENDPOINT_ENDED, state, FREE_AH, "nothing is sent any more"),            \
		OTHERWISE(state, IGNORE, "it is over"), \
	}
	ENDED(LEFT),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

const struct vbd_group_rule *vbd_group_rule(enum vbd_group_state state, enum vbd_group_event event)
{
	return VBD_RULE(rules, state, event);
}

VBD_ENUM_NAMES(vbd_group_state_name, enum vbd_group_state, VBD_GROUP_STATE_MAP)
VBD_ENUM_COLUMN(const char *, vbd_group_state_json, enum vbd_group_state, VBD_GROUP_STATE_MAP, 3)
VBD_ENUM_COLUMN(
	const char *, vbd_group_state_waits_for, enum vbd_group_state, VBD_GROUP_STATE_MAP, 4)
VBD_ENUM_COLUMN(bool, vbd_group_state_ended, enum vbd_group_state, VBD_GROUP_STATE_MAP, 5)
VBD_ENUM_NAMES(vbd_group_event_name, enum vbd_group_event, VBD_GROUP_EVENT_MAP)
VBD_ENUM_NAMES(vbd_group_action_name, enum vbd_group_action, VBD_GROUP_ACTION_MAP)
