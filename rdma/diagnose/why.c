/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/why.h"

#include "rdma/names/names.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* clang-format off */
/* A row of each kind: its symbol, which completes the constant of the library, causes and hint. */
#define CM_EVENT(sym, ...)     {VBD_WHY_CM_EVENT, RDMA_CM_EVENT_##sym, #sym, __VA_ARGS__}
#define IB_REJECT(sym, ...)    {VBD_WHY_IB_REJECT, sym, #sym, __VA_ARGS__}
#define IWARP_REJECT(sym, ...) {VBD_WHY_IWARP_REJECT, sym, #sym, __VA_ARGS__}
#define WC_STATUS(sym, ...)    {VBD_WHY_WC_STATUS, IBV_WC_##sym, #sym, __VA_ARGS__}
#define ASYNC_EVENT(sym, ...)  {VBD_WHY_ASYNC_EVENT, IBV_EVENT_##sym, #sym, __VA_ARGS__}
#define QP_STATE(sym, ...)     {VBD_WHY_QP_STATE, IBV_QPS_##sym, #sym, __VA_ARGS__}

#define ALTERNATE_PATH \
	"the peer does not accept the alternate path", "Connect without an alternate path."

static const struct row {
	enum vbd_why_kind kind;
	int number;
	const char *symbol; /* the name, for a kind without a table of names */
	const char *causes;
	const char *hint;
} rows[] = {
	CM_EVENT(ADDR_RESOLVED,
		"the neighbour answered ARP or ND, and the interface belongs to an RDMA device",
		"Nothing: resolving the route is next."),
	CM_EVENT(ADDR_ERROR,
		"no host on the local network has that address; the route leaves by an interface without RDMA; a VLAN or a cable is missing",
		"Ping the address from the device's interface (see `ip neigh` and `ip route get ADDR`); `rdma link` lists the interfaces with RDMA."),
	CM_EVENT(ROUTE_RESOLVED,
		"a path was found, on RoCE from the GID table, on InfiniBand from the subnet manager",
		"Nothing: the connect request is next."),
	CM_EVENT(ROUTE_ERROR,
		"InfiniBand: the subnet manager does not answer or knows no path; RoCE: no GID matches the source address, for example that of the loopback",
		"InfiniBand: check that a subnet manager runs (`sminfo`) and that both ports are active; RoCE: compare /v1/devices with the source address."),
	CM_EVENT(CONNECT_REQUEST,
		"a peer sent a connect request to one of the listeners",
		"Nothing; where the listener's policy is manual, accept or reject the request."),
	CM_EVENT(CONNECT_RESPONSE,
		"the peer accepted",
		"Nothing: verbsd moves the QP to RTS and confirms."),
	CM_EVENT(CONNECT_ERROR,
		"the CM could not send or parse a message; the peer's confirmation did not arrive; the peer accepted with parameters that don't fit",
		"See the call before this event in the timeline, and the kernel log of both hosts."),
	CM_EVENT(UNREACHABLE,
		"the host has the address, but no RDMA CM answers there; a firewall drops UDP port 4791; the path loses packets; on an established connection, the peer" VBD_TEXT_ADDRESS_TAKEN("") "; on the side that accepted, the peer" VBD_TEXT_NOT_CONFIRMED,
		"Check `rdma link` on the peer, and that UDP 4791 (RoCE v2) passes both ways. On an established connection: " VBD_HINT_ADDRESS_TAKEN " On the side that accepted: " VBD_HINT_NOT_CONFIRMED),
	CM_EVENT(REJECTED,
		"no program listens on that port; the program there refused; the parameters don't fit",
		"The reject reason in the event says which: run `verbsctl glossary show` with its name."),
	CM_EVENT(ESTABLISHED,
		"both sides are ready to send",
		"Nothing."),
	CM_EVENT(DISCONNECTED,
		"the peer's program closed the connection or ended; the peer's QP failed; this side closed the connection",
		"If this was not expected, see the log or the verbsd of the peer."),
	CM_EVENT(DEVICE_REMOVAL,
		"the driver was unloaded, the link deleted, or the card removed or reset",
		"Add the device again; verbsd detects it automatically. Connections must be opened anew."),
	CM_EVENT(MULTICAST_JOIN,
		"the subnet manager (InfiniBand) or the network device (RoCE) accepted the membership",
		"Nothing."),
	CM_EVENT(MULTICAST_ERROR,
		"InfiniBand: the subnet manager refused, or the group does not exist and could not be created; RoCE: the interface can't join the group",
		"Check that the address is a multicast address and that the endpoint's interface can carry it."),
	CM_EVENT(ADDR_CHANGE,
		"a bond failed over, or the interface changed its hardware address",
		"Nothing while data moves; if it stops, connect again."),
	CM_EVENT(TIMEWAIT_EXIT,
		"the time has passed in which late packets of the connection could arrive",
		"Nothing."),
	IB_REJECT(IB_CM_REJ_NO_QP,
		"the peer's program or device had no queue pair left",
		"Raise the peer's limits (`rdma resource`, the rdma cgroup), or close connections there."),
	IB_REJECT(IB_CM_REJ_NO_EEC,
		"the peer has no end-to-end context, which only reliable datagrams need",
		"An RC connection should never get this: check the software of the peer."),
	IB_REJECT(IB_CM_REJ_NO_RESOURCES,
		"the peer's device or kernel ran out of memory or of objects",
		"See the peer's kernel log and `rdma resource`."),
	IB_REJECT(IB_CM_REJ_TIMEOUT,
		"the peer's program did not accept or reject in time; the confirmation was lost",
		"Check that the peer's program is alive and calls rdma_accept."),
	IB_REJECT(IB_CM_REJ_UNSUPPORTED,
		"the peer's CM does not know this kind of request",
		"Compare the software of both hosts."),
	IB_REJECT(IB_CM_REJ_INVALID_COMM_ID,
		"one side no longer has the connection, for example after a restart",
		"Connect again."),
	IB_REJECT(IB_CM_REJ_INVALID_COMM_INSTANCE,
		"the two sides disagree about the connection's state, for example after a restart",
		"Connect again."),
	IB_REJECT(IB_CM_REJ_INVALID_SERVICE_ID,
		"no program listens on that port; the listener is bound to another address or device",
		"Start the listener on the peer, and check the port number. `rdma resource show cm_id` there lists the listeners of all programs."),
	IB_REJECT(IB_CM_REJ_INVALID_TRANSPORT_TYPE,
		"the peer expects another transport, for example UC or UD instead of RC",
		"Use the same transport on both sides."),
	IB_REJECT(IB_CM_REJ_STALE_CONN,
		"the peer still has a connection with this queue pair number, from before a crash or restart of this side",
		"Connect again: with this answer the peer's CM drops the old connection."),
	IB_REJECT(IB_CM_REJ_RDC_NOT_EXIST,
		"the peer has no reliable datagram channel",
		"An RC connection should never get this: check the software of the peer."),
	IB_REJECT(IB_CM_REJ_INVALID_GID,
		"the peer can't reach this side's GID, for example because one side uses RoCE v1 and the other v2",
		"Compare type and scope of the GIDs of both sides in /v1/devices."),
	IB_REJECT(IB_CM_REJ_INVALID_LID,
		"the subnet was reconfigured between the path lookup and the request",
		"Connect again."),
	IB_REJECT(IB_CM_REJ_INVALID_SL,
		"the service level is not allowed on the peer's port",
		"Use another ToS, or ask the administrator of the subnet."),
	IB_REJECT(IB_CM_REJ_INVALID_TRAFFIC_CLASS,
		"the traffic class is not allowed on the peer's port",
		"Use another ToS."),
	IB_REJECT(IB_CM_REJ_INVALID_HOP_LIMIT,
		"the peer does not accept the hop limit of the request",
		"Compare the GID types of both sides."),
	IB_REJECT(IB_CM_REJ_INVALID_PACKET_RATE,
		"the peer's port is slower than the requested rate",
		"See the link speeds of both ports."),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_GID, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_LID, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_SL, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_HOP_LIMIT, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_PACKET_RATE, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_PORT_CM_REDIRECT,
		"the peer's CM redirects the request to another port",
		"rdma_cm does not follow a redirection: ask the peer's administrator for the right address."),
	IB_REJECT(IB_CM_REJ_PORT_REDIRECT,
		"the peer wants the connection on another of its ports",
		"Connect to the address of that port."),
	IB_REJECT(IB_CM_REJ_INVALID_MTU,
		"the peer's port has a smaller MTU than the path",
		"Give both interfaces the same MTU (`ip link`): the request has that of the interface here, whatever path_mtu_bytes is."),
	IB_REJECT(IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES,
		"the peer can't serve so many outstanding reads and atomics",
		"Lower initiator_depth."),
	IB_REJECT(IB_CM_REJ_CONSUMER_DEFINED,
		"the peer's program refused: its listener has policy reject, its user rejected the request or did not decide in time, a limit is reached, or the private data was not accepted; or the program listens on that port at another address of its host only",
		"See the log or the verbsd of the peer, and the private data of its answer; without any, see at which address the program listens (`rdma resource show cm_id` there)."),
	IB_REJECT(IB_CM_REJ_INVALID_RNR_RETRY,
		"the peer does not accept the RNR retry count",
		"Use another rnr_retry."),
	IB_REJECT(IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID,
		"the same request was sent again after a restart",
		"Connect again."),
	IB_REJECT(IB_CM_REJ_INVALID_CLASS_VERSION,
		"the peer's CM uses another protocol version",
		"Compare the software of both hosts."),
	IB_REJECT(IB_CM_REJ_INVALID_FLOW_LABEL,
		"the peer does not accept the flow label",
		"Connect again; the device may pick another flow label."),
	IB_REJECT(IB_CM_REJ_INVALID_ALT_FLOW_LABEL, ALTERNATE_PATH),
	IB_REJECT(IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED,
		"the peer's device does not support an enhanced connection option that this device offered",
		"Connect again without that option; rdma_cm usually does so automatically."),
	IWARP_REJECT(ECONNREFUSED,
		"no program listens on that TCP port; the program there refused",
		"Start the listener on the peer, and check the port number."),
	IWARP_REJECT(ECONNRESET,
		"the peer's TCP or MPA closed in the middle of the handshake; something other than an iWARP listener answers there",
		"Check that the peer's port belongs to an iWARP listener, not to an ordinary TCP server."),
	IWARP_REJECT(ETIMEDOUT,
		"the peer's host does not answer; a firewall drops the TCP port",
		"Check the address and the firewall."),
	IWARP_REJECT(EPROTO,
		"this device does not accept the peer's MPA reply, for example because of another MPA revision",
		"Compare the MPA settings (CRC, markers, revision) of both sides."),
	WC_STATUS(SUCCESS,
		"the operation is done",
		"Nothing."),
	WC_STATUS(LOC_LEN_ERR,
		"the peer's message was longer than the receive here; a send was longer than the port allows",
		"Raise recv_size_bytes on the receiving side."),
	WC_STATUS(LOC_QP_OP_ERR,
		"the QP can't execute the work request; on Soft-RoCE also a wrong local key, or a message longer than the receive here",
		"Check the posted work request: opcode, memory and QP state. On Soft-RoCE also compare recv_size_bytes here with the length of the peer's message."),
	WC_STATUS(LOC_EEC_OP_ERR,
		"only reliable datagrams report this, and no device implements them",
		"See the vendor_err."),
	WC_STATUS(LOC_PROT_ERR,
		"the local memory is not registered, was deregistered, or belongs to another protection domain",
		"Check the buffer's state and protection domain."),
	WC_STATUS(WR_FLUSH_ERR,
		"the QP was in the error state before this request was executed: another failure came first, or the connection was closed",
		"A flush is a consequence: look for the cause in an earlier error here or at the peer."),
	WC_STATUS(MW_BIND_ERR,
		"the window's range or access goes beyond its buffer; the buffer does not allow windows",
		"Create the buffer with access mw_bind, and with the access that the window shall grant."),
	WC_STATUS(BAD_RESP_ERR,
		"the peer's device answered with an unexpected opcode",
		"Check firmware and driver of both devices; see the vendor_err."),
	WC_STATUS(LOC_ACCESS_ERR,
		"the local memory does not allow the peer's RDMA write, or the data of a read",
		"Check the buffer's access."),
	WC_STATUS(REM_INV_REQ_ERR,
		"the message is longer than the peer's receive; the peer's QP does not allow the operation; an atomic is not aligned to 8 bytes; too many reads are outstanding",
		"Compare the length with recv_size_bytes of the peer; lower initiator_depth."),
	WC_STATUS(REM_ACCESS_ERR,
		"a wrong or old rkey; a range past the end of the peer's buffer; an access that the peer did not grant; a revoked window; another protection domain",
		"Get address, rkey and length from the peer again, and compare its access flags with the operation."),
	WC_STATUS(REM_OP_ERR,
		"the peer's device failed during the operation; on Soft-RoCE also a message longer than the peer's receive",
		"See the first error of the peer's connection, and its kernel log. On Soft-RoCE also raise recv_size_bytes at the peer."),
	WC_STATUS(RETRY_EXC_ERR,
		"the peer's host is down or its QP is gone; the path is cut or loses packets; a wrong GID, MTU or PSN; on Soft-RoCE also a peer that has no receive posted",
		"Ping the peer; compare GID type and MTU of both sides. The failure is noticed after at least ACK timeout x (retry_count + 1); both can be set."),
	WC_STATUS(RNR_RETRY_EXC_ERR,
		"the receiver posts receives more slowly than this side sends",
		"Give the receiver more receives (rq_depth), delete its messages faster, or set rnr_retry to 7 here, which waits for ever."),
	WC_STATUS(LOC_RDD_VIOL_ERR,
		"only reliable datagrams report this, and no device implements them",
		"See the vendor_err."),
	WC_STATUS(REM_INV_RD_REQ_ERR,
		"only reliable datagrams report this, and no device implements them",
		"See the vendor_err."),
	WC_STATUS(REM_ABORT_ERR,
		"the peer's device aborted the operation",
		"See the peer's kernel log."),
	WC_STATUS(INV_EECN_ERR,
		"only reliable datagrams report this, and no device implements them",
		"See the vendor_err."),
	WC_STATUS(INV_EEC_STATE_ERR,
		"only reliable datagrams report this, and no device implements them",
		"See the vendor_err."),
	WC_STATUS(FATAL_ERR,
		"the device failed",
		"See the kernel log; reset the device."),
	WC_STATUS(RESP_TIMEOUT_ERR,
		"the peer did not answer an atomic or a read in time",
		"The same as for IBV_WC_RETRY_EXC_ERR."),
	WC_STATUS(GENERAL_ERR,
		"a device error without a more specific status",
		"Look the vendor_err up in the vendor's documentation."),
	WC_STATUS(TM_ERR,
		"tag matching failed, which verbsd does not use",
		"See the vendor_err."),
	WC_STATUS(TM_RNDV_INCOMPLETE,
		"tag matching failed, which verbsd does not use",
		"See the vendor_err."),
	ASYNC_EVENT(CQ_ERR,
		"the completion queue overran; the device failed",
		"verbsd never posts more work than fits, so check the device; see the kernel log."),
	ASYNC_EVENT(QP_FATAL,
		"the device failed and could not report a completion",
		"See the kernel log."),
	ASYNC_EVENT(QP_REQ_ERR,
		"the peer sent a request that this QP does not allow",
		"Check the requests that the peer posts."),
	ASYNC_EVENT(QP_ACCESS_ERR,
		"the peer used a wrong rkey, range or access",
		"Give the peer the current address and rkey; check the buffer's access."),
	ASYNC_EVENT(COMM_EST,
		"the peer's first data arrived before its confirmation",
		"Nothing: verbsd notifies the CM."),
	ASYNC_EVENT(SQ_DRAINED,
		"the QP was moved to SQD and its outstanding sends are complete",
		"Nothing."),
	ASYNC_EVENT(PATH_MIG,
		"the path failed and an alternate one was armed",
		"Repair the first path."),
	ASYNC_EVENT(PATH_MIG_ERR,
		"the path failed and the alternate one could not be used",
		"Repair either path."),
	ASYNC_EVENT(DEVICE_FATAL,
		"the device failed, was reset or is being removed",
		"See the kernel log; verbsd detects the device when it is back."),
	ASYNC_EVENT(PORT_ACTIVE,
		"the link came up",
		"Nothing."),
	ASYNC_EVENT(PORT_ERR,
		"the cable, switch or interface is down",
		"Check the link (`ip link`, `ibstat`): connections survive a short outage within their retries."),
	ASYNC_EVENT(LID_CHANGE,
		"the subnet manager gave the port another LID",
		"Connections with the old LID time out: connect again."),
	ASYNC_EVENT(PKEY_CHANGE,
		"the subnet manager changed the partitions",
		"If connections fail, compare the partitions of both ports."),
	ASYNC_EVENT(SM_CHANGE,
		"another subnet manager took over",
		"Nothing, unless it happens often."),
	ASYNC_EVENT(SRQ_ERR,
		"a shared receive queue failed in the device",
		"See the kernel log."),
	ASYNC_EVENT(SRQ_LIMIT_REACHED,
		"fewer receives are posted than the queue's limit",
		"Nothing: verbsd posts receives again. If the event comes often, create a deeper queue."),
	ASYNC_EVENT(QP_LAST_WQE_REACHED,
		"a QP on a shared receive queue is in the error state and takes no more receives",
		"Nothing: it is part of the QP's end."),
	ASYNC_EVENT(CLIENT_REREGISTER,
		"the subnet manager restarted",
		"Nothing: the kernel joins multicast groups again."),
	ASYNC_EVENT(GID_CHANGE,
		"an interface gained or lost an address",
		"Connections that use the old GID fail: connect again from an address that the interface has now."),
	ASYNC_EVENT(WQ_FATAL,
		"a work queue failed in the device",
		"See the kernel log."),
	QP_STATE(RESET,
		"the QP was created, or was reset",
		"INIT is next. Nothing can be posted."),
	QP_STATE(INIT,
		"port, partition key and access are set",
		"Receives can be posted. RTR is next; it needs the peer's QP number and path."),
	QP_STATE(RTR,
		"the peer is known, and the QP receives",
		"RTS is next; it needs timeouts and retries. An accepting side waits here for the peer's confirmation."),
	QP_STATE(RTS,
		"the QP sends and receives",
		"Nothing."),
	QP_STATE(SQD,
		"a client asked the send queue to drain, for example before a change of attributes",
		"Posted sends wait; move the QP to RTS to send them."),
	QP_STATE(SQE,
		"a send of an unreliable QP failed; it still receives",
		"Move the QP to RTS to send again."),
	QP_STATE(ERR,
		"a completion failed, the connection ended, or a client asked for this state",
		"All posted work is flushed. Open a new connection, or move a QP that is brought up by hand to RESET."),
};

/* The hints of problems are in base/status.h. */
static const char *const problem_causes[VBD_STATUS_COUNT] = {
	[VBD_E_PEER_DISCONNECT] =
		"the peer's program closed the connection or ended",
	[VBD_E_LOCAL_CLOSE] =
		"a client asked this verbsd to close the connection",
	[VBD_E_CANCELLED] =
		"a client cancelled the operation; what the device holds of it ends only with its queue pair",
	[VBD_E_STOPPING] =
		"this verbsd was stopped",
	[VBD_E_DAEMON_DIED] =
		"verbsd crashed, was killed, or its host lost power; the peer has seen the connection break",
	[VBD_E_REJECTED] =
		"no program listens on that port; the program there refused",
	[VBD_E_REJECTED_LOCALLY] =
		"a client of this verbsd rejected the request, or nobody accepted it in time",
	[VBD_E_UNREACHABLE] =
		"the host answers ARP or ND, but no RDMA CM answers there; a firewall drops UDP 4791; on an established connection, the peer" VBD_TEXT_ADDRESS_TAKEN("") "; on the side that accepted, the peer" VBD_TEXT_NOT_CONFIRMED,
	[VBD_E_NAME_NOT_RESOLVED] =
		"the name is misspelt; no resolver answers; the name has no address of that family",
	[VBD_E_ADDR_ERROR] =
		"no neighbour has that address; the route leaves by an interface without RDMA",
	[VBD_E_ROUTE_ERROR] =
		"InfiniBand: the subnet manager does not answer; RoCE: no GID matches the source address, for example that of the loopback",
	[VBD_E_CONNECT_ERROR] =
		"the CM's handshake failed before it was complete",
	[VBD_E_TIMED_OUT] =
		"the peer is slow or does not answer; timeout_ms is too short",
	[VBD_E_RETRY_EXCEEDED] =
		"the peer's host or the path to it failed",
	[VBD_E_PEER_SILENT] =
		"the peer's host is down, hangs or is cut off; its queue pair is gone without a word",
	[VBD_E_RNR_EXCEEDED] =
		"the receiver is slower than this sender",
	[VBD_E_REMOTE_ACCESS] =
		"a wrong or old rkey; a range past the end; an access that was not granted; a revoked window",
	[VBD_E_REMOTE_OPERATION] =
		"the peer's device failed; the peer does not speak the service's protocol; on Soft-RoCE also a message longer than the peer's receive",
	[VBD_E_REMOTE_INVALID] =
		"a message longer than the peer's receive; an operation that the peer's QP does not allow",
	[VBD_E_LOCAL_ERROR] =
		"memory that is deregistered or of another protection domain; a receive that was too short",
	[VBD_E_DEVICE_REMOVED] =
		"the driver was unloaded, the link deleted, the card removed or reset",
	[VBD_E_QP_FATAL] =
		"the device here refused a request of the peer (a wrong rkey, a range past the end, an access that was not granted); the device failed the QP",
	[VBD_E_RESOURCE_ERROR] =
		"the device, the memory or a limit is exhausted",
	[VBD_E_PROTOCOL_ERROR] =
		"a defect of the kernel, of a driver, or of verbsd",
};
/* clang-format on */

static const char *iwarp_reject_name(int number)
{
	return vbd_cm_reject_name(-number);
}

static const struct {
	const char *(*name)(int number); /* NULL: the symbol */
	const char *(*detail)(int number);
} kinds[] = {
	[VBD_WHY_CM_EVENT] = {vbd_cm_event_name, vbd_cm_event_text},
	[VBD_WHY_IB_REJECT] = {NULL, vbd_cm_reject_name},
	[VBD_WHY_IWARP_REJECT] = {NULL, iwarp_reject_name},
	[VBD_WHY_WC_STATUS] = {vbd_wc_status_name, vbd_wc_status_text},
	[VBD_WHY_ASYNC_EVENT] = {vbd_async_event_name, vbd_async_event_text},
	[VBD_WHY_QP_STATE] = {NULL, vbd_qp_state_text},
};

bool vbd_why_at(size_t i, struct vbd_why *ret_why)
{
	enum vbd_status status = (enum vbd_status)(i + 1 - VBD_ARRAY_LEN(rows));

	if (i < VBD_ARRAY_LEN(rows))
		*ret_why = (struct vbd_why){
			.kind = rows[i].kind,
			.number = rows[i].number,
			.name = kinds[rows[i].kind].name ? kinds[rows[i].kind].name(rows[i].number)
							 : rows[i].symbol,
			.detail = kinds[rows[i].kind].detail(rows[i].number),
			.causes = rows[i].causes,
			.hint = rows[i].hint,
		};
	else if (status < VBD_STATUS_COUNT)
		*ret_why = (struct vbd_why){
			.kind = VBD_WHY_PROBLEM,
			.number = (int)status,
			.name = vbd_status_code(status),
			.detail = vbd_status_text(status),
			.causes = problem_causes[status] ? problem_causes[status] : "",
			.hint = vbd_status_hint(status),
		};
	else
		return false;
	return true;
}

bool vbd_why_find(enum vbd_why_kind kind, int number, struct vbd_why *ret_why)
{
	size_t i = 0;

	if (kind == VBD_WHY_PROBLEM)
		return number && vbd_why_at(VBD_ARRAY_LEN(rows) + (size_t)number - 1, ret_why);
	while (i < VBD_ARRAY_LEN(rows) && (rows[i].kind != kind || rows[i].number != number))
		i++;
	return i < VBD_ARRAY_LEN(rows) && vbd_why_at(i, ret_why);
}

bool vbd_why_find_reject(int status, struct vbd_why *ret_why)
{
	return status < 0 ? vbd_why_find(VBD_WHY_IWARP_REJECT, -status, ret_why)
			  : vbd_why_find(VBD_WHY_IB_REJECT, status, ret_why);
}

bool vbd_why_find_error(const struct vbd_error *error, struct vbd_why *ret_why)
{
	switch (error->source) {
	case VBD_SOURCE_CM_EVENT:
		return (error->kind == RDMA_CM_EVENT_REJECTED &&
			       vbd_why_find_reject((int)error->raw, ret_why)) ||
		       vbd_why_find(VBD_WHY_CM_EVENT, error->kind, ret_why);
	case VBD_SOURCE_WC:
		return vbd_why_find(VBD_WHY_WC_STATUS, error->kind, ret_why);
	case VBD_SOURCE_ASYNC:
		return vbd_why_find(VBD_WHY_ASYNC_EVENT, error->kind, ret_why);
	case VBD_SOURCE_NONE:
	case VBD_SOURCE_ERRNO:
	case VBD_SOURCE_GAI:
	case VBD_SOURCE_DEADLINE:
	case VBD_SOURCE_INPUT:
		break; /* calls, the resolver and deadlines have no rows */
	}
	return false;
}

const char *vbd_why_reject_name(const struct vbd_error *error)
{
	struct vbd_why why;

	if (error->source != VBD_SOURCE_CM_EVENT || error->status != VBD_E_REJECTED)
		return NULL;
	return vbd_why_find_reject((int)error->raw, &why) ? why.name : NULL;
}

const char *vbd_why_hint(const struct vbd_error *error)
{
	struct vbd_why why;

	if (error->hint)
		return error->hint;
	return vbd_why_find_error(error, &why) ? why.hint : vbd_status_hint(error->status);
}
