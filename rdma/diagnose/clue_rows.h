/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clues: facts that speak for a cause or against it. The rows of rdma/diagnose/clue.c are
 * X(SYMBOL, text): what the fact says, a clause without a full stop. Placeholders:
 * rdma/diagnose/words.h.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_CLUE_ROWS_H
#define VBD_RDMA_DIAGNOSE_CLUE_ROWS_H

/* clang-format off */
#define VBD_CLUE_MAP(X) \
	X(DEVICE_GONE, "device {device} was removed") \
	X(FAULT, "the fault {fault}, which a client asked for, hit the connection") \
	X(PORT_DOWN, "port {port_num} of {device} is {port_state}") \
	X(PORT_FELL, "a port of {device} went down meanwhile") \
	X(ADDRESS_GONE, "the GID table of {device} no longer has the connection's address") \
	X(NO_ROUTE, "the kernel has no route to {host}") \
	X(ROUTE_WITHOUT_RDMA, "the route to {host} leaves by {netdev}, to which no RDMA device belongs") \
	X(ROUTE_MOVED, "the route to {host} leaves by {netdev} now") \
	X(LOCAL, "{host} is an address of this host") \
	X(GATEWAY, "{host} is behind a router") \
	X(NEIGHBOUR_SILENT, "nobody answers on {netdev} for {next_hop}") \
	X(NEIGHBOUR_KNOWN, "on {netdev} the hardware address of {next_hop} is known") \
	X(NEIGHBOUR_BY_HAND, "on {netdev} the hardware address of {next_hop} was set by hand{hwaddr}") \
	X(OTHER_DEVICE, "{netdev} is not an interface of {device}") \
	X(PEER_MTU_OTHER, "the path MTU is {path_mtu} bytes here, and the verbsd of {host} reports {peer_mtu}") \
	X(PEER_INBOX_FULL, "the verbsd of {host} reports that all its receives hold messages") \
	X(NOT_OPENED, "librdmacm could not open the device in this process") \
	X(NO_NAME_SERVER, "the question for the name was not answered") \
	X(MTU_TOO_LARGE, "the path MTU is {path_mtu}, and {netdev} carries {route_mtu} with all headers") \
	X(RNR_CAME, "the peer answered that it has no receive posted ({rnr_came} times)") \
	X(RNR_TOLD, "{device} answered peers that no receive is posted ({rnr_told} times)") \
	X(NO_RECEIVE_LEFT, "no receive was posted here") \
	X(GAPS, "packets were missing ({gaps} times)") \
	X(OUT_OF_STEP, "packets came to {device} with other sequence numbers than were due ({out_of_step} times)") \
	X(MANY_GAPS, "packets were missing {gaps} times among {packets_sent} that {device} sent") \
	X(RUNS_ON, "{request} goes on") \
	X(LONG_DATA, "the data of the request goes in packets with the path MTU of {path_mtu} bytes") \
	X(CM_ANSWERED, "the RDMA device of {host} answered a question just now") \
	X(CM_UNHEARD, "no RDMA device answered a question to {host}") \
	X(SLOW_WAY, "an answer of {host} took {rtt}, and an acknowledgement is awaited for {patience}") \
	X(SILENT, "no RDMA packet came to {device}, which sent {packets_sent}") \
	X(REQ_REPEATED, "the CM has repeated the connect request, and no answer was counted") \
	X(MRA_CAME, "the peer's kernel answered that its program has the request and has not decided") \
	X(INBOX_FULL, "all {inbox} receives here hold messages") \
	X(SRQ_EMPTY, "shared receive queue {srq} has no receive left") \
	X(OP_SENDS, "a {op} takes a receive of the peer") \
	X(OP_REMOTE, "a {op} works on memory of the peer") \
	X(LONGER_THAN_HERE, "the message had {length} bytes, and receives here have {receive}") \
	X(OVER_ONE_PACKET, "the request was longer than one packet") \
	X(RECEIVE_TOO_SHORT, "a receive here failed because of its length") \
	X(NEVER_ACKED, "nothing was ever acknowledged on this connection") \
	X(NEVER_HEARD, "the peer has sent no message on this connection") \
	X(OP_RECEIVES, "a {op} waits for a message of the peer") \
	X(BY_HAND, "the queue pair was brought up by hand") \
	X(HELD_BACK, "the queue pair here can't send in its state") \
	X(NOTHING_OPEN, "no buffer of {device} here was open to peers") \
	X(OTHER_DEVICE_OPEN, "a buffer of {open_device} here was open to peers") \
	X(OTHER_PD_OPEN, "the buffers here that were open to peers are in another protection domain than the connection") \
	X(MOVED_ON, "{done} of {length} bytes were done") \
	X(TCP_OPEN, "the kernel's TCP has connected") \
	X(OUTSTANDING, "requests of this side were outstanding") \
	X(CM_SILENT, "no message for the CM has come in on {device} since its interface was down") \
	X(LISTENER_DELETED, "the listener was deleted before anybody decided") \
	X(WORDS, "the peer said \"{words}\"") \
	X(VERBSD_SAID, "the verbsd there rejected the request, and said why") \
	X(PEER_CLOSED, "the verbsd of {host} reports that a client closed the connection there") \
	X(PEER_STOPPED, "the verbsd of {host} reports that it was stopped") \
	X(PEER_FAILED, "the verbsd of {host} reports that the connection failed there: \"{peer_reason}\"") \
	X(PEER_FORGOT, "a verbsd at {host} answers that it does not know the connection") \
	X(PEER_ANEW, "the verbsd of {host} was started after this connection was established") \
	X(PEER_RECEIVE_SHORTER, "the verbsd of {host} reports receives of {peer_receive} bytes") \
	X(PEER_LENGTH_TOLD, "the verbsd of {host} reports that its {peer_op} had {peer_length} bytes") \
	X(NO_SUCH_KEY_HERE, "the verbsd of {host} reports a {peer_what}, and no memory here has its key") \
	X(PAST_END_HERE, "the verbsd of {host} reports a {peer_what}, which goes past the end of the memory here{over}") \
	X(NO_ACCESS_HERE, "the verbsd of {host} reports a {peer_what}, which the memory here does not grant") \
	X(REJ_NO_SERVICE, "the peer's kernel knows no listener on that port") \
	X(REJ_PROGRAM, "the peer's program decided") \
	X(IWARP, "device {device} is iWARP") \
	X(NOT_SERVED, "no RDMA device here has the address") \
	X(PORT_TAKEN, "the kernel says that the port is in use") \
	X(FULL_MEMLOCK, "the limit of locked memory is reached") \
	X(FULL_CGROUP, "the kernel says EAGAIN, as at a limit of the rdma cgroup")
/* clang-format on */

struct vbd_facts;

enum vbd_clue {
#define VBD_CLUE_ENUM(sym, text) VBD_CLUE_##sym,
	VBD_CLUE_MAP(VBD_CLUE_ENUM)
#undef VBD_CLUE_ENUM
		VBD_CLUE_COUNT
};

/* A set of clues: VBD_CLUE_BIT() of each. */
__extension__ typedef unsigned __int128 vbd_clue_set;

#define VBD_CLUE_BIT(clue) ((vbd_clue_set)1 << (clue))

_Static_assert(VBD_CLUE_COUNT <= 128, "clues are the bits of a vbd_clue_set");

/** vbd_clues_find - the clues in @facts */
vbd_clue_set vbd_clues_find(const struct vbd_facts *facts);

/** vbd_clue_text - the text of a clue, with placeholders (rdma/diagnose/words.h) */
const char *vbd_clue_text(enum vbd_clue clue);

#endif
