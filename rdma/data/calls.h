/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the provider that may block, on threads of their own (docs/blocking.md says which calls
 * these are). Each object has one struct vbd_call as a member and makes one call at a time with it,
 * so that starting a call neither allocates nor fails.
 *
 * There are lanes, so that calls that wait for another host delay neither a registration nor the
 * end of other connections. A lane whose threads are all busy queues.
 *
 * Control thread, except for `work`. Only vbd_calls_destroy() blocks.
 */
#ifndef VBD_RDMA_DATA_CALLS_H
#define VBD_RDMA_DATA_CALLS_H

#include "base/error.h"
#include "base/list.h"
#include "base/mailbox.h"

#include <pthread.h>
#include <stdbool.h>

/* X(SYMBOL, name, threads at most) */
#define VBD_LANE_MAP(X)                                                                      \
	/* takes as long as the memory is large: registering, deregistering */               \
	X(VBD_LANE_MEMORY, "memory", 2)                                                      \
	/* takes as long as another host does not answer, which may be minutes */            \
	X(VBD_LANE_PEER, "peer", 64)                                                         \
	/* destroys what is left of iWARP connections: until the peer speaks, 10 s on siw */ \
	X(VBD_LANE_END, "end", 16)

enum vbd_lane {
#define VBD_LANE_ENUM(sym, name, threads) sym,
	VBD_LANE_MAP(VBD_LANE_ENUM)
#undef VBD_LANE_ENUM
		VBD_LANE_COUNT
};

/* The threads of the largest lane. */
#define VBD_LANE_THREADS_MAX 64

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

struct vbd_call_lane {
	struct vbd_calls *calls;
	pthread_cond_t wake;
	struct vbd_link queue;
	unsigned int queued, running, idle; /* calls, calls, threads */
	unsigned int thread_count;
	pthread_t threads[VBD_LANE_THREADS_MAX];
};

struct vbd_calls {
	pthread_mutex_t lock;
	struct vbd_mailbox *control;
	struct vbd_call_lane lanes[VBD_LANE_COUNT];
	bool stopping;
	unsigned int under_way; /* started, and not done; control only */
};

/** vbd_lane_name - "memory" */
const char *vbd_lane_name(enum vbd_lane lane);

/**
 * vbd_calls_create - one thread for each lane; more are started when they are needed
 * @control: gets each call back as VBD_CONTROL_CALL_DONE, for vbd_call_done()
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

/** vbd_call_done - the notification VBD_CONTROL_CALL_DONE with @item */
void vbd_call_done(struct vbd_mailbox_item *item);

/** vbd_calls_load - calls of a lane that wait for a thread, and calls that run */
void vbd_calls_load(struct vbd_calls *calls, enum vbd_lane lane, unsigned int *ret_queued,
	unsigned int *ret_running);

/** vbd_calls_busy - the calls of all lanes whose notification has not been sent yet; for tests,
 * which wait for it */
unsigned int vbd_calls_busy(struct vbd_calls *calls);

#endif
