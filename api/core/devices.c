/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA devices: a list of the fabric, oldest first.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/core/devices.h"
#include "daemon/observe/kernel.h"

#define JSON_SAFE_MAX ((UINT64_C(1) << 53) - 1) /* integers that every JSON parser keeps */

/* --- devices --------------------------------------------------------------------------------- */

static void put_limits(
	struct vbd_encoder *out, const char *name, const struct vbd_device_attr *attr)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "max_qp", attr->max_qp);
	vbd_put_u64(out, "max_qp_wr", attr->max_qp_wr);
	vbd_put_u64(out, "max_sge", attr->max_sge);
	vbd_put_u64(out, "max_sge_rd", attr->max_sge_rd);
	vbd_put_u64(out, "max_cq", attr->max_cq);
	vbd_put_u64(out, "max_cqe", attr->max_cqe);
	vbd_put_u64(out, "max_mr", attr->max_mr);
	vbd_put_u64(out, "max_mr_size_bytes",
		attr->max_mr_size_bytes < JSON_SAFE_MAX ? attr->max_mr_size_bytes : JSON_SAFE_MAX);
	vbd_put_u64(out, "max_pd", attr->max_pd);
	vbd_put_u64(out, "max_qp_rd_atom", attr->max_qp_rd_atom);
	vbd_put_u64(out, "max_qp_init_rd_atom", attr->max_qp_init_rd_atom);
	vbd_put_u64(out, "max_srq", attr->max_srq);
	vbd_put_u64(out, "max_srq_wr", attr->max_srq_wr);
	vbd_put_u64(out, "max_mw", attr->max_mw);
	vbd_put_u64(out, "max_ah", attr->max_ah);
	vbd_put_u64(out, "max_mcast_grp", attr->max_mcast_grp);
	vbd_put_u64(out, "max_cq_moderation_count", attr->max_cq_count);
	vbd_put_u64(out, "max_cq_moderation_period_us", attr->max_cq_period_us);
	vbd_end(out);
}

static void put_capabilities(
	struct vbd_encoder *out, const char *name, const struct vbd_device *device)
{
	vbd_begin_array(out, name);
	for (unsigned int cap = 0; cap < VBD_CAP_COUNT; cap++) {
		if (vbd_device_can(device, (enum vbd_cap)cap))
			vbd_put_text(out, NULL, vbd_cap_name((enum vbd_cap)cap));
	}
	vbd_end(out);
}

void vbd_put_gid(struct vbd_encoder *out, const char *name, const struct vbd_gid *gid)
{
	char text[VBD_GID_TEXT_BYTES];

	vbd_begin_object(out, name);
	vbd_put_u64(out, "gid_index", gid->gid_index);
	vbd_put_text(out, "gid", vbd_gid_text(gid->raw, text));
	vbd_put_text(out, "type", gid->type);
	vbd_put_text(out, "scope", gid->scope);
	vbd_put_text_or_null(out, "netdev", gid->netdev);
	vbd_put_u64_or_null(out, "vlan_id", gid->vlan_id >= 0, (uint64_t)gid->vlan_id);
	vbd_end(out);
}

static void put_gids(struct vbd_encoder *out, const char *name, const struct vbd_gid *gids,
	size_t count, uint8_t port_num)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < count; i++) {
		if (gids[i].port_num == port_num)
			vbd_put_gid(out, NULL, &gids[i]);
	}
	vbd_end(out);
}

/* Call it with each @set in the order of the enum: @at goes through the snapshot once. */
static void put_counters(struct vbd_encoder *out, const char *name, const struct vbd_device *device,
	unsigned int port_num, enum vbd_counter_set set, size_t *at)
{
	const struct vbd_kernel_view *view = vbd_kernel_view(vbd_device_daemon(device));

	vbd_begin_object(out, name);
	for (; *at < view->counter_count && view->counters[*at].set <= set; ++*at) {
		const struct vbd_kernel_counter *counter = &view->counters[*at];

		if (counter->set == set && counter->port_num == port_num &&
			strcmp(counter->device, device->name) == 0)
			vbd_put_u64(out, counter->name, counter->value);
	}
	vbd_end(out);
}

static void put_all_counters(
	struct vbd_encoder *out, const struct vbd_device *device, unsigned int port_num)
{
	static const char prefix[] = "cm_";
	size_t at = 0;

	put_counters(out, "counters", device, port_num, VBD_COUNTER_SET_PORT, &at);
	put_counters(out, "hw_counters", device, port_num, VBD_COUNTER_SET_HW, &at);
	vbd_begin_object(out, "cm_counters");
	for (enum vbd_counter_set set = VBD_COUNTER_SET_CM_TX_MSGS; set < VBD_COUNTER_SET_COUNT;
		set++)
		put_counters(out, vbd_counter_set_name(set) + strlen(prefix), device, port_num, set,
			&at);
	vbd_end(out);
}

static void put_port(struct vbd_encoder *out, const char *name, const struct vbd_device *device,
	const struct vbd_port *port, const struct vbd_gid *gids, size_t count)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "port_num", port->port_num);
	vbd_put_text(out, "state", vbd_port_state_name(port->state));
	vbd_put_text(out, "phys_state", vbd_phys_state_name(port->phys_state));
	vbd_put_text(out, "link_layer", port->link_layer);
	vbd_put_u64(out, "lid", port->lid);
	vbd_put_u64(out, "sm_lid", port->sm_lid);
	vbd_put_u64(out, "max_mtu_bytes", port->max_mtu_bytes);
	vbd_put_u64(out, "active_mtu_bytes", port->active_mtu_bytes);
	put_gids(out, "gids", gids, count, port->port_num);
	put_all_counters(out, device, port->port_num);
	vbd_end(out);
}

/* A port that gives no answer is left out. */
static void put_ports(struct vbd_encoder *out, const struct vbd_device *device)
{
	bool present = device->state == VBD_DEVICE_PRESENT;
	struct vbd_error error = {0};
	struct vbd_gid *gids = NULL;
	size_t count = 0;

	if (present)
		(void)!vbd_device_query_gids(device, &gids, &count, &error);
	vbd_begin_array(out, "ports");
	for (unsigned int i = 1; present && i <= device->attr.phys_port_cnt; i++) {
		struct vbd_port port;

		if (vbd_device_port(device, (uint8_t)i, &port, &error) == VBD_OK)
			put_port(out, NULL, device, &port, gids, count);
	}
	free(gids);
	vbd_end(out);
	vbd_put_error(out, "ports_error", NULL, &error, NULL);
}

static void put_async_events(
	struct vbd_encoder *out, const char *name, const struct vbd_device *device)
{
	vbd_begin_object(out, name);
	for (int type = 0; type < VBD_ASYNC_EVENT_TYPES; type++) {
		uint64_t count = vbd_counter_get(&device->async_events[type]);

		if (count)
			vbd_put_u64(out, vbd_async_event_name(type), count);
	}
	vbd_end(out);
}

static void put_memlock(struct vbd_encoder *out, const char *name)
{
	uint64_t locked_bytes, limit_bytes;

	vbd_begin_object(out, name);
	vbd_memlock(&locked_bytes, &limit_bytes);
	vbd_put_u64(out, "locked_bytes", locked_bytes);
	vbd_put_u64_or_null(out, "limit_bytes", limit_bytes != UINT64_MAX, limit_bytes);
	vbd_end(out);
}

static void encode_device(struct vbd_encoder *out, const void *item)
{
	const struct vbd_device *device = item;
	const struct vbd_device_attr *attr = &device->attr;

	vbd_put_u64(out, "id", device->id);
	vbd_put_text(out, "name", device->name);
	vbd_put_text(out, "state", vbd_device_state_name(device->state));
	vbd_put_text(out, "transport", device->transport);
	vbd_put_hex(out, "node_guid", attr->node_guid, 16);
	vbd_put_hex(out, "sys_image_guid", attr->sys_image_guid, 16);
	vbd_put_text(out, "fw_ver", attr->fw_ver);
	vbd_put_u64(out, "vendor_id", attr->vendor_id);
	vbd_put_u64(out, "vendor_part_id", attr->vendor_part_id);
	vbd_put_error(out, "error", NULL, &device->error, NULL);
	put_capabilities(out, "capabilities", device);
	put_limits(out, "limits", attr);
	if (vbd_encode_wants(out, "ports") || vbd_encode_wants(out, "ports_error"))
		put_ports(out, device);
	put_async_events(out, "async_events", device);
	put_memlock(out, "memlock");
	vbd_put_time(out, "added_at", device->added_ns);
	vbd_put_time(out, "removed_at", device->removed_ns);
}

static uint64_t device_id(const void *item)
{
	return ((const struct vbd_device *)item)->id;
}

static const void *device_after(const void *listed, uint64_t id)
{
	const struct vbd_daemon *daemon = listed;

	vbd_list_for_each (link, &daemon->fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (device->id > id)
			return device;
	}
	return NULL;
}

VBD_PAGE_TEXT(by_name, struct vbd_device, name)
VBD_PAGE_NUMBER(by_state, struct vbd_device, state)
VBD_PAGE_NUMBER(by_added, struct vbd_device, added_ns)

static const struct vbd_page_column device_columns[] = {
	{"name", VBD_SORTS_AND_SELECTS, .text = by_name},
	{"state", VBD_SORTS, .number = by_state},
	{"added_at", VBD_SORTS, .number = by_added},
	{.name = NULL},
};

static void *find_device(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	return vbd_device_find_ref(daemon, ref, err);
}

/* A device enters each of its states once. */
static uint64_t state_version(const void *item)
{
	return by_state(item) + 1;
}

const struct vbd_task_kind vbd_device_task = {
	.kind = VBD_KIND_DEVICE,
	.find = find_device,
	.version = state_version,
	.page.members = vbd_device_members,
	.page.columns = device_columns,
	.page.states = VBD_PAGE_STATES(VBD_DEVICE_STATE_MAP),
	.page.state_of = by_state,
	.page.id = device_id,
	.page.after = device_after,
	.page.encode = encode_device,
};

/* --- requests -------------------------------------------------------------------------------- */

static void answer_devices(struct vbd_request *req, void *arg)
{
	(void)arg;
	if (req->ref)
		vbd_task_get(req);
	else
		vbd_task_list(req);
}

static bool wants_ports(const struct vbd_request *req)
{
	struct vbd_view view;
	bool wants;

	if (vbd_view_parse(req, vbd_device_members, !req->ref, &view, NULL) != VBD_OK)
		return false;
	wants = view.full;
	for (size_t i = 0; !wants && i < view.n_names; i++)
		wants = strcmp(view.names[i], "ports") == 0;
	return wants;
}

/* While a driver does not give its counters, those of the last snapshot are in the answer. */
void vbd_get_devices(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t number = wants_ports(req) ? vbd_kernel_snapshot_begin(daemon, false) : 0;

	vbd_await_snapshot(req, number, answer_devices, NULL);
}
