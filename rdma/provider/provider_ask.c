/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/ask.h"

#include "base/addr.h"
#include "base/clock.h"
#include "base/thread.h"
#include "rdma/provider/provider_parts.h"

#include <poll.h>
#include <stdatomic.h>

/* Limit of each of rdma_resolve_addr(3) and rdma_resolve_route(3): of a peer that was in contact
 * the kernel knows neighbour and path. */
#define RESOLVE_MS 300

/* Hardly any program takes datagrams there: traceroute(8) begins with it for that reason. */
#define PORT_CLOSED 33434

/* Threads at a time, some of which wait in destroy_target_id(); vbd_pv_tell() may add one. */
#define THREADS_MAX	 4
#define TELL_THREADS_MAX (THREADS_MAX + 1)

/* The kernel's status for a service that nobody offers: IB_SIDR_UNSUPPORTED of rdma/ib_cm.h. */
#define SIDR_UNSUPPORTED 1

/* A question, which asks one port after the other. */
struct target {
	struct vbd_pv_question question;
	struct vbd_pv_answer answer;

	/* of the thread */
	unsigned int asked_ports; /* that have been answered */
	uint64_t put_ns;	  /* the last question left */
	bool over;
	struct rdma_cm_id *id;
	struct vbd_account account;
};

/* The thread that asks and the caller share it. The later one frees it. */
struct ask {
	uint64_t end_ns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over; /* the thread has told all that it will */
	bool gone; /* and has destroyed its ids */
	unsigned int users;

	/* of the thread */
	struct rdma_event_channel *channel;
	unsigned int open; /* targets that are not over */

	unsigned int count;
	struct target targets[];
};

static _Atomic unsigned int threads;

/* The time until end_ns. */
static unsigned int time_left_ms(const struct ask *ask)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	return now_ns < ask->end_ns ? (unsigned int)((ask->end_ns - now_ns) / VBD_NS_PER_MS) + 1
				    : 0;
}

struct event {
	enum rdma_cm_event_type type;
	struct target *target;
	int status;
	struct vbd_pv_reply said; /* its private data */
};

static void copy_reply(const struct rdma_ud_param *param, struct vbd_pv_reply *said)
{
	if (!param->private_data)
		return;
	said->count = param->private_data_len < VBD_PV_REPLY_BYTES ? param->private_data_len
								   : VBD_PV_REPLY_BYTES;
	memcpy(said->bytes, param->private_data, said->count);
}

/* The next event, if it comes in time. */
static bool await_cm_event(const struct ask *ask, struct event *ret_event)
{
	struct pollfd poller = {.fd = ask->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&poller, 1, (int)time_left_ms(ask)) <= 0 ||
		rdma_get_cm_event(ask->channel, &event) != 0)
		return false;
	*ret_event = (struct event){
		.type = event->event, .target = event->id->context, .status = event->status};
	copy_reply(&event->param.ud, &ret_event->said);
	(void)rdma_ack_cm_event(event);
	return true;
}

/* In this port space the question makes no connection: a peer without such a service says so, and
 * keeps nothing of it (cm_sidr_req_handler(), kernel 6.1). */
static bool create_target_id(const struct ask *ask, struct target *target)
{
	if (rdma_create_id(ask->channel, &target->id, target, RDMA_PS_UDP) != 0)
		return false;
	vbd_account_made(&target->account, VBD_PV_CM_ID);
	return true;
}

/* Soft-RoCE may keep a message that it can't send, and the kernel then waits for that before it
 * destroys the id: nobody waits for this thread. */
static void destroy_target_id(struct target *target)
{
	vbd_pv_destroy_id(&target->account, target->id);
	target->id = NULL;
}

/* The functions below return whether the question goes on. */

static bool resolve_target_addr(const struct ask *ask, struct target *target)
{
	struct sockaddr_storage from = target->question.src;
	struct sockaddr_storage to = target->question.dst;
	uint16_t port = target->question.count ? VBD_PV_REPORT_PORT : PORT_CLOSED;

	vbd_addr_set_port(&from, 0);
	vbd_addr_set_port(&to, (uint16_t)(port + target->asked_ports));
	return create_target_id(ask, target) &&
	       rdma_resolve_addr(target->id, from.ss_family ? (struct sockaddr *)&from : NULL,
		       (struct sockaddr *)&to, RESOLVE_MS) == 0;
}

static bool resolve_target_route(const struct target *target)
{
	const struct ibv_context *verbs = target->id->verbs;

	vbd_cm_context_bound(verbs);
	/* iWARP would open a TCP connection. */
	return verbs && verbs->device->transport_type == IBV_TRANSPORT_IB &&
	       rdma_resolve_route(target->id, RESOLVE_MS) == 0;
}

static bool send_question(struct ask *ask, struct target *target)
{
	const struct vbd_pv_question *question = &target->question;
	struct rdma_conn_param param = {
		.private_data = question->count ? question->bytes : NULL,
		.private_data_len = question->count,
	};

	if (rdma_connect(target->id, &param) != 0)
		return false;
	target->put_ns = vbd_clock_mono_ns();
	(void)pthread_mutex_lock(&ask->lock);
	target->answer.asked = true;
	(void)pthread_mutex_unlock(&ask->lock);
	return true;
}

/* The status is that of the peer's answer, or negative: the kernel itself gave up. */
static bool is_peer_answer(const struct event *event)
{
	return event->type == RDMA_CM_EVENT_ESTABLISHED ||
	       (event->type == RDMA_CM_EVENT_UNREACHABLE && event->status > 0);
}

/* Returns whether another port is to be asked. */
static bool record_answer(struct ask *ask, const struct event *event)
{
	struct target *target = event->target;
	const struct vbd_pv_question *question = &target->question;
	bool replied = event->status != SIDR_UNSUPPORTED && question->count;
	bool settled = replied && question->settles(event->said.bytes, event->said.count);

	(void)pthread_mutex_lock(&ask->lock);
	if (!target->answer.answered)
		target->answer.rtt_ns = vbd_clock_mono_ns() - target->put_ns;
	target->answer.answered = true;
	if (replied)
		target->answer.replies[target->answer.reply_count++] = event->said;
	(void)pthread_mutex_unlock(&ask->lock);
	return question->count && !settled && ++target->asked_ports < VBD_PV_REPORT_PORTS;
}

/* A host that does not answer does not at any port. */
static bool handle_cm_event(struct ask *ask, const struct event *event)
{
	struct target *target = event->target;

	if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED)
		return resolve_target_route(target);
	if (event->type == RDMA_CM_EVENT_ROUTE_RESOLVED)
		return send_question(ask, target);
	if (!is_peer_answer(event) || !record_answer(ask, event))
		return false;
	destroy_target_id(target);
	return resolve_target_addr(ask, target);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void release_ask(struct ask *ask)
{
	bool last;

	(void)pthread_mutex_lock(&ask->lock);
	last = --ask->users == 0;
	(void)pthread_mutex_unlock(&ask->lock);
	if (!last)
		return;
	(void)pthread_cond_destroy(&ask->changed);
	(void)pthread_mutex_destroy(&ask->lock);
	free(ask);
}

static void set_flag(struct ask *ask, bool *what)
{
	(void)pthread_mutex_lock(&ask->lock);
	*what = true;
	(void)pthread_cond_signal(&ask->changed);
	(void)pthread_mutex_unlock(&ask->lock);
}

static void end_target(struct ask *ask, struct target *target)
{
	target->over = true;
	ask->open--;
}

static void resolve_all(struct ask *ask)
{
	ask->open = ask->count;
	for (unsigned int i = 0; i < ask->count; i++) {
		if (!resolve_target_addr(ask, &ask->targets[i]))
			end_target(ask, &ask->targets[i]);
	}
}

static void ask_all_targets(struct ask *ask)
{
	struct event event;

	ask->channel = rdma_create_event_channel();
	if (!ask->channel || vbd_pv_set_nonblocking(ask->channel->fd, NULL) != VBD_OK)
		return;
	resolve_all(ask);
	while (ask->open && await_cm_event(ask, &event)) {
		if (!event.target->over && !handle_cm_event(ask, &event))
			end_target(ask, event.target);
	}
}

static void *thread_main(void *arg)
{
	struct ask *ask = arg;

	ask_all_targets(ask);
	/* The caller does not wait for the ids to be destroyed. */
	set_flag(ask, &ask->over);
	for (unsigned int i = 0; i < ask->count; i++) {
		destroy_target_id(&ask->targets[i]);
		vbd_account_close(&ask->targets[i].account);
	}
	vbd_pv_destroy_event_channel(ask->channel);
	set_flag(ask, &ask->gone);
	release_ask(ask);
	(void)atomic_fetch_sub(&threads, 1);
	return NULL;
}

static bool start_thread(struct ask *ask, unsigned int most)
{
	pthread_t thread;

	if (atomic_fetch_add(&threads, 1) < most &&
		vbd_thread_start(thread_main, ask, "no thread to ask", &thread, NULL) == VBD_OK) {
		(void)pthread_detach(thread);
		return true;
	}
	(void)atomic_fetch_sub(&threads, 1);
	return false;
}

/* --- the caller ------------------------------------------------------------------------------ */

static struct ask *begin_ask(const struct vbd_pv_question *questions, unsigned int count,
	unsigned int within_ms, unsigned int most_threads)
{
	struct ask *ask = calloc(1, sizeof(*ask) + count * sizeof(ask->targets[0]));

	if (!ask)
		return NULL;
	for (unsigned int i = 0; i < count; i++)
		ask->targets[i].question = questions[i];
	ask->count = count;
	ask->end_ns = vbd_clock_mono_ns() + within_ms * VBD_NS_PER_MS;
	ask->users = 2;
	(void)pthread_mutex_init(&ask->lock, NULL);
	vbd_cond_init(&ask->changed);
	if (start_thread(ask, most_threads))
		return ask;
	ask->users = 1;
	release_ask(ask);
	return NULL;
}

/* With the lock held, until @what or the end of the questions. */
static void wait_for_flag(struct ask *ask, const bool *what)
{
	const struct timespec until = vbd_cond_deadline(time_left_ms(ask));

	while (!*what && pthread_cond_timedwait(&ask->changed, &ask->lock, &until) == 0)
		;
}

void vbd_pv_ask(const struct vbd_pv_question *question, struct vbd_pv_answer *ret_answer)
{
	struct ask *ask = begin_ask(question, 1, VBD_PV_ASK_MS, THREADS_MAX);

	*ret_answer = (struct vbd_pv_answer){0};
	if (!ask)
		return;
	(void)pthread_mutex_lock(&ask->lock);
	wait_for_flag(ask, &ask->over);
	*ret_answer = ask->targets[0].answer;
	(void)pthread_mutex_unlock(&ask->lock);
	release_ask(ask);
}

bool vbd_pv_tell(
	const struct vbd_pv_question *questions, unsigned int count, unsigned int within_ms)
{
	struct ask *ask = begin_ask(questions, count, within_ms, TELL_THREADS_MAX);
	bool gone;

	if (!ask)
		return true;
	(void)pthread_mutex_lock(&ask->lock);
	wait_for_flag(ask, &ask->gone);
	gone = ask->gone;
	(void)pthread_mutex_unlock(&ask->lock);
	release_ask(ask);
	return gone;
}
