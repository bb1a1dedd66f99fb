/* SPDX-License-Identifier: Apache-2.0 */
/* list, show, create, set, cancel and rm, for all kinds of objects. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#define DEFAULT_WAIT_S 30

void vbd_ctl_object_put_full(const struct vbd_ctl *ctl, json_t *object)
{
	const struct vbd_ctl_object *kind = ctl->args.command->object;

	vbd_ctl_title_put(kind->kind, object, ctl->color);
	vbd_ctl_object_put(object, "id name state");
}

void vbd_ctl_object_put_brief(const struct vbd_ctl *ctl, json_t *object)
{
	const struct vbd_ctl_object *kind = ctl->args.command->object;

	if (kind->brief)
		vbd_ctl_sentence_put(kind->kind, object, kind->brief);
	else
		vbd_ctl_object_put_full(ctl, object);
}

void vbd_ctl_object_put_state(const struct vbd_ctl *ctl, json_t *object)
{
	vbd_ctl_sentence_put(ctl->args.command->object->kind, object,
		vbd_ctl_json_at(object, "end_code") ? "{state} ({end_code})" : "{state}");
}

enum vbd_ctl_exit vbd_ctl_object_list(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_object *kind = ctl->args.command->object;

	return vbd_ctl_list(ctl, kind->collection, kind->columns);
}

enum vbd_ctl_exit vbd_ctl_object_get(struct vbd_ctl *ctl, const char *tail, vbd_ctl_put_fn put)
{
	char *path =
		vbd_ctl_path(ctl->args.command->object->collection, ctl->args.operands[0], tail);
	enum vbd_ctl_exit exit_status =
		vbd_ctl_call_put(ctl, "GET", path, NULL, VBD_CTL_NO_WAIT, put);

	free(path);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_object_show(struct vbd_ctl *ctl)
{
	return vbd_ctl_object_get(ctl, "", vbd_ctl_object_put_full);
}

/* Resolving a peer and joining a group take time, and have --no-wait. */
static int wait_s_of(const struct vbd_ctl *ctl)
{
	const struct vbd_ctl_command *command = ctl->args.command;

	for (size_t i = 0; i < command->option_count; i++) {
		if (command->options[i] == VBD_CTL_OPT_NO_WAIT)
			return vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT) ? VBD_CTL_NO_WAIT
										 : DEFAULT_WAIT_S;
	}
	return VBD_CTL_NO_WAIT;
}

enum vbd_ctl_exit vbd_ctl_object_post(struct vbd_ctl *ctl, json_t *body)
{
	if (!body)
		return VBD_CTL_USAGE;
	return vbd_ctl_call_put(ctl, "POST", ctl->args.command->object->collection, body,
		wait_s_of(ctl), vbd_ctl_object_put_brief);
}

enum vbd_ctl_exit vbd_ctl_object_create(struct vbd_ctl *ctl)
{
	return vbd_ctl_object_post(ctl, vbd_ctl_args_body(&ctl->args));
}

enum vbd_ctl_exit vbd_ctl_object_set(struct vbd_ctl *ctl)
{
	json_t *body = vbd_ctl_args_body(&ctl->args);
	enum vbd_ctl_exit exit_status;
	char *path;

	if (json_object_size(body) == 0) {
		json_decref(body);
		return vbd_ctl_refuse(&ctl->args, "needs an option with a new value");
	}
	path = vbd_ctl_path(ctl->args.command->object->collection, ctl->args.operands[0], "");
	exit_status = vbd_ctl_call_put(
		ctl, "PATCH", path, body, wait_s_of(ctl), vbd_ctl_object_put_brief);
	free(path);
	return exit_status;
}

static enum vbd_ctl_exit rm_one(struct vbd_ctl *ctl, const char *ref)
{
	const struct vbd_ctl_object *kind = ctl->args.command->object;
	char *path = vbd_ctl_path(kind->collection, ref, "");
	char *safe = vbd_ctl_text_safe(ref, strlen(ref));
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status = vbd_ctl_call(ctl, "DELETE", path, NULL,
		kind->delete_wait_s ? kind->delete_wait_s : VBD_CTL_NO_WAIT, &answer);

	if (exit_status == VBD_CTL_OK && ctl->json) {
		if (answer.json)
			vbd_ctl_json_put(stdout, answer.json);
	} else if (exit_status == VBD_CTL_OK) {
		char *state = vbd_ctl_cell_text(vbd_ctl_json_at(answer.json, "state"));

		printf("%s/%s: %s\n", kind->kind, safe, answer.status == 202 ? state : "gone");
		free(state);
	}
	vbd_ctl_answer_fini(&answer);
	free(safe);
	free(path);
	return exit_status;
}

static enum vbd_ctl_exit cancel_one(struct vbd_ctl *ctl, const char *ref)
{
	const struct vbd_ctl_object *kind = ctl->args.command->object;
	char *path = vbd_ctl_path(kind->collection, ref, "/cancel");
	enum vbd_ctl_exit exit_status = vbd_ctl_call_put(
		ctl, "POST", path, NULL, kind->delete_wait_s, vbd_ctl_object_put_state);

	free(path);
	return exit_status;
}

/* --- objects selected by labels -------------------------------------------------------------- */

void vbd_ctl_object_tell_failures(const json_t *batch, size_t first)
{
	const json_t *failures = json_object_get(batch, "failures");

	for (size_t i = first; i < json_array_size(failures); i++) {
		const json_t *failure = json_array_get(failures, i);

		vbd_ctl_fail("%s/%llu: %s", vbd_ctl_json_text(failure, "kind"),
			(unsigned long long)vbd_ctl_json_uint(failure, "id"),
			vbd_ctl_json_text(failure, "detail"));
	}
}

static void put_selected(const struct vbd_ctl *ctl, json_t *selected)
{
	const json_t *object;
	size_t i;

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_DRY_RUN)) {
		json_array_foreach(json_object_get(selected, "objects"), i, object)
		{
			char *text = vbd_ctl_fill(object, "{kind}/{id}");

			puts(text);
			free(text);
		}
		VBD_CTL_LINES_PUT(selected, {"selected", "{selected}"});
		return;
	}
	vbd_ctl_object_tell_failures(selected, 0);
	VBD_CTL_LINES_PUT(selected, {"selected", "{selected}"}, {"done", "{done}"},
		{"under way", "{pending}"}, {"failed", "{failed}"});
}

/* The path of the operation on the selected objects. */
static char *selected_path(const struct vbd_ctl_args *args, const char *tail)
{
	char *path = NULL;
	size_t len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&path, &len));

	fprintf(out, "/v1/objects%s?kind=%s", tail, args->command->object->kind);
	vbd_ctl_args_put_query(args, out, '&');
	if (fclose(out) != 0)
		vbd_ctl_must(NULL);
	return path;
}

enum vbd_ctl_exit vbd_ctl_each_or_selected(struct vbd_ctl *ctl, const char *method,
	const char *tail, enum vbd_ctl_exit (*one)(struct vbd_ctl *ctl, const char *ref))
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool every = vbd_ctl_args_has(args, VBD_CTL_OPT_EVERY);
	bool labelled = vbd_ctl_args_has(args, VBD_CTL_OPT_SELECTED);
	bool dry_run = vbd_ctl_args_has(args, VBD_CTL_OPT_DRY_RUN);
	int end_s = args->command->object->delete_wait_s;
	bool wait = end_s && !dry_run && !vbd_ctl_args_has(args, VBD_CTL_OPT_NO_WAIT);
	int wait_s = wait ? end_s : VBD_CTL_NO_WAIT;
	struct vbd_ctl_answer answer;
	enum vbd_ctl_exit exit_status;
	char *path;

	if (every + labelled + (args->operand_count > 0) != 1)
		return vbd_ctl_refuse(args, "needs operands, or --label, or --all");
	if (dry_run && !every && !labelled)
		return vbd_ctl_refuse(args, "--dry-run needs --label or --all");
	if (!every && !labelled)
		return vbd_ctl_each(ctl, one);
	path = selected_path(args, tail);
	exit_status = vbd_ctl_call(ctl, method, path, NULL, wait_s, &answer);
	if (exit_status == VBD_CTL_OK) {
		vbd_ctl_answer_put(ctl, &answer, put_selected);
		if (vbd_ctl_json_uint(answer.json, "failed"))
			exit_status = VBD_CTL_FAILED;
	}
	vbd_ctl_answer_fini(&answer);
	free(path);
	return exit_status;
}

enum vbd_ctl_exit vbd_ctl_object_cancel(struct vbd_ctl *ctl)
{
	return vbd_ctl_each_or_selected(ctl, "POST", "/-/cancel", cancel_one);
}

enum vbd_ctl_exit vbd_ctl_object_rm(struct vbd_ctl *ctl)
{
	return vbd_ctl_each_or_selected(ctl, "DELETE", "", rm_one);
}
