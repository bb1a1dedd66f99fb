/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair with its resources: PD, SRQ, CQ entries, channel and ibv_qp. Its owner, a connection
 * or an endpoint, embeds it.
 *
 *   qp_open.c  open: find the resources, create the channel and the QP
 *   qp.c       attach, drain, force, release
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_QP_QP_H
#define VBD_RDMA_QP_QP_H

#include "rdma/data/channel.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/wr_id.h"
#include "rdma/names/reason.h"
#include "rdma/qp/qp_params.h"

struct ibv_qp;
struct ibv_qp_attr;
struct rdma_cm_id;
struct vbd_heartbeat;
struct vbd_heartbeat_counters;
struct vbd_qp;
struct vbd_qp_remains;

/* Called by the QP for its owner. No member is NULL but `check`. */
struct vbd_qp_ops {
	const char *owner; /* "connection", "endpoint" */

	/* For the layer above, which uses the QP without its owner. */

	/* VBD_OK if work may be posted now, else wrong_state with the pointer "/connection" or
	 * "/endpoint". */
	enum vbd_status (*check_usable)(const struct vbd_qp *qp, struct vbd_error *err);
	/* End the owner: work requests of @transfer (0: of none) do not complete. A client may want
	 * that, as only the end takes them back: @why is VBD_E_CANCELLED. */
	void (*end)(struct vbd_qp *qp, const struct vbd_error *why, uint64_t transfer);

	/* Notifications. */

	/* A completion failed; nothing more is posted. Called once at most. @flushed: the device
	 * had moved the QP to ERR before. */
	void (*on_error)(struct vbd_qp *qp, const struct vbd_cause *cause, bool flushed);
	/* @type: enum ibv_event_type; IBV_EVENT_CQ_ERR is about the CQ of the QP */
	void (*on_async)(struct vbd_qp *qp, int type);
	/* Look whether the device has moved the QP to ERR. */
	void (*check)(struct vbd_qp *qp);
	/* The drain is over: vbd_qp_release() may be called. */
	void (*on_drained)(struct vbd_qp *qp);
	/* vbd_qp_moved() was called; @old_state: enum ibv_qp_state */
	void (*moved)(struct vbd_qp *qp, int old_state);
	/* Nothing is posted any more and the ibv_qp is about to be destroyed. */
	void (*before_destroy)(struct vbd_qp *qp);
};

/* The reader of the messages, in the layer above the owner. */
struct vbd_qp_reader_ops {
	/* A message came in; the slot is the reader's until vbd_qp_release_message(). */
	void (*on_message)(void *reader, struct vbd_recv_slot *slot);
	/* The memory of the receives is about to be freed: copy the messages not yet released. */
	void (*before_memory_freed)(void *reader);
};

/* Attributes of the QP, as of the last ibv_query_qp(3) or CM event. */
struct vbd_qp_info {
	int state;     /* enum ibv_qp_state */
	uint32_t lqpn; /* 0 before the QP is created */
	uint32_t rqpn;
	bool iwarp;	  /* only responder_resources and initiator_depth have a meaning */
	bool soft_roce;	  /* a retry_count of 7 retries for ever */
	bool path_known;  /* the members below are set; false before RTR */
	bool sends_known; /* the attributes set with RTS are: sq_psn, timers, retries */
	uint64_t read_ns; /* of the last look by vbd_conn_refresh_qp_at(); 0: none since a move */
	uint32_t sq_psn, rq_psn;
	uint32_t path_mtu_bytes;
	uint8_t ack_timeout, retry_count, rnr_retry, min_rnr_timer;
	uint8_t responder_resources, initiator_depth;
	bool gid_known; /* the path has a GRH, as always on RoCE */
	uint32_t gid_index;
	uint8_t dgid[16];
	uint8_t traffic_class, hop_limit;
	bool sgid_known; /* sgid, the local entry of the GID table, is set */
	struct vbd_gid sgid;
};

struct vbd_qp {
	const struct vbd_qp_ops *ops;
	struct vbd_fabric *fabric;
	struct vbd_account *account; /* the owner's */
	uint64_t owner_id;
	const void *fault_subject; /* for vbd_fault_take(); NULL: no fault means it */
	const struct vbd_qp_reader_ops *reader_ops; /* NULL without a reader */
	void *reader;

	/* From vbd_qp_reserve() to vbd_qp_release(). */
	struct vbd_qp_remains *remains; /* takes the members below when it is over */
	struct vbd_device *device;
	struct vbd_pd *pd;	     /* with a reference, also to the device */
	struct vbd_srq *srq;	     /* counted in srq->users; NULL: the channel has receives */
	struct vbd_channel *channel; /* the data path */
	uint32_t reserved_cqe;	     /* in the channel's CQ */
	struct ibv_qp *ibv_qp;	     /* NULL once a drain was forced */
	uint32_t
		peer_recv_size_bytes; /* of each receive of the peer, as told by hand; 0: unknown */

	/* Kept after vbd_qp_release(). */
	uint64_t cq_id; /* 0 until a CQ is chosen */
	struct vbd_qp_info info;
	int told_state; /* of the last ops->moved(); a query of the device may know more already */
	struct vbd_op_counters *ended_ops;     /* the counters of the ended channel; NULL before */
	struct vbd_heartbeat *ended_heartbeat; /* its heartbeat; NULL before, or without */
	enum vbd_reason reason;		       /* why the owner ends; NONE before */
	struct vbd_first_error first_error;
	uint64_t errors_after_first;

	struct vbd_link transfers; /* of the layer above; not ended yet */
};

/** vbd_qp_init - no resources yet. @ops, @fabric and the owner's @account outlive the QP. */
void vbd_qp_init(struct vbd_qp *qp, struct vbd_fabric *fabric, struct vbd_account *account,
	uint64_t owner_id, const struct vbd_qp_ops *ops);

/** vbd_qp_fini - free what is kept after vbd_qp_release() */
void vbd_qp_fini(struct vbd_qp *qp);

/**
 * vbd_qp_reserve - the first of three steps: PD, SRQ, CQ entries, and a channel without memory;
 * vbd_channel_try_prepare() or vbd_channel_prepare() is the second
 * @device: usable; the resources that @params name must be of this device
 *
 * Returns not_found, bad_value, pd_mismatch, limit_reached and out_of_range for @params. After a
 * failure of any step vbd_qp_release() frees the resources.
 */
enum vbd_status vbd_qp_reserve(struct vbd_qp *qp, struct vbd_device *device,
	const struct vbd_qp_params *params, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_open - the third step: create the QP, in RESET; out_of_range, and the errors of the
 * device */
enum vbd_status vbd_qp_open(struct vbd_qp *qp, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_attach - attach the channel, whose receives are posted, to its worker */
void vbd_qp_attach(struct vbd_qp *qp);

/** vbd_qp_start_heartbeat - the owner is established: send heartbeats from now on, if it is to */
void vbd_qp_start_heartbeat(struct vbd_qp *qp);

/** vbd_qp_modify - ibv_modify_qp(3), unless the QP is in INIT and @attr changes nothing, then
 * vbd_qp_moved(); @attr has the state */
enum vbd_status vbd_qp_modify(struct vbd_qp *qp, struct ibv_qp_attr *attr, int mask,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_moved - record that the QP is in @state (enum ibv_qp_state) */
void vbd_qp_moved(struct vbd_qp *qp, int state);

/**
 * vbd_qp_drain - end all work: on_drained() follows when nothing is outstanding
 *
 * The QP is attached. The worker posts nothing more, and the QP goes to ERR so that the device
 * flushes it. A device that refuses ERR does not flush either, so the drain is forced. Harmless
 * during a drain.
 */
void vbd_qp_drain(struct vbd_qp *qp);

/** vbd_qp_stop - the worker posts nothing more, and what is outstanding goes on. on_drained()
 * follows if all of it completes; else vbd_qp_drain() must follow. */
void vbd_qp_stop(struct vbd_qp *qp);

/** vbd_qp_has_sends - are work requests outstanding that are no receives? */
bool vbd_qp_has_sends(const struct vbd_qp *qp);

/** vbd_qp_collect_flushes - vbd_qp_drain() of a QP that is in ERR already */
void vbd_qp_collect_flushes(struct vbd_qp *qp);

/** vbd_qp_force - end a drain without the flushes: destroy the QP once the worker posts nothing
 * more. on_drained() follows. Harmless when called again. */
void vbd_qp_force(struct vbd_qp *qp);

/** vbd_qp_is_drained - true if the QP was never attached or every command to the worker is back */
bool vbd_qp_is_drained(const struct vbd_qp *qp);

/**
 * vbd_qp_release - the end: the drained QP, its channel and its resources belong to the owner no
 * more
 * @cm_id: goes with them; NULL for none
 *
 * A call thread destroys what the kernel has (struct vbd_qp_remains). Harmless when nothing was
 * reserved; then @cm_id, which was never connected, is destroyed at once.
 */
void vbd_qp_release(struct vbd_qp *qp, struct rdma_cm_id *cm_id);

/** vbd_qp_renew - after vbd_qp_release(): the owner goes on, and may reserve another one */
void vbd_qp_renew(struct vbd_qp *qp);

/** vbd_qp_release_message - post the receive of a deleted message again */
void vbd_qp_release_message(struct vbd_qp *qp, struct vbd_recv_slot *slot);

/** vbd_qp_op_counters - the counters of @op, also after the channel is freed */
const struct vbd_op_counters *vbd_qp_op_counters(const struct vbd_qp *qp, enum vbd_op op);

/** vbd_qp_refuses_heartbeat - whether the queue pair has ended since the peer's refuses a
 * heartbeat: it allows no writes */
bool vbd_qp_refuses_heartbeat(const struct vbd_qp *qp);

/** vbd_qp_heartbeat - the counters of its heartbeat, also after the channel is freed; NULL if it
 * has none */
const struct vbd_heartbeat_counters *vbd_qp_heartbeat(const struct vbd_qp *qp);

/** vbd_qp_remember - record why the owner ends: the first @reason and the first error are kept,
 * later errors are counted */
void vbd_qp_remember(struct vbd_qp *qp, enum vbd_reason reason, const struct vbd_cause *cause);

/** vbd_qp_end_error - the error that stands for the reason of the end: the first error, with the
 * status of the reason. The reason must be set. */
void vbd_qp_end_error(const struct vbd_qp *qp, struct vbd_error *ret_err);

/** vbd_qp_fails_by - whether the QP can't be used after an async event of it, or of its CQ; @type:
 * enum ibv_event_type */
bool vbd_qp_fails_by(int type);

/* "connection 18446744073709551615" and its NUL. */
#define VBD_QP_OWNER_BYTES 40

/** vbd_qp_owner_text - "endpoint 7"; returns @text */
char *vbd_qp_owner_text(const struct vbd_qp *qp, char text[VBD_QP_OWNER_BYTES]);

/* The notifications of a channel to its QP; for qp_open.c. */
extern const struct vbd_channel_owner_ops vbd_qp_channel_ops;

/* The remains of a queue pair that is over: its objects in the kernel and their memory. */
struct vbd_qp_remains {
	struct vbd_cm_tag tag; /* of cm_id: nobody wants its events any more */
	struct vbd_call call;
	struct vbd_qp *qp; /* its owner, as long as there is one */
	struct vbd_account account;
	struct ibv_qp *ibv_qp;
	struct rdma_cm_id *cm_id;
	struct vbd_channel *channel;
	uint32_t reserved_cqe; /* in the channel's CQ */
	struct vbd_fabric *fabric;
	struct vbd_pd *pd;
	struct vbd_srq *srq;
};

#endif
