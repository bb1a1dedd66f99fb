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

static void put_listener(const struct vbd_ctl *ctl, json_t *listener)
{
	const json_t *place;
	size_t i;

	(void)ctl;
	VBD_CTL_MEMBERS_PUT(listener, VBD_CTL_ENDPOINT("address", ""));
	json_array_foreach(json_object_get(listener, "reachable"), i, place)
		vbd_ctl_line_put("reachable", place, "{:endpoint} on {device}");
	VBD_CTL_MEMBERS_PUT(listener, VBD_CTL_TEXT("device", "device"),
		VBD_CTL_TEXT("accept", "accept"), VBD_CTL_TEXT("wait ms", "accept_timeout_ms"),
		VBD_CTL_LIST("allow", "allow"), VBD_CTL_TEXT("most open", "max_connections"),
		VBD_CTL_TEXT("per peer", "max_per_peer"),
		VBD_CTL_TEXT("connects/s", "connects_per_s"),
		VBD_CTL_TEXT("burst", "connects_burst"), VBD_CTL_TEXT("open", "connections"),
		VBD_CTL_TEXT("backlog", "backlog"), VBD_CTL_TEXT("service", "service"),
		VBD_CTL_TEXT("sq depth", "qp.sq_depth"), VBD_CTL_TEXT("rq depth", "qp.rq_depth"),
		VBD_CTL_TEXT("recv bytes", "qp.recv_size_bytes"),
		VBD_CTL_TEXT("retries", "qp.retry_count"),
		VBD_CTL_TEXT("rnr retries", "qp.rnr_retry"),
		VBD_CTL_TEXT("ack timeout", "qp.ack_timeout"),
		VBD_CTL_TEXT("rnr timer", "qp.min_rnr_timer"),
		VBD_CTL_TEXT("reads in", "qp.responder_resources"),
		VBD_CTL_TEXT("reads out", "qp.initiator_depth"),
		VBD_CTL_TEXT("requests", "requests"), VBD_CTL_TEXT("accepted", "accepted"),
		VBD_CTL_TEXT("rejected", "rejected"), VBD_CTL_TEXT("waiting", "waiting"),
		VBD_CTL_TEXT("kept", "desired.state"), VBD_CTL_TEXT("error", "error.detail"),
		VBD_CTL_TEXT("  hint", "error.hint"), VBD_CTL_TIME("created", "created_at"));
}

static void put_brief(const struct vbd_ctl *ctl, json_t *listener)
{
	(void)ctl;
	vbd_ctl_sentence_put(
		"listener", listener, "{state} at {:endpoint}, accept {accept}, service {service}");
}

const struct vbd_ctl_object vbd_ctl_object_listener = {"/v1/listeners", "listener",
	VBD_CTL_COLUMNS(listener_columns), .put = put_listener, .put_brief = put_brief,
	.good_state = "listening"};

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
