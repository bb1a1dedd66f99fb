/* SPDX-License-Identifier: Apache-2.0 */
/* devices: RDMA devices and their ports. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include <stdlib.h>

#define DEVICES "/v1/devices"

static const struct vbd_ctl_column port_columns[] = {
	{"PORT", "port_num", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"PHYS", "phys_state", vbd_ctl_cell_text, 0},
	{"LINK", "link_layer", vbd_ctl_cell_text, 0},
	{"LID", "lid", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"SM-LID", "sm_lid", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"MTU", "active_mtu_bytes", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"MAX-MTU", "max_mtu_bytes", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column gid_columns[] = {
	{"GID", "gid_index", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"TYPE", "type", vbd_ctl_cell_text, 0},
	{"SCOPE", "scope", vbd_ctl_cell_text, 0},
	{"NETDEV", "netdev", vbd_ctl_cell_text, 0},
	{"ADDRESS", "gid", vbd_ctl_cell_text, 0},
};

/* Names of the network interfaces behind a port, each once: operators know a port by them. */
static char *cell_netdevs(const json_t *port)
{
	const json_t *gids = vbd_ctl_json_at(port, "gids");
	json_t *names = vbd_ctl_must(json_object());
	json_t *list = vbd_ctl_must(json_array());
	char *text;

	for (size_t i = 0; i < json_array_size(gids); i++) {
		const char *name = vbd_ctl_json_text(json_array_get(gids, i), "netdev");

		if (!name || json_object_get(names, name))
			continue;
		if (json_object_set_new(names, name, json_true()) < 0 ||
			json_array_append_new(list, json_string(name)) < 0)
			vbd_ctl_must(NULL);
	}
	text = vbd_ctl_cell_list(list);
	json_decref(list);
	json_decref(names);
	return text;
}

static char *cell_port_netdevs(const json_t *row)
{
	return cell_netdevs(vbd_ctl_json_at(row, "port"));
}

static const struct vbd_ctl_column device_columns[] = {
	{"NAME", "device.name", vbd_ctl_cell_text, 0},
	{"STATE", "device.state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"TRANSPORT", "device.transport", vbd_ctl_cell_text, 0},
	{"PORT", "port.port_num", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"LINK", "port.state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"MTU", "port.active_mtu_bytes", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NETDEV", "", cell_port_netdevs, 0},
	{"GUID", "device.node_guid", vbd_ctl_cell_text, 0},
	{"FIRMWARE", "device.fw_ver", vbd_ctl_cell_text, 0},
	{"ERROR", "device.error", vbd_ctl_cell_text, VBD_CTL_COLUMN_TRUNC},
};

static void add_row(json_t *rows, json_t *device, json_t *port)
{
	json_t *row = vbd_ctl_must(json_object());

	vbd_ctl_json_set(row, "device", json_incref(device));
	if (port)
		vbd_ctl_json_set(row, "port", json_incref(port));
	if (json_array_append_new(rows, row) < 0)
		vbd_ctl_must(NULL);
}

/* One row for each port, and one row for a device without ports. */
static json_t *rows_of(const json_t *devices)
{
	json_t *rows = vbd_ctl_must(json_array());

	for (size_t i = 0; i < json_array_size(devices); i++) {
		json_t *device = json_array_get(devices, i);
		json_t *ports = json_object_get(device, "ports");

		if (json_array_size(ports) == 0)
			add_row(rows, device, NULL);
		for (size_t k = 0; k < json_array_size(ports); k++)
			add_row(rows, device, json_array_get(ports, k));
	}
	return rows;
}

enum vbd_ctl_exit vbd_ctl_devices(struct vbd_ctl *ctl)
{
	enum vbd_ctl_exit exit_status;
	json_t *list;

	exit_status = vbd_ctl_fetch_list(ctl, DEVICES, &list);
	if (exit_status != VBD_CTL_OK)
		return exit_status;
	if (ctl->json) {
		vbd_ctl_json_put(stdout, list);
	} else if (json_array_size(json_object_get(list, "items")) == 0) {
		vbd_ctl_tell_empty(DEVICES);
	} else {
		json_t *rows = rows_of(json_object_get(list, "items"));

		vbd_ctl_table_put(device_columns, VBD_ARRAY_LEN(device_columns), rows, ctl->color);
		json_decref(rows);
	}
	json_decref(list);
	return VBD_CTL_OK;
}

/* Prints a flat object under a title; nothing if the object is empty. */
static void put_counts(const char *title, json_t *counts)
{
	if (json_object_size(counts) == 0)
		return;
	printf("\n%s\n", title);
	vbd_ctl_members_put(counts);
}

static void put_device(struct vbd_ctl *ctl, const json_t *device)
{
	const json_t *ports = vbd_ctl_json_at(device, "ports");

	vbd_ctl_title_put("device", device, ctl->color);
	vbd_ctl_member_put(device, "error", "error", vbd_ctl_cell_text);
	vbd_ctl_member_put(device, "transport", "transport", vbd_ctl_cell_text);
	vbd_ctl_member_put(device, "node guid", "node_guid", vbd_ctl_cell_text);
	vbd_ctl_member_put(device, "firmware", "fw_ver", vbd_ctl_cell_text);
	vbd_ctl_member_put(device, "can", "capabilities", vbd_ctl_cell_list);
	vbd_ctl_member_put(device, "locked", "memlock.locked_bytes", vbd_ctl_cell_bytes);
	vbd_ctl_member_put(device, "memlock", "memlock.limit_bytes", vbd_ctl_cell_bytes);
	vbd_ctl_member_put(device, "added", "added_at", vbd_ctl_cell_time);
	vbd_ctl_member_put(device, "removed", "removed_at", vbd_ctl_cell_time);
	if (json_array_size(ports)) {
		puts("\nports");
		vbd_ctl_table_put(port_columns, VBD_ARRAY_LEN(port_columns), ports, ctl->color);
	}
	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *port = json_array_get(ports, i);

		if (json_array_size(vbd_ctl_json_at(port, "gids")) == 0)
			continue;
		printf("\ngids of port %llu\n",
			(unsigned long long)vbd_ctl_json_uint(port, "port_num"));
		vbd_ctl_table_put(gid_columns, VBD_ARRAY_LEN(gid_columns),
			vbd_ctl_json_at(port, "gids"), false);
	}
	put_counts("limits", json_object_get(device, "limits"));
	put_counts("async events", json_object_get(device, "async_events"));
	put_counts("counters", json_object_get(device, "counters"));
}

enum vbd_ctl_exit vbd_ctl_device_show(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_get(ctl, DEVICES, ctl->args.operands[0], &answer);

	if (exit_status == VBD_CTL_OK && !ctl->json)
		put_device(ctl, answer.json);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}
