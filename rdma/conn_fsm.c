/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn_fsm.h"

#include <stddef.h>

#define ON(event, next, action, note) \
	[VBD_CONN_EV_##event] = {VBD_CONN_##next, VBD_CONN_DO_##action, note}

/* A pair per line, so that a change of one shows as one line. */
/* clang-format off */
static const struct vbd_conn_rule rules[VBD_CONN_STATE_COUNT][VBD_CONN_EVENT_COUNT] = {
	[VBD_CONN_RESOLVING_ADDR] = {
		ON(NAME_FAILED, FAILED, END_EMPTY, "there is no address to resolve"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, RESOLVE_ROUTE, "a device and a neighbour are known"),
		ON(ADDR_ERROR, FAILED, END_EMPTY, "the address is lost"),
		ON(ROUTE_RESOLVED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(ROUTE_ERROR, FAILED, END_EMPTY, "the path is lost"),
		ON(CONNECT_RESPONSE, FAILED, END_EMPTY, "the CM is out of step"),
		ON(CONNECT_ERROR, FAILED, END_EMPTY, "the CM gave up"),
		ON(UNREACHABLE, FAILED, END_EMPTY, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, FAILED, END_EMPTY, "the peer, or the CM for it, refused"),
		ON(ESTABLISHED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(DISCONNECTED, CLOSED, END_EMPTY, "the peer gave up first"),
		ON(DEVICE_REMOVAL, FAILED, END_EMPTY, "the id must go, or the kernel waits for it"),
		ON(ADDR_CHANGE, RESOLVING_ADDR, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, RESOLVING_ADDR, IGNORE, "there was no connection to wait out"),
		ON(UNEXPECTED_CM, FAILED, END_EMPTY, "the CM is out of step"),
		ON(WC_ERROR, RESOLVING_ADDR, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(QP_ERROR, RESOLVING_ADDR, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(COMM_EST, RESOLVING_ADDR, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_CLEAN, RESOLVING_ADDR, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_FAILED, RESOLVING_ADDR, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(CALL_FAILED, FAILED, END_EMPTY, "there is no QP to drain"),
		ON(DEADLINE, FAILED, END_EMPTY, "it waited long enough"),
		ON(CMD_ACCEPT, RESOLVING_ADDR, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, RESOLVING_ADDR, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, CLOSED, END_EMPTY, "there is no QP to drain"),
		ON(SHUTDOWN, CLOSED, END_EMPTY, "there is no QP to drain"),
	},
	[VBD_CONN_RESOLVING_ROUTE] = {
		ON(NAME_FAILED, RESOLVING_ROUTE, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(ADDR_ERROR, FAILED, END_EMPTY, "the address is lost"),
		ON(ROUTE_RESOLVED, CONNECTING, CONNECT, "the path is known"),
		ON(ROUTE_ERROR, FAILED, END_EMPTY, "the path is lost"),
		ON(CONNECT_RESPONSE, FAILED, END_EMPTY, "the CM is out of step"),
		ON(CONNECT_ERROR, FAILED, END_EMPTY, "the CM gave up"),
		ON(UNREACHABLE, FAILED, END_EMPTY, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, FAILED, END_EMPTY, "the peer, or the CM for it, refused"),
		ON(ESTABLISHED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(DISCONNECTED, CLOSED, END_EMPTY, "the peer gave up first"),
		ON(DEVICE_REMOVAL, FAILED, END_EMPTY, "the id must go, or the kernel waits for it"),
		ON(ADDR_CHANGE, RESOLVING_ROUTE, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, RESOLVING_ROUTE, IGNORE, "there was no connection to wait out"),
		ON(UNEXPECTED_CM, FAILED, END_EMPTY, "the CM is out of step"),
		ON(WC_ERROR, RESOLVING_ROUTE, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(QP_ERROR, RESOLVING_ROUTE, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(COMM_EST, RESOLVING_ROUTE, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_CLEAN, RESOLVING_ROUTE, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_FAILED, RESOLVING_ROUTE, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(CALL_FAILED, FAILED, END_EMPTY, "there is no QP to drain"),
		ON(DEADLINE, FAILED, END_EMPTY, "it waited long enough"),
		ON(CMD_ACCEPT, RESOLVING_ROUTE, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, RESOLVING_ROUTE, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, CLOSED, END_EMPTY, "there is no QP to drain"),
		ON(SHUTDOWN, CLOSED, END_EMPTY, "there is no QP to drain"),
	},
	[VBD_CONN_CONNECTING] = {
		ON(NAME_FAILED, CONNECTING, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ADDR_ERROR, DRAINING, DRAIN, "the address is lost"),
		ON(ROUTE_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ROUTE_ERROR, DRAINING, DRAIN, "the path is lost"),
		ON(CONNECT_RESPONSE, ESTABLISHED, GO_RTS, "InfiniBand and RoCE: the peer accepted, the QP is ours to move"),
		ON(CONNECT_ERROR, DRAINING, DRAIN, "the CM gave up"),
		ON(UNREACHABLE, DRAINING, DRAIN, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, DRAINING, DRAIN, "the peer refused, maybe after it had accepted"),
		ON(ESTABLISHED, ESTABLISHED, CONFIRM_IWARP, "iWARP reports this instead of CONNECT_RESPONSE (seen on siw)"),
		ON(DISCONNECTED, DRAINING, DRAIN, "after it the QP is still in RTS (seen on rxe): our side must go down too"),
		ON(DEVICE_REMOVAL, DRAINING, DRAIN, "QP, memory and id must go, or the kernel waits for them"),
		ON(ADDR_CHANGE, CONNECTING, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, CONNECTING, IGNORE, "of an earlier connection with this QP number"),
		ON(UNEXPECTED_CM, DRAINING, DRAIN, "the CM is out of step"),
		ON(WC_ERROR, DRAINING, DRAIN, "the QP is in error with this completion"),
		ON(QP_ERROR, DRAINING, DRAIN, "the device moved the QP to error"),
		ON(COMM_EST, CONNECTING, IGNORE, "only the accepting side waits for the peer's first data"),
		ON(DRAINED_CLEAN, CONNECTING, IGNORE, "nobody asked for a drain"),
		ON(DRAINED_FAILED, CONNECTING, IGNORE, "nobody asked for a drain"),
		ON(CALL_FAILED, DRAINING, DRAIN, "the QP exists: drain it"),
		ON(DEADLINE, DRAINING, DRAIN, "it waited long enough"),
		ON(CMD_ACCEPT, CONNECTING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, CONNECTING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, DRAINING, DRAIN, "a client wants it closed"),
		ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops"),
	},
	[VBD_CONN_REQUESTED] = {
		ON(NAME_FAILED, REQUESTED, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(ADDR_ERROR, FAILED, END_EMPTY, "the address is lost"),
		ON(ROUTE_RESOLVED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(ROUTE_ERROR, FAILED, END_EMPTY, "the path is lost"),
		ON(CONNECT_RESPONSE, FAILED, END_EMPTY, "the CM is out of step"),
		ON(CONNECT_ERROR, FAILED, END_EMPTY, "the CM gave up"),
		ON(UNREACHABLE, FAILED, END_EMPTY, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, FAILED, END_EMPTY, "the peer, or the CM for it, refused"),
		ON(ESTABLISHED, FAILED, END_EMPTY, "the CM is out of step"),
		ON(DISCONNECTED, CLOSED, END_EMPTY, "the peer gave up first"),
		ON(DEVICE_REMOVAL, FAILED, END_EMPTY, "the id must go, or the kernel waits for it"),
		ON(ADDR_CHANGE, REQUESTED, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, REQUESTED, IGNORE, "there was no connection to wait out"),
		ON(UNEXPECTED_CM, FAILED, END_EMPTY, "the CM is out of step"),
		ON(WC_ERROR, REQUESTED, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(QP_ERROR, REQUESTED, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(COMM_EST, REQUESTED, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_CLEAN, REQUESTED, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(DRAINED_FAILED, REQUESTED, IGNORE, "there is no QP yet: nothing of it can be meant"),
		ON(CALL_FAILED, FAILED, END_EMPTY, "there is no QP to drain"),
		ON(DEADLINE, FAILED, REJECT, "nobody decided; the peer need not wait for its own deadline"),
		ON(CMD_ACCEPT, ACCEPTING, ACCEPT, "a client, or the listener's policy, accepted"),
		ON(CMD_REJECT, CLOSED, REJECT, "a client, or the listener's policy, rejected"),
		ON(CMD_CLOSE, CLOSED, REJECT, "closing an undecided request rejects it"),
		ON(SHUTDOWN, CLOSED, REJECT, "tell the peer at once"),
	},
	[VBD_CONN_ACCEPTING] = {
		ON(NAME_FAILED, ACCEPTING, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ADDR_ERROR, DRAINING, DRAIN, "the address is lost"),
		ON(ROUTE_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ROUTE_ERROR, DRAINING, DRAIN, "the path is lost"),
		ON(CONNECT_RESPONSE, DRAINING, DRAIN, "the CM is out of step"),
		ON(CONNECT_ERROR, DRAINING, DRAIN, "the CM gave up"),
		ON(UNREACHABLE, DRAINING, DRAIN, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, DRAINING, DRAIN, "the peer refused, maybe after it had accepted"),
		ON(ESTABLISHED, ESTABLISHED, CONFIRM, "the peer's RTU arrived"),
		ON(DISCONNECTED, DRAINING, DRAIN, "after it the QP is still in RTS (seen on rxe): our side must go down too"),
		ON(DEVICE_REMOVAL, DRAINING, DRAIN, "QP, memory and id must go, or the kernel waits for them"),
		ON(ADDR_CHANGE, ACCEPTING, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, ACCEPTING, IGNORE, "of an earlier connection with this QP number"),
		ON(UNEXPECTED_CM, DRAINING, DRAIN, "the CM is out of step"),
		ON(WC_ERROR, DRAINING, DRAIN, "the QP is in error with this completion"),
		ON(QP_ERROR, DRAINING, DRAIN, "the device moved the QP to error"),
		ON(COMM_EST, ACCEPTING, NOTIFY, "the CM then reports ESTABLISHED without the RTU (rdma_notify(3))"),
		ON(DRAINED_CLEAN, ACCEPTING, IGNORE, "nobody asked for a drain"),
		ON(DRAINED_FAILED, ACCEPTING, IGNORE, "nobody asked for a drain"),
		ON(CALL_FAILED, DRAINING, DRAIN, "the QP exists: drain it"),
		ON(DEADLINE, DRAINING, DRAIN, "it waited long enough"),
		ON(CMD_ACCEPT, ACCEPTING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, ACCEPTING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, DRAINING, DRAIN, "a client wants it closed"),
		ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops"),
	},
	[VBD_CONN_AWAITING_REMOTE] = {
		ON(NAME_FAILED, AWAITING_REMOTE, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ADDR_ERROR, DRAINING, DRAIN, "the address is lost"),
		ON(ROUTE_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ROUTE_ERROR, DRAINING, DRAIN, "the path is lost"),
		ON(CONNECT_RESPONSE, DRAINING, DRAIN, "the CM is out of step"),
		ON(CONNECT_ERROR, DRAINING, DRAIN, "the CM gave up"),
		ON(UNREACHABLE, DRAINING, DRAIN, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, DRAINING, DRAIN, "the peer refused, maybe after it had accepted"),
		ON(ESTABLISHED, DRAINING, DRAIN, "the CM is out of step"),
		ON(DISCONNECTED, DRAINING, DRAIN, "after it the QP is still in RTS (seen on rxe): our side must go down too"),
		ON(DEVICE_REMOVAL, DRAINING, DRAIN, "QP, memory and id must go, or the kernel waits for them"),
		ON(ADDR_CHANGE, AWAITING_REMOTE, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, AWAITING_REMOTE, IGNORE, "of an earlier connection with this QP number"),
		ON(UNEXPECTED_CM, DRAINING, DRAIN, "the CM is out of step"),
		ON(WC_ERROR, DRAINING, DRAIN, "the QP is in error with this completion"),
		ON(QP_ERROR, DRAINING, DRAIN, "the device moved the QP to error"),
		ON(COMM_EST, AWAITING_REMOTE, IGNORE, "only the accepting side waits for the peer's first data"),
		ON(DRAINED_CLEAN, AWAITING_REMOTE, IGNORE, "nobody asked for a drain"),
		ON(DRAINED_FAILED, AWAITING_REMOTE, IGNORE, "nobody asked for a drain"),
		ON(CALL_FAILED, DRAINING, DRAIN, "the QP exists: drain it"),
		ON(DEADLINE, DRAINING, DRAIN, "it waited long enough"),
		ON(CMD_ACCEPT, AWAITING_REMOTE, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, AWAITING_REMOTE, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, DRAINING, DRAIN, "a client wants it closed"),
		ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops"),
	},
	[VBD_CONN_ESTABLISHED] = {
		ON(NAME_FAILED, ESTABLISHED, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ADDR_ERROR, DRAINING, DRAIN, "the address is lost"),
		ON(ROUTE_RESOLVED, DRAINING, DRAIN, "the CM is out of step"),
		ON(ROUTE_ERROR, DRAINING, DRAIN, "the path is lost"),
		ON(CONNECT_RESPONSE, ESTABLISHED, IGNORE, "the peer repeated its reply"),
		ON(CONNECT_ERROR, DRAINING, DRAIN, "the CM gave up"),
		ON(UNREACHABLE, DRAINING, DRAIN, "a neighbour change can report this at any time (kernel cma.c, 6.0)"),
		ON(REJECTED, DRAINING, DRAIN, "the peer refused, maybe after it had accepted"),
		ON(ESTABLISHED, ESTABLISHED, IGNORE, "a second report of the same"),
		ON(DISCONNECTED, DRAINING, DRAIN, "after it the QP is still in RTS (seen on rxe): our side must go down too"),
		ON(DEVICE_REMOVAL, DRAINING, DRAIN, "QP, memory and id must go, or the kernel waits for them"),
		ON(ADDR_CHANGE, ESTABLISHED, IGNORE, "a hint (rdma_get_cm_event(3)); what breaks reports itself"),
		ON(TIMEWAIT_EXIT, ESTABLISHED, IGNORE, "of an earlier connection with this QP number"),
		ON(UNEXPECTED_CM, DRAINING, DRAIN, "the CM is out of step"),
		ON(WC_ERROR, DRAINING, DRAIN, "the QP is in error with this completion"),
		ON(QP_ERROR, DRAINING, DRAIN, "the device moved the QP to error"),
		ON(COMM_EST, ESTABLISHED, IGNORE, "only the accepting side waits for the peer's first data"),
		ON(DRAINED_CLEAN, ESTABLISHED, IGNORE, "nobody asked for a drain"),
		ON(DRAINED_FAILED, ESTABLISHED, IGNORE, "nobody asked for a drain"),
		ON(CALL_FAILED, DRAINING, DRAIN, "the QP exists: drain it"),
		ON(DEADLINE, ESTABLISHED, IGNORE, "an established connection has no deadline: the timer was late"),
		ON(CMD_ACCEPT, ESTABLISHED, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, ESTABLISHED, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, DRAINING, DRAIN, "a client wants it closed"),
		ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops"),
	},
	[VBD_CONN_DRAINING] = {
		ON(NAME_FAILED, DRAINING, IGNORE, "its end is under way already"),
		ON(ADDR_RESOLVED, DRAINING, IGNORE, "its end is under way already"),
		ON(ADDR_ERROR, DRAINING, IGNORE, "its end is under way already"),
		ON(ROUTE_RESOLVED, DRAINING, IGNORE, "its end is under way already"),
		ON(ROUTE_ERROR, DRAINING, IGNORE, "its end is under way already"),
		ON(CONNECT_RESPONSE, DRAINING, IGNORE, "its end is under way already"),
		ON(CONNECT_ERROR, DRAINING, IGNORE, "its end is under way already"),
		ON(UNREACHABLE, DRAINING, IGNORE, "its end is under way already"),
		ON(REJECTED, DRAINING, IGNORE, "its end is under way already"),
		ON(ESTABLISHED, DRAINING, IGNORE, "its end is under way already"),
		ON(DISCONNECTED, DRAINING, IGNORE, "its end is under way already"),
		ON(DEVICE_REMOVAL, DRAINING, IGNORE, "its end is under way already"),
		ON(ADDR_CHANGE, DRAINING, IGNORE, "its end is under way already"),
		ON(TIMEWAIT_EXIT, DRAINING, IGNORE, "its end is under way already"),
		ON(UNEXPECTED_CM, DRAINING, IGNORE, "its end is under way already"),
		ON(WC_ERROR, DRAINING, COUNT, "only the first error is the cause"),
		ON(QP_ERROR, DRAINING, IGNORE, "its end is under way already"),
		ON(COMM_EST, DRAINING, IGNORE, "its end is under way already"),
		ON(DRAINED_CLEAN, CLOSED, FINISH, "every work request is back"),
		ON(DRAINED_FAILED, FAILED, FINISH, "every work request is back"),
		ON(CALL_FAILED, DRAINING, COUNT, "only the first error is the cause"),
		ON(DEADLINE, DRAINING, FORCE, "the flushes do not come: destroy the QP, then sweep the CQ"),
		ON(CMD_ACCEPT, DRAINING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, DRAINING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_CLOSE, DRAINING, IGNORE, "its end is under way already"),
		ON(SHUTDOWN, DRAINING, IGNORE, "its end is under way already"),
	},
	[VBD_CONN_CLOSED] = {
		ON(NAME_FAILED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_RESOLVED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_ERROR, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ROUTE_RESOLVED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ROUTE_ERROR, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CONNECT_RESPONSE, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CONNECT_ERROR, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(UNREACHABLE, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(REJECTED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ESTABLISHED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DISCONNECTED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DEVICE_REMOVAL, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_CHANGE, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(TIMEWAIT_EXIT, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(UNEXPECTED_CM, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(WC_ERROR, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(QP_ERROR, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(COMM_EST, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DRAINED_CLEAN, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DRAINED_FAILED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CALL_FAILED, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DEADLINE, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CMD_ACCEPT, CLOSED, REFUSE, "it is over"),
		ON(CMD_REJECT, CLOSED, REFUSE, "it is over"),
		ON(CMD_CLOSE, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(SHUTDOWN, CLOSED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
	},
	[VBD_CONN_FAILED] = {
		ON(NAME_FAILED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_RESOLVED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_ERROR, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ROUTE_RESOLVED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ROUTE_ERROR, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CONNECT_RESPONSE, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CONNECT_ERROR, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(UNREACHABLE, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(REJECTED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ESTABLISHED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DISCONNECTED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DEVICE_REMOVAL, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(ADDR_CHANGE, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(TIMEWAIT_EXIT, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(UNEXPECTED_CM, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(WC_ERROR, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(QP_ERROR, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(COMM_EST, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DRAINED_CLEAN, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DRAINED_FAILED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CALL_FAILED, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(DEADLINE, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(CMD_ACCEPT, FAILED, REFUSE, "it is over"),
		ON(CMD_REJECT, FAILED, REFUSE, "it is over"),
		ON(CMD_CLOSE, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
		ON(SHUTDOWN, FAILED, IGNORE, "it is over; a late event of it is acknowledged and dropped"),
	},
};
/* clang-format on */

const struct vbd_conn_rule *vbd_conn_rule(enum vbd_conn_state state, enum vbd_conn_event event)
{
	return &rules[state][event];
}

static const struct {
	const char *name;
	const char *waits_for;
	bool terminal;
} states[VBD_CONN_STATE_COUNT] = {
#define VBD_CONN_STATE_ROW(sym, json, terminal, waits) [VBD_CONN_##sym] = {json, waits, terminal},
	VBD_CONN_STATE_MAP(VBD_CONN_STATE_ROW)
#undef VBD_CONN_STATE_ROW
};

const char *vbd_conn_state_name(enum vbd_conn_state state)
{
	return states[state].name;
}

const char *vbd_conn_state_waits_for(enum vbd_conn_state state)
{
	return states[state].waits_for;
}

bool vbd_conn_state_terminal(enum vbd_conn_state state)
{
	return states[state].terminal;
}

const char *vbd_conn_event_name(enum vbd_conn_event event)
{
	static const char *const names[VBD_CONN_EVENT_COUNT] = {
#define VBD_CONN_EVENT_NAME(sym, name) [VBD_CONN_EV_##sym] = name,
		VBD_CONN_EVENT_MAP(VBD_CONN_EVENT_NAME)
#undef VBD_CONN_EVENT_NAME
	};

	return names[event];
}

const char *vbd_conn_action_name(enum vbd_conn_action action)
{
	static const char *const names[VBD_CONN_ACTION_COUNT] = {
#define VBD_CONN_ACTION_NAME(sym, name) [VBD_CONN_DO_##sym] = name,
		VBD_CONN_ACTION_MAP(VBD_CONN_ACTION_NAME)
#undef VBD_CONN_ACTION_NAME
	};

	return names[action];
}
