/* SPDX-License-Identifier: Apache-2.0 */
/* devices: RDMA devices and their ports. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

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

/* "1 active, MTU 1024, eth0" for each port. */
static char *cell_ports(const json_t *ports)
{
	char *text = NULL;
	size_t text_len = 0;
	FILE *out;

	if (json_array_size(ports) == 0)
		return vbd_ctl_cell_text(NULL);
	out = vbd_ctl_must(open_memstream(&text, &text_len));
	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *port = json_array_get(ports, i);
		char *state = vbd_ctl_fill(port, "{port_num} {state}, MTU {active_mtu_bytes}");
		char *netdevs = cell_netdevs(port);

		fprintf(out, "%s%s, %s", i ? "; " : "", state, netdevs);
		free(netdevs);
		free(state);
	}
	(void)fclose(out);
	return vbd_ctl_must(text);
}

static const struct vbd_ctl_column device_columns[] = {VBD_CTL_TEXT("NAME", "name"),
	VBD_CTL_STATE("STATE", "state"), VBD_CTL_TEXT("TRANSPORT", "transport"),
	{"PORTS", "ports", cell_ports, 0, NULL}, VBD_CTL_TEXT("GUID", "node_guid"),
	VBD_CTL_TEXT("FIRMWARE", "fw_ver"), VBD_CTL_WIDE("ERROR", "error.detail")};

const struct vbd_ctl_object vbd_ctl_object_device = {
	"/v1/devices", "device", VBD_CTL_COLUMNS(device_columns)};
