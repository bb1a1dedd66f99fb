/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/keep.h"

#include "api/resources/context.h"
#include "api/resources/keep_spec.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/config/config.h"
#include "daemon/kept/reconciler.h"
#include "daemon/store/keeper.h"
#include "api/resources/handlers.h"
#include "api/resources/labels.h"
#include "daemon/core/labels.h"
#include "daemon/kept/kept.h"

/* --- requests -------------------------------------------------------------------------------- */

/* All of the body but `keep`. NULL without memory. */
static char *dump_spec(const json_t *json)
{
	json_t *spec = json_copy((json_t *)json);
	char *body;

	(void)json_object_del(spec, "keep");
	body = json_dumps(spec, JSON_COMPACT);
	json_decref(spec);
	return body;
}

static enum vbd_status prepare(struct vbd_request *req, const struct vbd_keepable *what,
	const struct vbd_keep_input *input, const char *body, struct vbd_kept **ret_kept,
	struct vbd_error *err)
{
	const struct vbd_kept_spec spec = {.of = what->of,
		.source = VBD_KEPT_FROM_API,
		.origin = vbd_request_origin(req),
		.name = json_string_value(json_object_get(req->json, "name")),
		.body = body,
		.policy = {input->reconnect, input->reconnect_min_ms, input->reconnect_max_ms}};

	return vbd_kept_prepare(vbd_request_daemon(req), &spec, ret_kept, err);
}

enum vbd_status vbd_keep_take(
	struct vbd_request *req, struct vbd_kept **ret_kept, struct vbd_error *err)
{
	const struct vbd_keepable *what = vbd_keepable_listed(req->route->pattern + strlen("/v1/"));
	struct vbd_keep_input input;
	enum vbd_status status;
	char *body;

	*ret_kept = NULL;
	if (!what || !json_is_object(req->json))
		return VBD_OK;
	body = dump_spec(req->json);
	if (!body)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	status = vbd_keep_take_members(req->json, what->of, &input, &req->faults, err);
	req->shares = input.share;
	if (status == VBD_OK && input.share && req->role != VBD_ROLE_CONTROL)
		status = vbd_error_input(err, VBD_E_FORBIDDEN, "/share",
			"only the control role may share an object");
	if (status == VBD_OK && !input.keep)
		status = vbd_keep_refuse_policy(&input, err);
	else if (status == VBD_OK)
		status = vbd_keep_check_body(req->json, err);
	if (status == VBD_OK && input.keep)
		status = prepare(req, what, &input, body, ret_kept, err);
	free(body);
	return status;
}

/* --- lists and earlier runs ------------------------------------------------------------------ */

static enum vbd_status check_item(const struct vbd_config_specs *specs, size_t at, char *name,
	size_t name_bytes, struct vbd_error *err)
{
	const struct vbd_config_spec *item = &specs->items[at];
	struct vbd_error cause = {0};
	enum vbd_status status;
	struct vbd_keep_spec spec;

	status = vbd_keep_spec_decode(vbd_keepable_listed(item->list), item->body, &spec, &cause);
	if (status == VBD_OK)
		(void)snprintf(name, name_bytes, "%s", spec.kept.name);
	else
		status = vbd_error_input(err, status, item->list, "%s:%u: %s: %.120s",
			vbd_text_path(specs->path).text, item->line, item->list, cause.text);
	vbd_keep_spec_fini(&spec);
	return status;
}

enum vbd_status vbd_keep_check(const struct vbd_config_specs *specs, struct vbd_error *err)
{
	char(*names)[VBD_NAME_BYTES] = calloc(specs->count + 1, sizeof(*names));
	enum vbd_status status = VBD_OK;

	if (!names)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to check %s",
			vbd_text_path(specs->path).text);
	for (size_t i = 0; i < specs->count && status == VBD_OK; i++) {
		status = check_item(specs, i, names[i], sizeof(names[i]), err);
		for (size_t j = 0; j < i && status == VBD_OK; j++) {
			if (strcmp(names[i], names[j]) == 0)
				status = vbd_error_input(err, VBD_E_BAD_VALUE, specs->items[i].list,
					"%s:%u: the name %s is in line %u already",
					vbd_text_path(specs->path).text, specs->items[i].line,
					names[i], specs->items[j].line);
		}
	}
	free(names);
	return status;
}

void vbd_keep_use(struct vbd_daemon *daemon, const struct vbd_config_specs *specs)
{
	struct vbd_kept_spec *kept = calloc(specs->count + 1, sizeof(*kept));
	struct vbd_keep_spec *decoded = calloc(specs->count + 1, sizeof(*decoded));
	struct vbd_error err = {0};
	size_t count = 0;

	for (size_t i = 0; kept && decoded && i < specs->count; i++) {
		const struct vbd_config_spec *item = &specs->items[i];

		if (vbd_keep_spec_decode(vbd_keepable_listed(item->list), item->body, &decoded[i],
			    &err) == VBD_OK) {
			kept[count] = decoded[i].kept;
			kept[count++].source = VBD_KEPT_FROM_CONFIG;
		}
	}
	if (err.status || !kept || !decoded)
		vbd_log(VBD_LOG_ERROR, NULL, "not all of %s is kept: %s", specs->path,
			err.status ? err.text : "no memory");
	else
		vbd_kept_use_config(daemon, kept, count);
	for (size_t i = 0; decoded && i < specs->count; i++)
		vbd_keep_spec_fini(&decoded[i]);
	free(decoded);
	free(kept);
}

/* This version decodes what an earlier one may have kept, and may not understand it. */
static void keep_row(const struct vbd_desired *row, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_error err = {0};
	enum vbd_object_kind of = VBD_KIND_NONE;
	const struct vbd_keepable *what =
		vbd_object_kind_parse(row->kind, &of) ? vbd_keepable_of(of) : NULL;
	enum vbd_status status = VBD_E_NOT_SUPPORTED;
	struct vbd_kept *unused;
	struct vbd_keep_spec spec = {0};

	if (what)
		status = vbd_keep_spec_decode(what, row->body, &spec, &err);
	if (status == VBD_OK && row->owner[0])
		spec.kept.origin.caller = vbd_callers_get(&daemon->callers, row->owner);
	spec.kept.source = VBD_KEPT_FROM_API;
	spec.kept.stored = true;
	if (status == VBD_OK && (spec.kept.origin.caller || !row->owner[0]))
		status = vbd_kept_add(daemon, &spec.kept, &unused, &err);
	if (status != VBD_OK)
		vbd_keeper_report_row(
			daemon, row, err.status ? err.text : "this version can't keep it");
	vbd_keep_spec_fini(&spec);
}

static void take_rows(struct vbd_daemon *daemon)
{
	if (daemon->keeper)
		vbd_keeper_take_desired(daemon->keeper, keep_row, daemon);
}

void vbd_keep_begin(struct vbd_daemon *daemon)
{
	static const struct vbd_kept_ops ops = {.make = vbd_keep_spec_make, .take_rows = take_rows};

	take_rows(daemon);
	vbd_holder_sweep(&daemon->reconciler->holder);
	vbd_reconciler_begin(daemon->reconciler, &ops);
}

void vbd_create_labelled(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct vbd_kept *kept = NULL;

	if (vbd_request_reserve_answer(req, &err) != VBD_OK ||
		vbd_labels_decode(json_object_get(req->json, "labels"), &req->labels, &err) !=
			VBD_OK ||
		vbd_keep_take(req, &kept, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	(void)json_object_del(req->json, "labels");
	req->route->create(req);
	if (kept)
		vbd_kept_settle(kept);
}
