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
 * The placeholders, and what stands there if the fact is not known. Each has a function put_NAME() in
 * words.c. X(name, unknown)
 */
#define VBD_WORD_MAP(X) \
	X(peer, "the peer") \
	X(host, "the peer") \
	X(asked, "of the peer") \
	X(port, "?") \
	X(device, "the RDMA device") \
	X(fault, "of a test") \
	X(port_num, "1") \
	X(port_state, "down") \
	X(netdev, "the interface") \
	X(next_hop, "the peer") \
	X(open_device, "another device") \
	X(path_mtu, "?") \
	X(route_mtu, "?") \
	X(op, "request") \
	X(what, "request") \
	X(request, "a transfer") \
	X(length, "?") \
	X(done, "none") \
	X(receive, "too few") \
	X(waited, "time") \
	X(rtt, "longer") \
	X(patience, "less") \
	X(words, "") \
	X(told, "it does not say why") \
	X(told_advice, "See the log of the peer.") \
	X(reject, "it gives no reason") \
	X(reject_advice, "See the log of the peer.") \
	X(error, "the reason is not known") \
	X(open, "buffers here are open to it") \
	X(hwaddr, "") \
	X(inbox, "?") \
	X(srq, "?") \
	X(rnr_came, "some") \
	X(rnr_told, "some") \
	X(gaps, "some") \
	X(out_of_step, "some") \
	X(signs, "nothing has failed here") \
	X(packets_sent, "some") \
	X(peer_op, "request") \
	X(peer_what, "request") \
	X(peer_length, "?") \
	X(peer_receive, "too few") \
	X(peer_mtu, "?") \
	X(peer_reason, "a failure") \
	X(over, "")
/* clang-format on */

/** vbd_words_fill - write @text with its placeholders replaced, cut if need be; returns @buffer */
char *vbd_words_fill(const char *text, const struct vbd_facts *facts, char *buffer, size_t size);

#define VBD_SPAN_TEXT_BYTES 24

/** vbd_span_text - a time in its usual unit: "336 ms"; returns @text */
const char *vbd_span_text(uint64_t ns, char text[VBD_SPAN_TEXT_BYTES]);

#endif
