/* SPDX-License-Identifier: Apache-2.0 */

#include "base/log.h"
#include "base/thread.h"
#include "rdma/data/channel_parts.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/probe.h"
#include "rdma/data/transfer.h"
#include "rdma/device/cq.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/faults.h"

#include <sys/epoll.h>
#include <unistd.h>

/* Completions per turn from one CQ, before the other CQs and the commands. */
#define POLL_BATCH 32

/* Turns between two readings of the clock, and two system calls for events of other CQs, while the
 * worker spins: a turn takes less than 1 us. */
#define TURNS_PER_LOOK 64

/* Descriptors reported by one epoll_wait(2). */
#define EPOLL_BATCH 16

/* Commands. */

static void attach_channel(struct vbd_worker *worker, struct vbd_channel *channel)
{
	struct vbd_error error = {0};

	if (vbd_channel_table_set(&worker->channels, channel->index, channel)) {
		vbd_channel_attached(channel);
		return;
	}
	(void)vbd_error_set(&error, VBD_E_NO_MEMORY, "no memory for the channel");
	vbd_channel_break(channel, &error, VBD_OP_RECV, 0);
}

/* The QP is destroyed: all of its completions are in the CQ now, which holds no more than its
 * capacity. Other QPs may add completions as fast as the worker takes them. */
static void begin_purge(struct vbd_worker *worker, struct vbd_channel *channel)
{
	struct vbd_cq *cq = channel->cq;

	channel->purged_at = vbd_counter_get(&cq->completions) + cq->capacity_cqe;
	vbd_list_append(&cq->purges, &channel->purge_link);
	vbd_worker_poll_on(worker, cq);
}

static void release_recv(struct vbd_recv_slot *slot)
{
	if (slot->srq)
		vbd_srq_release(slot->srq, slot);
	else
		vbd_channel_post_recv(slot->channel, slot->index);
}

static void on_srq_limit(struct vbd_worker *worker, struct vbd_srq *srq)
{
	vbd_srq_refill(srq);
	vbd_worker_notify(worker, &srq->limit_command, VBD_CONTROL_SRQ_LIMIT_SEEN);
}

static void add_cq(struct vbd_worker *worker, struct vbd_cq *cq)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = cq};

	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, cq->comp_channel->fd, &event) < 0)
		vbd_log(VBD_LOG_DEBUG, "worker", "epoll_ctl: errno %d", errno);
	vbd_worker_poll_on(worker, cq);
}

static void set_cq_armed(struct vbd_worker *worker, struct vbd_cq *cq, bool armed)
{
	worker->armed_cqs -= cq->armed;
	cq->armed = armed;
	worker->armed_cqs += cq->armed;
}

static void remove_cq(struct vbd_worker *worker, struct vbd_cq *cq)
{
	(void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, cq->comp_channel->fd, NULL);
	vbd_list_remove(&cq->active_link);
	set_cq_armed(worker, cq, false);
	vbd_worker_notify(worker, &cq->remove_command, VBD_CONTROL_CQ_REMOVED);
}

static void release_withheld(struct vbd_worker *worker)
{
	atomic_store(&worker->release_sent, false);
	vbd_withheld_release(worker, vbd_channel_post_recv);
}

#define ON(kind, type, name, member, statement) \
	VBD_MAILBOX_CASE(VBD_WORKER_##kind, item, struct vbd_##type, name, member, statement)

/* clang-format off */
static void handle_command(struct vbd_worker *worker, struct vbd_mailbox_item *item)
{
	switch ((enum vbd_worker_command)item->kind) {
	ON(ADD_CQ, cq, cq, add_command, add_cq(worker, cq))
	ON(REMOVE_CQ, cq, cq, remove_command, remove_cq(worker, cq))
	ON(ATTACH, channel, channel, attach_command, attach_channel(worker, channel))
	ON(DRAIN, channel, channel, drain_command, vbd_channel_drain(channel))
	ON(QUIESCE, channel, channel, purge_command,
		vbd_worker_notify(worker, &channel->purge_command, VBD_CONTROL_QUIESCED))
	ON(PURGE, channel, channel, purge_command, begin_purge(worker, channel))
	ON(RESUME, channel, channel, resume_command, vbd_channel_resumed(channel))
	ON(START_TRANSFER, transfer, transfer, start_command,
		vbd_channel_start_transfer(transfer->channel, transfer))
	ON(CANCEL_TRANSFER, transfer, transfer, cancel_command,
		vbd_channel_cancel_transfer(transfer))
	ON(RELEASE_RECV, recv_slot, slot, item, release_recv(slot))
	ON(START_PROBE, probe, probe, start_command, vbd_probe_started(probe))
	ON(STOP_PROBE, probe, probe, stop_command, vbd_probe_stopping(probe))
	ON(START_HEARTBEAT, heartbeat, beat, start_command, vbd_heartbeat_started(beat))
	ON(ADD_SRQ, srq, srq, add_command, vbd_srq_added(srq))
	ON(SRQ_LIMIT, srq, srq, limit_command, on_srq_limit(worker, srq))
	ON(REMOVE_SRQ, srq, srq, remove_command, vbd_srq_removed(srq))
	case VBD_WORKER_RELEASE_WITHHELD:
		release_withheld(worker);
		break;
	case VBD_WORKER_STOP:
		worker->stopping = true;
		break;
	}
}
/* clang-format on */

bool vbd_worker_take_commands(struct vbd_worker *worker)
{
	struct vbd_mailbox_item *item;
	bool any = false;

	while ((item = vbd_mailbox_take(&worker->inbox))) {
		any = true;
		worker->now_ns = 0;
		handle_command(worker, item);
	}
	return any;
}

/* Completions. */

/* The channel that posted @wr_id; NULL if it is gone. */
static struct vbd_channel *channel_of_wr_id(const struct vbd_worker *worker, uint64_t wr_id)
{
	const struct vbd_channel_table *table = &worker->channels;
	uint32_t index = vbd_wr_id_index(wr_id);
	struct vbd_channel *channel = index < table->channels_len ? table->channels[index] : NULL;

	if (!channel || channel->generation != vbd_wr_id_generation(wr_id))
		return NULL;
	return channel;
}

static struct vbd_srq *srq_of_wr_id(const struct vbd_worker *worker, uint64_t wr_id)
{
	vbd_list_for_each_of (struct vbd_srq, srq, worker_link, &worker->srqs) {
		if (srq->index == vbd_wr_id_index(wr_id) &&
			srq->generation == vbd_wr_id_generation(wr_id))
			return srq;
	}
	return NULL;
}

static void complete_srq_receive(
	struct vbd_srq *srq, struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_recv_slot *slot = vbd_srq_completed(srq, channel, wc);

	if (!slot)
		return;
	vbd_channel_shared_received(channel, slot, wc);
	vbd_srq_refill_if_low(srq);
}

/* Returns false if the completion is not of a receive of an SRQ. */
static bool dispatch_srq_receive(struct vbd_worker *worker, const struct ibv_wc *wc)
{
	struct vbd_srq *srq = vbd_wr_id_is_recv(wc->wr_id) ? srq_of_wr_id(worker, wc->wr_id) : NULL;
	struct vbd_channel *channel;

	if (!srq)
		return false;
	channel = vbd_channel_of_srq(srq, wc->qp_num);
	if (!channel) {
		/* As in dispatch_completion(): the attach command may still be in the mailbox. */
		(void)vbd_worker_take_commands(worker);
		srq = srq_of_wr_id(worker, wc->wr_id);
		channel = srq ? vbd_channel_of_srq(srq, wc->qp_num) : NULL;
	}
	if (srq)
		complete_srq_receive(srq, channel, wc);
	return true;
}

static void dispatch_completion(struct vbd_worker *worker, const struct ibv_wc *wc)
{
	struct vbd_channel *channel = channel_of_wr_id(worker, wc->wr_id);

	if (!channel && dispatch_srq_receive(worker, wc))
		return;
	if (!channel) {
		/*
		 * A message can be faster than the attach command: the peer may send as soon as
		 * control has connected, and the command was sent before.
		 */
		(void)vbd_worker_take_commands(worker);
		channel = channel_of_wr_id(worker, wc->wr_id);
	}
	if (!channel)
		return;
	if ((vbd_faults_armed(VBD_FAULT_DELAY_COMPLETIONS) ||
		    vbd_faults_armed(VBD_FAULT_DROP_COMPLETIONS) || channel->withheld) &&
		vbd_withheld_completion(channel, wc))
		return;
	vbd_channel_completed(channel, wc);
}

static void dispatch_batch(struct vbd_worker *worker, const struct ibv_wc *wcs, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dispatch_completion(worker, &wcs[i]);
}

/* End the purges whose completions are all taken. @dry: the CQ was found empty. */
static void end_purges(struct vbd_cq *cq, bool dry)
{
	vbd_list_for_each_of (struct vbd_channel, channel, purge_link, &cq->purges) {
		if (!dry && vbd_counter_get(&cq->completions) < channel->purged_at)
			continue;
		vbd_list_remove(&channel->purge_link);
		vbd_channel_abandon(channel);
	}
}

/* Deliver the delayed completions whose time has come. One whose channel has gone is ignored. */
static bool deliver_delayed(struct vbd_worker *worker)
{
	struct vbd_channel *channel;
	struct ibv_wc wc;
	bool any = false;

	while (vbd_withheld_next(worker, &wc)) {
		channel = channel_of_wr_id(worker, wc.wr_id);
		if (!channel)
			continue;
		any = true;
		vbd_withheld_delivered(channel);
		vbd_channel_completed(channel, &wc);
	}
	return any;
}

static void repost_all(struct vbd_worker *worker)
{
	while (!vbd_list_empty(&worker->reposting))
		vbd_channel_repost(
			VBD_LIST_FIRST(&worker->reposting, struct vbd_channel, repost_link));
}

static bool run_due_work(struct vbd_worker *worker)
{
	bool any = deliver_delayed(worker);

	repost_all(worker);
	vbd_probes_run_due(worker);
	vbd_heartbeats_run(worker);
	return any;
}

static uint64_t next_due_ns(const struct vbd_worker *worker)
{
	uint64_t ping_ns = worker->probes.first ? worker->probes.first->key : UINT64_MAX;
	uint64_t beat_ns = worker->heartbeats.first ? worker->heartbeats.first->key : UINT64_MAX;
	uint64_t withheld_ns = vbd_withheld_due_ns(worker);
	uint64_t due_ns = ping_ns < beat_ns ? ping_ns : beat_ns;

	return withheld_ns < due_ns ? withheld_ns : due_ns;
}

/* The loop. */

/* Poll one batch of completions; false when the CQ was empty. */
static bool poll_cq_once(struct vbd_worker *worker, struct vbd_cq *cq)
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
	dispatch_batch(worker, wcs, count);
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
static bool poll_or_arm_cq(struct vbd_worker *worker, struct vbd_cq *cq)
{
	bool any = poll_cq_once(worker, cq);

	if (!vbd_list_empty(&cq->purges))
		end_purges(cq, !any);
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
	set_cq_armed(worker, cq, true);
	vbd_counter_add(&cq->events_armed, 1);
	if (!poll_cq_once(worker, cq))
		return false;
	vbd_worker_poll_on(worker, cq);
	return true;
}

static bool poll_all_cqs(struct vbd_worker *worker)
{
	struct vbd_link now;
	bool any = false;

	/* A command handled meanwhile may add or remove CQs: walk a separate list. */
	vbd_list_take_all(&now, &worker->active_cqs);
	while (!vbd_list_empty(&now)) {
		struct vbd_cq *cq = VBD_CONTAINER_OF(now.next, struct vbd_cq, active_link);

		vbd_worker_poll_on(worker, cq);
		any |= poll_or_arm_cq(worker, cq);
	}
	return any;
}

static void on_cq_event(struct vbd_worker *worker, struct vbd_cq *cq)
{
	set_cq_armed(worker, cq, false);
	cq->event_due = true;
	vbd_worker_poll_on(worker, cq);
}

int vbd_worker_wait_ms(const struct vbd_worker *worker)
{
	uint64_t due_ns = next_due_ns(worker);
	uint64_t now_ns, wait_ms;

	if (due_ns == UINT64_MAX)
		return -1;
	now_ns = vbd_clock_mono_ns();
	if (due_ns <= now_ns)
		return 0;
	wait_ms = (due_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS;
	return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

static void wait_for_events(struct vbd_worker *worker, bool wait)
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

static void count_spun_time(struct vbd_worker *worker, uint64_t now_ns)
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
		count_spun_time(worker, vbd_clock_mono_ns());
	return looks && worker->armed_cqs > 0;
}

void vbd_worker_end_spin(struct vbd_worker *worker)
{
	if (worker->spun_at_ns)
		count_spun_time(worker, vbd_worker_now_ns(worker));
	worker->spun_at_ns = 0;
}

void vbd_worker_turn(struct vbd_worker *worker, bool wait)
{
	bool busy;

	vbd_counter_add(&worker->turns, 1);
	worker->spins = false;
	worker->now_ns = 0;
	busy = vbd_worker_take_commands(worker);
	busy |= poll_all_cqs(worker);
	busy |= run_due_work(worker);
	if (busy || !worker->spins)
		vbd_worker_end_spin(worker);
	if (busy || worker->stopping)
		return;
	if (!worker->spins)
		wait_for_events(worker, wait);
	else if (vbd_worker_spin(worker))
		wait_for_events(worker, false);
}

/* The thread. */

static enum vbd_status open_descriptors(struct vbd_worker *worker, struct vbd_error *err)
{
	/* No pointer: the inbox. Each other one is that of a CQ. */
	struct epoll_event event = {.events = EPOLLIN};
	enum vbd_status status = vbd_mailbox_init(&worker->inbox, err);

	if (status)
		return status;
	worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epoll_fd < 0)
		return vbd_error_errno(
			err, VBD_OK, "epoll_create1", errno, "worker %u", worker->number);
	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, vbd_mailbox_fd(&worker->inbox), &event) != 0)
		return vbd_error_errno(
			err, VBD_OK, "epoll_ctl", errno, "worker %u", worker->number);
	return VBD_OK;
}

enum vbd_status vbd_worker_create(unsigned int number, struct vbd_mailbox *control,
	struct vbd_worker **ret_worker, struct vbd_error *err)
{
	struct vbd_worker *worker = calloc(1, sizeof(*worker));
	enum vbd_status status;

	if (!worker)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for worker %u", number);
	worker->number = number;
	worker->cpu = worker->epoll_fd = worker->inbox.event_fd = -1;
	worker->control = control;
	vbd_list_init(&worker->active_cqs);
	vbd_list_init(&worker->srqs);
	vbd_list_init(&worker->reposting);
	vbd_list_init(&worker->delayed);
	vbd_list_init(&worker->withholding);
	worker->probe_totals = calloc(VBD_PROBE_KIND_COUNT, sizeof(*worker->probe_totals));
	worker->sends = calloc(1, sizeof(*worker->sends));
	status = worker->probe_totals && worker->sends
			 ? open_descriptors(worker, err)
			 : vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for worker %u", number);
	if (status)
		vbd_worker_destroy(worker);
	else
		*ret_worker = worker;
	return status;
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

enum vbd_status vbd_worker_start(struct vbd_worker *worker, struct vbd_error *err)
{
	char what[24];
	cpu_set_t cpus;
	enum vbd_status status;
	int rc;

	(void)snprintf(what, sizeof(what), "worker %u", worker->number);
	status = vbd_thread_start(thread_main, worker, what, &worker->thread, err);
	worker->running = !status;
	if (status || worker->cpu < 0)
		return status;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)worker->cpu, &cpus);
	rc = pthread_setaffinity_np(worker->thread, sizeof(cpus), &cpus);
	return rc ? vbd_error_errno(err, VBD_OK, "pthread_setaffinity_np", rc, "%s", what) : VBD_OK;
}

void vbd_worker_destroy(struct vbd_worker *worker)
{
	if (!worker)
		return;
	if (worker->running) {
		vbd_worker_send(worker, &worker->stop_command, VBD_WORKER_STOP);
		(void)pthread_join(worker->thread, NULL);
	}
	if (worker->epoll_fd >= 0)
		(void)close(worker->epoll_fd);
	vbd_mailbox_fini(&worker->inbox);
	vbd_withheld_fini(worker);
	vbd_channel_table_fini(&worker->channels);
	free(worker->probe_totals);
	free(worker->sends);
	free(worker);
}
