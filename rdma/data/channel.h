/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data-path half of a connection or an endpoint, its owner: its queues, receives, service and
 * transfers.
 *
 * The control thread makes it, posts its first receives (they must be posted before the peer can
 * send) and passes it to its worker with the attach command. From then on only the worker posts on
 * the QP and uses the members marked "worker", until the drain command comes back.
 */
#ifndef VBD_RDMA_DATA_CHANNEL_H
#define VBD_RDMA_DATA_CHANNEL_H

#include "rdma/data/srq.h"
#include "rdma/device/slab.h"

struct ibv_qp;
struct ibv_wc;
struct vbd_channel;
struct vbd_cq;
struct vbd_heartbeat;
struct vbd_pd;
struct vbd_probe;
struct vbd_rping;
struct vbd_transfer;
struct vbd_withheld;
struct vbd_worker;

/* Bytes that fit into a send work request itself, if not configured. */
#define VBD_INLINE_BYTES 64

/* Receives that are posted by one call, at most. */
#define VBD_RECV_CHAIN_WRS 16

/* A datagram's receive begins with room for its global route header. */
#define VBD_GRH_BYTES 40

/* A send work request that is outstanding. */
struct vbd_send_slot {
	enum vbd_op op;
	uint32_t length_bytes;
	struct vbd_transfer *transfer; /* NULL if a service or a probe posted it */
	uint32_t recv_index;	       /* echo: the receive whose bytes it sends */
	bool heartbeat;		       /* counted apart from the operations */
	uint64_t posted_ns;	       /* 0 unless the transfer measures the latency */
	uint64_t ping;		       /* number of the probe's ping; 0: not a ping */
	const uint8_t *old_value;      /* atomic: the place of the channel that the device writes */
	uintptr_t result_addr;	       /* atomic: the place in a buffer instead; 0: none */
};

/* The operations of a channel's service; NULL if it has nothing to do. Worker, unless it says
 * otherwise. */
struct vbd_service_ops {
	/* control; `destroy` follows also if this fails */
	enum vbd_status (*create)(
		struct vbd_channel *channel, struct vbd_pd *pd, struct vbd_error *err);
	/* call thread; map and register its memory. `free_memory` follows also if this fails. */
	enum vbd_status (*prepare)(struct vbd_channel *channel, struct vbd_error *err);
	/* call thread */
	void (*free_memory)(struct vbd_channel *channel);
	/* control; its memory is freed */
	void (*destroy)(struct vbd_channel *channel);
	/* control; reset to the state after `create`: vbd_channel_renew() */
	void (*renew)(struct vbd_channel *channel);
	/* A message is in @slot, which belongs to the service until the service posts or releases
	 * it. */
	void (*received)(struct vbd_channel *channel, struct vbd_recv_slot *slot);
	/* A work request of the service has completed without an error. */
	void (*sent)(struct vbd_channel *channel, const struct vbd_send_slot *sent);
	/* Post the work requests that waited for a send slot. */
	void (*pump)(struct vbd_channel *channel);
};

/* The calls from a channel to the probe that runs on it. Worker; all must be set. */
struct vbd_probe_ops {
	/* Post the ping that waited for a send slot. */
	void (*pump)(struct vbd_probe *probe);
	/* The send of the ping with this number has completed. */
	void (*acked)(struct vbd_probe *probe, uint64_t number);
	/* Nothing of the channel is outstanding and nothing more will be posted: end the probe. */
	void (*drained)(struct vbd_probe *probe);
};

struct vbd_channel_limits {
	enum vbd_qp_transport transport;
	uint32_t sq_depth;
	uint32_t rq_depth;
	uint32_t recv_size_bytes;
	uint32_t max_send_sge; /* 1 to VBD_SGES_MAX */
	uint32_t max_recv_sge; /* the same */
	uint32_t inline_bytes;
	uint32_t signal_every; /* 1 to sq_depth */
	enum vbd_poll poll;    /* BUSY: the CQ is polled without a pause while it is attached */
	uint64_t spin_ns;      /* ADAPTIVE: polled so after each post and completion */
	uint64_t heartbeat_ns; /* 0: none */
	enum vbd_service service;
	const struct vbd_service_ops *service_ops; /* vbd_service_ops(service) */
	struct vbd_srq
		*srq; /* source of its receives; NULL: its own. Else rq_depth is the SRQ's. */
};

/* The calls from a channel to its owner. Control thread; all must be set. */
struct vbd_channel_owner_ops {
	/* A completion failed (channel->first_error): nothing more is posted. At most once. */
	void (*on_error)(void *owner);
	/* The worker posts no more: the QP may be destroyed. */
	void (*on_quiesced)(void *owner);
	/* The drain command or the purge command is back: see channel->drained and purged. */
	void (*on_command_back)(void *owner);
	/* A message came in; the slot belongs to the owner until its release to the worker. */
	void (*on_message)(void *owner, struct vbd_recv_slot *slot);
	/* An async event of the QP, or of its CQ; @type: enum ibv_event_type */
	void (*on_async)(void *owner, int type);
	/* Has the device moved the QP to ERR? */
	void (*check)(void *owner);
};

struct vbd_channel {
	/* fixed before it is attached */
	const struct vbd_channel_owner_ops *owner_ops; /* control only */
	void *owner;				       /* control only */
	struct vbd_channel_limits limits;
	struct vbd_worker *worker;
	struct vbd_cq *cq;
	struct ibv_qp *qp;
	uint32_t qpn;
	uint32_t index;		   /* in the worker's table; part of every wr_id */
	uint16_t generation;	   /* differs from the generation of the index's next owner */
	struct vbd_pd *pd;	   /* with a reference */
	struct vbd_slab_range mem; /* rq_depth receives, old values */
	size_t mem_bytes;	   /* size of `mem`; 0: an SRQ has the receives, and no atomics */
	struct vbd_rping *rping;   /* NULL without a service RPING* */
	struct vbd_heartbeat *heartbeat;  /* NULL without */
	struct vbd_recv_slot *recv_slots; /* NULL before the first message */
	struct vbd_send_slot
		*send_slots;	   /* a ring in the order of posting; NULL before the first */
	uint8_t *old_values;	   /* in mem, one for each send slot; NULL: no atomics */
	bool receive_has_range;	   /* iWARP: siw refuses a receive without an SGE */
	const void *fault_subject; /* for vbd_fault_take(); NULL: no fault means it */

	/* control */
	struct vbd_link fabric_link; /* the fabric's list while its QP exists */
	bool attached;
	bool drain_sent, drained;
	bool stopped; /* the drain command was sent, and the QP is not in ERR yet */
	bool purge_sent, purged;
	struct vbd_counter paused; /* 1: the QP can't send in its state; the worker reads */
	struct vbd_counter resumes_sent;
	struct vbd_counter ringing; /* 1: requests are posted that `ops` does not count yet */

	/* mailbox items */
	struct vbd_mailbox_item attach_command;
	struct vbd_mailbox_item drain_command;
	struct vbd_mailbox_item purge_command;
	struct vbd_mailbox_item resume_command; /* with the worker if resumes_sent > _taken */
	struct vbd_mailbox_item
		error_notification; /* worker to control: the first completion in error */

	/* worker */
	uint32_t sq_outstanding;
	uint32_t sq_first;	 /* the slot of the oldest one */
	uint32_t sq_unsignalled; /* posted since the last signalled one */
	uint32_t rq_outstanding;
	uint32_t rq_first;	   /* service NONE: the slot of the oldest one */
	struct vbd_link srq_link;  /* the SRQ's list */
	struct vbd_link transfers; /* transfers that send, the oldest first */
	struct vbd_link receives;  /* transfers that receive, the oldest first; service NONE */
	uint32_t *echo_ring;	   /* service ECHO: receives waiting to be sent back */
	uint32_t echo_head, echo_count;
	uint32_t reposts[VBD_RECV_CHAIN_WRS]; /* receives to be posted again, by one call */
	uint32_t repost_count;
	struct vbd_link repost_link;	       /* the worker's list, if there are any */
	struct vbd_probe *probe;	       /* the running one; NULL if none */
	const struct vbd_probe_ops *probe_ops; /* valid while `probe` is not NULL */
	uint64_t last_ping;
	struct vbd_withheld *withheld; /* NULL before a fault has hit it */
	bool known;    /* the attach command was handled: counted in the CQ's usage */
	bool broken;   /* a completion failed, nothing more is posted */
	bool notified; /* control has error_notification */
	bool draining;
	bool gone;		    /* the drain command has gone back */
	struct vbd_link purge_link; /* the CQ's list */
	uint64_t purged_at; /* with this many completions of the CQ, those of this channel are in */

	/* the worker writes before it sends error_notification; control reads after */
	struct vbd_error *first_error; /* NULL: none, or no memory for it */
	enum vbd_op first_error_op;    /* VBD_OP_COUNT: of a heartbeat */
	uint64_t first_error_transfer; /* 0 if none */

	/* control writes, the worker reads: UC, of the path; 0 while unknown */
	struct vbd_counter mtu_bytes;

	/* the worker writes, any thread reads */
	struct vbd_counter still; /* 1: it has met `paused`, so it needs a resume command */
	struct vbd_counter resumes_taken;
	struct vbd_counter packets;  /* UC: packets of the received messages */
	struct vbd_op_counters *ops; /* of each enum vbd_op; outlive it with its QP */
};

/**
 * vbd_channel_create - control; slots of receives and an index with the worker, no memory and no QP
 * yet
 *
 * @owner_ops: called with @owner; both outlive the channel
 *
 * The memory will be registered with @pd. The worker is the CQ's.
 */
enum vbd_status vbd_channel_create(const struct vbd_channel_owner_ops *owner_ops, void *owner,
	struct vbd_pd *pd, struct vbd_cq *cq, const struct vbd_channel_limits *limits,
	struct vbd_channel **ret_channel, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_channel_try_prepare - control; get the memory if that needs no call that may block. Else
 * false, and vbd_channel_prepare() must follow. */
bool vbd_channel_try_prepare(struct vbd_channel *channel);

/** vbd_channel_prepare - call thread; get the memory, which is registered if need be.
 * vbd_channel_free_memory() follows also if this fails. */
enum vbd_status vbd_channel_prepare(
	struct vbd_channel *channel, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_channel_free_memory - call thread; give the memory back: the QP is destroyed.
 * Harmless if there is none. */
void vbd_channel_free_memory(struct vbd_channel *channel);

/** vbd_channel_destroy - control; not attached, or drained, its memory freed. NULL is fine. */
void vbd_channel_destroy(struct vbd_channel *channel);

/** vbd_channel_pause - control; post no sends until it is resumed. Posted receives stay posted. */
void vbd_channel_pause(struct vbd_channel *channel);

/** vbd_channel_resume - control; the QP can send: post the waiting work. Attached, not draining. */
void vbd_channel_resume(struct vbd_channel *channel);

/** vbd_channel_renew - control; drained, or never attached: it may be attached again. Messages that
 * control has stay in their receives, which are not posted until their release. */
void vbd_channel_renew(struct vbd_channel *channel);

/** vbd_channel_post_receives - control, before it is attached; the QP is in INIT. Skips receives
 * with a message that control has. */
enum vbd_status vbd_channel_post_receives(
	struct vbd_channel *channel, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_channel_recv_data - the bytes of a message, after the route header of a datagram; valid
 * while control has its slot */
const uint8_t *vbd_channel_recv_data(const struct vbd_recv_slot *slot);

/** vbd_channel_recv_grh - UD: VBD_GRH_BYTES in front of a message; meaningless without
 * IBV_WC_GRH in its wc_flags. Valid while control has its slot. */
const uint8_t *vbd_channel_recv_grh(const struct vbd_recv_slot *slot);

/*
 * The worker's side. Only the worker calls these.
 */

/** vbd_channel_attached - handle the attach command */
void vbd_channel_attached(struct vbd_channel *channel);

/** vbd_channel_resumed - handle the resume command: post what waited while `paused` was 1 */
void vbd_channel_resumed(struct vbd_channel *channel);

/** vbd_channel_completed - one completion of this channel */
void vbd_channel_completed(struct vbd_channel *channel, const struct ibv_wc *wc);

/** vbd_channel_join_srq - its SRQ finds it by its QP from now on; it is on no list */
void vbd_channel_join_srq(struct vbd_channel *channel);

/** vbd_channel_of_srq - the channel of the completion's QP; NULL if there is none */
struct vbd_channel *vbd_channel_of_srq(struct vbd_srq *srq, uint32_t qp_num);

/** vbd_channel_shared_received - a receive of its SRQ completed with a message for @channel */
void vbd_channel_shared_received(
	struct vbd_channel *channel, struct vbd_recv_slot *slot, const struct ibv_wc *wc);

/** vbd_channel_start_transfer - queue a transfer and post as much as fits */
void vbd_channel_start_transfer(struct vbd_channel *channel, struct vbd_transfer *transfer);

/** vbd_channel_cancel_transfer - post no more of it; it ends when none of its wrs is outstanding */
void vbd_channel_cancel_transfer(struct vbd_transfer *transfer);

/** vbd_channel_drain - post nothing more; the drain command goes back when nothing is outstanding
 */
void vbd_channel_drain(struct vbd_channel *channel);

/* A send work request for a service, a transfer or a probe. */
struct vbd_send_request {
	enum vbd_op op;
	const struct vbd_sge *sges; /* copied; may be empty for an atomic */
	uint32_t sge_count;	    /* at most the channel's max_send_sge; 0: no bytes */
	/* The caller posts another at once, or vbd_channel_pump() ends: the request needs no
	 * completion, and goes to the device with the next one. Inline bytes must stay until then.
	 */
	bool more;
	struct vbd_wr_params wr; /* inlined: at most the channel's inline_bytes */
	struct vbd_transfer *transfer;
	uint32_t recv_index;
	uint64_t ping;
	bool heartbeat;
};

/** vbd_channel_can_send - is a send slot free, and may anything be posted at all? */
bool vbd_channel_can_send(struct vbd_channel *channel);

/** vbd_channel_post_send - post @request, for which vbd_channel_can_send() was true; a failure
 * breaks the channel. False if not posted: then an outstanding_wrs that the caller counted for it
 * is counted back. The first send of a channel
 * allocates its send slots. */
bool vbd_channel_post_send(struct vbd_channel *channel, const struct vbd_send_request *request);

/** vbd_channel_recv_slot - receive @index, of the channel or of its SRQ */
struct vbd_recv_slot *vbd_channel_recv_slot(const struct vbd_channel *channel, uint32_t index);

/** vbd_channel_recv_lkey - the lkey of the memory of its receives */
uint32_t vbd_channel_recv_lkey(const struct vbd_channel *channel);

/** vbd_channel_post_recv - post receive @index again, at the latest at the end of the worker's
 * turn: an answer goes first. A failure breaks the channel. A receive of an SRQ is released to the
 * SRQ. */
void vbd_channel_post_recv(struct vbd_channel *channel, uint32_t index);

/** vbd_channel_repost - post the receives of vbd_channel_post_recv() now */
void vbd_channel_repost(struct vbd_channel *channel);

/** vbd_channel_break - after an error: notify control, post nothing more. @op: VBD_OP_COUNT for a
 * heartbeat */
void vbd_channel_break(struct vbd_channel *channel, const struct vbd_error *why, enum vbd_op op,
	uint64_t transfer_id);

/** vbd_channel_abandon - its QP is destroyed and the CQ purged: count outstanding requests as
 * flushed, and end the drain */
void vbd_channel_abandon(struct vbd_channel *channel);

/*
 * Faults of clients (rdma/provider/faults.h) withhold receives of a channel, which are not posted
 * again, and completions, which are delivered later or never: rdma/data/channel_withheld.c. Only
 * the worker calls these, except where a function says otherwise.
 */

/** vbd_withheld_completion - whether a fault keeps the completion for later, or for good. One that
 * comes after a delayed one of the channel waits too, as a device keeps the order. */
bool vbd_withheld_completion(struct vbd_channel *channel, const struct ibv_wc *wc);

/** vbd_withheld_next - take the next delayed completion whose time has come; false: none */
bool vbd_withheld_next(struct vbd_worker *worker, struct ibv_wc *ret_wc);

/** vbd_withheld_delivered - a delayed completion of the channel is about to be delivered */
void vbd_withheld_delivered(struct vbd_channel *channel);

/** vbd_withheld_due_ns - when the next delayed completion is to be delivered; UINT64_MAX: none */
uint64_t vbd_withheld_due_ns(const struct vbd_worker *worker);

/** vbd_withheld_release - a fault is over: call @post for the held receives, and deliver the
 * delayed completions in this turn. Another fault may hold the receives again. */
void vbd_withheld_release(
	struct vbd_worker *worker, void (*post)(struct vbd_channel *channel, uint32_t index));

/** vbd_withheld_fini - free what a worker that has stopped still has; control */
void vbd_withheld_fini(struct vbd_worker *worker);

/** vbd_heartbeats_run - take care of the heartbeats that are due, VBD_HEARTBEATS_A_TURN at most */
void vbd_heartbeats_run(struct vbd_worker *worker);

/*
 * The services (rdma/data/service.c) handle a connection's incoming messages: they keep them
 * (inbox), send them back (echo), only count them (sink), or speak rping's protocol.
 */

/**
 * vbd_service_check - can a queue pair of @transport with receives of this size have @service?
 *
 * not_supported (rping's two need RDMA read, echo a connection), bad_value (rping's need receives
 * of 16 bytes). Any thread.
 */
enum vbd_status vbd_service_check(enum vbd_service service, enum vbd_qp_transport transport,
	uint32_t recv_size_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_service_ops - the operations of @service, for struct vbd_channel_limits; any thread */
const struct vbd_service_ops *vbd_service_ops(enum vbd_service service);

#endif
