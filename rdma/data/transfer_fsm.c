/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/transfer_fsm.h"

#define ON(event, next, note) [VBD_TRANSFER_EV_##event] = {VBD_TRANSFER_##next, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, note) [VBD_TRANSFER_EVENT_COUNT] = {VBD_TRANSFER_##next, note}

/* clang-format off */
static const struct vbd_transfer_rule rules[VBD_TRANSFER_STATE_COUNT][VBD_TRANSFER_EVENT_COUNT + 1] = {
	[VBD_TRANSFER_QUEUED] = {
		ON(STARTED, RUNNING, "its first work request is posted"),
		ON(CANCEL, CANCELLING, "the worker has the transfer and must return it first"),
		ON(DONE, DONE, "a transfer of nothing is done at once"),
		ON(FAILED, FAILED, "the connection ended before it began"),
		ON(STOPPED, CANCELLED, "it was given back"),
		ON(STOPPED_LATE, TIMED_OUT, "it was given back"),
	},
	[VBD_TRANSFER_RUNNING] = {
		ON(STARTED, RUNNING, "the transfer already runs"),
		ON(CANCEL, CANCELLING, "work that the device holds must complete first"),
		ON(DONE, DONE, "every completion is in"),
		ON(FAILED, FAILED, "a completion failed, the rest is flushed"),
		ON(STOPPED, CANCELLED, "every completion is in"),
		ON(STOPPED_LATE, TIMED_OUT, "every completion is in"),
	},
	[VBD_TRANSFER_CANCELLING] = {
		ON(STARTED, CANCELLING, "the work request was posted before the cancel arrived"),
		ON(CANCEL, CANCELLING, "the cancel has already begun"),
		ON(DONE, DONE, "the transfer completed before the cancel"),
		ON(FAILED, FAILED, "the transfer failed before the cancel took effect"),
		ON(STOPPED, CANCELLED, "every completion is in"),
		ON(STOPPED_LATE, TIMED_OUT, "every completion is in"),
	},
#define ENDED(state)                                                     \
	[VBD_TRANSFER_##state] = {                                       \
		OTHERWISE(state, "it has ended"), \
	}
	ENDED(DONE),
	ENDED(FAILED),
	ENDED(CANCELLED),
	ENDED(TIMED_OUT),
#undef ENDED
};
/* clang-format on */

const struct vbd_transfer_rule *vbd_transfer_rule(
	enum vbd_transfer_state state, enum vbd_transfer_event event)
{
	return VBD_RULE(rules, state, event);
}

VBD_ENUM_NAMES(vbd_transfer_state_name, enum vbd_transfer_state, VBD_TRANSFER_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_transfer_state_ended, enum vbd_transfer_state, VBD_TRANSFER_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_transfer_event_name, enum vbd_transfer_event, VBD_TRANSFER_EVENT_MAP)
