/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/window_fsm.h"

#include "base/enum.h"

#define ON(event, next, action, note) \
	[VBD_WINDOW_EV_##event] = {VBD_WINDOW_##next, VBD_WINDOW_DO_##action, note}

/* clang-format off */
static const struct vbd_window_rule rules[VBD_WINDOW_STATE_COUNT][VBD_WINDOW_EVENT_COUNT] = {
	[VBD_WINDOW_BINDING] = {
		ON(REGISTERED, BINDING, BIND, "there is something to bind it to"),
		ON(REGISTER_FAILED, FAILED, FREE, "there is nothing to bind it to"),
		ON(BOUND, READY, NOTHING, "peers may use its key"),
		ON(BIND_FAILED, FAILED, FREE, "it gives nothing, and holds nothing"),
		ON(REVOKE, REVOKING, NOTHING, "what is under way has to come back first"),
		ON(UNBOUND, BINDING, NOTHING, "nobody has revoked it"),
		ON(UNBIND_FAILED, BINDING, NOTHING, "nobody has revoked it"),
		ON(LOST, REVOKING, NOTHING, "what is under way has to come back first"),
	},
	[VBD_WINDOW_READY] = {
		ON(REGISTERED, READY, NOTHING, "it is bound already"),
		ON(REGISTER_FAILED, READY, NOTHING, "it is bound already"),
		ON(BOUND, READY, NOTHING, "it is bound already"),
		ON(BIND_FAILED, READY, NOTHING, "it is bound already"),
		ON(REVOKE, REVOKING, UNBIND, "from its completion on the key is good no more"),
		ON(UNBOUND, READY, NOTHING, "nobody has revoked it"),
		ON(UNBIND_FAILED, READY, NOTHING, "nobody has revoked it"),
		ON(LOST, REVOKED, FREE, "there is nothing to post on"),
	},
	[VBD_WINDOW_REVOKING] = {
		ON(REGISTERED, REVOKED, FREE, "it need not be bound any more"),
		ON(REGISTER_FAILED, REVOKED, FREE, "it never gave anything"),
		ON(BOUND, REVOKING, UNBIND, "it was to be revoked while it was bound"),
		ON(BIND_FAILED, REVOKED, FREE, "it never gave anything"),
		ON(REVOKE, REVOKING, NOTHING, "it is being revoked already"),
		ON(UNBOUND, REVOKED, FREE, "the key is good no more"),
		ON(UNBIND_FAILED, REVOKED, FREE, "a window that is freed gives nothing either"),
		ON(LOST, REVOKING, NOTHING, "its work request has to come back first"),
	},
#define ENDED(state)                                                     \
	[VBD_WINDOW_##state] = {                                         \
		ON(REGISTERED, state, NOTHING, "it has ended"),          \
		ON(REGISTER_FAILED, state, NOTHING, "it has ended"),     \
		ON(BOUND, state, NOTHING, "it has ended"),               \
		ON(BIND_FAILED, state, NOTHING, "it has ended"),         \
		ON(REVOKE, state, NOTHING, "it has ended"),              \
		ON(UNBOUND, state, NOTHING, "it has ended"),             \
		ON(UNBIND_FAILED, state, NOTHING, "it has ended"),       \
		ON(LOST, state, NOTHING, "it has ended"),                \
	}
	ENDED(REVOKED),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

const struct vbd_window_rule *vbd_window_rule(
	enum vbd_window_state state, enum vbd_window_event event)
{
	return &rules[state][event];
}

static const struct {
	const char *name;
	bool ended;
} states[VBD_WINDOW_STATE_COUNT] = {
#define VBD_WINDOW_STATE_ROW(sym, json, ended) [sym] = {json, ended},
	VBD_WINDOW_STATE_MAP(VBD_WINDOW_STATE_ROW)
#undef VBD_WINDOW_STATE_ROW
};

const char *vbd_window_state_name(enum vbd_window_state state)
{
	return states[state].name;
}

bool vbd_window_state_ended(enum vbd_window_state state)
{
	return states[state].ended;
}

VBD_ENUM_NAMES(vbd_window_event_name, enum vbd_window_event, VBD_WINDOW_EVENT_MAP)
