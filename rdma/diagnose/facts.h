/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known facts of a connection, or of the route to a destination, and the findings that follow.
 * An unknown fact is zero, and leads to no finding.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_FACTS_H
#define VBD_RDMA_DIAGNOSE_FACTS_H

#include "base/enum.h"
#include "rdma/device/device.h"
#include "rdma/diagnose/finding_rows.h"
#include "rdma/diagnose/incident.h"
#include "rdma/fabric/report.h"
#include "rdma/provider/netroute.h"

/* X(SYMBOL, json name): the worst first */
#define VBD_FINDING_SEVERITY_MAP(X)          \
	X(VBD_FINDING_IS_ERROR, "error")     \
	X(VBD_FINDING_IS_WARNING, "warning") \
	X(VBD_FINDING_IS_INFO, "info")

enum vbd_finding_severity { VBD_FINDING_SEVERITY_MAP(VBD_ENUM_ROW) VBD_FINDING_SEVERITY_COUNT };

/* Rows and findings are in the order of severity. */
enum vbd_finding_code {
#define VBD_FINDING_ENUM(sym, ...) VBD_FINDING_##sym,
	VBD_FINDING_MAP(VBD_FINDING_ENUM)
#undef VBD_FINDING_ENUM
		VBD_FINDING_COUNT
};

/** vbd_finding_severity_name - "warning" */
const char *vbd_finding_severity_name(enum vbd_finding_severity severity);

struct vbd_finding_row {
	const char *name; /* "dead_peer_slow" */
	enum vbd_finding_severity severity;
	const char *when; /* the condition, a clause without a full stop */
	const char *hint; /* a sentence that tells a user how to act */
};

extern const struct vbd_finding_row vbd_finding_rows[VBD_FINDING_COUNT];

struct vbd_facts {
	struct vbd_incident incident;

	/* The connection; all false and 0 for a destination. */
	bool open;			 /* not ended */
	bool established;		 /* established now */
	bool reliable;			 /* RC */
	bool hung_up;			 /* ended by the peer's disconnect */
	bool probed;			 /* a probe is running */
	uint64_t waited_ms, deadline_ms; /* of the present state; 0: none */
	uint64_t flushed_sends, flushed_receives;
	uint64_t lost_packets;
	uint64_t inbox_messages, inbox_capacity; /* 0: no inbox, or an SRQ */
	uint64_t srq_id, srq_posted;		 /* 0: none; receives that are left */

	uint64_t device_id; /* 0 if unknown */
	char device[64];    /* "" if unknown */
	bool device_removed;
	bool iwarp;
	bool soft_roce;
	bool cm_silent;		      /* its CM may be deaf: see rdma/device/port_counters.h */
	bool port_fell;		      /* the port went down during the connection */
	uint64_t port_fell_before_ms; /* the first error, the end, or now */
	bool port_known;
	struct vbd_port port;

	bool sgid_known; /* the local GID */
	struct vbd_gid sgid;
	bool sgid_gone;				/* the entry has changed or is empty */
	bool sgid_none;				/* destination: no device has the source address */
	const struct vbd_device *failed_device; /* destination: it may be the one; NULL: none */
	bool dgid_known;
	uint8_t dgid[16];

	uint32_t path_mtu_bytes; /* 0: unknown */
	bool mtu_asked;		 /* a small MTU was requested */
	uint32_t cm_mtu_bytes;	 /* told to both sides by the CM; 0: unknown */

	bool timers_known; /* the next four members are set */
	uint8_t ack_timeout, retry_count, rnr_retry, min_rnr_timer;
	bool depth_known;
	uint8_t initiator_depth, responder_resources;
	uint8_t peer_reads; /* that the peer's reply takes; 0: unknown */

	bool memlock_known;
	uint64_t locked_bytes, lock_limit_bytes; /* limit UINT64_MAX: none */

	bool polled_busy;		  /* poll BUSY */
	uint64_t busy_on_worker, spun_ms; /* of its worker: such queue pairs, time without work */

	uint64_t backlog, waiting; /* of the listener; backlog 0: none */

	bool netroute_known; /* the kernel has reported the route */
	struct vbd_pv_netroute netroute;
	bool netroute_has_rdma;	       /* a device belongs to the interface of the route */
	bool netroute_by_device;       /* and it is `device` */
	bool peer_replied;	       /* a verbsd answered at the peer's host */
	bool peer_anew;		       /* and its run began after this connection */
	struct vbd_report peer_report; /* not `known`: the peer has reported nothing */
	/* The verdict on the request that the peer reported; that on ours is in `peer_report`. */
	enum vbd_report_memory judged;
	uint64_t judged_over_bytes;
	bool asked, answered; /* the connection manager of the peer's host was asked; it answered */
	uint64_t rtt_ns;      /* of that answer */
};

struct vbd_finding {
	enum vbd_finding_code code;
	char detail[240]; /* one sentence with the numbers of this finding */
};

struct vbd_findings {
	struct vbd_finding items[VBD_FINDING_COUNT]; /* the worst first */
	size_t count;
};

/** vbd_facts_judge - the findings that follow from @facts */
void vbd_facts_judge(const struct vbd_facts *facts, struct vbd_findings *ret_findings);

/** vbd_findings_bad - is the worst finding, the first, an error? */
static inline bool vbd_findings_bad(const struct vbd_findings *findings)
{
	return findings->count &&
	       vbd_finding_rows[findings->items[0].code].severity == VBD_FINDING_IS_ERROR;
}

/** vbd_facts_dead_peer_detect_ms - the time until a send to a dead peer fails, at most: ACK timeout
 * x (retry_count + 1), rounded up. False if unknown or unlimited. */
bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms);

#endif
