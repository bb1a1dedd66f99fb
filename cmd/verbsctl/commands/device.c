/* SPDX-License-Identifier: Apache-2.0 */
/* devices: RDMA devices and their ports. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#define DEVICES "/v1/devices"

static const struct vbd_ctl_column port_columns[] = {VBD_CTL_NUMBER("PORT", "port_num"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_TEXT("PHYS", "phys_state"),
	VBD_CTL_TEXT("LINK", "link_layer"), VBD_CTL_NUMBER("LID", "lid"),
	VBD_CTL_NUMBER("SM-LID", "sm_lid"), VBD_CTL_NUMBER("MTU", "active_mtu_bytes"),
	VBD_CTL_NUMBER("MAX-MTU", "max_mtu_bytes")};

static const struct vbd_ctl_column gid_columns[] = {VBD_CTL_NUMBER("GID", "gid_index"),
	VBD_CTL_TEXT("TYPE", "type"), VBD_CTL_TEXT("SCOPE", "scope"),
	VBD_CTL_TEXT("NETDEV", "netdev"), VBD_CTL_TEXT("ADDRESS", "gid")};

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

static const struct vbd_ctl_column device_columns[] = {VBD_CTL_TEXT("NAME", "device.name"),
	VBD_CTL_STATE("STATE", "device.state"), VBD_CTL_TEXT("TRANSPORT", "device.transport"),
	VBD_CTL_NUMBER("PORT", "port.port_num"), VBD_CTL_STATE("LINK", "port.state"),
	VBD_CTL_NUMBER("MTU", "port.active_mtu_bytes"), {"NETDEV", "", cell_port_netdevs, 0, NULL},
	VBD_CTL_TEXT("GUID", "device.node_guid"), VBD_CTL_TEXT("FIRMWARE", "device.fw_ver"),
	VBD_CTL_WIDE("ERROR", "device.error.detail")};

/* The members that the table shows. */
#define DEVICE_FIELDS "name,state,transport,node_guid,fw_ver,error,ports"

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

	exit_status = vbd_ctl_fetch_list(
		ctl, ctl->json ? DEVICES "?fields=*" : DEVICES "?fields=" DEVICE_FIELDS, &list);
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

static void put_port_counters(const json_t *port)
{
	static const char *const sets[] = {"counters", "hw_counters", "cm_counters.tx_msgs",
		"cm_counters.tx_retries", "cm_counters.rx_msgs", "cm_counters.rx_duplicates"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(sets); i++) {
		char *title = vbd_ctl_format("%s of port %llu", sets[i],
			(unsigned long long)vbd_ctl_json_uint(port, "port_num"));

		put_counts(title, vbd_ctl_json_at(port, sets[i]));
		free(title);
	}
}

static void put_device(const struct vbd_ctl *ctl, json_t *device)
{
	const json_t *ports = vbd_ctl_json_at(device, "ports");

	VBD_CTL_MEMBERS_PUT(device, VBD_CTL_TEXT("error", "error.detail"),
		VBD_CTL_TEXT("  hint", "error.hint"), VBD_CTL_TEXT("ports", "ports_error.detail"),
		VBD_CTL_TEXT("transport", "transport"), VBD_CTL_TEXT("node guid", "node_guid"),
		VBD_CTL_TEXT("firmware", "fw_ver"), VBD_CTL_LIST("can", "capabilities"),
		VBD_CTL_BYTES("locked", "memlock.locked_bytes"),
		VBD_CTL_BYTES("memlock", "memlock.limit_bytes"), VBD_CTL_TIME("added", "added_at"),
		VBD_CTL_TIME("removed", "removed_at"));
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
	for (size_t i = 0; i < json_array_size(ports); i++)
		put_port_counters(json_array_get(ports, i));
}

const struct vbd_ctl_object vbd_ctl_object_device = {DEVICES, "device", .put = put_device};
