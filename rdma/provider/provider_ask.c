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

/* For the neighbour, and again for the path: the kernel knows both of a peer that it has spoken to.
 */
#define RESOLVE_MS 300

/* Hardly any program takes datagrams there: traceroute(8) begins with it for that reason. */
#define PORT_CLOSED 33434

/* At once: some may wait for the kernel, see forget(). */
#define THREADS_MAX 4

enum progress { ASKING, ASKED, ANSWERED, GIVEN_UP };

/* The thread that asks and the caller share it. The later one frees it. */
struct vbd_pv_ask {
	struct sockaddr_storage src, dst;
	uint64_t began_ns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum progress progress;
	unsigned int users;

	/* of the thread */
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

/* The next event, if it comes in time. */
static bool await(struct vbd_pv_ask *ask, enum rdma_cm_event_type *ret_type, int *ret_status)
{
	struct pollfd poller = {.fd = ask->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&poller, 1, (int)left_ms(ask)) <= 0 ||
		rdma_get_cm_event(ask->channel, &event) != 0)
		return false;
	*ret_type = event->event;
	*ret_status = event->status;
	(void)rdma_ack_cm_event(event);
	return true;
}

static bool resolved(struct vbd_pv_ask *ask, enum rdma_cm_event_type wanted)
{
	enum rdma_cm_event_type type;
	int status;

	return await(ask, &type, &status) && type == wanted;
}

static bool resolve(struct vbd_pv_ask *ask)
{
	struct sockaddr_storage from = ask->src;
	struct sockaddr_storage to = ask->dst;

	if (rdma_resolve_addr(ask->id, from.ss_family ? with_port(&from, 0) : NULL,
		    with_port(&to, PORT_CLOSED), RESOLVE_MS) != 0 ||
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
}

static void tell(struct vbd_pv_ask *ask, enum progress progress)
{
	(void)pthread_mutex_lock(&ask->lock);
	ask->progress = progress;
	(void)pthread_cond_signal(&ask->changed);
	(void)pthread_mutex_unlock(&ask->lock);
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
static bool is_answer(enum rdma_cm_event_type type, int status)
{
	return type == RDMA_CM_EVENT_ESTABLISHED ||
	       (type == RDMA_CM_EVENT_UNREACHABLE && status > 0);
}

static void *thread_main(void *arg)
{
	struct vbd_pv_ask *ask = arg;
	struct rdma_conn_param nothing = {0};
	enum rdma_cm_event_type type;
	int status;

	if (!open_id(ask) || !resolve(ask) || rdma_connect(ask->id, &nothing) != 0) {
		tell(ask, GIVEN_UP);
	} else {
		tell(ask, ASKED);
		if (await(ask, &type, &status) && is_answer(type, status))
			tell(ask, ANSWERED);
	}
	forget(ask);
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

struct vbd_pv_ask *vbd_pv_ask_begin(
	const struct sockaddr_storage *src, const struct sockaddr_storage *dst)
{
	struct vbd_pv_ask *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return NULL;
	ask->src = *src;
	ask->dst = *dst;
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

void vbd_pv_ask_end(struct vbd_pv_ask *ask, bool *ret_asked, bool *ret_answered)
{
	struct timespec until;

	*ret_asked = *ret_answered = false;
	if (!ask)
		return;
	until = vbd_cond_deadline(left_ms(ask));
	(void)pthread_mutex_lock(&ask->lock);
	while (ask->progress <= ASKED &&
		pthread_cond_timedwait(&ask->changed, &ask->lock, &until) == 0)
		;
	*ret_asked = ask->progress == ASKED || ask->progress == ANSWERED;
	*ret_answered = ask->progress == ANSWERED;
	(void)pthread_mutex_unlock(&ask->lock);
	leave(ask);
}
