/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/device.h"

#include "base/clock.h"
#include "rdma/device/caps.h"
#include "rdma/device/pd.h"
#include "rdma/provider/ask.h"

#include <endian.h>
#include <unistd.h>

VBD_ENUM_NAMES(vbd_device_state_name, enum vbd_device_state, VBD_DEVICE_STATE_MAP)

static void copy_attr(struct vbd_device_attr *to, const struct ibv_device_attr_ex *attr_ex)
{
	const struct ibv_device_attr *attr = &attr_ex->orig_attr;

	(void)snprintf(to->fw_ver, sizeof(to->fw_ver), "%.63s", attr->fw_ver);
	to->node_guid = be64toh(attr->node_guid);
	to->sys_image_guid = be64toh(attr->sys_image_guid);
	to->vendor_id = attr->vendor_id;
	to->vendor_part_id = attr->vendor_part_id;
	to->max_mr_size_bytes = attr->max_mr_size;
	to->max_qp = (uint32_t)attr->max_qp;
	to->max_qp_wr = (uint32_t)attr->max_qp_wr;
	to->max_sge = (uint32_t)attr->max_sge;
	to->max_sge_rd = (uint32_t)attr->max_sge_rd;
	to->max_cq = (uint32_t)attr->max_cq;
	to->max_cqe = (uint32_t)attr->max_cqe;
	to->max_mr = (uint32_t)attr->max_mr;
	to->max_pd = (uint32_t)attr->max_pd;
	to->max_qp_rd_atom = (uint32_t)attr->max_qp_rd_atom;
	to->max_qp_init_rd_atom = (uint32_t)attr->max_qp_init_rd_atom;
	to->max_srq = (uint32_t)attr->max_srq;
	to->max_srq_wr = (uint32_t)attr->max_srq_wr;
	to->max_mw = (uint32_t)attr->max_mw;
	to->max_ah = (uint32_t)attr->max_ah;
	to->max_mcast_grp = (uint32_t)attr->max_mcast_grp;
	to->phys_port_cnt = attr->phys_port_cnt;
	to->max_cq_count = attr_ex->cq_mod_caps.max_cq_count;
	to->max_cq_period_us = attr_ex->cq_mod_caps.max_cq_period;
}

static const char *transport_name(int transport_type, const struct vbd_port *port)
{
	if (transport_type == IBV_TRANSPORT_IWARP)
		return "iwarp";
	if (transport_type != IBV_TRANSPORT_IB)
		return "unknown";
	return strcmp(port->link_layer, "ethernet") == 0 ? "roce" : "infiniband";
}

/*
 * libsiw takes a queue that is mapped at offset 0x90000 of the context for one that failed
 * (SIW_INVAL_UOBJ_KEY in rdma/siw-abi.h), and the kernel gives each queue the lowest pages that
 * are free (rdma_user_mmap_entry_insert_range() in core/ib_core_uverbs.c). So the queue whose
 * pages begin there is refused, and each later one in its place: 55 queue pairs, and then no more.
 * A CQ of 17 pages, which begins behind one of 129 pages, lies over that offset for as long as the
 * context is open.
 */
static void make_siw_guard(struct vbd_opened *opened)
{
	struct ibv_cq *below;

	if (opened->attr.vendor_id != VBD_VENDOR_SIW ||
		vbd_pv_create_cq(&opened->account, opened->context, 16384, NULL, NULL, 0, &below,
			NULL) != VBD_OK)
		return;
	if (vbd_pv_create_cq(&opened->account, opened->context, 2048, NULL, NULL, 0,
		    &opened->siw_guard, NULL) != VBD_OK)
		opened->siw_guard = NULL;
	vbd_pv_destroy_cq(&opened->account, below);
}

static enum vbd_status query_attributes(
	struct vbd_opened *opened, int transport_type, struct vbd_error *err)
{
	bool iwarp = transport_type == IBV_TRANSPORT_IWARP;
	struct ibv_device_attr_ex attr;
	enum vbd_status status = vbd_pv_query_device(opened->context, &attr, err);

	if (status)
		return status;
	copy_attr(&opened->attr, &attr);
	opened->ports = vbd_device_ask_ports(
		opened->context, opened->attr.phys_port_cnt, &opened->ports_error);
	if (!opened->ports || !opened->ports[0].port_num) {
		*err = opened->ports_error;
		return err->status ? err->status
				   : vbd_error_set(err, VBD_E_NO_DEVICE, "the device has no port");
	}
	opened->transport = transport_name(transport_type, &opened->ports[0]);
	opened->attr.max_msg_bytes = opened->ports[0].max_msg_bytes;
	opened->caps = vbd_caps_of(&attr, iwarp, vbd_pv_resizes_cqs(opened->context));
	make_siw_guard(opened);
	return vbd_pd_make(opened->context, &opened->pd, err);
}

static struct vbd_device *device_of_call(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_device, call);
}

/* Call thread. */
static void open_work(struct vbd_call *call)
{
	struct vbd_device *device = device_of_call(call);
	struct vbd_opened *opened = &device->opened;

	if (vbd_pv_open_device(&opened->account, device->uverbs_name, &opened->context,
		    &opened->error) != VBD_OK ||
		query_attributes(opened, device->transport_type, &opened->error) == VBD_OK)
		return;
	vbd_pv_destroy_cq(&opened->account, opened->siw_guard);
	vbd_pv_close_device(&opened->account, opened->context);
	free(opened->ports);
	opened->context = NULL;
}

/* Other threads may read the older ones, which are freed with the device. */
struct vbd_device_names {
	struct vbd_device_names *older;
	char name[sizeof(((struct vbd_pv_device *)NULL)->name)];
	char ibdev_path[sizeof(((struct vbd_pv_device *)NULL)->ibdev_path)];
};

bool vbd_device_rename(struct vbd_device *device, const struct vbd_pv_device *found)
{
	struct vbd_device_names *names = malloc(sizeof(*names));

	if (!names)
		return false;
	names->older = device->names;
	memcpy(names->name, found->name, sizeof(names->name));
	memcpy(names->ibdev_path, found->ibdev_path, sizeof(names->ibdev_path));
	device->names = names;
	device->name = names->name;
	device->ibdev_path = names->ibdev_path;
	return true;
}

static void free_names(struct vbd_device *device)
{
	struct vbd_device_names *names;

	while ((names = device->names)) {
		device->names = names->older;
		free(names);
	}
}

struct vbd_device_id vbd_device_id_of(const struct vbd_device *device)
{
	struct vbd_device_id ref = {.id = device->id};

	(void)snprintf(ref.name, sizeof(ref.name), "%s", device->name);
	return ref;
}

static const struct vbd_device *find_bound_device(
	const struct vbd_link *devices, const struct ibv_device *bound)
{
	vbd_list_for_each_of (const struct vbd_device, device, link, devices) {
		if (device->state != VBD_DEVICE_REMOVED &&
			strcmp(device->uverbs_name, bound->dev_name) == 0)
			return device;
	}
	return NULL;
}

struct vbd_device_id vbd_device_id_bound(
	const struct vbd_link *devices, const struct rdma_cm_id *id)
{
	const struct ibv_device *bound = vbd_pv_id_device(id);
	const struct vbd_device *device = bound ? find_bound_device(devices, bound) : NULL;
	struct vbd_device_id ref = {0};

	if (device)
		return vbd_device_id_of(device);
	(void)snprintf(ref.name, sizeof(ref.name), "%s", bound ? bound->name : "");
	return ref;
}

const char *vbd_device_of_id(const struct vbd_link *devices, const struct rdma_cm_id *id)
{
	const struct ibv_device *bound = vbd_pv_id_device(id);
	const struct vbd_device *device = bound ? find_bound_device(devices, bound) : NULL;

	return device ? device->name : bound ? bound->name : NULL;
}

struct vbd_device *vbd_device_create(uint64_t id, const struct vbd_pv_device *found,
	struct vbd_calls *calls, const struct vbd_device_ops *ops, void *ops_arg)
{
	struct vbd_device *device = calloc(1, sizeof(*device));

	if (!device || !vbd_device_rename(device, found)) {
		free(device);
		return NULL;
	}
	vbd_list_init(&device->link);
	vbd_list_init(&device->pds);
	device->id = id;
	device->calls = calls;
	device->ops = ops;
	device->ops_arg = ops_arg;
	device->neighbour_watch = -1;
	device->transport = "unknown";
	device->transport_type = found->transport;
	device->added_ns = vbd_clock_mono_ns();
	memcpy(device->library_name, found->library_name, sizeof(device->library_name));
	memcpy(device->uverbs_name, found->uverbs_name, sizeof(device->uverbs_name));
	device->state = VBD_DEVICE_OPENING;
	(void)vbd_error_set(
		&device->error, VBD_E_NO_DEVICE, "device %s is being opened", device->name);
	return device;
}

static void on_open_done(struct vbd_call *call)
{
	struct vbd_device *device = device_of_call(call);

	device->opening = false;
	device->ops->open_done(device, device->ops_arg);
}

void vbd_device_begin_open(struct vbd_device *device)
{
	if (device->opening ||
		(device->state != VBD_DEVICE_OPENING && device->state != VBD_DEVICE_FAILED))
		return;
	device->opening = true;
	device->opened = (struct vbd_opened){0};
	device->call = (struct vbd_call){.work = open_work, .done = on_open_done};
	vbd_call_start(device->calls, &device->call, VBD_LANE_PEER);
}

static void take_over_opened(struct vbd_device *device)
{
	const struct vbd_opened *opened = &device->opened;

	device->account = opened->account;
	device->context = opened->context;
	if (!opened->context)
		return;
	device->siw_guard = opened->siw_guard;
	device->transport = opened->transport;
	device->attr = opened->attr;
	device->caps = opened->caps;
	device->ports = opened->ports;
	device->ports_error = opened->ports_error;
	device->pd = opened->pd;
	vbd_pd_add(device, device->pd);
}

/* Call thread. */
static void close_work(struct vbd_call *call)
{
	vbd_pv_close_device(NULL, device_of_call(call)->opened.context);
}

static void set_closed(struct vbd_device *device)
{
	device->state = VBD_DEVICE_REMOVED;
	device->removed_ns = vbd_clock_mono_ns();
	device->ops->closed(device, device->ops_arg);
}

static void on_closed(struct vbd_call *call)
{
	set_closed(device_of_call(call));
}

/* The default PD and the siw_guard have no reference to the device: destroy them first. */
static void close_device(struct vbd_device *device)
{
	vbd_pd_destroy(device->pd);
	device->pd = NULL;
	vbd_pv_destroy_cq(&device->account, device->siw_guard);
	device->siw_guard = NULL;
	device->opened.context = device->context;
	device->context = NULL;
	vbd_account_hand_over(&device->account, NULL, VBD_PV_CONTEXT);
	device->call = (struct vbd_call){.work = close_work, .done = on_closed};
	vbd_call_start(device->calls, &device->call, VBD_LANE_END);
}

static bool record_open_failure(struct vbd_device *device, const struct vbd_error *error)
{
	struct vbd_error before = device->error;

	device->error = *error;
	(void)snprintf(device->error.text, sizeof(device->error.text),
		"%.200s; verbsd tries again by itself", error->text);
	if (device->state == VBD_DEVICE_FAILED && strcmp(device->error.text, before.text) == 0)
		return false;
	device->state = VBD_DEVICE_FAILED;
	return true;
}

bool vbd_device_opened(struct vbd_device *device)
{
	take_over_opened(device);
	if (!device->context)
		return record_open_failure(device, &device->opened.error);
	if (!vbd_device_is_iwarp(device))
		device->neighbour_watch = vbd_pv_neighbours_watch();
	device->state = VBD_DEVICE_PRESENT;
	device->error = (struct vbd_error){0};
	device->added_ns = vbd_clock_mono_ns();
	device->refs = 1;
	return true;
}

void vbd_device_give_up(struct vbd_device *device)
{
	take_over_opened(device);
	device->state = VBD_DEVICE_REMOVING;
	if (device->context)
		close_device(device);
	else
		set_closed(device);
}

void vbd_device_destroy(struct vbd_device *device)
{
	vbd_list_remove(&device->link);
	vbd_account_close(&device->account);
	free(device->ports);
	free_names(device);
	free(device);
}

void vbd_device_ref(struct vbd_device *device)
{
	device->refs++;
}

void vbd_device_unref(struct vbd_device *device)
{
	if (--device->refs > 0)
		return;
	if (device->neighbour_watch >= 0)
		(void)close(device->neighbour_watch);
	device->neighbour_watch = -1;
	close_device(device);
}

bool vbd_device_begin_removal(struct vbd_device *device)
{
	if (device->state == VBD_DEVICE_FAILED || device->state == VBD_DEVICE_OPENING) {
		device->state = VBD_DEVICE_REMOVED;
		device->removed_ns = vbd_clock_mono_ns();
		return false;
	}
	if (device->state != VBD_DEVICE_PRESENT)
		return false;
	device->state = VBD_DEVICE_REMOVING;
	return true;
}

bool vbd_device_is_iwarp(const struct vbd_device *device)
{
	return strcmp(device->transport, "iwarp") == 0;
}

bool vbd_device_is_soft_roce(const struct vbd_device *device)
{
	return device->attr.vendor_id == VBD_VENDOR_RXE;
}

bool vbd_device_is_soft_iwarp(const struct vbd_device *device)
{
	return device->attr.vendor_id == VBD_VENDOR_SIW;
}

int vbd_device_async_fd(const struct vbd_device *device)
{
	return device->context ? device->context->async_fd : -1;
}

/* Take the event's state: a query may wait while others change network interfaces. */
static void update_port_state(struct vbd_device *device, int type, int port_num)
{
	if (port_num < 1 || port_num > device->attr.phys_port_cnt)
		return;
	if (type == IBV_EVENT_PORT_ACTIVE)
		device->ports[port_num - 1].state = IBV_PORT_ACTIVE;
	if (type == IBV_EVENT_PORT_ERR)
		device->ports[port_num - 1].state = IBV_PORT_DOWN;
}

void vbd_device_drain_async(struct vbd_device *device)
{
	struct vbd_pv_async_event event;

	/* Read all events at each wake-up: a port that flaps queues several (Mooncake #3236). */
	while (device->context && vbd_pv_next_async_event(device->context, &event)) {
		if (event.type >= 0 && event.type < VBD_ASYNC_EVENT_TYPES)
			vbd_counter_add(&device->async_events[event.type], 1);
		if (event.type == IBV_EVENT_PORT_ERR)
			device->port_err_ns = vbd_clock_mono_ns();
		if (event.subject == VBD_PV_OF_PORT) {
			device->recent = (struct vbd_device_recent){0};
			update_port_state(device, event.type, event.element.port_num);
		}
		if (event.subject == VBD_PV_OF_QP)
			device->ops->qp_event(
				device, event.type, event.element.qp_num, device->ops_arg);
		else if (event.type == IBV_EVENT_SRQ_LIMIT_REACHED)
			device->ops->srq_runs_low(device, event.element.srq, device->ops_arg);
		else if (event.type == IBV_EVENT_CQ_ERR)
			device->ops->cq_failed(device, event.element.cq, device->ops_arg);
		else
			device->ops->async_event(device, event.type,
				event.subject == VBD_PV_OF_PORT ? event.element.port_num : 0,
				device->ops_arg);
	}
}

enum vbd_status vbd_device_usable(const struct vbd_device *device, struct vbd_error *err)
{
	switch (device->state) {
	case VBD_DEVICE_PRESENT:
		return VBD_OK;
	case VBD_DEVICE_OPENING:
	case VBD_DEVICE_FAILED:
		return vbd_error_set(err, device->error.status, "%s", device->error.text);
	case VBD_DEVICE_REMOVING:
	case VBD_DEVICE_REMOVED:
	case VBD_DEVICE_STATE_COUNT:
		break;
	}
	return vbd_error_set(err, VBD_E_DEVICE_REMOVED, "device %s is %s", device->name,
		vbd_device_state_name(device->state));
}

static const char *link_layer_name(uint8_t link_layer)
{
	switch (link_layer) {
	case IBV_LINK_LAYER_INFINIBAND:
		return "infiniband";
	case IBV_LINK_LAYER_ETHERNET:
		return "ethernet";
	default:
		return "unspecified";
	}
}

static enum vbd_status query_port(struct ibv_context *context, uint8_t port_num,
	struct vbd_port *ret_port, struct vbd_error *err)
{
	struct ibv_port_attr attr;
	enum vbd_status status = vbd_pv_query_port(context, port_num, &attr, err);

	if (status)
		return status;
	*ret_port = (struct vbd_port){
		.port_num = port_num,
		.state = (int)attr.state,
		.phys_state = attr.phys_state,
		.link_layer = link_layer_name(attr.link_layer),
		.lid = attr.lid,
		.sm_lid = attr.sm_lid,
		.pkeys = attr.pkey_tbl_len,
		.gids = attr.gid_tbl_len > 0 ? (uint32_t)attr.gid_tbl_len : 0,
		.max_mtu_bytes = vbd_mtu_bytes((int)attr.max_mtu),
		.active_mtu_bytes = vbd_mtu_bytes((int)attr.active_mtu),
		.max_msg_bytes = attr.max_msg_sz,
	};
	return VBD_OK;
}

struct vbd_port *vbd_device_ask_ports(
	struct ibv_context *context, unsigned int count, struct vbd_error *err)
{
	struct vbd_port *ports = calloc(count + 1, sizeof(*ports));

	for (unsigned int i = 0; ports && i < count; i++)
		(void)!query_port(context, (uint8_t)(i + 1), &ports[i], err);
	if (!ports)
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the ports");
	return ports;
}

enum vbd_status vbd_device_port(const struct vbd_device *device, uint8_t port_num,
	struct vbd_port *ret_port, struct vbd_error *err)
{
	if (!device->context)
		return vbd_device_usable(device, err);
	if (port_num < 1 || port_num > device->attr.phys_port_cnt)
		return vbd_error_set(err, VBD_E_OUT_OF_RANGE, "device %s has no port %u",
			device->name, port_num);
	if (!device->ports || !device->ports[port_num - 1].port_num) {
		if (err && !err->status)
			*err = device->ports_error;
		return device->ports_error.status;
	}
	*ret_port = device->ports[port_num - 1];
	return VBD_OK;
}

bool vbd_device_port_active(const struct vbd_device *device)
{
	for (unsigned int i = 0; device->context && i < device->attr.phys_port_cnt; i++) {
		if (device->ports[i].state == IBV_PORT_ACTIVE)
			return true;
	}
	return false;
}

bool vbd_device_ports_down(const struct vbd_device *device)
{
	return device->context && !device->ports_error.status && !vbd_device_port_active(device);
}
