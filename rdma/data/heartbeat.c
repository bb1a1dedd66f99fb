/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/heartbeat.h"

void vbd_heartbeat_look_again(struct vbd_heartbeat *heartbeat, uint64_t at_ns)
{
	vbd_heap_add(&heartbeat->worker->heartbeats, &heartbeat->due, at_ns);
}

void vbd_heartbeat_started(struct vbd_heartbeat *heartbeat)
{
	heartbeat->alive_ns = vbd_worker_now_ns(heartbeat->worker);
	heartbeat->under_way = false;
	vbd_heartbeat_look_again(heartbeat, heartbeat->alive_ns + heartbeat->interval_ns);
}

void vbd_heartbeat_alive(struct vbd_heartbeat *heartbeat)
{
	heartbeat->alive_ns = vbd_worker_now_ns(heartbeat->worker);
}

void vbd_heartbeat_answered(struct vbd_heartbeat *heartbeat)
{
	heartbeat->under_way = false;
	vbd_counter_add(&heartbeat->counters.answered, 1);
	vbd_counter_add(&heartbeat->worker->heartbeat_totals.answered, 1);
	vbd_heartbeat_alive(heartbeat);
	/* The look that waits is the one that would give the heartbeat up, which is later. */
	if (!heartbeat->due.queued)
		return;
	vbd_heap_remove(&heartbeat->worker->heartbeats, &heartbeat->due);
	vbd_heartbeat_look_again(heartbeat, heartbeat->alive_ns + heartbeat->interval_ns);
}
