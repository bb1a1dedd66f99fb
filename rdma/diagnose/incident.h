/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The incident of a connection: how it failed, or why it does not get on. A part of its facts
 * (rdma/diagnose/facts.h). An unknown member is zero.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_DIAGNOSE_INCIDENT_H
#define VBD_RDMA_DIAGNOSE_INCIDENT_H

#include "base/enum.h"
#include "base/error.h"
#include "rdma/device/port_counters.h"

/* The state of things, whatever the cause. X(SYMBOL, name) */
#define VBD_OUTCOME_MAP(X)                                                                         \
	X(VBD_OUTCOME_WELL, "well")                                                                \
	/* the connection is open and waits for long */                                            \
	X(VBD_OUTCOME_RESOLVING, "resolving")	/* for an address or a route */                    \
	X(VBD_OUTCOME_CONNECTING, "connecting") /* for the peer's answer */                        \
	X(VBD_OUTCOME_UNDECIDED, "undecided")	/* for a client's decision here */                 \
	X(VBD_OUTCOME_AWAITING, "awaiting")	/* by hand: for the peer's attributes */           \
	X(VBD_OUTCOME_STUCK, "stuck")		/* a transfer makes no progress */                 \
	X(VBD_OUTCOME_UNSENT, "unsent")		/* a receive waits for a message */                \
	/* the connection ended before it was established */                                       \
	X(VBD_OUTCOME_NAMELESS, "nameless")	  /* the host name has no address */               \
	X(VBD_OUTCOME_UNRESOLVED, "unresolved")	  /* no address or no route, or none in time */    \
	X(VBD_OUTCOME_REJECTED, "rejected")	  /* by the peer */                                \
	X(VBD_OUTCOME_UNANSWERED, "unanswered")	  /* no answer to the connect request */           \
	X(VBD_OUTCOME_UNCONFIRMED, "unconfirmed") /* accepted here, not confirmed there */         \
	X(VBD_OUTCOME_HANDSHAKE, "handshake")	  /* the CM failed */                              \
	X(VBD_OUTCOME_REJECTED_HERE, "rejected_here")                                              \
	X(VBD_OUTCOME_NOT_DECIDED, "not_decided") /* nobody decided here in time */                \
	X(VBD_OUTCOME_NO_REMOTE, "no_remote")	  /* by hand: no attributes came in time */        \
	X(VBD_OUTCOME_MOVED, "moved") /* established; the peer's hardware address changed */       \
	/* a request of this side failed */                                                        \
	X(VBD_OUTCOME_ACCESS, "access")			/* the peer's device refused the access */ \
	X(VBD_OUTCOME_OPERATION, "operation")		/* the peer's device failed it */          \
	X(VBD_OUTCOME_INVALID, "invalid")		/* the peer's device calls it invalid */   \
	X(VBD_OUTCOME_UNACKED, "unacked")		/* no acknowledgement came */              \
	X(VBD_OUTCOME_SILENT, "silent")			/* nor of a heartbeat */                   \
	X(VBD_OUTCOME_RNR, "rnr")			/* the peer had no receive for it */       \
	X(VBD_OUTCOME_LATE, "late")			/* no completion by its deadline */        \
	X(VBD_OUTCOME_REQUEST_FAILED, "request_failed") /* the device here failed it */            \
	X(VBD_OUTCOME_BIND, "bind")			/* of a memory window */                   \
	/* something else failed */                                                                \
	X(VBD_OUTCOME_RECEIVE_FAILED, "receive_failed")                                            \
	X(VBD_OUTCOME_REFUSED, "refused")     /* the device here refused the peer */               \
	X(VBD_OUTCOME_QP_FAILED, "qp_failed") /* the queue pair, without a completion */           \
	X(VBD_OUTCOME_DEVICE_LOST, "device_lost")                                                  \
	X(VBD_OUTCOME_RESOURCE, "resource") /* a call here */                                      \
	X(VBD_OUTCOME_SERVICE, "service")   /* the protocol of a service */                        \
	X(VBD_OUTCOME_PROTOCOL, "protocol") /* an event that the state does not allow */           \
	/* the connection ended, and nothing failed here */                                        \
	X(VBD_OUTCOME_PEER_LEFT, "peer_left")                                                      \
	X(VBD_OUTCOME_CLOSED, "closed")                                                            \
	X(VBD_OUTCOME_CANCELLED, "cancelled") /* to take back what the device held */              \
	X(VBD_OUTCOME_STOPPED, "stopped")

enum vbd_outcome { VBD_OUTCOME_MAP(VBD_ENUM_ROW) VBD_OUTCOME_COUNT };

/*
 * The counters of the kernel that are compared before and after.
 * X(SYMBOL, set, name of Soft-RoCE or the CM, name of mlx5 or "")
 */
#define VBD_TRACE_MAP(X)                                                                        \
	/* answers of peers that they have no receive posted */                                 \
	X(VBD_TRACE_RNR_CAME, VBD_COUNTER_SET_HW, "rcvd_rnr_err", "rnr_nak_retry_err")          \
	/* answers to peers that no receive is posted here */                                   \
	X(VBD_TRACE_RNR_TOLD, VBD_COUNTER_SET_HW, "send_rnr_err", "out_of_buffer")              \
	/* gaps in what peers sent */                                                           \
	X(VBD_TRACE_GAPS_SEEN, VBD_COUNTER_SET_HW, "out_of_seq_request", "out_of_sequence")     \
	/* gaps that peers saw */                                                               \
	X(VBD_TRACE_GAPS_TOLD, VBD_COUNTER_SET_HW, "rcvd_seq_err", "packet_seq_err")            \
	/* packets that peers sent once more, or seem to */                                     \
	X(VBD_TRACE_REPEATS_SEEN, VBD_COUNTER_SET_HW, "duplicate_request", "duplicate_request") \
	X(VBD_TRACE_PACKETS_SENT, VBD_COUNTER_SET_HW, "sent_pkts", "")                          \
	X(VBD_TRACE_PACKETS_CAME, VBD_COUNTER_SET_HW, "rcvd_pkts", "")                          \
	/* answers that the peer's program has the request and has not decided */               \
	X(VBD_TRACE_MRA_CAME, VBD_COUNTER_SET_CM_RX_MSGS, "mra", "")

#define VBD_TRACE_ENUM(sym, set, name, other) sym,
enum vbd_trace { VBD_TRACE_MAP(VBD_TRACE_ENUM) VBD_TRACE_COUNT };
#undef VBD_TRACE_ENUM

/** vbd_trace_of - the trace of a counter of the kernel; VBD_TRACE_COUNT if it is none */
enum vbd_trace vbd_trace_of(enum vbd_counter_set set, const char *name);

struct vbd_incident {
	enum vbd_outcome outcome;
	uint64_t since_ns;	/* the request that failed or waits began; 0: with the connection */
	bool passive;		/* the peer asked for the connection */
	bool by_hand;		/* without a CM */
	char peer[48];		/* its address; "" if unknown */
	uint16_t port;		/* of the peer's listener, or here of the peer */
	char asked[64];		/* the host of the request, cut; "" on the passive side */
	struct vbd_error error; /* the first one; VBD_OK: none */
	const char *fault;	/* effect of one that a client asked for, which led to this; NULL */

	/* the request that failed, or waits */
	uint64_t transfer; /* its id; 0: none */
	uint64_t whose;	   /* the transfer is: for the layer above */
	int op;		   /* enum vbd_op; -1 if none */
	uint64_t remote_addr, length_bytes;
	uint32_t rkey;
	uint64_t done_bytes;
	uint64_t window;	/* work requests that it may have outstanding; 0: unknown */
	uint64_t requests_left; /* work requests that are not done, outstanding or to be posted */
	uint64_t waited_ms;	/* for this long it has waited, or had when it was given up */
	bool held_back;		/* sends are paused here, since the QP can't send in its state */
	bool acked;		/* an earlier request was acknowledged */
	bool heard;		/* the peer has sent a message */
	uint64_t heartbeats;	/* that the peer's device has answered */
	bool tcp_open;		/* Soft-iWARP: TCP has connected, the handshake has not ended */
	uint64_t open_buffers;	/* buffers here that were open to the peer; 0: unknown */
	uint64_t open_id, open_bytes; /* of the only one */
	unsigned int open_access;     /* of it: bits of enum vbd_mem_access */
	bool nothing_open;	      /* no buffer of the device here was open to peers */
	bool other_pd_open;	      /* one was, but none in the connection's protection domain */
	char open_device[64];	      /* another device, a buffer of which here was open to peers */
	bool no_receive_left;	      /* none of its own was posted here */
	bool listener_deleted;	      /* while the request waited for a decision here */
	bool outstanding;	      /* requests of this side were, when the peer left */

	uint32_t recv_size_bytes; /* of the receives here */
	char words[96];		  /* text that the peer rejected with; "" if none */

	bool traces_known;
	uint64_t traces_over_ms;
	uint64_t traces[VBD_TRACE_COUNT]; /* by so much each counter of the device rose */
};

#endif
