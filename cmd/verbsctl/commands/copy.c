/* SPDX-License-Identifier: Apache-2.0 */
/* cp: copies of files between an export here and one of another host. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#define COPIES	      "/v1/copies"
#define DEFAULT_PORT  7474
#define PLACE_PATTERN "EXPORT:PATH for this host, or HOST:EXPORT/PATH, HOST:PORT:EXPORT/PATH"

/* Cuts @text at the first @mark; returns the rest, or NULL without the mark. */
static char *cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (at)
		*at++ = '\0';
	return at;
}

/* Sets @addr and @port from HOST: or HOST:PORT: in front of the export; returns what follows. */
static char *read_host(char *text, char **ret_addr, uint64_t *ret_port)
{
	char *rest = *text == '[' ? cut(text + 1, ']') : text;
	char *after = rest ? cut(rest, ':') : NULL;
	char *colon;

	*ret_addr = *text == '[' ? text + 1 : text;
	*ret_port = DEFAULT_PORT;
	colon = after ? strchr(after, ':') : NULL;
	if (colon && strspn(after, "0123456789") == (size_t)(colon - after)) {
		*ret_port = strtoull(after, NULL, 10);
		return colon + 1;
	}
	return after;
}

/* The member `source` or `destination` from an operand. */
static json_t *read_place(struct vbd_ctl *ctl, const char *operand)
{
	json_t *place = vbd_ctl_json_new();
	char *text = vbd_ctl_format("%s", operand);
	char *rest = strchr(text, ':');
	char *export = rest ? vbd_ctl_format("%.*s", (int)(rest - text), text) : NULL;
	char *addr, *path;
	uint64_t port;

	/* The name of an export here goes before that of a host. */
	if (export && *export &&
		vbd_ctl_get_quietly(ctl, vbd_ctl_path("/v1/exports", export, ""))) {
		path = rest + 1;
	} else {
		export = read_host(text, &addr, &port);
		if (!export || !*addr || !*export)
			vbd_ctl_refuse(&ctl->args, "\"%s\" must be " PLACE_PATTERN, operand);
		path = cut(export, '/');
		vbd_ctl_json_set(place, "addr", json_string(addr));
		vbd_ctl_json_set(place, "port", json_integer((json_int_t)port));
	}
	vbd_ctl_json_set(place, "export", json_string(export));
	if (path && *path)
		vbd_ctl_json_set(place, "path", json_string(path));
	return place;
}

static void put_brief(struct vbd_ctl *ctl, json_t *copy)
{
	json_t *problems = vbd_ctl_json_at(copy, "problems");

	vbd_ctl_sentence_put("copy", copy,
		"{files_done:text} of {files:text} files {state}, {bytes_done} in {elapsed_ns}, "
		"{bytes_per_s}/s; {files_skipped:text} skipped, {files_failed:text} "
		"failed");
	if (json_array_size(problems))
		vbd_ctl_table_put("FILE=path FAULT=fault TEXT=text", problems, ctl->color);
}

void vbd_ctl_copy(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	json_t *copy;

	vbd_ctl_json_set(body, "source", json_incref(read_place(ctl, ctl->args.operands[0])));
	vbd_ctl_json_set(body, "destination", json_incref(read_place(ctl, ctl->args.operands[1])));
	copy = vbd_ctl_start(ctl, COPIES, body, vbd_ctl_progress_is_seen() ? 1 : VBD_CTL_WAIT_MAX_S,
		ctl->args.kind);
	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT)) {
		vbd_ctl_answer_put(ctl, copy, vbd_ctl_object_put_state);
		return;
	}
	if (!vbd_ctl_json_is(copy, "state", "done"))
		vbd_ctl_end(vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(COPIES, copy)));
	vbd_ctl_answer_put(ctl, copy, put_brief);
	if (vbd_ctl_json_uint(copy, "files_failed"))
		vbd_ctl_end(VBD_CTL_FAILED);
}
