/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/datagrams/endpoints.h"

#include "base/addr.h"

VBD_OBJECT_RECORD(record_of, struct vbd_peer_record)

/* Callbacks of the RDMA side. */

static void on_state_changed(struct vbd_peer *peer, void *arg)
{
	struct vbd_peer_record *record = arg;
	char gid[VBD_ADDR_TEXT_BYTES];

	if (record->object.deleted)
		return;
	if (peer->state == VBD_PEER_READY)
		vbd_object_log(&record->object, VBD_EVENT_UD_PEER_READY, VBD_SEVERITY_INFO, VBD_OK,
			"qpn 0x%06x at %s, for endpoint %llu", peer->qpn,
			vbd_addr_format_gid(peer->path.grh.dgid.raw, gid),
			(unsigned long long)record->endpoint_id);
	else if (peer->state == VBD_PEER_FAILED)
		vbd_object_log(&record->object, VBD_EVENT_UD_PEER_FAILED, VBD_SEVERITY_WARNING,
			peer->error.status, "%s", peer->error.text);
	if (peer->state == VBD_PEER_READY || peer->state == VBD_PEER_FAILED)
		vbd_timer_clear(record->object.deadline);
	vbd_object_changed(&record->object);
}

/* Call thread. */
static void make_ah(struct vbd_call *call)
{
	vbd_peer_make_ah(&VBD_CONTAINER_OF(call, struct vbd_peer_record, call)->peer);
}

static void on_ah_made(struct vbd_call *call)
{
	struct vbd_peer_record *record = VBD_CONTAINER_OF(call, struct vbd_peer_record, call);

	vbd_peer_ah_made(&record->peer);
	(void)vbd_object_settle(&record->object);
}

static void begin_make_ah(struct vbd_peer *peer, void *arg)
{
	struct vbd_peer_record *record = arg;

	(void)peer;
	record->call.work = make_ah;
	record->call.done = on_ah_made;
	vbd_call_start(
		record->object.registry->daemon->fabric->calls, &record->call, VBD_LANE_PEER);
}

static void on_set_deadline(struct vbd_peer *peer, uint64_t timeout_ms, void *arg)
{
	struct vbd_peer_record *record = arg;

	(void)peer;
	vbd_timer_set(record->object.deadline, timeout_ms);
}

static void on_name_resolved(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct vbd_peer_record *record = arg;

	record->resolution = NULL;
	if (addrs)
		vbd_peer_resolve(&record->peer, addrs->items, addrs->count, true);
	else
		vbd_peer_name_failed(&record->peer, err);
}

/* The family that a peer's address must have; AF_UNSPEC for any. */
static int required_family(const struct vbd_endpoint *endpoint)
{
	const struct sockaddr *own = (const struct sockaddr *)&endpoint->addr;

	return own->sa_family && !vbd_sockaddr_is_any(own) ? own->sa_family : AF_UNSPEC;
}

static enum vbd_status look_up_name(struct vbd_peer *peer, void *arg, struct vbd_error *err)
{
	struct vbd_peer_record *record = arg;

	return vbd_resolve(record->object.registry->daemon->loop, record->object.owner,
		record->dst_addr, record->dst_port, required_family(peer->endpoint),
		on_name_resolved, record, &record->resolution, err);
}

static const struct vbd_peer_ops peer_ops = {
	.state_changed = on_state_changed,
	.make_ah = begin_make_ah,
	.set_deadline = on_set_deadline,
	.look_up = look_up_name,
};

static void on_deadline(void *arg)
{
	struct vbd_peer_record *record = arg;

	vbd_peer_deadline(&record->peer);
}

/* Creation. */

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_peer_spec *spec,
	struct vbd_peer_record **ret_record, struct vbd_error *err)
{
	struct vbd_peer_record *record;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->ud_peers, &spec->origin, spec->name, &object, err);

	if (status)
		return status;
	record = record_of(object);
	record->endpoint_id = spec->endpoint->object.id;
	record->message = spec->message;
	vbd_list_append(&spec->endpoint->peers, &record->link);
	vbd_peer_init(&record->peer, record->object.id, spec->endpoint->endpoint, &spec->request,
		spec->timeout_ms, &peer_ops, record);
	*ret_record = record;
	return VBD_OK;
}

static void resolve_destination(struct vbd_peer_record *record, const struct vbd_peer_spec *spec)
{
	struct vbd_error error = {0};
	struct sockaddr_storage dst;

	record->timeout_ms = spec->timeout_ms;
	memcpy(record->dst_addr, spec->dst_addr, sizeof(record->dst_addr));
	record->dst_port = spec->dst_port;
	vbd_timer_set(record->object.deadline, spec->timeout_ms);
	/* A numeric address needs no thread pool. */
	if (vbd_addr_parse(spec->dst_addr, spec->dst_port, &dst))
		vbd_peer_resolve(&record->peer, &dst, 1, false);
	else if (look_up_name(&record->peer, record, &error) != VBD_OK)
		vbd_peer_name_failed(&record->peer, &error);
}

static enum vbd_status path_to_sender(const struct vbd_peer_spec *spec,
	struct ibv_ah_attr *ret_path, uint32_t *ret_qpn, struct vbd_error *err)
{
	const struct vbd_endpoint *endpoint = spec->endpoint->endpoint;
	const struct vbd_message *message = vbd_inbox_find(&spec->endpoint->inbox, spec->message);
	struct vbd_error error = {0};
	enum vbd_status status;

	if (!message)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/message_seq",
			"the inbox of endpoint %llu has no message %llu",
			(unsigned long long)spec->endpoint->object.id,
			(unsigned long long)spec->message);
	status = vbd_ah_path_back(endpoint->qp.device, endpoint->params.port_num,
		(uint8_t)endpoint->params.gid_index, &message->source, ret_path, &error);
	if (status)
		return vbd_error_input(err, status, "/message_seq", "%s", error.text);
	*ret_qpn = message->source.qpn;
	return VBD_OK;
}

static enum vbd_status get_known_path(const struct vbd_peer_spec *spec,
	struct ibv_ah_attr *ret_path, uint32_t *ret_qpn, struct vbd_error *err)
{
	const struct vbd_endpoint_params *params = &spec->endpoint->endpoint->params;

	if (spec->message)
		return path_to_sender(spec, ret_path, ret_qpn, err);
	*ret_path = spec->path;
	ret_path->port_num = params->port_num;
	ret_path->grh.sgid_index =
		(uint8_t)(spec->gid_index >= 0 ? spec->gid_index : params->gid_index);
	*ret_qpn = spec->qpn;
	return VBD_OK;
}

enum vbd_status vbd_peer_create(struct vbd_daemon *daemon, const struct vbd_peer_spec *spec,
	struct vbd_peer_record **ret_record, struct vbd_error *err)
{
	struct vbd_peer_record *record;
	struct ibv_ah_attr path = {0};
	enum vbd_status status;
	uint32_t qpn = 0;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = spec->endpoint->endpoint->qp.ops->check_usable(
			&spec->endpoint->endpoint->qp, err);
	if (!status && !spec->dst_addr[0])
		status = get_known_path(spec, &path, &qpn, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	vbd_object_log(&record->object, VBD_EVENT_UD_PEER_CREATED, VBD_SEVERITY_DEBUG, VBD_OK,
		"of ud_endpoint %llu", (unsigned long long)record->endpoint_id);
	/* From here on a failure is the peer's own. */
	if (spec->dst_addr[0])
		resolve_destination(record, spec);
	else
		vbd_peer_set(&record->peer, &path, qpn,
			spec->has_qkey ? spec->qkey : spec->endpoint->endpoint->params.qkey);
	*ret_record = record;
	return VBD_OK;
}

/* Delete the peer; a peer that a job on the thread pool uses is freed later. */
static void delete_record(struct vbd_peer_record *record)
{
	vbd_resolve_cancel(record->resolution);
	record->resolution = NULL;
	vbd_timer_clear(record->object.deadline);
	vbd_list_remove(&record->link);
	vbd_watch_notify(&record->object.watches, true);
	vbd_object_unregister(&record->object);
}

enum vbd_status vbd_peer_delete(struct vbd_peer_record *record, struct vbd_error *err)
{
	if (record->users > 0)
		return vbd_error_set(err, VBD_E_IN_USE, "%u transfers to peer %llu are under way",
			record->users, (unsigned long long)record->object.id);
	delete_record(record);
	return VBD_OK;
}

void vbd_peer_ref(struct vbd_peer_record *record)
{
	record->users++;
}

void vbd_peer_unref(struct vbd_peer_record *record)
{
	record->users--;
}

void vbd_peers_endpoint_ended(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each_of (struct vbd_peer_record, record, link, &endpoint->peers) {
		vbd_resolve_cancel(record->resolution);
		record->resolution = NULL;
		vbd_peer_endpoint_ended(&record->peer);
	}
}

void vbd_peers_destroy_of(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each_of (struct vbd_peer_record, record, link, &endpoint->peers)
		delete_record(record);
}

static bool is_used(const struct vbd_object *object)
{
	return ((const struct vbd_peer_record *)object)->peer.ah_pending;
}

static void free_record(struct vbd_object *object)
{
	vbd_peer_fini(&record_of(object)->peer);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_peer_record, peer.state, vbd_peer_state_json)

const struct vbd_kind vbd_ud_peer_kind = {
	.size_bytes = sizeof(struct vbd_peer_record),
	.on_deadline = on_deadline,
	.is_used = is_used,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_peer_record, peer.error),
	.free = free_record,
};
