/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric.h"

#include "base/attr.h"
#include "base/log.h"
#include "rdma/conn.h"
#include "rdma/cq.h"
#include "rdma/endpoint.h"
#include "rdma/group.h"
#include "rdma/listener.h"
#include "rdma/msgpool.h"
#include "rdma/peer.h"
#include "rdma/probe.h"
#include "rdma/provider.h"
#include "rdma/resources.h"
#include "rdma/transfer.h"
#include "rdma/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* CM events handled before the loop gets its turn. */
#define CM_BATCH 64

/* Letters handled before the loop gets its turn. */
#define LETTER_BATCH 256

static void open_channel(struct vbd_fabric *fabric)
{
	struct vbd_error error = {0};

	if (vbd_pv_create_event_channel(&fabric->channel, &error) != VBD_OK) {
		fabric->channel = NULL;
		fabric->channel_error = error;
	}
}

enum vbd_status vbd_fabric_create(unsigned int worker_count, uint32_t cq_depth,
	uint32_t drain_timeout_ms, const struct vbd_fabric_ops *ops, void *ops_arg,
	struct vbd_fabric **ret_fabric, struct vbd_error *err)
{
	struct vbd_fabric *fabric = calloc(1, sizeof(*fabric));
	enum vbd_status status;

	if (!fabric)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the fabric");
	fabric->cq_depth = cq_depth;
	fabric->drain_timeout_ms = drain_timeout_ms;
	fabric->ops = ops;
	fabric->ops_arg = ops_arg;
	vbd_list_init(&fabric->devices);
	vbd_list_init(&fabric->cqs);
	vbd_list_init(&fabric->pds);
	vbd_list_init(&fabric->srqs);
	vbd_list_init(&fabric->conns);
	vbd_list_init(&fabric->endpoints);
	status = vbd_mailbox_init(&fabric->control, err);
	if (status) {
		free(fabric);
		return status;
	}
	fabric->workers = calloc(worker_count, sizeof(struct vbd_worker *));
	if (!fabric->workers) {
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the workers");
		goto destroy;
	}
	for (unsigned int i = 0; i < worker_count; i++) {
		status = vbd_worker_create(i, &fabric->control, &fabric->workers[i], err);
		if (status)
			goto destroy;
		fabric->worker_count++;
	}
	open_channel(fabric);
	*ret_fabric = fabric;
	return VBD_OK;

destroy:
	vbd_fabric_destroy(fabric);
	return status;
}

enum vbd_status vbd_fabric_start(struct vbd_fabric *fabric, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (unsigned int i = 0; i < fabric->worker_count && !status; i++)
		status = vbd_worker_start(fabric->workers[i], err);
	return status;
}

/* Give up what a device still has when the workers are gone: nothing polls any more. */
static void abandon_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	vbd_resources_abandon(fabric, device);
	vbd_list_for_each (link, &fabric->cqs) {
		struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		if (cq->device == device)
			vbd_cq_destroy(cq);
	}
	vbd_msgpool_destroy(device->pd);
	if (vbd_device_begin_removal(device))
		vbd_device_unref(device);
}

void vbd_fabric_destroy(struct vbd_fabric *fabric)
{
	if (!fabric)
		return;
	for (unsigned int i = 0; i < fabric->worker_count; i++)
		vbd_worker_destroy(fabric->workers[i]);
	free(fabric->workers);
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		abandon_device(fabric, device);
		vbd_device_destroy(device);
	}
	vbd_pv_destroy_event_channel(fabric->channel);
	vbd_mailbox_fini(&fabric->control);
	free(fabric);
}

/* Devices. */

static void on_async_event(struct vbd_device *device, int type, int port_num, void *arg)
{
	struct vbd_fabric *fabric = arg;

	if (fabric->ops->async_event)
		fabric->ops->async_event(device, type, port_num, fabric->ops_arg);
	if (type == IBV_EVENT_DEVICE_FATAL)
		vbd_fabric_remove_device(fabric, device);
}

static void on_qp_event(struct vbd_device *device, int type, uint32_t qp_num, void *arg)
{
	struct vbd_fabric *fabric = arg;

	vbd_list_for_each (link, &fabric->conns) {
		struct vbd_conn *conn = VBD_CONTAINER_OF(link, struct vbd_conn, fabric_link);

		if (conn->device == device && conn->qp_info.lqpn == qp_num) {
			vbd_conn_on_async_event(conn, type);
			return;
		}
	}
	vbd_list_for_each (link, &fabric->endpoints) {
		struct vbd_endpoint *endpoint =
			VBD_CONTAINER_OF(link, struct vbd_endpoint, fabric_link);

		if (endpoint->device == device && endpoint->qpn == qp_num) {
			vbd_endpoint_on_async_event(endpoint, type);
			return;
		}
	}
}

static void on_srq_event(struct vbd_device *device, int type, const struct ibv_srq *srq, void *arg)
{
	(void)device;
	vbd_resources_srq_event(arg, srq, type);
}

static void on_closed(struct vbd_device *device, void *arg)
{
	struct vbd_fabric *fabric = arg;

	vbd_resources_device_removed(fabric, device);
	if (fabric->ops->device_removed)
		fabric->ops->device_removed(device, fabric->ops_arg);
}

static const struct vbd_device_ops device_ops = {
	.async_event = on_async_event,
	.qp_event = on_qp_event,
	.srq_event = on_srq_event,
	.closed = on_closed,
};

static bool is_there(const struct vbd_device *device)
{
	return device->state != VBD_DEVICE_REMOVED;
}

static bool is_found(
	const struct vbd_device *device, const struct vbd_pv_device *found, size_t count)
{
	/* A device that went and came back between two looks has a new uverbs number or at least a
	 * new name. */
	for (size_t i = 0; i < count; i++) {
		if (strcmp(found[i].name, device->name) == 0 &&
			strcmp(found[i].uverbs_name, device->uverbs_name) == 0)
			return true;
	}
	return false;
}

static void add_device(struct vbd_fabric *fabric, const struct vbd_pv_device *found)
{
	struct vbd_device *device;

	vbd_list_for_each (link, &fabric->devices) {
		device = VBD_CONTAINER_OF(link, struct vbd_device, link);
		if (is_there(device) && strcmp(device->name, found->name) == 0) {
			fabric->rescan_owed |= device->state == VBD_DEVICE_REMOVING;
			return;
		}
	}
	device = vbd_device_create(++fabric->last_device_id, found, &device_ops, fabric);
	if (!device)
		return;
	vbd_list_append(&fabric->devices, &device->link);
	if (device->pd) {
		device->pd->id = ++fabric->last_pd_id;
		vbd_list_append(&fabric->pds, &device->pd->fabric_link);
	}
	if (fabric->ops->device_added)
		fabric->ops->device_added(device, fabric->ops_arg);
}

void vbd_fabric_rescan(struct vbd_fabric *fabric)
{
	struct vbd_pv_device *found;
	struct vbd_error error = {0};
	size_t count;

	if (!fabric->channel) {
		open_channel(fabric);
		if (fabric->channel && fabric->ops->cm_opened)
			fabric->ops->cm_opened(fabric->ops_arg);
	}
	if (vbd_pv_list_devices(&found, &count, &error) != VBD_OK) {
		vbd_log(VBD_LOG_DEBUG, "fabric", "%s", error.text);
		return;
	}
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		/* One that could not be opened gets another try: its node may have been late. */
		if (is_there(device) &&
			(!is_found(device, found, count) || device->state == VBD_DEVICE_FAILED))
			vbd_fabric_remove_device(fabric, device);
	}
	fabric->rescan_owed = false;
	for (size_t i = 0; i < count; i++)
		add_device(fabric, &found[i]);
	free(found);
}

void vbd_fabric_remove_uverbs(struct vbd_fabric *fabric, const char *uverbs_name)
{
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (is_there(device) && strcmp(device->uverbs_name, uverbs_name) == 0)
			vbd_fabric_remove_device(fabric, device);
	}
}

static void remove_cq_if_idle(struct vbd_cq *cq)
{
	if (cq->removing || cq->connections > 0)
		return;
	cq->removing = true;
	vbd_worker_send(cq->worker, &cq->mail_remove, VBD_WORKER_REMOVE_CQ);
}

static void remove_idle_cqs(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each (link, &fabric->cqs) {
		struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		if (cq->device == device)
			remove_cq_if_idle(cq);
	}
}

static bool serves_the_same(const struct vbd_cq *cq, const struct vbd_cq *other)
{
	return cq->device == other->device && cq->worker == other->worker && !other->asked_for &&
	       !other->removing;
}

/* More of them are made when there is no room, and nobody else would ever take them away. The first
 * of each worker stays for the next to come. */
static void remove_spare_cqs(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each (link, &fabric->cqs) {
		struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		if (cq->device != device || cq->asked_for)
			continue;
		vbd_list_for_each (earlier, &fabric->cqs) {
			if (earlier == link)
				break;
			if (serves_the_same(cq, VBD_CONTAINER_OF(earlier, struct vbd_cq, link))) {
				remove_cq_if_idle(cq);
				break;
			}
		}
	}
}

void vbd_fabric_remove_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	if (device->state == VBD_DEVICE_FAILED) {
		(void)vbd_device_begin_removal(device);
		on_closed(device, fabric);
		return;
	}
	if (!vbd_device_begin_removal(device))
		return;
	if (fabric->ops->device_removing)
		fabric->ops->device_removing(device, fabric->ops_arg);
	vbd_fabric_release_device(fabric, device);
	/* The device's own reference: it is PRESENT no more. */
	vbd_device_unref(device);
}

void vbd_fabric_release_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	if (device->state != VBD_DEVICE_REMOVING) {
		remove_spare_cqs(fabric, device);
		return;
	}
	vbd_resources_device_removing(fabric, device);
	remove_idle_cqs(fabric, device);
	/* Messages in flight hold their slots through their connections, which are CQ users. */
	if (!vbd_fabric_device_busy(fabric, device))
		vbd_msgpool_destroy(device->pd);
}

bool vbd_fabric_device_busy(const struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each (link, &fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		if (cq->device == device && cq->connections > 0)
			return true;
	}
	return false;
}

struct vbd_device *vbd_fabric_device(const struct vbd_fabric *fabric, const char *name)
{
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->context && strcmp(device->name, name) == 0)
			return device;
	}
	return NULL;
}

struct vbd_device *vbd_fabric_default_device(const struct vbd_fabric *fabric)
{
	struct vbd_device *first = NULL;

	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->state != VBD_DEVICE_PRESENT)
			continue;
		if (vbd_device_port_active(device))
			return device;
		if (!first)
			first = device;
	}
	return first;
}

/* Completion queues. */

static enum vbd_status make_cq(struct vbd_fabric *fabric, struct vbd_device *device, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_worker *worker = fabric->workers[fabric->next_worker];
	uint32_t depth_cqe = cqe > fabric->cq_depth ? cqe : fabric->cq_depth;
	enum vbd_status status;
	struct vbd_cq *cq;

	if (device->attr.max_cqe && cqe > device->attr.max_cqe)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/qp",
			"sq_depth + rq_depth is %u; a completion queue of device %s holds %u", cqe,
			device->name, device->attr.max_cqe);
	status = vbd_cq_create(++fabric->last_cq_id, device, worker, depth_cqe, &cq, err);
	if (status)
		return status;
	vbd_list_append(&fabric->cqs, &cq->link);
	vbd_worker_send(worker, &cq->mail_add, VBD_WORKER_ADD_CQ);
	*ret_cq = cq;
	return VBD_OK;
}

enum vbd_status vbd_fabric_admit(struct vbd_fabric *fabric, struct vbd_device *device, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	const struct vbd_worker *worker = fabric->workers[fabric->next_worker];
	enum vbd_status status;
	struct vbd_cq *cq = NULL;

	vbd_list_for_each (link, &fabric->cqs) {
		cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);
		if (cq->device == device && cq->worker == worker && !cq->asked_for &&
			vbd_cq_admit(cq, cqe))
			goto admitted;
	}
	status = make_cq(fabric, device, cqe, &cq, err);
	if (status)
		return status;
	if (!vbd_cq_admit(cq, cqe))
		return vbd_error_set(err, VBD_E_DEVICE_LIMIT, "device %s gave a CQ of %u for %u",
			device->name, cq->capacity_cqe, cqe);
admitted:
	fabric->next_worker = (fabric->next_worker + 1) % fabric->worker_count;
	*ret_cq = cq;
	return VBD_OK;
}

void vbd_fabric_add_qp(struct vbd_fabric *fabric, struct vbd_conn *conn)
{
	vbd_list_append(&fabric->conns, &conn->fabric_link);
}

void vbd_fabric_remove_qp(struct vbd_conn *conn)
{
	vbd_list_remove(&conn->fabric_link);
}

void vbd_fabric_add_endpoint(struct vbd_fabric *fabric, struct vbd_endpoint *endpoint)
{
	vbd_list_append(&fabric->endpoints, &endpoint->fabric_link);
}

void vbd_fabric_remove_endpoint(struct vbd_endpoint *endpoint)
{
	vbd_list_remove(&endpoint->fabric_link);
}

/* What reports itself. */

int vbd_fabric_cm_fd(const struct vbd_fabric *fabric)
{
	return fabric->channel ? vbd_pv_event_channel_fd(fabric->channel) : -1;
}

static void dispatch_cm_event(const struct vbd_pv_cm_event *event)
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
	}
}

static struct vbd_counter *cm_event_counter(struct vbd_fabric *fabric, int type)
{
	static_assert(RDMA_CM_EVENT_TIMEWAIT_EXIT + 2 == VBD_CM_EVENT_TYPES, "all and one more");
	size_t last = VBD_CM_EVENT_TYPES - 1;

	return &fabric->cm_events[(size_t)type < last ? (size_t)type : last];
}

void vbd_fabric_dispatch_cm(struct vbd_fabric *fabric)
{
	struct vbd_pv_cm_event event;

	for (int i = 0; i < CM_BATCH && vbd_pv_next_cm_event(fabric->channel, &event); i++) {
		struct vbd_device *removed = NULL;
		const char *name;

		vbd_counter_add(cm_event_counter(fabric, event.type), 1);
		if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			name = vbd_pv_id_device(event.id);
			removed = name ? vbd_fabric_device(fabric, name) : NULL;
		}
		dispatch_cm_event(&event);
		/* One object heard of it; the rest of the device's must go as well. */
		if (removed)
			vbd_fabric_remove_device(fabric, removed);
	}
}

int vbd_fabric_control_fd(const struct vbd_fabric *fabric)
{
	return vbd_mailbox_fd(&fabric->control);
}

static enum vbd_transfer_event outcome(const struct vbd_transfer *transfer)
{
	bool flushed = transfer->wc_status == IBV_WC_WR_FLUSH_ERR || transfer->wc_status < 0;

	if (transfer->error.status == VBD_OK)
		return VBD_TRANSFER_EV_DONE;
	/* One that would not stop is flushed with its connection: it was cancelled all the same. */
	if (transfer->error.status == VBD_E_CANCELLED ||
		(transfer->state == VBD_TRANSFER_CANCELLING && flushed))
		return transfer->late ? VBD_TRANSFER_EV_STOPPED_LATE : VBD_TRANSFER_EV_STOPPED;
	return VBD_TRANSFER_EV_FAILED;
}

/* The one setter of a transfer's state. */
static void set_transfer_state(struct vbd_transfer *transfer, enum vbd_transfer_event event)
{
	const struct vbd_transfer_rule *rule = vbd_transfer_rule(transfer->state, event);

	vbd_log(VBD_LOG_DEBUG, "transfer", "%llu %s -> %s (%s: %s)",
		(unsigned long long)transfer->id, vbd_transfer_state_name(transfer->state),
		vbd_transfer_state_name(rule->next), vbd_transfer_event_name(event), rule->note);
	transfer->state = rule->next;
}

/* It has ended when every letter of it is back: its memory may go then. */
static void check_transfer_letters(struct vbd_transfer *transfer)
{
	if (!transfer->ended_back || !transfer->started_back)
		return;
	if (transfer->cancel_sent && !transfer->cancel_back)
		return;
	set_transfer_state(transfer, outcome(transfer));
	transfer->ended(transfer, transfer->arg);
}

static void on_transfer_letter(struct vbd_transfer *transfer, enum vbd_control_letter letter)
{
	if (letter == VBD_CONTROL_TRANSFER_STARTED) {
		transfer->started_back = true;
		set_transfer_state(transfer, VBD_TRANSFER_EV_STARTED);
		if (transfer->started)
			transfer->started(transfer, transfer->arg);
	} else if (letter == VBD_CONTROL_TRANSFER_ENDED) {
		transfer->ended_back = true;
	} else {
		transfer->cancel_back = true;
	}
	check_transfer_letters(transfer);
}

static void on_cq_removed(struct vbd_fabric *fabric, struct vbd_cq *cq)
{
	struct vbd_device *device = cq->device;

	/* The message pool's reference and the CQ's may be the last two: the pool first. */
	vbd_fabric_release_device(fabric, device);
	vbd_cq_destroy(cq);
}

static void handle_letter(struct vbd_fabric *fabric, struct vbd_mail *mail)
{
	enum vbd_control_letter letter = (enum vbd_control_letter)mail->kind;
	struct vbd_channel *channel;
	struct vbd_recv_slot *slot;

	switch (letter) {
	case VBD_CONTROL_CQ_REMOVED:
		on_cq_removed(fabric, VBD_CONTAINER_OF(mail, struct vbd_cq, mail_remove));
		break;
	case VBD_CONTROL_DRAINED:
		channel = VBD_CONTAINER_OF(mail, struct vbd_channel, mail_drain);
		channel->drained = true;
		channel->owner_ops->on_letter_back(channel->owner);
		break;
	case VBD_CONTROL_FENCED:
		channel = VBD_CONTAINER_OF(mail, struct vbd_channel, mail_sweep);
		channel->owner_ops->on_fenced(channel->owner);
		break;
	case VBD_CONTROL_SWEPT:
		channel = VBD_CONTAINER_OF(mail, struct vbd_channel, mail_sweep);
		channel->swept = true;
		channel->owner_ops->on_letter_back(channel->owner);
		break;
	case VBD_CONTROL_CHANNEL_ERROR:
		channel = VBD_CONTAINER_OF(mail, struct vbd_channel, mail_error);
		channel->owner_ops->on_error(channel->owner);
		break;
	case VBD_CONTROL_MESSAGE:
		slot = VBD_CONTAINER_OF(mail, struct vbd_recv_slot, mail);
		channel = slot->channel;
		channel->owner_ops->on_message(channel->owner, slot);
		break;
	case VBD_CONTROL_TRANSFER_STARTED:
		on_transfer_letter(
			VBD_CONTAINER_OF(mail, struct vbd_transfer, mail_started), letter);
		break;
	case VBD_CONTROL_TRANSFER_ENDED:
		on_transfer_letter(VBD_CONTAINER_OF(mail, struct vbd_transfer, mail_ended), letter);
		break;
	case VBD_CONTROL_SRQ_LIMIT_SEEN:
		vbd_resources_srq_limit_seen(VBD_CONTAINER_OF(mail, struct vbd_srq, mail_limit));
		break;
	case VBD_CONTROL_SRQ_REMOVED:
		vbd_resources_srq_removed(
			fabric, VBD_CONTAINER_OF(mail, struct vbd_srq, mail_remove));
		break;
	case VBD_CONTROL_CANCEL_SEEN:
		on_transfer_letter(
			VBD_CONTAINER_OF(mail, struct vbd_transfer, mail_cancel), letter);
		break;
	case VBD_CONTROL_PROBE_ENDED:
		vbd_probe_on_letter(VBD_CONTAINER_OF(mail, struct vbd_probe, mail_ended), letter);
		break;
	case VBD_CONTROL_PROBE_STOP_SEEN:
		vbd_probe_on_letter(VBD_CONTAINER_OF(mail, struct vbd_probe, mail_stop), letter);
		break;
	}
}

void vbd_fabric_dispatch_control(struct vbd_fabric *fabric)
{
	struct vbd_mail *mail;

	vbd_mailbox_rearm(&fabric->control);
	for (int i = 0; i < LETTER_BATCH; i++) {
		mail = vbd_mailbox_take(&fabric->control);
		if (!mail)
			return;
		handle_letter(fabric, mail);
	}
	vbd_mailbox_poke(&fabric->control);
}

void vbd_fabric_start_transfer(struct vbd_transfer *transfer)
{
	transfer->wc_status = -1;
	vbd_list_init(&transfer->link);
	vbd_worker_send(
		transfer->channel->worker, &transfer->mail_start, VBD_WORKER_START_TRANSFER);
}

void vbd_fabric_cancel_transfer(struct vbd_transfer *transfer, bool late)
{
	if (transfer->cancel_sent || transfer->ended_back)
		return;
	transfer->late = late;
	set_transfer_state(transfer, VBD_TRANSFER_EV_CANCEL);
	/* The drain ends it anyway, and a letter behind the drain letter could outlive the channel.
	 */
	if (transfer->channel->drain_sent)
		return;
	transfer->cancel_sent = true;
	vbd_worker_send(
		transfer->channel->worker, &transfer->mail_cancel, VBD_WORKER_CANCEL_TRANSFER);
}
