/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/calls.h"

#include "base/clock.h"
#include "base/log.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/provider.h"

#include <signal.h>

/* The threads only call librdmacm and libibverbs, which keep nothing large on the stack. */
#define STACK_BYTES (256UL * 1024)

/* Ignored by default, so that it harms nothing when it comes from elsewhere. */
#define INTERRUPT SIGURG

/* A lane in which nothing has moved for so long is stuck. */
#define STUCK_NS (100 * VBD_NS_PER_MS)

static const struct {
	const char *name;
	unsigned int threads, most;
} lanes[VBD_LANE_COUNT] = {
#define VBD_LANE_ROW(sym, name, threads, most) [sym] = {name, threads, most},
	VBD_LANE_MAP(VBD_LANE_ROW)
#undef VBD_LANE_ROW
};

const char *vbd_lane_name(enum vbd_lane lane)
{
	return lanes[lane].name;
}

static void ignore_signal(int signum)
{
	(void)signum; /* the system call returns EINTR, which is all */
}

/* Without SA_RESTART, or the kernel would begin the interrupted call again. */
static void install_handler(void)
{
	struct sigaction action = {.sa_handler = ignore_signal};
	sigset_t set;

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(INTERRUPT, &action, NULL);
	/* Threads started later inherit this; the call threads unblock it. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, INTERRUPT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static struct vbd_call *wait_for_call(struct vbd_call_lane *lane)
{
	struct vbd_call *call;

	while (vbd_list_empty(&lane->queue) && !lane->calls->stopping) {
		lane->idle++;
		(void)pthread_cond_wait(&lane->wake, &lane->calls->lock);
		lane->idle--;
	}
	call = VBD_LIST_FIRST(&lane->queue, struct vbd_call, link);
	if (!call)
		return NULL;
	vbd_list_remove(&call->link);
	lane->queued--;
	lane->running++;
	lane->moved_ns = vbd_clock_mono_ns();
	call->running = true;
	call->thread = pthread_self();
	return call;
}

static void send_call_back(struct vbd_calls *calls, struct vbd_call *call)
{
	call->running = false;
	call->item.kind = VBD_CALL_DONE;
	vbd_mailbox_leave(calls->control, &call->item);
}

static void *thread_main(void *arg)
{
	struct vbd_call_lane *lane = arg;
	struct vbd_calls *calls = lane->calls;
	struct vbd_call *call;
	char name[16];
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, INTERRUPT);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)snprintf(name, sizeof(name), "verbsd-%s", lanes[lane - calls->lanes].name);
	(void)pthread_setname_np(pthread_self(), name);
	(void)pthread_mutex_lock(&calls->lock);
	while ((call = wait_for_call(lane))) {
		(void)pthread_mutex_unlock(&calls->lock);
		call->work(call);
		(void)pthread_mutex_lock(&calls->lock);
		/* Inside the lock: a call is never missing from the load and from the mailbox. */
		send_call_back(calls, call);
		lane->running--;
		lane->moved_ns = vbd_clock_mono_ns();
		(void)pthread_mutex_unlock(&calls->lock);
		/* After the lock, which the control thread may want at once. */
		vbd_mailbox_poke(calls->control);
		(void)pthread_mutex_lock(&calls->lock);
	}
	(void)pthread_mutex_unlock(&calls->lock);
	return NULL;
}

static int add_thread(struct vbd_call_lane *lane)
{
	pthread_attr_t attr;
	int errnum;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	errnum = pthread_create(&lane->threads[lane->thread_count], &attr, thread_main, lane);
	(void)pthread_attr_destroy(&attr);
	if (!errnum)
		lane->thread_count++;
	return errnum;
}

enum vbd_status vbd_calls_create(
	struct vbd_mailbox *control, struct vbd_calls **ret_calls, struct vbd_error *err)
{
	struct vbd_calls *calls = calloc(1, sizeof(*calls));
	int errnum = 0;

	if (!calls)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the call threads");
	calls->control = control;
	(void)pthread_mutex_init(&calls->lock, NULL);
	for (unsigned int i = 0; i < VBD_LANE_COUNT; i++) {
		calls->lanes[i].calls = calls;
		vbd_list_init(&calls->lanes[i].queue);
		(void)pthread_cond_init(&calls->lanes[i].wake, NULL);
	}
	install_handler();
	for (unsigned int i = 0; i < VBD_LANE_COUNT && !errnum; i++)
		errnum = add_thread(&calls->lanes[i]);
	if (errnum) {
		vbd_calls_destroy(calls);
		return vbd_error_errno(
			err, VBD_OK, "pthread_create", errnum, "no thread for blocking calls");
	}
	*ret_calls = calls;
	return VBD_OK;
}

void vbd_calls_destroy(struct vbd_calls *calls)
{
	if (!calls)
		return;
	(void)pthread_mutex_lock(&calls->lock);
	calls->stopping = true;
	for (unsigned int i = 0; i < VBD_LANE_COUNT; i++)
		(void)pthread_cond_broadcast(&calls->lanes[i].wake);
	(void)pthread_mutex_unlock(&calls->lock);
	for (unsigned int i = 0; i < VBD_LANE_COUNT; i++) {
		for (unsigned int j = 0; j < calls->lanes[i].thread_count; j++)
			(void)pthread_join(calls->lanes[i].threads[j], NULL);
		(void)pthread_cond_destroy(&calls->lanes[i].wake);
	}
	(void)pthread_mutex_destroy(&calls->lock);
	free(calls);
}

void vbd_call_start(struct vbd_calls *calls, struct vbd_call *call, enum vbd_lane lane_id)
{
	struct vbd_call_lane *lane = &calls->lanes[lane_id];
	int errnum = 0;

	call->cancelled = false;
	call->calls = calls;
	call->lane = lane_id;
	calls->under_way++;
	vbd_list_init(&call->link);
	(void)pthread_mutex_lock(&calls->lock);
	vbd_list_append(&lane->queue, &call->link);
	lane->queued++;
	if (lane->queued > lane->idle && lane->thread_count < lanes[lane_id].threads)
		errnum = add_thread(lane);
	else if (lane->queued == 1)
		lane->moved_ns = vbd_clock_mono_ns();
	(void)pthread_mutex_unlock(&calls->lock);
	/* After the lock: the thread that wakes takes it first. */
	(void)pthread_cond_signal(&lane->wake);
	/* The threads that there are take the call later. */
	if (errnum)
		vbd_log(VBD_LOG_DEBUG, "calls", "pthread_create: errno %d", errnum);
}

/* Doubles the threads, so that a second or two are enough for any number of stuck calls. */
static int add_threads_if_stuck(struct vbd_call_lane *lane, unsigned int most, uint64_t now_ns)
{
	unsigned int missing = lane->queued > lane->idle ? lane->queued - lane->idle : 0;
	int errnum = 0;

	if (now_ns < lane->moved_ns + STUCK_NS)
		return 0;
	if (missing > lane->thread_count)
		missing = lane->thread_count;
	for (; missing && !errnum && lane->thread_count < most; missing--)
		errnum = add_thread(lane);
	return errnum;
}

void vbd_calls_check(struct vbd_calls *calls, uint64_t now_ns)
{
	int errnum = 0;

	(void)pthread_mutex_lock(&calls->lock);
	for (unsigned int i = 0; i < VBD_LANE_COUNT && !errnum; i++)
		errnum = add_threads_if_stuck(&calls->lanes[i], lanes[i].most, now_ns);
	(void)pthread_mutex_unlock(&calls->lock);
	if (errnum)
		vbd_log(VBD_LOG_WARNING, "calls", "pthread_create: errno %d", errnum);
}

/* librdmacm uses the member `srq` of an id only for SRQs that it has made itself. Here the member
 * leads to the call for the id that is under way, and then links ids that wait: a list that needs
 * no memory. */
static void queue_id(struct vbd_calls *calls, struct rdma_cm_id *id)
{
	if (calls->first_id)
		calls->last_id->srq = (struct ibv_srq *)(void *)id;
	else
		calls->first_id = id;
	calls->last_id = id;
}

static struct rdma_cm_id *dequeue_id(struct vbd_calls *calls)
{
	struct rdma_cm_id *id = calls->first_id;

	if (!id)
		return NULL;
	calls->first_id = (struct rdma_cm_id *)(void *)id->srq;
	id->srq = NULL;
	return id;
}

/* Call thread. */
static void destroy_id_work(struct vbd_call *call)
{
	vbd_pv_destroy_id(NULL, VBD_CONTAINER_OF(call, struct vbd_id_end, call)->id);
}

static void start_id_destruction(struct vbd_calls *calls, struct vbd_id_end *end);

static void on_id_destroyed(struct vbd_call *call)
{
	struct vbd_id_end *end = VBD_CONTAINER_OF(call, struct vbd_id_end, call);

	end->id = NULL;
	start_id_destruction(call->calls, end);
	if (call->calls->id_ended)
		call->calls->id_ended(call->calls->id_ended_arg);
}

static void start_id_destruction(struct vbd_calls *calls, struct vbd_id_end *end)
{
	end->id = dequeue_id(calls);
	if (!end->id)
		return;
	end->number = ++calls->ids_taken;
	end->call.work = destroy_id_work;
	end->call.done = on_id_destroyed;
	vbd_call_start(calls, &end->call, VBD_LANE_END);
}

static void queue_and_destroy_id(struct vbd_calls *calls, struct rdma_cm_id *id)
{
	calls->ids_given++;
	queue_id(calls, id);
	for (size_t i = 0; i < VBD_IDS_AT_ONCE && calls->first_id; i++) {
		if (!calls->id_ends[i].id)
			start_id_destruction(calls, &calls->id_ends[i]);
	}
}

/* A disconnect or a join. */
struct id_call {
	struct vbd_call call;
	struct rdma_cm_id *id;
	bool destroy;		 /* the id afterwards */
	bool send_only;		 /* of a join */
	vbd_join_failed *failed; /* NULL: a disconnect */
	struct vbd_error error;
};

/* Call thread. */
static void id_call_work(struct vbd_call *call)
{
	struct id_call *made = VBD_CONTAINER_OF(call, struct id_call, call);

	if (made->failed)
		(void)!vbd_pv_join_multicast(made->id, made->send_only, &made->error);
	else
		(void)!vbd_pv_disconnect(made->id, &made->error);
}

static void on_id_call_done(struct vbd_call *call)
{
	struct id_call *made = VBD_CONTAINER_OF(call, struct id_call, call);
	struct vbd_cm_tag *tag = made->id->context;

	made->id->srq = NULL;
	if (made->error.status)
		vbd_log(VBD_LOG_DEBUG, "calls", "%s", made->error.text);
	if (made->destroy)
		queue_and_destroy_id(call->calls, made->id);
	else if (made->error.status && made->failed)
		made->failed(tag, &made->error);
	else if (made->error.status)
		tag->disconnect_failed = true;
	free(made);
}

/* @failed: NULL: a disconnect */
static bool start_id_call(
	struct vbd_calls *calls, struct rdma_cm_id *id, bool send_only, vbd_join_failed *failed)
{
	struct id_call *made = calloc(1, sizeof(*made));

	if (!made)
		return false;
	made->id = id;
	made->send_only = send_only;
	made->failed = failed;
	made->call.work = id_call_work;
	made->call.done = on_id_call_done;
	id->srq = (struct ibv_srq *)(void *)made;
	vbd_call_start(calls, &made->call, failed ? VBD_LANE_PEER : VBD_LANE_END);
	return true;
}

bool vbd_calls_join(
	struct vbd_calls *calls, struct rdma_cm_id *id, bool send_only, vbd_join_failed *failed)
{
	return start_id_call(calls, id, send_only, failed);
}

bool vbd_calls_disconnect(struct vbd_calls *calls, struct rdma_cm_id *id)
{
	return start_id_call(calls, id, false, NULL);
}

void vbd_calls_end_id(struct vbd_calls *calls, struct vbd_account *account, struct rdma_cm_id *id)
{
	static struct vbd_cm_tag over = {.kind = VBD_CM_OVER};

	if (!id)
		return;
	if (account)
		vbd_account_hand_over(account, NULL, VBD_PV_CM_ID);
	vbd_pv_set_id_context(id, &over);
	if (id->srq)
		((struct id_call *)(void *)id->srq)->destroy = true;
	else
		queue_and_destroy_id(calls, id);
}

uint64_t vbd_calls_newest_id(const struct vbd_calls *calls)
{
	return calls->ids_given;
}

bool vbd_calls_has_ended(const struct vbd_calls *calls, uint64_t number)
{
	bool runs = false;

	for (size_t i = 0; i < VBD_IDS_AT_ONCE; i++)
		runs |= calls->id_ends[i].id && calls->id_ends[i].number == number;
	return number <= calls->ids_taken && !runs;
}

void vbd_call_interrupt(struct vbd_calls *calls, struct vbd_call *call)
{
	(void)pthread_mutex_lock(&calls->lock);
	if (call->running) {
		(void)pthread_kill(call->thread, INTERRUPT);
	} else if (!vbd_list_empty(&call->link)) {
		vbd_list_remove(&call->link);
		calls->lanes[call->lane].queued--;
		call->cancelled = true;
		send_call_back(calls, call);
		vbd_mailbox_poke(calls->control);
	}
	(void)pthread_mutex_unlock(&calls->lock);
}

void vbd_call_done(struct vbd_mailbox_item *item)
{
	struct vbd_call *call = VBD_CONTAINER_OF(item, struct vbd_call, item);

	call->calls->under_way--;
	call->done(call);
}

void vbd_calls_load(struct vbd_calls *calls, enum vbd_lane lane, unsigned int *ret_queued,
	unsigned int *ret_running)
{
	(void)pthread_mutex_lock(&calls->lock);
	*ret_queued = calls->lanes[lane].queued;
	*ret_running = calls->lanes[lane].running;
	(void)pthread_mutex_unlock(&calls->lock);
}
