/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a connection, one pure table: (state, event) -> (next state, action, note).
 * Every pair is decided. rdma/conn/conn_step.c looks up the row, sets the state and performs the
 * action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_CONN_CONN_FSM_H
#define VBD_RDMA_CONN_CONN_FSM_H

#include "base/enum.h"

/*
 * X(SYMBOL, json name, terminal, awaited, late, long): in an explanation VBD_OUTCOME_late if its
 * deadline passes, VBD_OUTCOME_long if it only waits for long (rdma/diagnose/facts.h)
 */
#define VBD_CONN_STATE_MAP(X)                                                                      \
	X(VBD_CONN_QUEUED, "queued", false, "its turn to connect", UNRESOLVED, WELL)               \
	X(VBD_CONN_RESOLVING_ADDR, "resolving_addr", false, "the address of the peer", UNRESOLVED, \
		RESOLVING)                                                                         \
	X(VBD_CONN_RESOLVING_ROUTE, "resolving_route", false, "a path to the peer", UNRESOLVED,    \
		RESOLVING)                                                                         \
	X(VBD_CONN_CONNECTING, "connecting", false, "the peer's answer", UNANSWERED, CONNECTING)   \
	X(VBD_CONN_RETRYING, "retrying", false, "its next try to connect", UNRESOLVED, RESOLVING)  \
	X(VBD_CONN_REQUESTED, "requested", false, "a client's decision to accept or reject",       \
		NOT_DECIDED, UNDECIDED)                                                            \
	X(VBD_CONN_ACCEPTING, "accepting", false, "the peer's confirmation", UNCONFIRMED, WELL)    \
	X(VBD_CONN_AWAITING_REMOTE, "awaiting_remote", false, "the peer's QP attributes",          \
		NO_REMOTE, AWAITING)                                                               \
	X(VBD_CONN_ESTABLISHED, "established", false, "nothing: data can move", LATE, STUCK)       \
	X(VBD_CONN_DRAINING, "draining", false, "the last completions", WELL, WELL)                \
	X(VBD_CONN_CLOSED, "closed", true, "nothing: it is over", WELL, WELL)                      \
	X(VBD_CONN_FAILED, "failed", true, "nothing: it is over", WELL, WELL)

enum vbd_conn_state { VBD_CONN_STATE_MAP(VBD_ENUM_ROW) VBD_CONN_STATE_COUNT };

/* X(SYMBOL, name, text of the timeline) */
#define VBD_CONN_EVENT_MAP(X)                                                                  \
	/* the host name resolver */                                                           \
	X(VBD_CONN_EV_NAME_FAILED, "name_failed", "the host name has no address")              \
	/* CM events */                                                                        \
	X(VBD_CONN_EV_ADDR_RESOLVED, "addr_resolved", "the address is resolved")               \
	X(VBD_CONN_EV_ADDR_ERROR, "addr_error", "the address could not be resolved")           \
	X(VBD_CONN_EV_ROUTE_RESOLVED, "route_resolved", "the route is resolved")               \
	X(VBD_CONN_EV_ROUTE_ERROR, "route_error", "no path to the peer was found")             \
	X(VBD_CONN_EV_CONNECT_RESPONSE, "connect_response", "the peer accepted")               \
	X(VBD_CONN_EV_CONNECT_ERROR, "connect_error", "the CM could not connect")              \
	X(VBD_CONN_EV_UNREACHABLE, "unreachable", "the peer does not answer")                  \
	X(VBD_CONN_EV_REJECTED, "rejected", "the peer rejected the connection")                \
	X(VBD_CONN_EV_ESTABLISHED, "established", "both sides are connected")                  \
	X(VBD_CONN_EV_DISCONNECTED, "disconnected", "the peer disconnected")                   \
	X(VBD_CONN_EV_DEVICE_REMOVAL, "device_removal", "the device is being removed")         \
	X(VBD_CONN_EV_ADDR_CHANGE, "addr_change", "the network device of the address changed") \
	X(VBD_CONN_EV_TIMEWAIT_EXIT, "timewait_exit", "the QP number may be used again")       \
	X(VBD_CONN_EV_UNEXPECTED_CM, "unexpected_cm", "the CM reported an unexpected event")   \
	/* the data path and the device */                                                     \
	X(VBD_CONN_EV_WC_ERROR, "wc_error", "a completion failed")                             \
	X(VBD_CONN_EV_QP_ERROR, "qp_error", "the device reported an error of the QP")          \
	X(VBD_CONN_EV_FLUSHED, "flushed", "a work request was flushed")                        \
	X(VBD_CONN_EV_LATE_ERROR, "late_error", "an error after the QP was moved to ERR")      \
	X(VBD_CONN_EV_COMM_EST, "comm_est", "data arrived")                                    \
	X(VBD_CONN_EV_DRAINED_CLEAN, "drained_clean", "all work requests are completed")       \
	X(VBD_CONN_EV_DRAINED_FAILED, "drained_failed",                                        \
		"all work requests are completed, after an error")                             \
	X(VBD_CONN_EV_QP_RTR, "qp_rtr", "the QP is ready to receive")                          \
	X(VBD_CONN_EV_QP_UP, "qp_up", "the QP is in RTS")                                      \
	X(VBD_CONN_EV_QP_DOWN, "qp_down", "the QP is in ERR")                                  \
	/* verbsd itself */                                                                    \
	X(VBD_CONN_EV_BEGIN, "begin", "its turn to connect has come")                          \
	X(VBD_CONN_EV_TRY_FAILED, "try_failed", "a try failed, and another one follows")       \
	X(VBD_CONN_EV_NEXT_TRY, "next_try", "the next try begins")                             \
	X(VBD_CONN_EV_TRIES_OVER, "tries_over", "no time is left for another try")             \
	X(VBD_CONN_EV_PREPARED, "prepared", "the memory of the receives is registered")        \
	X(VBD_CONN_EV_CALL_FAILED, "call_failed", "a call failed")                             \
	X(VBD_CONN_EV_CALL_RETURNED, "call_returned", "a call that may block has returned")    \
	X(VBD_CONN_EV_DEADLINE, "deadline", "the deadline passed")                             \
	X(VBD_CONN_EV_CMD_ACCEPT, "cmd_accept", "the request was accepted")                    \
	X(VBD_CONN_EV_CMD_REJECT, "cmd_reject", "a client rejected the request")               \
	X(VBD_CONN_EV_CMD_MOVE, "cmd_move", "a client moved the QP")                           \
	X(VBD_CONN_EV_CMD_CLOSE, "cmd_close", "a client closed the connection")                \
	X(VBD_CONN_EV_SHUTDOWN, "shutdown", "the daemon is stopping")

enum vbd_conn_event { VBD_CONN_EVENT_MAP(VBD_ENUM_ROW) VBD_CONN_EVENT_COUNT };

/* No event follows from an action. */
#define VBD_CONN_NO_EVENT VBD_CONN_EVENT_COUNT

/* X(SYMBOL, name) */
#define VBD_CONN_ACTION_MAP(X)                                                                     \
	X(VBD_CONN_DO_IGNORE, "ignore")	  /* nothing; the note gives the reason */                 \
	X(VBD_CONN_DO_REFUSE, "refuse")	  /* a command that this state does not allow */           \
	X(VBD_CONN_DO_BEGIN, "begin")	  /* the time limit begins */                              \
	X(VBD_CONN_DO_RETREAT, "retreat") /* as drain, of a try that has failed */                 \
	X(VBD_CONN_DO_REST, "rest")	  /* free what the try had, wait if need be */             \
	X(VBD_CONN_DO_TRY, "try")	  /* the next address, or the first one again */           \
	X(VBD_CONN_DO_RESOLVE_ROUTE, "resolve_route")                                              \
	X(VBD_CONN_DO_PREPARE, "prepare")   /* begin to register the memory of the receives */     \
	X(VBD_CONN_DO_CONNECT, "connect")   /* make the QP, post receives, connect */              \
	X(VBD_CONN_DO_BRING_UP, "bring_up") /* make the QP, post receives, begin to go to RTR */   \
	X(VBD_CONN_DO_OPEN, "open")	    /* make the QP of a manual bring-up */                 \
	X(VBD_CONN_DO_ACCEPT, "accept")	    /* QP to RTS, accept */                                \
	X(VBD_CONN_DO_REJECT, "reject")                                                            \
	X(VBD_CONN_DO_GO_RTR, "go_rtr")	  /* QP begins to go to RTR */                             \
	X(VBD_CONN_DO_GO_RTS, "go_rts")	  /* QP to RTS, send the RTU */                            \
	X(VBD_CONN_DO_CONFIRM, "confirm") /* both sides are connected */                           \
	X(VBD_CONN_DO_CONFIRM_IWARP,                                                               \
		"confirm_iwarp")	  /* as confirm, after the kernel moved the QP */          \
	X(VBD_CONN_DO_MOVE_QP, "move_qp") /* a step that a client requested */                     \
	X(VBD_CONN_DO_PARK, "park")	  /* a client moved the QP to ERR: wait for the flushes */ \
	X(VBD_CONN_DO_PARKED, "parked")	  /* flushes collected: the QP may be reused */            \
	X(VBD_CONN_DO_END_EMPTY, "end_empty") /* destroy the CM id; there is no QP */              \
	X(VBD_CONN_DO_DRAIN, "drain")	      /* disconnect, QP to ERR, wait for flushes */        \
	X(VBD_CONN_DO_GO_ON, "go_on")	      /* drain, now that the call has returned */          \
	X(VBD_CONN_DO_AWAIT_CAUSE,                                                                 \
		"await_cause") /* as drain, but first wait for a CM event with the reason */       \
	X(VBD_CONN_DO_AWAIT_ERROR,                                                                 \
		"await_error") /* as drain, but first wait for the errors of outstanding sends */  \
	X(VBD_CONN_DO_NAME_CAUSE, "name_cause") /* record why the QP was flushed */                \
	X(VBD_CONN_DO_NOTIFY, "notify")		/* rdma_notify(3): data came before the RTU */     \
	X(VBD_CONN_DO_FORCE, "force")		/* destroy the QP without its flushes */           \
	X(VBD_CONN_DO_FINISH, "finish")		/* destroy the QP, the CM id, the memory */        \
	X(VBD_CONN_DO_COUNT, "count")		/* a failure after the first: count it */

enum vbd_conn_action { VBD_CONN_ACTION_MAP(VBD_ENUM_ROW) VBD_CONN_ACTION_COUNT };

/** vbd_conn_rule - the row of @event in @state; never NULL */
const struct vbd_rule *vbd_conn_rule(enum vbd_conn_state state, enum vbd_conn_event event);

/** vbd_conn_state_name - "established" */
const char *vbd_conn_state_name(enum vbd_conn_state state);

/** vbd_conn_state_waits_for - the awaited event, as words */
const char *vbd_conn_state_waits_for(enum vbd_conn_state state);

/** vbd_conn_state_terminal - is the connection over? */
bool vbd_conn_state_terminal(enum vbd_conn_state state);

/** vbd_conn_event_name - "addr_resolved" */
const char *vbd_conn_event_name(enum vbd_conn_event event);

/** vbd_conn_event_text - "the address is resolved", for people */
const char *vbd_conn_event_text(enum vbd_conn_event event);

/** vbd_conn_action_name - "resolve_route" */
const char *vbd_conn_action_name(enum vbd_conn_action action);

#endif
