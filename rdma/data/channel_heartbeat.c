/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heartbeat that is due asks the peer's device, or gives the peer up.
 */
#include "rdma/data/channel.h"
#include "rdma/data/heartbeat.h"

/* A part of the interval by which a heartbeat may be early, so that the worker wakes once for the
 * heartbeats of many connections. */
#define EARLY_PART 8

/* An unanswered heartbeat is given up after this many intervals. */
#define PATIENCE 2

static struct vbd_heartbeat *heartbeat_of_node(struct vbd_heap_node *node)
{
	return VBD_CONTAINER_OF(node, struct vbd_heartbeat, due);
}

static uint64_t early_margin_ns(const struct vbd_heartbeat *heartbeat)
{
	return heartbeat->interval_ns / EARLY_PART;
}

/* Was there a sign of life in the last @intervals? */
static bool was_alive(const struct vbd_heartbeat *heartbeat, uint64_t now_ns, uint64_t intervals)
{
	return now_ns + early_margin_ns(heartbeat) <
	       heartbeat->alive_ns + intervals * heartbeat->interval_ns;
}

static void give_up_peer(struct vbd_heartbeat *heartbeat, uint64_t now_ns)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(&error, VBD_E_PEER_SILENT,
		"the peer's device did not acknowledge a heartbeat, and gave no sign of life for "
		"%llu ms",
		(unsigned long long)((now_ns - heartbeat->alive_ns) / VBD_NS_PER_MS));
	vbd_channel_break(heartbeat->channel, &error, VBD_OP_COUNT, 0);
}

/* For a length of 0 the peer checks neither address nor key (IBTA, C9-88). */
static void send_heartbeat(struct vbd_heartbeat *heartbeat)
{
	const struct vbd_send_request request = {.op = VBD_OP_WRITE, .heartbeat = true};

	if (!vbd_channel_post_send(heartbeat->channel, &request))
		return;
	heartbeat->under_way = true;
	vbd_counter_add(&heartbeat->counters.sent, 1);
	vbd_counter_add(&heartbeat->channel->worker->heartbeat_totals.sent, 1);
}

/*
 * @late_ns: how much later than planned the look is. If this process did not run for that long, the
 * heartbeat may have completed and not been polled yet: the peer gets the same time again.
 */
static void on_heartbeat_due(struct vbd_heartbeat *heartbeat, uint64_t now_ns, uint64_t late_ns)
{
	struct vbd_channel *channel = heartbeat->channel;
	const uint64_t interval_ns = heartbeat->interval_ns;

	if (channel->broken || channel->draining)
		return;
	if (heartbeat->under_way && late_ns >= interval_ns) {
		vbd_heartbeat_look_again(heartbeat, now_ns + PATIENCE * interval_ns);
	} else if (heartbeat->under_way && was_alive(heartbeat, now_ns, PATIENCE)) {
		vbd_heartbeat_look_again(heartbeat, heartbeat->alive_ns + PATIENCE * interval_ns);
	} else if (heartbeat->under_way) {
		give_up_peer(heartbeat, now_ns);
	} else if (was_alive(heartbeat, now_ns, 1)) {
		vbd_heartbeat_look_again(heartbeat, heartbeat->alive_ns + interval_ns);
	} else if (channel->sq_outstanding > 0 || !vbd_channel_can_send(channel)) {
		vbd_heartbeat_look_again(heartbeat, now_ns + interval_ns);
	} else {
		vbd_heartbeat_look_again(heartbeat, now_ns + PATIENCE * interval_ns);
		send_heartbeat(heartbeat);
	}
}

void vbd_heartbeats_run(struct vbd_worker *worker)
{
	struct vbd_heap *heap = &worker->heartbeats;
	uint64_t now_ns;

	if (!heap->first)
		return;
	now_ns = vbd_worker_now_ns(worker);
	for (unsigned int i = 0; i < VBD_HEARTBEATS_A_TURN && heap->first; i++) {
		struct vbd_heartbeat *heartbeat = heartbeat_of_node(heap->first);
		uint64_t due_ns = heartbeat->due.key;

		if (due_ns > now_ns + early_margin_ns(heartbeat))
			return;
		vbd_heap_remove(heap, &heartbeat->due);
		on_heartbeat_due(heartbeat, now_ns, due_ns < now_ns ? now_ns - due_ns : 0);
	}
}
