/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a membership in a multicast group, one pure table: (state, event) -> (next
 * state, action, note). Every pair is decided. rdma/ud/group.c looks up the row, sets the state and
 * performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_UD_GROUP_FSM_H
#define VBD_RDMA_UD_GROUP_FSM_H

#include "base/enum.h"

/* X(SYMBOL, name, json name, awaited, ended) */
#define VBD_GROUP_STATE_MAP(X)                                                                     \
	X(VBD_GROUP_IS_RESOLVING, "resolving", "joining", "the device behind the group's address", \
		false)                                                                             \
	X(VBD_GROUP_IS_JOINING, "joining", "joining", "the membership", false)                     \
	X(VBD_GROUP_IS_JOINED, "joined", "joined", "", false)                                      \
	X(VBD_GROUP_IS_LEAVING, "leaving", "leaving", "what was sent to the group to be gone",     \
		false)                                                                             \
	X(VBD_GROUP_IS_LEFT, "left", "left", "", true)                                             \
	X(VBD_GROUP_IS_FAILED, "failed", "failed", "", true)

/* RESOLVING to FAILED; the names begin with VBD_GROUP_IS_, as modes are VBD_GROUP_. */
enum vbd_group_state { VBD_GROUP_STATE_MAP(VBD_ENUM_ROW) VBD_GROUP_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_GROUP_EVENT_MAP(X)                                                         \
	X(VBD_GROUP_EV_ADDR_RESOLVED, "addr_resolved")                                 \
	X(VBD_GROUP_EV_ADDR_ERROR, "addr_error")                                       \
	X(VBD_GROUP_EV_MEMBER, "member")       /* MULTICAST_JOIN */                    \
	X(VBD_GROUP_EV_NO_MEMBER, "no_member") /* MULTICAST_ERROR: refused, or lost */ \
	X(VBD_GROUP_EV_DEVICE_REMOVAL, "device_removal")                               \
	X(VBD_GROUP_EV_OTHER_CM, "other_cm")	   /* an unexpected CM event */        \
	X(VBD_GROUP_EV_CALL_FAILED, "call_failed") /* a call of an action */           \
	X(VBD_GROUP_EV_DEADLINE, "deadline")                                           \
	X(VBD_GROUP_EV_CMD_LEAVE, "cmd_leave")                                         \
	X(VBD_GROUP_EV_IDLE, "idle") /* no send to the group is outstanding */         \
	X(VBD_GROUP_EV_ENDPOINT_ENDED, "endpoint_ended")

enum vbd_group_event { VBD_GROUP_EVENT_MAP(VBD_ENUM_ROW) VBD_GROUP_EVENT_COUNT };

/* X(SYMBOL, name) */
#define VBD_GROUP_ACTION_MAP(X)                                                           \
	X(VBD_GROUP_DO_IGNORE, "ignore") /* nothing; the note gives the reason */         \
	X(VBD_GROUP_DO_JOIN, "join")	 /* request the membership */                     \
	X(VBD_GROUP_DO_ATTACH, "attach") /* attach the QP, make the address handle */     \
	X(VBD_GROUP_DO_LEAVE,                                                             \
		"leave") /* detach, leave, destroy the CM id, and the handle when idle */ \
	X(VBD_GROUP_DO_FREE_AH, "free_ah") /* destroy the unused handle */                \
	X(VBD_GROUP_DO_FAIL, "fail")	   /* as leave, and record the error */

enum vbd_group_action { VBD_GROUP_ACTION_MAP(VBD_ENUM_ROW) VBD_GROUP_ACTION_COUNT };

struct vbd_group_rule {
	enum vbd_group_state next;
	enum vbd_group_action action;
	const char *note; /* the reason */
};

/** vbd_group_rule - the row of @event in @state; never NULL */
const struct vbd_group_rule *vbd_group_rule(enum vbd_group_state state, enum vbd_group_event event);
/** vbd_group_state_name - "resolving" */
const char *vbd_group_state_name(enum vbd_group_state state);
/** vbd_group_state_json - "joining" */
const char *vbd_group_state_json(enum vbd_group_state state);
const char *vbd_group_state_waits_for(enum vbd_group_state state);
bool vbd_group_state_ended(enum vbd_group_state state);
const char *vbd_group_event_name(enum vbd_group_event event);
const char *vbd_group_action_name(enum vbd_group_action action);

#endif
