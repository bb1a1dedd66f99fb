/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One movement of bytes over a connection: a send, a write or read cut into chunks, an atomic
 * operation, or a receive.
 *
 * The control thread creates it, passes it to the connection's worker, and gets it back ended,
 * exactly once. While the worker has it, control reads only the counters and the fixed members.
 * rdma/data/channel_transfers.c has the functions.
 */
#ifndef VBD_RDMA_DATA_TRANSFER_H
#define VBD_RDMA_DATA_TRANSFER_H

#include "base/histogram.h"
#include "rdma/data/worker.h"

struct vbd_channel;

/*
 * The life of a transfer as one pure table: (state, event) -> (next state, why). Every pair is
 * decided.
 *
 * Any thread.
 */

/* X(SYMBOL, json name, ended) */
#define VBD_TRANSFER_STATE_MAP(X)                       \
	X(VBD_TRANSFER_QUEUED, "queued", false)         \
	X(VBD_TRANSFER_RUNNING, "running", false)       \
	X(VBD_TRANSFER_CANCELLING, "cancelling", false) \
	X(VBD_TRANSFER_DONE, "done", true)              \
	X(VBD_TRANSFER_FAILED, "failed", true)          \
	X(VBD_TRANSFER_CANCELLED, "cancelled", true)    \
	X(VBD_TRANSFER_TIMED_OUT, "timed_out", true)

enum vbd_transfer_state { VBD_TRANSFER_STATE_MAP(VBD_ENUM_ROW) VBD_TRANSFER_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_TRANSFER_EVENT_MAP(X)                                                                  \
	X(VBD_TRANSFER_EV_STARTED, "started") /* the first work request is posted */               \
	X(VBD_TRANSFER_EV_CANCEL, "cancel")   /* a client or the deadline stops it */              \
	X(VBD_TRANSFER_EV_DONE, "done")	      /* every byte is moved */                            \
	X(VBD_TRANSFER_EV_FAILED, "failed")   /* a work request failed, or the connection ended */ \
	X(VBD_TRANSFER_EV_STOPPED,                                                                 \
		"stopped") /* stopped because of CANCEL; nothing is outstanding */                 \
	X(VBD_TRANSFER_EV_STOPPED_LATE, "stopped_late") /* the same, because of the deadline */

enum vbd_transfer_event { VBD_TRANSFER_EVENT_MAP(VBD_ENUM_ROW) VBD_TRANSFER_EVENT_COUNT };

/** vbd_transfer_rule - the pure table: the effect of @event in @state; every pair is decided */
const struct vbd_rule *vbd_transfer_rule(
	enum vbd_transfer_state state, enum vbd_transfer_event event);
const char *vbd_transfer_state_name(enum vbd_transfer_state state);
bool vbd_transfer_state_ended(enum vbd_transfer_state state);
const char *vbd_transfer_event_name(enum vbd_transfer_event event);

struct vbd_transfer {
	/* fixed before it is handed over */
	uint64_t id;
	enum vbd_op op;
	struct vbd_channel *channel;
	uintptr_t local_addr; /* 0: only the ranges of `sges` */
	uint32_t lkey;
	const struct vbd_sge *sges; /* instead of local_addr: one work request for all ranges */
	uint32_t sge_count;	    /* 0: local_addr is cut into chunks */
	struct vbd_wr_params wr;
	uint64_t length_bytes;
	uint64_t chunk_bytes;
	uint32_t tx_depth; /* work requests outstanding at most; 0: the depth of the queue */
	/* Benchmark: number of work requests of chunk_bytes, each from and to the same place. 0: no
	 * benchmark, length_bytes is cut into chunks. */
	uint64_t repeats;
	uint64_t run_ns; /* with `repeats`: stop posting after this time; 0: no limit */
	/* The worker writes: time from post to completion of the signalled work requests. NULL: not
	 * measured. */
	struct vbd_histogram *latency_ns;
	uint64_t created_ns;

	/* control */
	enum vbd_transfer_state state;
	bool cancel_sent; /* cancel_command is on its way or back */
	bool cancel_back;
	bool started_back;
	bool ended_back;
	bool late; /* the deadline, not a client, cancelled it */
	void (*ended)(struct vbd_transfer *transfer,
		void *arg); /* in an ended state; the caller may free it */
	void (*started)(struct vbd_transfer *transfer, void *arg); /* may be NULL */
	void *arg;

	/* mailbox items */
	struct vbd_mailbox_item start_command;
	struct vbd_mailbox_item started_notification;
	struct vbd_mailbox_item cancel_command;
	struct vbd_mailbox_item ended_notification;

	/* worker */
	struct vbd_link link; /* the channel's queue */
	uint64_t posted_bytes;
	uint64_t posted_wrs;
	uint32_t outstanding_wrs;
	bool all_posted;
	bool stopping;
	bool broken;

	/* the worker writes, any thread reads; complete once it has ended */
	struct vbd_counter bytes_done;
	struct vbd_counter wrs_done;
	struct vbd_counter started_ns; /* 0 until the first post */
	struct vbd_counter ended_ns;
	struct vbd_error error;	      /* read it after the end */
	uint64_t old_value;	      /* atomic: the value before; read it after the end */
	struct vbd_received received; /* RECV: the message; read it after the end */
	int wc_status;		      /* of the first completion in error; -1 if none */
	uint32_t vendor_err;
};

/**
 * vbd_transfer_submit - hand a prepared transfer to its channel's worker
 *
 * Control thread; does not block. The memory belongs to the worker until `ended` is called.
 */
void vbd_transfer_submit(struct vbd_transfer *transfer);

/**
 * vbd_transfer_request_cancel - ask the worker to stop @transfer
 * @late: its deadline has passed; false: a client cancels it
 *
 * Control thread; does not block. Harmless if the transfer is being cancelled or has ended.
 */
void vbd_transfer_request_cancel(struct vbd_transfer *transfer, bool late);

/**
 * vbd_transfer_on_notification - the worker has returned a mailbox item of @transfer
 *
 * Control thread. Calls `ended` if this ends the transfer.
 */
void vbd_transfer_on_notification(
	struct vbd_transfer *transfer, enum vbd_notification notification);

/** vbd_transfer_length - the bytes to move; for a benchmark by time, the bytes moved so far */
uint64_t vbd_transfer_length(const struct vbd_transfer *transfer);

#endif
