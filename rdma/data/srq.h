/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared receive queue: its receives take the messages of all connections that use it. It belongs
 * to one CQ, where its depth is reserved once, and so to one worker; its users use that CQ too.
 *
 * A receive that is free again goes back at once, or, with a limit, is kept until the device says
 * that less than `limit` are left (IBV_EVENT_SRQ_LIMIT_REACHED): then all that were kept are posted
 * in one go. The event is the device's to send; when only half as many are left, nobody waits for
 * it any more.
 *
 * The control thread creates, fills and destroys it; from the add command until the remove command
 * is back only its worker posts on it.
 */
#ifndef VBD_RDMA_DATA_SRQ_H
#define VBD_RDMA_DATA_SRQ_H

#include "base/counter.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/provider/account.h"
#include "rdma/data/channel.h"

#include <stdbool.h>
#include <stdint.h>

struct ibv_srq;
struct ibv_wc;
struct vbd_cq;
struct vbd_pd;
struct vbd_worker;

struct vbd_srq {
	/* control */
	struct vbd_link link; /* the fabric's list */
	uint64_t id;
	struct vbd_pd *pd;  /* holds a reference */
	unsigned int users; /* QPs */
	bool removing;	    /* nobody finds it any more */
	bool remove_sent;
	bool limit_sent;	  /* the limit command is with the worker */
	bool limit_owed;	  /* and another is to follow */
	struct vbd_counter limit; /* the worker reads */
	struct vbd_counter limit_events;
	/* fixed */
	struct vbd_cq *cq;
	struct vbd_worker *worker; /* the CQ's; NULL when the workers are gone */
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
	struct vbd_link channels; /* of struct vbd_channel, the last one that got a message first */
	uint32_t *spare;	  /* slots that wait to be posted */
	uint32_t spare_count;
	/* the worker writes, anybody reads */
	struct vbd_counter posted;
	struct vbd_counter refills; /* how often spare ones were posted in one go */
	struct vbd_counter messages;
};

struct vbd_srq_params {
	uint32_t depth;		  /* 1 to the device's max_srq_wr */
	uint32_t recv_size_bytes; /* 1 to 1 MiB */
	uint32_t limit;		  /* 0 to depth; 0: post at once */
};

/**
 * vbd_srq_create - control; memory, queue and receives. The worker does not know it yet.
 * @cq: has admitted the depth
 */
enum vbd_status vbd_srq_create(uint64_t id, struct vbd_pd *pd, struct vbd_cq *cq,
	const struct vbd_srq_params *params, struct vbd_srq **ret_srq,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_destroy - control; no QP uses it, and its worker never knew it or has let go of it */
void vbd_srq_destroy(struct vbd_srq *srq);

/** vbd_srq_set_limit - control; from now on */
void vbd_srq_set_limit(struct vbd_srq *srq, uint32_t limit);

/** vbd_srq_on_limit_event - control; the device says that few are left */
void vbd_srq_on_limit_event(struct vbd_srq *srq);

/** vbd_srq_on_limit_seen - control; the limit command is back */
void vbd_srq_on_limit_seen(struct vbd_srq *srq);

/** vbd_srq_release_held - control; @channel goes: messages of its that control still held are not
 * read in their receives any more */
void vbd_srq_release_held(struct vbd_srq *srq, const struct vbd_channel *channel);

/** vbd_srq_recv_data - the bytes of a receive */
uint8_t *vbd_srq_recv_data(const struct vbd_recv_slot *slot);

/*
 * The worker's side.
 */

/** vbd_srq_added - it counts in its CQ from now on, and its limit is armed */
void vbd_srq_added(struct vbd_srq *srq);

/** vbd_srq_removed - no message comes any more */
void vbd_srq_removed(struct vbd_srq *srq);

/** vbd_srq_refill - post all that is spare, and arm the limit again */
void vbd_srq_refill(struct vbd_srq *srq);

/** vbd_srq_refill_if_low - post the spare receives; with a limit, only when half of it is left:
 * then the device's event does not come any more */
void vbd_srq_refill_if_low(struct vbd_srq *srq);

/** vbd_srq_release - a receive is free again */
void vbd_srq_release(struct vbd_srq *srq, struct vbd_recv_slot *slot);

/** vbd_srq_channel - whose completion it is; NULL if nobody's */
struct vbd_channel *vbd_srq_channel(struct vbd_srq *srq, uint32_t qp_num);

/**
 * vbd_srq_completed - a receive has completed
 * @channel: the completion's; NULL if its QP is gone
 *
 * Returns the receive, which the caller hands to @channel; NULL if it is free again.
 */
struct vbd_recv_slot *vbd_srq_completed(
	struct vbd_srq *srq, struct vbd_channel *channel, const struct ibv_wc *wc);

/** vbd_srq_remove_channel - it is gone: what its service still had of the receives is free */
void vbd_srq_remove_channel(struct vbd_srq *srq, struct vbd_channel *channel);

#endif
