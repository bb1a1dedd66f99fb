/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_parts.h"

#include "base/addr.h"
#include "daemon/connections/listeners.h"
#include "daemon/core/devices.h"
#include "daemon/core/labels.h"
#include "daemon/core/quota.h"
#include "rdma/data/channel.h"
#include "rdma/device/caps.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/provider.h"

static enum vbd_status check_limits(const struct vbd_daemon *daemon, const struct vbd_caller *owner,
	const struct vbd_conn_params *params, uint64_t *ret_receive_bytes, struct vbd_error *err)
{
	const struct vbd_config_limits *limits = &daemon->config->limits;
	/* The memory of an SRQ counts for the SRQ. */
	uint64_t receive_bytes =
		params->qp.srq_id ? 0 : (uint64_t)params->qp.rq_depth * params->qp.recv_size_bytes;
	enum vbd_status status;

	if (daemon->connections->open >= limits->connections) {
		vbd_error_limit(err, "connections", limits->connections);
		return vbd_error_set(err, VBD_E_LIMIT_REACHED,
			"there are %u connections, which is the limit", daemon->connections->open);
	}
	status = vbd_receives_check(daemon, owner, receive_bytes, "/qp", err);
	if (status)
		return status;
	*ret_receive_bytes = receive_bytes;
	return VBD_OK;
}

/* Create a record with its timer in the registry, without the RDMA side. */
static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const char *name, const struct vbd_conn_params *params,
	struct vbd_connection **ret_connection, struct vbd_error *err)
{
	struct vbd_connection *connection;
	struct vbd_object *object;
	uint64_t receive_bytes = 0;
	enum vbd_status status;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = vbd_service_check(
			params->qp.service, params->qp.transport, params->qp.recv_size_bytes, err);
	if (!status)
		status = check_limits(daemon, origin->caller, params, &receive_bytes, err);
	if (!status)
		status = vbd_object_create(daemon->connections, origin, name, &object, err);
	if (status)
		return status;
	connection = vbd_connection_of(object);
	connection->receive_bytes = receive_bytes;
	vbd_inbox_init(&connection->inbox, object, VBD_EVENT_CONNECTION_MESSAGE_DROPPED);
	vbd_list_init(&connection->windows);
	vbd_list_init(&connection->queue_link);
	vbd_list_init(&connection->unannounced_link);
	*ret_connection = connection;
	return VBD_OK;
}

/* Count what the connection takes, and attach its inbox: its RDMA side exists now. */
static void count_resources(struct vbd_connection *connection)
{
	vbd_connection_count_state(connection);
	connection->object.registry->daemon->qp_receives_bytes += connection->receive_bytes;
	vbd_object_pin(&connection->object, connection->receive_bytes);
	vbd_inbox_attach(&connection->inbox, &connection->conn->qp);
	if (connection->conn->params.qp.service == VBD_SERVICE_FILES && connection->listener_id)
		connection->object.registry->daemon->files_requested(connection);
}

/* Check what can be checked before the name is resolved. A host name passes. */
static enum vbd_status check_dst(const struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, const struct vbd_cm_params *cm,
	struct vbd_error *err)
{
	const struct sockaddr *src = (const struct sockaddr *)&cm->src;
	struct sockaddr_storage dst;
	enum vbd_status status =
		vbd_addr_read_host(spec->dst_addr, spec->dst_port, "/dst_addr", &dst, err);

	if (status || !dst.ss_family)
		return status;
	if (cm->src.ss_family && cm->src.ss_family != dst.ss_family)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/src_addr",
			"src_addr and dst_addr are of different address families");
	if (vbd_sockaddr_needs_scope((const struct sockaddr *)&dst) && !cm->device[0] &&
		(!cm->src.ss_family || vbd_sockaddr_needs_scope(src)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/dst_addr",
			"'%.80s' is link-local: name the interface as well, as in fe80::1%%eth0",
			spec->dst_addr);
	return vbd_reach_check_dst(daemon->fabric, (const struct sockaddr *)&dst, "dst_addr", err);
}

static enum vbd_status check_spec(const struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_cm_params *cm, struct vbd_error *err)
{
	struct vbd_device *device = NULL;
	enum vbd_status status = VBD_OK;

	if (spec->src_addr[0])
		status = vbd_addr_parse_own(spec->src_addr, 0, "/src_addr", &cm->src, err);
	if (!status)
		status = check_dst(daemon, spec, cm, err);
	if (!status && spec->src_addr[0])
		status = vbd_reach_check_own(
			daemon->fabric, (const struct sockaddr *)&cm->src, "src_addr", err);
	if (!status)
		status = vbd_device_choose(daemon, cm->device, &device, err);
	if (!status && cm->device[0])
		status = vbd_conn_params_check(&spec->params, device, err);
	/* The device is unknown until the route is resolved, so accept only private data that every
	 * transport can carry. */
	if (!status)
		status = vbd_private_data_check(&cm->private_data, VBD_CM_MESSAGE_REQUEST,
			cm->device[0] && vbd_device_is_iwarp(device), "/private_data/data", err);
	return status;
}

static enum vbd_status make_rdma_conn(struct vbd_connection *connection,
	const struct vbd_connection_spec *spec, const struct vbd_cm_params *cm,
	struct vbd_error *err)
{
	struct vbd_fabric *fabric = connection->object.registry->daemon->fabric;
	uint64_t id = connection->object.id;

	if (spec->count)
		return vbd_conn_create_queued(fabric, id, &spec->params, cm, spec->timeout_ms,
			&vbd_connection_conn_ops, connection, &connection->conn, err);
	return vbd_conn_create(fabric, id, &spec->params, cm, spec->timeout_ms,
		&vbd_connection_conn_ops, connection, &connection->conn, err);
}

/* --- a connection that another one replaces -------------------------------------------------- */

/* Give the connection the id of the one that it replaces. Returns that one; NULL: none. */
static struct vbd_connection *take_replaced_id(struct vbd_connection *connection, uint64_t id)
{
	struct vbd_object *before =
		id ? vbd_registry_find_id(connection->object.registry, id) : NULL;

	if (!before || !before->ended)
		return NULL;
	vbd_registry_exchange(&connection->object, before);
	return vbd_connection_of(before);
}

/* Messages are numbered by id, over all connections that have had it. A try that came to nothing
 * leaves no record, only its lines in the timeline: a peer that is away for a day is one row. */
static void finish_replacing(struct vbd_connection *connection, struct vbd_connection *before)
{
	bool forget = !before->conn->established_ns;

	connection->previous_id = forget ? before->previous_id : before->object.id;
	connection->inbox.last_seq = before->inbox.last_seq;
	vbd_conn_replaced(before->conn, before->object.id, connection->conn);
	if (forget) {
		connection->failed_before = before->conn->qp.reason;
		connection->raw_before = before->conn->qp.first_error.error.raw;
	} else {
		vbd_object_log(&before->object, VBD_EVENT_CONNECTION_RENUMBERED, VBD_SEVERITY_INFO,
			VBD_OK, "the record of connection %llu is now %llu",
			(unsigned long long)connection->object.id,
			(unsigned long long)before->object.id);
	}
	vbd_object_replaced(&connection->object, &before->object, forget);
}

/* --- creation -------------------------------------------------------------------------------- */

static enum vbd_status make_rdma_side(struct vbd_connection *connection,
	const struct vbd_connection_spec *spec, const struct vbd_cm_params *cm,
	struct vbd_error *err)
{
	connection->dst_addr = strdup(spec->dst_addr);
	connection->dst_port = spec->dst_port;
	if (!connection->dst_addr)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	return make_rdma_conn(connection, spec, cm, err);
}

/* Make a connection with its RDMA side; nothing is sent yet. @spec, @cm: checked. */
static enum vbd_status make_connection(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, const char *name, const struct vbd_cm_params *cm,
	struct vbd_connection **ret_connection, struct vbd_error *err)
{
	struct vbd_connection *connection, *before;
	enum vbd_status status =
		make_record(daemon, &spec->origin, name, &spec->params, &connection, err);

	if (status)
		return status;
	before = take_replaced_id(connection, spec->replaces_id);
	status = make_rdma_side(connection, spec, cm, err);
	if (status) {
		if (before)
			vbd_registry_exchange(&before->object, &connection->object);
		vbd_object_free(&connection->object);
		return status;
	}
	count_resources(connection);
	if (before)
		finish_replacing(connection, before);
	*ret_connection = connection;
	return VBD_OK;
}

enum vbd_status vbd_connection_create(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err)
{
	struct vbd_connection *connection;
	struct vbd_cm_params cm = spec->cm;
	enum vbd_status status = check_spec(daemon, spec, &cm, err);

	if (!status)
		status = make_connection(daemon, spec, spec->name, &cm, &connection, err);
	if (status)
		return status;
	vbd_connection_announce(connection);
	*ret_connection = connection;
	vbd_connection_resolve(connection);
	return VBD_OK;
}

/* The name of connection @number of many, counted from 1. Returns its length, also of one that is
 * cut off. */
static int format_name(
	const struct vbd_connection_spec *spec, uint32_t number, char name[VBD_NAME_BYTES])
{
	if (spec->numbered && spec->name[0])
		return snprintf(name, VBD_NAME_BYTES, "%s-%u", spec->name, number);
	return snprintf(name, VBD_NAME_BYTES, "%s", spec->name);
}

enum vbd_status vbd_connections_prepare(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_object **ret_objects,
	struct vbd_error *err)
{
	struct vbd_cm_params cm = spec->cm;
	struct vbd_connection *connection;
	char name[VBD_NAME_BYTES];
	int longest = format_name(spec, spec->count, name);
	enum vbd_status status;
	uint32_t made = 0;

	if (longest >= VBD_NAME_BYTES)
		return vbd_error_input(err, VBD_E_TOO_LONG, "/name",
			"the name and the number of the last connection have %d characters "
			"together; a name has at most 63",
			longest);
	status = check_spec(daemon, spec, &cm, err);
	while (!status && made < spec->count) {
		(void)format_name(spec, made + 1, name);
		status = make_connection(daemon, spec, name, &cm, &connection, err);
		if (!status)
			ret_objects[made++] = &connection->object;
	}
	while (status && made > 0)
		vbd_connection_discard(ret_objects[--made]);
	return status;
}

enum vbd_status vbd_connection_create_manual(struct vbd_daemon *daemon,
	const struct vbd_manual_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err)
{
	struct vbd_connection *connection;
	struct vbd_device *device;
	struct vbd_manual_local local;
	enum vbd_status status;

	status = vbd_device_choose(daemon, spec->device, &device, err);
	if (!status && spec->params.qp.transport == VBD_TRANSPORT_UC)
		status = vbd_device_require(device, VBD_CAP_UC, err);
	if (!status)
		status = vbd_conn_params_check(&spec->params, device, err);
	if (!status)
		status = vbd_manual_choose(device, &spec->how, &local, err);
	if (!status)
		status = make_record(
			daemon, &spec->origin, spec->name, &spec->params, &connection, err);
	if (status)
		return status;
	status = vbd_conn_create_manual(daemon->fabric, connection->object.id, &spec->params,
		device, &local, spec->timeout_ms, &vbd_connection_conn_ops, connection,
		&connection->conn, err);
	if (status) {
		vbd_object_free(&connection->object);
		return status;
	}
	memcpy(connection->conn->cm.device, spec->device, sizeof(spec->device));
	count_resources(connection);
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"for bring-up by hand on %s port %u", device->name, local.port_num);
	*ret_connection = connection;
	vbd_conn_open_manual(connection->conn, spec->how.stay_in_reset);
	return VBD_OK;
}

/* Apply `accept` of the listener. A failed accept is the connection's own failure. */
static void apply_accept_policy(struct vbd_listener *listener, struct vbd_connection *connection)
{
	struct vbd_error error = {0};

	if (listener->accept == VBD_ACCEPT_MANUAL) {
		connection->counted_waiting = true;
		listener->waiting++;
		return;
	}
	if (vbd_conn_accept(connection->conn, -1, NULL, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "connection", "%s", error.text);
}

bool vbd_connection_from_request(
	struct vbd_listener *listener, const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	struct vbd_daemon *daemon = listener->object.registry->daemon;
	const struct vbd_origin origin = vbd_origin_like(&listener->object);
	const struct sockaddr *from = vbd_pv_id_peer(request->id);
	struct vbd_connection *connection;
	char peer[VBD_ADDR_TEXT_BYTES];
	enum vbd_status status =
		make_record(daemon, &origin, "", &listener->params, &connection, err);

	if (status)
		return false;
	connection->listener_id = listener->object.id;
	if (!vbd_gate_enter(&listener->gate, from)) {
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to count the peer");
		goto free_record;
	}
	status = vbd_conn_create_passive(daemon->fabric, connection->object.id, &listener->params,
		&listener->cm_params, listener->accept_timeout_ms, request,
		&vbd_connection_conn_ops, connection, &connection->conn, err);
	if (status)
		goto leave;
	daemon->connections_accepted++;
	connection->undecided = true;
	count_resources(connection);
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_REQUESTED, VBD_SEVERITY_INFO,
		VBD_OK, "from %s port %u by listener %llu",
		vbd_addr_format(&connection->conn->peer, peer),
		vbd_addr_port(&connection->conn->peer), (unsigned long long)listener->object.id);
	apply_accept_policy(listener, connection);
	return true;

leave:
	vbd_gate_leave(&listener->gate, from);
free_record:
	vbd_object_free(&connection->object);
	return false;
}
