/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts with placeholders, "{peer}", and what a connection's facts put in their place.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_WORDS_H
#define VBD_RDMA_DIAGNOSE_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct vbd_facts;

/* clang-format off */
/*
 * The placeholders. X(name, unknown, KIND, value): put_KIND() of words.c writes the value, an
 * expression over the variables of fill_word(); `unknown` stands there if it writes nothing.
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
	X(netdev, "the interface", text, routed ? netroute->netdev : facts->sgid_known ? facts->sgid.netdev : NULL) \
	X(next_hop, "the peer", next_hop, &netroute->next) \
	X(open_device, "another device", text, incident->open_device) \
	X(path_mtu, "?", number, facts->path_mtu_bytes) \
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
	X(told_advice, "See the log of the peer.", text, told ? rejection.advice : NULL) \
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
	X(peer_op, "request", request, report->known ? report->op : -1, 0) \
	X(peer_what, "request", request, report->known ? report->op : -1, report->length_bytes) \
	X(peer_length, "?", number, report->length_bytes) \
	X(peer_receive, "too few", number, report->recv_size_bytes) \
	X(peer_mtu, "?", number, report->path_mtu_bytes) \
	X(peer_reason, "a failure", text, report->reason == VBD_REASON_NONE ? NULL : vbd_reason_text(report->reason)) \
	X(over, "", phrase, facts->judged_over_bytes, " by %" PRIu64 " bytes", facts->judged_over_bytes) \
	/* of findings alone */ \
	X(phys_state, "?", text, port ? vbd_phys_state_name(port->phys_state) : NULL) \
	X(port_mtu, "0", number, facts->port.active_mtu_bytes) \
	X(device_mtu, "0", number, facts->port.max_mtu_bytes) \
	X(cm_mtu, "0", number, facts->cm_mtu_bytes) \
	X(fell, "0.00 ms", span, facts->port_fell_before_ms * VBD_NS_PER_MS) \
	X(device_error, "?", text, facts->failed_device ? facts->failed_device->error.text : NULL) \
	X(gid_index, "0", number, facts->sgid.gid_index) \
	X(gid_netdev, "the interface", text, *facts->sgid.netdev ? facts->sgid.netdev : facts->device) \
	X(gid_scope, "?", text, facts->sgid.scope) \
	X(peer_scope, "?", text, facts->dgid_known ? vbd_gid_scope(facts->dgid) : NULL) \
	X(hop, "The peer", text, netroute->gateway ? "The router to the peer" : NULL) \
	X(route_error, "?", text, netroute->route_errnum ? vbd_errno_name(netroute->route_errnum) : NULL) \
	X(ack_time, "?", span, vbd_ack_timeout_ns(facts->ack_timeout)) \
	X(ack_timeout, "0", number, facts->ack_timeout) \
	X(retry_count, "0", number, facts->retry_count) \
	X(tries, "1", number, facts->retry_count + 1u) \
	X(rnr_time, "?", span, facts->timers_known ? vbd_min_rnr_timer_ns(facts->min_rnr_timer) : 0) \
	X(min_rnr_timer, "0", number, facts->min_rnr_timer) \
	X(peer_reads, "0", number, facts->peer_reads) \
	X(reads_here, "0", number, facts->responder_resources) \
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

/** vbd_words_fill - write @text with its placeholders replaced, cut if need be; returns @buffer */
char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size);

#define VBD_SPAN_TEXT_BYTES 24

/** vbd_span_text - a time in its usual unit: "336 ms"; returns @text */
const char *vbd_span_text(uint64_t ns, char text[VBD_SPAN_TEXT_BYTES]);

#endif
