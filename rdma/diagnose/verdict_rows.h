/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of rdma/diagnose/judge.c: what may follow from the clues. docs/why.md is generated from
 * them. The codes are stable. Texts have placeholders of rdma/diagnose/words.h.
 *
 * A finding about a connection, or the route to a destination:
 * X(SYMBOL, code, SEVERITY, NEEDS, AGAINST, detail, when, hint)
 *
 *   NEEDS    clues: there is no finding without all of them
 *   AGAINST  clues: there is no finding with any of them
 *   detail   a sentence
 *   when     NEEDS and AGAINST as a clause without a full stop
 *
 * A possible cause of an incident:
 * X(SYMBOL, code, OUTCOMES, NEEDS, AGAINST, SUPPORTS, WEIGHT, STAGED, text, advice)
 *
 *   OUTCOMES  the cause can have led to these outcomes
 *   SUPPORTS  clues: each raises the weight (SUPPORT in judge.c)
 *   STAGED    the test that stages it: GUEST and GUESTS with a device of the lab, in one guest or
 *             between two; UNIT(why): why no device of the lab can fail like that
 *   text      a clause without a full stop
 *   advice    to be done first: a sentence
 */
#ifndef VBD_RDMA_DIAGNOSE_VERDICT_ROWS_H
#define VBD_RDMA_DIAGNOSE_VERDICT_ROWS_H

#include "rdma/names/names.h"

/* clang-format off */
#define VBD_FINDING_DEAD_PEER_DETAIL \
	"While data is sent, a dead peer is noticed after about {patience}: {ack_time} (ack_timeout {ack_timeout}) x {tries} tries (retry_count {retry_count}). A device may wait up to four times as long."
#define VBD_FINDING_RNR_TIMER_DETAIL \
	"While no receive is posted here, the peer waits {rnr_time} before each retry (min_rnr_timer {min_rnr_timer})."

#define VBD_FINDING_MAP(X) \
	X(DEVICE_REMOVED, "device_removed", ERROR, CLUE(DEVICE_GONE), 0, \
		"Device {device} was removed.", \
		"the RDMA device was removed or is being removed", \
		"Add the device again (`rdma link add`, or load its driver); connections must be opened anew.") \
	X(PORT_NOT_ACTIVE, "port_not_active", ERROR, CLUE(PORT_DOWN), 0, \
		"Port {port_num} of {device} is {port_state} ({phys_state}).", \
		"the port that the connection uses is not active", \
		"`ip link set IF up`, check the cable; on InfiniBand check that a subnet manager runs (`sminfo`).") \
	X(GID_GONE, "gid_gone", ERROR, CLUE(ADDRESS_GONE), 0, \
		"GID index {gid_index} of {device} no longer holds the connection's address.", \
		"the GID table entry that the connection uses is empty now, or holds another address", \
		"Give the interface its old address again, or connect again from its present address.") \
	X(NO_ROUTE, "no_route", ERROR, CLUE(NO_ROUTE), 0, \
		"There is no route to the peer ({route_error}).", \
		"the kernel has no route to the peer's address", \
		"`ip route get ADDR` must name an interface; add an address or a route.") \
	X(ROUTE_WITHOUT_RDMA, "route_without_rdma", ERROR, CLUE(ROUTE_WITHOUT_RDMA), 0, \
		"The route to the peer leaves by {netdev}, which has no RDMA device.", \
		"the route to the peer leaves by an interface that no RDMA device belongs to", \
		"Add a route over an interface that `rdma link` lists, or give the interface a device, for example with `rdma link add rxe0 type rxe netdev IF`.") \
	X(NEIGHBOUR_FAILED, "neighbour_failed", ERROR, CLUE(NEIGHBOUR_SILENT) | CLUE(NEIGHBOUR_FAILED), 0, \
		"No answer of {hop} came on {netdev}: the neighbour entry is failed.", \
		"the next hop does not answer ARP or neighbour discovery", \
		"Check that the host is up and has that address, and check the cable and the VLAN on both sides.") \
	X(NO_GID, "no_gid", ERROR, CLUE(NO_GID), 0, \
		"{no_gid}.", \
		"no RDMA device has a GID for the source address of the packets", \
		"Use an address behind an RDMA interface (the loopback has no RDMA device); compare the interface's addresses with the GIDs in /v1/devices.") \
	X(MTU_ABOVE_PORT, "mtu_above_port", ERROR, CLUE(MTU_ABOVE_PORT), 0, \
		"The path MTU is {path_mtu} bytes; the port here carries {port_mtu}.", \
		"the path MTU is larger than the port carries, so that full packets do not leave or do not come", \
		"Give the interface its old MTU again (`ip link`), or connect again: the path MTU is that of the ports then.") \
	X(PORT_WENT_DOWN, "port_went_down", WARNING, CLUE(PORT_WENT_DOWN), 0, \
		"A port of {device} went down {fell} {before}.", \
		"a port of the device went down while the connection lived, before its first error or its end", \
		"See the device's async events in the event log; check the cable and the interface.") \
	X(DEAD_PEER_FOR_EVER, "dead_peer_for_ever", WARNING, CLUE(TIMED), CLUE(GIVES_UP), \
		"A dead peer may never be noticed: ack_timeout is {ack_timeout}, retry_count is {retry_count}{for_ever}.", \
		"a dead peer is never noticed: ack_timeout is 0, or retry_count is 7, which means for ever on Soft-RoCE", \
		"Set qp.ack_timeout to about 14 and qp.retry_count to 6 or less.") \
	X(DEAD_PEER_SLOW, "dead_peer_slow", WARNING, CLUE(TIMED) | CLUE(GIVES_UP) | CLUE(PATIENT), 0, \
		VBD_FINDING_DEAD_PEER_DETAIL, \
		"a dead peer is noticed only after more than 10 s of sending", \
		"Lower qp.ack_timeout or qp.retry_count; 14 and 4 give 0.4 s.") \
	X(RNR_TIMER_LONG, "rnr_timer_long", WARNING, CLUE(TIMED) | CLUE(RNR_LONG), 0, \
		VBD_FINDING_RNR_TIMER_DETAIL, \
		"min_rnr_timer is more than 100 ms (code 0 is 655 ms): the peer sleeps that long whenever no receive is posted here", \
		"Set qp.min_rnr_timer to 12 (0.64 ms).") \
	X(GID_LINK_LOCAL, "gid_link_local", WARNING, CLUE(LINK_LOCAL), CLUE(SCOPES_DIFFER), \
		"The GID (index {gid_index} on {gid_netdev}) is link-local, so it works on this link only.", \
		"the connection sends from a link-local GID, which routers do not forward", \
		"That is fine on one link; otherwise connect from an interface that has an IPv4 or a global IPv6 address.") \
	X(GID_SCOPES_DIFFER, "gid_scopes_differ", WARNING, CLUE(SCOPES_DIFFER), 0, \
		"The GID here is {gid_scope}, the peer's is {peer_scope}.", \
		"one side has a link-local GID, the other a routable address", \
		"Connect from an address of the same scope as the peer's.") \
	X(GID_ROCE_V1, "gid_roce_v1", WARNING, CLUE(ROCE_V1), 0, \
		"GID index {gid_index} is of type RoCE v1, which routers do not forward.", \
		"the connection uses RoCE v1, which is Ethernet only: routers drop it, and a peer that uses RoCE v2 ignores it", \
		"Use a GID of type roce_v2 on both sides: `cma_roce_mode`, or gid_index where the QP is brought up by hand.") \
	X(GATEWAY_WITHOUT_IP, "gateway_without_ip", WARNING, CLUE(GATEWAY) | CLUE(NOT_FORWARDED), 0, \
		"The peer is behind a router, and routers forward neither RoCE v1 nor link-local addresses.", \
		"the peer is behind a router, and routers do not forward packets with this GID", \
		"Use a GID of type roce_v2 with a routable address.") \
	X(ROUTE_MOVED, "route_moved", WARNING, CLUE(ROUTE_MOVED), 0, \
		"The route to the peer leaves by {netdev}; the GID belongs to {gid_netdev}.", \
		"the route to the peer leaves by another interface than that of the GID", \
		"An existing connection keeps its path; a new connection may fail. See `ip route get ADDR`.") \
	X(NEIGHBOUR_UNKNOWN, "neighbour_unknown", WARNING, CLUE(NEIGHBOUR_UNKNOWN), 0, \
		"{unanswered}.", \
		"the kernel has no hardware address of the next hop: it is asking for one, or, before a connection is made, has not asked yet", \
		"Ping the address: without an answer, no host has that address on this network, or it drops pings.") \
	X(MTU_BELOW_PORT, "mtu_below_port", WARNING, CLUE(MTU_BELOW_PORT), 0, \
		"The path MTU is {path_mtu} bytes; the port here carries {port_mtu}.", \
		"the path MTU is smaller than the port's MTU, and was not limited by the request", \
		"The peer's port or the path has the smaller MTU: give both interfaces the same one.") \
	X(PEER_READS_MORE, "peer_reads_more", WARNING, CLUE(TIMED) | CLUE(PEER_READS_MORE), 0, \
		"The peer may have {peer_reads} reads and atomics outstanding; this side answers {reads_here}.", \
		"the peer took more outstanding reads than this side offered to answer, and the device refuses those beyond", \
		"Raise qp.responder_resources here, or lower the initiator depth of the peer's program.") \
	X(RETRY_NONE, "retry_none", WARNING, CLUE(TIMED) | CLUE(RETRY_NONE), 0, \
		"One lost packet ends the connection (retry_count 0).", \
		"retry_count is 0: one lost packet ends the connection", \
		"Set qp.retry_count to 4 or more, unless that is meant.") \
	X(RNR_NONE, "rnr_none", WARNING, CLUE(TIMED) | CLUE(RNR_NONE), 0, \
		"A send fails at once while the peer has no receive posted (rnr_retry 0).", \
		"rnr_retry is 0: a send fails at once while the peer has no receive posted", \
		"Set qp.rnr_retry to 7, or let the peer post receives before this side sends.") \
	X(MEMLOCK_NEAR, "memlock_near", WARNING, CLUE(MEMLOCK_NEAR), 0, \
		"{locked} bytes are locked; the limit is {lock_limit}.", \
		"nine tenths of the locked-memory limit are in use", \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.") \
	X(BACKLOG_FULL, "backlog_full", WARNING, CLUE(BACKLOG_FULL), 0, \
		"{waiting} requests wait for a decision; the listener's backlog is {backlog}.", \
		"as many requests wait for a decision as the listener has backlog: nobody seems to decide", \
		"Accept or reject the waiting requests, or let the listener accept by itself: policy auto.") \
	X(INBOX_FULL, "inbox_full", WARNING, CLUE(OPEN) | CLUE(USED_UP), 0, \
		"The peer has to wait: {used_up}.", \
		"no receive is left, since the inbox holds as many messages as the connection has receives, or a shared receive queue is empty: the peer has to wait (RNR)", \
		"Read and delete messages, or create the connection or shared receive queue with more receives.") \
	X(DEADLINE_NEAR, "deadline_near", WARNING, CLUE(DEADLINE_NEAR), 0, \
		"The connection has waited {state_waited} of the {deadline} until its deadline.", \
		"more than half of the time until the deadline has passed", \
		"See what the connection waits for, or raise timeout_ms.") \
	X(PACKETS_LOST, "packets_lost", WARNING, CLUE(PACKETS_LOST), 0, \
		"{lost} packets of the peer were lost.", \
		"packets of the peer were lost on an unreliable connection", \
		"UC does not retransmit: use RC, or send again.") \
	X(NO_READS, "no_reads", WARNING, CLUE(TIMED) | CLUE(NO_READS), 0, \
		"Reads and atomics are not possible: initiator_depth is 0.", \
		"reads and atomics are not possible: initiator_depth is 0", \
		"Set qp.initiator_depth here and qp.responder_resources on the peer to 1 or more.") \
	X(DEAD_PEER, "dead_peer", INFO, CLUE(TIMED) | CLUE(GIVES_UP), CLUE(PATIENT), \
		VBD_FINDING_DEAD_PEER_DETAIL, \
		"the time to notice a dead peer while sending: about ACK timeout x (retry_count + 1); InfiniBand allows a device up to four times that", \
		"qp.ack_timeout and qp.retry_count set this time.") \
	X(DEAD_PEER_TCP, "dead_peer_tcp", INFO, CLUE(OPEN) | CLUE(RELIABLE) | CLUE(IWARP), 0, \
		"{device} is iWARP: TCP decides when a dead peer is noticed.", \
		"iWARP runs over TCP: the kernel's or the card's TCP decides when a dead peer is noticed", \
		"net.ipv4.tcp_retries2 sets this time where the kernel runs the TCP.") \
	X(IDLE_BLIND, "idle_blind", INFO, CLUE(RELIABLE) | CLUE(UNWATCHED), CLUE(IWARP), \
		"While nothing is sent, a dead peer is not noticed.", \
		"while nothing is sent, a dead peer is not noticed: neither a probe nor heartbeats run", \
		"Run a probe on the connection (`verbsctl probe`), or open the connection with heartbeats.") \
	X(WINDOW_FULL, "window_full", INFO, CLUE(WINDOW_FULL), 0, \
		"Transfer {transfer} has {window} work requests outstanding, as many as it may have, and {beyond} more wait for them.", \
		"a transfer has as many work requests outstanding as tx_depth or qp.sq_depth allows, and none is done", \
		"Look for the cause that holds these back: the rest follows by itself. A larger window does not help while the peer does not take them.") \
	X(POLLED_BUSY, "polled_busy", INFO, CLUE(OPEN) | CLUE(POLLED_BUSY), 0, \
		"poll is busy: the worker, which {busy} such queue pairs keep awake, has polled empty queues for {spun} so far.", \
		"poll is busy: the connection's worker takes a whole processor, with work or without", \
		"If the processor is needed, use poll adaptive or events: close the connection and open it again with it.") \
	X(RNR_TIMER, "rnr_timer", INFO, CLUE(TIMED), CLUE(RNR_LONG), \
		VBD_FINDING_RNR_TIMER_DETAIL, \
		"the time that the peer waits each time no receive is posted here", \
		"qp.min_rnr_timer sets this time.") \
	X(RNR_FOR_EVER, "rnr_for_ever", INFO, CLUE(TIMED) | CLUE(RNR_FOR_EVER), 0, \
		"A send waits without limit while the peer has no receive posted (rnr_retry 7).", \
		"rnr_retry is 7: a send waits without limit while the peer has no receive posted", \
		"Transfers have deadlines; set qp.rnr_retry to 6 or less to let the connection fail instead.") \
	X(PEER_BUSY_HANG_UP, "peer_busy_hang_up", INFO, CLUE(HUNG_UP) | CLUE(OUTSTANDING), 0, \
		"The peer disconnected while {flushed_sends} work requests were outstanding.", \
		"the peer disconnected while work requests of this side were outstanding", \
		"If this was not intended, the peer's process ended or was killed: see the log on the peer.") \
	X(FLUSHED, "flushed", INFO, CLUE(FLUSHED), 0, \
		"{flushed_sends} sends and {flushed_receives} receives were flushed, as a consequence of the end.", \
		"work requests were flushed after the end had begun; flushes are a consequence, never a cause", \
		"Nothing: the cause is in end_code and error.first.") \
	X(SAME_HOST, "same_host", INFO, CLUE(LOCAL), CLUE(OVER), \
		"The peer is on this host.", \
		"the peer's address belongs to this host, so the packets do not leave the host", \
		"Nothing.") \
	X(BEHIND_GATEWAY, "behind_gateway", INFO, CLUE(GATEWAY), 0, \
		"The peer is behind a router on {netdev}.", \
		"the peer is behind a router", \
		"Every hop must pass UDP 4791 (RoCE v2) both ways.") \
	X(MTU_LIMITED_HERE, "mtu_limited_here", INFO, CLUE(OPEN) | CLUE(MTU_LIMITED), 0, \
		"The path MTU is {path_mtu} bytes here; the CM has told the peer {cm_mtu}.", \
		"qp.path_mtu_bytes limits this side, and no message of the CM tells the peer", \
		"Give the other side the same qp.path_mtu_bytes; else it sends longer packets, which the device here refuses.") \
	X(MTU_OF_PORT, "mtu_of_port", INFO, CLUE(MTU_OF_PORT), CLUE(OVER), \
		"The port's MTU is {port_mtu} bytes; the device allows up to {device_mtu}.", \
		"the port's MTU is smaller than the device allows: the network interface limits it", \
		"On RoCE, an interface MTU of 4200 on both sides gives a path MTU of 4096.")
/* clang-format on */

/* The outcomes to which a failure of the network between the two hosts can lead. */
#define VBD_CAUSE_SILENCE                                                                    \
	(OUT(RESOLVING) | OUT(CONNECTING) | OUT(STUCK) | OUT(UNRESOLVED) | OUT(UNANSWERED) | \
		OUT(UNCONFIRMED) | OUT(HANDSHAKE) | OUT(UNACKED) | OUT(SILENT) | OUT(LATE) | \
		OUT(UNSENT))
/* The outcomes to which a failure of the network interface of this host can lead. */
#define VBD_CAUSE_BREAKDOWN                                                             \
	(VBD_CAUSE_SILENCE | OUT(REQUEST_FAILED) | OUT(RECEIVE_FAILED) | OUT(REFUSED) | \
		OUT(QP_FAILED))
#define VBD_CAUSE_NO_PROGRESS (OUT(UNACKED) | OUT(LATE) | OUT(STUCK))
/* The outcomes to which a fault of a client can lead, as a failed call or a lost completion. */
#define VBD_CAUSE_FAULTY                                                                      \
	(OUT(RESOLVING) | OUT(UNRESOLVED) | OUT(HANDSHAKE) | OUT(RESOURCE) | OUT(QP_FAILED) | \
		OUT(REQUEST_FAILED) | OUT(BIND) | VBD_CAUSE_NO_PROGRESS)
#define VBD_CAUSE_KNOWN_PATH                                                         \
	(CLUE(DEVICE_GONE) | CLUE(PORT_DOWN) | CLUE(ADDRESS_GONE) | CLUE(NO_ROUTE) | \
		CLUE(ROUTE_WITHOUT_RDMA) | CLUE(NEIGHBOUR_SILENT))

#define VBD_CAUSE_PEER_SAID (CLUE(PEER_CLOSED) | CLUE(PEER_STOPPED) | CLUE(PEER_FAILED))

/* clang-format off */
#define VBD_CAUSE_MAP(X) \
	X(FAULT_ON_PURPOSE, "fault_on_purpose", VBD_CAUSE_FAULTY, CLUE(FAULT), 0, 0, 110, GUEST, \
		"the fault {fault} hit it, which a client of this verbsd asked for", \
		"Faults are for tests: `verbsctl faults ls` lists those that are left, and `verbsctl faults rm` ends one.") \
	X(DEVICE_REMOVED, "device_removed", OUT(DEVICE_LOST) | VBD_CAUSE_BREAKDOWN, CLUE(DEVICE_GONE), 0, 0, 100, GUEST, \
		"device {device} was removed", \
		"Add the device again (`rdma link add`, or load its driver), and connect again.") \
	X(INTERFACE_DOWN, "interface_down", OUT(WELL) | VBD_CAUSE_BREAKDOWN, CLUE(PORT_DOWN), CLUE(DEVICE_GONE), 0, 95, GUEST, \
		"the interface here is down: port {port_num} of {device} is {port_state}", \
		"`ip link set {netdev} up`, check the cable, and connect again; on InfiniBand check that a subnet manager runs.") \
	X(ADDRESS_GONE, "address_gone", OUT(WELL) | VBD_CAUSE_BREAKDOWN, CLUE(ADDRESS_GONE), CLUE(PORT_DOWN) | CLUE(DEVICE_GONE), 0, 92, GUEST, \
		"the address of this side was taken from {netdev}, and packets with it go nowhere", \
		"Give {netdev} its old address again, or connect again from its present one.") \
	X(NO_ROUTE, "no_route", VBD_CAUSE_SILENCE, CLUE(NO_ROUTE), CLUE(PORT_DOWN), 0, 90, GUEST, \
		"this host has no route to {host}", \
		"`ip route get {host}` must name an interface: add an address or a route, or set the interface up (`ip -br link`).") \
	X(ROUTE_WITHOUT_RDMA, "route_without_rdma", VBD_CAUSE_SILENCE, CLUE(ROUTE_WITHOUT_RDMA), CLUE(PORT_DOWN), 0, 88, GUEST, \
		"packets to {host} leave by {netdev}, to which no RDMA device belongs", \
		"Add a route to {host} over an interface that `rdma link` lists, or give {netdev} a device.") \
	X(HOST_GONE, "host_gone", VBD_CAUSE_SILENCE, CLUE(NEIGHBOUR_SILENT), CLUE(PORT_DOWN) | CLUE(ROUTE_MOVED), CLUE(GATEWAY), 86, GUEST, \
		"{router}{host} does not answer on {netdev}", \
		"Check the address, that the host is up, and cable and VLAN on both sides: `ip neigh show {next_hop}`; then connect again.") \
	X(NEIGHBOUR_BY_HAND, "neighbour_by_hand", VBD_CAUSE_SILENCE, CLUE(NEIGHBOUR_BY_HAND) | CLUE(CM_UNHEARD), CLUE(RNR_CAME) | CLUE(MRA_CAME) | CLUE(CM_SILENT) | CLUE(PORT_DOWN) | CLUE(ROUTE_MOVED), 0, 70, GUEST, \
		"packets to {next_hop} go to a hardware address{hwaddr}, which somebody has set by hand on {netdev}, and no RDMA device answers there", \
		"Compare it with that of {next_hop} (`ip -br link` there); `ip neigh del {next_hop} dev {netdev}` lets the kernel ask for it again.") \
	X(ADDRESS_TAKEN, "address_taken", OUT(MOVED), 0, 0, 0, 50, GUEST, \
		"{host}" VBD_TEXT_ADDRESS_TAKEN("{hwaddr}"), VBD_HINT_ADDRESS_TAKEN) \
	X(PORT_FELL, "port_fell", VBD_CAUSE_BREAKDOWN | OUT(PEER_LEFT), CLUE(PORT_FELL), 0, 0, 78, GUEST, \
		"the port of {device} here went down, and {after_fall}", \
		"Connect again; if it happens again, check cable and switch.") \
	X(ROUTE_MOVED, "route_moved", VBD_CAUSE_SILENCE, CLUE(ROUTE_MOVED), VBD_CAUSE_KNOWN_PATH & ~CLUE(NEIGHBOUR_SILENT), 0, 75, GUEST, \
		"the route to {host} has moved to {netdev}, and the connection has the address of another interface", \
		"Connect again; see `ip route get {host}`.") \
	X(WRONG_DEVICE, "wrong_device", OUT(RESOLVING) | OUT(UNRESOLVED) | OUT(CONNECTING) | OUT(UNANSWERED) | OUT(REJECTED), CLUE(OTHER_DEVICE), VBD_CAUSE_KNOWN_PATH & ~CLUE(NEIGHBOUR_SILENT), 0, 74, GUESTS, \
		"packets to {host} leave by {netdev}, which is not an interface of {device}, the device that was asked for", \
		"Connect without a device, or name that of {netdev}: `rdma link` lists both.") \
	X(NOT_RESOLVED, "not_resolved", OUT(RESOLVING) | OUT(UNRESOLVED), 0, VBD_CAUSE_KNOWN_PATH, 0, 20, UNIT("wherever the kernel tells route and neighbour, a cause above is known"), \
		"no way to {host} was found in {waited}: no host has that address, a cable or VLAN is missing, no RDMA device here has a GID for the source address, or over InfiniBand no subnet manager gives a path", \
		"`ping {host}` tells whether the host answers at all; `ip route get {host}` names the interface, which `rdma link` must list; over InfiniBand `sminfo` whether a subnet manager runs.") \
	X(DEVICE_NOT_OPENED, "device_not_opened", OUT(RESOLVING) | OUT(UNRESOLVED), CLUE(NOT_OPENED), 0, 0, 96, GUEST, \
		"librdmacm can't open the RDMA device of the address in this process: a limit is reached, as of its rdma cgroup or of descriptors", \
		"Compare rdma.current with rdma.max of the cgroup that `cat /proc/$(pidof verbsd)/cgroup` names, and see `prlimit -p $(pidof verbsd)`.") \
	X(NAME_UNKNOWN, "name_unknown", OUT(NAMELESS), 0, 0, CLUE(NO_NAME_SERVER), 50, GUEST, \
		"{nameless}", \
		"Check the spelling (`getent ahosts {asked}`) and the servers in /etc/resolv.conf; or give an address.") \
	X(NOBODY_LISTENS, "nobody_listens", OUT(REJECTED), CLUE(REJ_NO_SERVICE), 0, 0, 50, GUEST, \
		"nobody listens for connections at {peer}{reset}", \
		"Start the listener on the peer, or check the port number: `rdma resource show cm_id` there lists the listeners of all programs; one with `ps UDP` is for datagrams.") \
	X(REFUSED_WITH_WORDS, "refused_with_words", OUT(REJECTED), CLUE(REJ_PROGRAM) | CLUE(WORDS), 0, CLUE(VERBSD_SAID), 60, GUEST, \
		"the {refuser} at {peer} refused: {said}", \
		"{told_advice}") \
	X(REFUSED_BY_PROGRAM, "refused_by_program", OUT(REJECTED), CLUE(REJ_PROGRAM), CLUE(WORDS), 0, 50, GUEST, \
		"the program at {peer} refused and did not say why, ended before it had decided, or {otherwise}", \
		"See on {host} at which address it listens (`rdma resource show cm_id`), and whether it runs; its log has more: its policy, a limit, a decision that came too late.") \
	X(REFUSED_BY_CM, "refused_by_cm", OUT(REJECTED), 0, CLUE(REJ_NO_SERVICE) | CLUE(REJ_PROGRAM), 0, 20, GUEST, \
		"the CM of {host} rejected the request: {reject}", \
		"{reject_advice}") \
	X(PEER_UNDECIDED, "peer_undecided", OUT(CONNECTING) | OUT(UNANSWERED), CLUE(MRA_CAME), VBD_CAUSE_KNOWN_PATH, 0, 78, GUEST, \
		"the program at {peer} has the request and did not decide in {waited}", \
		"Accept or reject there (`verbsctl accept`); if the program should do it by itself, it is stopped or busy: see its state and log.") \
	X(NOT_IWARP, "not_iwarp", OUT(CONNECTING) | OUT(UNANSWERED), CLUE(IWARP) | CLUE(TCP_OPEN), CLUE(MRA_CAME) | VBD_CAUSE_KNOWN_PATH, 0, 60, GUEST, \
		"{peer} took the TCP connection, and the handshake of iWARP did not end in {waited}: a program that is not iWARP listens there, its program has not decided, or siw of this host has failed", \
		"Look on the peer who listens on the port (`ss -ltnp`, `rdma resource show cm_id`), and whether the request waits there (`verbsctl ls`). After an Oops of siw in the kernel log here (`dmesg`) its connections work no more until this host is restarted.") \
	X(CM_DEAF, "cm_deaf", OUT(CONNECTING) | OUT(UNANSWERED), CLUE(CM_SILENT), CLUE(MRA_CAME) | CLUE(IWARP) | VBD_CAUSE_KNOWN_PATH, 0, 70, GUEST, \
		"no message for the connection manager has come in on {device} since its interface was down: Soft-RoCE may have gone deaf, or {host} does not answer", \
		VBD_CM_SILENCE_HINT) \
	X(BACKLOG_FULL_THERE, "backlog_full_there", OUT(CONNECTING) | OUT(UNANSWERED), CLUE(CM_ANSWERED) | CLUE(REQ_REPEATED), CLUE(MRA_CAME) | CLUE(IWARP) | VBD_CAUSE_KNOWN_PATH, 0, 60, GUEST, \
		"{host} drops the connect requests for port {port}: the backlog of its listener is full, because its program does not take requests", \
		"See on {host} whether the program runs, is stopped or hangs; a larger backlog lets more requests wait (`verbsctl listen --backlog`).") \
	X(NOT_TAKEN_YET, "not_taken_yet", OUT(CONNECTING) | OUT(UNANSWERED), CLUE(CM_ANSWERED), CLUE(REQ_REPEATED) | CLUE(MRA_CAME) | CLUE(IWARP) | VBD_CAUSE_KNOWN_PATH, 0, 55, GUEST, \
		"the RDMA device of {host} answers, and the program at port {port} has not decided in {waited}: it waits for somebody who decides, is busy or stopped, or has a full backlog", \
		"See on {host} whether the program runs, and whether the request waits for a decision there (`verbsctl ls`, `verbsctl accept`). A request of 15 s or longer (timeout_ms) is told whether the backlog is full.") \
	X(NO_ANSWER, "no_answer", OUT(CONNECTING) | OUT(UNANSWERED), 0, CLUE(CM_ANSWERED) | CLUE(MRA_CAME) | CLUE(TCP_OPEN) | VBD_CAUSE_KNOWN_PATH, CLUE(REQ_REPEATED) | CLUE(SILENT) | CLUE(CM_UNHEARD), 29, GUEST, \
		"no answer to the connect request came from {peer} in {waited}: {unheard}", \
		"`ping {host}` tells whether the host is up. There `rdma link` shows whether it has a device; `verbsctl listeners ls` or `rdma resource show cm_id` whether requests wait undecided; else open {transport} both ways.") \
	X(NOT_CONFIRMED, "not_confirmed", OUT(UNCONFIRMED), 0, VBD_CAUSE_KNOWN_PATH, CLUE(SILENT), 30, GUEST, \
		"{host}" VBD_TEXT_NOT_CONFIRMED, VBD_HINT_NOT_CONFIRMED) \
	X(UNDECIDED_HERE, "undecided_here", OUT(UNDECIDED) | OUT(NOT_DECIDED), 0, 0, 0, 50, GUEST, \
		"nobody here has accepted or rejected the request of {host} in {waited}", \
		"Accept or reject it (`verbsctl accept`, `verbsctl reject`), raise accept_timeout_ms, or let the listener accept by itself: policy auto.") \
	X(NO_REMOTE, "no_remote", OUT(AWAITING) | OUT(NO_REMOTE), 0, 0, 0, 50, GUEST, \
		"nobody gave the attributes of the peer's queue pair in {waited}", \
		"Set them: `verbsctl connections remote`, or POST …/remote with manual.local of the peer.") \
	X(PATH_MTU_DIFFERS, "path_mtu_differs", OUT(INVALID) | OUT(OPERATION) | OUT(REFUSED) | OUT(RECEIVE_FAILED) | OUT(QP_FAILED) | VBD_CAUSE_NO_PROGRESS, CLUE(PEER_MTU_OTHER), CLUE(PEER_RECEIVE_SHORTER) | CLUE(PEER_LENGTH_TOLD), 0, 73, GUEST, \
		"the path MTU is {path_mtu} bytes here and {peer_mtu} on the side of {host}, and longer messages can't pass", \
		"Give both sides the same qp.path_mtu_bytes, or leave it out on both.") \
	X(ACCESS_REFUSED, "access_refused", OUT(ACCESS), 0, 0, 0, 50, GUEST, \
		"the peer's device refused a {what}: {refusal}", \
		"Get address, rkey and length from the peer again, and compare them with the request (`explain` shows it); its buffer needs the access for a {op}. A verbsd there tells its own callers which it was (`verbsctl explain`).") \
	X(MESSAGE_TOO_LONG, "message_too_long", OUT(OPERATION) | OUT(INVALID), CLUE(OP_SENDS), 0, CLUE(LONGER_THAN_HERE) | CLUE(PEER_RECEIVE_SHORTER), 50, GUEST, \
		"a {what} did not fit into a receive of the peer{receive_there}", \
		"Send less at a time, or raise recv_size_bytes on the receiving side (`listen --recv-size`); see whether the program on {host} still runs.") \
	X(PEER_QP_FORBIDS, "peer_qp_forbids", OUT(INVALID), CLUE(OP_REMOTE), CLUE(OP_SENDS), 0, 40, GUEST, \
		"the peer's queue pair does not allow a {what}, has too many reads outstanding, or another path MTU than {path_mtu} bytes", \
		"Compare qp.remote_access, qp.responder_resources and the path MTU of the peer with the request and this side.") \
	X(PEER_DEVICE_FAILED, "peer_device_failed", OUT(OPERATION) | OUT(INVALID), 0, CLUE(OP_SENDS), 0, 30, GUEST, \
		"the peer's device failed a {what}", \
		"See the first error of the peer's connection, and the kernel log there.") \
	X(NO_RECEIVE, "no_receive", OUT(RNR) | VBD_CAUSE_NO_PROGRESS, CLUE(NO_RECEIVE_THERE) | CLUE(OP_SENDS), 0, CLUE(RNR_CAME) | CLUE(PEER_INBOX_FULL), 72, GUEST, \
		"the peer had no receive left for a {what}{unread_there}", \
		"Let a client of the peer read and delete its messages, give it more receives (qp.rq_depth), or a service that answers; a larger qp.rnr_retry and qp.retry_count here wait longer.") \
	X(MTU_TOO_LARGE, "mtu_too_large", VBD_CAUSE_NO_PROGRESS, CLUE(MTU_TOO_LARGE), VBD_CAUSE_KNOWN_PATH, CLUE(OVER_ONE_PACKET), 65, GUESTS, \
		"packets with the path MTU of {path_mtu} bytes do not fit through {netdev}, which carries {route_mtu}", \
		"Give the interfaces of both sides the same MTU, or connect again with a smaller path_mtu_bytes.") \
	X(WAY_TOO_NARROW, "way_too_narrow", VBD_CAUSE_NO_PROGRESS, CLUE(LONG_DATA) | CLUE(CM_ANSWERED), CLUE(BY_HAND) | CLUE(MTU_TOO_LARGE) | CLUE(HELD_BACK) | CLUE(RNR_CAME) | CLUE(PEER_FORGOT) | CLUE(IWARP) | VBD_CAUSE_KNOWN_PATH, 0, 67, UNIT("a verbsd there refuses such a connection, and no other program of the lab answers such a question"), \
		"the RDMA device of {host} answers, and the data of a {what} does not pass: an interface or a switch carries less than the path MTU of {path_mtu} bytes, or the queue pair there is gone", \
		"Compare `ip link` of both sides, and give both the same MTU (`ping -M do -s {path_mtu}` from {host} must pass), or connect again with a smaller path_mtu_bytes on both.") \
	X(WRONG_PSN_HERE, "wrong_psn_here", OUT(WELL) | OUT(UNSENT), CLUE(BY_HAND) | CLUE(NEVER_HEARD) | CLUE(NEVER_ACKED) | CLUE(OUT_OF_STEP), VBD_CAUSE_KNOWN_PATH, 0, 66, GUEST, \
		"packets of the peer come, and this queue pair drops them: the PSN that it was given is not the one that the peer sends from", \
		"Compare manual.remote.psn here with manual.local.psn of the peer, and bring both queue pairs up anew.") \
	X(WRONG_REMOTE, "wrong_remote", VBD_CAUSE_NO_PROGRESS, CLUE(BY_HAND) | CLUE(NEVER_ACKED), VBD_CAUSE_KNOWN_PATH | CLUE(RNR_CAME), CLUE(CM_ANSWERED) | CLUE(CM_UNHEARD) | CLUE(SILENT), 60, GUEST, \
		"the peer never acknowledged anything: QP number, GID or PSN that one of the sides was given are not those of the other, or its queue pair is not in RTR", \
		"Compare manual.local of each side with manual.remote of the other, and bring the peer's queue pair up.") \
	X(PACKETS_LOST, "packets_lost", OUT(WELL) | VBD_CAUSE_NO_PROGRESS, CLUE(GAPS), VBD_CAUSE_KNOWN_PATH, CLUE(NEIGHBOUR_KNOWN) | CLUE(RUNS_ON), 45, GUESTS, \
		"the path to {host} loses packets, {loss}", \
		"Look for drops: `ip -s link show {netdev}`, switches and flow control on the way; larger qp.retry_count and qp.ack_timeout bridge short losses.") \
	X(ACKS_LATE, "acks_late", VBD_CAUSE_NO_PROGRESS | OUT(SILENT) | OUT(PEER_LEFT), CLUE(ACKS_LOST), CLUE(RNR_CAME) | CLUE(PORT_DOWN), 0, 54, UNIT("the reports of two guests travel with the packets that get lost"), \
		"acknowledgements came too late or got lost between {host} and this side: one side waited for them, and nothing had failed on the other", \
		"Raise qp.ack_timeout (each step doubles the time) and qp.retry_count of the side that waited, and look for drops: `ip -s link show {netdev}`, switches and flow control.") \
	X(TIMEOUT_TOO_SHORT, "timeout_too_short", OUT(UNACKED), CLUE(SLOW_WAY), CLUE(RNR_CAME) | VBD_CAUSE_KNOWN_PATH, 0, 62, GUESTS, \
		"an answer of {host} takes {rtt}, and this side waits {patience} for an acknowledgement, with all retries", \
		"Raise qp.ack_timeout (each step doubles the time) and qp.retry_count, or look for what delays packets on the way.") \
	X(TOO_SLOW, "too_slow", OUT(LATE), CLUE(MOVED_ON), CLUE(CONGESTED) | CLUE(RNR_CAME) | CLUE(HELD_BACK) | VBD_CAUSE_KNOWN_PATH, 0, 58, GUESTS, \
		"{request} had done {done} of {length} bytes when its deadline passed after {waited}: it is slower than the deadline allows", \
		"Raise timeout_ms, or look for what slows it: `ip -s link show {netdev}`, or a benchmark (`verbsctl bench`).") \
	X(CONGESTED, "congested", OUT(LATE), CLUE(MOVED_ON) | CLUE(CONGESTED), CLUE(RNR_CAME) | CLUE(HELD_BACK) | VBD_CAUSE_KNOWN_PATH, 0, 58, UNIT("the devices of the lab obey no marks of congestion"), \
		"{request} had done {done} of {length} bytes when its deadline passed after {waited}: switches on the way are congested, and {device} was told to send slower ({slowed} times)", \
		"See who else sends through these switches at that time, many to one above all, and compare ECN and PFC of switches and hosts; or raise timeout_ms.") \
	X(QP_GONE_THERE, "qp_gone_there", VBD_CAUSE_NO_PROGRESS | OUT(SILENT), CLUE(CM_ANSWERED), CLUE(ACKS_LOST) | CLUE(HELD_BACK) | CLUE(RNR_CAME) | CLUE(IWARP) | CLUE(OP_RECEIVES) | VBD_CAUSE_KNOWN_PATH, 0, 50, GUEST, \
		"the RDMA device of {host} answers, and the queue pair of this connection no longer does: it failed or was destroyed there, or host or device were started anew", \
		"Look at the connection and the log on the peer's host, and connect again.") \
	X(NOTHING_SENT, "nothing_sent", OUT(UNSENT) | OUT(LATE), CLUE(OP_RECEIVES), VBD_CAUSE_KNOWN_PATH, 0, 57, GUEST, \
		"{request} has waited {waited} for a message, and the peer has sent none: {signs}", \
		"See what the program of the peer waits for, and whether it sends on this connection.") \
	X(NOT_ACKNOWLEDGED, "not_acknowledged", VBD_CAUSE_NO_PROGRESS | OUT(SILENT), 0, CLUE(HELD_BACK) | VBD_CAUSE_KNOWN_PATH, CLUE(SILENT) | CLUE(CM_UNHEARD), 29, GUESTS, \
		"{host} did not acknowledge {awaited}: {silence}", \
		"`ping {host}` tells whether the host is up; if it is, look at the connection on the peer's host, then check that {transport} passes both ways. Then connect again.") \
	X(HELD_BACK, "held_back", VBD_CAUSE_NO_PROGRESS | OUT(SILENT), CLUE(HELD_BACK), 0, 0, 73, GUEST, \
		"sends wait here, because the queue pair can't send in its state", \
		"Move the queue pair to RTS.") \
	X(INBOX_FULL, "inbox_full", OUT(WELL) | OUT(STUCK), CLUE(USED_UP), 0, CLUE(INBOX_FULL) | CLUE(SRQ_EMPTY), 30, GUEST, \
		"{used_up}, so the peer waits", \
		"{used_up_advice}") \
	X(RECEIVE_TOO_SHORT, "receive_too_short", OUT(RECEIVE_FAILED), CLUE(RECEIVE_TOO_SHORT), CLUE(PORT_DOWN), CLUE(PEER_LENGTH_TOLD), 50, GUEST, \
		"the peer sent a message{of_length} longer than a receive here, which has {receive} bytes", \
		"Create the listener or connection with a larger recv_size_bytes (`listen --recv-size`), or let the peer send less at a time.") \
	X(NOTHING_OPEN, "nothing_open", OUT(REFUSED), CLUE(NOTHING_OPEN), CLUE(PORT_DOWN), CLUE(OTHER_DEVICE_OPEN), 58, GUEST, \
		"the peer reached for memory, and {nothing_open}", \
		"Create a buffer on the device of the connection that is open to peers (`verbsctl buffers create --device {device} --access`), and give the peer its address and rkey.") \
	X(OTHER_PD, "other_pd", OUT(REFUSED), CLUE(OTHER_PD_OPEN), CLUE(PORT_DOWN), 0, 58, GUEST, \
		"the peer reached for memory here that is in another protection domain than its connection", \
		"Create buffer and listener in one protection domain (`--pd`).") \
	X(REFUSED_HERE, "refused_here", OUT(REFUSED), 0, CLUE(PORT_DOWN) | CLUE(NOTHING_TO_REACH) | CLUE(OTHER_PD_OPEN), CLUE(NO_SUCH_KEY_HERE) | CLUE(PAST_END_HERE) | CLUE(NO_ACCESS_HERE), 50, GUEST, \
		"the peer {reached}", \
		"Compare what {host} asked for (`explain` there shows address, key and length) with the buffers and windows here; give it address, rkey and size of one that grants a {peer_op} (`verbsctl buffers create --access`), and tell it before that is deleted.") \
	X(SPEAKS_OTHERWISE, "speaks_otherwise", OUT(SERVICE), 0, 0, 0, 50, GUEST, \
		"the peer does not speak the protocol of the service here: {error}", \
		"Use the same service on both sides; a plain peer needs service inbox.") \
	X(FULL_MEMLOCK, "full_memlock", OUT(RESOURCE), CLUE(FULL_MEMLOCK), 0, 0, 50, GUEST, \
		"this verbsd may lock no more memory", \
		"Raise RLIMIT_MEMLOCK: LimitMEMLOCK=infinity in the unit, or `ulimit -l`.") \
	X(FULL_CGROUP, "full_cgroup", OUT(RESOURCE), CLUE(FULL_CGROUP), 0, 0, 55, GUEST, \
		"the rdma cgroup of this verbsd allows no more objects on {device}", \
		"Raise the limits for {device} in rdma.max of its cgroup, which `cat /proc/$(pidof verbsd)/cgroup` names; rdma.current has the usage.") \
	X(ADDRESS_WITHOUT_RDMA, "address_without_rdma", OUT(RESOLVING) | OUT(UNRESOLVED) | OUT(RESOURCE), CLUE(WITHOUT_RDMA), 0, CLUE(NOT_SERVED) | CLUE(LOCAL), 60, GUEST, \
		"{without_rdma}", \
		"Use an address of an interface that `rdma link` lists (the loopback has no RDMA device), or give that interface a device.") \
	X(PORT_TAKEN, "port_taken", OUT(RESOURCE), CLUE(PORT_TAKEN), 0, 0, 50, GUEST, \
		"the port that this side was to have is taken by another program, connection or listener", \
		"Choose another src_port, or leave it out to let the kernel pick one.") \
	X(FAILED_HERE, "failed_here", OUT(RESOURCE) | OUT(REQUEST_FAILED) | OUT(RECEIVE_FAILED) | OUT(BIND) | OUT(QP_FAILED) | OUT(HANDSHAKE) | OUT(PROTOCOL), 0, 0, 0, 20, UNIT("what a test can make fail here is named above"), \
		"{error}", \
		"The call and its number are in error.first; see the timeline, and the kernel log of this host (`dmesg`).") \
	X(CLOSED_THERE, "closed_there", OUT(PEER_LEFT) | OUT(UNACKED) | OUT(SILENT), CLUE(PEER_CLOSED), 0, 0, 79, GUEST, \
		"a client of the verbsd at {host} closed the connection", \
		"Nothing, if that was meant; the event log there has the time.") \
	X(STOPPED_THERE, "stopped_there", OUT(PEER_LEFT) | OUT(UNACKED) | OUT(SILENT), CLUE(ENDED_THERE), 0, CLUE(PEER_STOPPED) | CLUE(PEER_ANEW), 69, GUEST, \
		"the verbsd at {host} was {stopped}", \
		"Connect again when it runs again; see on {host} why it ended (`journalctl -u verbsd`).") \
	X(FAILED_THERE, "failed_there", OUT(PEER_LEFT) | OUT(UNACKED) | OUT(SILENT), CLUE(PEER_FAILED), 0, 0, 79, GUEST, \
		"the connection failed first on the side of {host}, which reports \"{peer_reason}\"", \
		"`verbsctl explain` of the connection there has the cause.") \
	X(FORGOTTEN_THERE, "forgotten_there", OUT(PEER_LEFT) | OUT(UNACKED) | OUT(SILENT), CLUE(PEER_FORGOT), CLUE(PEER_ANEW) | CLUE(PORT_DOWN), 0, 57, GUEST, \
		"a verbsd runs at {host} and does not know the connection: a client has deleted it there, or the peer was another program or verbsd, which closed it or ended", \
		"See the event log of that verbsd for the deletion, else the log of the program on {host} that had the connection; connect again.") \
	X(PEER_LEFT_UNSERVED, "peer_left_unserved", OUT(PEER_LEFT), CLUE(USED_UP), CLUE(PORT_FELL) | CLUE(PEER_CLOSED) | CLUE(PEER_STOPPED), CLUE(INBOX_FULL) | CLUE(SRQ_EMPTY) | CLUE(RNR_TOLD), 71, GUEST, \
		"the peer disconnected when it could send no more: {used_up}", \
		"{used_up_advice}") \
	X(PEER_LEFT, "peer_left", OUT(PEER_LEFT), 0, CLUE(PORT_FELL) | CLUE(PEER_FORGOT) | CLUE(ACKS_LOST) | VBD_CAUSE_PEER_SAID, CLUE(IWARP) | CLUE(OUTSTANDING) | CLUE(CM_ANSWERED) | CLUE(CM_UNHEARD), 30, GUESTS, \
		"the peer disconnected{meanwhile}: {left}", \
		"{left_advice}") \
	X(CLOSED_HERE, "closed_here", OUT(CLOSED) | OUT(REJECTED_HERE), 0, 0, CLUE(LISTENER_DELETED), 50, GUEST, \
		"a client of this verbsd {closed}", \
		"{closed_advice}") \
	X(CANCELLED_HERE, "cancelled_here", OUT(CANCELLED), 0, 0, 0, 30, GUEST, \
		"a client cancelled {request} when the device already had its work requests, and only the end of the queue pair takes these back", \
		"Connect again. A transfer whose peer takes what it sends can be cancelled without that.")
/* clang-format on */

#endif
