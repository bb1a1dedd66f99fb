/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a connection, or of the route to a destination, and what follows from it. Who
 * gathers the facts leaves out what it does not know; nothing is concluded from that.
 *
 * Any thread; reads nothing but its arguments.
 */
#ifndef VBD_RDMA_DIAGNOSE_FACTS_H
#define VBD_RDMA_DIAGNOSE_FACTS_H

#include "rdma/device/device.h"
#include "rdma/diagnose/finding.h"
#include "rdma/provider/netroute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbd_facts {
	/* the connection; all false and 0 of a destination */
	bool open;			 /* it has not ended */
	bool established;		 /* it is now */
	bool reliable;			 /* RC */
	bool hung_up;			 /* it ended by the peer's disconnect */
	bool probed;			 /* a probe runs on it */
	uint64_t waited_ms, deadline_ms; /* of the state it is in; 0: none */
	uint64_t flushed_sends, flushed_receives;
	uint64_t lost_packets;
	uint64_t inbox_messages, inbox_capacity; /* 0: it has none, or shares its receives */

	char device[64]; /* "" if unknown */
	bool device_gone;
	bool iwarp;
	bool soft_roce;
	bool port_fell;		      /* it went down while the connection lived */
	uint64_t port_fell_before_ms; /* its first error, its end, or now */
	bool port_known;
	struct vbd_port port;

	bool gid_known; /* ours */
	struct vbd_gid gid;
	bool gid_gone; /* the entry is another's by now, or nobody's */
	bool gid_none; /* of a destination: no device has the source address */
	bool peer_gid_known;
	uint8_t peer_gid[16];

	uint32_t path_mtu_bytes; /* 0: unknown */
	bool mtu_asked;		 /* somebody asked for a small one */

	bool timers_known; /* the four below */
	uint8_t ack_timeout, retry_count, rnr_retry, min_rnr_timer;
	bool depth_known;
	uint8_t initiator_depth;

	bool memlock_known;
	uint64_t locked_bytes, lock_limit_bytes; /* limit UINT64_MAX: none */

	uint64_t backlog, waiting; /* of the listener; backlog 0: there is none */

	bool netroute_known; /* the kernel was asked */
	struct vbd_pv_netroute netroute;
	bool netroute_has_rdma; /* a device belongs to the interface of the route */
};

struct vbd_finding {
	enum vbd_finding_code code;
	char text[240]; /* one sentence with the numbers of this one, with its stop */
};

struct vbd_findings {
	struct vbd_finding items[VBD_FINDING_COUNT]; /* the worst first */
	size_t count;
};

/** vbd_facts_judge - what follows from @facts */
void vbd_facts_judge(const struct vbd_facts *facts, struct vbd_findings *ret_findings);

/** vbd_findings_bad - is one of them an error? Then it is the first. */
static inline bool vbd_findings_bad(const struct vbd_findings *findings)
{
	return findings->count &&
	       vbd_finding_severity(findings->items[0].code) == VBD_FINDING_IS_ERROR;
}

/** vbd_facts_dead_peer_ms - the longest that a dead peer goes unnoticed while data is sent: ACK
 * timeout x (retry_count + 1), rounded up. False if it is not known, or for ever. */
bool vbd_facts_dead_peer_ms(const struct vbd_facts *facts, uint64_t *ret_ms);

#endif
