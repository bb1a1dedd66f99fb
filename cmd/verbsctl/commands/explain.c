/* SPDX-License-Identifier: Apache-2.0 */
/* explain. */
#include "cmd/verbsctl/commands/connection.h"

#include "cmd/verbsctl/commands/commands.h"
#include "cmd/verbsctl/common/json.h"

#include <stdlib.h>
#include <string.h>

/* Prints the texts of a list, one a line, with @label before the first. */
static void put_texts(const char *label, const json_t *texts)
{
	for (size_t i = 0; i < json_array_size(texts); i++) {
		char *text = vbd_ctl_cell_text(json_array_get(texts, i));

		vbd_ctl_line_put(i ? "" : label, "%s", text);
		free(text);
	}
}

/* --- names ----------------------------------------------------------------------------------- */

static void put_why(const json_t *why)
{
	char *kind = vbd_ctl_cell_text(vbd_ctl_json_at(why, "kind"));
	char *name = vbd_ctl_cell_text(vbd_ctl_json_at(why, "name"));

	printf("%s  %s\n", name, kind);
	vbd_ctl_member_put(why, "number", "number", vbd_ctl_cell_text);
	vbd_ctl_member_put(why, "means", "meaning", vbd_ctl_cell_text);
	put_texts("causes", vbd_ctl_json_at(why, "causes"));
	vbd_ctl_member_put(why, "what to do", "advice", vbd_ctl_cell_text);
	free(name);
	free(kind);
}

static enum vbd_ctl_exit explain_name(struct vbd_ctl *ctl, const char *name)
{
	char *path = NULL;
	size_t path_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &path_len));
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	const json_t *items;

	fputs("/v1/explain?name=", out);
	vbd_ctl_text_put_escaped(out, name);
	(void)fclose(out);
	exit_status = vbd_ctl_call(ctl, "GET", vbd_ctl_must(path), NULL, VBD_CTL_NO_WAIT, &answer);
	items = vbd_ctl_json_at(answer.json, "items");
	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	for (size_t i = 0; exit_status == VBD_CTL_OK && !ctl->json && i < json_array_size(items);
		i++)
		put_why(json_array_get(items, i));
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}

/* --- connections and destinations ------------------------------------------------------------ */

/* Prints the possible causes in the server's order: the best match for the observed values is
 * first. */
static void put_causes(const json_t *causes)
{
	for (size_t i = 0; i < json_array_size(causes); i++) {
		const json_t *why = json_array_get(causes, i);
		char *name = vbd_ctl_cell_text(vbd_ctl_json_at(why, "name"));
		char *meaning = vbd_ctl_cell_text(vbd_ctl_json_at(why, "meaning"));

		vbd_ctl_line_put(i ? "" : "why", "%s: %s", name, meaning);
		put_texts("", vbd_ctl_json_at(why, "causes"));
		free(meaning);
		free(name);
	}
}

static void put_findings(const json_t *findings)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		char *severity = vbd_ctl_cell_text(vbd_ctl_json_at(finding, "severity"));
		char *code = vbd_ctl_cell_text(vbd_ctl_json_at(finding, "code"));
		char *text = vbd_ctl_cell_text(vbd_ctl_json_at(finding, "text"));

		vbd_ctl_line_put(i ? "" : "findings", "%s %s: %s", severity, code, text);
		free(text);
		free(code);
		free(severity);
	}
}

/* "eth0 from 192.0.2.1 to fe80::1" */
static void put_route(const json_t *route)
{
	char *netdev = vbd_ctl_cell_text(vbd_ctl_json_at(route, "netdev"));
	char *src = vbd_ctl_cell_text(vbd_ctl_json_at(route, "src"));
	char *next = vbd_ctl_cell_text(vbd_ctl_json_at(route, "next_hop"));

	if (route)
		vbd_ctl_line_put("route", "%s from %s to %s", netdev, src, next);
	free(next);
	free(src);
	free(netdev);
}

static char *cell_whole_ms(const json_t *value)
{
	return vbd_ctl_format("%lld ms", (long long)json_integer_value(value));
}

static void put_facts(const json_t *facts)
{
	vbd_ctl_member_put(facts, "device", "device", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "port state", "port_state", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "local gid", "local_gid.gid", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "gid type", "local_gid.type", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "gid scope", "local_gid.scope", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "peer gid", "peer_gid.gid", vbd_ctl_cell_text);
	put_route(vbd_ctl_json_at(facts, "route"));
	vbd_ctl_member_put(facts, "neighbour", "neighbour.state", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "path mtu", "path_mtu_bytes", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "dead peer", "dead_peer_worst_ms", cell_whole_ms);
	vbd_ctl_member_put(facts, "rnr timer", "rnr_timer_ns", vbd_ctl_cell_ns);
	vbd_ctl_member_put(facts, "backlog", "listener.backlog", vbd_ctl_cell_text);
	vbd_ctl_member_put(facts, "locked", "memlock.locked_bytes", vbd_ctl_cell_bytes);
	vbd_ctl_member_put(facts, "may lock", "memlock.limit_bytes", vbd_ctl_cell_bytes);
}

static void put_followed_by(const json_t *explanation)
{
	uint64_t flushed = vbd_ctl_json_uint(explanation, "followed_by.flushed");
	uint64_t errors = vbd_ctl_json_uint(explanation, "followed_by.errors");

	if (flushed || errors)
		vbd_ctl_line_put("followed by", "%llu flushes and %llu errors, which are noise",
			(unsigned long long)flushed, (unsigned long long)errors);
}

void vbd_ctl_explanation_put(const json_t *explanation)
{
	char *summary = vbd_ctl_cell_text(vbd_ctl_json_at(explanation, "summary"));

	vbd_ctl_text_put(summary);
	put_causes(vbd_ctl_json_at(explanation, "causes"));
	put_texts("what to do", vbd_ctl_json_at(explanation, "advice"));
	vbd_ctl_member_put(explanation, "first error", "first_error.text", vbd_ctl_cell_text);
	vbd_ctl_member_put(explanation, "preceded by", "preceded_by.what", vbd_ctl_cell_text);
	put_followed_by(explanation);
	put_findings(vbd_ctl_json_at(explanation, "findings"));
	put_facts(vbd_ctl_json_at(explanation, "facts"));
	free(summary);
}

static enum vbd_ctl_exit explain_path(struct vbd_ctl *ctl, const char *path)
{
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && ctl->json)
		vbd_ctl_json_put(stdout, answer.json);
	else if (exit_status == VBD_CTL_OK)
		vbd_ctl_explanation_put(answer.json);
	vbd_ctl_answer_fini(&answer);
	return exit_status;
}

static enum vbd_ctl_exit explain_destination(struct vbd_ctl *ctl)
{
	char *path = NULL;
	size_t path_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &path_len));
	enum vbd_ctl_exit exit_status;

	fputs("/v1/explain", out);
	vbd_ctl_args_put_query(&ctl->args, out, '?');
	(void)fclose(out);
	exit_status = explain_path(ctl, vbd_ctl_must(path));
	free(path);
	return exit_status;
}

/* --- which of them --------------------------------------------------------------------------- */

/* Whether a connection of that name exists. The request that follows reports any error of this
 * one. */
static bool is_connection(struct vbd_ctl *ctl, const char *path)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = path};
	struct vbd_ctl_answer answer;
	enum vbd_ctl_outcome outcome;
	bool is;
	char *why;

	outcome = vbd_ctl_http_perform(&ctl->http, &request, &answer, &why);
	is = outcome != VBD_CTL_ANSWERED || answer.status != 404;
	vbd_ctl_answer_fini(&answer);
	free(why);
	return is;
}

enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl)
{
	bool dst = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DST);
	const char *operand = ctl->args.operand_count ? ctl->args.operands[0] : NULL;
	enum vbd_ctl_exit exit_status;
	uint64_t id;
	char *path;

	if (dst == (operand != NULL))
		return vbd_ctl_usage("explain: give one of CONNECTION, NAME and --dst");
	if (dst)
		return explain_destination(ctl);
	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DST_SRC) ||
		vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DEVICE))
		return vbd_ctl_usage("explain: --src and --device go with --dst");
	path = vbd_ctl_path("/v1/connections", operand, "/explain");
	if (vbd_ctl_parse_uint(operand, &id) || is_connection(ctl, path))
		exit_status = explain_path(ctl, path);
	else
		exit_status = explain_name(ctl, operand);
	free(path);
	return exit_status;
}
