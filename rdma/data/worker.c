/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/worker.h"

#include "base/log.h"
#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/provider.h"

#include <sys/epoll.h>
#include <unistd.h>

/* Completions per turn from one CQ, before the other CQs and the commands. */
#define POLL_BATCH 32

/* Turns between two readings of the clock, and two system calls for events of other CQs, while the
 * worker spins: a turn takes less than 1 us. */
#define TURNS_PER_LOOK 64

/* The table of channels grows in steps of this many indexes. */
#define INDEX_STEP 64

/* Descriptors reported by one epoll_wait(2). */
#define EPOLL_BATCH 16

/* The table of channels. */

void vbd_channel_table_fini(struct vbd_channel_table *table)
{
	free(table->free_indexes);
	free(table->generations);
	free(table->channels);
}

static bool add_indexes(struct vbd_channel_table *table)
{
	uint32_t count = table->index_count + INDEX_STEP;
	uint16_t *generations;
	uint32_t *indexes;

	if (count > VBD_WR_INDEX_MAX)
		return false;
	indexes = reallocarray(table->free_indexes, count, sizeof(*indexes));
	if (!indexes)
		return false;
	table->free_indexes = indexes;
	generations = reallocarray(table->generations, count, sizeof(*generations));
	if (!generations)
		return false;
	table->generations = generations;
	for (uint32_t i = count; i-- > table->index_count;) {
		generations[i] = 0;
		indexes[table->free_count++] = i;
	}
	table->index_count = count;
	return true;
}

bool vbd_channel_table_reserve(
	struct vbd_channel_table *table, uint32_t *ret_index, uint16_t *ret_generation)
{
	uint32_t index;

	if (!table->free_count && !add_indexes(table))
		return false;
	index = table->free_indexes[--table->free_count];
	*ret_index = index;
	*ret_generation = ++table->generations[index];
	return true;
}

uint16_t vbd_channel_table_renew(struct vbd_channel_table *table, uint32_t index)
{
	return ++table->generations[index];
}

void vbd_channel_table_release(struct vbd_channel_table *table, uint32_t index)
{
	table->free_indexes[table->free_count++] = index;
}

static bool lengthen(struct vbd_channel_table *table, uint32_t index)
{
	uint32_t len = (index / INDEX_STEP + 1) * INDEX_STEP;
	struct vbd_channel **channels =
		reallocarray(table->channels, len, sizeof(struct vbd_channel *));

	if (!channels)
		return false;
	for (uint32_t i = table->channels_len; i < len; i++)
		channels[i] = NULL;
	table->channels = channels;
	table->channels_len = len;
	return true;
}

bool vbd_channel_table_set(
	struct vbd_channel_table *table, uint32_t index, struct vbd_channel *channel)
{
	if (index >= table->channels_len && !lengthen(table, index))
		return false;
	table->channels[index] = channel;
	return true;
}

void vbd_channel_table_clear(struct vbd_channel_table *table, uint32_t index)
{
	if (index < table->channels_len)
		table->channels[index] = NULL;
}

/* The worker. */

enum vbd_status vbd_worker_create(unsigned int number, struct vbd_mailbox *control,
	const struct vbd_worker_ops *ops, struct vbd_worker **ret_worker, struct vbd_error *err)
{
	struct vbd_worker *worker = calloc(1, sizeof(*worker));
	struct epoll_event event = {.events = EPOLLIN};
	enum vbd_status status;

	if (!worker)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for worker %u", number);
	worker->number = number;
	worker->cpu = -1;
	worker->control = control;
	worker->ops = ops;
	vbd_list_init(&worker->active_cqs);
	status = ops->create(worker, err);
	if (status)
		goto free_worker;
	status = vbd_mailbox_init(&worker->inbox, err);
	if (status)
		goto free_worker;
	worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epoll_fd < 0) {
		status = vbd_error_errno(err, VBD_OK, "epoll_create1", errno, "worker %u", number);
		goto fini_inbox;
	}
	event.data.ptr = NULL; /* the inbox; every other pointer is a CQ */
	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, vbd_mailbox_fd(&worker->inbox), &event) <
		0) {
		status = vbd_error_errno(err, VBD_OK, "epoll_ctl", errno, "worker %u", number);
		goto close_epoll;
	}
	*ret_worker = worker;
	return VBD_OK;

close_epoll:
	(void)close(worker->epoll_fd);
fini_inbox:
	vbd_mailbox_fini(&worker->inbox);
free_worker:
	ops->destroy(worker);
	free(worker);
	return status;
}

void vbd_worker_send(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_send(&worker->inbox, item);
}

/* The control thread is the only sender of a worker's inbox, as vbd_mailbox_leave() demands. */
void vbd_worker_leave(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_leave(&worker->inbox, item);
}

void vbd_worker_notify(struct vbd_worker *worker, struct vbd_mailbox_item *item,
	enum vbd_notification notification)
{
	item->kind = notification;
	vbd_mailbox_send(worker->control, item);
}

void vbd_worker_faults_ended(struct vbd_worker *worker)
{
	if (!atomic_exchange(&worker->release_sent, true))
		vbd_worker_send(worker, &worker->release_command, VBD_WORKER_RELEASE_WITHHELD);
}

static void *thread_main(void *arg)
{
	struct vbd_worker *worker = arg;
	char name[16];

	(void)snprintf(name, sizeof(name), "verbsd-data-%u", worker->number);
	(void)pthread_setname_np(pthread_self(), name);
	while (!worker->stopping)
		vbd_worker_turn(worker, true);
	return NULL;
}

static int create_thread(struct vbd_worker *worker)
{
	pthread_attr_t attr;
	cpu_set_t cpus;
	int rc;

	if (worker->cpu < 0)
		return pthread_create(&worker->thread, NULL, thread_main, worker);
	CPU_ZERO(&cpus);
	CPU_SET((size_t)worker->cpu, &cpus);
	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	rc = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (!rc)
		rc = pthread_create(&worker->thread, &attr, thread_main, worker);
	(void)pthread_attr_destroy(&attr);
	return rc;
}

enum vbd_status vbd_worker_start(struct vbd_worker *worker, struct vbd_error *err)
{
	int rc = create_thread(worker);

	if (rc)
		return vbd_error_errno(
			err, VBD_OK, "pthread_create", rc, "worker %u", worker->number);
	worker->running = true;
	return VBD_OK;
}

void vbd_worker_destroy(struct vbd_worker *worker)
{
	if (!worker)
		return;
	if (worker->running) {
		vbd_worker_send(worker, &worker->stop_command, VBD_WORKER_STOP);
		(void)pthread_join(worker->thread, NULL);
	}
	(void)close(worker->epoll_fd);
	vbd_mailbox_fini(&worker->inbox);
	worker->ops->destroy(worker);
	vbd_channel_table_fini(&worker->channels);
	free(worker);
}

void vbd_worker_poll_on(struct vbd_worker *worker, struct vbd_cq *cq)
{
	vbd_list_remove(&cq->active_link);
	vbd_list_append(&worker->active_cqs, &cq->active_link);
}

static void add_cq(struct vbd_worker *worker, struct vbd_cq *cq)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = cq};

	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, cq->comp_channel->fd, &event) < 0)
		vbd_log(VBD_LOG_DEBUG, "worker", "epoll_ctl: errno %d", errno);
	vbd_worker_poll_on(worker, cq);
}

static void set_armed(struct vbd_worker *worker, struct vbd_cq *cq, bool armed)
{
	worker->armed_cqs -= cq->armed;
	cq->armed = armed;
	worker->armed_cqs += cq->armed;
}

static void remove_cq(struct vbd_worker *worker, struct vbd_cq *cq)
{
	(void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, cq->comp_channel->fd, NULL);
	vbd_list_remove(&cq->active_link);
	set_armed(worker, cq, false);
	vbd_worker_notify(worker, &cq->remove_command, VBD_CONTROL_CQ_REMOVED);
}

static void take_command(struct vbd_worker *worker, struct vbd_mailbox_item *item)
{
	if (item->kind == VBD_WORKER_ADD_CQ)
		add_cq(worker, VBD_CONTAINER_OF(item, struct vbd_cq, add_command));
	else if (item->kind == VBD_WORKER_REMOVE_CQ)
		remove_cq(worker, VBD_CONTAINER_OF(item, struct vbd_cq, remove_command));
	else if (item->kind == VBD_WORKER_STOP)
		worker->stopping = true;
	else
		worker->ops->take_command(worker, item);
}

bool vbd_worker_take_commands(struct vbd_worker *worker)
{
	struct vbd_mailbox_item *item;
	bool any = false;

	while ((item = vbd_mailbox_take(&worker->inbox))) {
		any = true;
		worker->now_ns = 0;
		take_command(worker, item);
	}
	return any;
}

/* Poll one batch of completions; false when the CQ was empty. */
static bool poll_once(struct vbd_worker *worker, struct vbd_cq *cq)
{
	struct ibv_wc wcs[POLL_BATCH];
	unsigned int count = vbd_pv_poll_cq(cq->cq, wcs, POLL_BATCH);

	vbd_counter_add(&cq->polls, 1);
	if (!count) {
		vbd_counter_add(&cq->empty_polls, 1);
		return false;
	}
	vbd_counter_add(&cq->completions, count);
	worker->now_ns = 0;
	worker->ops->take_completions(worker, wcs, count);
	return true;
}

/* Each arming raises one event at most. A second one would be reported by epoll once more. */
static void take_cq_event(struct vbd_cq *cq)
{
	if (!cq->event_due)
		return;
	cq->event_due = false;
	if (vbd_pv_take_cq_event(cq->comp_channel))
		vbd_counter_add(&cq->events_taken, 1);
}

bool vbd_worker_spins_on(struct vbd_cq *cq)
{
	if (cq->busy_channels > 0)
		return true;
	if (cq->spin_until_ns && vbd_clock_mono_ns() >= cq->spin_until_ns)
		cq->spin_until_ns = 0;
	return cq->spin_until_ns > 0;
}

/*
 * Poll @cq; when it is empty and nobody wants it polled on, arm it and poll again, since a
 * completion in between raises no event (ibv_req_notify_cq(3)). Returns true if there was a
 * completion. The event that woke the worker is taken only then, by a system call for which the
 * peer need not wait.
 */
static bool poll_active(struct vbd_worker *worker, struct vbd_cq *cq)
{
	bool any = poll_once(worker, cq);

	if (!vbd_list_empty(&cq->purges))
		worker->ops->end_purges(cq, !any);
	if (any)
		return true;
	take_cq_event(cq);
	if (vbd_worker_spins_on(cq)) {
		worker->spins = true;
		return false;
	}
	/* A CQ that can't be armed would never wake the worker: poll it until it can. */
	if (vbd_pv_arm_cq(cq->cq, NULL) != VBD_OK)
		return true;
	vbd_list_remove(&cq->active_link);
	set_armed(worker, cq, true);
	vbd_counter_add(&cq->events_armed, 1);
	if (!poll_once(worker, cq))
		return false;
	vbd_worker_poll_on(worker, cq);
	return true;
}

static bool poll_all(struct vbd_worker *worker)
{
	struct vbd_link now;
	bool any = false;

	/* A command handled meanwhile may add or remove CQs: walk a separate list. */
	vbd_list_init(&now);
	while (!vbd_list_empty(&worker->active_cqs)) {
		struct vbd_link *link = worker->active_cqs.next;

		vbd_list_remove(link);
		vbd_list_append(&now, link);
	}
	while (!vbd_list_empty(&now)) {
		struct vbd_cq *cq = VBD_CONTAINER_OF(now.next, struct vbd_cq, active_link);

		vbd_worker_poll_on(worker, cq);
		any |= poll_active(worker, cq);
	}
	return any;
}

static void on_cq_event(struct vbd_worker *worker, struct vbd_cq *cq)
{
	set_armed(worker, cq, false);
	cq->event_due = true;
	vbd_worker_poll_on(worker, cq);
}

int vbd_worker_wait_ms(const struct vbd_worker *worker)
{
	uint64_t due_ns = worker->ops->next_due_ns(worker);
	uint64_t now_ns, wait_ms;

	if (due_ns == UINT64_MAX)
		return -1;
	now_ns = vbd_clock_mono_ns();
	if (due_ns <= now_ns)
		return 0;
	wait_ms = (due_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS;
	return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

static void sleep_until_woken(struct vbd_worker *worker, bool wait)
{
	struct epoll_event events[EPOLL_BATCH];
	int count = epoll_wait(
		worker->epoll_fd, events, EPOLL_BATCH, wait ? vbd_worker_wait_ms(worker) : 0);

	/* The CQs first: a command may remove the CQ of a later event. */
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr)
			on_cq_event(worker, events[i].data.ptr);
	}
	for (int i = 0; i < count; i++) {
		if (!events[i].data.ptr)
			vbd_mailbox_rearm(&worker->inbox);
	}
}

static void count_spun(struct vbd_worker *worker, uint64_t now_ns)
{
	if (now_ns > worker->spun_at_ns)
		vbd_counter_add(&worker->spun_ns, now_ns - worker->spun_at_ns);
	worker->spun_at_ns = now_ns;
}

bool vbd_worker_spin(struct vbd_worker *worker)
{
	bool looks = ++worker->spin_turns % TURNS_PER_LOOK == 0;

	if (!worker->spun_at_ns)
		worker->spun_at_ns = vbd_clock_mono_ns();
	else if (looks)
		count_spun(worker, vbd_clock_mono_ns());
	return looks && worker->armed_cqs > 0;
}

void vbd_worker_end_spin(struct vbd_worker *worker)
{
	if (worker->spun_at_ns)
		count_spun(worker, vbd_worker_now_ns(worker));
	worker->spun_at_ns = 0;
}

void vbd_worker_turn(struct vbd_worker *worker, bool wait)
{
	bool busy;

	vbd_counter_add(&worker->turns, 1);
	worker->spins = false;
	worker->now_ns = 0;
	busy = vbd_worker_take_commands(worker);
	busy |= poll_all(worker);
	busy |= worker->ops->run_due(worker);
	if (busy || !worker->spins)
		vbd_worker_end_spin(worker);
	if (busy || worker->stopping)
		return;
	if (!worker->spins)
		sleep_until_woken(worker, wait);
	else if (vbd_worker_spin(worker))
		sleep_until_woken(worker, false);
}
