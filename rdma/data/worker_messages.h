/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands from the control thread to a data worker, and the notifications from workers to the
 * control thread. Each is a mailbox item inside the object that it is about.
 */
#ifndef VBD_RDMA_DATA_WORKER_MESSAGES_H
#define VBD_RDMA_DATA_WORKER_MESSAGES_H

struct vbd_mailbox_item;
struct vbd_worker;

/* Commands to a worker, with the object that contains the mailbox item. */
enum vbd_worker_command {
	VBD_WORKER_ADD_CQ,
	VBD_WORKER_REMOVE_CQ, /* comes back as CONTROL_CQ_REMOVED */
	VBD_WORKER_ATTACH,    /* a channel, its receives posted */
	VBD_WORKER_DRAIN,     /* a channel; comes back as CONTROL_DRAINED */
	VBD_WORKER_QUIESCE,   /* a channel after its drain; comes back as CONTROL_QUIESCED */
	VBD_WORKER_PURGE,     /* a channel whose QP is destroyed; comes back as CONTROL_PURGED */
	VBD_WORKER_RESUME,    /* a paused channel */
	VBD_WORKER_START_TRANSFER,
	VBD_WORKER_CANCEL_TRANSFER, /* comes back as CONTROL_CANCEL_SEEN */
	VBD_WORKER_RELEASE_RECV,
	VBD_WORKER_START_PROBE, /* comes back as CONTROL_PROBE_ENDED */
	VBD_WORKER_STOP_PROBE,	/* comes back as CONTROL_PROBE_STOP_SEEN */
	VBD_WORKER_START_HEARTBEAT,
	VBD_WORKER_ADD_SRQ,
	VBD_WORKER_SRQ_LIMIT,  /* few receives are left; comes back as CONTROL_SRQ_LIMIT_SEEN */
	VBD_WORKER_REMOVE_SRQ, /* comes back as CONTROL_SRQ_REMOVED */
	VBD_WORKER_RELEASE_WITHHELD, /* a fault is over */
	VBD_WORKER_STOP,
};

/* Notifications from a worker to the control thread. */
enum vbd_notification {
	VBD_CONTROL_CQ_REMOVED,
	VBD_CONTROL_DRAINED,
	VBD_CONTROL_QUIESCED,
	VBD_CONTROL_PURGED,
	VBD_CONTROL_CHANNEL_ERROR,
	VBD_CONTROL_MESSAGE,	      /* a receive slot with a message for the inbox */
	VBD_CONTROL_TRANSFER_STARTED, /* the worker has the transfer */
	VBD_CONTROL_TRANSFER_ENDED,
	VBD_CONTROL_CANCEL_SEEN,
	VBD_CONTROL_PROBE_ENDED,
	VBD_CONTROL_PROBE_STOP_SEEN,
	VBD_CONTROL_SRQ_LIMIT_SEEN,
	VBD_CONTROL_SRQ_REMOVED,
	VBD_CONTROL_CALL_DONE, /* of a call thread, not of a worker: rdma/data/calls.h */
};

/** vbd_worker_send - control; send @worker a command. Does not block. */
void vbd_worker_send(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command);

/** vbd_worker_leave - control; as vbd_worker_send(), but a worker that sleeps takes the command
 * only when something else wakes it */
void vbd_worker_leave(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command);

/** vbd_worker_notify - @worker's thread; send the control thread a notification. Does not block. */
void vbd_worker_notify(struct vbd_worker *worker, struct vbd_mailbox_item *item,
	enum vbd_notification notification);

#endif
