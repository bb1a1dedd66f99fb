/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_parts.h"

#include "base/addr.h"
#include "base/text.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/core/traces.h"

/* More than any list of rdma/names/names.h with names of events or states has. */
#define NAMES_MAX 64

static void on_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms, void *arg)
{
	struct vbd_connection *connection = arg;

	(void)conn;
	if (timeout_ms)
		vbd_timer_set(connection->object.deadline, timeout_ms);
	else
		vbd_timer_clear(connection->object.deadline);
}

/* The name of which @what has @len characters, as a static string; NULL if there is none. */
static const char *known_name(const char *(*name_of)(int value), const char *what, size_t len)
{
	for (int i = 0; i < NAMES_MAX; i++) {
		const char *name = name_of(i);

		if (strlen(name) == len && strncmp(name, what, len) == 0)
			return name;
	}
	return NULL;
}

static void fill_event_detail(struct vbd_event *event, const struct vbd_timeline_entry *entry)
{
	const size_t room = sizeof(event->detail);
	size_t at = vbd_text_copy(event->detail, room, entry->what);

	if (!entry->detail[0])
		return;
	at += vbd_text_copy(event->detail + at, room - at, ": ");
	(void)vbd_text_copy(event->detail + at, room - at, entry->detail);
}

static void on_entry_added(struct vbd_conn *conn, const struct vbd_timeline_entry *entry, void *arg)
{
	struct vbd_connection *connection = arg;
	struct vbd_event event = {.severity = VBD_SEVERITY_DEBUG};
	const char *what = entry->what;

	(void)conn;
	switch (entry->kind) {
	case VBD_TIMELINE_QP:
		event.type = VBD_EVENT_CONNECTION_QP_STATE_CHANGED;
		event.words[VBD_EVENT_PREVIOUS_QP_STATE] = entry->from;
		event.words[VBD_EVENT_QP_STATE] = entry->to;
		break;
	case VBD_TIMELINE_CM_EVENT:
		event.type = VBD_EVENT_CONNECTION_CM_EVENT;
		event.words[VBD_EVENT_CM_EVENT] = known_name(vbd_cm_event_name, what, strlen(what));
		break;
	case VBD_TIMELINE_STATE:
		event.type = VBD_EVENT_CONNECTION_STATE_CHANGED;
		break;
	case VBD_TIMELINE_ASYNC_EVENT:
		event.type = VBD_EVENT_CONNECTION_ASYNC_EVENT;
		event.words[VBD_EVENT_ASYNC_EVENT] =
			known_name(vbd_async_event_name, what, strlen(what));
		break;
	case VBD_TIMELINE_CALL:
	case VBD_TIMELINE_WC:
	case VBD_TIMELINE_COMMAND:
	case VBD_TIMELINE_TRY:
	case VBD_TIMELINE_EVENT:
	case VBD_TIMELINE_KIND_COUNT:
		return;
	}
	fill_event_detail(&event, entry);
	vbd_object_log_event(&connection->object, &event);
}

static void log_established(struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	char local[VBD_ADDR_TEXT_BYTES];
	char peer[VBD_ADDR_TEXT_BYTES];

	if (conn->manual) {
		vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_ESTABLISHED,
			VBD_SEVERITY_INFO, VBD_OK,
			"brought up by hand on %s, lqpn 0x%06x, rqpn 0x%06x", conn->device.name,
			conn->qp.info.lqpn, conn->qp.info.rqpn);
		return;
	}
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_ESTABLISHED, VBD_SEVERITY_INFO,
		VBD_OK, "%s:%u -> %s:%u on %s, lqpn 0x%06x, rqpn 0x%06x",
		vbd_addr_format(&conn->local, local), vbd_addr_port(&conn->local),
		vbd_addr_format(&conn->peer, peer), vbd_addr_port(&conn->peer), conn->device.name,
		conn->qp.info.lqpn, conn->qp.info.rqpn);
}

/* The device does not tell which request it refused: it answers, and moves the QP to ERR. */
static void log_refused_request(struct vbd_connection *connection)
{
	static const char *const texts[VBD_REFUSAL_COUNT] = {
		[VBD_REFUSAL_QP_STATE] =
			"the device moved the queue pair to ERR, and no work request failed: most "
			"likely it refused an access to memory",
		[VBD_REFUSAL_ASYNC_EVENT] = "the device here refused a request of the peer: a "
					    "wrong key, range or access",
	};
	const struct vbd_conn *conn = connection->conn;
	char peer[VBD_ADDR_TEXT_BYTES] = "brought up by hand";
	char rqpn[24] = "";

	if (conn->refusal == VBD_REFUSAL_NONE)
		return;
	if (!conn->manual)
		(void)vbd_addr_format(&conn->peer, peer);
	if (conn->qp.info.rqpn)
		(void)snprintf(rqpn, sizeof(rqpn), ", rqpn 0x%06x", conn->qp.info.rqpn);
	connection->object.registry->daemon->peer_refusals[conn->refusal]++;
	vbd_object_log(&connection->object, VBD_EVENT_SECURITY_PEER_REFUSED, VBD_SEVERITY_WARNING,
		vbd_reason_status(conn->qp.reason), "peer %s%s: %s", peer, rqpn,
		texts[conn->refusal]);
}

/* A peer can be away for days: a failure that is the same as the one before is logged as debug. */
static enum vbd_severity severity_of_end(const struct vbd_connection *connection)
{
	const struct vbd_qp *qp = &connection->conn->qp;

	if (vbd_reason_clean(qp->reason))
		return VBD_SEVERITY_INFO;
	return !connection->conn->established_ns && qp->reason == connection->failed_before &&
			       qp->first_error.error.raw == connection->raw_before
		       ? VBD_SEVERITY_DEBUG
		       : VBD_SEVERITY_WARNING;
}

static void end_record(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	bool clean = vbd_reason_clean(conn->qp.reason);

	vbd_object_end(&connection->object);
	vbd_resolve_cancel(connection->resolution);
	connection->resolution = NULL;
	daemon->qp_receives_bytes -= connection->receive_bytes;
	vbd_object_unpin(&connection->object);
	if (clean)
		daemon->connections_closed++;
	else
		daemon->connections_failed++;
	daemon->connections_ended[conn->qp.reason]++;
	log_refused_request(connection);
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_ENDED, severity_of_end(connection),
		vbd_reason_status(conn->qp.reason), "%s: %s%s%s", vbd_conn_state_name(conn->state),
		vbd_reason_name(conn->qp.reason), conn->qp.first_error.at_ns ? ": " : "",
		conn->qp.first_error.at_ns ? conn->qp.first_error.error.text : "");
}

static struct vbd_listener *find_listener(const struct vbd_connection *connection)
{
	struct vbd_object *object = vbd_registry_find_id(
		connection->object.registry->daemon->listeners, connection->listener_id);

	return object ? VBD_CONTAINER_OF(object, struct vbd_listener, object) : NULL;
}

/* Count the outcome of a request. A failed accept counts as a rejection. */
static void count_decision(struct vbd_connection *connection)
{
	struct vbd_listener *listener = find_listener(connection);

	connection->undecided = false;
	if (!listener)
		return;
	if (connection->counted_waiting)
		listener->waiting--;
	connection->counted_waiting = false;
	if (connection->conn->state == VBD_CONN_ACCEPTING)
		listener->accepted++;
	else
		listener->rejected++;
}

/* An accepted connection has ended: it no longer counts for limits.connections and the gate. */
static void free_listener_place(struct vbd_connection *connection)
{
	struct vbd_listener *listener = find_listener(connection);

	connection->object.registry->daemon->connections_accepted--;
	if (!listener)
		return;
	vbd_gate_leave(&listener->gate, (const struct sockaddr *)&connection->conn->peer);
	if (!listener->gate.connections)
		vbd_watch_notify(&listener->object.watches, false);
}

/* Sample the device's counters: those that rise from now on explain a failure. */
static void mark_device_counters(const struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct vbd_device *device =
		*connection->conn->device.name
			? vbd_fabric_device(daemon->fabric, connection->conn->device.name)
			: NULL;

	if (device)
		vbd_traces_sample(daemon, device);
}

static void on_state_changed(struct vbd_conn *conn, enum vbd_conn_state old, void *arg)
{
	struct vbd_connection *connection = arg;

	vbd_connection_count_state(connection);
	vbd_connection_time_phase(connection, old);
	vbd_connection_queue_moved(connection);
	if (connection->undecided)
		count_decision(connection);
	/* In ACCEPTING the peer may be established before this side is told so. */
	if (old == VBD_CONN_ACCEPTING || conn->state == VBD_CONN_ESTABLISHED)
		vbd_peer_reports_expect(connection);
	if (conn->state == VBD_CONN_ESTABLISHED)
		log_established(connection);
	else
		connection->object.registry->daemon->connection_left(connection);
	if (conn->state == VBD_CONN_CONNECTING)
		mark_device_counters(connection);
	if (!vbd_reason_clean(conn->qp.reason) &&
		(!connection->kept || vbd_conn_state_terminal(conn->state)))
		connection->object.registry->daemon->connection_failed(connection);
	if (vbd_conn_state_terminal(conn->state)) {
		if (connection->listener_id)
			free_listener_place(connection);
		end_record(connection);
	}
	vbd_object_changed(&connection->object);
}

static enum vbd_status on_name_look_up(struct vbd_conn *conn, void *arg, struct vbd_error *err)
{
	(void)conn;
	return vbd_connection_look_up(arg, err);
}

static void on_manual_step(struct vbd_conn *conn, void *arg)
{
	struct vbd_connection *connection = arg;
	const struct vbd_conn_manual *manual = conn->manual;

	if (manual && manual->failure.status)
		vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_STEP_FAILED,
			VBD_SEVERITY_WARNING, manual->failure.status, "to %s: %s",
			vbd_qp_state_name(manual->to), manual->failure.text);
	vbd_object_changed(&connection->object);
}

const struct vbd_conn_ops vbd_connection_conn_ops = {
	.state_changed = on_state_changed,
	.set_deadline = on_set_deadline,
	.noted = on_entry_added,
	.look_up = on_name_look_up,
	.stepped = on_manual_step,
};
