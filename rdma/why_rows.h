/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of rdma/why.c: what mostly causes it, and what to do. One line of text each would be too
 * long for a line of code, so a row is a macro call of its own.
 *
 * X(KIND, SYMBOL, causes, advice). SYMBOL is completed to the library's or our constant by the
 * kind.
 */
#ifndef VBD_RDMA_WHY_ROWS_H
#define VBD_RDMA_WHY_ROWS_H

/* clang-format off */
#define VBD_WHY_MAP(X) \
	X(CM_EVENT, ADDR_RESOLVED, \
		"the neighbour answered ARP or ND, and the interface belongs to an RDMA device", \
		"Nothing: the route comes next.") \
	X(CM_EVENT, ADDR_ERROR, \
		"no host has that address on the local network; the route leaves by an interface without RDMA; a VLAN or a cable is missing", \
		"Ping the address from the interface that the device belongs to (`ip neigh`, `ip route get ADDR`); see which interfaces have RDMA with `rdma link`.") \
	X(CM_EVENT, ROUTE_RESOLVED, \
		"a path was found, on RoCE from the GID table, on InfiniBand from the subnet manager", \
		"Nothing: the connect request comes next.") \
	X(CM_EVENT, ROUTE_ERROR, \
		"InfiniBand: the subnet manager does not answer or knows no path; RoCE: no GID matches the source address", \
		"InfiniBand: check that a subnet manager runs (`sminfo`) and that both ports are active; RoCE: compare /v1/devices with the source address.") \
	X(CM_EVENT, CONNECT_REQUEST, \
		"a peer sent a connect request to one of the listeners", \
		"Nothing, or accept or reject it where the listener's policy is manual.") \
	X(CM_EVENT, CONNECT_RESPONSE, \
		"the peer accepted", \
		"Nothing: verbsd moves the QP to RTS and confirms.") \
	X(CM_EVENT, CONNECT_ERROR, \
		"the CM could not send or make sense of a message; the peer's confirmation did not come; the peer accepted with parameters that don't fit", \
		"Look at the timeline for the call before it, and at the kernel log of both hosts.") \
	X(CM_EVENT, UNREACHABLE, \
		"the host has the address but no RDMA CM answers there; a firewall drops UDP port 4791; the path loses packets", \
		"Check `rdma link` on the peer, and that UDP 4791 (RoCE v2) passes both ways.") \
	X(CM_EVENT, REJECTED, \
		"nobody listens on that port; the program there refused; the parameters don't fit", \
		"The reason behind it says which: explain its name.") \
	X(CM_EVENT, ESTABLISHED, \
		"both sides are ready to send", \
		"Nothing.") \
	X(CM_EVENT, DISCONNECTED, \
		"the peer's program closed or ended; the peer's QP failed; this side closed", \
		"If it was not expected, the peer's log or its verbsd says why it hung up.") \
	X(CM_EVENT, DEVICE_REMOVAL, \
		"the driver was unloaded, the link deleted, or the card removed or reset", \
		"Add the device again; verbsd takes it up by itself, connections must be made anew.") \
	X(CM_EVENT, MULTICAST_JOIN, \
		"the subnet manager (InfiniBand) or the network device (RoCE) took the membership", \
		"Nothing.") \
	X(CM_EVENT, MULTICAST_ERROR, \
		"InfiniBand: the subnet manager refused, or the group does not exist and could not be made; RoCE: the membership was not possible on that interface", \
		"Check that the address is a multicast one and that the endpoint's interface carries it.") \
	X(CM_EVENT, ADDR_CHANGE, \
		"a bond failed over, or the interface changed its hardware address", \
		"Nothing while data moves; if it stops, connect again.") \
	X(CM_EVENT, TIMEWAIT_EXIT, \
		"the time in which late packets of the connection could arrive is over", \
		"Nothing.") \
	X(IB_REJECT, IB_CM_REJ_NO_QP, \
		"the peer's program or device had no queue pair left", \
		"Raise the peer's limits (`rdma resource`, the rdma cgroup), or close connections there.") \
	X(IB_REJECT, IB_CM_REJ_NO_EEC, \
		"the peer has no end-to-end context, which only reliable datagrams would need", \
		"Nothing sends this to an RC connection: check what runs on the peer.") \
	X(IB_REJECT, IB_CM_REJ_NO_RESOURCES, \
		"the peer's device or kernel ran out of memory or of objects", \
		"See the peer's kernel log and `rdma resource`.") \
	X(IB_REJECT, IB_CM_REJ_TIMEOUT, \
		"the peer's program did not decide in time; the confirmation was lost", \
		"Check that the peer's program is alive and calls rdma_accept.") \
	X(IB_REJECT, IB_CM_REJ_UNSUPPORTED, \
		"the peer's CM does not know this kind of request", \
		"Compare the software of both hosts.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_COMM_ID, \
		"one side has forgotten the connection already, as after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_COMM_INSTANCE, \
		"the two sides are out of step, as after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_SERVICE_ID, \
		"nobody listens on that port; the listener is bound to another address or device; its backlog was full", \
		"Start the listener on the peer, and check the port number. `rdma resource show cm_id` there lists who listens, of any program.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_TRANSPORT_TYPE, \
		"the peer expects another transport than this one, as UC or UD instead of RC", \
		"Make both sides agree.") \
	X(IB_REJECT, IB_CM_REJ_STALE_CONN, \
		"the peer still has a connection with this queue pair number, from before a crash or restart of this side", \
		"Connect again: the peer's CM drops the old one when it says this.") \
	X(IB_REJECT, IB_CM_REJ_RDC_NOT_EXIST, \
		"the peer has no reliable datagram channel", \
		"Nothing sends this to an RC connection: check what runs on the peer.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_GID, \
		"the peer can't reach the GID that this side named as its own, as with RoCE v1 on one side and v2 on the other", \
		"Compare type and scope of the GIDs of both sides in /v1/devices.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_LID, \
		"the subnet was reconfigured between the path lookup and the request", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_SL, \
		"the service level is not allowed on the peer's port", \
		"Use another ToS, or ask who runs the subnet manager.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_TRAFFIC_CLASS, \
		"the traffic class is not allowed on the peer's port", \
		"Use another ToS.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_HOP_LIMIT, \
		"the hop limit in the request is none the peer takes", \
		"Compare the GID types of both sides.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_PACKET_RATE, \
		"the peer's port is slower than the rate asked for", \
		"See the link speeds of both ports.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_GID, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_LID, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_SL, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_HOP_LIMIT, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_PACKET_RATE, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_PORT_CM_REDIRECT, \
		"the peer's CM wants to be asked at another port", \
		"rdma_cm does not follow a redirection: connect to the address that the peer's administrator names.") \
	X(IB_REJECT, IB_CM_REJ_PORT_REDIRECT, \
		"the peer wants the connection on another of its ports", \
		"Connect to the address of that port.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_MTU, \
		"the peer's port has a smaller MTU than the path says", \
		"Lower path_mtu_bytes, or give both interfaces the same MTU.") \
	X(IB_REJECT, IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES, \
		"the peer can't serve so many outstanding reads and atomics", \
		"Lower initiator_depth.") \
	X(IB_REJECT, IB_CM_REJ_CONSUMER_DEFINED, \
		"the program there said no: a listener with policy reject, a manual one that was told to reject or whose deadline passed, a full limit, or private data it did not like", \
		"The peer's log or its verbsd says why; its private data may as well.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_RNR_RETRY, \
		"the peer does not take the RNR retry count", \
		"Use another rnr_retry.") \
	X(IB_REJECT, IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID, \
		"a request was repeated after a restart", \
		"Connect again.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_CLASS_VERSION, \
		"the peer's CM speaks another version", \
		"Compare the software of both hosts.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_FLOW_LABEL, \
		"the peer does not take the flow label", \
		"Connect again; a device that picks other labels may pass.") \
	X(IB_REJECT, IB_CM_REJ_INVALID_ALT_FLOW_LABEL, \
		"the peer does not take the alternate path", \
		"Connect without an alternate path.") \
	X(IB_REJECT, IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, \
		"the peer's device does not know an enhanced connection option that this one offered", \
		"Connect again without it; rdma_cm mostly does by itself.") \
	X(IWARP_REJECT, ECONNREFUSED, \
		"nobody listens on that TCP port; the program there refused", \
		"Start the listener on the peer, and check the port number.") \
	X(IWARP_REJECT, ECONNRESET, \
		"the peer's TCP or MPA closed in the middle of the handshake; something other than an iWARP listener answers there", \
		"Check that the peer's port belongs to an iWARP listener, not to an ordinary TCP server.") \
	X(IWARP_REJECT, ETIMEDOUT, \
		"the peer's host does not answer; a firewall drops the TCP port", \
		"Check the address and the firewall.") \
	X(IWARP_REJECT, EPROTO, \
		"the peer's answer is no MPA reply that this device takes, as with another MPA revision", \
		"Compare the MPA settings (CRC, markers, revision) of both sides.") \
	X(WC_STATUS, SUCCESS, \
		"the operation is done", \
		"Nothing.") \
	X(WC_STATUS, LOC_LEN_ERR, \
		"the peer's message was longer than the receive here; a send was longer than the port allows", \
		"Raise recv_size_bytes on the receiving side.") \
	X(WC_STATUS, LOC_QP_OP_ERR, \
		"a work request the QP can't do; rxe reports a wrong local key like this", \
		"Look at what was posted: the opcode, its memory and the QP's state.") \
	X(WC_STATUS, LOC_EEC_OP_ERR, \
		"only reliable datagrams, which nobody builds, report this", \
		"See the vendor_err.") \
	X(WC_STATUS, LOC_PROT_ERR, \
		"the local memory is not registered, was deregistered, or belongs to another protection domain", \
		"Check the buffer's state and protection domain.") \
	X(WC_STATUS, WR_FLUSH_ERR, \
		"the QP was in error before this request's turn: another failure came first, or the connection was closed", \
		"Look at first_error: a flush is never the cause.") \
	X(WC_STATUS, MW_BIND_ERR, \
		"the window's range or access goes beyond its buffer; the buffer does not allow windows", \
		"Create the buffer with mw_bind, and with what the window is to grant.") \
	X(WC_STATUS, BAD_RESP_ERR, \
		"the peer's device answered with an opcode nobody asked for", \
		"Suspect firmware or driver of either device; see the vendor_err.") \
	X(WC_STATUS, LOC_ACCESS_ERR, \
		"an RDMA write of the peer, or the data of a read, may not go to this memory", \
		"Check the buffer's access.") \
	X(WC_STATUS, REM_INV_REQ_ERR, \
		"the message did not fit into the peer's receive; the operation is not allowed on the peer's QP; an atomic was not aligned to 8 bytes; too many reads were outstanding", \
		"Compare the lengths with the peer's receives; lower initiator_depth.") \
	X(WC_STATUS, REM_ACCESS_ERR, \
		"a wrong or old rkey; a range past the end of the peer's buffer; an access the peer did not grant; a window that was revoked; another protection domain", \
		"Ask the peer for address, rkey and length anew, and compare its access flags with the operation.") \
	X(WC_STATUS, REM_OP_ERR, \
		"the peer's device failed while it did the operation", \
		"See the peer's kernel log and its own first error.") \
	X(WC_STATUS, RETRY_EXC_ERR, \
		"the peer's host is down or its QP is gone; the path is cut or loses packets; a wrong GID, MTU or PSN; on Soft-RoCE also a peer without receives", \
		"Ping the peer, compare GID type and MTU of both sides. It took ACK timeout x (retry_count + 1) at least to notice: both can be set.") \
	X(WC_STATUS, RNR_RETRY_EXC_ERR, \
		"the receiver posts receives more slowly than this side sends", \
		"More or faster receives there (rq_depth, delete messages), or rnr_retry 7 here, which waits for ever.") \
	X(WC_STATUS, LOC_RDD_VIOL_ERR, \
		"only reliable datagrams, which nobody builds, report this", \
		"See the vendor_err.") \
	X(WC_STATUS, REM_INV_RD_REQ_ERR, \
		"only reliable datagrams, which nobody builds, report this", \
		"See the vendor_err.") \
	X(WC_STATUS, REM_ABORT_ERR, \
		"the peer's device gave the operation up", \
		"See the peer's kernel log.") \
	X(WC_STATUS, INV_EECN_ERR, \
		"only reliable datagrams, which nobody builds, report this", \
		"See the vendor_err.") \
	X(WC_STATUS, INV_EEC_STATE_ERR, \
		"only reliable datagrams, which nobody builds, report this", \
		"See the vendor_err.") \
	X(WC_STATUS, FATAL_ERR, \
		"the device failed", \
		"See the kernel log; reset the device.") \
	X(WC_STATUS, RESP_TIMEOUT_ERR, \
		"the peer did not answer an atomic or a read in time", \
		"As with IBV_WC_RETRY_EXC_ERR.") \
	X(WC_STATUS, GENERAL_ERR, \
		"an error of the device that has no other name", \
		"See the vendor_err in the maker's documentation.") \
	X(WC_STATUS, TM_ERR, \
		"tag matching failed, which verbsd does not use", \
		"See the vendor_err.") \
	X(WC_STATUS, TM_RNDV_INCOMPLETE, \
		"tag matching failed, which verbsd does not use", \
		"See the vendor_err.") \
	X(ASYNC_EVENT, CQ_ERR, \
		"more completions than the queue holds; a failure of the device", \
		"verbsd admits no more than fit, so suspect the device; see the kernel log.") \
	X(ASYNC_EVENT, QP_FATAL, \
		"the device could not even report a completion in error", \
		"See the kernel log.") \
	X(ASYNC_EVENT, QP_REQ_ERR, \
		"the peer sent a request that this QP does not allow", \
		"See what the peer posted.") \
	X(ASYNC_EVENT, QP_ACCESS_ERR, \
		"the peer used a wrong rkey, range or access", \
		"Tell the peer the present address and rkey; check the buffer's access.") \
	X(ASYNC_EVENT, COMM_EST, \
		"the peer's first data was faster than its confirmation", \
		"Nothing: verbsd tells the CM.") \
	X(ASYNC_EVENT, SQ_DRAINED, \
		"the QP was taken to SQD and its outstanding sends are done", \
		"Nothing.") \
	X(ASYNC_EVENT, PATH_MIG, \
		"the path failed and an alternate one was armed", \
		"Repair the first path.") \
	X(ASYNC_EVENT, PATH_MIG_ERR, \
		"the path failed and the alternate one could not be used", \
		"Repair either path.") \
	X(ASYNC_EVENT, DEVICE_FATAL, \
		"the device failed, was reset or is being removed", \
		"See the kernel log; verbsd takes the device up again when it is back.") \
	X(ASYNC_EVENT, PORT_ACTIVE, \
		"the link came up", \
		"Nothing.") \
	X(ASYNC_EVENT, PORT_ERR, \
		"cable, switch or interface is down", \
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
		"the device failed a shared receive queue", \
		"See the kernel log.") \
	X(ASYNC_EVENT, SRQ_LIMIT_REACHED, \
		"fewer receives are posted than its limit", \
		"Nothing: verbsd fills it up. If it comes all the time, make it deeper.") \
	X(ASYNC_EVENT, QP_LAST_WQE_REACHED, \
		"a QP on a shared receive queue went to error and takes no more receives from it", \
		"Nothing: it is part of the QP's end.") \
	X(ASYNC_EVENT, CLIENT_REREGISTER, \
		"the subnet manager restarted", \
		"Multicast groups are joined again by the kernel.") \
	X(ASYNC_EVENT, GID_CHANGE, \
		"an interface got or lost an address", \
		"Connections over the old GID end: connect again from an address that is there.") \
	X(ASYNC_EVENT, WQ_FATAL, \
		"the device failed a work queue", \
		"See the kernel log.") \
	X(QP_STATE, RESET, \
		"the QP was just made, or put back", \
		"Next is INIT. Nothing can be posted.") \
	X(QP_STATE, INIT, \
		"port, partition key and access are set", \
		"Receives can be posted. Next is RTR, which needs the peer's number and path.") \
	X(QP_STATE, RTR, \
		"the peer is known: the QP receives", \
		"Next is RTS, which needs timeouts and retries. An accepting side waits here for the peer's confirmation.") \
	X(QP_STATE, RTS, \
		"the QP sends and receives", \
		"Nothing.") \
	X(QP_STATE, SQD, \
		"someone asked the send queue to drain, as before a change of its attributes", \
		"What is posted waits; RTS sends it.") \
	X(QP_STATE, SQE, \
		"a send of an unreliable QP failed; it still receives", \
		"RTS makes it send again.") \
	X(QP_STATE, ERR, \
		"a completion failed, the connection ended, or someone asked for it", \
		"Everything posted is flushed. A new connection is needed, or RESET where the QP is brought up by hand.") \
	X(END_REASON, PEER_DISCONNECT, \
		"the peer's program closed the connection or ended", \
		"If it was not expected, the peer's log or its verbsd says why.") \
	X(END_REASON, LOCAL_CLOSE, \
		"someone asked this verbsd to close it", \
		"Nothing; the event log says when.") \
	X(END_REASON, SHUTDOWN, \
		"this verbsd was stopped", \
		"Connect again when it runs.") \
	X(END_REASON, REJECTED, \
		"nobody listens there; the program there refused", \
		"The CM's reason stands in first_error: explain it.") \
	X(END_REASON, REJECTED_LOCALLY, \
		"someone rejected the request here, or nobody decided in time", \
		"Raise accept_timeout_ms, or let the listener accept by itself.") \
	X(END_REASON, UNREACHABLE, \
		"the host answers ARP or ND but no RDMA CM does; a firewall drops UDP 4791", \
		"Check `rdma link` on the peer and the firewalls between.") \
	X(END_REASON, NAME_ERROR, \
		"a misspelt name; no resolver; the name has no address of that family", \
		"Try `getent ahosts NAME` on this host, or give an address.") \
	X(END_REASON, ADDR_ERROR, \
		"no neighbour has that address; it leaves by an interface without RDMA", \
		"`ip route get ADDR` names the interface: it must be one of `rdma link`.") \
	X(END_REASON, ROUTE_ERROR, \
		"the subnet manager is silent (InfiniBand), or no GID fits (RoCE)", \
		"Check the subnet manager, or the GID table in /v1/devices.") \
	X(END_REASON, CONNECT_ERROR, \
		"the CM's handshake failed in the middle", \
		"See the timeline, and the kernel log of both hosts.") \
	X(END_REASON, DEADLINE, \
		"the peer is slow or silent; timeout_ms is short", \
		"The timeline shows the state it waited in.") \
	X(END_REASON, RETRY_EXCEEDED, \
		"the peer's host or path went away without a word", \
		"Ping the peer. It was noticed after ACK timeout x (retry_count + 1): both can be set.") \
	X(END_REASON, RNR_EXCEEDED, \
		"the receiver is slower than this sender", \
		"More receives there, or rnr_retry 7 here.") \
	X(END_REASON, REMOTE_ACCESS, \
		"a wrong or old rkey, a range past the end, an access not granted, a window that was revoked", \
		"Ask the peer for address, rkey and length anew.") \
	X(END_REASON, REMOTE_OPERATION, \
		"the peer's device failed, or the peer does not speak the service's protocol", \
		"See the peer's own first error.") \
	X(END_REASON, REMOTE_INVALID, \
		"a message longer than the peer's receive; an operation its QP does not allow", \
		"Compare recv_size_bytes of the peer with what was sent.") \
	X(END_REASON, LOCAL_ERROR, \
		"memory that is gone or of another protection domain; a receive that was too short", \
		"See first_error for the operation and its status.") \
	X(END_REASON, DEVICE_REMOVED, \
		"the driver was unloaded, the link deleted, the card removed or reset", \
		"Connect again when the device is back.") \
	X(END_REASON, QP_FATAL, \
		"the peer refused an operation of its own side and hung up; the device failed the QP", \
		"See the async events in the timeline, and the kernel log.") \
	X(END_REASON, RESOURCE_ERROR, \
		"the device, the memory or a limit was exhausted", \
		"first_error names the call and its errno.") \
	X(END_REASON, PROTOCOL_ERROR, \
		"a defect of the kernel, of a driver, or of verbsd", \
		"Please report it with the connection's timeline.")
/* clang-format on */

#endif
