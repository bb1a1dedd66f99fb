/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a peer, one pure table: (state, event) -> (next state, action, note). Every
 * pair is decided. rdma/ud/peer.c looks up the row, sets the state and performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_UD_PEER_FSM_H
#define VBD_RDMA_UD_PEER_FSM_H

#include "base/enum.h"

/* X(SYMBOL, name, json name, awaited, ended) */
#define VBD_PEER_STATE_MAP(X)                                                                \
	X(VBD_PEER_RESOLVING_ADDR, "resolving_addr", "resolving", "the address of the host", \
		false)                                                                       \
	X(VBD_PEER_RESOLVING_ROUTE, "resolving_route", "resolving", "a path to it", false)   \
	X(VBD_PEER_ASKING, "asking", "resolving", "the peer to tell its QP number", false)   \
	X(VBD_PEER_RETRYING, "retrying", "resolving", "its next try", false)                 \
	X(VBD_PEER_MAKING_AH, "making_ah", "resolving",                                      \
		"the system to find the neighbour on the way", false)                        \
	X(VBD_PEER_READY, "ready", "ready", "", false)                                       \
	X(VBD_PEER_FAILED, "failed", "failed", "", true)

enum vbd_peer_state { VBD_PEER_STATE_MAP(VBD_ENUM_ROW) VBD_PEER_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_PEER_EVENT_MAP(X)                                                                 \
	X(VBD_PEER_EV_KNOWN, "known")		  /* set without the CM */                    \
	X(VBD_PEER_EV_NAME_FAILED, "name_failed") /* the host name has no address */          \
	X(VBD_PEER_EV_ADDR_RESOLVED, "addr_resolved")                                         \
	X(VBD_PEER_EV_ADDR_ERROR, "addr_error")                                               \
	X(VBD_PEER_EV_ROUTE_RESOLVED, "route_resolved")                                       \
	X(VBD_PEER_EV_ROUTE_ERROR, "route_error")                                             \
	X(VBD_PEER_EV_ANSWERED, "answered") /* ESTABLISHED: the SIDR reply came */            \
	X(VBD_PEER_EV_REJECTED, "rejected") /* UNREACHABLE with a SIDR status, or REJECTED */ \
	X(VBD_PEER_EV_UNREACHABLE, "unreachable") /* no reply */                              \
	X(VBD_PEER_EV_CONNECT_ERROR, "connect_error")                                         \
	X(VBD_PEER_EV_DEVICE_REMOVAL, "device_removal")                                       \
	X(VBD_PEER_EV_OTHER_CM, "other_cm") /* an unexpected CM event */                      \
	X(VBD_PEER_EV_AH_MADE, "ah_made")   /* the address handle is made */                  \
	X(VBD_PEER_EV_AH_FAILED, "ah_failed")                                                 \
	X(VBD_PEER_EV_CALL_FAILED, "call_failed") /* a call of an action */                   \
	X(VBD_PEER_EV_TRY_FAILED, "try_failed")	  /* and another one follows */               \
	X(VBD_PEER_EV_NEXT_TRY, "next_try")                                                   \
	X(VBD_PEER_EV_TRIES_OVER, "tries_over") /* no time is left for another try */         \
	X(VBD_PEER_EV_DEADLINE, "deadline")                                                   \
	X(VBD_PEER_EV_ENDPOINT_ENDED, "endpoint_ended")

enum vbd_peer_event { VBD_PEER_EVENT_MAP(VBD_ENUM_ROW) VBD_PEER_EVENT_COUNT };

/* X(SYMBOL, name) */
#define VBD_PEER_ACTION_MAP(X)                                                                \
	X(VBD_PEER_DO_IGNORE, "ignore") /* nothing; the note gives the reason */              \
	X(VBD_PEER_DO_RESOLVE_ROUTE, "resolve_route")                                         \
	X(VBD_PEER_DO_ASK, "ask")                                                             \
	X(VBD_PEER_DO_REST, "rest")	  /* destroy the CM id, wait if need be */            \
	X(VBD_PEER_DO_TRY, "try")	  /* the next address, or the first one again */      \
	X(VBD_PEER_DO_MAKE_AH, "make_ah") /* destroy the CM id, have the handle made */       \
	X(VBD_PEER_DO_KEEP_AH, "keep_ah") /* sends are possible */                            \
	X(VBD_PEER_DO_FREE_AH,                                                                \
		"free_ah")	    /* the handle was made too late, or the endpoint ended */ \
	X(VBD_PEER_DO_FAIL, "fail") /* destroy the CM id, record the error */

enum vbd_peer_action { VBD_PEER_ACTION_MAP(VBD_ENUM_ROW) VBD_PEER_ACTION_COUNT };

struct vbd_peer_rule {
	enum vbd_peer_state next;
	enum vbd_peer_action action;
	const char *note; /* the reason */
};

/** vbd_peer_rule - the row of @event in @state; never NULL */
const struct vbd_peer_rule *vbd_peer_rule(enum vbd_peer_state state, enum vbd_peer_event event);
/** vbd_peer_state_name - "resolving_route" */
const char *vbd_peer_state_name(enum vbd_peer_state state);
/** vbd_peer_state_json - "resolving" */
const char *vbd_peer_state_json(enum vbd_peer_state state);
/** vbd_peer_state_waits_for - the awaited event, as words; "" for READY and FAILED */
const char *vbd_peer_state_waits_for(enum vbd_peer_state state);
const char *vbd_peer_event_name(enum vbd_peer_event event);
const char *vbd_peer_action_name(enum vbd_peer_action action);

#endif
