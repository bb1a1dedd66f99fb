/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connections.h"

#include "base/clock.h"
#include "base/enum.h"
#include "daemon/connections/connection_parts.h"
#include "daemon/connections/peer_reports.h"
#include "rdma/data/channel.h"

static enum vbd_status check_private_data(const struct vbd_connection *connection,
	const struct vbd_private_data *data, enum vbd_cm_message message, struct vbd_error *err)
{
	const struct vbd_device *device = vbd_fabric_device(
		connection->object.registry->daemon->fabric, connection->conn->device.name);

	return vbd_private_data_check(
		data, message, device && vbd_device_is_iwarp(device), "/private_data/data", err);
}

enum vbd_status vbd_connection_accept(struct vbd_connection *connection,
	const struct vbd_connection_accept *how, struct vbd_error *err)
{
	const struct vbd_conn_params *params = &connection->conn->params;
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (!status)
		status = check_private_data(
			connection, &how->private_data, VBD_CM_MESSAGE_REPLY, err);
	if (!status && how->service >= 0 && params->qp.service == VBD_SERVICE_FILES)
		status = vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/service",
			"a connection of the service files can't get another service");
	if (!status && how->service >= 0)
		status = vbd_service_check((enum vbd_service)how->service, params->qp.transport,
			params->qp.recv_size_bytes, err);
	if (status)
		return status;
	if (how->name[0] && connection->conn->state == VBD_CONN_REQUESTED) {
		status = vbd_object_set_name(&connection->object, how->caller, how->name, err);
		if (status)
			return status;
	}
	return vbd_conn_accept(connection->conn, how->service,
		how->private_data_seen ? &how->private_data : NULL, err);
}

enum vbd_status vbd_connection_reject(struct vbd_connection *connection,
	const struct vbd_private_data *private_data, bool vendor_option, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (private_data)
		status = check_private_data(connection, private_data, VBD_CM_MESSAGE_REJECT, err);
	if (status)
		return status;
	return vbd_conn_reject(connection->conn, private_data, vendor_option, err);
}

void vbd_connection_close(struct vbd_connection *connection)
{
	vbd_conn_close(connection->conn, VBD_REASON_LOCAL_CLOSE);
}

void vbd_connections_device_removing(struct vbd_daemon *daemon, const char *device_name)
{
	vbd_registry_for_each_of (struct vbd_connection, connection, daemon->connections) {
		if (!connection->object.ended &&
			strcmp(connection->conn->device.name, device_name) == 0)
			vbd_conn_device_removed(connection->conn);
	}
}

void vbd_connections_listener_gone(struct vbd_daemon *daemon, uint64_t listener_id)
{
	vbd_registry_for_each_of (struct vbd_connection, connection, daemon->connections) {
		if (connection->listener_id == listener_id &&
			connection->conn->state == VBD_CONN_REQUESTED) {
			connection->conn->listener_deleted = true;
			vbd_connection_close(connection);
		}
	}
}

static void cancel_connection(struct vbd_object *object)
{
	vbd_connection_close(vbd_connection_of(object));
}

static void get_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	vbd_qp_end_error(&((const struct vbd_connection *)object)->conn->qp, ret_err);
}

static void free_connection(struct vbd_object *object)
{
	struct vbd_connection *connection = vbd_connection_of(object);

	vbd_list_remove(&connection->queue_link);
	vbd_list_remove(&connection->unannounced_link);
	vbd_resolve_cancel(connection->resolution);
	vbd_inbox_clear(&connection->inbox);
	vbd_conn_destroy(connection->conn);
	if (connection->keeping)
		*connection->keeping = NULL;
	vbd_peer_reports_forget(connection);
	free(connection->kept);
	free(connection->dst_addr);
}

void vbd_connection_discard(struct vbd_object *object)
{
	struct vbd_connection *connection = vbd_connection_of(object);
	struct vbd_daemon *daemon = object->registry->daemon;

	daemon->connections_in_state[connection->counted_state]--;
	daemon->qp_receives_bytes -= connection->receive_bytes;
	vbd_object_free(object);
}

static void on_deadline(void *object)
{
	const struct vbd_connection *connection = object;

	vbd_conn_deadline(connection->conn);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_connection, conn->state, vbd_conn_state_name)
VBD_OBJECT_DEVICE(get_device_id, struct vbd_connection, conn->device)

/* Deleting a connection closes it. */
const struct vbd_kind vbd_connection_kind = {
	.size_bytes = sizeof(struct vbd_connection),
	.keeps_history = true,
	.on_deadline = on_deadline,
	.cancel = cancel_connection,
	.state = get_state_name,
	.device = get_device_id,
	.problem = get_problem,
	.free = free_connection,
};

void vbd_connection_count_state(struct vbd_connection *connection)
{
	uint64_t *counts = connection->object.registry->daemon->connections_in_state;
	enum vbd_conn_state now = connection->conn->state;

	if (connection->in_state)
		counts[connection->counted_state]--;
	connection->in_state = !vbd_conn_state_terminal(now);
	connection->counted_state = now;
	if (connection->in_state)
		counts[now]++;
}

VBD_ENUM_NAMES(vbd_phase_name, enum vbd_phase, VBD_PHASE_MAP)

/* Record only phases that succeeded: those that failed would distort the durations. */
void vbd_connection_time_phase(struct vbd_connection *connection, enum vbd_conn_state left)
{
	static const enum vbd_conn_state states[VBD_PHASE_COUNT] = {
#define PHASE_STATE(sym, name, state) [sym] = VBD_CONN_##state,
		VBD_PHASE_MAP(PHASE_STATE)
#undef PHASE_STATE
	};
	enum vbd_conn_state now = connection->conn->state;
	uint64_t now_ns = vbd_clock_mono_ns();

	for (size_t i = 0; i < VBD_PHASE_COUNT; i++) {
		if (states[i] == left && connection->phase_ns && now != VBD_CONN_DRAINING &&
			now != VBD_CONN_RETRYING && !vbd_conn_state_terminal(now))
			vbd_histogram_add(&connection->object.registry->daemon->times.phases[i],
				now_ns - connection->phase_ns);
	}
	connection->phase_ns = now_ns;
}

uint64_t vbd_connection_moved_bytes(const struct vbd_connection *connection)
{
	uint64_t moved_bytes = 0;

	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		moved_bytes +=
			vbd_counter_get(&vbd_qp_op_counters(&connection->conn->qp, op)->bytes);
	return moved_bytes;
}
