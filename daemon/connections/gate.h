/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of a listener: admits or refuses connect requests by the peer's address, its number of
 * connections, and the rate of requests.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_DAEMON_CONNECTIONS_GATE_H
#define VBD_DAEMON_CONNECTIONS_GATE_H

#include "base/attr.h"
#include "rdma/names/rejection.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define VBD_GATE_ALLOW_MAX 64

/* Room for the text of an entry: an IPv6 address, "/128" and a NUL. */
#define VBD_GATE_NET_TEXT_BYTES 51

/* A network, IPv4 as v4-mapped IPv6. */
struct vbd_gate_net {
	uint8_t addr[16]; /* the bits after the prefix are zero */
	uint8_t prefix_bits;
};

/* The rules of a gate, which a client sets. A number of 0 is no limit. */
struct vbd_gate_rules {
	struct vbd_gate_net allow[VBD_GATE_ALLOW_MAX];
	uint32_t allow_count; /* 0: everybody */
	uint32_t max_connections;
	uint32_t max_per_peer;
	uint32_t connects_per_s;
	uint32_t connects_burst; /* requests that may come at once; 0: connects_per_s */
};

struct vbd_gate {
	struct vbd_gate_rules rules;
	uint32_t connections; /* that came through the gate and have not ended */
	void *peers;	      /* a tree of tsearch(3): the number of connections by address */
	uint64_t full_ns;     /* when the bucket of connects_per_s is full again */
};

/**
 * vbd_gate_net_parse - parse "192.0.2.0/24", "fd00::/8", or an address or GID without a length
 *
 * Returns false for any other text, and for a network with bits after its prefix.
 */
bool vbd_gate_net_parse(const char *text, struct vbd_gate_net *ret_net);

/** vbd_gate_net_format - the text of a network; without a length if it is one address */
const char *vbd_gate_net_format(const struct vbd_gate_net *net, char text[VBD_GATE_NET_TEXT_BYTES]);

/** vbd_gate_allows - whether `allow` has the address, or is empty */
bool vbd_gate_allows(const struct vbd_gate_rules *rules, const struct sockaddr *peer);

/**
 * vbd_gate_check - may a request pass the gate?
 * @peer: its address; @gid: the peer's GID, or NULL if it is unknown
 * @now_ns: of the monotonic clock
 *
 * One that passes counts for connects_per_s. Returns VBD_CONNECT_REFUSAL_NONE, or why it is
 * refused.
 */
enum vbd_connect_refusal vbd_gate_check(
	struct vbd_gate *gate, const struct sockaddr *peer, const uint8_t gid[16], uint64_t now_ns);

/** vbd_gate_enter - count a connection of @peer; false without memory */
bool vbd_gate_enter(struct vbd_gate *gate, const struct sockaddr *peer) VBD_MUST_CHECK;

/** vbd_gate_leave - a connection of @peer, which had entered, has ended */
void vbd_gate_leave(struct vbd_gate *gate, const struct sockaddr *peer);

/** vbd_gate_fini - free the counts; a zeroed gate is fine */
void vbd_gate_fini(struct vbd_gate *gate);

#endif
