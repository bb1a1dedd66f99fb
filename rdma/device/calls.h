/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the provider that may block, on threads of their own (docs/internals/blocking.md says
 * which calls these are). Each object has one struct vbd_call as a member and makes one call at a
 * time with it, so that starting a call neither allocates nor fails.
 *
 * There are lanes, so that calls that wait for another host delay neither a registration nor the
 * end of other connections. A lane whose threads are all busy queues. A lane whose threads are all
 * stuck gets more of them.
 *
 * Control thread, except for `work`. Only vbd_calls_destroy() blocks.
 */
#ifndef VBD_RDMA_DEVICE_CALLS_H
#define VBD_RDMA_DEVICE_CALLS_H

#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/provider/account.h"

#include <pthread.h>

/* X(SYMBOL, name, threads, threads at most while calls are stuck) */
#define VBD_LANE_MAP(X)                                                           \
	/* takes as long as the memory is large: registering */                   \
	X(VBD_LANE_MEMORY, "memory", 2, 2)                                        \
	/* takes as long as another host does not answer, which may be minutes */ \
	X(VBD_LANE_PEER, "peer", 64, 64)                                          \
	/* destroys objects of the kernel, which waits for all that uses them */  \
	X(VBD_LANE_END, "end", 4, 128)

/* The kind of the mailbox item of a call, which no other item of the control thread has. */
#define VBD_CALL_DONE 1000

struct rdma_cm_id;
struct vbd_cm_tag;

enum vbd_lane {
#define VBD_LANE_ENUM(sym, name, threads, most) sym,
	VBD_LANE_MAP(VBD_LANE_ENUM)
#undef VBD_LANE_ENUM
		VBD_LANE_COUNT
};

/* The threads of the largest lane. */
#define VBD_LANE_THREADS_MAX 128

/* CM ids that are destroyed at a time. Half of the lane's threads stay for queue pairs and others.
 */
#define VBD_IDS_AT_ONCE 64

struct vbd_call {
	struct vbd_mailbox_item item;	     /* its way back to the control thread */
	struct vbd_link link;		     /* in the queue of its lane */
	void (*work)(struct vbd_call *call); /* on a call thread */
	void (*done)(struct vbd_call *call); /* on the control thread afterwards, exactly once */
	bool cancelled; /* interrupted before a thread took it: `work` did not run */
	bool running;
	struct vbd_calls *calls;
	enum vbd_lane lane;
	pthread_t thread; /* while it is running */
};

/* The destruction of a CM id. */
struct vbd_id_end {
	struct vbd_call call;
	struct rdma_cm_id *id; /* NULL: free for another id */
	uint64_t number;       /* as of vbd_calls_newest_id() */
};

struct vbd_call_lane {
	struct vbd_calls *calls;
	pthread_cond_t wake;
	struct vbd_link queue;
	unsigned int queued, running, idle; /* calls, calls, threads */
	unsigned int thread_count;
	uint64_t moved_ns; /* monotonic: when a thread last took a call, or came back with one */
	pthread_t threads[VBD_LANE_THREADS_MAX];
};

struct vbd_calls {
	pthread_mutex_t lock;
	struct vbd_mailbox *control;
	struct vbd_call_lane lanes[VBD_LANE_COUNT];
	bool stopping;
	/* control only */
	unsigned int under_way; /* started, and not done */
	struct vbd_id_end id_ends[VBD_IDS_AT_ONCE];
	struct rdma_cm_id *first_id, *last_id; /* that wait for one of `id_ends` */
	uint64_t ids_given, ids_taken;	       /* ids that vbd_calls_end_id() got, and ids that
					  left the list that begins at `first_id` */
	void (*id_ended)(void *arg);	       /* one was destroyed; may be NULL */
	void *id_ended_arg;
};

/** vbd_lane_name - "memory" */
const char *vbd_lane_name(enum vbd_lane lane);

/**
 * vbd_calls_create - one thread for each lane; more are started when they are needed
 * @control: gets each call back as VBD_CALL_DONE, for vbd_call_done()
 *
 * Takes SIGURG of this process: it interrupts a call thread and has no other effect.
 */
enum vbd_status vbd_calls_create(struct vbd_mailbox *control, struct vbd_calls **ret_calls,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_calls_destroy - no call is under way, or it blocks until the call has returned. NULL is
 * fine.
 */
void vbd_calls_destroy(struct vbd_calls *calls);

/** vbd_call_start - run call->work on a thread of @lane, then call->done here; the call is not
 * under way */
void vbd_call_start(struct vbd_calls *calls, struct vbd_call *call, enum vbd_lane lane);

/**
 * vbd_call_interrupt - make a call return soon
 *
 * A call that no thread has taken yet comes back cancelled. A running one gets a signal:
 * rdma_connect then fails with EINTR if it sleeps in the kernel. A signal that comes before it
 * sleeps is lost, so repeat this until the call is back. A call that sleeps uninterruptibly takes
 * no notice.
 */
void vbd_call_interrupt(struct vbd_calls *calls, struct vbd_call *call);

/**
 * vbd_calls_disconnect - a call thread disconnects @id; vbd_calls_end_id() waits for that
 *
 * Returns false without memory: end the id soon, which disconnects as well (cm_destroy_id() in
 * core/cm.c).
 */
bool vbd_calls_disconnect(struct vbd_calls *calls, struct rdma_cm_id *id);

/* The join failed; @tag: of the id, which nobody has ended. */
typedef void vbd_join_failed(struct vbd_cm_tag *tag, const struct vbd_error *error);

/**
 * vbd_calls_join - a call thread joins the multicast group that @id was resolved to;
 * vbd_calls_end_id() waits for that
 *
 * Over RoCE the call waits while somebody changes network interfaces (cma_igmp_send() in
 * core/cma.c, 6.1). The event of the CM may come before it is back. Returns false without memory.
 */
bool vbd_calls_join(struct vbd_calls *calls, struct rdma_cm_id *id, bool send_only,
	vbd_join_failed *failed) VBD_MUST_CHECK;

/**
 * vbd_calls_end_id - a call thread destroys @id, in whatever state @id is
 * @account: has @id, and loses it now; NULL if none has it
 * @id:      NULL is fine
 *
 * Needs no memory and can't fail. Events that still come for @id have the tag VBD_CM_OVER.
 */
void vbd_calls_end_id(struct vbd_calls *calls, struct vbd_account *account, struct rdma_cm_id *id);

/** vbd_calls_newest_id - the number of the id that vbd_calls_end_id() was last called for */
uint64_t vbd_calls_newest_id(const struct vbd_calls *calls);

/** vbd_calls_has_ended - whether the id of this number, which had no other call under way, is
 * destroyed: its port is free */
bool vbd_calls_has_ended(const struct vbd_calls *calls, uint64_t number);

/**
 * vbd_calls_check - add threads to lanes whose threads are all stuck while calls wait
 * @now_ns: monotonic; call it twice a second
 */
void vbd_calls_check(struct vbd_calls *calls, uint64_t now_ns);

/** vbd_call_done - the mailbox item of kind VBD_CALL_DONE is @item */
void vbd_call_done(struct vbd_mailbox_item *item);

/** vbd_calls_load - calls of a lane that wait for a thread, and calls that run */
void vbd_calls_load(struct vbd_calls *calls, enum vbd_lane lane, unsigned int *ret_queued,
	unsigned int *ret_running);

#endif
