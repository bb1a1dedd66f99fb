/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/window_fsm.h"

#define ON(event, next, action, note) \
	[VBD_WINDOW_EV_##event] = {VBD_WINDOW_##next, VBD_WINDOW_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_WINDOW_EVENT_COUNT] = {VBD_WINDOW_##next, VBD_WINDOW_DO_##action, note}

/* clang-format off */
static const struct vbd_window_rule rules[VBD_WINDOW_STATE_COUNT][VBD_WINDOW_EVENT_COUNT + 1] = {
	[VBD_WINDOW_BINDING] = {
		ON(REGISTERED, BINDING, BIND, "the buffer and a connection for the bind exist"),
		ON(REGISTER_FAILED, FAILED, FREE, "the buffer or the connection for the bind is gone"),
		ON(BOUND, READY, NOTHING, "peers may use its key"),
		ON(BIND_FAILED, FAILED, FREE, "the window grants no access and references nothing"),
		ON(REVOKE, REVOKING, NOTHING, "the work request in flight must complete first"),
		ON(UNBOUND, BINDING, NOTHING, "no client has revoked the window"),
		ON(UNBIND_FAILED, BINDING, NOTHING, "no client has revoked the window"),
		ON(LOST, REVOKING, NOTHING, "the work request in flight must complete first"),
	},
	[VBD_WINDOW_READY] = {
		ON(REVOKE, REVOKING, UNBIND, "once the revocation completes, the key is no longer valid"),
		ON(UNBOUND, READY, NOTHING, "no client has revoked the window"),
		ON(UNBIND_FAILED, READY, NOTHING, "no client has revoked the window"),
		ON(LOST, REVOKED, FREE, "no connection can carry the work request"),
		OTHERWISE(READY, NOTHING, "the window is already bound"),
	},
	[VBD_WINDOW_REVOKING] = {
		ON(REGISTERED, REVOKED, FREE, "the bind is no longer needed"),
		ON(REGISTER_FAILED, REVOKED, FREE, "the window never granted access"),
		ON(BOUND, REVOKING, UNBIND, "the revocation was requested while the bind was in flight"),
		ON(BIND_FAILED, REVOKED, FREE, "the window never granted access"),
		ON(REVOKE, REVOKING, NOTHING, "the revocation has already begun"),
		ON(UNBOUND, REVOKED, FREE, "the key is no longer valid"),
		ON(UNBIND_FAILED, REVOKED, FREE, "a freed window grants no access either"),
		ON(LOST, REVOKING, NOTHING, "its work request must complete first"),
	},
#define ENDED(state)                                                     \
	[VBD_WINDOW_##state] = {                                         \
		OTHERWISE(state, NOTHING, "it has ended"), \
	}
	ENDED(REVOKED),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

const struct vbd_window_rule *vbd_window_rule(
	enum vbd_window_state state, enum vbd_window_event event)
{
	return VBD_RULE(rules, state, event);
}

VBD_ENUM_NAMES(vbd_window_state_name, enum vbd_window_state, VBD_WINDOW_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_window_state_ended, enum vbd_window_state, VBD_WINDOW_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_window_event_name, enum vbd_window_event, VBD_WINDOW_EVENT_MAP)
