/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of rdma/finding.c: what can be found by looking at the facts of a connection, or of the
 * way to a destination. docs/why.md is drawn from it too.
 *
 * X(SYMBOL, code, SEVERITY, when, advice). The code is stable. What is said of one connection, with
 * its numbers, is made by rdma/facts.c.
 */
#ifndef VBD_RDMA_FINDING_ROWS_H
#define VBD_RDMA_FINDING_ROWS_H

/* clang-format off */
#define VBD_FINDING_MAP(X) \
	X(DEVICE_GONE, "device_gone", ERROR, \
		"the RDMA device was removed or is being removed", \
		"Add the device again (`rdma link add`, or load its driver); connections must be made anew.") \
	X(PORT_NOT_ACTIVE, "port_not_active", ERROR, \
		"the port that the connection uses is not active", \
		"`ip link set IF up`, check the cable; on InfiniBand check that a subnet manager runs (`sminfo`).") \
	X(GID_GONE, "gid_gone", ERROR, \
		"the entry of the GID table that the connection sends from is empty or holds another address now", \
		"Give the interface its address back, or connect again from the address that it has now.") \
	X(NO_ROUTE, "no_route", ERROR, \
		"the kernel has no route to the peer's address", \
		"`ip route get ADDR` must name an interface; add an address or a route.") \
	X(ROUTE_WITHOUT_RDMA, "route_without_rdma", ERROR, \
		"the route to the peer leaves by an interface that no RDMA device belongs to", \
		"Add a route by an interface of `rdma link`, or give the interface a device, as with `rdma link add rxe0 type rxe netdev IF`.") \
	X(NEIGHBOUR_FAILED, "neighbour_failed", ERROR, \
		"the next hop does not answer ARP or neighbour discovery", \
		"Check that the host is up, its address, the cable, and the VLAN on both sides.") \
	X(NO_GID, "no_gid", ERROR, \
		"no RDMA device has the address that the packets would leave from among its GIDs", \
		"Compare the addresses of the interface with the GIDs in /v1/devices.") \
	X(PORT_WENT_DOWN, "port_went_down", WARNING, \
		"a port of the device went down while the connection lived, before its first error or its end", \
		"See the device's async events in the event log, the cable, and what was done to the interface.") \
	X(DEAD_PEER_FOR_EVER, "dead_peer_for_ever", WARNING, \
		"a dead peer is never noticed: ack_timeout is 0, or retry_count is 7, which Soft-RoCE takes for ever", \
		"Set qp.ack_timeout to 14 or so and qp.retry_count to 6 or less.") \
	X(DEAD_PEER_SLOW, "dead_peer_slow", WARNING, \
		"it takes more than 10 s of sending to notice a dead peer", \
		"Lower qp.ack_timeout or qp.retry_count; 14 and 4 make 0.4 s.") \
	X(RNR_TIMER_LONG, "rnr_timer_long", WARNING, \
		"min_rnr_timer is more than 100 ms (code 0 is 655 ms): the peer sleeps that long whenever no receive is posted here", \
		"Set qp.min_rnr_timer to 12 (0.64 ms).") \
	X(GID_LINK_LOCAL, "gid_link_local", WARNING, \
		"the connection sends from a link-local GID, which no router passes on", \
		"Fine on one link; else connect from an interface that has an IPv4 or a global IPv6 address.") \
	X(GID_SCOPES_DIFFER, "gid_scopes_differ", WARNING, \
		"one end has a link-local GID, the other an address that is routed", \
		"Connect from an address of the kind that the peer has.") \
	X(GID_ROCE_V1, "gid_roce_v1", WARNING, \
		"the connection speaks RoCE v1, which is Ethernet only: no router passes it on, and a peer that speaks v2 does not hear it", \
		"Use a GID of type roce_v2 on both sides: `cma_roce_mode`, or gid_index where the QP is brought up by hand.") \
	X(GATEWAY_WITHOUT_IP, "gateway_without_ip", WARNING, \
		"the peer is behind a router, and the GID is one that no router passes on", \
		"Use a GID of type roce_v2 with an address that is routed.") \
	X(ROUTE_MOVED, "route_moved", WARNING, \
		"the route to the peer leaves by another interface than the one that the GID belongs to", \
		"A connection that is there keeps its path; a new one may fail. See `ip route get ADDR`.") \
	X(NEIGHBOUR_UNKNOWN, "neighbour_unknown", WARNING, \
		"the kernel is asking for the next hop's hardware address and has no answer yet", \
		"If it stays so nobody has that address on this network: ping it.") \
	X(MTU_BELOW_PORT, "mtu_below_port", WARNING, \
		"the path MTU is smaller than what the port carries, and nobody here asked for that", \
		"The peer's port or the path has the smaller MTU: give both interfaces the same one.") \
	X(MEMLOCK_NEAR, "memlock_near", WARNING, \
		"nine tenths of the memory that may be locked are in use", \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.") \
	X(BACKLOG_FULL, "backlog_full", WARNING, \
		"as many requests wait for a decision as the listener's backlog holds: the kernel rejects the next ones", \
		"Accept or reject what waits, or make the listener with a larger backlog.") \
	X(INBOX_FULL, "inbox_full", WARNING, \
		"the inbox holds as many messages as the connection has receives: the peer is held back by RNR", \
		"Read and delete messages, or make it with a larger qp.rq_depth.") \
	X(DEADLINE_NEAR, "deadline_near", WARNING, \
		"more than half of the time that it may wait is over", \
		"Look at what it waits for; timeout_ms can be raised.") \
	X(PACKETS_LOST, "packets_lost", WARNING, \
		"packets of the peer were lost on an unreliable connection", \
		"UC repeats nothing: use RC, or send again.") \
	X(NO_READS, "no_reads", WARNING, \
		"no reads and no atomics can be outstanding: initiator_depth is 0", \
		"Set qp.initiator_depth here and qp.responder_resources on the peer to 1 or more.") \
	X(DEAD_PEER, "dead_peer", INFO, \
		"how long it takes to notice a dead peer while sending: ACK timeout x (retry_count + 1)", \
		"qp.ack_timeout and qp.retry_count set it.") \
	X(DEAD_PEER_TCP, "dead_peer_tcp", INFO, \
		"iWARP is TCP: how long a dead peer goes unnoticed is the kernel's or the card's to decide", \
		"net.ipv4.tcp_retries2 decides on it where the kernel does the TCP.") \
	X(IDLE_BLIND, "idle_blind", INFO, \
		"nothing is sent, so that a peer that dies without a word is not noticed", \
		"Have a probe run on the connection: POST /v1/probes.") \
	X(RNR_TIMER, "rnr_timer", INFO, \
		"how long the peer waits each time no receive is posted here", \
		"qp.min_rnr_timer sets it.") \
	X(RNR_FOR_EVER, "rnr_for_ever", INFO, \
		"rnr_retry is 7: a send waits for as long as the peer has no receive posted", \
		"Transfers have deadlines; set qp.rnr_retry to 6 or less to have the connection fail instead.") \
	X(PEER_BUSY_HANG_UP, "peer_busy_hang_up", INFO, \
		"the peer hung up while work of this side was outstanding", \
		"If it did not mean to, its process ended or was killed: see the log on the peer.") \
	X(FLUSHED, "flushed", INFO, \
		"work requests came back flushed after the end had begun: they are no cause of anything", \
		"Nothing: the cause stands in first_error or in the reason.") \
	X(SAME_HOST, "same_host", INFO, \
		"the peer's address is one of this host: the packets do not leave it", \
		"Nothing.") \
	X(BEHIND_GATEWAY, "behind_gateway", INFO, \
		"the peer is behind a router", \
		"Every hop must pass UDP 4791 (RoCE v2) both ways.") \
	X(MTU_OF_PORT, "mtu_of_port", INFO, \
		"the port's MTU is smaller than the device could have: the network interface limits it", \
		"On RoCE an interface MTU of 4200 on both ends makes 4096.")
/* clang-format on */

#endif
