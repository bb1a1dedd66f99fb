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

static void dispatch_cm_event(struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event)
{
	struct vbd_cm_tag *tag = event->id_context;

	switch (tag->kind) {
	case VBD_CM_CONN:
		vbd_conn_on_cm_event(VBD_CONTAINER_OF(tag, struct vbd_conn, tag), event);
		break;
	case VBD_CM_LISTENER:
		vbd_cm_listener_on_cm_event(
			VBD_CONTAINER_OF(tag, struct vbd_cm_listener, tag), event);
		break;
	case VBD_CM_ENDPOINT:
		vbd_endpoint_on_cm_event(VBD_CONTAINER_OF(tag, struct vbd_endpoint, tag), event);
		break;
	case VBD_CM_PEER:
		vbd_peer_on_cm_event(VBD_CONTAINER_OF(tag, struct vbd_peer, tag), event);
		break;
	case VBD_CM_GROUP:
		vbd_group_on_cm_event(VBD_CONTAINER_OF(tag, struct vbd_group, tag), event);
		break;
	case VBD_CM_GOODBYE:
		vbd_goodbye_on_cm_event(VBD_CONTAINER_OF(tag, struct vbd_goodbye, tag), event);
		break;
	case VBD_CM_REPORT_PORT:
		vbd_report_port_on_cm_event(
			VBD_CONTAINER_OF(tag, struct vbd_report_port, tag), event);
		break;
	case VBD_CM_OVER:
		/* A request to a listener that is being destroyed has an id of its own. */
		if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			vbd_calls_end_id(fabric->calls, NULL, event->id);
		break;
	}
}

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

static void pass_message(struct vbd_recv_slot *slot)
{
	slot->channel->owner_ops->on_message(slot->channel->owner, slot);
}

static void handle_notification(struct vbd_fabric *fabric, struct vbd_mailbox_item *item)
{
	enum vbd_notification notification = (enum vbd_notification)item->kind;
	struct vbd_channel *channel;

	switch (notification) {
	case VBD_CONTROL_CQ_REMOVED:
		on_cq_removed(fabric, VBD_CONTAINER_OF(item, struct vbd_cq, remove_command));
		break;
	case VBD_CONTROL_DRAINED:
		channel = VBD_CONTAINER_OF(item, struct vbd_channel, drain_command);
		on_command_back(channel, &channel->drained);
		break;
	case VBD_CONTROL_QUIESCED:
		channel = VBD_CONTAINER_OF(item, struct vbd_channel, purge_command);
		channel->owner_ops->on_quiesced(channel->owner);
		break;
	case VBD_CONTROL_PURGED:
		channel = VBD_CONTAINER_OF(item, struct vbd_channel, purge_command);
		on_command_back(channel, &channel->purged);
		break;
	case VBD_CONTROL_CHANNEL_ERROR:
		channel = VBD_CONTAINER_OF(item, struct vbd_channel, error_notification);
		channel->owner_ops->on_error(channel->owner);
		break;
	case VBD_CONTROL_MESSAGE:
		pass_message(VBD_CONTAINER_OF(item, struct vbd_recv_slot, item));
		break;
	case VBD_CONTROL_TRANSFER_STARTED:
		vbd_transfer_on_notification(
			VBD_CONTAINER_OF(item, struct vbd_transfer, started_notification),
			notification);
		break;
	case VBD_CONTROL_TRANSFER_ENDED:
		vbd_transfer_on_notification(
			VBD_CONTAINER_OF(item, struct vbd_transfer, ended_notification),
			notification);
		break;
	case VBD_CONTROL_SRQ_LIMIT_SEEN:
		vbd_resources_srq_limit_seen(VBD_CONTAINER_OF(item, struct vbd_srq, limit_command));
		break;
	case VBD_CONTROL_SRQ_REMOVED:
		on_srq_removed(fabric, VBD_CONTAINER_OF(item, struct vbd_srq, remove_command));
		break;
	case VBD_CONTROL_CANCEL_SEEN:
		vbd_transfer_on_notification(
			VBD_CONTAINER_OF(item, struct vbd_transfer, cancel_command), notification);
		break;
	case VBD_CONTROL_PROBE_ENDED:
		vbd_probe_on_notification(
			VBD_CONTAINER_OF(item, struct vbd_probe, ended_notification), notification);
		break;
	case VBD_CONTROL_PROBE_STOP_SEEN:
		vbd_probe_on_notification(
			VBD_CONTAINER_OF(item, struct vbd_probe, stop_command), notification);
		break;
	case VBD_CONTROL_CALL_DONE:
		vbd_call_done(item);
		break;
	}
}

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
