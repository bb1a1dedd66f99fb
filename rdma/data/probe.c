/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/probe.h"

#include "rdma/data/rping.h"

/* A message over an unreliable connection is lost after this time. */
#define LOST_AFTER_NS VBD_NS_PER_S

VBD_ENUM_NAMES(vbd_probe_kind_name, enum vbd_probe_kind, VBD_PROBE_KIND_MAP)

void vbd_probe_counters_add(
	struct vbd_probe_counters *counters, const struct vbd_probe_counters *other)
{
	vbd_counter_add(&counters->sent, vbd_counter_get(&other->sent));
	vbd_counter_add(&counters->completed, vbd_counter_get(&other->completed));
	vbd_counter_add(&counters->late, vbd_counter_get(&other->late));
	vbd_counter_add(&counters->lost, vbd_counter_get(&other->lost));
	vbd_histogram_merge(&counters->rtt_ns, &other->rtt_ns);
}

/* The control thread. */

void vbd_probe_start(struct vbd_probe *probe)
{
	vbd_worker_send(probe->channel->worker, &probe->start_command, VBD_WORKER_START_PROBE);
}

void vbd_probe_stop(struct vbd_probe *probe)
{
	/* The drain ends the probe anyway, and a command sent after the drain command could outlive
	 * the channel. */
	if (probe->stop_sent || probe->ended_back || probe->channel->drain_sent)
		return;
	probe->stop_sent = true;
	vbd_worker_send(probe->channel->worker, &probe->stop_command, VBD_WORKER_STOP_PROBE);
}

void vbd_probe_on_notification(struct vbd_probe *probe, enum vbd_notification notification)
{
	if (notification == VBD_CONTROL_PROBE_ENDED)
		probe->ended_back = true;
	else
		probe->stop_back = true;
	/* Once every command is back, the caller may free the probe. */
	if (probe->ended_back && (!probe->stop_sent || probe->stop_back))
		probe->ended(probe, probe->arg);
}

/* The worker. */

static struct vbd_probe_counters *totals_of_kind(const struct vbd_probe *probe)
{
	return &probe->channel->worker->probe_totals[probe->kind];
}

/* @counter: its place in struct vbd_probe_counters */
static void increment_counter(struct vbd_probe *probe, size_t counter)
{
	vbd_counter_add((struct vbd_counter *)((char *)&probe->counters + counter), 1);
	vbd_counter_add((struct vbd_counter *)((char *)totals_of_kind(probe) + counter), 1);
}

static void record_round_trip(struct vbd_probe *probe, uint64_t rtt_ns)
{
	vbd_histogram_add(&probe->counters.rtt_ns, rtt_ns);
	vbd_histogram_add(&totals_of_kind(probe)->rtt_ns, rtt_ns);
	increment_counter(probe, offsetof(struct vbd_probe_counters, completed));
}

static void end_probe(struct vbd_probe *probe)
{
	struct vbd_channel *channel = probe->channel;

	channel->probe = NULL;
	vbd_heap_remove(&channel->worker->probes, &probe->due);
	vbd_counter_set(&probe->ended_ns, vbd_clock_mono_ns());
	vbd_worker_notify(channel->worker, &probe->ended_notification, VBD_CONTROL_PROBE_ENDED);
}

static void set_ping_posted(struct vbd_probe *probe)
{
	probe->owed = false;
	probe->under_way = true;
	increment_counter(probe, offsetof(struct vbd_probe_counters, sent));
}

/* A unique message: a mark of this daemon and the number of the channel's ping. */
static void fill_echo_bytes(uint8_t *bytes, uint32_t size_bytes, uint64_t number)
{
	static const uint8_t mark[8] = {'v', 'b', 'd', '-', 'e', 'c', 'h', 'o'};

	memcpy(bytes, mark, sizeof(mark));
	memcpy(bytes + sizeof(mark), &number, sizeof(number));
	for (uint32_t i = VBD_ECHO_BYTES_MIN; i < size_bytes; i++)
		bytes[i] = (uint8_t)(number + i);
}

static bool post_echo_ping(struct vbd_channel *channel, uint32_t size_bytes, uint64_t number)
{
	uint8_t bytes[VBD_ECHO_BYTES_MAX];
	const struct vbd_sge sge = {.addr = (uintptr_t)bytes, .length_bytes = size_bytes};
	const struct vbd_send_request request = {
		.op = VBD_OP_SEND,
		.sges = &sge,
		.sge_count = 1,
		.wr.inlined = true,
		.ping = number,
	};

	fill_echo_bytes(bytes, size_bytes, number);
	return vbd_channel_post_send(channel, &request);
}

/* For a length of 0 the peer checks neither address nor key (IBTA, C9-88). */
static bool post_ack_ping(struct vbd_channel *channel, uint64_t number)
{
	const struct vbd_send_request request = {.op = VBD_OP_WRITE, .ping = number};

	return vbd_channel_post_send(channel, &request);
}

static void post_ping(struct vbd_probe *probe)
{
	struct vbd_channel *channel = probe->channel;
	uint64_t number = channel->last_ping + 1;

	probe->posted_ns = vbd_worker_now_ns(channel->worker);
	if (!(probe->kind == VBD_PROBE_ECHO ? post_echo_ping(channel, probe->size_bytes, number)
					    : post_ack_ping(channel, number)))
		return;
	probe->number = channel->last_ping = number;
	set_ping_posted(probe);
}

static void post_owed_ping(struct vbd_probe *probe)
{
	if (probe->owed && vbd_channel_can_send(probe->channel))
		post_ping(probe);
}

static void on_rping_back(struct vbd_channel *channel, bool same);

static void begin_ping(struct vbd_probe *probe)
{
	probe->begun++;
	probe->counted_late = false;
	if (probe->kind == VBD_PROBE_RPING) {
		set_ping_posted(probe);
		probe->posted_ns = vbd_worker_now_ns(probe->channel->worker);
		vbd_rping_ping(probe->channel, probe->size_bytes,
			vbd_counter_get(&probe->counters.sent) - 1, on_rping_back);
		return;
	}
	probe->owed = true;
	post_owed_ping(probe);
}

static bool all_pings_begun(const struct vbd_probe *probe)
{
	return probe->count && probe->begun == probe->count;
}

static bool all_pings_over(const struct vbd_probe *probe)
{
	return probe->count && vbd_counter_get(&probe->counters.completed) +
					       vbd_counter_get(&probe->counters.lost) ==
				       probe->count;
}

/* Unreliable connections do not repeat a lost message, and no error reports it. */
static bool may_lose_ping(const struct vbd_probe *probe)
{
	return probe->channel->limits.transport != VBD_TRANSPORT_RC;
}

static void queue_until_due(struct vbd_probe *probe, uint64_t due_ns)
{
	if (!all_pings_begun(probe) || may_lose_ping(probe))
		vbd_heap_add(&probe->channel->worker->probes, &probe->due, due_ns);
}

/* Returns false if the lost ping was the last one. */
static bool count_lost_ping(struct vbd_probe *probe, uint64_t now_ns)
{
	if (!probe->under_way || !may_lose_ping(probe) || now_ns < probe->posted_ns + LOST_AFTER_NS)
		return true;
	probe->under_way = false;
	increment_counter(probe, offsetof(struct vbd_probe_counters, lost));
	if (!all_pings_over(probe))
		return true;
	end_probe(probe);
	return false;
}

static void on_ping_due(struct vbd_probe *probe, uint64_t now_ns)
{
	uint64_t next_ns = probe->due.key + probe->interval_ns;

	vbd_heap_remove(&probe->channel->worker->probes, &probe->due);
	/* The drain ends the probe. */
	if (probe->channel->broken || probe->channel->draining)
		return;
	if (!count_lost_ping(probe, now_ns))
		return;
	if (probe->under_way || probe->owed) {
		if (!probe->counted_late)
			increment_counter(probe, offsetof(struct vbd_probe_counters, late));
		probe->counted_late = true;
	} else if (!all_pings_begun(probe)) {
		begin_ping(probe);
	}
	/* Pings that could not be sent in time are skipped. */
	queue_until_due(probe, next_ns > now_ns ? next_ns : now_ns + probe->interval_ns);
}

void vbd_probes_run_due(struct vbd_worker *worker)
{
	struct vbd_heap *probes = &worker->probes;
	uint64_t now_ns;

	if (!probes->first)
		return;
	worker->now_ns = 0;
	now_ns = vbd_worker_now_ns(worker);
	while (probes->first && probes->first->key <= now_ns)
		on_ping_due(VBD_CONTAINER_OF(probes->first, struct vbd_probe, due), now_ns);
}

static void end_stopped_probe(struct vbd_probe *probe)
{
	(void)vbd_error_set(&probe->error, VBD_E_CANCELLED,
		"the probe was cancelled after %llu pings",
		(unsigned long long)vbd_counter_get(&probe->counters.completed));
	end_probe(probe);
}

void vbd_probe_stopping(struct vbd_probe *probe)
{
	struct vbd_channel *channel = probe->channel;

	probe->stopping = true;
	/* Finish the ping: the rest of a cancelled rping exchange would look like an answer to the
	 * next. */
	if (channel->probe == probe && !(probe->kind == VBD_PROBE_RPING && probe->under_way))
		end_stopped_probe(probe);
	vbd_worker_notify(channel->worker, &probe->stop_command, VBD_CONTROL_PROBE_STOP_SEEN);
}

static void record_rtt(struct vbd_probe *probe, uint64_t rtt_ns)
{
	uint64_t last_ns = vbd_counter_get(&probe->last_ns);
	uint64_t change_ns = rtt_ns > last_ns ? rtt_ns - last_ns : last_ns - rtt_ns;

	record_round_trip(probe, rtt_ns);
	vbd_counter_set(&probe->last_ns, rtt_ns);
	if (!last_ns)
		return;
	probe->jitter_16 += change_ns - (probe->jitter_16 + 8) / 16;
	vbd_counter_set(&probe->jitter_ns, probe->jitter_16 / 16);
}

static void on_ping_back(struct vbd_probe *probe)
{
	probe->under_way = false;
	record_rtt(probe, vbd_worker_now_ns(probe->channel->worker) - probe->posted_ns);
	if (all_pings_over(probe))
		end_probe(probe);
	else if (probe->stopping)
		end_stopped_probe(probe);
	else if (!probe->interval_ns)
		begin_ping(probe);
}

static void on_rping_back(struct vbd_channel *channel, bool same)
{
	if (!same)
		vbd_counter_add(&channel->probe->mismatched, 1);
	on_ping_back(channel->probe);
}

static void on_ping_acked(struct vbd_probe *probe, uint64_t number)
{
	/* The completion of an echo shows only that the message has arrived. */
	if (probe->kind == VBD_PROBE_ACK && probe->under_way && probe->number == number)
		on_ping_back(probe);
}

void vbd_probe_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot)
{
	const uint8_t *bytes = vbd_channel_recv_data(slot);
	struct vbd_probe *probe = channel->probe;
	uint8_t sent[VBD_ECHO_BYTES_MAX];

	if (!probe || probe->kind != VBD_PROBE_ECHO || !probe->under_way ||
		slot->received.length_bytes != probe->size_bytes)
		return;
	fill_echo_bytes(sent, probe->size_bytes, probe->number);
	if (memcmp(bytes, sent, VBD_ECHO_BYTES_MIN) != 0)
		return;
	if (memcmp(bytes, sent, probe->size_bytes) != 0)
		vbd_counter_add(&probe->mismatched, 1);
	on_ping_back(probe);
}

static void on_channel_drained(struct vbd_probe *probe)
{
	if (probe->under_way)
		increment_counter(probe, offsetof(struct vbd_probe_counters, lost));
	(void)vbd_error_set(&probe->error, VBD_E_QP_FATAL, "the connection ended after %llu pings",
		(unsigned long long)vbd_counter_get(&probe->counters.completed));
	end_probe(probe);
}

void vbd_probe_started(struct vbd_probe *probe)
{
	static const struct vbd_probe_ops ops = {
		.pump = post_owed_ping, .acked = on_ping_acked, .drained = on_channel_drained};

	probe->channel->probe = probe;
	probe->channel->probe_ops = &ops;
	begin_ping(probe);
	if (probe->interval_ns)
		queue_until_due(probe, vbd_clock_mono_ns() + probe->interval_ns);
}
