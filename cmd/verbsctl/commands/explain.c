/* SPDX-License-Identifier: Apache-2.0 */
/* connections explain, glossary, reachability. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

/* --- names ----------------------------------------------------------------------------------- */

static void put_names(const struct vbd_ctl *ctl, json_t *page)
{
	const json_t *items = vbd_ctl_json_at(page, "items");

	(void)ctl;
	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *why = json_array_get(items, i);
		char *title = vbd_ctl_fill(why, "{name}  {kind}");

		vbd_ctl_text_put(title);
		vbd_ctl_object_put(why, "name kind");
		free(title);
	}
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

/* The flushes after the first error say nothing about its cause. */
static void put_followed_by(const json_t *explanation)
{
	if (vbd_ctl_json_uint(explanation, "followed_by.flushed") ||
		vbd_ctl_json_uint(explanation, "followed_by.errors"))
		VBD_CTL_LINES_PUT(explanation,
			{"after that", "{followed_by.flushed} flushes and {followed_by.errors} "
				       "errors, which are its consequences"});
}

void vbd_ctl_explanation_put(const json_t *explanation)
{
	char *summary = vbd_ctl_cell_text(vbd_ctl_json_at(explanation, "summary"));

	vbd_ctl_text_put(summary);
	vbd_ctl_list_put("what to do", vbd_ctl_json_at(explanation, "hints"), "{}");
	vbd_ctl_list_put("because", vbd_ctl_json_at(explanation, "evidence"), "{}");
	vbd_ctl_list_put("or maybe", vbd_ctl_json_at(explanation, "possible_causes"), "{detail}");
	VBD_CTL_LINES_PUT(explanation,
		{"request", "at {request.remote_addr} with key {request.rkey}: {request.op} of "
			    "{request.length_bytes:text} bytes"});
	vbd_ctl_list_put("status", vbd_ctl_json_at(explanation, "causes"), "{name}: {detail}");
	VBD_CTL_LINES_PUT(explanation, {"earlier run", "{server_id}"},
		{"just before", "{preceded_by.what}"}, {"error", "{error.detail}"});
	put_followed_by(explanation);
	vbd_ctl_list_put("findings", vbd_ctl_json_at(explanation, "findings"),
		"{severity} {code}: {detail}");
	vbd_ctl_object_put(vbd_ctl_json_at(explanation, "facts"), "");
	free(summary);
}

static void put_explanation(const struct vbd_ctl *ctl, json_t *explanation)
{
	(void)ctl;
	vbd_ctl_explanation_put(explanation);
}

enum vbd_ctl_exit vbd_ctl_explain(struct vbd_ctl *ctl)
{
	return vbd_ctl_object_get(ctl, "/explain", put_explanation);
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
