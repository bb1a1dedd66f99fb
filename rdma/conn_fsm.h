/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a connection as one pure table: (state, event) -> (next state, action, why). Every
 * pair is decided; "ignore" carries its reason. Nothing here calls anything: rdma/conn_step.c looks
 * up, sets the state and performs the action.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_CONN_FSM_H
#define VBD_RDMA_CONN_FSM_H

#include <stdbool.h>

/* X(SYMBOL, json name, terminal, what it waits for) */
#define VBD_CONN_STATE_MAP(X)                                                       \
	X(RESOLVING_ADDR, "resolving_addr", false, "the address of the peer")       \
	X(RESOLVING_ROUTE, "resolving_route", false, "a path to the peer")          \
	X(CONNECTING, "connecting", false, "the peer's answer")                     \
	X(REQUESTED, "requested", false, "a client's decision to accept or reject") \
	X(ACCEPTING, "accepting", false, "the peer's confirmation")                 \
	X(AWAITING_REMOTE, "awaiting_remote", false, "the peer's QP attributes")    \
	X(ESTABLISHED, "established", false, "nothing: data can move")              \
	X(DRAINING, "draining", false, "the last completions")                      \
	X(CLOSED, "closed", true, "nothing: it is over")                            \
	X(FAILED, "failed", true, "nothing: it is over")

enum vbd_conn_state {
#define VBD_CONN_STATE_ENUM(sym, json, terminal, waits) VBD_CONN_##sym,
	VBD_CONN_STATE_MAP(VBD_CONN_STATE_ENUM)
#undef VBD_CONN_STATE_ENUM
		VBD_CONN_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_CONN_EVENT_MAP(X)                                                              \
	/* the host name resolver */                                                       \
	X(NAME_FAILED, "name_failed")                                                      \
	/* CM events */                                                                    \
	X(ADDR_RESOLVED, "addr_resolved")                                                  \
	X(ADDR_ERROR, "addr_error")                                                        \
	X(ROUTE_RESOLVED, "route_resolved")                                                \
	X(ROUTE_ERROR, "route_error")                                                      \
	X(CONNECT_RESPONSE, "connect_response")                                            \
	X(CONNECT_ERROR, "connect_error")                                                  \
	X(UNREACHABLE, "unreachable")                                                      \
	X(REJECTED, "rejected")                                                            \
	X(ESTABLISHED, "established")                                                      \
	X(DISCONNECTED, "disconnected")                                                    \
	X(DEVICE_REMOVAL, "device_removal")                                                \
	X(ADDR_CHANGE, "addr_change")                                                      \
	X(TIMEWAIT_EXIT, "timewait_exit")                                                  \
	X(UNEXPECTED_CM, "unexpected_cm") /* a CM event that no connection gets */         \
	/* the data path and the device */                                                 \
	X(WC_ERROR, "wc_error")		  /* a completion failed */                        \
	X(QP_ERROR, "qp_error")		  /* async event */                                \
	X(FLUSHED, "flushed")		  /* a flush out of the blue: nobody said why */   \
	X(LATE_ERROR, "late_error")	  /* either, behind a deliberate ERR */            \
	X(COMM_EST, "comm_est")		  /* data came before ESTABLISHED did */           \
	X(DRAINED_CLEAN, "drained_clean") /* all completions are in, nothing went wrong */ \
	X(DRAINED_FAILED, "drained_failed")                                                \
	X(QP_UP, "qp_up")     /* a QP that is moved by hand came to RTS */                 \
	X(QP_DOWN, "qp_down") /* it was taken to ERR */                                    \
	/* ourselves */                                                                    \
	X(CALL_FAILED, "call_failed") /* a call that an action made */                     \
	X(DEADLINE, "deadline")                                                            \
	X(CMD_ACCEPT, "cmd_accept")                                                        \
	X(CMD_REJECT, "cmd_reject")                                                        \
	X(CMD_MOVE, "cmd_move") /* manual bring-up: a step of the QP */                    \
	X(CMD_CLOSE, "cmd_close")                                                          \
	X(SHUTDOWN, "shutdown")

enum vbd_conn_event {
#define VBD_CONN_EVENT_ENUM(sym, name) VBD_CONN_EV_##sym,
	VBD_CONN_EVENT_MAP(VBD_CONN_EVENT_ENUM)
#undef VBD_CONN_EVENT_ENUM
		VBD_CONN_EVENT_COUNT
};

/* No event follows from an action. */
#define VBD_CONN_NO_EVENT VBD_CONN_EVENT_COUNT

/* X(SYMBOL, name) */
#define VBD_CONN_ACTION_MAP(X)                                                                   \
	X(IGNORE, "ignore") /* nothing; the row's note says why */                               \
	X(REFUSE, "refuse") /* a command that this state does not allow */                       \
	X(RESOLVE_ROUTE, "resolve_route")                                                        \
	X(CONNECT, "connect") /* make the QP, post receives, connect */                          \
	X(ACCEPT, "accept")   /* make the QP up to RTS, accept */                                \
	X(REJECT, "reject")                                                                      \
	X(GO_RTS, "go_rts")		  /* QP to RTR and RTS, tell the peer */                 \
	X(CONFIRM, "confirm")		  /* both sides are connected */                         \
	X(CONFIRM_IWARP, "confirm_iwarp") /* the same; the kernel moved the QP itself */         \
	X(MOVE_QP, "move_qp")		  /* a step that a client asked for */                   \
	X(PARK, "park")			  /* wait for the flushes of a deliberate ERR */         \
	X(PARKED, "parked")		  /* they are in: the QP may be used again */            \
	X(END_EMPTY, "end_empty")	  /* there is no QP: just let go of the id */            \
	X(DRAIN, "drain")		  /* disconnect, QP to ERR, wait for flushes */          \
	X(AWAIT_CAUSE, "await_cause")	  /* the same, but leave the CM a moment to say why */   \
	X(NAME_CAUSE, "name_cause")	  /* why it was flushed, if nobody knew */               \
	X(NOTIFY, "notify")		  /* tell the CM that data came before the peer's RTU */ \
	X(FORCE, "force")		  /* destroy the QP without its flushes */               \
	X(FINISH, "finish")		  /* destroy the QP, the id, the memory */               \
	X(COUNT, "count")		  /* a failure after the first: count it */

enum vbd_conn_action {
#define VBD_CONN_ACTION_ENUM(sym, name) VBD_CONN_DO_##sym,
	VBD_CONN_ACTION_MAP(VBD_CONN_ACTION_ENUM)
#undef VBD_CONN_ACTION_ENUM
		VBD_CONN_ACTION_COUNT
};

struct vbd_conn_rule {
	enum vbd_conn_state next;
	enum vbd_conn_action action;
	const char *note; /* why; never NULL in a decided pair */
};

/**
 * vbd_conn_rule - what happens when @event meets @state
 *
 * Returns a row of the table; never NULL for values of the enums.
 */
const struct vbd_conn_rule *vbd_conn_rule(enum vbd_conn_state state, enum vbd_conn_event event);

/** vbd_conn_state_name - "established" */
const char *vbd_conn_state_name(enum vbd_conn_state state);

/** vbd_conn_state_waits_for - what the state waits for, as words */
const char *vbd_conn_state_waits_for(enum vbd_conn_state state);

/** vbd_conn_state_terminal - is the connection over? */
bool vbd_conn_state_terminal(enum vbd_conn_state state);

/** vbd_conn_event_name - "addr_resolved" */
const char *vbd_conn_event_name(enum vbd_conn_event event);

/** vbd_conn_action_name - "resolve_route" */
const char *vbd_conn_action_name(enum vbd_conn_action action);

#endif
