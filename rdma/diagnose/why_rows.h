/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of rdma/diagnose/why.c: causes and hints. The texts are too long for one line of code,
 * so each row is a macro call of its own.
 *
 * X(KIND, SYMBOL, causes, hint). The kind completes SYMBOL to the constant of the library.
 * PROBLEM(SYMBOL, causes): a status, which has its hint in base/status.h.
 */
#ifndef VBD_RDMA_DIAGNOSE_WHY_ROWS_H
#define VBD_RDMA_DIAGNOSE_WHY_ROWS_H

#include "rdma/names/names.h"

/* clang-format off */
#define VBD_WHY_ALTERNATE_PATH \
	"the peer does not accept the alternate path", "Connect without an alternate path."

#define VBD_WHY_MAP(X, PROBLEM) \
	X(CM_EVENT, ADDR_RESOLVED, \
		"the neighbour answered ARP or ND, and the interface belongs to an RDMA device", \
		"Nothing: resolving the route is next.") \
	X(CM_EVENT, ADDR_ERROR, \
		"no host on the local network has that address; the route leaves by an interface without RDMA; a VLAN or a cable is missing", \
		"Ping the address from the device's interface (see `ip neigh` and `ip route get ADDR`); `rdma link` lists the interfaces with RDMA.") \
	X(CM_EVENT, ROUTE_RESOLVED, \
		"a path was found, on RoCE from the GID table, on InfiniBand from the subnet manager", \
		"Nothing: the connect request is next.") \
	X(CM_EVENT, ROUTE_ERROR, \
		"InfiniBand: the subnet manager does not answer or knows no path; RoCE: no GID matches the source address, for example that of the loopback", \
		"InfiniBand: check that a subnet manager runs (`sminfo`) and that both ports are active; RoCE: compare /v1/devices with the source address.") \
	X(CM_EVENT, CONNECT_REQUEST, \
		"a peer sent a connect request to one of the listeners", \
		"Nothing; where the listener's policy is manual, accept or reject the request.") \
	X(CM_EVENT, CONNECT_RESPONSE, \
		"the peer accepted", \
		"Nothing: verbsd moves the QP to RTS and confirms.") \
	X(CM_EVENT, CONNECT_ERROR, \
		"the CM could not send or parse a message; the peer's confirmation did not arrive; the peer accepted with parameters that don't fit", \
		"See the call before this event in the timeline, and the kernel log of both hosts.") \
	X(CM_EVENT, UNREACHABLE, \
		"the host has the address, but no RDMA CM answers there; a firewall drops UDP port 4791; the path loses packets; on an established connection, the peer" VBD_TEXT_ADDRESS_TAKEN("") "; on the side that accepted, the peer" VBD_TEXT_NOT_CONFIRMED, \
		"Check `rdma link` on the peer, and that UDP 4791 (RoCE v2) passes both ways. On an established connection: " VBD_HINT_ADDRESS_TAKEN " On the side that accepted: " VBD_HINT_NOT_CONFIRMED) \
	X(CM_EVENT, REJECTED, \
		"no program listens on that port; the program there refused; the parameters don't fit", \
		"The reject reason in the event says which: run `verbsctl glossary show` with its name.") \
	X(CM_EVENT, ESTABLISHED, \
		"both sides are ready to send", \
		"Nothing.") \
	X(CM_EVENT, DISCONNECTED, \
		"the peer's program closed the connection or ended; the peer's QP failed; this side closed the connection", \
		"If this was not expected, see the log or the verbsd of the peer.") \
	X(CM_EVENT, DEVICE_REMOVAL, \
		"the driver was unloaded, the link deleted, or the card removed or reset", \
		"Add the device again; verbsd detects it automatically. Connections must be opened anew.") \
	X(CM_EVENT, MULTICAST_JOIN, \
		"the subnet manager (InfiniBand) or the network device (RoCE) accepted the membership", \
		"Nothing.") \
	X(CM_EVENT, MULTICAST_ERROR, \
		"InfiniBand: the subnet manager refused, or the group does not exist and could not be created; RoCE: the interface can't join the group", \
		"Check that the address is a multicast address and that the endpoint's interface can carry it.") \
	X(CM_EVENT, ADDR_CHANGE, \
		"a bond failed over, or the interface changed its hardware address", \
		"Nothing while data moves; if it stops, connect again.") \
	X(CM_EVENT, TIMEWAIT_EXIT, \
		"the time has passed in which late packets of the connection could arrive", \
		"Nothing.") \
	X(IB_REJECT, IB_CM_REJ_NO_QP, \
		"the peer's program or device had no queue pair left", \
		"Raise the peer's limits (`rdma resource`, the rdma cgroup), or close connections there.") \
	X(IB_REJECT, IB_CM_REJ_NO_EEC, \
		"the peer has no end-to-end context, which only reliable datagrams need", \
		"An RC connection should never get this: check the software of the peer.") \
	X(IB_REJECT, IB_CM_REJ_NO_RESOURCES, \
		"the peer's device or kernel ran out of memory or of objects", \
		"See the peer's kernel log and `rdma resource`.") \
	X(IB_REJECT, IB_CM_REJ_TIMEOUT, \
		"the peer's program did not accept or reject in time; the confirmation was lost", \
		"Check that the peer's program is alive and calls rdma_accept.") \
	X(IB_REJECT, IB_CM_REJ_UNSUPPORTED, \
		"the peer's CM does not know this kind of request", \
		"Compare the software of both hosts.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_COMM_ID, \
		"one side no longer has the connection, for example after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_COMM_INSTANCE, \
		"the two sides disagree about the connection's state, for example after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_SERVICE_ID, \
		"no program listens on that port; the listener is bound to another address or device", \
		"Start the listener on the peer, and check the port number. `rdma resource show cm_id` there lists the listeners of all programs.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_TRANSPORT_TYPE, \
		"the peer expects another transport, for example UC or UD instead of RC", \
		"Use the same transport on both sides.") \
	X(IB_REJECT, IB_CM_REJ_STALE_CONN, \
		"the peer still has a connection with this queue pair number, from before a crash or restart of this side", \
		"Connect again: with this answer the peer's CM drops the old connection.") \
	X(IB_REJECT, IB_CM_REJ_RDC_NOT_EXIST, \
		"the peer has no reliable datagram channel", \
		"An RC connection should never get this: check the software of the peer.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_GID, \
		"the peer can't reach this side's GID, for example because one side uses RoCE v1 and the other v2", \
		"Compare type and scope of the GIDs of both sides in /v1/devices.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_LID, \
		"the subnet was reconfigured between the path lookup and the request", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_SL, \
		"the service level is not allowed on the peer's port", \
		"Use another ToS, or ask the administrator of the subnet.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_TRAFFIC_CLASS, \
		"the traffic class is not allowed on the peer's port", \
		"Use another ToS.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_HOP_LIMIT, \
		"the peer does not accept the hop limit of the request", \
		"Compare the GID types of both sides.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_PACKET_RATE, \
		"the peer's port is slower than the requested rate", \
		"See the link speeds of both ports.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_GID, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_LID, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_SL, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_HOP_LIMIT, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_PACKET_RATE, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_PORT_CM_REDIRECT, \
		"the peer's CM redirects the request to another port", \
		"rdma_cm does not follow a redirection: ask the peer's administrator for the right address.") \
	X(IB_REJECT, IB_CM_REJ_PORT_REDIRECT, \
		"the peer wants the connection on another of its ports", \
		"Connect to the address of that port.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_MTU, \
		"the peer's port has a smaller MTU than the path", \
		"Give both interfaces the same MTU (`ip link`): the request has that of the interface here, whatever path_mtu_bytes is.") \
	X(IB_REJECT, IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES, \
		"the peer can't serve so many outstanding reads and atomics", \
		"Lower initiator_depth.") \
	X(IB_REJECT, IB_CM_REJ_CONSUMER_DEFINED, \
		"the peer's program refused: its listener has policy reject, its user rejected the request or did not decide in time, a limit is reached, or the private data was not accepted; or the program listens on that port at another address of its host only", \
		"See the log or the verbsd of the peer, and the private data of its answer; without any, see at which address the program listens (`rdma resource show cm_id` there).") \
	X(IB_REJECT, IB_CM_REJ_INVALID_RNR_RETRY, \
		"the peer does not accept the RNR retry count", \
		"Use another rnr_retry.") \
	X(IB_REJECT, IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID, \
		"the same request was sent again after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_CLASS_VERSION, \
		"the peer's CM uses another protocol version", \
		"Compare the software of both hosts.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_FLOW_LABEL, \
		"the peer does not accept the flow label", \
		"Connect again; the device may pick another flow label.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_FLOW_LABEL, VBD_WHY_ALTERNATE_PATH) \
	X(IB_REJECT, IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, \
		"the peer's device does not support an enhanced connection option that this device offered", \
		"Connect again without that option; rdma_cm usually does so automatically.") \
	X(IWARP_REJECT, ECONNREFUSED, \
		"no program listens on that TCP port; the program there refused", \
		"Start the listener on the peer, and check the port number.") \
	X(IWARP_REJECT, ECONNRESET, \
		"the peer's TCP or MPA closed in the middle of the handshake; something other than an iWARP listener answers there", \
		"Check that the peer's port belongs to an iWARP listener, not to an ordinary TCP server.") \
	X(IWARP_REJECT, ETIMEDOUT, \
		"the peer's host does not answer; a firewall drops the TCP port", \
		"Check the address and the firewall.") \
	X(IWARP_REJECT, EPROTO, \
		"this device does not accept the peer's MPA reply, for example because of another MPA revision", \
		"Compare the MPA settings (CRC, markers, revision) of both sides.") \
	X(WC_STATUS, SUCCESS, \
		"the operation is done", \
		"Nothing.") \
	X(WC_STATUS, LOC_LEN_ERR, \
		"the peer's message was longer than the receive here; a send was longer than the port allows", \
		"Raise recv_size_bytes on the receiving side.") \
	X(WC_STATUS, LOC_QP_OP_ERR, \
		"the QP can't execute the work request; on Soft-RoCE also a wrong local key, or a message longer than the receive here", \
		"Check the posted work request: opcode, memory and QP state. On Soft-RoCE also compare recv_size_bytes here with the length of the peer's message.") \
	X(WC_STATUS, LOC_EEC_OP_ERR, \
		"only reliable datagrams report this, and no device implements them", \
		"See the vendor_err.") \
	X(WC_STATUS, LOC_PROT_ERR, \
		"the local memory is not registered, was deregistered, or belongs to another protection domain", \
		"Check the buffer's state and protection domain.") \
	X(WC_STATUS, WR_FLUSH_ERR, \
		"the QP was in the error state before this request was executed: another failure came first, or the connection was closed", \
		"A flush is a consequence: look for the cause in an earlier error here or at the peer.") \
	X(WC_STATUS, MW_BIND_ERR, \
		"the window's range or access goes beyond its buffer; the buffer does not allow windows", \
		"Create the buffer with access mw_bind, and with the access that the window shall grant.") \
	X(WC_STATUS, BAD_RESP_ERR, \
		"the peer's device answered with an unexpected opcode", \
		"Check firmware and driver of both devices; see the vendor_err.") \
	X(WC_STATUS, LOC_ACCESS_ERR, \
		"the local memory does not allow the peer's RDMA write, or the data of a read", \
		"Check the buffer's access.") \
	X(WC_STATUS, REM_INV_REQ_ERR, \
		"the message is longer than the peer's receive; the peer's QP does not allow the operation; an atomic is not aligned to 8 bytes; too many reads are outstanding", \
		"Compare the length with recv_size_bytes of the peer; lower initiator_depth.") \
	X(WC_STATUS, REM_ACCESS_ERR, \
		"a wrong or old rkey; a range past the end of the peer's buffer; an access that the peer did not grant; a revoked window; another protection domain", \
		"Get address, rkey and length from the peer again, and compare its access flags with the operation.") \
	X(WC_STATUS, REM_OP_ERR, \
		"the peer's device failed during the operation; on Soft-RoCE also a message longer than the peer's receive", \
		"See the first error of the peer's connection, and its kernel log. On Soft-RoCE also raise recv_size_bytes at the peer.") \
	X(WC_STATUS, RETRY_EXC_ERR, \
		"the peer's host is down or its QP is gone; the path is cut or loses packets; a wrong GID, MTU or PSN; on Soft-RoCE also a peer that has no receive posted", \
		"Ping the peer; compare GID type and MTU of both sides. The failure is noticed after at least ACK timeout x (retry_count + 1); both can be set.") \
	X(WC_STATUS, RNR_RETRY_EXC_ERR, \
		"the receiver posts receives more slowly than this side sends", \
		"Give the receiver more receives (rq_depth), delete its messages faster, or set rnr_retry to 7 here, which waits for ever.") \
	X(WC_STATUS, LOC_RDD_VIOL_ERR, \
		"only reliable datagrams report this, and no device implements them", \
		"See the vendor_err.") \
	X(WC_STATUS, REM_INV_RD_REQ_ERR, \
		"only reliable datagrams report this, and no device implements them", \
		"See the vendor_err.") \
	X(WC_STATUS, REM_ABORT_ERR, \
		"the peer's device aborted the operation", \
		"See the peer's kernel log.") \
	X(WC_STATUS, INV_EECN_ERR, \
		"only reliable datagrams report this, and no device implements them", \
		"See the vendor_err.") \
	X(WC_STATUS, INV_EEC_STATE_ERR, \
		"only reliable datagrams report this, and no device implements them", \
		"See the vendor_err.") \
	X(WC_STATUS, FATAL_ERR, \
		"the device failed", \
		"See the kernel log; reset the device.") \
	X(WC_STATUS, RESP_TIMEOUT_ERR, \
		"the peer did not answer an atomic or a read in time", \
		"The same as for IBV_WC_RETRY_EXC_ERR.") \
	X(WC_STATUS, GENERAL_ERR, \
		"a device error without a more specific status", \
		"Look the vendor_err up in the vendor's documentation.") \
	X(WC_STATUS, TM_ERR, \
		"tag matching failed, which verbsd does not use", \
		"See the vendor_err.") \
	X(WC_STATUS, TM_RNDV_INCOMPLETE, \
		"tag matching failed, which verbsd does not use", \
		"See the vendor_err.") \
	X(ASYNC_EVENT, CQ_ERR, \
		"the completion queue overran; the device failed", \
		"verbsd never posts more work than fits, so check the device; see the kernel log.") \
	X(ASYNC_EVENT, QP_FATAL, \
		"the device failed and could not report a completion", \
		"See the kernel log.") \
	X(ASYNC_EVENT, QP_REQ_ERR, \
		"the peer sent a request that this QP does not allow", \
		"Check the requests that the peer posts.") \
	X(ASYNC_EVENT, QP_ACCESS_ERR, \
		"the peer used a wrong rkey, range or access", \
		"Give the peer the current address and rkey; check the buffer's access.") \
	X(ASYNC_EVENT, COMM_EST, \
		"the peer's first data arrived before its confirmation", \
		"Nothing: verbsd notifies the CM.") \
	X(ASYNC_EVENT, SQ_DRAINED, \
		"the QP was moved to SQD and its outstanding sends are complete", \
		"Nothing.") \
	X(ASYNC_EVENT, PATH_MIG, \
		"the path failed and an alternate one was armed", \
		"Repair the first path.") \
	X(ASYNC_EVENT, PATH_MIG_ERR, \
		"the path failed and the alternate one could not be used", \
		"Repair either path.") \
	X(ASYNC_EVENT, DEVICE_FATAL, \
		"the device failed, was reset or is being removed", \
		"See the kernel log; verbsd detects the device when it is back.") \
	X(ASYNC_EVENT, PORT_ACTIVE, \
		"the link came up", \
		"Nothing.") \
	X(ASYNC_EVENT, PORT_ERR, \
		"the cable, switch or interface is down", \
		"Check the link (`ip link`, `ibstat`): connections survive a short outage within their retries.") \
	X(ASYNC_EVENT, LID_CHANGE, \
		"the subnet manager gave the port another LID", \
		"Connections with the old LID time out: connect again.") \
	X(ASYNC_EVENT, PKEY_CHANGE, \
		"the subnet manager changed the partitions", \
		"If connections fail, compare the partitions of both ports.") \
	X(ASYNC_EVENT, SM_CHANGE, \
		"another subnet manager took over", \
		"Nothing, unless it happens often.") \
	X(ASYNC_EVENT, SRQ_ERR, \
		"a shared receive queue failed in the device", \
		"See the kernel log.") \
	X(ASYNC_EVENT, SRQ_LIMIT_REACHED, \
		"fewer receives are posted than the queue's limit", \
		"Nothing: verbsd posts receives again. If the event comes often, create a deeper queue.") \
	X(ASYNC_EVENT, QP_LAST_WQE_REACHED, \
		"a QP on a shared receive queue is in the error state and takes no more receives", \
		"Nothing: it is part of the QP's end.") \
	X(ASYNC_EVENT, CLIENT_REREGISTER, \
		"the subnet manager restarted", \
		"Nothing: the kernel joins multicast groups again.") \
	X(ASYNC_EVENT, GID_CHANGE, \
		"an interface gained or lost an address", \
		"Connections that use the old GID fail: connect again from an address that the interface has now.") \
	X(ASYNC_EVENT, WQ_FATAL, \
		"a work queue failed in the device", \
		"See the kernel log.") \
	X(QP_STATE, RESET, \
		"the QP was created, or was reset", \
		"INIT is next. Nothing can be posted.") \
	X(QP_STATE, INIT, \
		"port, partition key and access are set", \
		"Receives can be posted. RTR is next; it needs the peer's QP number and path.") \
	X(QP_STATE, RTR, \
		"the peer is known, and the QP receives", \
		"RTS is next; it needs timeouts and retries. An accepting side waits here for the peer's confirmation.") \
	X(QP_STATE, RTS, \
		"the QP sends and receives", \
		"Nothing.") \
	X(QP_STATE, SQD, \
		"a client asked the send queue to drain, for example before a change of attributes", \
		"Posted sends wait; move the QP to RTS to send them.") \
	X(QP_STATE, SQE, \
		"a send of an unreliable QP failed; it still receives", \
		"Move the QP to RTS to send again.") \
	X(QP_STATE, ERR, \
		"a completion failed, the connection ended, or a client asked for this state", \
		"All posted work is flushed. Open a new connection, or move a QP that is brought up by hand to RESET.") \
	PROBLEM(PEER_DISCONNECT, \
		"the peer's program closed the connection or ended") \
	PROBLEM(LOCAL_CLOSE, \
		"a client asked this verbsd to close the connection") \
	PROBLEM(CANCELLED, \
		"a client cancelled the operation; what the device holds of it ends only with its queue pair") \
	PROBLEM(STOPPING, \
		"this verbsd was stopped") \
	PROBLEM(DAEMON_DIED, \
		"verbsd crashed, was killed, or its host lost power; the peer has seen the connection break") \
	PROBLEM(REJECTED, \
		"no program listens on that port; the program there refused") \
	PROBLEM(REJECTED_LOCALLY, \
		"a client of this verbsd rejected the request, or nobody accepted it in time") \
	PROBLEM(UNREACHABLE, \
		"the host answers ARP or ND, but no RDMA CM answers there; a firewall drops UDP 4791; on an established connection, the peer" VBD_TEXT_ADDRESS_TAKEN("") "; on the side that accepted, the peer" VBD_TEXT_NOT_CONFIRMED) \
	PROBLEM(NAME_NOT_RESOLVED, \
		"the name is misspelt; no resolver answers; the name has no address of that family") \
	PROBLEM(ADDR_ERROR, \
		"no neighbour has that address; the route leaves by an interface without RDMA") \
	PROBLEM(ROUTE_ERROR, \
		"InfiniBand: the subnet manager does not answer; RoCE: no GID matches the source address, for example that of the loopback") \
	PROBLEM(CONNECT_ERROR, \
		"the CM's handshake failed before it was complete") \
	PROBLEM(TIMED_OUT, \
		"the peer is slow or does not answer; timeout_ms is too short") \
	PROBLEM(RETRY_EXCEEDED, \
		"the peer's host or the path to it failed") \
	PROBLEM(PEER_SILENT, \
		"the peer's host is down, hangs or is cut off; its queue pair is gone without a word") \
	PROBLEM(RNR_EXCEEDED, \
		"the receiver is slower than this sender") \
	PROBLEM(REMOTE_ACCESS, \
		"a wrong or old rkey; a range past the end; an access that was not granted; a revoked window") \
	PROBLEM(REMOTE_OPERATION, \
		"the peer's device failed; the peer does not speak the service's protocol; on Soft-RoCE also a message longer than the peer's receive") \
	PROBLEM(REMOTE_INVALID, \
		"a message longer than the peer's receive; an operation that the peer's QP does not allow") \
	PROBLEM(LOCAL_ERROR, \
		"memory that is deregistered or of another protection domain; a receive that was too short") \
	PROBLEM(DEVICE_REMOVED, \
		"the driver was unloaded, the link deleted, the card removed or reset") \
	PROBLEM(QP_FATAL, \
		"the device here refused a request of the peer (a wrong rkey, a range past the end, an access that was not granted); the device failed the QP") \
	PROBLEM(RESOURCE_ERROR, \
		"the device, the memory or a limit is exhausted") \
	PROBLEM(PROTOCOL_ERROR, \
		"a defect of the kernel, of a driver, or of verbsd")
/* clang-format on */

#endif
