/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data worker: one thread that polls CQs, posts work and runs the services. It sleeps in epoll
 * when nothing moves. It shares nothing with the control thread but letters and counters.
 */
#ifndef VBD_RDMA_WORKER_H
#define VBD_RDMA_WORKER_H

#include "base/error.h"
#include "base/list.h"
#include "base/mailbox.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct vbd_channel;
struct vbd_cq;
struct vbd_probe_counters;
struct vbd_recv_slot;
struct vbd_transfer;

/* Letters to a worker. What they point at is the letter's container. */
enum vbd_worker_letter {
	VBD_WORKER_ADD_CQ,
	VBD_WORKER_REMOVE_CQ, /* comes back as CONTROL_CQ_REMOVED */
	VBD_WORKER_ATTACH,    /* a channel, its receives posted */
	VBD_WORKER_DRAIN,     /* a channel; comes back as CONTROL_DRAINED */
	VBD_WORKER_FENCE,     /* a channel behind its drain; comes back as CONTROL_FENCED */
	VBD_WORKER_SWEEP,     /* a channel whose QP is destroyed; comes back as CONTROL_SWEPT */
	VBD_WORKER_RESUME,    /* a channel that was held back */
	VBD_WORKER_START_TRANSFER,
	VBD_WORKER_CANCEL_TRANSFER, /* comes back as CONTROL_CANCEL_SEEN */
	VBD_WORKER_RELEASE_RECV,
	VBD_WORKER_START_PROBE, /* comes back as CONTROL_PROBE_ENDED */
	VBD_WORKER_STOP_PROBE,	/* comes back as CONTROL_PROBE_STOP_SEEN */
	VBD_WORKER_ADD_SRQ,
	VBD_WORKER_SRQ_LIMIT,  /* few receives are left; comes back as CONTROL_SRQ_LIMIT_SEEN */
	VBD_WORKER_REMOVE_SRQ, /* comes back as CONTROL_SRQ_REMOVED */
	VBD_WORKER_STOP,
};

/* Letters from workers to the control thread. */
enum vbd_control_letter {
	VBD_CONTROL_CQ_REMOVED,
	VBD_CONTROL_DRAINED,
	VBD_CONTROL_FENCED,
	VBD_CONTROL_SWEPT,
	VBD_CONTROL_CHANNEL_ERROR,
	VBD_CONTROL_MESSAGE,	      /* a receive slot with a message for the inbox */
	VBD_CONTROL_TRANSFER_STARTED, /* its start letter has been taken */
	VBD_CONTROL_TRANSFER_ENDED,
	VBD_CONTROL_CANCEL_SEEN,
	VBD_CONTROL_PROBE_ENDED,
	VBD_CONTROL_PROBE_STOP_SEEN,
	VBD_CONTROL_SRQ_LIMIT_SEEN,
	VBD_CONTROL_SRQ_REMOVED,
};

struct vbd_worker {
	unsigned int number;
	struct vbd_mailbox inbox;
	struct vbd_mailbox *control; /* where its letters go */
	struct vbd_mail mail_stop;
	/* Of all probes it has had, by their kinds; the worker writes, anybody reads. */
	struct vbd_probe_counters *probe_totals;

	/* control: which indexes of the channel table are free */
	uint32_t *free_indexes;
	uint16_t *generations; /* of each index, counted up at every use */
	uint32_t free_count;
	uint32_t index_count;

	/* worker */
	pthread_t thread;
	bool running;
	bool stopping;
	int epoll_fd;
	struct vbd_link active_cqs;
	struct vbd_link probes;	       /* of struct vbd_probe, those to come due, the next first */
	struct vbd_link srqs;	       /* of struct vbd_srq; their indexes are none of a channel */
	struct vbd_channel **channels; /* by index */
	uint32_t channels_len;
};

/** vbd_worker_create - a worker that does not run yet; letters go to @control */
enum vbd_status vbd_worker_create(unsigned int number, struct vbd_mailbox *control,
	struct vbd_worker **ret_worker, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_worker_start - start its thread */
enum vbd_status vbd_worker_start(struct vbd_worker *worker, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_worker_destroy - stop the thread, wait for it, free; its CQs and channels are gone before.
 * NULL is fine. */
void vbd_worker_destroy(struct vbd_worker *worker);

/** vbd_worker_turn - one turn of the worker's loop; sleeps if @wait. The thread does this; tests
 * without one call it. */
void vbd_worker_turn(struct vbd_worker *worker, bool wait);

/** vbd_worker_send - control; hand a letter over */
void vbd_worker_send(
	struct vbd_worker *worker, struct vbd_mail *mail, enum vbd_worker_letter letter);

/** vbd_worker_reply - worker; a letter to the control thread */
void vbd_worker_reply(
	struct vbd_worker *worker, struct vbd_mail *mail, enum vbd_control_letter letter);

/** vbd_worker_forget_channel - worker; completions with this index find nobody from now on */
void vbd_worker_forget_channel(struct vbd_worker *worker, uint32_t index);

/** vbd_worker_take_index - control; a channel index and its generation; false without memory */
bool vbd_worker_take_index(
	struct vbd_worker *worker, uint32_t *ret_index, uint16_t *ret_generation);

/** vbd_worker_renew_index - control; another generation of an index that is taken */
uint16_t vbd_worker_renew_index(struct vbd_worker *worker, uint32_t index);

/** vbd_worker_give_index - control; the channel of this index is gone */
void vbd_worker_give_index(struct vbd_worker *worker, uint32_t index);

#endif
