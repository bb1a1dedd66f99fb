/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a peer as one pure table: (state, event) -> (next state, action, why). Every
 * pair is decided. Nothing here calls anything: rdma/peer.c looks up, sets the state and
 * performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_PEER_FSM_H
#define VBD_RDMA_PEER_FSM_H

/* X(SYMBOL, name, json name, what it waits for) */
#define VBD_PEER_STATE_MAP(X)                                                                 \
	X(RESOLVING_ADDR, "resolving_addr", "resolving", "the address of the host")           \
	X(RESOLVING_ROUTE, "resolving_route", "resolving", "a path to it")                    \
	X(ASKING, "asking", "resolving", "the peer to tell its QP number")                    \
	X(MAKING_AH, "making_ah", "resolving", "the system to find the neighbour on the way") \
	X(READY, "ready", "ready", "")                                                        \
	X(FAILED, "failed", "failed", "")

enum vbd_peer_state {
#define VBD_PEER_STATE_ENUM(sym, name, json, waits) VBD_PEER_##sym,
	VBD_PEER_STATE_MAP(VBD_PEER_STATE_ENUM)
#undef VBD_PEER_STATE_ENUM
		VBD_PEER_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_PEER_EVENT_MAP(X)                                                           \
	X(KNOWN, "known")	      /* nobody needs to be asked */                    \
	X(NAME_FAILED, "name_failed") /* the host name has no address */                \
	X(ADDR_RESOLVED, "addr_resolved")                                               \
	X(ADDR_ERROR, "addr_error")                                                     \
	X(ROUTE_RESOLVED, "route_resolved")                                             \
	X(ROUTE_ERROR, "route_error")                                                   \
	X(ANSWERED, "answered")	      /* ESTABLISHED: the answer is there */            \
	X(REJECTED, "rejected")	      /* UNREACHABLE with a SIDR status, or REJECTED */ \
	X(UNREACHABLE, "unreachable") /* nobody answered */                             \
	X(CONNECT_ERROR, "connect_error")                                               \
	X(DEVICE_REMOVAL, "device_removal")                                             \
	X(OTHER_CM, "other_cm") /* a CM event that means nothing here */                \
	X(AH_MADE, "ah_made")	/* the address handle is there */                       \
	X(AH_FAILED, "ah_failed")                                                       \
	X(CALL_FAILED, "call_failed") /* a call that an action made */                  \
	X(DEADLINE, "deadline")                                                         \
	X(ENDPOINT_ENDED, "endpoint_ended")

enum vbd_peer_event {
#define VBD_PEER_EVENT_ENUM(sym, name) VBD_PEER_EV_##sym,
	VBD_PEER_EVENT_MAP(VBD_PEER_EVENT_ENUM)
#undef VBD_PEER_EVENT_ENUM
		VBD_PEER_EVENT_COUNT
};

/* X(SYMBOL, name) */
#define VBD_PEER_ACTION_MAP(X)                                                        \
	X(IGNORE, "ignore") /* nothing; the row's note says why */                    \
	X(RESOLVE_ROUTE, "resolve_route")                                             \
	X(ASK, "ask")                                                                 \
	X(MAKE_AH, "make_ah") /* let go of the CM id, have the handle made */         \
	X(KEEP_AH, "keep_ah") /* it can be sent to */                                 \
	X(DROP_AH, "drop_ah") /* the handle came too late, or the endpoint is gone */ \
	X(FAIL, "fail")	      /* let go of the CM id, keep the error */

enum vbd_peer_action {
#define VBD_PEER_ACTION_ENUM(sym, name) VBD_PEER_DO_##sym,
	VBD_PEER_ACTION_MAP(VBD_PEER_ACTION_ENUM)
#undef VBD_PEER_ACTION_ENUM
		VBD_PEER_ACTION_COUNT
};

struct vbd_peer_rule {
	enum vbd_peer_state next;
	enum vbd_peer_action action;
	const char *note; /* why */
};

/** vbd_peer_rule - the pure table: what @event does to @state; every pair is decided */
const struct vbd_peer_rule *vbd_peer_rule(enum vbd_peer_state state, enum vbd_peer_event event);
/** vbd_peer_state_name - "resolving_route" */
const char *vbd_peer_state_name(enum vbd_peer_state state);
/** vbd_peer_state_json - "resolving" */
const char *vbd_peer_state_json(enum vbd_peer_state state);
/** vbd_peer_state_waits_for - as words; "" for READY and FAILED */
const char *vbd_peer_state_waits_for(enum vbd_peer_state state);
const char *vbd_peer_event_name(enum vbd_peer_event event);
const char *vbd_peer_action_name(enum vbd_peer_action action);

#endif
