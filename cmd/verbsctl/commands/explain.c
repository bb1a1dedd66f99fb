/* SPDX-License-Identifier: Apache-2.0 */
/* connections explain, glossary, reachability. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

/* Prints the texts of a list, one a line, with @label before the first. */
static void put_texts(const char *label, const json_t *texts)
{
	for (size_t i = 0; i < json_array_size(texts); i++)
		vbd_ctl_line_put(i ? "" : label, json_array_get(texts, i), "{}");
}

/* --- names ----------------------------------------------------------------------------------- */

static void put_why(const json_t *why)
{
	char *title = vbd_ctl_fill(why, "{name}  {kind}");

	vbd_ctl_text_put(title);
	VBD_CTL_MEMBERS_PUT(why, VBD_CTL_TEXT("number", "number"), VBD_CTL_TEXT("status", "status"),
		VBD_CTL_TEXT("severity", "severity"), VBD_CTL_TEXT("means", "detail"));
	put_texts("causes", vbd_ctl_json_at(why, "causes"));
	VBD_CTL_MEMBERS_PUT(why, VBD_CTL_TEXT("what to do", "hint"));
	put_texts("data", vbd_ctl_json_at(why, "data"));
	free(title);
}

static void put_names(const struct vbd_ctl *ctl, json_t *page)
{
	const json_t *items = vbd_ctl_json_at(page, "items");

	(void)ctl;
	for (size_t i = 0; i < json_array_size(items); i++)
		put_why(json_array_get(items, i));
}

enum vbd_ctl_exit vbd_ctl_glossary(struct vbd_ctl *ctl)
{
	char *path = NULL;
	size_t path_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &path_len));
	enum vbd_ctl_exit exit_status;

	fputs("/v1/glossary", out);
	if (ctl->args.operand_count) {
		(void)fputc('/', out);
		vbd_ctl_text_put_escaped(out, ctl->args.operands[0]);
	}
	(void)fclose(out);
	exit_status =
		vbd_ctl_call_put(ctl, "GET", vbd_ctl_must(path), NULL, VBD_CTL_NO_WAIT, put_names);
	free(path);
	return exit_status;
}

/* --- connections and destinations ------------------------------------------------------------ */

/* Prints each status of the end with its meaning. */
static void put_statuses(const json_t *causes)
{
	for (size_t i = 0; i < json_array_size(causes); i++)
		vbd_ctl_line_put(i ? "" : "status", json_array_get(causes, i), "{name}: {detail}");
}

/* Prints the causes that the facts allow besides the first one. */
static void put_possible(const json_t *possible)
{
	for (size_t i = 0; i < json_array_size(possible); i++)
		vbd_ctl_line_put(i ? "" : "or maybe", json_array_get(possible, i), "{detail}");
}

/* The flushes are told as what followed the end. */
static bool is_told_elsewhere(const json_t *finding)
{
	const char *code = vbd_ctl_json_text(finding, "code");

	return code && strcmp(code, "flushed") == 0;
}

static void put_findings(const json_t *findings)
{
	const char *label = "findings";

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);

		if (is_told_elsewhere(finding))
			continue;
		vbd_ctl_line_put(label, finding, "{severity} {code}: {detail}");
		label = "";
	}
}

static void put_facts(const json_t *facts)
{
	VBD_CTL_MEMBERS_PUT(facts, VBD_CTL_TEXT("device", "device"),
		VBD_CTL_TEXT("port state", "port_state"), VBD_CTL_TEXT("local gid", "sgid.gid"),
		VBD_CTL_TEXT("gid type", "sgid.type"), VBD_CTL_TEXT("gid scope", "sgid.scope"),
		VBD_CTL_TEXT("peer gid", "dgid.gid"));
	if (vbd_ctl_json_at(facts, "route"))
		vbd_ctl_line_put("route", facts,
			vbd_ctl_json_at(facts, "route.src")
				? "{route.netdev} from {route.src} to {route.next_hop}"
				: "{route.netdev} to {route.next_hop}");
	VBD_CTL_MEMBERS_PUT(facts, VBD_CTL_TEXT("neighbour", "neighbour.state"),
		VBD_CTL_TEXT("path mtu", "path_mtu_bytes"),
		{"dead peer", "dead_peer_detect_ms", vbd_ctl_cell_whole_ms, 0, NULL},
		VBD_CTL_NS("rnr timer", "min_rnr_timer_ns"),
		VBD_CTL_TEXT("backlog", "listener.backlog"),
		VBD_CTL_BYTES("locked", "memlock.locked_bytes"),
		VBD_CTL_BYTES("may lock", "memlock.limit_bytes"));
}

static void put_followed_by(const json_t *explanation)
{
	uint64_t flushed = vbd_ctl_json_uint(explanation, "followed_by.flushed");
	uint64_t errors = vbd_ctl_json_uint(explanation, "followed_by.errors");

	if (flushed || errors)
		vbd_ctl_line_put("followed by", explanation,
			"{followed_by.flushed:count} flushes and {followed_by.errors:count} "
			"errors, "
			"which are noise");
}

void vbd_ctl_explanation_put(const json_t *explanation)
{
	char *summary = vbd_ctl_cell_text(vbd_ctl_json_at(explanation, "summary"));

	vbd_ctl_text_put(summary);
	put_texts("what to do", vbd_ctl_json_at(explanation, "hints"));
	put_texts("because", vbd_ctl_json_at(explanation, "evidence"));
	put_possible(vbd_ctl_json_at(explanation, "possible_causes"));
	if (vbd_ctl_json_at(explanation, "request.remote_addr"))
		vbd_ctl_line_put("request", explanation,
			"{request.op} of {request.length_bytes} bytes at {request.remote_addr} "
			"with "
			"key {request.rkey}");
	put_statuses(vbd_ctl_json_at(explanation, "causes"));
	VBD_CTL_MEMBERS_PUT(explanation, VBD_CTL_TEXT("earlier run", "server_id"),
		VBD_CTL_TEXT("error", "error.detail"),
		VBD_CTL_TEXT("preceded by", "preceded_by.what"));
	put_followed_by(explanation);
	put_findings(vbd_ctl_json_at(explanation, "findings"));
	put_facts(vbd_ctl_json_at(explanation, "facts"));
	free(summary);
}

static void put_explanation(const struct vbd_ctl *ctl, json_t *explanation)
{
	(void)ctl;
	vbd_ctl_explanation_put(explanation);
}

enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl)
{
	char *path = vbd_ctl_path("/v1/connections", ctl->args.operands[0], "/explain");
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call_put(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, put_explanation);

	free(path);
	return exit_status;
}

/* Writes the members of @body as a query. */
static void put_query(FILE *out, json_t *body)
{
	char separator = '?';
	const char *name;
	json_t *value;

	json_object_foreach(body, name, value)
	{
		char *text = vbd_ctl_cell_text(value);

		fprintf(out, "%c%s=", separator, name);
		vbd_ctl_text_put_escaped(out, text);
		free(text);
		separator = '&';
	}
}

enum vbd_ctl_exit vbd_ctl_reachability(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	char *path = NULL;
	size_t path_len = 0;
	FILE *out;
	enum vbd_ctl_exit exit_status;

	if (!body)
		return VBD_CTL_USAGE;
	out = vbd_ctl_must(open_memstream(&path, &path_len));
	fputs("/v1/reachability", out);
	put_query(out, body);
	(void)fclose(out);
	exit_status = vbd_ctl_call_put(
		ctl, "GET", vbd_ctl_must(path), NULL, VBD_CTL_NO_WAIT, put_explanation);
	free(path);
	json_decref(body);
	return exit_status;
}
