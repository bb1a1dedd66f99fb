/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared receive queue: its receives take the messages of all connections that use it. It belongs
 * to one CQ, where its depth is reserved once, and so to one worker; its users use that CQ too, or
 * another of that worker when it is full (vbd_srq_cqs_admit()).
 *
 * A free receive is posted again at once, or, with a limit, is kept until the device reports that
 * fewer than `limit` are left (IBV_EVENT_SRQ_LIMIT_REACHED): then all kept ones are posted
 * together. They are posted without the event too when only half of `limit` are left.
 *
 * The control thread creates, fills and destroys it, but a call thread registers its memory, which
 * takes time; the SRQ is not in the fabric yet then. From the add command until the remove command
 * is back only its worker posts on it.
 */
#ifndef VBD_RDMA_DATA_SRQ_H
#define VBD_RDMA_DATA_SRQ_H

#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/device/mem.h"
#include "rdma/device/op.h"

struct ibv_srq;
struct ibv_wc;
struct vbd_channel;
struct vbd_cq;
struct vbd_pd;
struct vbd_transfer;
struct vbd_worker;

/*
 * A receive. As a mailbox item it carries a message from the worker to the inbox, and the slot back
 * when the message is deleted.
 */
struct vbd_recv_slot {
	struct vbd_mailbox_item item;
	struct vbd_channel *channel; /* SRQ: of the last message in it */
	struct vbd_srq *srq;	     /* NULL: a receive of the channel */
	uint32_t index;
	struct vbd_transfer *transfer; /* the one that posted it; NULL: the service */
	uint64_t received_ns;	       /* service INBOX */
	bool held;		       /* control: has a message, not released yet */
	bool in_service;	       /* worker, SRQ: neither posted nor spare */
	struct vbd_received received;
	/* UD: the sender, and the flag of a global route header in front of the message */
	unsigned int wc_flags;
	uint32_t src_qp;
	uint16_t slid;
	uint8_t sl;
	uint16_t pkey_index;
};

/* Lists of channels. Devices number queue pairs in sequence, so that 4096 of them are 4 to a list.
 */
#define VBD_SRQ_LISTS 1024

struct vbd_srq {
	/* control */
	struct vbd_link link; /* the fabric's list */
	uint64_t id;
	struct vbd_pd *pd;  /* with a reference */
	unsigned int users; /* QPs */
	bool removing;	    /* no lookup finds it any more */
	bool remove_sent;
	bool limit_sent;	  /* the worker has the limit command */
	bool limit_owed;	  /* another limit command must follow */
	struct vbd_counter limit; /* the worker reads */
	struct vbd_counter limit_events;
	/* fixed */
	struct vbd_cq *cq;	   /* NULL before vbd_srq_open(), as is `worker` */
	struct vbd_link more_cqs;  /* control; of struct vbd_srq_cq: further CQs of its users */
	struct vbd_worker *worker; /* the CQ's; NULL after the end of the workers */
	struct vbd_account account;
	struct ibv_srq *srq;
	uint32_t depth;
	uint32_t recv_size_bytes;
	struct vbd_mem mem;
	struct vbd_recv_slot *slots;
	uint32_t index; /* in every wr_id; its generation too */
	uint16_t generation;
	/* mailbox items */
	struct vbd_mailbox_item add_command;
	struct vbd_mailbox_item limit_command; /* comes back as CONTROL_SRQ_LIMIT_SEEN */
	struct vbd_mailbox_item remove_command;
	/* worker */
	struct vbd_link worker_link; /* the worker's list */
	/* A channel is in the list of its QP's number modulo VBD_SRQ_LISTS, by `srq_link`. */
	struct vbd_link channels[VBD_SRQ_LISTS];
	uint32_t *spare; /* slots that wait to be posted */
	uint32_t spare_count;
	/* the worker writes, any thread reads */
	struct vbd_counter posted;
	struct vbd_counter refills; /* number of refills with several spare ones */
	struct vbd_counter messages;
};

struct vbd_srq_params {
	uint32_t depth;		  /* 1 to the device's max_srq_wr */
	uint32_t recv_size_bytes; /* 1 to 1 MiB */
	uint32_t limit;		  /* 0 to depth; 0: post at once */
};

/**
 * vbd_srq_plan - control; an SRQ without memory for its receives, and without a queue
 * @pd: gets the references of the SRQ and of its memory
 *
 * vbd_mem_prepare() of its `mem` and vbd_srq_open() follow; vbd_srq_destroy() may follow each of
 * them.
 */
enum vbd_status vbd_srq_plan(struct vbd_pd *pd, const struct vbd_srq_params *params,
	struct vbd_srq **ret_srq, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_srq_open - control; a prepared SRQ gets its queue and its receives. Not added to its worker
 * yet.
 * @cq: has admitted the depth
 */
enum vbd_status vbd_srq_open(
	struct vbd_srq *srq, uint64_t id, struct vbd_cq *cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_destroy - control; no QP uses it, and it was never added to its worker, or is removed */
void vbd_srq_destroy(struct vbd_srq *srq);

/** vbd_srq_set_limit - control; valid from now on */
void vbd_srq_set_limit(struct vbd_srq *srq, uint32_t limit);

/** vbd_srq_on_limit_event - control; the device reports that few receives are left */
void vbd_srq_on_limit_event(struct vbd_srq *srq);

/** vbd_srq_on_limit_seen - control; the limit command is back */
void vbd_srq_on_limit_seen(struct vbd_srq *srq);

/** vbd_srq_release_held - control; @channel ends: release the receives with its messages that
 * control still has */
void vbd_srq_release_held(struct vbd_srq *srq, const struct vbd_channel *channel);

/** vbd_srq_recv_data - the bytes of a receive */
uint8_t *vbd_srq_recv_data(const struct vbd_recv_slot *slot);

/*
 * The worker's side.
 */

/** vbd_srq_added - handle the add command: count in its CQ, arm the limit */
void vbd_srq_added(struct vbd_srq *srq);

/** vbd_srq_removed - handle the remove command: no message comes any more */
void vbd_srq_removed(struct vbd_srq *srq);

/** vbd_srq_refill - post all spare receives, and arm the limit again */
void vbd_srq_refill(struct vbd_srq *srq);

/** vbd_srq_refill_if_low - post the spare receives; with a limit, only when half of it is left,
 * without waiting for the device's event */
void vbd_srq_refill_if_low(struct vbd_srq *srq);

/** vbd_srq_release - a receive is free again */
void vbd_srq_release(struct vbd_srq *srq, struct vbd_recv_slot *slot);

/**
 * vbd_srq_completed - a receive has completed
 * @channel: of the completion; NULL if its QP is gone
 *
 * Returns the receive, which the caller passes to @channel; NULL if it is free again.
 */
struct vbd_recv_slot *vbd_srq_completed(
	struct vbd_srq *srq, struct vbd_channel *channel, const struct ibv_wc *wc);

/** vbd_srq_release_all - @channel is gone: release the receives that its service still has */
void vbd_srq_release_all(struct vbd_srq *srq, const struct vbd_channel *channel);

#endif
