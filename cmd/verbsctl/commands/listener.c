/* SPDX-License-Identifier: Apache-2.0 */
/* listeners. */
#include "cmd/verbsctl/commands/commands.h"

/* A listener has addr and port, as an endpoint of a connection does, and is formatted as one. */
static const struct vbd_ctl_column listener_columns[] = {VBD_CTL_NUMBER("ID", "id"),
	VBD_CTL_TEXT("NAME", "name"), VBD_CTL_STATE("STATE", "state"),
	{"ADDRESS", "", vbd_ctl_cell_endpoint, 0, "addr,port"}, VBD_CTL_TEXT("DEVICE", "device"),
	VBD_CTL_TEXT("ACCEPT", "accept"), VBD_CTL_TEXT("SERVICE", "service"),
	VBD_CTL_NUMBER("REQUESTS", "requests"), VBD_CTL_NUMBER("ACCEPTED", "accepted"),
	VBD_CTL_NUMBER("REJECTED", "rejected"), VBD_CTL_NUMBER("WAITING", "waiting")};

const struct vbd_ctl_object vbd_ctl_object_listener = {"/v1/listeners", "listener",
	VBD_CTL_COLUMNS(listener_columns), .good_state = "listening",
	.brief = "{state} at {:endpoint}, accept {accept}, service {service}"};

enum vbd_ctl_exit vbd_ctl_listener_set(struct vbd_ctl *ctl)
{
	static const enum vbd_ctl_opt opts[] = {VBD_CTL_OPT_ACCEPT, VBD_CTL_OPT_ACCEPT_TIMEOUT,
		VBD_CTL_OPT_ALLOW, VBD_CTL_OPT_MAX_CONNECTIONS, VBD_CTL_OPT_MAX_PER_PEER,
		VBD_CTL_OPT_CONNECTS_PER_S, VBD_CTL_OPT_CONNECTS_BURST};

	for (size_t i = 0; i < VBD_ARRAY_LEN(opts); i++) {
		if (vbd_ctl_args_has(&ctl->args, opts[i]))
			return vbd_ctl_object_set(ctl);
	}
	return vbd_ctl_refuse(&ctl->args,
		"needs --accept, --accept-timeout, --allow, --max-connections, --max-per-peer, "
		"--connects-per-s or --connects-burst");
}
