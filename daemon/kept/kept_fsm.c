/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/kept_fsm.h"

#define ON(event, next, action, note) \
	[VBD_KEPT_EV_##event] = {VBD_KEPT_##next, VBD_KEPT_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_KEPT_EVENT_COUNT] = {VBD_KEPT_##next, VBD_KEPT_DO_##action, note}

/* clang-format off */
static const struct vbd_rule rules[VBD_KEPT_STATE_COUNT][VBD_KEPT_EVENT_COUNT + 1] = {
	[VBD_KEPT_WAITING] = {
		ON(DUE, TRYING, TRY, "its turn has come"),
		ON(MADE, TRYING, NOTHING, "the request that keeps the object has begun to make it"),
		ON(READY, UP, NOTHING, "the request that keeps the object has made it"),
		ON(LOST, LOST, NOTHING, "the request that keeps the object has made it"),
		ON(ENDED, WAITING, LATER, "the object that its request had made has failed"),
		ON(RESTED, STOPPED, NOTHING, "the object that its request had made has ended, or a client wants no other try"),
		ON(DEVICE, WAITING, SOON, "the device may be the one that was missing"),
		ON(CHANGED, REPLACING, CLOSE, "a buffer without its device is still there"),
		ON(REMOVED, REMOVING, CLOSE, "a buffer without its device is still there"),
		OTHERWISE(WAITING, NOTHING, "the next try makes another"),
	},
	[VBD_KEPT_TRYING] = {
		ON(REFUSED, WAITING, LATER, "the cause may pass"),
		ON(READY, UP, NOTHING, "the try was a success"),
		ON(LOST, LOST, NOTHING, "its device went meanwhile"),
		ON(ENDED, WAITING, LATER, "the cause may pass"),
		ON(RESTED, STOPPED, NOTHING, "the policy wants one try"),
		ON(GONE, WAITING, LATER, "somebody took it away, and nobody its spec"),
		ON(CHANGED, REPLACING, CLOSE, "what is being made is not wanted any more"),
		ON(REMOVED, REMOVING, CLOSE, "what is being made is not wanted any more"),
		OTHERWISE(TRYING, NOTHING, "the try is under way"),
	},
	[VBD_KEPT_UP] = {
		ON(LOST, LOST, NOTHING, "its device went"),
		ON(ENDED, WAITING, LATER, "the policy wants another"),
		ON(RESTED, STOPPED, NOTHING, "the policy wants no other"),
		ON(GONE, WAITING, LATER, "somebody took it away, and nobody its spec"),
		ON(CHANGED, REPLACING, CLOSE, "the next one is made when it has ended"),
		ON(REMOVED, REMOVING, CLOSE, "nothing wants it any more"),
		OTHERWISE(UP, NOTHING, "it is there, or ending, and its end is yet to come"),
	},
	[VBD_KEPT_LOST] = {
		ON(READY, UP, NOTHING, "its device is back"),
		ON(ENDED, WAITING, LATER, "the policy wants another"),
		ON(RESTED, STOPPED, NOTHING, "the policy wants no other"),
		ON(GONE, WAITING, LATER, "somebody took it away, and nobody its spec"),
		ON(CHANGED, REPLACING, CLOSE, "the next one is made when it has ended"),
		ON(REMOVED, REMOVING, CLOSE, "nothing wants it any more"),
		OTHERWISE(LOST, NOTHING, "it returns by itself"),
	},
	[VBD_KEPT_STOPPED] = {
		ON(CHANGED, WAITING, SOON, "another spec is another wish"),
		ON(REMOVED, REMOVING, CLOSE, "nothing wants it any more"),
		OTHERWISE(STOPPED, NOTHING, "nothing tries, and it is not watched"),
	},
	[VBD_KEPT_REPLACING] = {
		ON(DUE, REPLACING, CLOSE, "what used it may have ended"),
		ON(ENDED, WAITING, SOON, "there is room for the next one"),
		ON(RESTED, WAITING, SOON, "there is room for the next one"),
		ON(GONE, WAITING, SOON, "there is room for the next one"),
		ON(BUSY, REPLACING, LATER, "it is ended when nothing uses it"),
		ON(REMOVED, REMOVING, CLOSE, "nothing wants it any more"),
		OTHERWISE(REPLACING, NOTHING, "its end is yet to come"),
	},
	[VBD_KEPT_REMOVING] = {
		ON(DUE, REMOVING, CLOSE, "what used it may have ended"),
		ON(ENDED, REMOVING, FORGET, "nothing is left of it"),
		ON(RESTED, REMOVING, FORGET, "nothing is left of it"),
		ON(GONE, REMOVING, FORGET, "nothing is left of it"),
		ON(BUSY, REMOVING, LATER, "it is ended when nothing uses it"),
		ON(CHANGED, REPLACING, CLOSE, "the spec is there again"),
		OTHERWISE(REMOVING, NOTHING, "its end is yet to come"),
	},
};
/* clang-format on */

VBD_RULES(vbd_kept_rule, enum vbd_kept_state, enum vbd_kept_event, rules)

VBD_ENUM_NAMES(vbd_kept_state_name, enum vbd_kept_state, VBD_KEPT_STATE_MAP)
