/* SPDX-License-Identifier: Apache-2.0 */

#include "rdma/conn/listener.h"
#include "rdma/data/probe.h"
#include "rdma/data/transfer.h"
#include "rdma/fabric/goodbye.h"
#include "rdma/fabric/report.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"
#include "rdma/ud/group.h"
#include "rdma/ud/peer.h"

#include <assert.h>
#include <poll.h>

/* CM events handled before the loop gets its turn, and a time after which no other one is begun. */
#define CM_BATCH    64
#define CM_BATCH_NS (2 * VBD_NS_PER_MS)

/* Notifications handled before the loop gets its turn. */
#define NOTIFICATION_BATCH 256

int vbd_fabric_cm_fd(const struct vbd_fabric *fabric)
{
	return fabric->cm_channel ? vbd_pv_event_channel_fd(fabric->cm_channel) : -1;
}

#define ON(kind, type, handle)                                                \
	case VBD_CM_##kind:                                                   \
		handle(VBD_CONTAINER_OF(tag, struct vbd_##type, tag), event); \
		break;

/* clang-format off */
static void dispatch_cm_event(struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event)
{
	struct vbd_cm_tag *tag = event->id_context;

	switch (tag->kind) {
	ON(CONN, conn, vbd_conn_on_cm_event)
	ON(LISTENER, cm_listener, vbd_cm_listener_on_cm_event)
	ON(ENDPOINT, endpoint, vbd_endpoint_on_cm_event)
	ON(PEER, peer, vbd_peer_on_cm_event)
	ON(GROUP, group, vbd_group_on_cm_event)
	ON(GOODBYE, goodbye, vbd_goodbye_on_cm_event)
	ON(REPORT_PORT, report_port, vbd_report_port_on_cm_event)
	case VBD_CM_OVER:
		/* A request to a listener that is being destroyed has an id of its own. */
		if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			vbd_calls_end_id(fabric->calls, NULL, event->id);
		break;
	}
}
#undef ON
/* clang-format on */

static bool is_event_of_ended_id(const struct vbd_pv_cm_event *event)
{
	return ((const struct vbd_cm_tag *)event->id_context)->kind == VBD_CM_OVER;
}

static struct vbd_counter *cm_event_counter(struct vbd_fabric *fabric, int type)
{
	static_assert(RDMA_CM_EVENT_TIMEWAIT_EXIT + 2 == VBD_CM_EVENT_TYPES, "all and one more");
	size_t last = VBD_CM_EVENT_TYPES - 1;

	return &fabric->cm_events[(size_t)type < last ? (size_t)type : last];
}

void vbd_fabric_dispatch_cm(struct vbd_fabric *fabric)
{
	const uint64_t end_ns = vbd_clock_mono_ns() + CM_BATCH_NS;
	struct vbd_pv_cm_event event;

	for (int i = 0; i < CM_BATCH && vbd_pv_next_cm_event(fabric->cm_channel, &event); i++) {
		struct vbd_device *removed = NULL;
		const char *name;

		vbd_counter_add(cm_event_counter(fabric, (int)event.type), 1);
		/* A call thread may have freed an id that is over. */
		if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL && !is_event_of_ended_id(&event)) {
			name = vbd_device_of_id(&fabric->devices, event.id);
			removed = name ? vbd_fabric_device(fabric, name) : NULL;
		}
		dispatch_cm_event(fabric, &event);
		/* The event named one object; every other object on the device ends as well. */
		if (removed)
			vbd_fabric_remove_device(fabric, removed);
		if (vbd_clock_mono_ns() >= end_ns)
			break;
	}
}

int vbd_fabric_control_fd(const struct vbd_fabric *fabric)
{
	return vbd_mailbox_fd(&fabric->control);
}

static void on_cq_removed(struct vbd_fabric *fabric, struct vbd_cq *cq)
{
	struct vbd_device *device = cq->device;

	vbd_fabric_release_device(fabric, device);
	vbd_cq_destroy(cq);
}

static void on_srq_removed(struct vbd_fabric *fabric, struct vbd_srq *srq)
{
	struct vbd_device *device = srq->pd->device;

	vbd_resources_srq_removed(fabric, srq);
	/* The CQ still holds the device. */
	vbd_fabric_release_device(fabric, device);
}

static void on_command_back(struct vbd_channel *channel, bool *done)
{
	*done = true;
	channel->owner_ops->on_command_back(channel->owner);
}

#define ON(kind, type, name, member, statement) \
	VBD_MAILBOX_CASE(VBD_CONTROL_##kind, item, struct vbd_##type, name, member, statement)

/* clang-format off */
static void handle_notification(struct vbd_fabric *fabric, struct vbd_mailbox_item *item)
{
	enum vbd_notification kind = (enum vbd_notification)item->kind;

	switch (kind) {
	ON(CQ_REMOVED, cq, cq, remove_command, on_cq_removed(fabric, cq))
	ON(DRAINED, channel, channel, drain_command,
		on_command_back(channel, &channel->drained))
	ON(QUIESCED, channel, channel, purge_command,
		channel->owner_ops->on_quiesced(channel->owner))
	ON(PURGED, channel, channel, purge_command, on_command_back(channel, &channel->purged))
	ON(CHANNEL_ERROR, channel, channel, error_notification,
		channel->owner_ops->on_error(channel->owner))
	ON(MESSAGE, recv_slot, slot, item,
		slot->channel->owner_ops->on_message(slot->channel->owner, slot))
	ON(TRANSFER_STARTED, transfer, transfer, started_notification,
		vbd_transfer_on_notification(transfer, kind))
	ON(TRANSFER_ENDED, transfer, transfer, ended_notification,
		vbd_transfer_on_notification(transfer, kind))
	ON(CANCEL_SEEN, transfer, transfer, cancel_command,
		vbd_transfer_on_notification(transfer, kind))
	ON(PROBE_ENDED, probe, probe, ended_notification, vbd_probe_on_notification(probe, kind))
	ON(PROBE_STOP_SEEN, probe, probe, stop_command, vbd_probe_on_notification(probe, kind))
	ON(SRQ_LIMIT_SEEN, srq, srq, limit_command, vbd_resources_srq_limit_seen(srq))
	ON(SRQ_REMOVED, srq, srq, remove_command, on_srq_removed(fabric, srq))
	case VBD_CONTROL_CALL_DONE:
		vbd_call_done(item);
		break;
	}
}
/* clang-format on */

void vbd_fabric_dispatch_control(struct vbd_fabric *fabric)
{
	struct vbd_mailbox_item *item;

	vbd_mailbox_rearm(&fabric->control);
	for (int i = 0; i < NOTIFICATION_BATCH; i++) {
		item = vbd_mailbox_take(&fabric->control);
		if (!item)
			return;
		handle_notification(fabric, item);
	}
	vbd_mailbox_poke(&fabric->control);
}

void vbd_fabric_await_scan(struct vbd_fabric *fabric, unsigned int timeout_ms)
{
	struct pollfd control = {.fd = vbd_fabric_control_fd(fabric), .events = POLLIN};
	uint64_t end_ns = vbd_clock_mono_ns() + timeout_ms * VBD_NS_PER_MS;
	uint64_t now_ns;

	while (vbd_fabric_is_scanning(fabric) && (now_ns = vbd_clock_mono_ns()) < end_ns) {
		if (poll(&control, 1, (int)((end_ns - now_ns) / VBD_NS_PER_MS) + 1) > 0)
			vbd_fabric_dispatch_control(fabric);
	}
}
