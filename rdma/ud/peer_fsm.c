/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/peer_fsm.h"

#define ON(event, next, action, note) \
	[VBD_PEER_EV_##event] = {VBD_PEER_##next, VBD_PEER_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_PEER_EVENT_COUNT] = {VBD_PEER_##next, VBD_PEER_DO_##action, note}

/* Nobody is tried by CM any more. */
#define NO_TRY(state)                                                          \
	ON(TRY_FAILED, state, IGNORE, "nothing is tried in this state"),       \
		ON(NEXT_TRY, state, IGNORE, "nothing is tried in this state"), \
		ON(TRIES_OVER, state, IGNORE, "nothing is tried in this state")

/* The events that end every state of the resolution by CM. */
#define ASKED_FOR(state)                                                                        \
	ON(TRY_FAILED, RETRYING, REST, "another address, or the same one later, may answer"),   \
		ON(NEXT_TRY, state, IGNORE, "the try is under way"),                            \
		ON(TRIES_OVER, state, IGNORE, "the try is under way"),                          \
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"), \
		ON(OTHER_CM, state, IGNORE, "it says nothing about a peer"),                    \
		ON(AH_MADE, state, FREE_AH, "nobody had asked for it"),                         \
		ON(AH_FAILED, state, IGNORE, "nobody had asked for it"),                        \
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),           \
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),                          \
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more")

/* clang-format off */
static const struct vbd_peer_rule rules[VBD_PEER_STATE_COUNT][VBD_PEER_EVENT_COUNT + 1] = {
	[VBD_PEER_RESOLVING_ADDR] = {
		ON(KNOWN, MAKING_AH, MAKE_AH, "nobody needs to be asked"),
		ON(NAME_FAILED, FAILED, FAIL, "there is no address to ask at"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, RESOLVE_ROUTE, "the device is known, the path is next"),
		ON(ADDR_ERROR, FAILED, FAIL, "no neighbour answers there"),
		ON(ROUTE_RESOLVED, RESOLVING_ADDR, IGNORE, "it was not asked for yet"),
		ON(ROUTE_ERROR, FAILED, FAIL, "no path"),
		ON(ANSWERED, RESOLVING_ADDR, IGNORE, "nobody was asked yet"),
		ON(REJECTED, FAILED, FAIL, "the CM gives it up"),
		ON(UNREACHABLE, FAILED, FAIL, "the CM gives it up"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the CM gives it up"),
		ASKED_FOR(RESOLVING_ADDR),
	},
	[VBD_PEER_RESOLVING_ROUTE] = {
		ON(KNOWN, RESOLVING_ROUTE, IGNORE, "it is asked for"),
		ON(NAME_FAILED, RESOLVING_ROUTE, IGNORE, "its address is known"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(ROUTE_RESOLVED, ASKING, ASK, "the peer can be asked"),
		ON(ROUTE_ERROR, FAILED, FAIL, "no path"),
		ON(ANSWERED, RESOLVING_ROUTE, IGNORE, "nobody was asked yet"),
		ON(REJECTED, FAILED, FAIL, "the CM gives it up"),
		ON(UNREACHABLE, FAILED, FAIL, "the CM gives it up"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the CM gives it up"),
		ASKED_FOR(RESOLVING_ROUTE),
	},
	[VBD_PEER_ASKING] = {
		ON(KNOWN, ASKING, IGNORE, "it is asked for"),
		ON(NAME_FAILED, ASKING, IGNORE, "its address is known"),
		ON(ADDR_RESOLVED, ASKING, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(ROUTE_RESOLVED, ASKING, IGNORE, "repeated: the table already has this information"),
		ON(ROUTE_ERROR, FAILED, FAIL, "the path was lost"),
		ON(ANSWERED, MAKING_AH, MAKE_AH, "QP number, qkey and path are there"),
		ON(REJECTED, FAILED, FAIL, "no program listens there, or the program refused"),
		ON(UNREACHABLE, FAILED, FAIL, "no answer arrived"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the answer could not be used"),
		ASKED_FOR(ASKING),
	},
	[VBD_PEER_RETRYING] = {
		ON(KNOWN, RETRYING, IGNORE, "it is asked for"),
		ON(NEXT_TRY, RESOLVING_ADDR, TRY, "nothing of the try before is left"),
		ON(TRIES_OVER, FAILED, FAIL, "the deadline comes before another try could"),
		ON(AH_MADE, RETRYING, FREE_AH, "nobody had asked for it"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "its endpoint is about to end"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(RETRYING, IGNORE, "the event is about a try that has failed already"),
	},
	[VBD_PEER_MAKING_AH] = {
		NO_TRY(MAKING_AH),
		ON(KNOWN, MAKING_AH, IGNORE, "this event is the cause"),
		ON(NAME_FAILED, MAKING_AH, IGNORE, "its address is known"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the handle would be of a device that goes"),
		ON(AH_MADE, READY, KEEP_AH, "it can be sent to"),
		ON(AH_FAILED, FAILED, FAIL, "no neighbour on the way, or no memory"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "it took too long; the handle is dropped when it comes"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(MAKING_AH, IGNORE, "the CM id is destroyed"),
	},
	[VBD_PEER_READY] = {
		NO_TRY(READY),
		ON(KNOWN, READY, IGNORE, "it is"),
		ON(NAME_FAILED, READY, IGNORE, "its address is known"),
		ON(DEVICE_REMOVAL, READY, IGNORE, "its endpoint is about to end, and takes it along"),
		ON(AH_MADE, READY, FREE_AH, "it has one"),
		ON(AH_FAILED, READY, IGNORE, "it has one"),
		ON(CALL_FAILED, READY, IGNORE, "it needs none any more"),
		ON(DEADLINE, READY, IGNORE, "the operation was in time; the timer fired late"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(READY, IGNORE, "the CM id is destroyed"),
	},
	[VBD_PEER_FAILED] = {
		ON(AH_MADE, FAILED, FREE_AH, "the event arrived too late"),
		OTHERWISE(FAILED, IGNORE, "it is over"),
	},
};
/* clang-format on */

const struct vbd_peer_rule *vbd_peer_rule(enum vbd_peer_state state, enum vbd_peer_event event)
{
	return VBD_RULE(rules, state, event);
}

VBD_ENUM_NAMES(vbd_peer_state_name, enum vbd_peer_state, VBD_PEER_STATE_MAP)
VBD_ENUM_COLUMN(const char *, vbd_peer_state_json, enum vbd_peer_state, VBD_PEER_STATE_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_peer_state_waits_for, enum vbd_peer_state, VBD_PEER_STATE_MAP, 4)
VBD_ENUM_NAMES(vbd_peer_event_name, enum vbd_peer_event, VBD_PEER_EVENT_MAP)
VBD_ENUM_NAMES(vbd_peer_action_name, enum vbd_peer_action, VBD_PEER_ACTION_MAP)
