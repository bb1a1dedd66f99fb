/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a membership in a multicast group as one pure table: (state, event) -> (next state,
 * action, why). Every pair is decided. Nothing here calls anything: rdma/group.c looks up, sets the
 * state and performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_GROUP_FSM_H
#define VBD_RDMA_GROUP_FSM_H

#include <stdbool.h>

/* X(SYMBOL, name, json name, what it waits for, ended) */
#define VBD_GROUP_STATE_MAP(X)                                                               \
	X(RESOLVING, "resolving", "joining", "the device behind the group's address", false) \
	X(JOINING, "joining", "joining", "the membership", false)                            \
	X(JOINED, "joined", "joined", "", false)                                             \
	X(LEAVING, "leaving", "leaving", "what was sent to the group to be gone", false)     \
	X(LEFT, "left", "left", "", true)                                                    \
	X(FAILED, "failed", "failed", "", true)

/* RESOLVING to FAILED; the names begin with VBD_GROUP_IS_, as modes are VBD_GROUP_. */
enum vbd_group_state {
#define VBD_GROUP_STATE_ENUM(sym, name, json, waits, ended) VBD_GROUP_IS_##sym,
	VBD_GROUP_STATE_MAP(VBD_GROUP_STATE_ENUM)
#undef VBD_GROUP_STATE_ENUM
		VBD_GROUP_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_GROUP_EVENT_MAP(X)                                                 \
	X(ADDR_RESOLVED, "addr_resolved")                                      \
	X(ADDR_ERROR, "addr_error")                                            \
	X(MEMBER, "member")	  /* MULTICAST_JOIN */                         \
	X(NO_MEMBER, "no_member") /* MULTICAST_ERROR: not, or not any more */  \
	X(DEVICE_REMOVAL, "device_removal")                                    \
	X(OTHER_CM, "other_cm")	      /* a CM event that means nothing here */ \
	X(CALL_FAILED, "call_failed") /* a call that an action made */         \
	X(DEADLINE, "deadline")                                                \
	X(CMD_LEAVE, "cmd_leave")                                              \
	X(IDLE, "idle") /* nothing that was sent to it is outstanding */       \
	X(ENDPOINT_ENDED, "endpoint_ended")

enum vbd_group_event {
#define VBD_GROUP_EVENT_ENUM(sym, name) VBD_GROUP_EV_##sym,
	VBD_GROUP_EVENT_MAP(VBD_GROUP_EVENT_ENUM)
#undef VBD_GROUP_EVENT_ENUM
		VBD_GROUP_EVENT_COUNT
};

/* X(SYMBOL, name) */
#define VBD_GROUP_ACTION_MAP(X)                                                            \
	X(IGNORE, "ignore") /* nothing; the row's note says why */                         \
	X(JOIN, "join")	    /* ask for the membership */                                   \
	X(ATTACH, "attach") /* attach the QP, make the address handle */                   \
	X(LEAVE, "leave")   /* detach, leave, let go of the CM id; the handle when idle */ \
	X(DROP, "drop")	    /* the handle is not used any more: destroy it */              \
	X(FAIL, "fail")	    /* as leave, and keep the error */

enum vbd_group_action {
#define VBD_GROUP_ACTION_ENUM(sym, name) VBD_GROUP_DO_##sym,
	VBD_GROUP_ACTION_MAP(VBD_GROUP_ACTION_ENUM)
#undef VBD_GROUP_ACTION_ENUM
		VBD_GROUP_ACTION_COUNT
};

struct vbd_group_rule {
	enum vbd_group_state next;
	enum vbd_group_action action;
	const char *note; /* why */
};

/** vbd_group_rule - the pure table: what @event does to @state; every pair is decided */
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
