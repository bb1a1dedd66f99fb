/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"
#include "api/json/encode.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/members.h"
#include "api/resources/task.h"
#include "base/addr.h"
#include "daemon/datagrams/endpoints.h"

/* --- one peer -------------------------------------------------------------------------------- */

static void put_path(struct vbd_encoder *out, const char *name, const struct vbd_peer *peer)
{
	const struct vbd_ah_path *path = &peer->path;
	char gid[VBD_GID_TEXT_BYTES];

	if (!peer->known) {
		vbd_put_null(out, name);
		return;
	}
	vbd_begin_object(out, name);
	vbd_put_text(out, "gid", path->global ? vbd_gid_text(path->dgid, gid) : NULL);
	vbd_put_u64_or_null(out, "gid_index", path->global, path->sgid_index);
	vbd_put_u64_or_null(out, "hop_limit", path->global, path->hop_limit);
	vbd_put_u64_or_null(out, "traffic_class", path->global, path->traffic_class);
	vbd_put_u64_or_null(out, "flow_label", path->global, path->flow_label);
	vbd_put_u64(out, "lid", path->dlid);
	vbd_put_u64(out, "sl", path->sl);
	vbd_put_u64(out, "port_num", path->port_num);
	vbd_end(out);
}

static void put_private_data(struct vbd_encoder *out, const char *name, const struct vbd_peer *peer)
{
	struct vbd_private_data local = peer->request;

	vbd_begin_object(out, name);
	local.message = VBD_CM_MESSAGE_SIDR_REQUEST;
	vbd_put_private_data(out, "local", &local, local.length_bytes);
	vbd_put_private_data(
		out, "peer", &peer->answer, vbd_private_data_shown_bytes(&peer->answer));
	vbd_end(out);
}

static const struct vbd_peer_record *record_of(const void *item)
{
	return item;
}

static void encode_peer(struct vbd_encoder *out, const void *item)
{
	const struct vbd_peer_record *record = record_of(item);
	const struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_peer *peer = &record->peer;

	vbd_put_object(out, &record->object);
	vbd_put_text(out, "state", vbd_peer_state_json(peer->state));
	vbd_put_text_or_null(out, "waits_for", vbd_peer_state_waits_for(peer->state));
	vbd_put_ref(out, "ud_endpoint", daemon->ud_endpoints, record->endpoint_id);
	vbd_put_text_or_null(out, "dst_addr", record->dst_addr);
	vbd_put_u64_or_null(out, "dst_port", record->dst_port != 0, record->dst_port);
	vbd_put_u64_or_null(out, "message_seq", record->message != 0, record->message);
	vbd_put_u64_or_null(out, "qpn", peer->known, peer->qpn);
	put_path(out, "path", peer);
	if (peer->known)
		vbd_put_hex(out, "qkey", peer->qkey, 8);
	else
		vbd_put_null(out, "qkey");
	put_private_data(out, "private_data", peer);
	vbd_put_u64(out, "user_count", record->users);
	vbd_put_u64_or_null(out, "timeout_ms", record->timeout_ms != 0, record->timeout_ms);
	vbd_put_error(out, "error", &peer->error, NULL);
	vbd_put_time(out, "created_at", record->object.created_ns);
}

/* --- the task: its resolution --------------------------------------------------------------- */

static enum vbd_task_state task_state(const void *item)
{
	enum vbd_peer_state state = record_of(item)->peer.state;

	if (state == VBD_PEER_READY)
		return VBD_TASK_DONE;
	return state == VBD_PEER_FAILED ? VBD_TASK_FAILED : VBD_TASK_RUNNING;
}

void vbd_delete_ud_peer(struct vbd_request *req)
{
	struct vbd_peer_record *record = vbd_task_find(req, &vbd_ud_peer_task);
	struct vbd_error err = {0};

	if (!record)
		return;
	if (vbd_peer_delete(record, &err) == VBD_OK)
		vbd_reply_empty(req, 204);
	else
		vbd_reply_problem(req, &err);
}

/* --- creation -------------------------------------------------------------------------------- */

struct peer_create {
	const char *name;
	struct vbd_json_ref endpoint;
	const char *dst_addr;
	uint16_t dst_port;
	struct vbd_private_data_input private_data;
	uint32_t timeout_ms;
	uint64_t message;
	const char *gid;
	uint16_t lid;
	uint32_t qpn;
	uint64_t qkey;
	uint8_t sl;
	uint8_t gid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
	bool dst_port_seen, timeout_seen, message_seen, lid_seen, qpn_seen, qkey_seen, sl_seen,
		gid_index_seen, hop_limit_seen, traffic_class_seen, flow_label_seen;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct peer_create)},
	{VBD_FIELD(REF, "ud_endpoint", struct peer_create, endpoint), .required = true},
	{VBD_FIELD(STRING, "dst_addr", struct peer_create, dst_addr), .min = 1, .max = 255,
		.check = vbd_addr_is_host, .check_text = VBD_ADDR_NO_HOST},
	{VBD_FIELD(UINT, "dst_port", struct peer_create, dst_port), .min = 1, .max = 65535,
		VBD_FIELD_SEEN(struct peer_create, dst_port_seen)},
	VBD_PRIVATE_DATA_FIELD(struct peer_create),
	{VBD_FIELD(UINT, "timeout_ms", struct peer_create, timeout_ms), .min = 1, .max = 600000,
		VBD_FIELD_SEEN(struct peer_create, timeout_seen)},
	{VBD_FIELD(UINT, "message_seq", struct peer_create, message), .min = 1, .max = INT64_MAX,
		VBD_FIELD_SEEN(struct peer_create, message_seen)},
	{VBD_FIELD(STRING, "gid", struct peer_create, gid), .min = 2, .max = 45},
	{VBD_FIELD(UINT, "lid", struct peer_create, lid), .min = 1, .max = 65535,
		VBD_FIELD_SEEN(struct peer_create, lid_seen)},
	{VBD_FIELD(UINT, "qpn", struct peer_create, qpn), .min = 1, .max = 0xffffff,
		VBD_FIELD_SEEN(struct peer_create, qpn_seen)},
	{VBD_FIELD(HEX, "qkey", struct peer_create, qkey), .max = UINT32_MAX,
		VBD_FIELD_SEEN(struct peer_create, qkey_seen)},
	{VBD_FIELD(UINT, "sl", struct peer_create, sl), .max = 15,
		VBD_FIELD_SEEN(struct peer_create, sl_seen)},
	{VBD_FIELD(UINT, "gid_index", struct peer_create, gid_index), .max = 255,
		VBD_FIELD_SEEN(struct peer_create, gid_index_seen)},
	{VBD_FIELD(UINT, "hop_limit", struct peer_create, hop_limit), .max = 255,
		VBD_FIELD_SEEN(struct peer_create, hop_limit_seen)},
	{VBD_FIELD(UINT, "traffic_class", struct peer_create, traffic_class), .max = 255,
		VBD_FIELD_SEEN(struct peer_create, traffic_class_seen)},
	{VBD_FIELD(UINT, "flow_label", struct peer_create, flow_label), .max = 0xfffff,
		VBD_FIELD_SEEN(struct peer_create, flow_label_seen)},
};

enum peer_source {
	SOURCE_ASKED = 1, /* by the CM, from an address */
	SOURCE_SENDER = 2,
	SOURCE_KNOWN = 4,
};

/* Refuse the members that do not belong to the source of the peer's attributes. */
static enum vbd_status check_members(
	const struct peer_create *input, enum peer_source source, struct vbd_error *err)
{
	const struct {
		const char *pointer;
		bool seen;
		unsigned int sources;
	} rows[] = {
		{"/dst_port", input->dst_port_seen, SOURCE_ASKED},
		{"/private_data", input->private_data.data != NULL, SOURCE_ASKED},
		{"/timeout_ms", input->timeout_seen, SOURCE_ASKED},
		{"/message_seq", input->message_seen, SOURCE_SENDER},
		{"/gid", input->gid != NULL, SOURCE_KNOWN},
		{"/lid", input->lid_seen, SOURCE_KNOWN},
		{"/qpn", input->qpn_seen, SOURCE_KNOWN},
		{"/qkey", input->qkey_seen, SOURCE_KNOWN | SOURCE_SENDER},
		{"/sl", input->sl_seen, SOURCE_KNOWN},
		{"/gid_index", input->gid_index_seen, SOURCE_KNOWN},
		{"/hop_limit", input->hop_limit_seen, SOURCE_KNOWN},
		{"/traffic_class", input->traffic_class_seen, SOURCE_KNOWN},
		{"/flow_label", input->flow_label_seen, SOURCE_KNOWN},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (rows[i].seen && !(rows[i].sources & source))
			return vbd_error_input(err, VBD_E_BAD_VALUE, rows[i].pointer,
				"%s is not allowed for a peer that is given by %s", rows[i].pointer,
				source == SOURCE_ASKED	  ? "dst_addr"
				: source == SOURCE_SENDER ? "message_seq"
							  : "qpn");
	}
	return VBD_OK;
}

static enum vbd_status find_source(
	const struct peer_create *input, enum peer_source *ret_source, struct vbd_error *err)
{
	if (input->dst_addr)
		*ret_source = SOURCE_ASKED;
	else if (input->message_seen)
		*ret_source = SOURCE_SENDER;
	else if (input->qpn_seen)
		*ret_source = SOURCE_KNOWN;
	else
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/dst_addr",
			"the peer is given by one of dst_addr, message and qpn; all are missing");
	if (input->dst_addr && !input->dst_port_seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/dst_port",
			"/dst_port is missing: dst_addr needs a port");
	return check_members(input, *ret_source, err);
}

/* Ethernet needs a GID; InfiniBand a LID, and a GID too if the peer is in another subnet. */
static enum vbd_status known_path(const struct peer_create *input,
	const struct vbd_endpoint_record *endpoint, struct vbd_ah_path *ret_path,
	struct vbd_error *err)
{
	bool infiniband = endpoint->endpoint->lid != 0;

	*ret_path = (struct vbd_ah_path){
		.global = input->gid != NULL,
		.hop_limit = input->hop_limit_seen ? input->hop_limit : 64,
		.traffic_class = input->traffic_class,
		.flow_label = input->flow_label,
		.dlid = input->lid,
		.sl = input->sl,
	};
	if (input->gid && !vbd_addr_parse_gid(input->gid, ret_path->dgid))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/gid",
			"'%s' is not a GID; a GID is written like an IPv6 address", input->gid);
	if (infiniband && !input->lid_seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/lid",
			"/lid is missing: device %s is on InfiniBand",
			endpoint->endpoint->device.name);
	if (!infiniband && !input->gid)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/gid",
			"/gid is missing: device %s is on Ethernet",
			endpoint->endpoint->device.name);
	if (!infiniband && input->lid_seen)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/lid",
			"/lid is not allowed on Ethernet, and device %s is on Ethernet",
			endpoint->endpoint->device.name);
	return VBD_OK;
}

static enum vbd_status find_endpoint(struct vbd_daemon *daemon, const struct vbd_json_ref *ref,
	struct vbd_endpoint_record **ret_endpoint, struct vbd_error *err)
{
	*ret_endpoint = vbd_member_find(daemon->ud_endpoints, ref, "/ud_endpoint", err);
	return *ret_endpoint ? VBD_OK : err->status;
}

static enum vbd_status fill_spec(const struct peer_create *input, enum peer_source source,
	struct vbd_peer_spec *spec, struct vbd_error *err)
{
	enum vbd_status status;

	spec->dst_port = input->dst_port;
	spec->timeout_ms = input->timeout_ms;
	spec->message = input->message;
	spec->gid_index = input->gid_index_seen ? input->gid_index : -1;
	spec->qpn = input->qpn;
	spec->has_qkey = input->qkey_seen;
	spec->qkey = (uint32_t)input->qkey;
	vbd_copy_text(spec->name, sizeof(spec->name), input->name);
	vbd_copy_text(spec->dst_addr, sizeof(spec->dst_addr), input->dst_addr);
	if (source == SOURCE_KNOWN)
		return known_path(input, spec->endpoint, &spec->path, err);
	status = vbd_private_data_decode(&input->private_data, &spec->request, err);
	if (status == VBD_OK)
		status = vbd_private_data_check(&spec->request, VBD_CM_MESSAGE_SIDR_REQUEST, false,
			"/private_data/data", err);
	return status;
}

static enum vbd_status decode_create(
	struct vbd_request *req, struct vbd_peer_spec *spec, struct vbd_error *err)
{
	struct peer_create input = {.timeout_ms = 10000};
	enum vbd_status status =
		vbd_request_decode(req, create_fields, VBD_ARRAY_LEN(create_fields), &input, err);
	enum peer_source source = SOURCE_ASKED;

	if (status == VBD_OK)
		status = find_source(&input, &source, err);
	if (status == VBD_OK)
		status = find_endpoint(
			vbd_request_daemon(req), &input.endpoint, &spec->endpoint, err);
	if (status == VBD_OK)
		status = fill_spec(&input, source, spec, err);
	return status;
}

void vbd_create_ud_peer(struct vbd_request *req)
{
	struct vbd_peer_spec spec = {0};
	struct vbd_peer_record *record;
	struct vbd_error err = {0};

	if (decode_create(req, &spec, &err) != VBD_OK ||
		vbd_peer_create(vbd_request_daemon(req), &spec, &record, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_task_answer(req, &vbd_ud_peer_task, record);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, record_of, peer.state)
VBD_PAGE_NUMBER(by_endpoint, record_of, endpoint_id)

static const struct vbd_page_state peer_states[] = {
	VBD_PEER_STATE_MAP(VBD_PAGE_STATE_AWAITED){NULL, false}};

static const struct vbd_page_key peer_keys[] = {
	VBD_PAGE_KEY_NAME,
	{.name = "state", .number = by_state},
	{.name = "ud_endpoint", .number = by_endpoint},
	VBD_PAGE_KEY_CREATED,
	{.name = NULL},
};

static const struct vbd_page_filter peer_filters[] = {
	VBD_PAGE_FILTER_NAME,
	{.name = "ud_endpoint", .kind = VBD_KIND_UD_ENDPOINT, .id = by_endpoint},
	{.name = NULL},
};

static const struct vbd_page_source peer_page = {
	.members = vbd_ud_peer_members,
	.keys = peer_keys,
	.states = peer_states,
	.state_of = by_state,
	.filters = peer_filters,
	.encode = encode_peer,
};

static enum vbd_status remove_object(struct vbd_object *object, struct vbd_error *err)
{
	return vbd_peer_delete(VBD_CONTAINER_OF(object, struct vbd_peer_record, object), err);
}

const struct vbd_task_kind vbd_ud_peer_task = {
	.kind = VBD_KIND_UD_PEER,
	.gone = "the peer was deleted in the meantime",
	.encode = encode_peer,
	.state = task_state,
	.remove = remove_object,
	.page = &peer_page,
};
