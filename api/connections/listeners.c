/* SPDX-License-Identifier: Apache-2.0 */
#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "api/core/qp_params.h"
#include "daemon/connections/listeners.h"
#include "daemon/copies/copy.h"

static const char *const accept_names[VBD_ACCEPT_COUNT] = {VBD_ACCEPT_MAP(VBD_ENUM_NAME)};

#define ACCEPT_TIMEOUT_MIN_MS 100
#define ACCEPT_TIMEOUT_MAX_MS 60000

/* --- one listener ---------------------------------------------------------------------------- */

static void put_cm_params(struct vbd_encoder *out, const struct vbd_cm_params *cm)
{
	vbd_put_u64_or_null(out, "tos", cm->tos >= 0, (uint64_t)cm->tos);
	vbd_put_bool(out, "reuse_addr", cm->reuse_addr);
	if (cm->v6_only == VBD_CHOICE_NONE)
		vbd_put_null(out, "v6_only");
	else
		vbd_put_bool(out, "v6_only", cm->v6_only == VBD_CHOICE_YES);
}

static void put_reachable(
	struct vbd_encoder *out, const char *name, const struct vbd_listener *listener)
{
	struct vbd_reach *reach;
	size_t count = vbd_listener_reach(listener, &reach);

	vbd_begin_array(out, name);
	for (size_t i = 0; i < count; i++) {
		vbd_begin_object(out, NULL);
		vbd_put_reference(out, "device", reach[i].device->id, reach[i].device->name);
		vbd_put_address(out, "addr", &reach[i].addr);
		vbd_put_u64(out, "port", vbd_addr_port(&listener->addr));
		vbd_end(out);
	}
	vbd_end(out);
	free(reach);
}

void vbd_put_allow(struct vbd_encoder *out, const struct vbd_gate_rules *rules)
{
	char text[VBD_GATE_NET_TEXT_BYTES];

	vbd_begin_array(out, "allow");
	for (uint32_t i = 0; i < rules->allow_count; i++)
		vbd_put_text(out, NULL, vbd_gate_net_format(&rules->allow[i], text));
	vbd_end(out);
}

static void put_gate(struct vbd_encoder *out, const struct vbd_gate *gate)
{
	const struct vbd_gate_rules *rules = &gate->rules;

	vbd_put_allow(out, rules);
	vbd_put_u64(out, "max_connections", rules->max_connections);
	vbd_put_u64(out, "max_per_peer", rules->max_per_peer);
	vbd_put_u64(out, "connects_per_s", rules->connects_per_s);
	vbd_put_u64(out, "connects_burst", rules->connects_burst);
}

static void put_refused(
	struct vbd_encoder *out, const char *name, const struct vbd_listener *listener)
{
	vbd_begin_object(out, name);
	for (enum vbd_connect_refusal refusal = 0; refusal < VBD_CONNECT_REFUSAL_COUNT; refusal++)
		vbd_put_u64(out, vbd_connect_refusal_name(refusal), listener->refused[refusal]);
	vbd_end(out);
}

static void put_private_data(
	struct vbd_encoder *out, const char *name, const struct vbd_cm_params *cm)
{
	struct vbd_private_data data = cm->private_data;

	data.message = VBD_CM_MESSAGE_REPLY;
	vbd_put_private_data(out, name, &data, data.length_bytes);
}

static void encode_listener(struct vbd_encoder *out, const void *item)
{
	const struct vbd_listener *listener = item;

	vbd_put_object(out, &listener->object);
	vbd_put_text(out, "state", vbd_listener_state_name(listener->state));
	vbd_put_address(out, "addr", &listener->addr);
	vbd_put_u64(out, "port", vbd_addr_port(&listener->addr));
	vbd_put_reference(out, "device", listener->cm.device.id, listener->cm.device.name);
	put_cm_params(out, &listener->cm_params);
	/* This asks the kernel. */
	if (vbd_encode_wants(out, "reachable"))
		put_reachable(out, "reachable", listener);
	vbd_put_u64(out, "backlog", listener->backlog);
	vbd_put_text(out, "accept", vbd_accept_name(listener->accept));
	vbd_put_u64(out, "accept_timeout_ms", listener->accept_timeout_ms);
	put_gate(out, &listener->gate);
	vbd_put_text(out, "service", vbd_service_name(listener->params.qp.service));
	vbd_put_params(out, "qp", listener->object.registry->daemon, &listener->params);
	put_private_data(out, "private_data", &listener->cm_params);
	vbd_put_u64(out, "requests", listener->requests);
	vbd_put_u64(out, "accepted", listener->accepted);
	vbd_put_u64(out, "rejected", listener->rejected);
	put_refused(out, "refused", listener);
	vbd_put_u64(out, "connections", listener->gate.connections);
	vbd_put_u64(out, "waiting", listener->waiting);
	vbd_put_error(out, "error", NULL, &listener->error, NULL);
	vbd_put_desired(out, &listener->object);
	vbd_put_time(out, "created_at", listener->object.created_ns);
}

/* A call thread destroys the CM id, which may take as long as the kernel likes. */
#define PORT_FREE_MS 500

static bool call_has_ended(const void *calls, uint64_t id_number)
{
	return vbd_calls_has_ended(calls, id_number);
}

static void reply_deleted(struct vbd_request *req, void *arg)
{
	(void)arg;
	vbd_reply_empty(req, 204);
}

/* The next request may want the port of the listener. */
static void answer_port_free(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_wait wait = {.is_over = call_has_ended,
		.on = daemon->fabric->calls,
		.number = vbd_calls_newest_id(daemon->fabric->calls),
		.watches = &daemon->id_watches,
		.most_ms = PORT_FREE_MS};

	vbd_request_wait(req, &wait, reply_deleted, NULL);
}

/* --- creation -------------------------------------------------------------------------------- */

#define LIMIT_MAX 1000000

/* The rows of a struct that has `const json_t *allow`; @rules_: its struct vbd_gate_rules. */
#define GATE_FIELDS(struct_, rules_)                                                               \
	{VBD_FIELD(ARRAY, "allow", struct_, allow), .max = VBD_GATE_ALLOW_MAX},                    \
		{VBD_FIELD(UINT, "max_connections", struct_, rules_.max_connections),              \
			.max = LIMIT_MAX},                                                         \
		{VBD_FIELD(UINT, "max_per_peer", struct_, rules_.max_per_peer), .max = LIMIT_MAX}, \
		{VBD_FIELD(UINT, "connects_per_s", struct_, rules_.connects_per_s),                \
			.max = LIMIT_MAX},                                                         \
	{                                                                                          \
		VBD_FIELD(UINT, "connects_burst", struct_, rules_.connects_burst),                 \
			.max = LIMIT_MAX                                                           \
	}

enum vbd_status vbd_allow_decode(
	const json_t *allow, struct vbd_gate_rules *rules, struct vbd_error *err)
{
	const json_t *item;
	size_t i;

	if (!allow)
		return VBD_OK;
	rules->allow_count = 0;
	json_array_foreach(allow, i, item)
	{
		const char *text = json_string_value(item);
		char pointer[32];

		(void)snprintf(pointer, sizeof(pointer), "/allow/%zu", i);
		if (!text)
			return vbd_error_input(
				err, VBD_E_WRONG_TYPE, pointer, "%s is not a string", pointer);
		if (!vbd_gate_net_parse(text, &rules->allow[rules->allow_count++]))
			return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
				"'%.60s' is no network as 192.0.2.0/24 or fd00::/8, no address and "
				"no GID; bits after the prefix must be zero",
				text);
	}
	return VBD_OK;
}

struct listener_create {
	struct vbd_listener_spec spec;
	bool v6_only;
	const json_t *allow;
	struct vbd_private_data_input private_data;
	struct vbd_qp_input qp;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct listener_create, spec.name)},
	{VBD_FIELD(TEXT, "addr", struct listener_create, spec.addr), .required = true, .min = 1,
		.max = 255, .check = vbd_addr_is_own, .check_text = VBD_ADDR_NOT_OWN},
	{VBD_FIELD(UINT, "port", struct listener_create, spec.port), .max = 65535},
	{VBD_FIELD(UINT, "backlog", struct listener_create, spec.backlog), .min = 1, .max = 65535},
	{VBD_FIELD(ENUM, "accept", struct listener_create, spec.accept), VBD_NAMES(accept_names)},
	{VBD_FIELD(UINT, "accept_timeout_ms", struct listener_create, spec.accept_timeout_ms),
		.min = ACCEPT_TIMEOUT_MIN_MS, .max = ACCEPT_TIMEOUT_MAX_MS},
	{VBD_FIELD(DEVICE, "device", struct listener_create, spec.cm.device)},
	{VBD_FIELD(UINT, "tos", struct listener_create, spec.cm.tos), .max = 255},
	{VBD_FIELD(BOOL, "reuse_addr", struct listener_create, spec.cm.reuse_addr)},
	{VBD_FIELD(BOOL, "v6_only", struct listener_create, v6_only)},
	GATE_FIELDS(struct listener_create, spec.gate),
	VBD_PRIVATE_DATA_FIELD(struct listener_create),
	VBD_LISTENER_QP_FIELDS(struct listener_create),
};

/* The service files needs longer receives than others, and more of them. */
static void set_default_receives(struct vbd_qp_input *qp)
{
	struct vbd_conn_params params = qp->params;

	vbd_copy_params(&params);
	if (!qp->seen.recv_size_bytes)
		qp->params.qp.recv_size_bytes = params.qp.recv_size_bytes;
	if (!qp->seen.rq_depth)
		qp->params.qp.rq_depth = params.qp.rq_depth;
	vbd_qp_input_heartbeat(qp, VBD_COPY_HEARTBEAT_MS);
}

enum vbd_status vbd_listener_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_listener_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct listener_create input = {
		.spec = {.origin = *origin,
			.backlog = 1024,
			.accept = VBD_ACCEPT_AUTO,
			.accept_timeout_ms = 20000,
			.cm.tos = -1},
		.qp = vbd_qp_input_default(),
	};
	struct vbd_cm_params *cm = &input.spec.cm;
	enum vbd_status status =
		vbd_decode_all(json, "", VBD_FIELDS(create_fields), &input, faults, err);

	if (status == VBD_OK)
		status = vbd_allow_decode(input.allow, &input.spec.gate, err);
	if (input.qp.params.qp.service == VBD_SERVICE_FILES)
		set_default_receives(&input.qp);
	if (status == VBD_OK)
		status = vbd_qp_input_check(daemon, origin->caller, &input.qp, err);
	if (status == VBD_OK)
		status = vbd_private_data_decode(&input.private_data, &cm->private_data, err);
	if (status == VBD_OK)
		status = vbd_members_find(
			daemon, origin->caller, json, "", VBD_FIELDS(create_fields), &input, err);
	if (vbd_given(json, "v6_only"))
		cm->v6_only = input.v6_only ? VBD_CHOICE_YES : VBD_CHOICE_NO;
	*ret_spec = input.spec;
	ret_spec->params = input.qp.params;
	return status;
}

/* --- change ---------------------------------------------------------------------------------- */

struct listener_patch {
	struct vbd_listener_rules rules;
	const json_t *allow;
	struct vbd_qp_input qp;
};

static const struct vbd_field patch_fields[] = {
	{VBD_FIELD(ENUM, "accept", struct listener_patch, rules.accept), VBD_NAMES(accept_names)},
	{VBD_FIELD(UINT, "accept_timeout_ms", struct listener_patch, rules.accept_timeout_ms),
		.min = ACCEPT_TIMEOUT_MIN_MS, .max = ACCEPT_TIMEOUT_MAX_MS},
	GATE_FIELDS(struct listener_patch, rules.gate),
	VBD_LISTENER_QP_FIELDS(struct listener_patch),
};

/* @rules holds the present values, which absent members keep. */
static enum vbd_status decode_patch(
	struct vbd_request *req, struct vbd_listener_rules *rules, struct vbd_error *err)
{
	struct listener_patch patch = {.rules = *rules, .qp.params = rules->params};
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(patch_fields), &patch, err);

	if (status == VBD_OK && !json_object_size(req->json))
		return vbd_error_set(err, VBD_E_MISSING_FIELD,
			"the body changes nothing: give accept, accept_timeout_ms, allow, service, "
			"qp, max_connections, max_per_peer, connects_per_s or connects_burst");
	if (status == VBD_OK)
		status = vbd_allow_decode(patch.allow, &patch.rules.gate, err);
	/* Without a new sq_depth signal_every keeps its value. */
	patch.qp.seen.signal_every |= !patch.qp.seen.sq_depth;
	if (status == VBD_OK)
		status = vbd_qp_input_check(vbd_request_daemon(req), req->caller, &patch.qp, err);
	*rules = patch.rules;
	rules->params = patch.qp.params;
	return status;
}

void vbd_patch_listener(struct vbd_request *req)
{
	struct vbd_listener *listener = vbd_task_find(req, &vbd_listener_task);
	struct vbd_listener_rules rules;

	if (!listener)
		return;
	rules = vbd_listener_rules(listener);
	if (decode_patch(req, &rules, &req->err) == VBD_OK &&
		vbd_listener_change(listener, &rules, &req->err) == VBD_OK)
		vbd_task_reply(req, 200, &vbd_listener_task, listener);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_listener, state)

static uint64_t by_port(const void *item)
{
	return vbd_addr_port(&((const struct vbd_listener *)item)->addr);
}

VBD_PAGE_TEXT(by_device, struct vbd_listener, cm.device.name)
VBD_PAGE_NUMBER(by_requests, struct vbd_listener, requests)

static const struct vbd_page_column listener_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"port", VBD_SORTS, .number = by_port},
	{"requests", VBD_SORTS, .number = by_requests},
	VBD_COLUMN_CREATED,
	VBD_COLUMN_DEVICE(VBD_SELECTS, by_device),
	{.name = NULL},
};

static enum vbd_status delete_listener(struct vbd_object *object, struct vbd_error *err)
{
	(void)err;
	vbd_listener_delete(VBD_CONTAINER_OF(object, struct vbd_listener, object));
	return VBD_OK;
}

static bool is_idle(const void *task)
{
	return !((const struct vbd_listener *)task)->gate.connections;
}

const struct vbd_task_kind vbd_listener_task = {
	.kind = VBD_KIND_LISTENER,
	.is_idle = is_idle,
	.remove = delete_listener,
	.answer_gone = answer_port_free,
	.page.members = vbd_listener_members,
	.page.columns = listener_columns,
	.page.states = VBD_PAGE_STATES(VBD_LISTENER_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_listener,
};
