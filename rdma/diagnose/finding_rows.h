/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of rdma/diagnose/facts.c: the findings about a connection, or the route to a
 * destination. docs/why.md is generated from them.
 *
 * X(SYMBOL, code, SEVERITY, condition, detail, when, hint). The code is stable.
 *
 *   condition  an expression over the variables of vbd_facts_judge(); SEEN(clue)
 *   detail     a sentence, with placeholders of rdma/diagnose/facts.h
 *   when       the condition as a clause without a full stop
 */
#ifndef VBD_RDMA_DIAGNOSE_FINDING_ROWS_H
#define VBD_RDMA_DIAGNOSE_FINDING_ROWS_H

/* clang-format off */
#define VBD_FINDING_DEAD_PEER_DETAIL \
	"While data is sent, a dead peer is noticed after about {patience}: {ack_time} (ack_timeout {ack_timeout}) x {tries} tries (retry_count {retry_count}). A device may wait up to four times as long."
#define VBD_FINDING_RNR_TIMER_DETAIL \
	"While no receive is posted here, the peer waits {rnr_time} before each retry (min_rnr_timer {min_rnr_timer})."

#define VBD_FINDING_MAP(X) \
	X(DEVICE_REMOVED, "device_removed", ERROR, facts->device_removed, \
		"Device {device} was removed.", \
		"the RDMA device was removed or is being removed", \
		"Add the device again (`rdma link add`, or load its driver); connections must be opened anew.") \
	X(PORT_NOT_ACTIVE, "port_not_active", ERROR, SEEN(PORT_DOWN), \
		"Port {port_num} of {device} is {port_state} ({phys_state}).", \
		"the port that the connection uses is not active", \
		"`ip link set IF up`, check the cable; on InfiniBand check that a subnet manager runs (`sminfo`).") \
	X(GID_GONE, "gid_gone", ERROR, SEEN(ADDRESS_GONE), \
		"GID index {gid_index} of {device} no longer holds the connection's address.", \
		"the GID table entry that the connection uses is empty now, or holds another address", \
		"Give the interface its old address again, or connect again from its present address.") \
	X(NO_ROUTE, "no_route", ERROR, SEEN(NO_ROUTE), \
		"There is no route to the peer ({route_error}).", \
		"the kernel has no route to the peer's address", \
		"`ip route get ADDR` must name an interface; add an address or a route.") \
	X(ROUTE_WITHOUT_RDMA, "route_without_rdma", ERROR, SEEN(ROUTE_WITHOUT_RDMA), \
		"The route to the peer leaves by {netdev}, which has no RDMA device.", \
		"the route to the peer leaves by an interface that no RDMA device belongs to", \
		"Add a route over an interface that `rdma link` lists, or give the interface a device, for example with `rdma link add rxe0 type rxe netdev IF`.") \
	X(NEIGHBOUR_FAILED, "neighbour_failed", ERROR, SEEN(NEIGHBOUR_SILENT) && is_neighbour(facts, "failed"), \
		"No answer of {hop} came on {netdev}: the neighbour entry is failed.", \
		"the next hop does not answer ARP or neighbour discovery", \
		"Check that the host is up and has that address, and check the cable and the VLAN on both sides.") \
	X(NO_GID, "no_gid", ERROR, facts->failed_device || facts->sgid_none, \
		facts->failed_device ? "Of the devices one can't be used: {device_error}." : "No RDMA device has a GID for the source address of the packets.", \
		"no RDMA device has a GID for the source address of the packets", \
		"Use an address behind an RDMA interface (the loopback has no RDMA device); compare the interface's addresses with the GIDs in /v1/devices.") \
	X(MTU_ABOVE_PORT, "mtu_above_port", ERROR, port_mtu && facts->path_mtu_bytes > port_mtu, \
		"The path MTU is {path_mtu} bytes; the port here carries {port_mtu}.", \
		"the path MTU is larger than the port carries, so that full packets do not leave or do not come", \
		"Give the interface its old MTU again (`ip link`), or connect again: the path MTU is that of the ports then.") \
	X(PORT_WENT_DOWN, "port_went_down", WARNING, facts->port_fell, \
		facts->open ? "A port of {device} went down {fell} ago." : "A port of {device} went down {fell} before the end.", \
		"a port of the device went down while the connection lived, before its first error or its end", \
		"See the device's async events in the event log; check the cable and the interface.") \
	X(DEAD_PEER_FOR_EVER, "dead_peer_for_ever", WARNING, timed && !ends, \
		facts->ack_timeout ? "A dead peer may never be noticed: ack_timeout is {ack_timeout}, retry_count is {retry_count}, which means for ever on Soft-RoCE." : "A dead peer may never be noticed: ack_timeout is {ack_timeout}, retry_count is {retry_count}.", \
		"a dead peer is never noticed: ack_timeout is 0, or retry_count is 7, which means for ever on Soft-RoCE", \
		"Set qp.ack_timeout to about 14 and qp.retry_count to 6 or less.") \
	X(DEAD_PEER_SLOW, "dead_peer_slow", WARNING, timed && ends && patience_ms > SLOW_MS, \
		VBD_FINDING_DEAD_PEER_DETAIL, \
		"a dead peer is noticed only after more than 10 s of sending", \
		"Lower qp.ack_timeout or qp.retry_count; 14 and 4 give 0.4 s.") \
	X(RNR_TIMER_LONG, "rnr_timer_long", WARNING, timed && rnr_ns > RNR_LONG_NS, \
		VBD_FINDING_RNR_TIMER_DETAIL, \
		"min_rnr_timer is more than 100 ms (code 0 is 655 ms): the peer sleeps that long whenever no receive is posted here", \
		"Set qp.min_rnr_timer to 12 (0.64 ms).") \
	X(GID_LINK_LOCAL, "gid_link_local", WARNING, roce && local && !(facts->dgid_known && !peer_local), \
		"The GID (index {gid_index} on {gid_netdev}) is link-local, so it works on this link only.", \
		"the connection sends from a link-local GID, which routers do not forward", \
		"That is fine on one link; otherwise connect from an interface that has an IPv4 or a global IPv6 address.") \
	X(GID_SCOPES_DIFFER, "gid_scopes_differ", WARNING, roce && facts->dgid_known && local != peer_local, \
		"The GID here is {gid_scope}, the peer's is {peer_scope}.", \
		"one side has a link-local GID, the other a routable address", \
		"Connect from an address of the same scope as the peer's.") \
	X(GID_ROCE_V1, "gid_roce_v1", WARNING, roce_v1, \
		"GID index {gid_index} is of type RoCE v1, which routers do not forward.", \
		"the connection uses RoCE v1, which is Ethernet only: routers drop it, and a peer that uses RoCE v2 ignores it", \
		"Use a GID of type roce_v2 on both sides: `cma_roce_mode`, or gid_index where the QP is brought up by hand.") \
	X(GATEWAY_WITHOUT_IP, "gateway_without_ip", WARNING, SEEN(GATEWAY) && roce && (roce_v1 || local), \
		"The peer is behind a router, and routers forward neither RoCE v1 nor link-local addresses.", \
		"the peer is behind a router, and routers do not forward packets with this GID", \
		"Use a GID of type roce_v2 with a routable address.") \
	X(ROUTE_MOVED, "route_moved", WARNING, SEEN(ROUTE_MOVED), \
		"The route to the peer leaves by {netdev}; the GID belongs to {gid_netdev}.", \
		"the route to the peer leaves by another interface than that of the GID", \
		"An existing connection keeps its path; a new connection may fail. See `ip route get ADDR`.") \
	X(NEIGHBOUR_UNKNOWN, "neighbour_unknown", WARNING, is_neighbour(facts, "incomplete") || (facts->destination && is_neighbour(facts, "none")), \
		facts->destination ? "Nothing shows that {hop} is there: it has not answered on {netdev} yet." : "No answer of {hop} has come on {netdev} yet: the neighbour entry is incomplete.", \
		"the kernel has no hardware address of the next hop: it is asking for one, or, before a connection is made, has not asked yet", \
		"Ping the address: without an answer, no host has that address on this network, or it drops pings.") \
	X(MTU_BELOW_PORT, "mtu_below_port", WARNING, facts->path_mtu_bytes && facts->path_mtu_bytes < port_mtu && !facts->mtu_asked, \
		"The path MTU is {path_mtu} bytes; the port here carries {port_mtu}.", \
		"the path MTU is smaller than the port's MTU, and was not limited by the request", \
		"The peer's port or the path has the smaller MTU: give both interfaces the same one.") \
	X(PEER_READS_MORE, "peer_reads_more", WARNING, timed && facts->depth_known && facts->peer_reads > facts->responder_resources, \
		"The peer may have {peer_reads} reads and atomics outstanding; this side answers {reads_here}.", \
		"the peer took more outstanding reads than this side offered to answer, and the device refuses those beyond", \
		"Raise qp.responder_resources here, or lower the initiator depth of the peer's program.") \
	X(RETRY_NONE, "retry_none", WARNING, timed && !facts->retry_count, \
		"One lost packet ends the connection (retry_count 0).", \
		"retry_count is 0: one lost packet ends the connection", \
		"Set qp.retry_count to 4 or more, unless that is meant.") \
	X(RNR_NONE, "rnr_none", WARNING, timed && !facts->rnr_retry, \
		"A send fails at once while the peer has no receive posted (rnr_retry 0).", \
		"rnr_retry is 0: a send fails at once while the peer has no receive posted", \
		"Set qp.rnr_retry to 7, or let the peer post receives before this side sends.") \
	X(MEMLOCK_NEAR, "memlock_near", WARNING, is_memlock_near(facts), \
		"{locked} bytes are locked; the limit is {lock_limit}.", \
		"nine tenths of the locked-memory limit are in use", \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.") \
	X(BACKLOG_FULL, "backlog_full", WARNING, facts->backlog && facts->waiting >= facts->backlog, \
		"{waiting} requests wait for a decision; the listener's backlog is {backlog}.", \
		"as many requests wait for a decision as the listener has backlog: nobody seems to decide", \
		"Accept or reject the waiting requests, or let the listener accept by itself: policy auto.") \
	X(INBOX_FULL, "inbox_full", WARNING, facts->open && SEEN(INBOX_FULL), \
		"All {inbox} receives hold messages, so the peer has to wait.", \
		"the inbox holds as many messages as the connection has receives: the peer has to wait (RNR)", \
		"Read and delete messages, or create the connection with a larger qp.rq_depth.") \
	X(DEADLINE_NEAR, "deadline_near", WARNING, facts->deadline_ms && facts->waited_ms > facts->deadline_ms / 2, \
		"The connection has waited {state_waited} of the {deadline} until its deadline.", \
		"more than half of the time until the deadline has passed", \
		"See what the connection waits for, or raise timeout_ms.") \
	X(PACKETS_LOST, "packets_lost", WARNING, facts->lost_packets, \
		"{lost} packets of the peer were lost.", \
		"packets of the peer were lost on an unreliable connection", \
		"UC does not retransmit: use RC, or send again.") \
	X(NO_READS, "no_reads", WARNING, timed && facts->depth_known && !facts->initiator_depth, \
		"Reads and atomics are not possible: initiator_depth is 0.", \
		"reads and atomics are not possible: initiator_depth is 0", \
		"Set qp.initiator_depth here and qp.responder_resources on the peer to 1 or more.") \
	X(DEAD_PEER, "dead_peer", INFO, timed && ends && patience_ms <= SLOW_MS, \
		VBD_FINDING_DEAD_PEER_DETAIL, \
		"the time to notice a dead peer while sending: about ACK timeout x (retry_count + 1); InfiniBand allows a device up to four times that", \
		"qp.ack_timeout and qp.retry_count set this time.") \
	X(DEAD_PEER_TCP, "dead_peer_tcp", INFO, facts->open && facts->reliable && facts->iwarp, \
		"{device} is iWARP: TCP decides when a dead peer is noticed.", \
		"iWARP runs over TCP: the kernel's or the card's TCP decides when a dead peer is noticed", \
		"net.ipv4.tcp_retries2 sets this time where the kernel runs the TCP.") \
	X(IDLE_BLIND, "idle_blind", INFO, facts->established && facts->reliable && !facts->iwarp && !facts->watched, \
		"While nothing is sent, a dead peer is not noticed.", \
		"while nothing is sent, a dead peer is not noticed: neither a probe nor heartbeats run", \
		"Run a probe on the connection (`verbsctl probe`), or open the connection with heartbeats.") \
	X(WINDOW_FULL, "window_full", INFO, incident->outcome == VBD_OUTCOME_STUCK && incident->window && incident->requests_left > incident->window, \
		"Transfer {transfer} has {window} work requests outstanding, as many as it may have, and {beyond} more wait for them.", \
		"a transfer has as many work requests outstanding as tx_depth or qp.sq_depth allows, and none is done", \
		"Look for the cause that holds these back: the rest follows by itself. A larger window does not help while the peer does not take them.") \
	X(POLLED_BUSY, "polled_busy", INFO, facts->open && facts->polled_busy, \
		"poll is busy: the worker, which {busy} such queue pairs keep awake, has polled empty queues for {spun} so far.", \
		"poll is busy: the connection's worker takes a whole processor, with work or without", \
		"If the processor is needed, use poll adaptive or events: close the connection and open it again with it.") \
	X(RNR_TIMER, "rnr_timer", INFO, timed && rnr_ns <= RNR_LONG_NS, \
		VBD_FINDING_RNR_TIMER_DETAIL, \
		"the time that the peer waits each time no receive is posted here", \
		"qp.min_rnr_timer sets this time.") \
	X(RNR_FOR_EVER, "rnr_for_ever", INFO, timed && facts->rnr_retry == 7, \
		"A send waits without limit while the peer has no receive posted (rnr_retry 7).", \
		"rnr_retry is 7: a send waits without limit while the peer has no receive posted", \
		"Transfers have deadlines; set qp.rnr_retry to 6 or less to let the connection fail instead.") \
	X(PEER_BUSY_HANG_UP, "peer_busy_hang_up", INFO, facts->hung_up && facts->flushed_sends, \
		"The peer disconnected while {flushed_sends} work requests were outstanding.", \
		"the peer disconnected while work requests of this side were outstanding", \
		"If this was not intended, the peer's process ended or was killed: see the log on the peer.") \
	X(FLUSHED, "flushed", INFO, facts->flushed_sends || facts->flushed_receives, \
		"{flushed_sends} sends and {flushed_receives} receives were flushed, as a consequence of the end.", \
		"work requests were flushed after the end had begun; flushes are a consequence, never a cause", \
		"Nothing: the cause is in end_code and error.first.") \
	X(SAME_HOST, "same_host", INFO, SEEN(LOCAL) && !over, \
		"The peer is on this host.", \
		"the peer's address belongs to this host, so the packets do not leave the host", \
		"Nothing.") \
	X(BEHIND_GATEWAY, "behind_gateway", INFO, SEEN(GATEWAY), \
		"The peer is behind a router on {netdev}.", \
		"the peer is behind a router", \
		"Every hop must pass UDP 4791 (RoCE v2) both ways.") \
	X(MTU_LIMITED_HERE, "mtu_limited_here", INFO, port_mtus && facts->open && facts->path_mtu_bytes && facts->path_mtu_bytes < facts->cm_mtu_bytes, \
		"The path MTU is {path_mtu} bytes here; the CM has told the peer {cm_mtu}.", \
		"qp.path_mtu_bytes limits this side, and no message of the CM tells the peer", \
		"Give the other side the same qp.path_mtu_bytes; else it sends longer packets, which the device here refuses.") \
	X(MTU_OF_PORT, "mtu_of_port", INFO, port_mtus && !over && port_mtu < facts->port.max_mtu_bytes, \
		"The port's MTU is {port_mtu} bytes; the device allows up to {device_mtu}.", \
		"the port's MTU is smaller than the device allows: the network interface limits it", \
		"On RoCE, an interface MTU of 4200 on both sides gives a path MTU of 4096.")
/* clang-format on */

#endif
