/* SPDX-License-Identifier: Apache-2.0 */
/* connections create, prepare, remote, qp-state, accept, reject, close; printing a connection. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#define CONNECTIONS "/v1/connections"

/* Prints the attributes of a queue pair that its peer needs, for bring-up by hand. The role "read"
 * does not get `psn`, and without `psn` the others are of no use. */
static void put_for_peer(const json_t *connection)
{
	vbd_ctl_line_put("for the peer", connection,
		"--psn {manual.local.psn} --gid {manual.local.gid} --lid {manual.local.lid} "
		"--qpn {manual.local.qpn:text} --mtu {manual.local.port_mtu_bytes}");
}

void vbd_ctl_put_connection_state(struct vbd_ctl *ctl, json_t *connection)
{
	vbd_ctl_object_put_state(ctl, connection);
	if (vbd_ctl_json_at(connection, "manual.local"))
		vbd_ctl_line_put("qp state", connection, "{qp_attr.state}");
	put_for_peer(connection);
}

/* POSTs a command that establishes a connection, and prints its outcome. */
static void establish(struct vbd_ctl *ctl, const char *path, const json_t *body)
{
	bool wait = !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT);
	json_t *connection = vbd_ctl_start(
		ctl, path, body, vbd_ctl_unless_no_wait(ctl, VBD_CTL_WAIT_MAX_S), ctl->args.kind);

	if (wait && !vbd_ctl_json_is(connection, "state", "established"))
		vbd_ctl_end(
			vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(CONNECTIONS, connection)));
	vbd_ctl_answer_put(
		ctl, connection, wait ? vbd_ctl_object_put_brief : vbd_ctl_put_connection_state);
}

void vbd_ctl_connect(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_ALIKE))
		vbd_ctl_connect_many(ctl, body);
	else
		establish(ctl, CONNECTIONS, body);
}

void vbd_ctl_connection_accept(struct vbd_ctl *ctl)
{
	establish(ctl, vbd_ctl_object_path(ctl, "/accept"), vbd_ctl_args_body(&ctl->args));
}

/* Completes @body with `manual.local` of the peer's connection; members that came from options
 * stay. */
static void add_peer_local(struct vbd_ctl *ctl, const char *from, json_t *body)
{
	json_t *local =
		vbd_ctl_json_at(vbd_ctl_get_at(ctl, "--from", from, CONNECTIONS), "manual.local");

	if (!local)
		vbd_ctl_fail("%s: that connection is not brought up by hand", from);
	if (!vbd_ctl_json_has_uint(local, "psn"))
		vbd_ctl_fail("%s: that verbsd does not show the packet number; the read role does "
			     "not see it (--peer-token-file)",
			from);
	if (json_object_update_missing(body, local) < 0)
		vbd_ctl_must(NULL);
}

void vbd_ctl_remote(struct vbd_ctl *ctl)
{
	const char *from = ctl->args.text[VBD_CTL_OPT_FROM];
	json_t *body = vbd_ctl_args_body(&ctl->args);

	if (from)
		add_peer_local(ctl, from, body);
	vbd_ctl_object_send(ctl, ctl->args.operands[0], body);
}

static void put_entries(const json_t *timeline)
{
	vbd_ctl_table_put("MS=since_start_ns:ms KIND=kind WHAT=what DETAIL=detail",
		vbd_ctl_json_at(timeline, "items"), false);
	if (vbd_ctl_json_uint(timeline, "dropped"))
		vbd_ctl_line_put("", timeline, "{dropped} later entries did not fit");
}

static void put_timeline(const json_t *timeline)
{
	if (json_array_size(vbd_ctl_json_at(timeline, "items")) == 0)
		return;
	vbd_ctl_heading_put("timeline");
	put_entries(timeline);
}

/* The flushes after the first error say nothing about its cause. */
static void put_followed_by(const json_t *explanation)
{
	if (vbd_ctl_json_uint(explanation, "followed_by.flushed") ||
		vbd_ctl_json_uint(explanation, "followed_by.errors"))
		vbd_ctl_line_put("after that", explanation,
			"{followed_by.flushed} flushes and {followed_by.errors} errors, which are "
			"its consequences");
}

static void put_explained(const json_t *explanation)
{
	vbd_ctl_text_put(vbd_ctl_cell_text(vbd_ctl_json_at(explanation, "summary")));
	vbd_ctl_list_put("what to do", vbd_ctl_json_at(explanation, "hints"), "{}");
	vbd_ctl_list_put("because", vbd_ctl_json_at(explanation, "evidence"), "{}");
	vbd_ctl_list_put("or maybe", vbd_ctl_json_at(explanation, "possible_causes"), "{detail}");
	vbd_ctl_line_put("request", explanation,
		"at {request.remote_addr} with key {request.rkey}: {request.op} of "
		"{request.length_bytes:text} bytes");
	vbd_ctl_list_put("status", vbd_ctl_json_at(explanation, "causes"), "{name}: {detail}");
	vbd_ctl_line_put("earlier run", explanation, "{server_id}");
	vbd_ctl_line_put("just before", explanation, "{preceded_by.what}");
	vbd_ctl_line_put("error", explanation, "{error.detail}");
	put_followed_by(explanation);
	vbd_ctl_list_put("findings", vbd_ctl_json_at(explanation, "findings"),
		"{severity} {code}: {detail}");
	vbd_ctl_object_put(vbd_ctl_json_at(explanation, "facts"), "");
}

/* Prints everything but the title. */
static void put_connection(json_t *connection)
{
	put_for_peer(connection);
	vbd_ctl_object_put(connection, "id name state");
}

void vbd_ctl_connection_put(
	json_t *connection, const json_t *explanation, const json_t *timeline, FILE *out)
{
	/* An ended connection is printed with its reason first. */
	bool why_first = explanation && vbd_ctl_json_at(connection, "ended_at");

	vbd_ctl_view_to(out);
	vbd_ctl_title_put("connection", connection, false);
	if (why_first) {
		put_explained(explanation);
		vbd_ctl_text_put("");
	}
	put_connection(connection);
	put_timeline(timeline);
	if (explanation && !why_first) {
		vbd_ctl_text_put("");
		put_explained(explanation);
	}
	vbd_ctl_view_to(NULL);
}

/* The timeline is a resource of its own. A connection without one is printed all the same. */
void vbd_ctl_put_connection(struct vbd_ctl *ctl, json_t *connection)
{
	const char *path = vbd_ctl_path_of(CONNECTIONS, connection);

	vbd_ctl_title_put("connection", connection, ctl->color);
	put_connection(connection);
	put_timeline(vbd_ctl_get_quietly(ctl, vbd_ctl_format("%s/timeline", path)));
}

void vbd_ctl_put_timeline(struct vbd_ctl *ctl, json_t *timeline)
{
	(void)ctl;
	put_entries(timeline);
}

void vbd_ctl_history(struct vbd_ctl *ctl)
{
	const char *sorted = ctl->args.text[VBD_CTL_OPT_HISTORY_SORT];

	vbd_ctl_list(ctl,
		sorted ? CONNECTIONS "?state=ended" : CONNECTIONS "?state=ended&sort=-ended_at",
		"ID=id NAME=name ENDED=ended_at STATE=state END-CODE=end_code "
		"DURATION=created_at,ended_at:span PEER=peer SENT=counters:sent "
		"RECV=counters:received EARLIER-RUN=server_id ERROR=error.detail");
}

/* --- explain, glossary, reachability --------------------------------------------------------- */

void vbd_ctl_put_names(struct vbd_ctl *ctl, json_t *page)
{
	const json_t *items = vbd_ctl_json_at(page, "items");

	(void)ctl;
	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *why = json_array_get(items, i);

		vbd_ctl_text_put(vbd_ctl_fill(why, "{name}  {kind}"));
		vbd_ctl_object_put(why, "name kind");
	}
}

void vbd_ctl_put_explanation(struct vbd_ctl *ctl, json_t *explanation)
{
	(void)ctl;
	put_explained(explanation);
}
