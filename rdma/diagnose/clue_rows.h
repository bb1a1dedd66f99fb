/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clues: facts that speak for a cause or against it, on which a part of its text depends, or from
 * which a finding follows. X(SYMBOL, condition, text)
 *
 *   condition  an expression over the variables of vbd_clues_find()
 *   text       a clause without a full stop, with placeholders of rdma/diagnose/words.h; "": the
 *              clue is not told
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_CLUE_ROWS_H
#define VBD_RDMA_DIAGNOSE_CLUE_ROWS_H

/* clang-format off */
#define VBD_CLUE_MAP(X) \
	X(DEVICE_GONE, facts->device_removed || incident->outcome == VBD_OUTCOME_DEVICE_LOST, \
		"device {device} was removed") \
	X(FAULT, incident->fault, "the fault {fault}, which a client asked for, hit the connection") \
	X(PORT_DOWN, is_port_down(facts), "port {port_num} of {device} is {port_state}") \
	X(PORT_FELL, is_port_fallen(facts), "a port of {device} went down meanwhile") \
	X(ADDRESS_GONE, facts->qp.sgid_known && facts->sgid_gone, \
		"the GID table of {device} no longer has the connection's address") \
	X(NO_ROUTE, facts->netroute_known && netroute->route_errnum, "the kernel has no route to {host}") \
	X(ROUTE_WITHOUT_RDMA, routed && !facts->netroute_has_rdma, \
		"the route to {host} leaves by {netdev}, to which no RDMA device belongs") \
	X(ROUTE_MOVED, routed && facts->netroute_has_rdma && facts->qp.sgid_known && *facts->qp.sgid.netdev && !is_text(facts->qp.sgid.netdev, netroute->netdev), \
		"the route to {host} leaves by {netdev} now") \
	X(LOCAL, facts->netroute_known && !netroute->route_errnum && netroute->local, \
		"{host} is an address of this host") \
	X(GATEWAY, routed && netroute->gateway, "{host} is behind a router") \
	X(NEIGHBOUR_SILENT, !facts->answered && (is_text(neighbour, "failed") || is_text(neighbour, "incomplete")), \
		"nobody answers on {netdev} for {next_hop}") \
	X(NEIGHBOUR_KNOWN, neighbour && netroute->hwaddr_bytes, \
		"on {netdev} the hardware address of {next_hop} is known") \
	X(NEIGHBOUR_BY_HAND, is_text(neighbour, "permanent") && netroute->hwaddr_bytes, \
		"on {netdev} the hardware address of {next_hop} was set by hand{hwaddr}") \
	X(OTHER_DEVICE, routed && facts->netroute_has_rdma && *facts->device && !facts->device_removed && !facts->netroute_by_device, \
		"{netdev} is not an interface of {device}") \
	X(PEER_MTU_OTHER, is_mtu_other(facts), \
		"the path MTU is {path_mtu} bytes here, and the verbsd of {host} reports {peer_mtu}") \
	X(PEER_INBOX_FULL, report->known && report->inbox_full, \
		"the verbsd of {host} reports that all its receives hold messages") \
	/* librdmacm has an event of its own for that, with status -1 (ucma_init_device()). */ \
	X(NOT_OPENED, error->source == VBD_SOURCE_CM_EVENT && error->kind == RDMA_CM_EVENT_ADDR_ERROR && error->raw == -1, \
		"librdmacm could not open the device in this process") \
	X(NO_NAME_SERVER, error->source == VBD_SOURCE_GAI && error->raw == EAI_AGAIN, \
		"the question for the name was not answered") \
	X(MTU_TOO_LARGE, routed && !facts->iwarp && netroute->mtu_bytes && facts->qp.path_mtu_bytes + HEADER_BYTES > netroute->mtu_bytes, \
		"the path MTU is {path_mtu}, and {netdev} carries {route_mtu} with all headers") \
	X(RNR_CAME, is_without_receive(incident), "the peer answered that it has no receive posted ({rnr_came} times)") \
	X(RNR_TOLD, is_unserved(facts), \
		"no receive was posted here, and {device} answered peers so ({rnr_told} times)") \
	X(GAPS, loses_packets(incident), "packets were missing ({gaps} times)") \
	/* All connections share the counters: they are a sign only for one that awaits a message. */ \
	X(OUT_OF_STEP, (facts->inbox_capacity || incident->outcome == VBD_OUTCOME_UNSENT) && (traces[VBD_TRACE_GAPS_SEEN] || traces[VBD_TRACE_REPEATS_SEEN]), \
		"packets came to {device} with other sequence numbers than were due ({out_of_step} times)") \
	X(RUNS_ON, runs_on(incident), "{request} goes on") \
	X(LONG_DATA, incident->op >= 0 && facts->qp.path_mtu_bytes > USUAL_MTU_BYTES && incident->length_bytes > USUAL_MTU_BYTES, \
		"the data of the request goes in packets with the path MTU of {path_mtu} bytes") \
	/* A firewall may drop the question or the answer: no answer proves nothing. */ \
	X(CM_ANSWERED, facts->answered, "the RDMA device of {host} answered a question just now") \
	X(CM_UNHEARD, facts->asked && !facts->answered, "no RDMA device answered a question to {host}") \
	X(SLOW_WAY, facts->answered && gives_up && facts->rtt_ns > patience_ms * VBD_NS_PER_MS, \
		"an answer of {host} took {rtt}, and an acknowledgement is awaited for {patience}") \
	X(SILENT, incident->traces_known && traces[VBD_TRACE_PACKETS_SENT] && !traces[VBD_TRACE_PACKETS_CAME], \
		"no RDMA packet came to {device}, which sent {packets_sent}") \
	X(REQ_REPEATED, incident->traces_known && incident->waited_ms >= REPEATED_MS, \
		"the CM has repeated the connect request, and no answer was counted") \
	X(MRA_CAME, traces[VBD_TRACE_MRA_CAME], \
		"the peer's kernel answered that its program has the request and has not decided") \
	X(INBOX_FULL, is_inbox_full(facts), "all {inbox} receives here hold messages") \
	X(SRQ_EMPTY, is_srq_empty(facts), "shared receive queue {srq} has no receive left") \
	X(OP_SENDS, takes_receive(incident) || incident->outcome == VBD_OUTCOME_RNR, \
		"a {op} takes a receive of the peer") \
	X(OP_REMOTE, op->needs_remote, "a {op} works on memory of the peer") \
	X(LONGER_THAN_HERE, op->sends && incident->recv_size_bytes && incident->length_bytes > incident->recv_size_bytes, \
		"the message had {length} bytes, and receives here have {receive}") \
	X(OVER_ONE_PACKET, facts->qp.path_mtu_bytes && incident->length_bytes > facts->qp.path_mtu_bytes, \
		"the request was longer than one packet") \
	X(RECEIVE_TOO_SHORT, is_receive_too_short(facts), "a receive here failed because of its length") \
	X(NEVER_ACKED, !incident->acked && !incident->heartbeats, "nothing was ever acknowledged on this connection") \
	X(NEVER_HEARD, !incident->heard, "the peer has sent no message on this connection") \
	X(OP_RECEIVES, incident->op == VBD_OP_RECV || incident->outcome == VBD_OUTCOME_UNSENT, \
		"a {op} waits for a message of the peer") \
	X(BY_HAND, incident->by_hand, "the queue pair was brought up by hand") \
	X(HELD_BACK, incident->held_back, "the queue pair here can't send in its state") \
	X(NOTHING_OPEN, incident->nothing_open, "no buffer of {device} here was open to peers") \
	X(OTHER_DEVICE_OPEN, *incident->open_device, "a buffer of {open_device} here was open to peers") \
	X(OTHER_PD_OPEN, incident->other_pd_open || facts->judged == VBD_REPORT_MEMORY_OTHER_PD, \
		"memory here that was open to peers is in another protection domain than the connection") \
	X(MOVED_ON, incident->outcome == VBD_OUTCOME_LATE && incident->done_bytes && incident->done_bytes < incident->length_bytes, \
		"{done} of {length} bytes were done") \
	X(CONGESTED, traces[VBD_TRACE_SLOWED], \
		"{device} was told to send slower ({slowed} times), since its packets met a congested switch") \
	X(TCP_OPEN, is_tcp_open(incident), "the kernel's TCP has connected") \
	X(OUTSTANDING, facts->flushed_sends, "requests of this side were outstanding") \
	X(CM_SILENT, facts->cm_silent && !facts->answered, "no message for the CM has come in on {device} since its interface was down") \
	X(LISTENER_DELETED, incident->listener_deleted, "the listener was deleted before anybody decided") \
	X(WORDS, *incident->words, "the peer said \"{words}\"") \
	X(VERBSD_SAID, vbd_rejection_read(incident->words, &rejection), \
		"the verbsd there rejected the request, and said why") \
	X(PEER_CLOSED, report->known && report->reason == VBD_REASON_LOCAL_CLOSE, \
		"the verbsd of {host} reports that a client closed the connection there") \
	X(PEER_STOPPED, report->known && report->reason == VBD_REASON_STOPPING, \
		"the verbsd of {host} reports that it was stopped") \
	X(PEER_FAILED, report->known && tells_cause(facts), \
		"the verbsd of {host} reports that the connection failed there: \"{peer_reason}\"") \
	X(ACKS_LOST, are_acks_lost(facts), "the verbsd of {host} reports of the connection: {there}") \
	X(PEER_FORGOT, facts->peer_replied && !report->known, \
		"a verbsd at {host} answers that it does not know the connection") \
	X(PEER_ANEW, is_anew(facts), \
		"the verbsd of {host} was started after this connection was established") \
	X(PEER_RECEIVE_SHORTER, op->sends && report->known && report->recv_size_bytes && incident->length_bytes > report->recv_size_bytes, "the verbsd of {host} reports receives of {peer_receive} bytes") \
	X(PEER_LENGTH_TOLD, report->known && traits_of(report->op)->sends && report->length_bytes > incident->recv_size_bytes, "the verbsd of {host} reports that its {peer_op} had {peer_length} bytes") \
	X(NO_SUCH_KEY_HERE, facts->judged == VBD_REPORT_MEMORY_NO_SUCH_KEY, \
		"the verbsd of {host} reports a {peer_what}, and no memory here has its key") \
	X(PAST_END_HERE, facts->judged == VBD_REPORT_MEMORY_PAST_END, \
		"the verbsd of {host} reports a {peer_what}, which goes past the end of the memory here{over}") \
	X(NO_ACCESS_HERE, facts->judged == VBD_REPORT_MEMORY_NO_ACCESS, \
		"the verbsd of {host} reports a {peer_what}, which the memory here does not grant") \
	/* Over iWARP rdma_connect(3) may fail at once. */ \
	X(REJ_NO_SERVICE, (rejected && (error->raw == IB_CM_REJ_INVALID_SERVICE_ID || error->raw == -ECONNREFUSED)) || (error->source == VBD_SOURCE_ERRNO && error->raw == ECONNREFUSED), \
		"the peer's kernel knows no listener on that port") \
	X(REJ_PROGRAM, rejected && (error->raw == IB_CM_REJ_CONSUMER_DEFINED || error->raw == -ECONNRESET), \
		"the peer's program decided") \
	X(IWARP, facts->iwarp, "device {device} is iWARP") \
	X(NOT_SERVED, error->status == VBD_E_ADDRESS_NOT_AVAILABLE, "no RDMA device here has the address") \
	X(PORT_TAKEN, error->status == VBD_E_ADDRESS_IN_USE, "the kernel says that the port is in use") \
	X(FULL_MEMLOCK, error->status == VBD_E_MEMLOCK, "the limit of locked memory is reached") \
	/* rdmacg_try_charge(), kernel 6.1; a device that is full says ENOMEM. */ \
	X(FULL_CGROUP, error->status == VBD_E_DEVICE_LIMIT && error->source == VBD_SOURCE_ERRNO && error->raw == EAGAIN, \
		"the kernel says EAGAIN, as at a limit of the rdma cgroup") \
	/* No text: one of the clues above is told, or the row says it. */ \
	X(NO_RECEIVE_THERE, is_without_receive(incident) || (takes_receive(incident) && report->known && report->inbox_full), "") \
	X(USED_UP, is_inbox_full(facts) || is_srq_empty(facts) || is_unserved(facts), "") \
	X(NOTHING_TO_REACH, incident->nothing_open && !is_judged(facts), "") \
	X(WITHOUT_RDMA, error->status == VBD_E_ADDRESS_NOT_AVAILABLE || is_own_address(facts), "") \
	X(ENDED_THERE, is_anew(facts) || (report->known && report->reason == VBD_REASON_STOPPING), "") \
	X(HAS_LEFT, incident->outcome == VBD_OUTCOME_PEER_LEFT, "") \
	X(REJECTED, incident->outcome == VBD_OUTCOME_REJECTED_HERE, "") \
	X(WORKED, incident->done_bytes, "") \
	X(HEARTBEATS, incident->outcome == VBD_OUTCOME_SILENT, "") \
	X(WITHOUT_UDP, facts->iwarp || (facts->port_known && is_text(facts->port.link_layer, "infiniband")), "") \
	/* No text: only findings need these, and a finding is told without its clues. */ \
	X(DESTINATION, facts->destination, "") \
	X(DEVICE_FAILED, facts->failed_device, "") \
	X(ACK_TIMED, facts->qp.ack_timeout, "") \
	X(OPEN, facts->open, "") \
	/* A connection that has ended is not told what it could have had better. */ \
	X(OVER, !facts->open && incident->outcome != VBD_OUTCOME_WELL, "") \
	X(RELIABLE, facts->reliable, "") \
	X(TIMED, facts->open && facts->reliable && !facts->iwarp && facts->qp.sends_known, "") \
	X(GIVES_UP, gives_up, "") \
	X(PATIENT, patience_ms > SLOW_MS, "") \
	X(RNR_LONG, vbd_min_rnr_timer_ns(facts->qp.min_rnr_timer) > RNR_LONG_NS, "") \
	X(NEIGHBOUR_FAILED, is_text(neighbour, "failed"), "") \
	X(NEIGHBOUR_UNKNOWN, is_text(neighbour, "incomplete") || (facts->destination && is_text(neighbour, "none")), "") \
	X(NO_GID, facts->failed_device || facts->sgid_none, "") \
	X(PORT_WENT_DOWN, facts->port_fell, "") \
	X(LINK_LOCAL, roce && local, "") \
	X(SCOPES_DIFFER, roce && facts->qp.gid_known && local != is_link_local(facts->qp.dgid), "") \
	X(ROCE_V1, is_text(type, "roce_v1"), "") \
	X(NOT_FORWARDED, is_text(type, "roce_v1") || (roce && local), "") \
	X(MTU_ABOVE_PORT, port_mtu && facts->qp.path_mtu_bytes > port_mtu, "") \
	X(MTU_BELOW_PORT, facts->qp.path_mtu_bytes && facts->qp.path_mtu_bytes < port_mtu && !facts->mtu_asked, "") \
	X(MTU_LIMITED, port_mtus && facts->qp.path_mtu_bytes && facts->qp.path_mtu_bytes < facts->cm_mtu_bytes, "") \
	X(MTU_OF_PORT, port_mtus && port_mtu < facts->port.max_mtu_bytes, "") \
	X(PEER_READS_MORE, facts->peer_reads > facts->qp.responder_resources, "") \
	X(NO_READS, !facts->qp.initiator_depth, "") \
	X(RETRY_NONE, !facts->qp.retry_count, "") \
	X(RNR_NONE, !facts->qp.rnr_retry, "") \
	X(RNR_FOR_EVER, facts->qp.rnr_retry == 7, "") \
	X(MEMLOCK_NEAR, is_memlock_near(facts), "") \
	X(BACKLOG_FULL, facts->backlog && facts->waiting >= facts->backlog, "") \
	X(DEADLINE_NEAR, facts->deadline_ms && facts->waited_ms > facts->deadline_ms / 2, "") \
	X(PACKETS_LOST, facts->lost_packets, "") \
	X(UNWATCHED, facts->established && !facts->watched, "") \
	X(WINDOW_FULL, incident->outcome == VBD_OUTCOME_STUCK && incident->window && incident->requests_left > incident->window, "") \
	X(POLLED_BUSY, facts->busy_on_worker, "") \
	X(HUNG_UP, facts->hung_up, "") \
	X(FLUSHED, facts->flushed_sends || facts->flushed_receives, "")
/* clang-format on */

struct vbd_facts;

enum vbd_clue {
#define VBD_CLUE_ENUM(sym, condition, text) VBD_CLUE_##sym,
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
