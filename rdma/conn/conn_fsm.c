/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_fsm.h"

#define ON(event, next, action, note) \
	[VBD_CONN_EV_##event] = {VBD_CONN_##next, VBD_CONN_DO_##action, note}

/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_CONN_EVENT_COUNT] = {VBD_CONN_##next, VBD_CONN_DO_##action, note}

/* clang-format off */
/* The states before there is a queue pair. */
#define NO_QP(state) \
	ON(CONNECT_RESPONSE, FAILED, END_EMPTY, "the CM and this table disagree about the state"), \
	ON(ESTABLISHED, FAILED, END_EMPTY, "the CM and this table disagree about the state"), \
	ON(ADDR_CHANGE, state, IGNORE, "a hint (rdma_get_cm_event(3)); a failure is reported by its own event"), \
	ON(TIMEWAIT_EXIT, state, IGNORE, "there was no connection whose TIMEWAIT could end"), \
	ON(UNEXPECTED_CM, FAILED, END_EMPTY, "the CM and this table disagree about the state"), \
	ON(PREPARED, state, IGNORE, "no memory is registered in this state"), \
	ON(CALL_FAILED, FAILED, END_EMPTY, "there is no QP to drain"), \
	ON(CALL_RETURNED, state, IGNORE, "no call that may block is made in this state"), \
	ON(CMD_MOVE, state, REFUSE, "the CM moves the QP, not a client"), \
	OTHERWISE(state, IGNORE, "there is no QP yet that the event could be about")

/* Only who connects tries again. */
#define NO_TRY(state) \
	ON(TRY_FAILED, state, IGNORE, "nothing is tried in this state"), \
	ON(NEXT_TRY, state, IGNORE, "nothing is tried in this state"), \
	ON(TRIES_OVER, state, IGNORE, "nothing is tried in this state")

/* Another address, or the same one later, may answer. */
#define IN_TRY(state) \
	ON(TRY_FAILED, RETRYING, RETREAT, "another address, or the same one later, may answer"), \
	ON(NEXT_TRY, state, IGNORE, "the try is under way"), \
	ON(TRIES_OVER, state, IGNORE, "the try is under way")

/* Nothing has reached the peer. */
#define NO_REQUEST(state) \
	ON(DEADLINE, FAILED, END_EMPTY, "the deadline has passed"), \
	ON(CMD_ACCEPT, state, REFUSE, "only a requested connection can be accepted or rejected"), \
	ON(CMD_REJECT, state, REFUSE, "only a requested connection can be accepted or rejected"), \
	ON(CMD_CLOSE, CLOSED, END_EMPTY, "there is no QP to drain"), \
	ON(SHUTDOWN, CLOSED, END_EMPTY, "there is no QP to drain")

/* The CM id is all that the CM can report about. */
#define WITH_ID(state) \
	ON(ADDR_ERROR, FAILED, END_EMPTY, "the address is lost"), \
	ON(ROUTE_ERROR, FAILED, END_EMPTY, "the path is lost"), \
	ON(CONNECT_ERROR, FAILED, END_EMPTY, "the CM gave up"), \
	ON(UNREACHABLE, FAILED, END_EMPTY, "a neighbour change can report this at any time (kernel cma.c, 6.0)"), \
	ON(REJECTED, FAILED, END_EMPTY, "the peer, or the CM for it, refused"), \
	ON(DISCONNECTED, CLOSED, END_EMPTY, "the peer disconnected first"), \
	ON(DEVICE_REMOVAL, FAILED, END_EMPTY, "the id must be destroyed, or the kernel waits for it"), \
	ON(BEGIN, state, IGNORE, "it has had its turn, or needed none")

/* A queue pair must drain before the end. */
#define WITH_QP(state) \
	ON(NAME_FAILED, state, IGNORE, "the name was resolved already"), \
	ON(ADDR_RESOLVED, DRAINING, DRAIN, "the CM and this table disagree about the state"), \
	ON(ADDR_ERROR, DRAINING, DRAIN, "the address is lost"), \
	ON(ROUTE_RESOLVED, DRAINING, DRAIN, "the CM and this table disagree about the state"), \
	ON(ROUTE_ERROR, DRAINING, DRAIN, "the path is lost"), \
	ON(CONNECT_ERROR, DRAINING, DRAIN, "the CM gave up"), \
	ON(UNREACHABLE, DRAINING, DRAIN, "a neighbour change can report this at any time (kernel cma.c, 6.0)"), \
	ON(REJECTED, DRAINING, DRAIN, "the peer refused, maybe after it had accepted"), \
	ON(DEVICE_REMOVAL, DRAINING, DRAIN, "QP, memory and id must be freed, or the kernel waits for them"), \
	ON(ADDR_CHANGE, state, IGNORE, "a hint (rdma_get_cm_event(3)); a failure is reported by its own event"), \
	ON(TIMEWAIT_EXIT, state, IGNORE, "the event is about an earlier connection with this QP number"), \
	ON(UNEXPECTED_CM, DRAINING, DRAIN, "the CM and this table disagree about the state"), \
	ON(WC_ERROR, DRAINING, DRAIN, "the QP is in error with this completion"), \
	ON(QP_ERROR, DRAINING, DRAIN, "the device moved the QP to error"), \
	ON(BEGIN, state, IGNORE, "it has had its turn, or needed none"), \
	ON(CALL_FAILED, DRAINING, DRAIN, "the QP exists: drain it"), \
	ON(CMD_ACCEPT, state, REFUSE, "only a requested connection can be accepted or rejected"), \
	ON(CMD_REJECT, state, REFUSE, "only a requested connection can be accepted or rejected"), \
	ON(CMD_CLOSE, DRAINING, DRAIN, "a client closes the connection"), \
	ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops")

/* verbsd or the CM moves the queue pair, unless the bring-up is manual. */
#define MOVED_BY_CM(state) \
	ON(FLUSHED, DRAINING, AWAIT_CAUSE, "the QP failed without a request: a CM event with the cause may follow"), \
	ON(LATE_ERROR, state, IGNORE, "no client moved the QP to ERR"), \
	ON(DRAINED_CLEAN, state, IGNORE, "no drain was requested"), \
	ON(DRAINED_FAILED, state, IGNORE, "no drain was requested")

/* The connection is over. */
#define ENDED(state) \
	ON(BEGIN, state, IGNORE, "it has had its turn, or needed none"), \
	ON(CMD_ACCEPT, state, REFUSE, "it is over"), \
	ON(CMD_REJECT, state, REFUSE, "it is over"), \
	ON(CMD_MOVE, state, REFUSE, "it is over"), \
	OTHERWISE(state, IGNORE, "the connection has ended; late events are acknowledged and dropped")

static const struct vbd_rule rules[VBD_CONN_STATE_COUNT][VBD_CONN_EVENT_COUNT + 1] = {
	[VBD_CONN_QUEUED] = {
		NO_QP(QUEUED),
		NO_TRY(QUEUED),
		NO_REQUEST(QUEUED),
		ON(NAME_FAILED, QUEUED, IGNORE, "no name is resolved in this state"),
		ON(ADDR_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(ADDR_ERROR, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(ROUTE_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(ROUTE_ERROR, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(CONNECT_ERROR, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(UNREACHABLE, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(REJECTED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(DISCONNECTED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(DEVICE_REMOVAL, FAILED, END_EMPTY, "the device that it would use is gone"),
		ON(BEGIN, RESOLVING_ADDR, BEGIN, "there is room among those that connect"),
	},
	[VBD_CONN_RESOLVING_ADDR] = {
		NO_QP(RESOLVING_ADDR),
		NO_REQUEST(RESOLVING_ADDR),
		IN_TRY(RESOLVING_ADDR),
		WITH_ID(RESOLVING_ADDR),
		ON(NAME_FAILED, FAILED, END_EMPTY, "there is no address to resolve"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, RESOLVE_ROUTE, "a device and a neighbour are known"),
		ON(ROUTE_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
	},
	[VBD_CONN_RESOLVING_ROUTE] = {
		NO_QP(RESOLVING_ROUTE),
		NO_REQUEST(RESOLVING_ROUTE),
		IN_TRY(RESOLVING_ROUTE),
		WITH_ID(RESOLVING_ROUTE),
		ON(NAME_FAILED, RESOLVING_ROUTE, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(ROUTE_RESOLVED, CONNECTING, PREPARE, "the path is known"),
	},
	[VBD_CONN_CONNECTING] = {
		WITH_QP(CONNECTING),
		IN_TRY(CONNECTING),
		MOVED_BY_CM(CONNECTING),
		ON(CONNECT_RESPONSE, CONNECTING, GO_RTR, "InfiniBand and RoCE: the peer accepted; verbsd moves the QP"),
		ON(ESTABLISHED, ESTABLISHED, CONFIRM_IWARP, "iWARP reports this instead of CONNECT_RESPONSE (seen on siw)"),
		ON(DISCONNECTED, DRAINING, DRAIN, "the QP is still in RTS after this event (seen on rxe), so this side must drain too"),
		ON(COMM_EST, CONNECTING, IGNORE, "only the accepting side waits for the peer's first data"),
		ON(QP_RTR, ESTABLISHED, GO_RTS, "the peer can be sent to: go on to RTS"),
		ON(QP_UP, CONNECTING, IGNORE, "a client can't move a QP of the CM"),
		ON(QP_DOWN, CONNECTING, IGNORE, "a client can't move a QP of the CM"),
		ON(PREPARED, CONNECTING, CONNECT, "there is room for the messages of the peer"),
		ON(CALL_RETURNED, CONNECTING, IGNORE, "rdma_connect is done; the CM reports the answer"),
		ON(DEADLINE, DRAINING, DRAIN, "the deadline has passed"),
		ON(CMD_MOVE, CONNECTING, REFUSE, "the CM moves the QP, not a client"),
	},
	[VBD_CONN_RETRYING] = {
		ON(DRAINED_CLEAN, RETRYING, REST, "nothing of the try is outstanding"),
		ON(DRAINED_FAILED, RETRYING, REST, "nothing of the try is outstanding"),
		ON(NEXT_TRY, RESOLVING_ADDR, TRY, "nothing of the try before is left"),
		ON(TRIES_OVER, DRAINING, DRAIN, "the deadline comes before another try could"),
		ON(BEGIN, RETRYING, IGNORE, "it has had its turn, or needed none"),
		ON(CALL_RETURNED, RETRYING, RETREAT, "the retreat waited, since no other call may use the id or the QP meanwhile"),
		ON(DEADLINE, RETRYING, FORCE, "the flushes do not come: destroy the QP, then purge the CQ"),
		ON(DEVICE_REMOVAL, RETRYING, IGNORE, "the try gives its device back anyway, and the next one may use another"),
		ON(CMD_ACCEPT, RETRYING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, RETRYING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_MOVE, RETRYING, REFUSE, "the CM moves the QP, not a client"),
		ON(CMD_CLOSE, DRAINING, DRAIN, "a client closes the connection"),
		ON(SHUTDOWN, DRAINING, DRAIN, "the daemon stops"),
		OTHERWISE(RETRYING, IGNORE, "the event is about a try that has failed already"),
	},
	[VBD_CONN_REQUESTED] = {
		NO_QP(REQUESTED),
		NO_TRY(REQUESTED),
		WITH_ID(REQUESTED),
		ON(NAME_FAILED, REQUESTED, IGNORE, "the name was resolved already"),
		ON(ADDR_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(ROUTE_RESOLVED, FAILED, END_EMPTY, "the CM and this table disagree about the state"),
		ON(DEADLINE, FAILED, REJECT, "no client decided in time; reject, so that the peer need not wait for its own deadline"),
		ON(CMD_ACCEPT, ACCEPTING, PREPARE, "a client, or the listener with policy auto, accepted the request"),
		ON(CMD_REJECT, CLOSED, REJECT, "a client rejected the request"),
		ON(CMD_CLOSE, CLOSED, REJECT, "closing an undecided request rejects it"),
		ON(SHUTDOWN, CLOSED, REJECT, "tell the peer at once"),
	},
	[VBD_CONN_ACCEPTING] = {
		WITH_QP(ACCEPTING),
		NO_TRY(ACCEPTING),
		MOVED_BY_CM(ACCEPTING),
		ON(CONNECT_RESPONSE, DRAINING, DRAIN, "the CM and this table disagree about the state"),
		ON(ESTABLISHED, ESTABLISHED, CONFIRM, "the peer's RTU arrived"),
		ON(DISCONNECTED, DRAINING, DRAIN, "the QP is still in RTS after this event (seen on rxe), so this side must drain too"),
		ON(COMM_EST, ACCEPTING, NOTIFY, "the CM then reports ESTABLISHED without the RTU (rdma_notify(3))"),
		ON(QP_RTR, ACCEPTING, ACCEPT, "the QP can receive, which an accepted peer relies on"),
		ON(QP_UP, ACCEPTING, IGNORE, "a client can't move a QP of the CM"),
		ON(QP_DOWN, ACCEPTING, IGNORE, "a client can't move a QP of the CM"),
		ON(PREPARED, ACCEPTING, BRING_UP, "there is room for the messages of the peer"),
		ON(CALL_RETURNED, ACCEPTING, IGNORE, "no call that may block is made in this state"),
		ON(DEADLINE, DRAINING, DRAIN, "the deadline has passed"),
		ON(CMD_MOVE, ACCEPTING, REFUSE, "the CM moves the QP, not a client"),
	},
	[VBD_CONN_AWAITING_REMOTE] = {
		WITH_QP(AWAITING_REMOTE),
		NO_TRY(AWAITING_REMOTE),
		ON(CONNECT_RESPONSE, DRAINING, DRAIN, "the CM and this table disagree about the state"),
		ON(ESTABLISHED, DRAINING, DRAIN, "the CM and this table disagree about the state"),
		ON(DISCONNECTED, DRAINING, DRAIN, "the QP is still in RTS after this event (seen on rxe), so this side must drain too"),
		ON(FLUSHED, DRAINING, DRAIN, "the QP failed without a request"),
		ON(LATE_ERROR, AWAITING_REMOTE, IGNORE, "work that a deliberate ERR aborts is not a failure"),
		ON(COMM_EST, AWAITING_REMOTE, IGNORE, "the peer already sends, which is expected in RTR"),
		ON(DRAINED_CLEAN, AWAITING_REMOTE, PARKED, "the work of a QP that a client moved to ERR has completed"),
		ON(DRAINED_FAILED, AWAITING_REMOTE, PARKED, "the work of a QP that a client moved to ERR has completed"),
		ON(QP_RTR, AWAITING_REMOTE, IGNORE, "the move has its own report"),
		ON(QP_UP, ESTABLISHED, CONFIRM, "the QP is in RTS: data can move"),
		ON(QP_DOWN, AWAITING_REMOTE, PARK, "the QP is in ERR: collect its flushes, keep the rest"),
		ON(PREPARED, AWAITING_REMOTE, OPEN, "there is room for the messages of the peer"),
		ON(CALL_RETURNED, AWAITING_REMOTE, IGNORE, "the move has its own report"),
		ON(DEADLINE, DRAINING, DRAIN, "the deadline has passed"),
		ON(CMD_MOVE, AWAITING_REMOTE, MOVE_QP, "a client takes the QP to its next state"),
	},
	[VBD_CONN_ESTABLISHED] = {
		WITH_QP(ESTABLISHED),
		NO_TRY(ESTABLISHED),
		MOVED_BY_CM(ESTABLISHED),
		ON(CONNECT_RESPONSE, ESTABLISHED, IGNORE, "the peer repeated its reply"),
		ON(ESTABLISHED, ESTABLISHED, IGNORE, "a second report of the same"),
		ON(DISCONNECTED, DRAINING, AWAIT_ERROR, "the QP is still in RTS after this event (seen on rxe), so this side must drain too; the answer to a request may come after it"),
		ON(COMM_EST, ESTABLISHED, IGNORE, "only the accepting side waits for the peer's first data"),
		ON(QP_RTR, ESTABLISHED, IGNORE, "the QP of an established connection was in RTR long ago"),
		ON(QP_UP, ESTABLISHED, IGNORE, "it is in RTS again, from SQD"),
		ON(QP_DOWN, AWAITING_REMOTE, PARK, "the QP is in ERR: collect its flushes, keep the rest"),
		ON(PREPARED, ESTABLISHED, IGNORE, "no memory is registered in this state"),
		ON(CALL_RETURNED, ESTABLISHED, IGNORE, "the event of the CM was faster than the return of rdma_connect"),
		ON(DEADLINE, ESTABLISHED, IGNORE, "an established connection has no deadline; the timer fired late"),
		ON(CMD_MOVE, ESTABLISHED, MOVE_QP, "a client takes the QP to its next state"),
	},
	[VBD_CONN_DRAINING] = {
		ON(CONNECT_ERROR, DRAINING, NAME_CAUSE, "iWARP flushes the QP before it reports that there is no connection (seen on siw)"),
		ON(UNREACHABLE, DRAINING, NAME_CAUSE, "iWARP flushes the QP before it reports that there is no connection (seen on siw)"),
		ON(REJECTED, DRAINING, NAME_CAUSE, "iWARP flushes the QP before it reports that there is no connection (seen on siw)"),
		ON(DISCONNECTED, DRAINING, NAME_CAUSE, "iWARP flushes the QP before it reports the peer's disconnect (siw_cm.c, 6.1)"),
		ON(DEVICE_REMOVAL, DRAINING, NAME_CAUSE, "a device that goes may flush first"),
		ON(WC_ERROR, DRAINING, COUNT, "only the first error is the cause"),
		ON(DRAINED_CLEAN, CLOSED, FINISH, "every work request is back"),
		ON(DRAINED_FAILED, FAILED, FINISH, "every work request is back"),
		ON(BEGIN, DRAINING, IGNORE, "it has had its turn, or needed none"),
		ON(CALL_FAILED, DRAINING, COUNT, "only the first error is the cause"),
		ON(CALL_RETURNED, DRAINING, GO_ON, "the drain waited, since no other call may use the id or the QP meanwhile"),
		ON(DEADLINE, DRAINING, FORCE, "the flushes do not come: destroy the QP, then purge the CQ"),
		ON(CMD_ACCEPT, DRAINING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_REJECT, DRAINING, REFUSE, "only a requested connection can be accepted or rejected"),
		ON(CMD_MOVE, DRAINING, REFUSE, "the end has already begun"),
		OTHERWISE(DRAINING, IGNORE, "the end has already begun"),
	},
	[VBD_CONN_CLOSED] = {
		ENDED(CLOSED),
	},
	[VBD_CONN_FAILED] = {
		ENDED(FAILED),
	},
};
/* clang-format on */

VBD_RULES(vbd_conn_rule, enum vbd_conn_state, enum vbd_conn_event, rules)

VBD_ENUM_NAMES(vbd_conn_state_name, enum vbd_conn_state, VBD_CONN_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_conn_state_terminal, enum vbd_conn_state, VBD_CONN_STATE_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_conn_state_waits_for, enum vbd_conn_state, VBD_CONN_STATE_MAP, 4)
VBD_ENUM_NAMES(vbd_conn_event_name, enum vbd_conn_event, VBD_CONN_EVENT_MAP)
VBD_ENUM_COLUMN(const char *, vbd_conn_event_text, enum vbd_conn_event, VBD_CONN_EVENT_MAP, 3)
VBD_ENUM_NAMES(vbd_conn_action_name, enum vbd_conn_action, VBD_CONN_ACTION_MAP)
