/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/keep_spec.h"

#include "api/json/parse.h"
#include "api/resources/connections.h"
#include "api/resources/labels.h"
#include "base/attr.h"
#include "daemon/config/config.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/core/labels.h"
#include "daemon/kept/held.h"
#include "daemon/memory/buffers.h"

#define RECONNECT_MIN_MS 10
#define RECONNECT_MAX_MS 3600000

static const char *const share_names[] = {"nobody", "operators"};
static const char *const reconnect_names[] = {VBD_RECONNECT_MAP(VBD_ENUM_NAME)};

/* --- the members ----------------------------------------------------------------------------- */

static const struct vbd_field keep_fields[] = {
	{VBD_FIELD(BOOL, "keep", struct vbd_keep_input, keep)},
	{VBD_FIELD(ENUM, "share", struct vbd_keep_input, share), VBD_NAMES(share_names)},
	{VBD_FIELD(ENUM, "reconnect", struct vbd_keep_input, reconnect), VBD_NAMES(reconnect_names),
		VBD_FIELD_SEEN(struct vbd_keep_input, policy_seen[0])},
	{VBD_FIELD(UINT, "reconnect_min_ms", struct vbd_keep_input, reconnect_min_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS,
		VBD_FIELD_SEEN(struct vbd_keep_input, policy_seen[1])},
	{VBD_FIELD(UINT, "reconnect_max_ms", struct vbd_keep_input, reconnect_max_ms),
		.min = RECONNECT_MIN_MS, .max = RECONNECT_MAX_MS,
		VBD_FIELD_SEEN(struct vbd_keep_input, policy_seen[2])},
};

/* The members of all kinds; those behind them are of connections. */
#define COMMON_FIELDS 2

static size_t field_count(enum vbd_object_kind of)
{
	return of == VBD_KIND_CONNECTION ? VBD_ARRAY_LEN(keep_fields) : COMMON_FIELDS;
}

/* Move the members out of @json, and decode them. */
enum vbd_status vbd_keep_take_members(json_t *json, enum vbd_object_kind of,
	struct vbd_keep_input *ret_input, struct vbd_faults *faults, struct vbd_error *err)
{
	json_t *own = json_object();
	enum vbd_status status;

	*ret_input = (struct vbd_keep_input){.reconnect = VBD_RECONNECT_ALWAYS,
		.reconnect_min_ms = VBD_RECONNECT_MIN_MS,
		.reconnect_max_ms = VBD_RECONNECT_MAX_MS};
	if (!own)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep an object");
	for (size_t i = 0; i < field_count(of); i++) {
		json_t *value = json_object_get(json, keep_fields[i].name);

		if (!value)
			continue;
		(void)json_object_set(own, keep_fields[i].name, value);
		(void)json_object_del(json, keep_fields[i].name);
	}
	status = vbd_decode_all(own, "", keep_fields, field_count(of), ret_input, faults, err);
	json_decref(own);
	if (status == VBD_OK && ret_input->reconnect_max_ms < ret_input->reconnect_min_ms)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/reconnect_max_ms",
			"reconnect_max_ms is less than reconnect_min_ms");
	return status;
}

enum vbd_status vbd_keep_refuse_policy(const struct vbd_keep_input *input, struct vbd_error *err)
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

static bool is_id_alone(const json_t *device)
{
	const char *name = json_string_value(
		json_is_object(device) ? json_object_get(device, "name") : device);
	uint64_t id;

	return device && !json_is_null(device) && (!name || vbd_ref_is_id(name, &id));
}

/* An object needs a name of its own, and a request that can make it again. */
enum vbd_status vbd_keep_check_body(const json_t *json, struct vbd_error *err)
{
	const char *name = json_string_value(json_object_get(json, "name"));

	if (vbd_manual_requested(json))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/bringup",
			"a connection that is brought up by hand can't be kept");
	if (!name || !name[0])
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/name",
			"what is kept needs a name: it is found again by that");
	if (is_id_alone(json_object_get(json, "device")))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/device",
			"a kept object names its device: the id is another one after a restart");
	return VBD_OK;
}

/* --- objects --------------------------------------------------------------------------------- */

static struct vbd_daemon *daemon_of(const struct vbd_kept *kept)
{
	return kept ? kept->object.registry->daemon : NULL;
}

static struct vbd_origin origin_of(const struct vbd_kept *kept)
{
	return kept ? vbd_origin_like(&kept->object) : (struct vbd_origin){0};
}

static enum vbd_status make_listener(struct vbd_kept *kept, const json_t *json,
	struct vbd_object *before, struct vbd_object **ret_object, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct vbd_daemon *daemon = daemon_of(kept);
	struct vbd_listener_spec spec;
	struct vbd_listener *listener;
	const struct vbd_origin origin = origin_of(kept);
	enum vbd_status status = vbd_listener_decode(daemon, &origin, json, &spec, faults, err);

	(void)before;
	if (status != VBD_OK || !daemon)
		return status;
	status = vbd_listener_create(daemon, &spec, &listener, err);
	if (status == VBD_OK)
		*ret_object = &listener->object;
	return status;
}

/* A buffer of the kind shared has the bytes of the run before, if systemd has held them. */
static enum vbd_status make_new_buffer(struct vbd_kept *kept, struct vbd_buffer_spec *spec,
	struct vbd_buffer **ret_buffer, struct vbd_error *err)
{
	struct vbd_buffer_bytes bytes = {.fd = vbd_held_fd(kept)};
	enum vbd_status status;

	if (bytes.fd >= 0)
		spec->bytes = &bytes;
	status = vbd_buffer_create(daemon_of(kept), spec, ret_buffer, err);
	if (status == VBD_OK && bytes.misfit.status)
		vbd_held_misfit(kept, &bytes.misfit);
	return status;
}

/* The bytes of a lost buffer stay. */
static enum vbd_status make_buffer(struct vbd_kept *kept, const json_t *json,
	struct vbd_object *before, struct vbd_object **ret_object, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct vbd_daemon *daemon = daemon_of(kept);
	struct vbd_buffer_spec spec;
	struct vbd_buffer *buffer =
		before ? VBD_CONTAINER_OF(before, struct vbd_buffer, object) : NULL;
	const struct vbd_origin origin = origin_of(kept);
	enum vbd_status status = vbd_buffer_decode(daemon, &origin, json, &spec, faults, err);

	if (status != VBD_OK || !daemon)
		return status;
	if (buffer && buffer->state == VBD_BUFFER_FAILED) {
		status = vbd_buffer_delete(buffer, err);
		buffer = NULL;
	}
	if (status == VBD_OK)
		status = buffer ? vbd_buffer_restore(buffer, &spec, err)
				: make_new_buffer(kept, &spec, &buffer, err);
	if (status == VBD_OK)
		*ret_object = &buffer->object;
	return status;
}

/* A peer that allows no writes would end each connection by the first heartbeat. */
static bool does_without(const struct vbd_conn *conn)
{
	const struct vbd_qp_params *params = &conn->params.qp;

	return params->heartbeat_if_able &&
	       (!params->heartbeat_ms || vbd_qp_refuses_heartbeat(&conn->qp));
}

static enum vbd_status make_connection(struct vbd_kept *kept, const json_t *json,
	struct vbd_object *before, struct vbd_object **ret_object, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct vbd_daemon *daemon = daemon_of(kept);
	struct vbd_connection_spec spec;
	struct vbd_connection *connection;
	const struct vbd_origin origin = origin_of(kept);
	enum vbd_status status =
		vbd_connection_decode(daemon, &origin, json, true, &spec, faults, err);

	if (status != VBD_OK || !daemon)
		return status;
	if (before && spec.params.qp.heartbeat_if_able &&
		does_without(VBD_CONTAINER_OF(before, struct vbd_connection, object)->conn))
		spec.params.qp.heartbeat_ms = 0;
	spec.replaces_id = before ? before->id : 0;
	status = vbd_connection_create(daemon, &spec, &connection, err);
	if (status == VBD_OK)
		*ret_object = &connection->object;
	return status;
}

/* The kinds that can be kept. */
static const struct vbd_keepable keepables[] = {
	{VBD_KIND_LISTENER, VBD_SPEC_LISTENERS, make_listener},
	{VBD_KIND_BUFFER, VBD_SPEC_BUFFERS, make_buffer},
	{VBD_KIND_CONNECTION, VBD_SPEC_CONNECTIONS, make_connection},
};

const struct vbd_keepable *vbd_keepable_of(enum vbd_object_kind of)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(keepables); i++) {
		if (keepables[i].of == of)
			return &keepables[i];
	}
	return NULL;
}

const struct vbd_keepable *vbd_keepable_listed(const char *list)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(keepables); i++) {
		if (strcmp(keepables[i].list, list) == 0)
			return &keepables[i];
	}
	return NULL;
}

enum vbd_status vbd_keep_spec_make(struct vbd_kept *kept, struct vbd_object *before,
	struct vbd_object **ret_object, struct vbd_error *err)
{
	struct vbd_faults faults = {0};
	struct vbd_keep_input unused;
	json_t *json = NULL;
	enum vbd_status status = vbd_json_parse(kept->body, strlen(kept->body), &json, err);

	if (status == VBD_OK)
		status = vbd_keep_take_members(json, kept->of, &unused, &faults, err);
	if (status == VBD_OK) {
		(void)json_object_del(json, "labels");
		status = vbd_keepable_of(kept->of)->make(
			kept, json, before, ret_object, &faults, err);
	}
	vbd_faults_fini(&faults);
	json_decref(json);
	return status;
}

/* --- specs ----------------------------------------------------------------------------------- */

void vbd_keep_spec_fini(struct vbd_keep_spec *spec)
{
	vbd_caller_unref(spec->kept.origin.caller);
	vbd_labels_unref(spec->kept.origin.labels);
	json_decref(spec->json);
}

/* Decode all of @body, which the spec refers to. vbd_keep_spec_fini() follows in any case. */
enum vbd_status vbd_keep_spec_decode(const struct vbd_keepable *what, const char *body,
	struct vbd_keep_spec *ret_spec, struct vbd_error *err)
{
	struct vbd_faults faults = {0};
	struct vbd_keep_input input = {0};
	enum vbd_status status;

	*ret_spec = (struct vbd_keep_spec){.kept = {.of = what->of, .body = body}};
	status = vbd_json_parse(body, strlen(body), &ret_spec->json, err);
	if (status == VBD_OK && json_object_get(ret_spec->json, "keep"))
		status = vbd_error_input(err, VBD_E_UNKNOWN_FIELD, "/keep",
			"there is no keep here: all that is listed is kept");
	if (status == VBD_OK)
		status = vbd_keep_check_body(ret_spec->json, err);
	if (status == VBD_OK)
		status = vbd_labels_decode(json_object_get(ret_spec->json, "labels"),
			&ret_spec->kept.origin.labels, err);
	if (status == VBD_OK)
		status = vbd_keep_take_members(ret_spec->json, what->of, &input, &faults, err);
	if (status == VBD_OK) {
		(void)json_object_del(ret_spec->json, "labels");
		status = what->make(NULL, ret_spec->json, NULL, NULL, &faults, err);
	}
	vbd_faults_fini(&faults);
	ret_spec->kept.origin.shared = input.share;
	ret_spec->kept.name = json_string_value(json_object_get(ret_spec->json, "name"));
	ret_spec->kept.policy = (struct vbd_kept_policy){.reconnect = input.reconnect,
		.min_ms = input.reconnect_min_ms,
		.max_ms = input.reconnect_max_ms};
	return status;
}
