/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/keep.h"

#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/copies/exports.h"
#include "base/text.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/copies/exports.h"
#include "daemon/kept/reconciler.h"
#include "daemon/memory/buffers.h"
#include "daemon/store/keeper.h"

#define RECONNECT_MIN_MS 10
#define RECONNECT_MAX_MS 3600000

static const char *const share_names[] = {"nobody", "operators"};
static const char *const reconnect_names[] = {VBD_RECONNECT_MAP(VBD_ENUM_NAME)};

/* --- the members ----------------------------------------------------------------------------- */

/* The members of a body that say how the object is kept. */
struct keep_input {
	struct vbd_kept_spec spec;
	bool keep;
	const char *policy; /* the first member of its policy; NULL: it has none */
};

static const struct vbd_field keep_fields[] = {
	{VBD_FIELD(BOOL, "keep", struct keep_input, keep)},
	{VBD_FIELD(ENUM, "share", struct keep_input, spec.origin.shared), VBD_NAMES(share_names)},
	{VBD_FIELD(ENUM, "reconnect", struct keep_input, spec.policy.reconnect),
		VBD_NAMES(reconnect_names)},
	{VBD_FIELD(UINT, "reconnect_min_ms", struct keep_input, spec.policy.min_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS},
	{VBD_FIELD(UINT, "reconnect_max_ms", struct keep_input, spec.policy.max_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS},
};

/* The members of all kinds; those behind them are the policy of connections. */
#define COMMON_FIELDS 2

/* Move the members out of @json, and decode them into @input, which has the kind. */
static enum vbd_status take_keep_members(
	json_t *json, struct keep_input *input, struct vbd_faults *faults, struct vbd_error *err)
{
	size_t count =
		input->spec.of == VBD_KIND_CONNECTION ? VBD_ARRAY_LEN(keep_fields) : COMMON_FIELDS;
	struct vbd_kept_policy *policy = &input->spec.policy;
	json_t *own = json_object();
	enum vbd_status status;

	*policy = (struct vbd_kept_policy){
		VBD_RECONNECT_ALWAYS, VBD_RECONNECT_MIN_MS, VBD_RECONNECT_MAX_MS};
	if (!own)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	for (size_t i = 0; i < count; i++) {
		const char *name = keep_fields[i].name;

		if (!json_object_get(json, name))
			continue;
		(void)json_object_set(own, name, json_object_get(json, name));
		(void)json_object_del(json, name);
		if (i >= COMMON_FIELDS && !input->policy)
			input->policy = name;
	}
	status = vbd_decode_all(own, "", keep_fields, count, input, faults, err);
	json_decref(own);
	if (status == VBD_OK && policy->max_ms < policy->min_ms)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/reconnect_max_ms",
			"reconnect_max_ms is less than reconnect_min_ms");
	return status;
}

static bool is_device_id_only(const json_t *device)
{
	const char *name = json_string_value(
		json_is_object(device) ? json_object_get(device, "name") : device);
	uint64_t id;

	return device && !json_is_null(device) && (!name || vbd_ref_is_id(name, &id));
}

/* An object needs a name of its own, and a request that can make it again. */
static enum vbd_status check_can_be_kept(const json_t *json, struct vbd_error *err)
{
	const char *name = json_string_value(json_object_get(json, "name"));

	if (vbd_manual_requested(json))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/bringup",
			"a connection that is brought up by hand can't be kept");
	if (!name || !name[0])
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/name",
			"what is kept needs a name: it is found again by that");
	if (is_device_id_only(json_object_get(json, "device")))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/device",
			"a kept object names its device: the id is another one after a restart");
	return VBD_OK;
}

/* --- objects --------------------------------------------------------------------------------- */

/* A body of which an object is made. */
struct making {
	struct vbd_daemon *daemon; /* NULL: decode only */
	struct vbd_origin origin;
	const json_t *json;	   /* without labels and the members of keep_fields */
	struct vbd_kept *kept;	   /* for which verbsd makes the object; NULL: a request does */
	struct vbd_object *before; /* the object as it is now; NULL: nothing is there */
	bool keeps;		   /* the object is kept */
	struct vbd_faults *faults;
};

/* Decode the body, and make the object. */
typedef enum vbd_status (*make_fn)(
	const struct making *making, struct vbd_object **ret_object, struct vbd_error *err);

static enum vbd_status make_listener(
	const struct making *making, struct vbd_object **ret_object, struct vbd_error *err)
{
	struct vbd_listener_spec spec;
	struct vbd_listener *listener;
	enum vbd_status status = vbd_listener_decode(
		making->daemon, &making->origin, making->json, &spec, making->faults, err);

	if (status != VBD_OK || !making->daemon)
		return status;
	status = vbd_listener_create(making->daemon, &spec, &listener, err);
	if (status == VBD_OK)
		*ret_object = &listener->object;
	return status;
}

/* A buffer of the kind shared has the bytes of the run before, if systemd has held them. */
static enum vbd_status make_new_buffer(const struct making *making, struct vbd_buffer_spec *spec,
	struct vbd_buffer **ret_buffer, struct vbd_error *err)
{
	struct vbd_buffer_bytes bytes = {.fd = making->kept ? vbd_held_fd(making->kept) : -1};
	enum vbd_status status;

	if (bytes.fd >= 0)
		spec->bytes = &bytes;
	status = vbd_buffer_create(making->daemon, spec, ret_buffer, err);
	if (status == VBD_OK && bytes.misfit.status)
		vbd_held_misfit(making->kept, &bytes.misfit);
	return status;
}

/* The bytes of a lost buffer stay. */
static enum vbd_status make_buffer(
	const struct making *making, struct vbd_object **ret_object, struct vbd_error *err)
{
	struct vbd_buffer_spec spec;
	struct vbd_buffer *buffer =
		making->before ? VBD_CONTAINER_OF(making->before, struct vbd_buffer, object) : NULL;
	enum vbd_status status = vbd_buffer_decode(
		making->daemon, &making->origin, making->json, &spec, making->faults, err);

	if (status != VBD_OK || !making->daemon)
		return status;
	if (buffer && buffer->state == VBD_BUFFER_FAILED) {
		status = vbd_buffer_delete(buffer, err);
		buffer = NULL;
	}
	if (status == VBD_OK)
		status = buffer ? vbd_buffer_restore(buffer, &spec, err)
				: make_new_buffer(making, &spec, &buffer, err);
	if (status == VBD_OK)
		*ret_object = &buffer->object;
	return status;
}

/* True if @conn ran without the default heartbeat: a peer that allows no writes would end each
 * connection at the first one. */
static bool has_no_heartbeat(const struct vbd_conn *conn)
{
	const struct vbd_qp_params *params = &conn->params.qp;

	return params->heartbeat_if_able &&
	       (!params->heartbeat_ms || vbd_qp_refuses_heartbeat(&conn->qp));
}

static enum vbd_status make_connection(
	const struct making *making, struct vbd_object **ret_object, struct vbd_error *err)
{
	const struct vbd_object *before = making->before;
	struct vbd_connection_spec spec;
	struct vbd_connection *connection;
	enum vbd_status status = vbd_connection_decode(making->daemon, &making->origin,
		making->json, making->keeps, &spec, making->faults, err);

	if (status != VBD_OK || !making->daemon)
		return status;
	if (before && spec.params.qp.heartbeat_if_able &&
		has_no_heartbeat(VBD_CONTAINER_OF(before, struct vbd_connection, object)->conn))
		spec.params.qp.heartbeat_ms = 0;
	spec.replaces_id = before ? before->id : 0;
	status = vbd_connection_create(making->daemon, &spec, &connection, err);
	if (status == VBD_OK)
		*ret_object = &connection->object;
	return status;
}

/* By kind; NULL for one that can't be kept. */
static const make_fn makers[VBD_KIND_COUNT] = {
	[VBD_KIND_LISTENER] = make_listener,
	[VBD_KIND_BUFFER] = make_buffer,
	[VBD_KIND_CONNECTION] = make_connection,
};

/* The kind of a list of the configuration file. */
static enum vbd_object_kind kind_of_list(const char *list)
{
	if (strcmp(list, VBD_SPEC_EXPORTS) == 0)
		return VBD_KIND_EXPORT; /* is not kept */
	if (strcmp(list, VBD_SPEC_LISTENERS) == 0)
		return VBD_KIND_LISTENER;
	return strcmp(list, VBD_SPEC_BUFFERS) == 0 ? VBD_KIND_BUFFER : VBD_KIND_CONNECTION;
}

/* --- specs ----------------------------------------------------------------------------------- */

static void fini_spec(struct vbd_kept_spec *spec)
{
	vbd_caller_unref(spec->origin.caller);
	vbd_labels_unref(spec->origin.labels);
}

/* Decode all of the body of @spec, which has the kind too, and make the object if @making has a
 * daemon. fini_spec() follows in any case. */
static enum vbd_status decode_and_make(struct vbd_kept_spec *spec, struct making *making,
	struct vbd_object **ret_object, struct vbd_error *err)
{
	struct keep_input input = {.spec = *spec};
	struct vbd_faults faults = {0};
	json_t *json = NULL;
	enum vbd_status status = vbd_json_parse(spec->body, strlen(spec->body), &json, err);

	if (status == VBD_OK && json_object_get(json, "keep"))
		status = vbd_error_input(err, VBD_E_UNKNOWN_FIELD, "/keep",
			"there is no keep here: all that is listed is kept");
	if (status == VBD_OK)
		status = check_can_be_kept(json, err);
	if (status == VBD_OK)
		status = vbd_labels_decode(
			json_object_get(json, "labels"), &input.spec.origin.labels, err);
	if (status == VBD_OK)
		status = take_keep_members(json, &input, &faults, err);
	*spec = input.spec;
	if (status == VBD_OK) {
		vbd_copy_text(spec->name, sizeof(spec->name),
			json_string_value(json_object_get(json, "name")));
		(void)json_object_del(json, "labels");
		making->json = json;
		making->keeps = true;
		making->faults = &faults;
		status = makers[spec->of](making, ret_object, err);
	}
	vbd_faults_fini(&faults);
	json_decref(json);
	return status;
}

/* `make` of struct vbd_kept_ops; control thread. */
static enum vbd_status make_kept(struct vbd_kept *kept, struct vbd_object *before,
	struct vbd_object **ret_object, struct vbd_error *err)
{
	struct making making = {.daemon = kept->object.registry->daemon,
		.origin = vbd_origin_like(&kept->object),
		.kept = kept,
		.before = before};
	struct vbd_kept_spec spec = {.of = kept->of, .body = kept->body};
	enum vbd_status status = decode_and_make(&spec, &making, ret_object, err);

	fini_spec(&spec);
	return status;
}

static enum vbd_status decode_spec(struct vbd_kept_spec *spec, struct vbd_error *err)
{
	return decode_and_make(spec, &(struct making){0}, NULL, err);
}

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

/* @name: of a body without `keep` */
static enum vbd_status refuse_policy(const char *name, struct vbd_error *err)
{
	char pointer[32];

	(void)snprintf(pointer, sizeof(pointer), "/%s", name);
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, pointer, "%s is allowed together with keep only", pointer);
}

/*
 * take_keep - take `keep` and what goes with it out of the body of a request that makes
 * objects
 * @ret_kept: vbd_kept_settle() follows when the handler has run; NULL: nothing is to be kept
 *
 * Returns the problem of the members, or that of vbd_kept_prepare().
 */
static enum vbd_status take_keep(
	struct vbd_request *req, struct vbd_kept **ret_kept, struct vbd_error *err)
{
	const struct vbd_task_kind *kind = req->route->task;
	struct keep_input input = {.spec.of = kind->kind};
	struct vbd_kept_spec *spec = &input.spec;
	enum vbd_status status;
	char *body;

	*ret_kept = NULL;
	if (!makers[kind->kind] || !json_is_object(req->json))
		return VBD_OK;
	body = dump_spec(req->json);
	if (!body)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	status = take_keep_members(req->json, &input, &req->faults, err);
	req->shares = spec->origin.shared;
	if (status == VBD_OK && req->shares && req->role != VBD_ROLE_CONTROL)
		status = vbd_error_input(err, VBD_E_FORBIDDEN, "/share",
			"only the control role may share an object");
	if (status == VBD_OK && !input.keep && input.policy)
		status = refuse_policy(input.policy, err);
	if (status == VBD_OK && input.keep)
		status = check_can_be_kept(req->json, err);
	if (status == VBD_OK && input.keep) {
		spec->source = VBD_KEPT_FROM_API;
		spec->origin = vbd_request_origin(req);
		spec->body = body;
		vbd_copy_text(spec->name, sizeof(spec->name),
			json_string_value(json_object_get(req->json, "name")));
		status = vbd_kept_prepare(vbd_request_daemon(req), spec, ret_kept, err);
	}
	free(body);
	return status;
}

/* --- lists and earlier runs ------------------------------------------------------------------ */

static void free_specs(struct vbd_kept_spec *kept, size_t count)
{
	for (size_t i = 0; kept && i < count; i++)
		fini_spec(&kept[i]);
	free(kept);
}

static enum vbd_status check_export(struct vbd_kept_spec *kept, struct vbd_error *err)
{
	struct vbd_export_spec spec;
	enum vbd_status status = vbd_export_decode(kept->body, &spec, err);

	(void)snprintf(kept->name, sizeof(kept->name), "%s", spec.name);
	return status ? status : vbd_export_check(&spec, err);
}

/* The names of exports are apart from those of kept objects.
 * @kept: of all items; those before @at are decoded */
static enum vbd_status decode_item(const struct vbd_config_specs *specs, size_t at,
	struct vbd_kept_spec *kept, struct vbd_error *err)
{
	const struct vbd_config_spec *item = &specs->items[at];
	struct vbd_error cause = {0};
	enum vbd_status status;
	bool is_export;

	kept[at] = (struct vbd_kept_spec){
		.of = kind_of_list(item->list), .source = VBD_KEPT_FROM_CONFIG, .body = item->body};
	is_export = kept[at].of == VBD_KIND_EXPORT;
	status = is_export ? check_export(&kept[at], &cause) : decode_spec(&kept[at], &cause);
	for (size_t i = 0; i < at && status == VBD_OK; i++) {
		if (is_export == (kept[i].of == VBD_KIND_EXPORT) &&
			strcmp(kept[i].name, kept[at].name) == 0)
			status = vbd_error_set(&cause, VBD_E_BAD_VALUE,
				"the name %s is in line %u already", kept[at].name,
				specs->items[i].line);
	}
	return status == VBD_OK ? VBD_OK
				: vbd_error_input(err, status, item->list, "%s:%u: %s: %.120s",
					  vbd_text_path(specs->path).text, item->line, item->list,
					  cause.text);
}

/* free_specs() follows in any case. */
static enum vbd_status decode_lists(const struct vbd_config_specs *specs,
	struct vbd_kept_spec **ret_kept, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	*ret_kept = calloc(specs->count + 1, sizeof(**ret_kept));
	if (!*ret_kept)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the objects of %s",
			vbd_text_path(specs->path).text);
	for (size_t i = 0; i < specs->count && status == VBD_OK; i++)
		status = decode_item(specs, i, *ret_kept, err);
	return status;
}

enum vbd_status vbd_keep_check(const struct vbd_config_specs *specs, struct vbd_error *err)
{
	struct vbd_kept_spec *kept;
	enum vbd_status status = decode_lists(specs, &kept, err);

	free_specs(kept, specs->count);
	return status;
}

void vbd_keep_use(struct vbd_daemon *daemon, const struct vbd_config_specs *specs)
{
	struct vbd_config_spec *items = calloc(specs->count + 1, sizeof(*items));
	struct vbd_config_specs listed = {.items = items};
	struct vbd_kept_spec *kept = NULL;
	struct vbd_error err = {0};

	memcpy(listed.path, specs->path, sizeof(listed.path));
	/* Exports are no objects that are kept, and their check opens files. */
	for (size_t i = 0; items && i < specs->count; i++) {
		if (kind_of_list(specs->items[i].list) != VBD_KIND_EXPORT)
			items[listed.count++] = specs->items[i];
	}
	if (!items)
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory");
	if (items && decode_lists(&listed, &kept, &err) == VBD_OK)
		vbd_kept_use_config(daemon, kept, listed.count);
	else
		vbd_log(VBD_LOG_ERROR, NULL, "the listed objects are not kept: %s", err.text);
	free_specs(kept, listed.count);
	free(items);
	vbd_exports_use_specs(daemon, specs);
}

/* This version decodes what an earlier one may have kept, and may not understand it. */
static void keep_row(const struct vbd_desired *row, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_error err = {0};
	struct vbd_kept_spec spec = {
		.source = VBD_KEPT_FROM_API, .body = row->body, .stored = true};
	enum vbd_status status = VBD_E_NOT_SUPPORTED;
	struct vbd_kept *unused;

	if (vbd_object_kind_parse(row->kind, &spec.of) && makers[spec.of])
		status = decode_spec(&spec, &err);
	if (status == VBD_OK && row->owner[0])
		spec.origin.caller = vbd_callers_get(&daemon->callers, row->owner);
	if (status == VBD_OK && (spec.origin.caller || !row->owner[0]))
		status = vbd_kept_add(daemon, &spec, &unused, &err);
	if (status != VBD_OK)
		vbd_keeper_report_row(
			daemon, row, err.status ? err.text : "this version can't keep it");
	fini_spec(&spec);
}

static void load_kept_rows(struct vbd_daemon *daemon)
{
	if (daemon->keeper)
		vbd_keeper_take_desired(daemon->keeper, keep_row, daemon);
}

void vbd_keep_begin(struct vbd_daemon *daemon)
{
	static const struct vbd_kept_ops ops = {.make = make_kept, .take_rows = load_kept_rows};

	load_kept_rows(daemon);
	vbd_holder_sweep(&daemon->reconciler->holder);
	vbd_reconciler_begin(daemon->reconciler, &ops);
}

static void answer_made_object(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	if (object)
		vbd_task_answer_post(req, arg, object);
	else
		vbd_task_reply_gone(req, arg);
}

void vbd_create_keepable(struct vbd_request *req)
{
	const struct vbd_task_kind *kind = req->route->task;
	const char *name = json_string_value(json_object_get(req->json, "name"));
	const struct making making = {.daemon = vbd_request_daemon(req),
		.origin = vbd_request_origin(req),
		.json = req->json,
		.keeps = name && vbd_kept_prepared(vbd_request_daemon(req), kind->kind, name),
		.faults = &req->faults};
	struct vbd_object *object;

	if (kind == &vbd_connection_task && vbd_manual_requested(req->json)) {
		vbd_create_by_hand(req);
		return;
	}
	if (makers[kind->kind](&making, &object, &req->err) != VBD_OK)
		return;
	vbd_kept_adopt(object);
	vbd_keep_answer(req, vbd_kept_ticket(object), object, answer_made_object, (void *)kind);
}

void vbd_create_labelled(struct vbd_request *req)
{
	struct vbd_kept *kept = NULL;

	if (vbd_request_reserve_answer(req, &req->err) != VBD_OK ||
		vbd_labels_decode(json_object_get(req->json, "labels"), &req->labels, &req->err) !=
			VBD_OK ||
		take_keep(req, &kept, &req->err) != VBD_OK)
		return;
	(void)json_object_del(req->json, "labels");
	req->route->create(req);
	if (kept)
		vbd_kept_settle(kept);
}
