/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data worker: one thread that polls CQs, posts work and runs the services. It sleeps in epoll
 * when there is no work. It shares only commands, notifications and counters with the control
 * thread. rdma/data/datapath.c has its loop, worker.c what the objects that it runs call.
 */
#ifndef VBD_RDMA_DATA_WORKER_H
#define VBD_RDMA_DATA_WORKER_H

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/device/calls.h"
#include "rdma/device/op.h"

#include <pthread.h>

struct ibv_wc;
struct vbd_channel;
struct vbd_cq;
struct vbd_probe_counters;
struct vbd_send_chain;
struct vbd_worker;

/* Commands from the control thread to a worker. Each is a mailbox item inside the object that it is
 * about. */
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

/* Notifications from a worker to the control thread, which are mailbox items too. */
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
	VBD_CONTROL_CALL_DONE = VBD_CALL_DONE, /* of a call thread, not of a worker */
};

/* Counts of heartbeats (rdma/data/heartbeat.h). The worker writes, any thread reads. */
struct vbd_heartbeat_counters {
	struct vbd_counter sent;
	struct vbd_counter answered;
};

/* A struct of zeros is an empty table. */
struct vbd_channel_table {
	/* control */
	uint32_t *free_indexes;
	uint16_t *generations; /* of each index, incremented at every use */
	uint32_t free_count;
	uint32_t index_count;

	/* worker */
	struct vbd_channel **channels; /* by index */
	uint32_t channels_len;
};

/** vbd_channel_table_fini - free its memory; no thread uses the table any more */
void vbd_channel_table_fini(struct vbd_channel_table *table);

/** vbd_channel_table_reserve - control; an index and its generation; false without memory */
bool vbd_channel_table_reserve(
	struct vbd_channel_table *table, uint32_t *ret_index, uint16_t *ret_generation);

/** vbd_channel_table_renew - control; the next generation of a reserved index */
uint16_t vbd_channel_table_renew(struct vbd_channel_table *table, uint32_t index);

/** vbd_channel_table_release - control; nothing uses the index any more */
void vbd_channel_table_release(struct vbd_channel_table *table, uint32_t index);

/** vbd_channel_table_set - worker; route completions with @index to @channel; false: no memory */
bool vbd_channel_table_set(
	struct vbd_channel_table *table, uint32_t index, struct vbd_channel *channel);

/** vbd_channel_table_clear - worker; ignore completions with @index from now on */
void vbd_channel_table_clear(struct vbd_channel_table *table, uint32_t index);

struct vbd_worker {
	unsigned int number;
	struct vbd_mailbox inbox;
	struct vbd_mailbox *control; /* of its notifications */
	struct vbd_mailbox_item stop_command;
	struct vbd_mailbox_item release_command;
	atomic_bool release_sent; /* the worker has not taken release_command yet */
	/* Sums over all probes and all channels of the worker since its start, by kind and by
	 * operation; the worker writes, any thread reads. */
	struct vbd_probe_counters *probe_totals;
	struct vbd_op_counters op_totals[VBD_OP_COUNT];
	struct vbd_heartbeat_counters heartbeat_totals;
	struct vbd_channel_table channels;

	/* the worker writes, any thread reads */
	struct vbd_counter turns;	  /* of the worker's loop */
	struct vbd_counter busy_channels; /* attached channels with `poll` BUSY */
	struct vbd_counter spun_ns;	  /* processor time in turns that found nothing to do */

	/* worker */
	pthread_t thread;
	int cpu; /* the thread runs on this processor only; -1: on any */
	bool running;
	bool stopping;
	int epoll_fd;
	struct vbd_send_chain *sends; /* empty between two channels */
	struct vbd_link active_cqs;
	unsigned int armed_cqs;	     /* CQs that wake the worker by an event */
	uint64_t now_ns;	     /* vbd_worker_now_ns(); 0: not read for this batch */
	struct vbd_heap probes;	     /* of struct vbd_probe, by `due` */
	struct vbd_heap heartbeats;  /* of struct vbd_heartbeat, by `due` */
	struct vbd_link reposting;   /* of struct vbd_channel with receives to be posted again */
	struct vbd_link delayed;     /* completions that a fault delays, the next first */
	struct vbd_link withholding; /* of struct vbd_withheld with receives */
	struct vbd_link srqs;	     /* of struct vbd_srq; their indexes have no channel */
	bool spins;		     /* this turn found a CQ empty that is polled on */
	uint64_t spun_at_ns;	     /* counted in spun_ns until then; 0: the last turn had work */
	uint32_t spin_turns;
};

/** vbd_worker_create - a worker that does not run yet; notifications go to @control */
enum vbd_status vbd_worker_create(unsigned int number, struct vbd_mailbox *control,
	struct vbd_worker **ret_worker, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_worker_start - start its thread */
enum vbd_status vbd_worker_start(struct vbd_worker *worker, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_worker_destroy - stop the thread, wait for it, free; after all its CQs and channels are
 * freed. NULL is fine. */
void vbd_worker_destroy(struct vbd_worker *worker);

/** vbd_worker_now_ns - CLOCK_MONOTONIC, read once for each batch of completions, and for each
 * command: on a machine with a slow clock a reading takes longer than a completion. Only the
 * worker calls this. Never blocks. */
static inline uint64_t vbd_worker_now_ns(struct vbd_worker *worker)
{
	if (!worker->now_ns)
		worker->now_ns = vbd_clock_mono_ns();
	return worker->now_ns;
}

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

/** vbd_worker_faults_ended - control; a fault was disarmed: give back what it has withheld */
void vbd_worker_faults_ended(struct vbd_worker *worker);

/** vbd_worker_wait_ms - time until a ping, a heartbeat or a delayed completion is due, for the
 * worker's sleep; -1: none */
int vbd_worker_wait_ms(const struct vbd_worker *worker);

/** vbd_worker_take_commands - worker; handle the waiting commands; false if there are none */
bool vbd_worker_take_commands(struct vbd_worker *worker);

/** vbd_worker_poll_on - worker; poll @cq in each turn from now on, until it is empty and armed:
 * then an event wakes the worker through epoll */
void vbd_worker_poll_on(struct vbd_worker *worker, struct vbd_cq *cq);

/** vbd_worker_spins_on - worker; is @cq to be polled on though it is empty, instead of being armed?
 * A completion that raises an event costs a wake-up of the thread, which takes longer than a small
 * message. */
bool vbd_worker_spins_on(struct vbd_cq *cq);

/** vbd_worker_spin - worker; the turn has found nothing to do, and a CQ is polled on. The time from
 * here to the next turn that finds something counts in worker->spun_ns. Returns whether to look for
 * events of other CQs, too, which costs a system call. */
bool vbd_worker_spin(struct vbd_worker *worker);

/** vbd_worker_end_spin - worker; the turn has found something to do, and done it: the time from the
 * beginning of the work to the next vbd_worker_spin() is no waste. Counted here and not before the
 * work, so that no peer waits for a reading of the clock. */
void vbd_worker_end_spin(struct vbd_worker *worker);

/** vbd_worker_turn - one turn of the worker's loop; sleeps if @wait. Called by the thread, and by
 * tests without a thread. */
void vbd_worker_turn(struct vbd_worker *worker, bool wait);

#endif
