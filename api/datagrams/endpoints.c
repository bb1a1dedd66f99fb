/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/qp_params.h"
#include "daemon/datagrams/endpoints.h"

/* --- one endpoint ---------------------------------------------------------------------------- */

/* Subtract the GRH at the begin of each receive, which the peer did not send. */
static void put_counters(
	struct vbd_encoder *out, const char *name, const struct vbd_endpoint *endpoint)
{
	static const enum vbd_op ops[] = {VBD_OP_SEND, VBD_OP_SEND_IMM, VBD_OP_RECV};
	const struct vbd_op_counters *recv = vbd_qp_op_counters(&endpoint->qp, VBD_OP_RECV);

	vbd_begin_object(out, name);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ops); i++)
		vbd_put_op_counters(
			out, vbd_op_name(ops[i]), vbd_qp_op_counters(&endpoint->qp, ops[i]));
	vbd_put_u64(out, "grh_bytes", vbd_counter_get(&recv->completed) * VBD_GRH_BYTES);
	vbd_end(out);
}

static void put_inbox(
	struct vbd_encoder *out, const char *name, const struct vbd_endpoint_record *record)
{
	const struct vbd_endpoint_params *params = &record->endpoint->params;

	vbd_begin_object(out, name);
	vbd_put_u64(out, "messages", record->inbox.count);
	vbd_put_u64(
		out, "capacity", params->qp.service == VBD_SERVICE_INBOX ? params->qp.rq_depth : 0);
	vbd_put_u64(out, "dropped", record->inbox.dropped);
	vbd_end(out);
}

static void put_sidr(struct vbd_encoder *out, const char *name, const struct vbd_endpoint *endpoint)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "requests", endpoint->sidr_requests);
	vbd_put_u64(out, "answered", endpoint->sidr_answered);
	vbd_put_u64(out, "refused", endpoint->sidr_refused);
	vbd_end(out);
}

static uint64_t count_links(const struct vbd_link *list)
{
	uint64_t count = 0;

	vbd_list_for_each (link, list)
		count++;
	return count;
}

static void put_addr_and_device(struct vbd_encoder *out, const struct vbd_endpoint *endpoint)
{
	const struct vbd_endpoint_params *params = &endpoint->params;
	bool listens = endpoint->addr.ss_family != 0;

	vbd_put_address(out, "addr", &endpoint->addr);
	vbd_put_u64_or_null(out, "port", listens, vbd_addr_port(&endpoint->addr));
	vbd_put_reference(out, "device", endpoint->device.id, endpoint->device.name);
	vbd_put_u64(out, "port_num", params->port_num);
}

/* The attributes in force. A peer needs lqpn, sgid (lid on InfiniBand) and qkey. */
static void put_qp_attr(
	struct vbd_encoder *out, const char *name, const struct vbd_endpoint *endpoint)
{
	const struct vbd_endpoint_params *params = &endpoint->params;
	char gid[VBD_GID_TEXT_BYTES];

	vbd_begin_object(out, name);
	vbd_put_u64(out, "lqpn", endpoint->qp.info.lqpn);
	vbd_put_text(out, "state", vbd_qp_state_name(endpoint->qp.info.state));
	vbd_put_u64(out, "sq_psn", params->psn);
	vbd_put_hex(out, "qkey", params->qkey, 8);
	vbd_put_u64(out, "pkey_index", params->pkey_index);
	vbd_put_u64(out, "gid_index", (uint64_t)params->gid_index);
	vbd_put_text(out, "sgid", vbd_gid_text(endpoint->gid, gid));
	vbd_put_u64(out, "lid", endpoint->lid);
	vbd_end(out);
}

static void put_reply_data(
	struct vbd_encoder *out, const char *name, const struct vbd_endpoint *endpoint)
{
	struct vbd_private_data reply = endpoint->params.reply;

	reply.message = VBD_CM_MESSAGE_SIDR_REPLY;
	vbd_put_private_data(out, name, &reply, reply.length_bytes);
}

static void encode_endpoint(struct vbd_encoder *out, const void *item)
{
	const struct vbd_endpoint_record *record = item;
	const struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_endpoint *endpoint = record->endpoint;

	vbd_put_object(out, &record->object);
	vbd_put_text(out, "state", vbd_endpoint_state_name(endpoint->state));
	put_addr_and_device(out, endpoint);
	put_reply_data(out, "private_data", endpoint);
	vbd_put_u64(out, "mtu_bytes", endpoint->mtu_bytes);
	vbd_put_u64(out, "max_message_bytes", endpoint->mtu_bytes);
	vbd_put_text(out, "service", vbd_service_name(endpoint->params.qp.service));
	vbd_put_ud_params(out, "qp", daemon, &endpoint->params.qp);
	put_qp_attr(out, "qp_attr", endpoint);
	vbd_put_ref(out, "cq", daemon->cqs, endpoint->qp.cq_id);
	put_counters(out, "counters", endpoint);
	put_inbox(out, "inbox", record);
	put_sidr(out, "sidr", endpoint);
	vbd_put_u64(out, "ud_peer_count", count_links(&record->peers));
	vbd_put_u64(out, "multicast_membership_count", count_links(&record->groups));
	vbd_put_end(out, &record->object, &endpoint->qp);
	vbd_put_time(out, "created_at", endpoint->created_ns);
	vbd_put_time(out, "ended_at", endpoint->ended_ns);
}

/* --- creation -------------------------------------------------------------------------------- */

struct endpoint_create {
	struct vbd_endpoint_spec spec;
	struct vbd_private_data_input private_data;
	struct vbd_qp_input qp;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct endpoint_create, spec.name)},
	{VBD_FIELD(TEXT, "addr", struct endpoint_create, spec.addr), .min = 1, .max = 255,
		.check = vbd_addr_is_own, .check_text = VBD_ADDR_NOT_OWN},
	{VBD_FIELD(UINT, "port", struct endpoint_create, spec.port), .max = 65535},
	{VBD_FIELD(DEVICE, "device", struct endpoint_create, spec.device)},
	{VBD_FIELD(UINT, "port_num", struct endpoint_create, spec.params.port_num), .min = 1,
		.max = 255},
	{VBD_FIELD(UINT, "gid_index", struct endpoint_create, spec.params.gid_index), .max = 255},
	{VBD_FIELD(UINT, "pkey_index", struct endpoint_create, spec.params.pkey_index),
		.max = 65535},
	{VBD_FIELD(HEX, "qkey", struct endpoint_create, spec.params.qkey), .max = UINT32_MAX},
	{VBD_FIELD(UINT, "psn", struct endpoint_create, spec.params.psn), .max = 0xffffff},
	VBD_PRIVATE_DATA_FIELD(struct endpoint_create),
	VBD_UD_QP_FIELDS(struct endpoint_create),
};

static enum vbd_status check_members(
	const json_t *json, const struct endpoint_create *input, struct vbd_error *err)
{
	if (!input->spec.addr[0] && (vbd_given(json, "port") || input->private_data.data))
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/addr",
			"/addr is missing: without it the endpoint does not listen");
	/* Without a service a client posts receives, and would find the GRH in its buffer. */
	if (input->qp.params.qp.service == VBD_SERVICE_NONE)
		return vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/service",
			"an endpoint keeps or drops its messages (inbox, sink); receives of a "
			"client's own are a connection's");
	return VBD_OK;
}

static enum vbd_status decode_create(
	struct vbd_request *req, struct vbd_endpoint_spec *ret_spec, struct vbd_error *err)
{
	struct endpoint_create input = {.spec = {.origin = vbd_request_origin(req),
						.params = vbd_endpoint_params_default()},
		.qp.params.qp = vbd_endpoint_params_default().qp};
	struct vbd_endpoint_spec *spec = &input.spec;
	enum vbd_status status =
		vbd_request_decode_found(req, VBD_FIELDS(create_fields), &input, err);

	if (status == VBD_OK)
		status = check_members(req->json, &input, err);
	if (status == VBD_OK)
		status = vbd_qp_input_check(vbd_request_daemon(req), req->caller, &input.qp, err);
	if (status == VBD_OK)
		status = vbd_private_data_decode(&input.private_data, &spec->params.reply, err);
	if (status == VBD_OK)
		status = vbd_private_data_check(&spec->params.reply, VBD_CM_MESSAGE_SIDR_REPLY,
			false, "/private_data/data", err);
	spec->params.qp = input.qp.params.qp;
	*ret_spec = *spec;
	return status;
}

static void *create_endpoint(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_endpoint_record *record = NULL;
	struct vbd_endpoint_spec spec;

	if (decode_create(req, &spec, err) == VBD_OK)
		(void)!vbd_endpoint_create(vbd_request_daemon(req), &spec, &record, err);
	return record;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_endpoint_record, endpoint->state)

VBD_PAGE_TEXT(by_device, struct vbd_endpoint_record, endpoint->device.name)

VBD_PAGE_NUMBER(by_created, struct vbd_endpoint_record, endpoint->created_ns)

static const struct vbd_page_column endpoint_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	VBD_COLUMN_DEVICE(VBD_SORTS_AND_SELECTS, by_device),
	{"created_at", VBD_SORTS, .number = by_created},
	{.name = NULL},
};

/* As a task, an endpoint is done when it is open. */
const struct vbd_task_kind vbd_ud_endpoint_task = {
	.kind = VBD_KIND_UD_ENDPOINT,
	.create = create_endpoint,
	.answer = vbd_task_answer_made,
	.done = VBD_STATES(VBD_ENDPOINT_READY),
	.page.members = vbd_ud_endpoint_members,
	.page.columns = endpoint_columns,
	.page.states = VBD_PAGE_STATES(VBD_ENDPOINT_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_endpoint,
};
