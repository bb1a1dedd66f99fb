/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/ask.h"

#include "base/clock.h"
#include "base/thread.h"
#include "rdma/provider/account.h"
#include "rdma/provider/cm_context.h"
#include "rdma/provider/provider.h"
#include "rdma/provider/provider_parts.h"

#include <rdma/rdma_cma.h>

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* For the neighbour, and again for the path: the kernel knows both of a peer that it has spoken to.
 */
#define RESOLVE_MS 300

/* Hardly any program takes datagrams there: traceroute(8) begins with it for that reason. */
#define PORT_CLOSED 33434

/* At once: some may wait for the kernel, see forget(). */
#define THREADS_MAX 4

/* The kernel has this status for a service that nobody offers: IB_SIDR_UNSUPPORTED of rdma/ib_cm.h.
 */
#define SIDR_UNSUPPORTED 1

/* The thread that asks and the caller share it. The later one frees it. */
struct vbd_pv_ask {
	struct vbd_pv_question question;
	uint64_t began_ns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over; /* the thread has told all that it will */
	struct vbd_pv_answer answer;
	unsigned int users;

	/* of the thread, for one port at a time */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct vbd_account account;
};

static _Atomic unsigned int threads;

static struct sockaddr *with_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	return (struct sockaddr *)addr;
}

/* Until the end of the question. */
static unsigned int left_ms(const struct vbd_pv_ask *ask)
{
	uint64_t end_ns = ask->began_ns + VBD_PV_ASK_MS * VBD_NS_PER_MS;
	uint64_t now_ns = vbd_clock_mono_ns();

	return now_ns < end_ns ? (unsigned int)((end_ns - now_ns) / VBD_NS_PER_MS) + 1 : 0;
}

/* Any event but the awaited one ends the question. */
struct event {
	enum rdma_cm_event_type type;
	int status;
	struct vbd_pv_reply said; /* its private data */
};

static void take_data(const struct rdma_ud_param *param, struct vbd_pv_reply *said)
{
	if (!param->private_data)
		return;
	said->count = param->private_data_len < VBD_PV_REPLY_BYTES ? param->private_data_len
								   : VBD_PV_REPLY_BYTES;
	memcpy(said->bytes, param->private_data, said->count);
}

/* The next event, if it comes in time. */
static bool await(struct vbd_pv_ask *ask, struct event *ret_event)
{
	struct pollfd poller = {.fd = ask->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&poller, 1, (int)left_ms(ask)) <= 0 ||
		rdma_get_cm_event(ask->channel, &event) != 0)
		return false;
	*ret_event = (struct event){.type = event->event, .status = event->status};
	take_data(&event->param.ud, &ret_event->said);
	(void)rdma_ack_cm_event(event);
	return true;
}

static bool resolved(struct vbd_pv_ask *ask, enum rdma_cm_event_type wanted)
{
	struct event event;

	return await(ask, &event) && event.type == wanted;
}

static bool resolve(struct vbd_pv_ask *ask, uint16_t port)
{
	struct sockaddr_storage from = ask->question.src;
	struct sockaddr_storage to = ask->question.dst;

	if (rdma_resolve_addr(ask->id, from.ss_family ? with_port(&from, 0) : NULL,
		    with_port(&to, port), RESOLVE_MS) != 0 ||
		!resolved(ask, RDMA_CM_EVENT_ADDR_RESOLVED))
		return false;
	vbd_cm_context_bound(ask->id->verbs);
	/* iWARP would open a TCP connection. */
	if (!ask->id->verbs || ask->id->verbs->device->transport_type != IBV_TRANSPORT_IB)
		return false;
	return rdma_resolve_route(ask->id, RESOLVE_MS) == 0 &&
	       resolved(ask, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* In this port space the question makes no connection: a peer without such a service says so, and
 * keeps nothing of it (cm_sidr_req_handler(), kernel 6.1). */
static bool open_id(struct vbd_pv_ask *ask)
{
	ask->channel = rdma_create_event_channel();
	if (!ask->channel || vbd_pv_set_nonblocking(ask->channel->fd, NULL) != VBD_OK ||
		rdma_create_id(ask->channel, &ask->id, NULL, RDMA_PS_UDP) != 0)
		return false;
	vbd_account_made(&ask->account, VBD_PV_CM_ID);
	return true;
}

/* Soft-RoCE may keep a message that it can't send, and the kernel then waits for that before it
 * destroys the id: nobody waits for this thread. */
static void forget(struct vbd_pv_ask *ask)
{
	vbd_pv_destroy_id(&ask->account, ask->id);
	vbd_account_close(&ask->account);
	vbd_pv_destroy_event_channel(ask->channel);
	ask->id = NULL;
	ask->channel = NULL;
}

static void leave(struct vbd_pv_ask *ask)
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

/* The status is that of the peer's answer, or negative: the kernel itself gave up. */
static bool is_answer(const struct event *event)
{
	return event->type == RDMA_CM_EVENT_ESTABLISHED ||
	       (event->type == RDMA_CM_EVENT_UNREACHABLE && event->status > 0);
}

static void tell_asked(struct vbd_pv_ask *ask)
{
	(void)pthread_mutex_lock(&ask->lock);
	ask->answer.asked = true;
	(void)pthread_mutex_unlock(&ask->lock);
}

/* Returns whether another port is to be asked. */
static bool take_answer(struct vbd_pv_ask *ask, const struct event *event)
{
	const struct vbd_pv_question *question = &ask->question;
	bool replied = event->status != SIDR_UNSUPPORTED && question->count;
	bool settled = replied && question->settles(event->said.bytes, event->said.count);

	(void)pthread_mutex_lock(&ask->lock);
	ask->answer.answered = true;
	if (replied)
		ask->answer.replies[ask->answer.reply_count++] = event->said;
	(void)pthread_mutex_unlock(&ask->lock);
	return question->count && !settled;
}

/* Returns whether another port is to be asked. A host that does not answer does not at any. */
static bool ask_port(struct vbd_pv_ask *ask, uint16_t port)
{
	struct rdma_conn_param param = {
		.private_data = ask->question.count ? ask->question.bytes : NULL,
		.private_data_len = ask->question.count,
	};
	struct event event;

	if (!open_id(ask) || !resolve(ask, port) || rdma_connect(ask->id, &param) != 0)
		return false;
	tell_asked(ask);
	return await(ask, &event) && is_answer(&event) && take_answer(ask, &event);
}

/* The caller does not wait for the id to be destroyed. */
static void tell_over(struct vbd_pv_ask *ask)
{
	(void)pthread_mutex_lock(&ask->lock);
	ask->over = true;
	(void)pthread_cond_signal(&ask->changed);
	(void)pthread_mutex_unlock(&ask->lock);
}

static void *thread_main(void *arg)
{
	struct vbd_pv_ask *ask = arg;
	unsigned int ports = ask->question.count ? VBD_PV_REPORT_PORTS : 1;
	uint16_t first = ask->question.count ? VBD_PV_REPORT_PORT : PORT_CLOSED;
	bool goes_on = true;

	for (unsigned int i = 0; i < ports && goes_on; i++) {
		goes_on = ask_port(ask, (uint16_t)(first + i));
		if (!goes_on || i + 1 == ports)
			tell_over(ask);
		forget(ask);
	}
	leave(ask);
	(void)atomic_fetch_sub(&threads, 1);
	return NULL;
}

static bool start_thread(struct vbd_pv_ask *ask)
{
	pthread_t thread;

	if (atomic_fetch_add(&threads, 1) < THREADS_MAX &&
		vbd_thread_start(thread_main, ask, "no thread to ask", &thread, NULL) == VBD_OK) {
		(void)pthread_detach(thread);
		return true;
	}
	(void)atomic_fetch_sub(&threads, 1);
	return false;
}

struct vbd_pv_ask *vbd_pv_ask_begin(const struct vbd_pv_question *question)
{
	struct vbd_pv_ask *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return NULL;
	ask->question = *question;
	ask->began_ns = vbd_clock_mono_ns();
	ask->users = 2;
	(void)pthread_mutex_init(&ask->lock, NULL);
	vbd_cond_init(&ask->changed);
	if (start_thread(ask))
		return ask;
	ask->users = 1;
	leave(ask);
	return NULL;
}

void vbd_pv_ask_end(struct vbd_pv_ask *ask, struct vbd_pv_answer *ret_answer)
{
	struct timespec until;

	*ret_answer = (struct vbd_pv_answer){0};
	if (!ask)
		return;
	until = vbd_cond_deadline(left_ms(ask));
	(void)pthread_mutex_lock(&ask->lock);
	while (!ask->over && pthread_cond_timedwait(&ask->changed, &ask->lock, &until) == 0)
		;
	*ret_answer = ask->answer;
	(void)pthread_mutex_unlock(&ask->lock);
	leave(ask);
}
