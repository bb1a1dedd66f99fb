/* SPDX-License-Identifier: Apache-2.0 */
/* listen, listeners. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include <stdlib.h>
#include <string.h>

#define LISTENERS "/v1/listeners"

/* A listener has addr and port, as an endpoint of a connection does, and is formatted as one. */
static const struct vbd_ctl_column listener_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"ADDRESS", "", vbd_ctl_cell_endpoint, 0},
	{"DEVICE", "device", vbd_ctl_cell_text, 0},
	{"ACCEPT", "accept", vbd_ctl_cell_text, 0},
	{"SERVICE", "qp.service", vbd_ctl_cell_text, 0},
	{"REQUESTS", "requests", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ACCEPTED", "accepted", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"REJECTED", "rejected", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"WAITING", "waiting", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static void put_listener(struct vbd_ctl *ctl, const json_t *listener)
{
	static const struct {
		const char *label;
		const char *path;
	} rows[] = {
		{"device", "device"},
		{"accept", "accept"},
		{"wait ms", "accept_timeout_ms"},
		{"backlog", "backlog"},
		{"service", "qp.service"},
		{"sq depth", "qp.sq_depth"},
		{"rq depth", "qp.rq_depth"},
		{"recv bytes", "qp.recv_size_bytes"},
		{"retries", "qp.retry_count"},
		{"rnr retries", "qp.rnr_retry"},
		{"ack timeout", "qp.ack_timeout"},
		{"rnr timer", "qp.min_rnr_timer"},
		{"reads in", "qp.responder_resources"},
		{"reads out", "qp.initiator_depth"},
		{"requests", "requests"},
		{"accepted", "accepted"},
		{"rejected", "rejected"},
		{"waiting", "waiting"},
		{"error", "error"},
	};

	vbd_ctl_title_put("listener", listener, ctl->color);
	vbd_ctl_member_put(listener, "address", "", vbd_ctl_cell_endpoint);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		vbd_ctl_member_put(listener, rows[i].label, rows[i].path, vbd_ctl_cell_text);
	vbd_ctl_member_put(listener, "created", "created_at", vbd_ctl_cell_time);
}

static void put_line(const json_t *listener)
{
	char *name = vbd_ctl_object_name("listener", listener);
	char *state = vbd_ctl_cell_text(vbd_ctl_json_at(listener, "state"));
	char *address = vbd_ctl_cell_endpoint(listener);
	char *accept = vbd_ctl_cell_text(vbd_ctl_json_at(listener, "accept"));
	char *service = vbd_ctl_cell_text(vbd_ctl_json_at(listener, "qp.service"));

	printf("%s: %s at %s, accept %s, service %s\n", name, state, address, accept, service);
	free(service);
	free(accept);
	free(address);
	free(state);
	free(name);
}

enum vbd_ctl_exit vbd_ctl_listen(struct vbd_ctl *ctl)
{
	const char *where = ctl->args.operands[0];
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	uint64_t port = 0;
	bool has_port;
	json_t *body;
	char *host;

	if (!vbd_ctl_text_is_utf8(where, strlen(where)) ||
		!vbd_ctl_split_host(where, false, &host, &has_port, &port))
		return vbd_ctl_usage("listen: \"%s\" is not ADDR or ADDR:PORT", where);
	body = vbd_ctl_args_body(&ctl->args);
	vbd_ctl_json_set(body, "addr", vbd_ctl_must(json_string(host)));
	if (has_port)
		vbd_ctl_json_set(body, "port", vbd_ctl_must(json_integer((json_int_t)port)));
	exit_status = vbd_ctl_call(ctl, "POST", LISTENERS, body, VBD_CTL_NO_WAIT, &answer);
	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	else if (exit_status == VBD_CTL_OK)
		put_line(answer.json);
	vbd_ctl_answer_fini(&answer);
	free(host);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_listeners(struct vbd_ctl *ctl)
{
	return vbd_ctl_list(ctl, LISTENERS, listener_columns, VBD_ARRAY_LEN(listener_columns));
}

enum vbd_ctl_exit vbd_ctl_listener_show(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_get(ctl, LISTENERS, ctl->args.operands[0], &answer);

	if (exit_status == VBD_CTL_OK && !ctl->json)
		put_listener(ctl, answer.json);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_listener_set(struct vbd_ctl *ctl)
{
	char *path = vbd_ctl_path(LISTENERS, ctl->args.operands[0], "");
	json_t *body = vbd_ctl_args_body(&ctl->args);
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status;

	if (json_object_size(body) == 0) {
		json_decref(body);
		exit_status = vbd_ctl_usage("listeners set: needs --accept or --accept-timeout");
	} else {
		exit_status = vbd_ctl_call(ctl, "PATCH", path, body, VBD_CTL_NO_WAIT, &answer);
	}
	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	else if (exit_status == VBD_CTL_OK)
		put_line(answer.json);
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}

static enum vbd_ctl_exit rm_one(struct vbd_ctl *ctl, const char *ref)
{
	return vbd_ctl_delete(ctl, LISTENERS, "listener", ref, VBD_CTL_NO_WAIT);
}

enum vbd_ctl_exit vbd_ctl_listener_rm(struct vbd_ctl *ctl)
{
	return vbd_ctl_each(ctl, rm_one);
}
