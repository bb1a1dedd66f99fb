/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/keep.h"

#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "base/text.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
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
	bool keep;
	unsigned int share; /* 0: nobody, 1: all operators */
	enum vbd_reconnect reconnect;
	uint32_t reconnect_min_ms, reconnect_max_ms;
	bool policy_seen[3];
};

static const struct vbd_field keep_fields[] = {
	{VBD_FIELD(BOOL, "keep", struct keep_input, keep)},
	{VBD_FIELD(ENUM, "share", struct keep_input, share), VBD_NAMES(share_names)},
	{VBD_FIELD(ENUM, "reconnect", struct keep_input, reconnect), VBD_NAMES(reconnect_names),
		VBD_FIELD_SEEN(struct keep_input, policy_seen[0])},
	{VBD_FIELD(UINT, "reconnect_min_ms", struct keep_input, reconnect_min_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS,
		VBD_FIELD_SEEN(struct keep_input, policy_seen[1])},
	{VBD_FIELD(UINT, "reconnect_max_ms", struct keep_input, reconnect_max_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS,
		VBD_FIELD_SEEN(struct keep_input, policy_seen[2])},
};

/* The members of all kinds; those behind them are of connections. */
#define COMMON_FIELDS 2

static size_t keep_field_count(enum vbd_object_kind of)
{
	return of == VBD_KIND_CONNECTION ? VBD_ARRAY_LEN(keep_fields) : COMMON_FIELDS;
}

/* Move the members out of @json, and decode them. */
static enum vbd_status take_keep_members(json_t *json, enum vbd_object_kind of,
	struct keep_input *ret_input, struct vbd_faults *faults, struct vbd_error *err)
{
	json_t *own = json_object();
	enum vbd_status status;

	*ret_input = (struct keep_input){.reconnect = VBD_RECONNECT_ALWAYS,
		.reconnect_min_ms = VBD_RECONNECT_MIN_MS,
		.reconnect_max_ms = VBD_RECONNECT_MAX_MS};
	if (!own)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	for (size_t i = 0; i < keep_field_count(of); i++) {
		json_t *value = json_object_get(json, keep_fields[i].name);

		if (!value)
			continue;
		(void)json_object_set(own, keep_fields[i].name, value);
		(void)json_object_del(json, keep_fields[i].name);
	}
	status = vbd_decode_all(own, "", keep_fields, keep_field_count(of), ret_input, faults, err);
	json_decref(own);
	if (status == VBD_OK && ret_input->reconnect_max_ms < ret_input->reconnect_min_ms)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/reconnect_max_ms",
			"reconnect_max_ms is less than reconnect_min_ms");
	return status;
}

/* VBD_E_BAD_VALUE if a body without `keep` says how the object is kept. */
static enum vbd_status refuse_policy(const struct keep_input *input, struct vbd_error *err)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(input->policy_seen); i++) {
		char pointer[32];

		if (!input->policy_seen[i])
			continue;
		(void)snprintf(
			pointer, sizeof(pointer), "/%s", keep_fields[i + COMMON_FIELDS].name);
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s is allowed together with keep only", pointer);
	}
	return VBD_OK;
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

/* A kind that can be kept. */
struct keepable {
	enum vbd_object_kind of;
	const char *list; /* key of the configuration file, and plural of the kind */
	make_fn make;
	void (*answer)(struct vbd_request *req, struct vbd_object *object);
};

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

static void answer_listener(struct vbd_request *req, struct vbd_object *listener)
{
	vbd_task_created(req, &vbd_listener_task, listener);
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

static void answer_buffer(struct vbd_request *req, struct vbd_object *buffer)
{
	vbd_task_answer_made(req, &vbd_buffer_task, buffer);
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

static void answer_connection(struct vbd_request *req, struct vbd_object *connection)
{
	vbd_connection_wait(req, VBD_CONTAINER_OF(connection, struct vbd_connection, object),
		VBD_GOAL_ESTABLISHED, 201, true);
}

/* The kinds that can be kept. */
static const struct keepable keepables[] = {
	{VBD_KIND_LISTENER, VBD_SPEC_LISTENERS, make_listener, answer_listener},
	{VBD_KIND_BUFFER, VBD_SPEC_BUFFERS, make_buffer, answer_buffer},
	{VBD_KIND_CONNECTION, VBD_SPEC_CONNECTIONS, make_connection, answer_connection},
};

/* NULL for a kind that can't be kept. */
static const struct keepable *keepable_of_kind(enum vbd_object_kind of)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(keepables); i++) {
		if (keepables[i].of == of)
			return &keepables[i];
	}
	return NULL;
}

/* The kind whose list is @list; NULL: none. */
static const struct keepable *keepable_of_list(const char *list)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(keepables); i++) {
		if (strcmp(keepables[i].list, list) == 0)
			return &keepables[i];
	}
	return NULL;
}

/* Make the object that a spec describes: `make` of struct vbd_kept_ops;
 * control thread. */
static enum vbd_status make_kept(struct vbd_kept *kept, struct vbd_object *before,
	struct vbd_object **ret_object, struct vbd_error *err)
{
	struct vbd_faults faults = {0};
	struct making making = {.daemon = kept->object.registry->daemon,
		.origin = vbd_origin_like(&kept->object),
		.kept = kept,
		.before = before,
		.keeps = true,
		.faults = &faults};
	struct keep_input unused;
	json_t *json = NULL;
	enum vbd_status status = vbd_json_parse(kept->body, strlen(kept->body), &json, err);

	if (status == VBD_OK)
		status = take_keep_members(json, kept->of, &unused, &faults, err);
	if (status == VBD_OK) {
		(void)json_object_del(json, "labels");
		making.json = json;
		status = keepable_of_kind(kept->of)->make(&making, ret_object, err);
	}
	vbd_faults_fini(&faults);
	json_decref(json);
	return status;
}

/* --- specs ----------------------------------------------------------------------------------- */

/* A spec with all to which it refers. */
struct keep_spec {
	struct vbd_kept_spec kept;
	json_t *json;
};

static void fini_spec(struct keep_spec *spec)
{
	vbd_caller_unref(spec->kept.origin.caller);
	vbd_labels_unref(spec->kept.origin.labels);
	json_decref(spec->json);
}

/* Decode all of @body, which the spec refers to. fini_spec() follows in any case. */
static enum vbd_status decode_spec(const struct keepable *what, const char *body,
	struct keep_spec *ret_spec, struct vbd_error *err)
{
	struct vbd_faults faults = {0};
	struct making making = {.keeps = true, .faults = &faults};
	struct keep_input input = {0};
	enum vbd_status status;

	*ret_spec = (struct keep_spec){.kept = {.of = what->of, .body = body}};
	status = vbd_json_parse(body, strlen(body), &ret_spec->json, err);
	if (status == VBD_OK && json_object_get(ret_spec->json, "keep"))
		status = vbd_error_input(err, VBD_E_UNKNOWN_FIELD, "/keep",
			"there is no keep here: all that is listed is kept");
	if (status == VBD_OK)
		status = check_can_be_kept(ret_spec->json, err);
	if (status == VBD_OK)
		status = vbd_labels_decode(json_object_get(ret_spec->json, "labels"),
			&ret_spec->kept.origin.labels, err);
	if (status == VBD_OK)
		status = take_keep_members(ret_spec->json, what->of, &input, &faults, err);
	if (status == VBD_OK) {
		(void)json_object_del(ret_spec->json, "labels");
		making.json = ret_spec->json;
		status = what->make(&making, NULL, err);
	}
	vbd_faults_fini(&faults);
	ret_spec->kept.origin.shared = input.share;
	ret_spec->kept.name = json_string_value(json_object_get(ret_spec->json, "name"));
	ret_spec->kept.policy = (struct vbd_kept_policy){.reconnect = input.reconnect,
		.min_ms = input.reconnect_min_ms,
		.max_ms = input.reconnect_max_ms};
	return status;
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

static enum vbd_status prepare_kept(struct vbd_request *req, const struct keepable *what,
	const struct keep_input *input, const char *body, struct vbd_kept **ret_kept,
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
	const struct keepable *what = keepable_of_list(req->route->pattern + strlen("/v1/"));
	struct keep_input input;
	enum vbd_status status;
	char *body;

	*ret_kept = NULL;
	if (!what || !json_is_object(req->json))
		return VBD_OK;
	body = dump_spec(req->json);
	if (!body)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	status = take_keep_members(req->json, what->of, &input, &req->faults, err);
	req->shares = input.share;
	if (status == VBD_OK && input.share && req->role != VBD_ROLE_CONTROL)
		status = vbd_error_input(err, VBD_E_FORBIDDEN, "/share",
			"only the control role may share an object");
	if (status == VBD_OK && !input.keep)
		status = refuse_policy(&input, err);
	else if (status == VBD_OK)
		status = check_can_be_kept(req->json, err);
	if (status == VBD_OK && input.keep)
		status = prepare_kept(req, what, &input, body, ret_kept, err);
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
	struct keep_spec spec;

	status = decode_spec(keepable_of_list(item->list), item->body, &spec, &cause);
	if (status == VBD_OK)
		(void)snprintf(name, name_bytes, "%s", spec.kept.name);
	else
		status = vbd_error_input(err, status, item->list, "%s:%u: %s: %.120s",
			vbd_text_path(specs->path).text, item->line, item->list, cause.text);
	fini_spec(&spec);
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
	struct keep_spec *decoded = calloc(specs->count + 1, sizeof(*decoded));
	struct vbd_error err = {0};
	size_t count = 0;

	for (size_t i = 0; kept && decoded && i < specs->count; i++) {
		const struct vbd_config_spec *item = &specs->items[i];

		if (decode_spec(keepable_of_list(item->list), item->body, &decoded[i], &err) ==
			VBD_OK) {
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
		fini_spec(&decoded[i]);
	free(decoded);
	free(kept);
}

/* This version decodes what an earlier one may have kept, and may not understand it. */
static void keep_row(const struct vbd_desired *row, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_error err = {0};
	enum vbd_object_kind of = VBD_KIND_NONE;
	const struct keepable *what =
		vbd_object_kind_parse(row->kind, &of) ? keepable_of_kind(of) : NULL;
	enum vbd_status status = VBD_E_NOT_SUPPORTED;
	struct vbd_kept *unused;
	struct keep_spec spec = {0};

	if (what)
		status = decode_spec(what, row->body, &spec, &err);
	if (status == VBD_OK && row->owner[0])
		spec.kept.origin.caller = vbd_callers_get(&daemon->callers, row->owner);
	spec.kept.source = VBD_KEPT_FROM_API;
	spec.kept.stored = true;
	if (status == VBD_OK && (spec.kept.origin.caller || !row->owner[0]))
		status = vbd_kept_add(daemon, &spec.kept, &unused, &err);
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
	const struct keepable *what = arg;

	if (object)
		what->answer(req, object);
	else
		vbd_task_reply_gone(req, vbd_task_of(what->of));
}

void vbd_create_keepable(struct vbd_request *req)
{
	const struct keepable *what = keepable_of_list(req->route->pattern + strlen("/v1/"));
	const char *name = json_string_value(json_object_get(req->json, "name"));
	const struct making making = {.daemon = vbd_request_daemon(req),
		.origin = vbd_request_origin(req),
		.json = req->json,
		.keeps = name && vbd_kept_prepared(vbd_request_daemon(req), what->of, name),
		.faults = &req->faults};
	struct vbd_object *object;

	if (what->of == VBD_KIND_CONNECTION && vbd_manual_requested(req->json)) {
		vbd_create_by_hand(req);
		return;
	}
	if (what->make(&making, &object, &req->err) != VBD_OK)
		return;
	vbd_kept_adopt(object);
	vbd_keep_answer(req, vbd_kept_ticket(object), object, answer_made_object, (void *)what);
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
