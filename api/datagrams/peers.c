/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/datagrams/endpoints.h"

/* --- one peer -------------------------------------------------------------------------------- */

static void put_path(struct vbd_encoder *out, const char *name, const struct vbd_peer *peer)
{
	const struct ibv_ah_attr *path = &peer->path;
	char gid[VBD_GID_TEXT_BYTES];

	if (!vbd_begin_object_if(out, name, peer->known))
		return;
	vbd_put_text(out, "gid", path->is_global ? vbd_gid_text(path->grh.dgid.raw, gid) : NULL);
	vbd_put_u64_or_null(out, "gid_index", path->is_global, path->grh.sgid_index);
	vbd_put_u64_or_null(out, "hop_limit", path->is_global, path->grh.hop_limit);
	vbd_put_u64_or_null(out, "traffic_class", path->is_global, path->grh.traffic_class);
	vbd_put_u64_or_null(out, "flow_label", path->is_global, path->grh.flow_label);
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

static void encode_peer(struct vbd_encoder *out, const void *item)
{
	const struct vbd_peer_record *record = item;
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
	vbd_put_error(out, "error", NULL, &peer->error, NULL);
	vbd_put_time(out, "created_at", record->object.created_ns);
}

/* --- creation -------------------------------------------------------------------------------- */

struct peer_create {
	struct vbd_peer_spec spec;
	struct vbd_private_data_input private_data;
	const char *gid;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_NAME(struct peer_create, spec.name)},
	{VBD_FIELD_OF(UD_ENDPOINT, "ud_endpoint", struct peer_create, spec.endpoint),
		.required = true},
	{VBD_FIELD(TEXT, "dst_addr", struct peer_create, spec.dst_addr), .min = 1, .max = 255,
		.check = vbd_addr_is_host, .check_text = VBD_ADDR_NO_HOST},
	{VBD_FIELD(UINT, "dst_port", struct peer_create, spec.dst_port), .min = 1, .max = 65535},
	VBD_PRIVATE_DATA_FIELD(struct peer_create),
	{VBD_FIELD(UINT, "timeout_ms", struct peer_create, spec.timeout_ms), .min = 1,
		.max = 600000},
	{VBD_FIELD(UINT, "message_seq", struct peer_create, spec.message), .min = 1,
		.max = INT64_MAX},
	{VBD_FIELD(STRING, "gid", struct peer_create, gid), .min = 2, .max = 45},
	{VBD_FIELD(UINT, "lid", struct peer_create, spec.path.dlid), .min = 1, .max = 65535},
	{VBD_FIELD(UINT, "qpn", struct peer_create, spec.qpn), .min = 1, .max = 0xffffff},
	{VBD_FIELD(HEX, "qkey", struct peer_create, spec.qkey), .max = UINT32_MAX,
		VBD_FIELD_SEEN(struct peer_create, spec.has_qkey)},
	{VBD_FIELD(UINT, "sl", struct peer_create, spec.path.sl), .max = 15},
	{VBD_FIELD(UINT, "gid_index", struct peer_create, spec.gid_index), .max = 255},
	{VBD_FIELD(UINT, "hop_limit", struct peer_create, spec.path.grh.hop_limit), .max = 255},
	{VBD_FIELD(UINT, "traffic_class", struct peer_create, spec.path.grh.traffic_class),
		.max = 255},
	{VBD_FIELD(UINT, "flow_label", struct peer_create, spec.path.grh.flow_label),
		.max = 0xfffff},
};

enum peer_source {
	SOURCE_ASKED = 1, /* by the CM, from an address */
	SOURCE_SENDER = 2,
	SOURCE_KNOWN = 4,
};

/* Refuse the members that do not belong to the source of the peer's attributes. */
static enum vbd_status check_members(
	const json_t *json, enum peer_source source, struct vbd_error *err)
{
	static const struct {
		const char *pointer;
		unsigned int sources;
	} rows[] = {
		{"/dst_port", SOURCE_ASKED},
		{"/private_data", SOURCE_ASKED},
		{"/timeout_ms", SOURCE_ASKED},
		{"/message_seq", SOURCE_SENDER},
		{"/gid", SOURCE_KNOWN},
		{"/lid", SOURCE_KNOWN},
		{"/qpn", SOURCE_KNOWN},
		{"/qkey", SOURCE_KNOWN | SOURCE_SENDER},
		{"/sl", SOURCE_KNOWN},
		{"/gid_index", SOURCE_KNOWN},
		{"/hop_limit", SOURCE_KNOWN},
		{"/traffic_class", SOURCE_KNOWN},
		{"/flow_label", SOURCE_KNOWN},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		if (vbd_given(json, rows[i].pointer + 1) && !(rows[i].sources & source))
			return vbd_error_input(err, VBD_E_BAD_VALUE, rows[i].pointer,
				"%s is not allowed for a peer that is given by %s", rows[i].pointer,
				source == SOURCE_ASKED	  ? "dst_addr"
				: source == SOURCE_SENDER ? "message_seq"
							  : "qpn");
	}
	return VBD_OK;
}

static enum vbd_status find_source(const json_t *json, const struct vbd_peer_spec *spec,
	enum peer_source *ret_source, struct vbd_error *err)
{
	if (spec->dst_addr[0])
		*ret_source = SOURCE_ASKED;
	else if (spec->message)
		*ret_source = SOURCE_SENDER;
	else if (spec->qpn)
		*ret_source = SOURCE_KNOWN;
	else
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/dst_addr",
			"the peer is given by one of dst_addr, message and qpn; all are missing");
	if (spec->dst_addr[0] && !spec->dst_port)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/dst_port",
			"/dst_port is missing: dst_addr needs a port");
	return check_members(json, *ret_source, err);
}

/* Ethernet needs a GID; InfiniBand a LID, and a GID too if the peer is in another subnet. */
static enum vbd_status set_known_path(
	const char *gid, struct vbd_peer_spec *spec, struct vbd_error *err)
{
	const struct vbd_endpoint *endpoint = spec->endpoint->endpoint;
	bool infiniband = endpoint->lid != 0;

	spec->path.is_global = gid != NULL;
	if (gid && !vbd_addr_parse_gid(gid, spec->path.grh.dgid.raw))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/gid",
			"'%s' is not a GID; a GID is written like an IPv6 address", gid);
	if (infiniband && !spec->path.dlid)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/lid",
			"/lid is missing: device %s is on InfiniBand", endpoint->device.name);
	if (!infiniband && !gid)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/gid",
			"/gid is missing: device %s is on Ethernet", endpoint->device.name);
	if (!infiniband && spec->path.dlid)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/lid",
			"/lid is not allowed on Ethernet, and device %s is on Ethernet",
			endpoint->device.name);
	return VBD_OK;
}

static enum vbd_status decode_private_data(const struct vbd_private_data_input *input,
	struct vbd_private_data *ret_data, struct vbd_error *err)
{
	enum vbd_status status = vbd_private_data_decode(input, ret_data, err);

	return status ? status
		      : vbd_private_data_check(ret_data, VBD_CM_MESSAGE_SIDR_REQUEST, false,
				"/private_data/data", err);
}

static void *create_peer(struct vbd_request *req, struct vbd_error *err)
{
	struct peer_create input = {.spec = {.origin = vbd_request_origin(req),
					    .timeout_ms = 10000,
					    .gid_index = -1,
					    .path.grh.hop_limit = 64}};
	struct vbd_peer_spec *spec = &input.spec;
	struct vbd_peer_record *record = NULL;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(create_fields), &input, err);
	enum peer_source source = SOURCE_ASKED;

	if (status == VBD_OK)
		status = find_source(req->json, spec, &source, err);
	if (status == VBD_OK)
		status = vbd_members_find(vbd_request_daemon(req), req->caller, req->json, "",
			VBD_FIELDS(create_fields), &input, err);
	if (status != VBD_OK)
		return NULL;
	status = source == SOURCE_KNOWN
			 ? set_known_path(input.gid, spec, err)
			 : decode_private_data(&input.private_data, &spec->request, err);
	if (status == VBD_OK)
		(void)!vbd_peer_create(vbd_request_daemon(req), spec, &record, err);
	return record;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_peer_record, peer.state)
VBD_PAGE_NUMBER(by_endpoint, struct vbd_peer_record, endpoint_id)

static const struct vbd_page_column peer_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	{"ud_endpoint", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_UD_ENDPOINT, .number = by_endpoint},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

static enum vbd_status delete_peer(struct vbd_object *object, struct vbd_error *err)
{
	return vbd_peer_delete(VBD_CONTAINER_OF(object, struct vbd_peer_record, object), err);
}

const struct vbd_task_kind vbd_ud_peer_task = {
	.kind = VBD_KIND_UD_PEER,
	.create = create_peer,
	.done = VBD_STATES(VBD_PEER_READY),
	.remove = delete_peer,
	.page.members = vbd_ud_peer_members,
	.page.columns = peer_columns,
	.page.states = VBD_PAGE_STATES_AWAITED(VBD_PEER_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_peer,
};
