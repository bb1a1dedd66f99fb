/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/fabric.h"

#include "rdma/data/channel.h"
#include "rdma/device/pd.h"
#include "rdma/device/port_counters.h"
#include "rdma/fabric/fabric_parts.h"
#include "rdma/fabric/goodbye.h"
#include "rdma/fabric/report.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"

#include <ifaddrs.h>
#include <poll.h>

enum vbd_status vbd_fabric_create(unsigned int worker_count, uint32_t default_cqe,
	uint32_t drain_timeout_ms, const struct vbd_fabric_ops *ops, void *ops_arg,
	struct vbd_fabric **ret_fabric, struct vbd_error *err)
{
	struct vbd_fabric *fabric = calloc(1, sizeof(*fabric));
	enum vbd_status status;

	if (!fabric)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the fabric");
	fabric->default_cqe = default_cqe;
	fabric->drain_timeout_ms = drain_timeout_ms;
	fabric->ops = ops;
	fabric->ops_arg = ops_arg;
	vbd_list_init(&fabric->devices);
	vbd_list_init(&fabric->cqs);
	vbd_list_init(&fabric->srqs);
	vbd_list_init(&fabric->channels);
	vbd_list_init(&fabric->goodbyes);
	vbd_list_init(&fabric->report_ports);
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
	status = vbd_calls_create(&fabric->control, &fabric->calls, err);
	if (status)
		goto destroy;
	fabric->calls->id_ended = ops->id_ended;
	fabric->calls->id_ended_arg = ops_arg;
	fabric->interfaces_owed = getifaddrs(&fabric->interfaces) != 0;
	fabric->network_at_ns = vbd_clock_mono_ns();
	(void)vbd_error_set(&fabric->cm_channel_error, VBD_E_NO_DEVICE, "it is being opened");
	*ret_fabric = fabric;
	return VBD_OK;

destroy:
	vbd_fabric_destroy(fabric);
	return status;
}

void vbd_fabric_pin(struct vbd_fabric *fabric, const struct vbd_cpus *cpus)
{
	for (unsigned int i = 0; i < fabric->worker_count && cpus->count; i++)
		fabric->workers[i]->cpu = (int)cpus->numbers[i % cpus->count];
}

void vbd_fabric_faults_ended(struct vbd_fabric *fabric)
{
	for (unsigned int i = 0; i < fabric->worker_count; i++)
		vbd_worker_faults_ended(fabric->workers[i]);
}

enum vbd_status vbd_fabric_start(struct vbd_fabric *fabric, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (unsigned int i = 0; i < fabric->worker_count && !status; i++)
		status = vbd_worker_start(fabric->workers[i], err);
	return status;
}

/* Free what is left of a device when the workers are gone: nothing polls any more. */
static void free_device_objects(struct vbd_fabric *fabric, struct vbd_device *device)
{
	vbd_resources_abandon(fabric, device);
	vbd_list_for_each_of (struct vbd_cq, cq, link, &fabric->cqs) {
		if (cq->device == device)
			vbd_cq_destroy(cq);
	}
	if (vbd_device_begin_removal(device))
		vbd_device_unref(device);
}

/* Blocks until no call is under way. No worker runs; their notifications are freed with the owners.
 */
static void wait_for_calls(struct vbd_fabric *fabric)
{
	struct pollfd control = {.fd = vbd_mailbox_fd(&fabric->control), .events = POLLIN};
	struct vbd_mailbox_item *item;

	while ((item = vbd_mailbox_take(&fabric->control)) ||
		(fabric->calls && fabric->calls->under_way)) {
		if (item && item->kind == VBD_CONTROL_CALL_DONE)
			vbd_call_done(item);
		else if (!item && poll(&control, 1, -1) > 0)
			vbd_mailbox_rearm(&fabric->control);
	}
}

void vbd_fabric_destroy(struct vbd_fabric *fabric)
{
	if (!fabric)
		return;
	fabric->ending = true;
	for (unsigned int i = 0; i < fabric->worker_count; i++)
		vbd_worker_destroy(fabric->workers[i]);
	free(fabric->workers);
	vbd_goodbyes_abandon(fabric);
	vbd_report_ports_close(fabric);
	wait_for_calls(fabric);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		free_device_objects(fabric, device);
	wait_for_calls(fabric);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		vbd_device_destroy(device);
	vbd_calls_destroy(fabric->calls);
	freeifaddrs(fabric->interfaces);
	vbd_pv_destroy_event_channel(fabric->cm_channel);
	vbd_mailbox_fini(&fabric->control);
	free(fabric);
}

static void on_async_event(struct vbd_device *device, int type, int port_num, void *arg)
{
	struct vbd_fabric *fabric = arg;

	if (type == IBV_EVENT_PORT_ACTIVE) {
		vbd_cm_silence_begin(device, (uint8_t)port_num);
		vbd_goodbyes_go_on(fabric, device);
	}
	if (port_num) {
		vbd_ports_ask(device);
		vbd_interfaces_ask(fabric);
	}
	if (fabric->ops->async_event)
		fabric->ops->async_event(device, type, port_num, fabric->ops_arg);
	if (type == IBV_EVENT_DEVICE_FATAL)
		vbd_fabric_remove_device(fabric, device);
}

static void on_qp_event(struct vbd_device *device, int type, uint32_t qp_num, void *arg)
{
	struct vbd_fabric *fabric = arg;

	vbd_list_for_each_of (struct vbd_channel, channel, fabric_link, &fabric->channels) {
		if (channel->cq->device == device && channel->qpn == qp_num) {
			channel->owner_ops->on_async(channel->owner, type);
			return;
		}
	}
}

void vbd_fabric_check_qps(struct vbd_fabric *fabric, unsigned int count)
{
	const struct vbd_link *first = NULL;
	struct vbd_link *link;

	for (; count && (link = vbd_list_go_round(&fabric->channels, &first)); count--) {
		struct vbd_channel *channel =
			VBD_CONTAINER_OF(link, struct vbd_channel, fabric_link);

		channel->owner_ops->check(channel->owner);
	}
}

static void on_srq_runs_low(struct vbd_device *device, const struct ibv_srq *srq, void *arg)
{
	(void)device;
	vbd_resources_srq_runs_low(arg, srq);
}

/* The event comes again with each completion that is lost; the first one says it all. */
static void on_cq_failed(struct vbd_device *device, const struct ibv_cq *ibv_cq, void *arg)
{
	struct vbd_fabric *fabric = arg;
	struct vbd_cq *cq = vbd_fabric_fail_cq(fabric, ibv_cq);

	if (!cq)
		return;
	on_async_event(device, IBV_EVENT_CQ_ERR, 0, fabric);
	vbd_list_for_each_of (struct vbd_channel, channel, fabric_link, &fabric->channels) {
		if (channel->cq == cq)
			channel->owner_ops->on_async(channel->owner, IBV_EVENT_CQ_ERR);
	}
	vbd_fabric_remove_spare_cqs(fabric, device);
}

static void on_pd_gone(const struct vbd_pd *pd, void *arg)
{
	const struct vbd_fabric *fabric = arg;

	if (fabric->ops->gone)
		fabric->ops->gone(VBD_PV_PD, pd->id, fabric->ops_arg);
}

static void on_device_closed(struct vbd_device *device, void *arg)
{
	struct vbd_fabric *fabric = arg;

	vbd_list_for_each_of (struct vbd_pd, pd, link, &device->pds)
		vbd_pd_destroy(pd);
	if (fabric->ops->device_removed)
		fabric->ops->device_removed(device, fabric->ops_arg);
}

static void announce_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	if (device->pd) {
		device->pd->id = ++fabric->last_pd_id;
		if (fabric->ops->made)
			fabric->ops->made(VBD_PV_PD, device->pd->id, device->pd, fabric->ops_arg);
	}
	if (fabric->ops->device_added)
		fabric->ops->device_added(device, fabric->ops_arg);
}

static void on_open_done(struct vbd_device *device, void *arg)
{
	struct vbd_fabric *fabric = arg;

	if (fabric->ending || device->gone)
		vbd_device_give_up(device);
	else if (vbd_device_opened(device))
		announce_device(fabric, device);
}

const struct vbd_device_ops vbd_fabric_device_ops = {
	.open_done = on_open_done,
	.async_event = on_async_event,
	.qp_event = on_qp_event,
	.srq_runs_low = on_srq_runs_low,
	.cq_failed = on_cq_failed,
	.pd_gone = on_pd_gone,
	.closed = on_device_closed,
};

void vbd_fabric_remove_uverbs(struct vbd_fabric *fabric, const char *uverbs_name)
{
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (device->state != VBD_DEVICE_REMOVED &&
			strcmp(device->uverbs_name, uverbs_name) == 0)
			vbd_fabric_remove_device(fabric, device);
	}
}

void vbd_fabric_remove_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	device->gone = device->opening;
	if (device->gone)
		return;
	if (device->state == VBD_DEVICE_FAILED || device->state == VBD_DEVICE_OPENING) {
		(void)vbd_device_begin_removal(device);
		on_device_closed(device, fabric);
		return;
	}
	if (!vbd_device_begin_removal(device))
		return;
	if (fabric->ops->device_removing)
		fabric->ops->device_removing(device, fabric->ops_arg);
	vbd_report_ports_device_removing(fabric, device);
	vbd_fabric_release_device(fabric, device);
	/* Release the device's own reference: the device is not PRESENT any more. */
	vbd_device_unref(device);
}

void vbd_fabric_release_device(struct vbd_fabric *fabric, struct vbd_device *device)
{
	if (device->state != VBD_DEVICE_REMOVING) {
		vbd_fabric_remove_spare_cqs(fabric, device);
		return;
	}
	vbd_resources_device_removing(fabric, device);
	vbd_fabric_remove_idle_cqs(fabric, device);
}

enum vbd_status vbd_fabric_check_cm(const struct vbd_fabric *fabric, struct vbd_error *err)
{
	if (fabric->cm_channel)
		return VBD_OK;
	if (err && !err->status)
		err->hint = "Load its module, `modprobe rdma_ucm`, and let the daemon's user read "
			    "and write /dev/infiniband/rdma_cm: verbsd tries again by itself.";
	return vbd_error_set(err, VBD_E_NO_DEVICE, "no RDMA connection manager: %s",
		fabric->cm_channel_error.text);
}

struct vbd_device *vbd_fabric_device(const struct vbd_fabric *fabric, const char *name)
{
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (device->context && strcmp(device->name, name) == 0)
			return device;
	}
	return NULL;
}

const struct vbd_device *vbd_fabric_unopened_device(
	const struct vbd_fabric *fabric, const char *name)
{
	vbd_list_for_each_of (const struct vbd_device, device, link, &fabric->devices) {
		if ((device->state == VBD_DEVICE_FAILED || device->state == VBD_DEVICE_OPENING) &&
			(!name || strcmp(device->name, name) == 0))
			return device;
	}
	return NULL;
}

void vbd_fabric_forget_recent(struct vbd_fabric *fabric)
{
	vbd_interfaces_ask(fabric);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		device->recent = (struct vbd_device_recent){0};
		vbd_ports_ask(device);
	}
}

struct vbd_device *vbd_fabric_default_device(const struct vbd_fabric *fabric)
{
	struct vbd_device *first = NULL;

	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (device->state != VBD_DEVICE_PRESENT)
			continue;
		if (vbd_device_port_active(device))
			return device;
		if (!first)
			first = device;
	}
	return first;
}

enum vbd_status vbd_fabric_choose(const struct vbd_fabric *fabric, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err)
{
	struct vbd_device *device =
		*name ? vbd_fabric_device(fabric, name) : vbd_fabric_default_device(fabric);
	const struct vbd_device *unopened = vbd_fabric_unopened_device(fabric, *name ? name : NULL);

	if (!device && unopened)
		return vbd_device_usable(unopened, err);
	if (!device && *name)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "there is no device '%s'", name);
	if (!device)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "there is no RDMA device");
	*ret_device = device;
	return vbd_device_usable(device, err);
}
