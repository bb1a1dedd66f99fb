/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts with placeholders, "{peer}", and what a connection's facts put in their place.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_WORDS_H
#define VBD_RDMA_DIAGNOSE_WORDS_H

#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/facts.h"

/* clang-format off */
/*
 * The placeholders. X(name, unknown, KIND, value): put_KIND() of words.c writes the value, an
 * expression over the variables of put_word(); `unknown` stands there if it writes nothing.
 */
#define VBD_WORD_MAP(X) \
	X(peer, "the peer", address, host, incident->port) \
	X(host, "the peer", text, host) \
	X(asked, "of the peer", text, incident->asked) \
	X(port, "?", number, incident->port) \
	X(device, "the RDMA device", text, facts->device) \
	X(fault, "of a test", text, incident->fault) \
	X(port_num, "1", number, port ? port->port_num : 0) \
	X(port_state, "down", text, port ? vbd_port_state_name((int)port->state) : NULL) \
	X(netdev, "the interface", text, routed ? netroute->netdev : facts->qp.sgid_known ? facts->qp.sgid.netdev : NULL) \
	X(next_hop, "the peer", next_hop, &netroute->next) \
	X(open_device, "another device", text, incident->open_device) \
	X(path_mtu, "?", number, facts->qp.path_mtu_bytes) \
	X(route_mtu, "?", number, netroute->mtu_bytes) \
	X(op, "request", request, incident->op, 0) \
	/* Address and key are not for everybody who may read an explanation. */ \
	X(what, "request", request, incident->op, incident->length_bytes) \
	X(request, "a transfer", phrase, incident->transfer, "transfer %" PRIu64, incident->transfer) \
	X(length, "?", number, incident->length_bytes) \
	X(done, "none", number, incident->done_bytes) \
	X(receive, "too few", number, incident->recv_size_bytes) \
	X(waited, "time", span, incident->waited_ms * VBD_NS_PER_MS) \
	X(rtt, "longer", span, facts->rtt_ns) \
	X(patience, "less", span, patience_ms * VBD_NS_PER_MS) \
	X(words, "", text, incident->words) \
	X(told, "it does not say why", text, told ? rejection.text : NULL) \
	X(told_advice, "Do what it says; its log has more.", text, told ? rejection.advice : NULL) \
	X(reject, "it gives no reason", text, rejected ? why.detail : NULL) \
	X(reject_advice, "See the log of the peer.", text, rejected ? why.hint : NULL) \
	X(error, "the reason is not known", error, incident->error.text) \
	X(open, "buffers here are open to it", open, incident) \
	X(hwaddr, "", hwaddr, facts) \
	X(inbox, "?", number, facts->inbox_capacity) \
	X(srq, "?", number, facts->srq_id) \
	X(rnr_came, "some", number, traces[VBD_TRACE_RNR_CAME]) \
	X(rnr_told, "some", number, traces[VBD_TRACE_RNR_TOLD]) \
	X(gaps, "some", number, traces[VBD_TRACE_GAPS_SEEN] + traces[VBD_TRACE_GAPS_TOLD]) \
	X(out_of_step, "some", number, traces[VBD_TRACE_GAPS_SEEN] + traces[VBD_TRACE_REPEATS_SEEN]) \
	/* These show that the peer lives although it sends nothing. */ \
	X(signs, "nothing has failed here", text, incident->heartbeats ? "nothing has failed here, and its device answers the heartbeats" : facts->answered ? "nothing has failed here, and its RDMA device answers" : NULL) \
	X(packets_sent, "some", number, traces[VBD_TRACE_PACKETS_SENT]) \
	X(slowed, "some", number, traces[VBD_TRACE_SLOWED]) \
	X(peer_op, "request", request, report->known ? report->op : -1, 0) \
	X(peer_what, "request", request, report->known ? report->op : -1, report->length_bytes) \
	X(peer_length, "?", number, report->length_bytes) \
	X(peer_receive, "too few", number, report->recv_size_bytes) \
	X(peer_mtu, "?", number, report->path_mtu_bytes) \
	X(peer_reason, "a failure", text, report->reason == VBD_REASON_NONE ? NULL : vbd_reason_text(report->reason)) \
	X(there, "it is open", text, report->ended ? vbd_reason_text(report->reason) : NULL) \
	X(over, "", phrase, facts->judged_over_bytes, " by %" PRIu64 " bytes", facts->judged_over_bytes) \
	/* of findings alone */ \
	X(phys_state, "?", text, port ? vbd_phys_state_name(port->phys_state) : NULL) \
	X(port_mtu, "0", number, facts->port.active_mtu_bytes) \
	X(device_mtu, "0", number, facts->port.max_mtu_bytes) \
	X(cm_mtu, "0", number, facts->cm_mtu_bytes) \
	X(fell, "0.00 ms", span, facts->port_fell_before_ms * VBD_NS_PER_MS) \
	X(device_error, "?", text, facts->failed_device ? facts->failed_device->error.text : NULL) \
	X(gid_index, "0", number, facts->qp.sgid.gid_index) \
	X(gid_netdev, "the interface", text, *facts->qp.sgid.netdev ? facts->qp.sgid.netdev : facts->device) \
	X(gid_scope, "?", text, facts->qp.sgid.scope) \
	X(peer_scope, "?", text, facts->qp.gid_known ? vbd_gid_scope(facts->qp.dgid) : NULL) \
	X(hop, "the peer", text, netroute->gateway ? "the router to the peer" : NULL) \
	X(route_error, "?", text, netroute->route_errnum ? vbd_errno_name(netroute->route_errnum) : NULL) \
	X(ack_time, "?", span, vbd_ack_timeout_ns(facts->qp.ack_timeout)) \
	X(ack_timeout, "0", number, facts->qp.ack_timeout) \
	X(retry_count, "0", number, facts->qp.retry_count) \
	X(tries, "1", number, facts->qp.retry_count + 1u) \
	X(rnr_time, "?", span, facts->qp.sends_known ? vbd_min_rnr_timer_ns(facts->qp.min_rnr_timer) : 0) \
	X(min_rnr_timer, "0", number, facts->qp.min_rnr_timer) \
	X(peer_reads, "0", number, facts->peer_reads) \
	X(reads_here, "0", number, facts->qp.responder_resources) \
	X(locked, "0", number, facts->locked_bytes) \
	X(lock_limit, "0", number, facts->lock_limit_bytes) \
	X(waiting, "0", number, facts->waiting) \
	X(backlog, "0", number, facts->backlog) \
	X(state_waited, "0.00 ms", span, facts->waited_ms * VBD_NS_PER_MS) \
	X(deadline, "0.00 ms", span, facts->deadline_ms * VBD_NS_PER_MS) \
	X(lost, "0", number, facts->lost_packets) \
	X(transfer, "0", number, incident->transfer) \
	X(window, "0", number, incident->window) \
	X(beyond, "0", number, incident->requests_left - incident->window) \
	X(busy, "0", number, facts->busy_on_worker) \
	X(spun, "0.00 ms", span, facts->spun_ms * VBD_NS_PER_MS) \
	X(flushed_sends, "0", number, facts->flushed_sends) \
	X(flushed_receives, "0", number, facts->flushed_receives)
/* clang-format on */

/* clang-format off */
/*
 * Parts of a text that depend on a clue. X(name, CLUE, text, usual): `text` takes the place of the
 * name where the clue is found, and else `usual`. Both may have placeholders.
 */
#define VBD_CLAUSE_MAP(X) \
	X(router, GATEWAY, "the router {next_hop} to ", "") \
	X(after_fall, HAS_LEFT, "the peer gave the connection up after that", "is up again") \
	X(nameless, NO_NAME_SERVER, "no name server answered for the name {asked}", "the name {asked} has no address") \
	X(without_rdma, NOT_SERVED, "{error}", "{host} is an address of this host, and no RDMA device has it") \
	/* A key that worked for a part of the transfer is neither wrong nor of before. */ \
	X(refusal, WORKED, \
		"memory there was closed while the transfer ran, as when its program ends, or the rest goes past its end, since the key was right for the first bytes", \
		"the key is wrong or old, the range goes past the end, or the peer does not grant that access") \
	X(awaited, HEARTBEATS, "the heartbeats", "a {what} in {waited}") \
	X(silence, CM_ANSWERED, \
		"its RDMA device answers, so its queue pair is gone, or packets get lost on the way", \
		"its host or queue pair is gone, or a firewall or cable between is cut") \
	X(unheard, IWARP, \
		"the host is down, a firewall drops the TCP port, or a program that is not iWARP listens there", \
		"the host is down, a firewall drops UDP 4791 there, here or on the way, no RDMA device has that address, the listener's backlog is full, or its program has not decided") \
	X(transport, WITHOUT_UDP, "the traffic of RDMA", "UDP 4791") \
	X(reset, IWARP, ", or a firewall resets connections to it", "") \
	X(otherwise, IWARP, "is no program of iWARP", "listens there at another address of its host only") \
	X(said, VERBSD_SAID, "{told}", "\"{words}\"") \
	X(refuser, VERBSD_SAID, "verbsd", "program") \
	X(receive_there, PEER_RECEIVE_SHORTER, \
		", which has {peer_receive} bytes as it says", \
		" (receives here have {receive} bytes): it was longer, or the memory of that receive was gone, as when the program there ends") \
	X(unread_there, PEER_INBOX_FULL, ": all of them hold messages that nobody there has read and deleted", "") \
	X(loss, RUNS_ON, \
		"which slows {request}: {done} of {length} bytes are done after {waited}", \
		"and a {what} was not acknowledged in {waited}") \
	X(used_up, SRQ_EMPTY, "shared receive queue {srq} here has no receive left", "{unread}") \
	X(unread, RNR_TOLD, \
		"no receive is posted here, as {device} has told it", \
		"all {inbox} receives here hold messages that nobody has deleted") \
	X(used_up_advice, SRQ_EMPTY, \
		"Read and delete the messages of the connections that use it, or create one with more receives (`verbsctl srqs create --depth`).", \
		"{unread_advice}") \
	X(unread_advice, RNR_TOLD, \
		"Post receives before the peer sends (`verbsctl transfers recv`), or choose a service that does (`--service inbox`).", \
		"Read and delete messages, or connect with a larger qp.rq_depth.") \
	X(of_length, PEER_LENGTH_TOLD, " of {peer_length} bytes,", "") \
	X(nothing_open, OTHER_DEVICE_OPEN, \
		"the buffers here that are open to peers are on {open_device}, while its connection is on {device}", \
		"no buffer of this connection's owner is open to peers") \
	X(reached, PAST_END_HERE, "says that it made a {peer_what}, which goes past the end of the memory here{over}", "{reached_what}") \
	X(reached_what, NO_ACCESS_HERE, "says that it made a {peer_what}, which the memory here does not grant", "{reached_key}") \
	X(reached_key, NO_SUCH_KEY_HERE, \
		"says that it made a {peer_what}, with a key that no memory of this connection's owner has now: it is wrong, or that memory was deleted", \
		"reached for memory that it may not use: {open}, and its key is another or an old one, its range goes past the end, or its access is not granted") \
	X(stopped, PEER_ANEW, \
		"started anew while the connection was up: it was stopped or killed, or its host was restarted", "stopped") \
	X(meanwhile, OUTSTANDING, " while requests of this side were outstanding", "") \
	X(left, IWARP, \
		"its program closed the connection or ended, or a device ended it for a request that it refused, which iWARP does not tell", \
		"its program closed the connection, ended or was killed{gone}") \
	X(left_advice, IWARP, \
		"See the log of the program on {host}, and compare keys, ranges and access of the last requests with the memory on both sides.", \
		"If that was not meant, see on {host} whether it is up (`ping {host}`), the log of the program, or its verbsd, and whether `rdma link` still lists the device.") \
	X(gone, CM_ANSWERED, "; its RDMA device still answers", ", or its RDMA device or its host is gone") \
	X(closed, REJECTED, "rejected the request of {host}", "{deleted}") \
	X(deleted, LISTENER_DELETED, \
		"deleted the listener while the request of {host} waited for a decision", "closed it") \
	X(closed_advice, LISTENER_DELETED, \
		"If that was not meant, create the listener again, and let {host} connect again.", \
		"Nothing, if that was meant; the event log has the time.") \
	/* of findings alone */ \
	X(before, OPEN, "ago", "before the end") \
	X(for_ever, ACK_TIMED, ", which means for ever on Soft-RoCE", "") \
	X(no_gid, DEVICE_FAILED, \
		"Of the devices one can't be used: {device_error}", \
		"No RDMA device has a GID for the source address of the packets") \
	X(unanswered, DESTINATION, \
		"Nothing shows that {hop} is there: it has not answered on {netdev} yet", \
		"No answer of {hop} has come on {netdev} yet: the neighbour entry is incomplete")
/* clang-format on */

/** vbd_words_usual - write @text for readers without a case: clauses as they are with @clues, which
 * is 0 for the usual ones, and with the placeholders of words. Cut if need be; returns @buffer. */
char *vbd_words_usual(const char *text, vbd_clue_set clues, char *buffer, size_t size);

/** vbd_words_fill - write @text with its placeholders replaced, cut if need be; returns @buffer */
char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size);

#define VBD_SPAN_TEXT_BYTES 24

/** vbd_span_text - a time in its usual unit: "336 ms"; returns @text */
const char *vbd_span_text(uint64_t ns, char text[VBD_SPAN_TEXT_BYTES]);

#endif
