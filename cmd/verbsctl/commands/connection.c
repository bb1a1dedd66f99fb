/* SPDX-License-Identifier: Apache-2.0 */
/* connect, prepare, remote, modify, ls, show, accept, reject, close, forget. */
#include "cmd/verbsctl/commands/connection.h"

#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/counters.h"

#include <stdlib.h>
#include <string.h>

#define CONNECTIONS	   "/v1/connections"
#define DEFAULT_TIMEOUT_MS 10000 /* default of ConnectionCreate in openapi.yaml */
#define ACCEPT_WAIT_S	   30
#define CLOSE_WAIT_S	   15
#define POLL_MS		   200

/* Payload bytes of this side's completed sends and writes. */
static char *cell_sent(const json_t *counters)
{
	if (!counters)
		return vbd_ctl_cell_text(NULL);
	return vbd_ctl_text_of_bytes(vbd_ctl_sent_bytes(counters));
}

/* Payload bytes of this side's completed receives and reads. */
static char *cell_received(const json_t *counters)
{
	if (!counters)
		return vbd_ctl_cell_text(NULL);
	return vbd_ctl_text_of_bytes(vbd_ctl_received_bytes(counters));
}

static const struct vbd_ctl_column connection_columns[] = {
	{"ID", "id", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"NAME", "name", vbd_ctl_cell_text, 0},
	{"STATE", "state", vbd_ctl_cell_text, VBD_CTL_COLUMN_STATE},
	{"ROLE", "role", vbd_ctl_cell_text, 0},
	{"PEER", "peer", vbd_ctl_cell_endpoint, 0},
	{"SERVICE", "params.service", vbd_ctl_cell_text, 0},
	{"LQPN", "qp.lqpn", vbd_ctl_cell_hex, VBD_CTL_COLUMN_RIGHT},
	{"RQPN", "qp.rqpn", vbd_ctl_cell_hex, VBD_CTL_COLUMN_RIGHT},
	{"SENT", "counters", cell_sent, VBD_CTL_COLUMN_RIGHT},
	{"RECV", "counters", cell_received, VBD_CTL_COLUMN_RIGHT},
	{"REASON", "end.reason", vbd_ctl_cell_text, VBD_CTL_COLUMN_TRUNC},
};

static const struct vbd_ctl_column counter_columns[] = {
	{"OPERATION", "operation", vbd_ctl_cell_text, 0},
	{"POSTED", "counters.posted", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"COMPLETED", "counters.completed", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"ERRORS", "counters.errors", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"FLUSHED", "counters.flushed", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
	{"BYTES", "counters.bytes", vbd_ctl_cell_text, VBD_CTL_COLUMN_RIGHT},
};

static const struct vbd_ctl_column timeline_columns[] = {
	{"MS", "since_start_ns", vbd_ctl_cell_ms, VBD_CTL_COLUMN_RIGHT},
	{"KIND", "kind", vbd_ctl_cell_text, 0},
	{"WHAT", "what", vbd_ctl_cell_text, 0},
	{"DETAIL", "detail", vbd_ctl_cell_text, VBD_CTL_COLUMN_TRUNC},
};

enum vbd_ctl_exit vbd_ctl_connections(struct vbd_ctl *ctl)
{
	return vbd_ctl_list(
		ctl, CONNECTIONS, connection_columns, VBD_ARRAY_LEN(connection_columns));
}

static bool is_under_way(const json_t *connection)
{
	static const char *const states[] = {"resolving_addr", "resolving_route", "connecting",
		"requested", "accepting", "awaiting_remote"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(states); i++) {
		if (vbd_ctl_json_is(connection, "state", states[i]))
			return true;
	}
	return false;
}

/* Copies one member of a connection's record into the problem, if the record has it. */
static void copy_member(json_t *problem, const json_t *from, const char *path, const char *name)
{
	json_t *value = vbd_ctl_json_at(from, path);

	if (value)
		vbd_ctl_json_set(problem, name, json_incref(value));
}

/* Builds, from the record of an ended connection, the problem that a waiting POST would have
 * returned. */
static json_t *problem_of_end(const json_t *connection)
{
	json_t *problem = vbd_ctl_must(json_object());
	char *path = vbd_ctl_format(
		CONNECTIONS "/%llu", (unsigned long long)vbd_ctl_json_uint(connection, "id"));

	vbd_ctl_json_set(problem, "instance", vbd_ctl_must(json_string(path)));
	copy_member(problem, connection, "end.reason", "code");
	if (!json_object_get(problem, "code"))
		copy_member(problem, connection, "state", "code");
	copy_member(problem, connection, "end.text", "title");
	copy_member(problem, connection, "first_error.text", "detail");
	copy_member(problem, connection, "first_error.call", "call");
	copy_member(problem, connection, "first_error.errno", "errno");
	copy_member(problem, connection, "first_error.cm_event", "cm_event");
	copy_member(problem, connection, "first_error.cm_status", "cm_status");
	copy_member(problem, connection, "first_error.wc_status", "wc_status");
	copy_member(problem, connection, "first_error.vendor_err", "vendor_err");
	copy_member(problem, connection, "end.hint", "hint");
	free(path);
	return problem;
}

static void put_established(const json_t *connection)
{
	char *name = vbd_ctl_object_name("connection", connection);
	char *state = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "state"));
	char *peer = vbd_ctl_cell_endpoint(vbd_ctl_json_at(connection, "peer"));
	char *lqpn = vbd_ctl_cell_hex(vbd_ctl_json_at(connection, "qp.lqpn"));
	char *rqpn = vbd_ctl_cell_hex(vbd_ctl_json_at(connection, "qp.rqpn"));
	char *service = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "params.service"));

	printf("%s: %s with %s, QP %s -> %s, service %s\n", name, state, peer, lqpn, rqpn, service);
	free(service);
	free(rqpn);
	free(lqpn);
	free(peer);
	free(state);
	free(name);
}

/* The values of a queue pair that its peer needs, for a connection brought up by hand. */
static void put_exchange(const json_t *connection)
{
	char *gid = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "exchange.gid"));
	char *lid = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "exchange.lid"));
	char *mtu = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "exchange.mtu_bytes"));

	vbd_ctl_line_put("for the peer", "--gid %s --lid %s --qpn %llu --psn %llu --mtu %s", gid,
		lid, (unsigned long long)vbd_ctl_json_uint(connection, "exchange.qpn"),
		(unsigned long long)vbd_ctl_json_uint(connection, "exchange.psn"), mtu);
	free(mtu);
	free(lid);
	free(gid);
}

static void put_state(const json_t *connection)
{
	char *name = vbd_ctl_object_name("connection", connection);
	char *state = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "state"));
	char *reason = vbd_ctl_cell_text(vbd_ctl_json_at(connection, "end.reason"));

	printf("%s: %s", name, state);
	if (vbd_ctl_json_at(connection, "end.reason"))
		printf(" (%s)", reason);
	putchar('\n');
	if (vbd_ctl_json_at(connection, "exchange")) {
		vbd_ctl_member_put(connection, "qp state", "qp.state", vbd_ctl_cell_text);
		put_exchange(connection);
	}
	free(reason);
	free(state);
	free(name);
}

/* Polls the connection until it is established or has ended: one answer may not be delayed so
 * long. */
static enum vbd_ctl_exit follow(struct vbd_ctl *ctl, struct vbd_ctl_answer *answer)
{
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	while (exit_status == VBD_CTL_OK && is_under_way(answer->json)) {
		char *path = vbd_ctl_format(CONNECTIONS "/%llu",
			(unsigned long long)vbd_ctl_json_uint(answer->json, "id"));

		vbd_ctl_pause_ms(POLL_MS);
		vbd_ctl_answer_fini(answer);
		exit_status = vbd_ctl_call(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, answer);
		free(path);
	}
	return exit_status;
}

/* Ends connect and accept: waits for the outcome, unless --no-wait was given, and prints it. */
static enum vbd_ctl_exit finish(struct vbd_ctl *ctl, struct vbd_ctl_answer *answer)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	enum vbd_ctl_exit exit_status = wait ? follow(ctl, answer) : VBD_CTL_OK;

	if (exit_status != VBD_CTL_OK)
		return exit_status;
	if (wait && !vbd_ctl_json_is(answer->json, "state", "established"))
		return vbd_ctl_report_problem(ctl, problem_of_end(answer->json));
	if (ctl->json)
		vbd_ctl_json_put(stdout, answer->json);
	else if (wait)
		put_established(answer->json);
	else
		put_state(answer->json);
	return VBD_CTL_OK;
}

/* A little longer than the connection's deadline, so that the server reports the timeout. */
static int connect_wait_s(const struct vbd_ctl *ctl)
{
	uint64_t timeout_ms = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_TIMEOUT)
				      ? ctl->args.number[VBD_CTL_OPT_TIMEOUT]
				      : DEFAULT_TIMEOUT_MS;

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT))
		return VBD_CTL_NO_WAIT;
	if (timeout_ms / 1000 + 2 > VBD_CTL_WAIT_MAX_S)
		return VBD_CTL_WAIT_MAX_S;
	return (int)(timeout_ms / 1000) + 2;
}

enum vbd_ctl_exit vbd_ctl_connect(struct vbd_ctl *ctl)
{
	const char *where = ctl->args.operands[0];
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	uint64_t port = 0;
	bool has_port;
	json_t *body;
	char *host;

	if (!vbd_ctl_text_is_utf8(where, strlen(where)) ||
		!vbd_ctl_split_host(where, true, &host, &has_port, &port))
		return vbd_ctl_usage(
			"connect: \"%s\" is not HOST:PORT (or [ADDR]:PORT for IPv6)", where);
	body = vbd_ctl_args_body(&ctl->args);
	vbd_ctl_json_set(body, "dst_addr", vbd_ctl_must(json_string(host)));
	vbd_ctl_json_set(body, "dst_port", vbd_ctl_must(json_integer((json_int_t)port)));
	exit_status = vbd_ctl_call(ctl, "POST", CONNECTIONS, body, connect_wait_s(ctl), &answer);
	if (exit_status == VBD_CTL_OK)
		exit_status = finish(ctl, &answer);
	vbd_ctl_answer_fini(&answer);
	free(host);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_connection_accept(struct vbd_ctl *ctl)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	char *path = vbd_ctl_path(CONNECTIONS, ctl->args.operands[0], "/accept");
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_call(ctl, "POST", path,
		vbd_ctl_args_body(&ctl->args), wait ? ACCEPT_WAIT_S : VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK)
		exit_status = finish(ctl, &answer);
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}

/* POSTs a command to a connection, and prints the connection's new state. Takes ownership of @body,
 * which may be NULL. */
static enum vbd_ctl_exit command_one(
	struct vbd_ctl *ctl, const char *ref, const char *verb, json_t *body, int wait_s)
{
	char *path = vbd_ctl_path(CONNECTIONS, ref, verb);
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_call(ctl, "POST", path, body, wait_s, &answer);

	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	else if (exit_status == VBD_CTL_OK)
		put_state(answer.json);
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}

static enum vbd_ctl_exit reject_one(struct vbd_ctl *ctl, const char *ref)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	enum vbd_ctl_exit exit_status;

	/* Without options the request has no body. */
	exit_status = command_one(ctl, ref, "/reject",
		json_object_size(body) ? json_incref(body) : NULL, VBD_CTL_NO_WAIT);
	json_decref(body);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_connection_reject(struct vbd_ctl *ctl)
{
	return vbd_ctl_each(ctl, reject_one);
}

static enum vbd_ctl_exit close_one(struct vbd_ctl *ctl, const char *ref)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);

	return command_one(ctl, ref, "/close", NULL, wait ? CLOSE_WAIT_S : VBD_CTL_NO_WAIT);
}

enum vbd_ctl_exit vbd_ctl_connection_close(struct vbd_ctl *ctl)
{
	return vbd_ctl_each(ctl, close_one);
}

static enum vbd_ctl_exit delete_one(struct vbd_ctl *ctl, const char *ref)
{
	return vbd_ctl_delete(ctl, CONNECTIONS, "connection", ref, CLOSE_WAIT_S);
}

enum vbd_ctl_exit vbd_ctl_connection_delete(struct vbd_ctl *ctl)
{
	return vbd_ctl_each(ctl, delete_one);
}

enum vbd_ctl_exit vbd_ctl_prepare(struct vbd_ctl *ctl)
{
	const char *name = ctl->args.operand_count ? ctl->args.operands[0] : NULL;
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	json_t *body;

	if (name && !vbd_ctl_text_is_utf8(name, strlen(name)))
		return vbd_ctl_usage("prepare: the name must be UTF-8");
	body = vbd_ctl_args_body(&ctl->args);
	if (name)
		vbd_ctl_json_set(body, "name", vbd_ctl_must(json_string(name)));
	vbd_ctl_json_set(body, "bringup", vbd_ctl_must(json_string("manual")));
	exit_status = vbd_ctl_call(ctl, "POST", CONNECTIONS, body, VBD_CTL_NO_WAIT, &answer);
	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	else if (exit_status == VBD_CTL_OK)
		put_state(answer.json);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

/* Completes @body with `exchange` of the peer's connection; members that came from options stay. */
static enum vbd_ctl_exit take_exchange(struct vbd_ctl *ctl, const char *from, json_t *body)
{
	struct vbd_ctl_answer answer = {0};
	enum vbd_ctl_exit exit_status = vbd_ctl_get_at(ctl, "--from", from, CONNECTIONS, &answer);
	json_t *exchange = vbd_ctl_json_at(answer.json, "exchange");

	if (exit_status == VBD_CTL_OK && !exchange)
		exit_status = vbd_ctl_fail("%s: that connection is not brought up by hand", from);
	if (exit_status == VBD_CTL_OK && json_object_update_missing(body, exchange) < 0)
		vbd_ctl_must(NULL);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_remote(struct vbd_ctl *ctl)
{
	const char *from = ctl->args.text[VBD_CTL_OPT_FROM];
	json_t *body = vbd_ctl_args_body(&ctl->args);
	enum vbd_ctl_exit exit_status = from ? take_exchange(ctl, from, body) : VBD_CTL_OK;

	if (exit_status == VBD_CTL_OK)
		return command_one(ctl, ctl->args.operands[0], "/remote", body, VBD_CTL_NO_WAIT);
	json_decref(body);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_modify(struct vbd_ctl *ctl)
{
	const char *state = ctl->args.operands[1];
	json_t *body;

	if (!vbd_ctl_text_is_utf8(state, strlen(state)))
		return vbd_ctl_usage("modify: STATE is RESET, INIT, RTR, RTS, SQD or ERR");
	body = vbd_ctl_must(json_object());
	vbd_ctl_json_set(body, "state", vbd_ctl_must(json_string(state)));
	return command_one(ctl, ctl->args.operands[0], "/modify", body, VBD_CTL_NO_WAIT);
}

static void put_qp(const json_t *qp)
{
	char *lqpn = vbd_ctl_cell_hex(vbd_ctl_json_at(qp, "lqpn"));
	char *rqpn = vbd_ctl_cell_hex(vbd_ctl_json_at(qp, "rqpn"));
	char *sq_psn = vbd_ctl_cell_hex(vbd_ctl_json_at(qp, "sq_psn"));
	char *rq_psn = vbd_ctl_cell_hex(vbd_ctl_json_at(qp, "rq_psn"));
	char *state = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "state"));
	char *mtu = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "path_mtu_bytes"));

	vbd_ctl_line_put("qp", "%s  %s -> %s  psn %s / %s  path mtu %s", state, lqpn, rqpn, sq_psn,
		rq_psn, mtu);
	free(mtu);
	free(state);
	free(rq_psn);
	free(sq_psn);
	free(rqpn);
	free(lqpn);
}

/* Prints the GIDs of the path, and the local one's index, type and network interface. */
static void put_path(const json_t *qp)
{
	char *gid = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "sgid"));
	char *index = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "gid_index"));
	char *type = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "gid_type"));
	char *netdev = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "netdev"));
	char *dgid = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "dgid"));

	if (vbd_ctl_json_at(qp, "gid_index"))
		vbd_ctl_line_put(
			"path", "%s (index %s, %s, %s) -> %s", gid, index, type, netdev, dgid);
	free(dgid);
	free(netdev);
	free(type);
	free(index);
	free(gid);
}

/* Prints the retry limits, and as times instead of codes the timers behind them. */
static void put_patience(const json_t *qp)
{
	bool has_detect = vbd_ctl_json_has_uint(qp, "detect_ms");
	char *retries = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "retry_count"));
	char *rnr = vbd_ctl_cell_text(vbd_ctl_json_at(qp, "rnr_retry"));
	char *ack = vbd_ctl_cell_ns(vbd_ctl_json_at(qp, "ack_timeout_ns"));
	char *timer = vbd_ctl_cell_ns(vbd_ctl_json_at(qp, "min_rnr_timer_ns"));
	char *detect =
		vbd_ctl_format("%llu ms", (unsigned long long)vbd_ctl_json_uint(qp, "detect_ms"));

	vbd_ctl_line_put("retries", "%s after %s each: a dead peer is noticed %s%s", retries, ack,
		has_detect ? "within " : "never", has_detect ? detect : "");
	vbd_ctl_line_put("rnr retries", "%s%s; its own receiver-not-ready timer is %s", rnr,
		vbd_ctl_json_uint(qp, "rnr_retry") == 7 ? " (for ever)" : "", timer);
	free(detect);
	free(timer);
	free(ack);
	free(rnr);
	free(retries);
}

static void put_ends(const json_t *connection)
{
	vbd_ctl_member_put(connection, "created", "created_at", vbd_ctl_cell_time);
	vbd_ctl_member_put(connection, "established", "established_at", vbd_ctl_cell_time);
	vbd_ctl_member_put(connection, "ended", "ended_at", vbd_ctl_cell_time);
	vbd_ctl_member_put(connection, "waits for", "waits_for", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "first error", "first_error.text", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  cm event", "first_error.cm_event", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  wc status", "first_error.wc_status", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  call", "first_error.call", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  errno", "first_error.errno", vbd_ctl_cell_text);
	/* An ended connection has a hint of its own, which mostly repeats this one. */
	if (!vbd_ctl_json_at(connection, "end"))
		vbd_ctl_member_put(connection, "  hint", "first_error.hint", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "reason", "end.reason", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  means", "end.text", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "  hint", "end.hint", vbd_ctl_cell_text);
}

static void put_counters(const json_t *connection)
{
	json_t *counters = vbd_ctl_json_at(connection, "counters");
	json_t *rows = vbd_ctl_must(json_array());
	const char *operation;
	json_t *of_one;

	json_object_foreach(counters, operation, of_one)
	{
		json_t *row;

		/* Leaves out operations that this connection has not posted. */
		if (!vbd_ctl_json_uint(of_one, "posted"))
			continue;
		row = vbd_ctl_must(json_object());
		vbd_ctl_json_set(row, "operation", vbd_ctl_must(json_string(operation)));
		vbd_ctl_json_set(row, "counters", json_incref(of_one));
		if (json_array_append_new(rows, row) < 0)
			vbd_ctl_must(NULL);
	}
	if (json_array_size(rows)) {
		vbd_ctl_heading_put("counters");
		vbd_ctl_table_put(counter_columns, VBD_ARRAY_LEN(counter_columns), rows, false);
	}
	json_decref(rows);
}

static void put_timeline(const json_t *connection)
{
	const json_t *timeline = vbd_ctl_json_at(connection, "timeline");

	if (json_array_size(timeline) == 0)
		return;
	vbd_ctl_heading_put("timeline");
	vbd_ctl_table_put(timeline_columns, VBD_ARRAY_LEN(timeline_columns), timeline, false);
	if (vbd_ctl_json_uint(connection, "timeline_dropped"))
		vbd_ctl_line_put("", "%llu later entries did not fit",
			(unsigned long long)vbd_ctl_json_uint(connection, "timeline_dropped"));
}

/* Prints everything but the title. */
static void put_connection(const json_t *connection)
{
	const json_t *qp = vbd_ctl_json_at(connection, "qp");

	vbd_ctl_member_put(connection, "role", "role", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "transport", "transport", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "brought up by", "bringup", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "listener", "listener", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "asked for", "dst", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "local", "local", vbd_ctl_cell_endpoint);
	vbd_ctl_member_put(connection, "peer", "peer", vbd_ctl_cell_endpoint);
	vbd_ctl_member_put(connection, "device", "device", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "port", "port_num", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "cq", "cq", vbd_ctl_cell_text);
	if (qp) {
		put_qp(qp);
		put_patience(qp);
		put_path(qp);
	}
	if (vbd_ctl_json_at(connection, "exchange"))
		put_exchange(connection);
	vbd_ctl_member_put(connection, "sent data", "private_data.local.data", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "peer's data", "private_data.peer.data", vbd_ctl_cell_text);
	vbd_ctl_member_put(connection, "service", "params.service", vbd_ctl_cell_text);
	if (vbd_ctl_json_at(connection, "inbox"))
		vbd_ctl_line_put("inbox", "%llu of %llu messages",
			(unsigned long long)vbd_ctl_json_uint(connection, "inbox.messages"),
			(unsigned long long)vbd_ctl_json_uint(connection, "inbox.capacity"));
	put_ends(connection);
	put_counters(connection);
	put_timeline(connection);
}

void vbd_ctl_connection_put(const json_t *connection, const json_t *explanation, FILE *out)
{
	/* An ended connection is printed with its reason first. */
	bool why_first = explanation && vbd_ctl_json_at(connection, "ended_at");

	vbd_ctl_view_to(out);
	vbd_ctl_title_put("connection", connection, false);
	if (why_first) {
		vbd_ctl_explanation_put(explanation);
		vbd_ctl_text_put("");
	}
	put_connection(connection);
	if (explanation && !why_first) {
		vbd_ctl_text_put("");
		vbd_ctl_explanation_put(explanation);
	}
	vbd_ctl_view_to(NULL);
}

enum vbd_ctl_exit vbd_ctl_connection_show(struct vbd_ctl *ctl)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_get(ctl, CONNECTIONS, ctl->args.operands[0], &answer);

	if (exit_status == VBD_CTL_OK && !ctl->json) {
		vbd_ctl_title_put("connection", answer.json, ctl->color);
		put_connection(answer.json);
	}
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}
