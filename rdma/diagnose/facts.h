/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known facts of a connection, its incident among them: how it failed, or why it does not get
 * on; or those of the route to a destination. An unknown fact is zero.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_FACTS_H
#define VBD_RDMA_DIAGNOSE_FACTS_H

#include "rdma/device/device.h"
#include "rdma/device/port_counters.h"
#include "rdma/fabric/report.h"
#include "rdma/provider/ask.h"
#include "rdma/qp/qp.h"

/* The state of things, whatever the cause. */
enum vbd_outcome {
	VBD_OUTCOME_WELL,
	/* the connection is open and waits for long */
	VBD_OUTCOME_RESOLVING,	/* for an address or a route */
	VBD_OUTCOME_CONNECTING, /* for the peer's answer */
	VBD_OUTCOME_UNDECIDED,	/* for a client's decision here */
	VBD_OUTCOME_AWAITING,	/* by hand: for the peer's attributes */
	VBD_OUTCOME_STUCK,	/* a transfer makes no progress */
	VBD_OUTCOME_UNSENT,	/* a receive waits for a message */
	/* the connection ended before it was established */
	VBD_OUTCOME_NAMELESS,	 /* the host name has no address */
	VBD_OUTCOME_UNRESOLVED,	 /* no address or no route, or none in time */
	VBD_OUTCOME_REJECTED,	 /* by the peer */
	VBD_OUTCOME_UNANSWERED,	 /* no answer to the connect request */
	VBD_OUTCOME_UNCONFIRMED, /* accepted here, not confirmed there */
	VBD_OUTCOME_HANDSHAKE,	 /* the CM failed */
	VBD_OUTCOME_REJECTED_HERE,
	VBD_OUTCOME_NOT_DECIDED, /* nobody decided here in time */
	VBD_OUTCOME_NO_REMOTE,	 /* by hand: no attributes came in time */
	VBD_OUTCOME_MOVED,	 /* established; the peer's hardware address changed */
	/* a request of this side failed */
	VBD_OUTCOME_ACCESS,	    /* the peer's device refused the access */
	VBD_OUTCOME_OPERATION,	    /* the peer's device failed it */
	VBD_OUTCOME_INVALID,	    /* the peer's device calls it invalid */
	VBD_OUTCOME_UNACKED,	    /* no acknowledgement came */
	VBD_OUTCOME_SILENT,	    /* no heartbeat was acknowledged */
	VBD_OUTCOME_RNR,	    /* the peer had no receive for it */
	VBD_OUTCOME_LATE,	    /* no completion by its deadline */
	VBD_OUTCOME_REQUEST_FAILED, /* the device here failed it */
	VBD_OUTCOME_BIND,	    /* of a memory window */
	/* something else failed */
	VBD_OUTCOME_RECEIVE_FAILED,
	VBD_OUTCOME_REFUSED,   /* the device here refused the peer */
	VBD_OUTCOME_QP_FAILED, /* the queue pair, without a completion */
	VBD_OUTCOME_DEVICE_LOST,
	VBD_OUTCOME_RESOURCE, /* a call here */
	VBD_OUTCOME_SERVICE,  /* the protocol of a service */
	VBD_OUTCOME_PROTOCOL, /* an event that the state does not allow */
	/* the connection ended, and nothing failed here */
	VBD_OUTCOME_PEER_LEFT,
	VBD_OUTCOME_CLOSED,
	VBD_OUTCOME_CANCELLED, /* to take back what the device held */
	VBD_OUTCOME_STOPPED,
	VBD_OUTCOME_COUNT
};

/*
 * The counters of the kernel that are compared before and after.
 * X(SYMBOL, set, name of Soft-RoCE, irdma or the CM, name of mlx5 or "")
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
	/* orders to send slower, since packets met a congested switch */                       \
	X(VBD_TRACE_SLOWED, VBD_COUNTER_SET_HW, "cnpHandled", "rp_cnp_handled")                 \
	/* answers that the peer's program has the request and has not decided */               \
	X(VBD_TRACE_MRA_CAME, VBD_COUNTER_SET_CM_RX_MSGS, "mra", "")

enum vbd_trace { VBD_TRACE_MAP(VBD_ENUM_ROW) VBD_TRACE_COUNT };

/** vbd_trace_of - the trace of a counter of the kernel; VBD_TRACE_COUNT if it is none */
enum vbd_trace vbd_trace_of(enum vbd_counter_set set, const char *name);

/* How a connection failed, or why it does not get on. */
struct vbd_incident {
	enum vbd_outcome outcome;
	uint64_t since_ns;	/* the request that failed or waits began; 0: with the connection */
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
	uint64_t window;	/* most work requests that may be outstanding; 0: unknown */
	uint64_t requests_left; /* work requests that are not done, outstanding or to be posted */
	uint64_t waited_ms;	/* for this long it has waited, or had when it was given up */
	bool held_back;		/* sends are paused here, since the QP can't send in its state */
	bool acked;		/* an earlier request was acknowledged */
	bool heard;		/* the peer has sent a message */
	uint64_t heartbeats;	/* that the peer's device has answered */
	bool tcp_open;		/* Soft-iWARP: TCP has connected, the handshake has not ended */
	uint64_t open_buffers;	/* buffers here that were open to the peer; 0: unknown */
	uint64_t open_id, open_bytes; /* id and size of the open buffer, if it is the only one */
	unsigned int open_access; /* access to the only open buffer: bits of enum vbd_mem_access */
	bool nothing_open;	  /* no buffer of the device here was open to peers */
	bool other_pd_open;	  /* buffers were open, but none in the protection domain here */
	char open_device[64];	  /* another device, a buffer of which here was open to peers */
	bool no_receive_left;	  /* no receive of the connection itself was posted here */
	bool listener_deleted;	  /* while the request waited for a decision here */

	uint32_t recv_size_bytes; /* of the receives here */
	char words[96];		  /* text that the peer rejected with; "" if none */

	bool traces_known;
	uint64_t traces[VBD_TRACE_COUNT]; /* by so much each counter of the device rose */
};

struct vbd_facts {
	struct vbd_incident incident;

	bool destination; /* asked about before there is a connection */

	/* The connection; all false and 0 for a destination. */
	bool open;			 /* not ended */
	bool established;		 /* established now */
	bool reliable;			 /* RC */
	bool hung_up;			 /* ended by the peer's disconnect */
	bool watched;			 /* a probe or heartbeats notice a dead peer */
	uint64_t waited_ms, deadline_ms; /* of the present state; 0: none */
	uint64_t flushed_sends, flushed_receives;
	uint64_t lost_packets;
	uint64_t inbox_messages, inbox_capacity; /* 0: no inbox, or an SRQ */
	uint64_t srq_id, srq_posted;		 /* 0: none; receives that are left */

	uint64_t device_id; /* 0 if unknown */
	char device[64];    /* "" if unknown */
	bool device_removed;
	bool iwarp;
	bool cm_silent;		      /* its CM may be deaf: see rdma/device/port_counters.h */
	bool port_fell;		      /* the port went down during the connection */
	uint64_t port_fell_before_ms; /* the first error, the end, or now */
	bool port_known;
	struct vbd_port port;

	/* All zeros over iWARP; of a destination only the GID here and the path MTU, which is 0 if
	 * it is unknown. */
	struct vbd_qp_info qp;
	bool mtu_asked;	       /* a small MTU was requested */
	uint32_t cm_mtu_bytes; /* told to both sides by the CM; 0: unknown */
	uint8_t peer_reads;    /* that the peer's reply takes; 0: unknown */
	bool sgid_gone;	       /* the entry of the GID here has changed or is empty */
	bool sgid_none;	       /* destination: no device has the source address */
	const struct vbd_device *failed_device; /* destination: it may be the one; NULL: none */

	bool memlock_known;
	uint64_t locked_bytes, lock_limit_bytes; /* limit UINT64_MAX: none */

	/* With poll BUSY, of its worker: such queue pairs, time without work; else 0. */
	uint64_t busy_on_worker, spun_ms;

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

/** vbd_facts_dead_peer_detect_ms - about the time until a send to a dead peer fails: ACK timeout
 * x (retry_count + 1), rounded up. False if unknown or unlimited. */
bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms);

#endif
