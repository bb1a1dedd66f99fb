/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/endpoint_fsm.h"

#define ON(event, next, action, note) \
	[VBD_ENDPOINT_EV_##event] = {VBD_ENDPOINT_##next, VBD_ENDPOINT_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_ENDPOINT_EVENT_COUNT] = {VBD_ENDPOINT_##next, VBD_ENDPOINT_DO_##action, note}

/* clang-format off */
static const struct vbd_rule rules[VBD_ENDPOINT_STATE_COUNT][VBD_ENDPOINT_EVENT_COUNT + 1] = {
	[VBD_ENDPOINT_OPENING] = {
		ON(PREPARED, READY, OPEN, "the memory of its receives is registered"),
		ON(CALL_FAILED, FAILED, FINISH, "the memory of its receives could not be registered"),
		ON(DEVICE_REMOVAL, CLOSING, STOP, "the kernel waits until the id is destroyed"),
		ON(CMD_CLOSE, CLOSING, STOP, "a client deletes the object"),
		ON(SHUTDOWN, CLOSING, STOP, "the daemon stops"),
		ON(DEADLINE, OPENING, IGNORE, "this state has no deadline"),
		OTHERWISE(OPENING, IGNORE, "there is no QP yet"),
	},
	[VBD_ENDPOINT_READY] = {
		ON(PREPARED, READY, IGNORE, "this event is the cause"),
		ON(CALL_FAILED, FAILED, FINISH, "the QP could not be made; no worker has it yet"),
		ON(WC_ERROR, CLOSING, DRAIN, "the QP is in ERR and can't be used any more"),
		ON(QP_ERROR, CLOSING, DRAIN, "the QP is in ERR and can't be used any more"),
		ON(DEVICE_REMOVAL, CLOSING, DRAIN, "the kernel waits until the id is destroyed"),
		ON(CMD_CLOSE, CLOSING, DRAIN, "a client deletes the object"),
		ON(SHUTDOWN, CLOSING, DRAIN, "the daemon stops"),
		ON(DEADLINE, READY, IGNORE, "this state has no deadline; the timer fired late"),
		ON(DRAINED_CLEAN, READY, IGNORE, "it was not drained"),
		ON(DRAINED_FAILED, READY, IGNORE, "it was not drained"),
	},
	[VBD_ENDPOINT_CLOSING] = {
		ON(PREPARED, CLOSING, GO_ON, "the end began during the call; there is no QP to drain"),
		ON(CALL_FAILED, CLOSING, GO_ON, "the end began during the call; there is no QP to drain"),
		ON(WC_ERROR, CLOSING, COUNT, "the end has already begun"),
		ON(QP_ERROR, CLOSING, COUNT, "the end has already begun"),
		ON(DEVICE_REMOVAL, CLOSING, COUNT, "the end has already begun"),
		ON(CMD_CLOSE, CLOSING, IGNORE, "the end has already begun"),
		ON(SHUTDOWN, CLOSING, IGNORE, "the end has already begun"),
		ON(DEADLINE, CLOSING, FORCE, "the device does not report the flushes"),
		ON(DRAINED_CLEAN, CLOSED, FINISH, "all completions are in"),
		ON(DRAINED_FAILED, FAILED, FINISH, "all completions are in"),
	},
#define ENDED(state)                                                                   \
	[VBD_ENDPOINT_##state] = {                                                     \
		ON(DEVICE_REMOVAL, state, IGNORE, "it is over: it holds no device"),   \
		OTHERWISE(state, IGNORE, "it is over"), \
	}
	ENDED(CLOSED),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

VBD_RULES(vbd_endpoint_rule, enum vbd_endpoint_state, enum vbd_endpoint_event, rules)

VBD_ENUM_NAMES(vbd_endpoint_state_name, enum vbd_endpoint_state, VBD_ENDPOINT_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_endpoint_state_ended, enum vbd_endpoint_state, VBD_ENDPOINT_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_endpoint_event_name, enum vbd_endpoint_event, VBD_ENDPOINT_EVENT_MAP)
