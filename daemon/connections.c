/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections.h"

#include "base/clock.h"
#include "daemon/addr.h"
#include "daemon/devices.h"
#include "daemon/listeners.h"
#include "daemon/resources.h"
#include "daemon/stats.h"
#include "daemon/transfers.h"
#include "daemon/windows.h"
#include "rdma/caps.h"
#include "rdma/fabric.h"
#include "rdma/names.h"
#include "rdma/service.h"
#include "rdma/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vbd_connection *connection_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_connection, object);
}

/* What the RDMA side reports. */

static void on_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms, void *arg)
{
	struct vbd_connection *connection = arg;

	(void)conn;
	if (timeout_ms)
		vbd_timer_set(connection->deadline, timeout_ms);
	else
		vbd_timer_clear(connection->deadline);
}

static void on_message(struct vbd_conn *conn, struct vbd_recv_slot *slot, void *arg)
{
	struct vbd_connection *connection = arg;

	if (!vbd_inbox_add(&connection->inbox, slot)) {
		(void)vbd_eventlog_append(connection->daemon->eventlog, VBD_EVENT_CONNECTION_ASYNC,
			VBD_SEVERITY_ERROR, VBD_KIND_CONNECTION, connection->object.id,
			VBD_REASON_NONE, "message %llu is lost: no memory",
			(unsigned long long)connection->inbox.last_seq);
		vbd_conn_release_message(conn, slot);
	}
	vbd_watch_notify(&connection->watches, false);
}

static void on_before_memory_goes(struct vbd_conn *conn, void *arg)
{
	struct vbd_connection *connection = arg;

	(void)conn;
	vbd_inbox_detach(&connection->inbox);
}

static void on_noted(struct vbd_conn *conn, const struct vbd_timeline_entry *entry, void *arg)
{
	const struct vbd_connection *connection = arg;
	enum vbd_event_type type = VBD_EVENT_CONNECTION_STATE;

	(void)conn;
	switch (entry->kind) {
	case VBD_TIMELINE_QP:
		type = VBD_EVENT_QP_TRANSITION;
		break;
	case VBD_TIMELINE_CM_EVENT:
		type = VBD_EVENT_CM_EVENT;
		break;
	case VBD_TIMELINE_STATE:
		break;
	case VBD_TIMELINE_ASYNC_EVENT:
		type = VBD_EVENT_CONNECTION_ASYNC;
		break;
	case VBD_TIMELINE_CALL:
	case VBD_TIMELINE_WC:
	case VBD_TIMELINE_COMMAND:
	case VBD_TIMELINE_KIND_COUNT:
		return;
	}
	(void)vbd_eventlog_append(connection->daemon->eventlog, type, VBD_SEVERITY_DEBUG,
		VBD_KIND_CONNECTION, connection->object.id, VBD_REASON_NONE, "%s%s%s", entry->what,
		entry->detail[0] ? ": " : "", entry->detail);
}

static void established(const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	char local[VBD_ADDR_TEXT_BYTES];
	char peer[VBD_ADDR_TEXT_BYTES];

	if (conn->manual.on) {
		(void)vbd_eventlog_append(connection->daemon->eventlog,
			VBD_EVENT_CONNECTION_ESTABLISHED, VBD_SEVERITY_INFO, VBD_KIND_CONNECTION,
			connection->object.id, VBD_REASON_NONE,
			"by hand on %s, lqpn 0x%06x, rqpn 0x%06x", conn->device_name,
			conn->qp_info.lqpn, conn->qp_info.rqpn);
		return;
	}
	(void)vbd_eventlog_append(connection->daemon->eventlog, VBD_EVENT_CONNECTION_ESTABLISHED,
		VBD_SEVERITY_INFO, VBD_KIND_CONNECTION, connection->object.id, VBD_REASON_NONE,
		"%s:%u -> %s:%u on %s, lqpn 0x%06x, rqpn 0x%06x",
		vbd_addr_format(&conn->local, local), vbd_addr_port(&conn->local),
		vbd_addr_format(&conn->peer, peer), vbd_addr_port(&conn->peer), conn->device_name,
		conn->qp_info.lqpn, conn->qp_info.rqpn);
}

static void count_totals(struct vbd_totals *totals, const struct vbd_conn *conn)
{
	const struct vbd_op_counters *send = vbd_conn_op_counters(conn, VBD_OP_SEND);
	const struct vbd_op_counters *recv = vbd_conn_op_counters(conn, VBD_OP_RECV);

	totals->messages_sent += vbd_counter_get(&send->completed);
	totals->bytes_sent += vbd_counter_get(&send->bytes);
	totals->messages_received += vbd_counter_get(&recv->completed);
	totals->bytes_received += vbd_counter_get(&recv->bytes);
	totals->bytes_written += vbd_counter_get(&vbd_conn_op_counters(conn, VBD_OP_WRITE)->bytes);
	totals->bytes_read += vbd_counter_get(&vbd_conn_op_counters(conn, VBD_OP_READ)->bytes);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_totals_add(totals, op, vbd_conn_op_counters(conn, op));
}

const char *vbd_phase_name(enum vbd_phase phase)
{
	static const char *const names[VBD_PHASE_COUNT] = {
#define PHASE_NAME(sym, name, state) [VBD_PHASE_##sym] = name,
		VBD_PHASE_MAP(PHASE_NAME)
#undef PHASE_NAME
	};

	return names[phase];
}

/* Of a state that was left for a better one only: what failed says nothing of how long it takes. */
static void time_phase(struct vbd_connection *connection, enum vbd_conn_state left)
{
	static const enum vbd_conn_state states[VBD_PHASE_COUNT] = {
#define PHASE_STATE(sym, name, state) [VBD_PHASE_##sym] = VBD_CONN_##state,
		VBD_PHASE_MAP(PHASE_STATE)
#undef PHASE_STATE
	};
	enum vbd_conn_state now = connection->conn->state;
	uint64_t now_ns = vbd_clock_mono_ns();

	for (size_t i = 0; i < VBD_PHASE_COUNT; i++) {
		if (states[i] == left && connection->phase_ns && now != VBD_CONN_DRAINING &&
			!vbd_conn_state_terminal(now))
			vbd_histogram_add(&connection->daemon->times.phases[i],
				now_ns - connection->phase_ns);
	}
	connection->phase_ns = now_ns;
}

/* The closed history is a ring: the oldest record makes room. */
static void bound_history(struct vbd_daemon *daemon)
{
	struct vbd_link *oldest =
		vbd_history_take_oldest(&daemon->ended_connections, daemon->config->history);

	if (oldest)
		vbd_connection_forget(VBD_CONTAINER_OF(oldest, struct vbd_connection, ended_link));
}

static void ended(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->daemon;
	const struct vbd_conn *conn = connection->conn;
	bool clean = vbd_reason_clean(conn->reason);

	connection->ended = true;
	vbd_resolve_cancel(connection->resolution);
	connection->resolution = NULL;
	daemon->connections_open--;
	daemon->messages_bytes -= connection->receive_bytes;
	if (clean)
		daemon->connections_closed++;
	else
		daemon->connections_failed++;
	daemon->ended_by_reason[conn->reason]++;
	count_totals(&daemon->ended_totals, conn);
	vbd_history_add(&daemon->ended_connections, &connection->ended_link);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_CONNECTION_ENDED,
		clean ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING, VBD_KIND_CONNECTION,
		connection->object.id, conn->reason, "%s: %s%s%s", vbd_conn_state_name(conn->state),
		vbd_reason_name(conn->reason), conn->first_error.at_ns ? ": " : "",
		conn->first_error.at_ns ? conn->first_error.error.text : "");
	if (connection->forget)
		vbd_loop_defer(daemon->loop, &connection->reap);
	bound_history(daemon);
	vbd_daemon_check_stop(daemon);
}

/* An accept that failed is told as the end that it led to: it counts as a rejection. */
static void decided(struct vbd_connection *connection)
{
	const struct vbd_daemon *daemon = connection->daemon;
	struct vbd_object *object =
		vbd_registry_find_id(daemon->listeners, connection->listener_id);
	struct vbd_listener *listener;

	connection->undecided = false;
	if (!object)
		return;
	listener = VBD_CONTAINER_OF(object, struct vbd_listener, object);
	if (connection->counted_waiting)
		listener->waiting--;
	connection->counted_waiting = false;
	if (connection->conn->state == VBD_CONN_ACCEPTING)
		listener->accepted++;
	else
		listener->rejected++;
}

static void on_state_changed(struct vbd_conn *conn, enum vbd_conn_state old, void *arg)
{
	struct vbd_connection *connection = arg;

	time_phase(connection, old);
	if (connection->undecided)
		decided(connection);
	if (conn->state == VBD_CONN_ESTABLISHED)
		established(connection);
	else
		vbd_windows_connection_left(connection);
	if (vbd_conn_state_terminal(conn->state))
		ended(connection);
	vbd_watch_notify(&connection->watches, false);
}

/* Pool thread. */
static void move_work(void *arg)
{
	vbd_conn_move_work(((const struct vbd_connection *)arg)->conn);
}

static void moved(void *arg)
{
	struct vbd_connection *connection = arg;
	struct vbd_daemon *daemon = connection->daemon;

	daemon->pool_jobs--;
	vbd_conn_moved(connection->conn);
	vbd_daemon_check_stop(daemon);
}

static bool on_move_slowly(struct vbd_conn *conn, void *arg)
{
	const struct vbd_connection *connection = arg;

	(void)conn;
	if (vbd_loop_work(connection->daemon->loop, move_work, moved, arg, NULL) != VBD_OK)
		return false;
	connection->daemon->pool_jobs++;
	return true;
}

static void on_stepped(struct vbd_conn *conn, void *arg)
{
	struct vbd_connection *connection = arg;

	(void)conn;
	vbd_watch_notify(&connection->watches, false);
}

static const struct vbd_conn_ops conn_ops = {
	.state_changed = on_state_changed,
	.set_deadline = on_set_deadline,
	.message = on_message,
	.before_memory_goes = on_before_memory_goes,
	.noted = on_noted,
	.move_slowly = on_move_slowly,
	.stepped = on_stepped,
};

static void on_deadline(void *arg)
{
	struct vbd_connection *connection = arg;

	vbd_conn_deadline(connection->conn);
}

/* Making and freeing. */

static void free_connection(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->daemon;

	vbd_list_remove(&connection->reap.link);
	vbd_resolve_cancel(connection->resolution);
	vbd_timer_destroy(connection->deadline);
	vbd_history_leave(&connection->daemon->ended_connections, &connection->ended_link);
	vbd_registry_remove(daemon->connections, &connection->object);
	vbd_watch_notify(&connection->watches, true);
	vbd_inbox_clear(&connection->inbox);
	vbd_conn_destroy(connection->conn);
	free(connection);
}

static void reap(struct vbd_deferred *deferred)
{
	free_connection(VBD_CONTAINER_OF(deferred, struct vbd_connection, reap));
}

/* Who ended keeps its name only until somebody else wants it. */
static void take_name_from_ended(struct vbd_daemon *daemon, const char *name)
{
	struct vbd_object *holder = vbd_registry_find_name(daemon->connections, name);

	if (holder && connection_of(holder)->ended)
		(void)!vbd_registry_set_name(daemon->connections, holder, "", NULL);
}

static enum vbd_status check_limits(const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params, uint64_t *ret_receive_bytes, struct vbd_error *err)
{
	const struct vbd_config_limits *limits = &daemon->config->limits;
	/* The receives of an SRQ were counted when it was made. */
	uint64_t receive_bytes =
		params->srq_id ? 0 : (uint64_t)params->rq_depth * params->recv_size_bytes;
	uint64_t taken_bytes = vbd_receives_bytes(daemon);

	if (daemon->connections_open >= limits->connections) {
		if (err && err->status == VBD_OK)
			err->limit = limits->connections;
		return vbd_error_set(err, VBD_E_LIMIT_REACHED,
			"there are %u connections, the limit", daemon->connections_open);
	}
	if (taken_bytes > limits->messages_bytes ||
		receive_bytes > limits->messages_bytes - taken_bytes) {
		if (err && err->status == VBD_OK)
			err->limit = limits->messages_bytes;
		return vbd_error_input(err, VBD_E_LIMIT_REACHED, "/qp",
			"rq_depth x recv_size_bytes is %llu; all connections may have %llu, and "
			"%llu are taken",
			(unsigned long long)receive_bytes,
			(unsigned long long)limits->messages_bytes,
			(unsigned long long)taken_bytes);
	}
	*ret_receive_bytes = receive_bytes;
	return VBD_OK;
}

/* A record in the registry with its timer; the RDMA side is still missing. */
static enum vbd_status make_record(struct vbd_daemon *daemon, const char *name,
	const struct vbd_conn_params *params, struct vbd_connection **ret_connection,
	struct vbd_error *err)
{
	struct vbd_connection *connection;
	uint64_t receive_bytes = 0;
	enum vbd_status status;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = vbd_service_check(
			params->service, params->transport, params->recv_size_bytes, err);
	if (!status)
		status = check_limits(daemon, params, &receive_bytes, err);
	if (status)
		return status;
	connection = calloc(1, sizeof(*connection));
	if (!connection)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	connection->daemon = daemon;
	connection->receive_bytes = receive_bytes;
	vbd_list_init(&connection->watches);
	vbd_inbox_init(&connection->inbox);
	vbd_list_init(&connection->transfers);
	vbd_list_init(&connection->windows);
	vbd_list_init(&connection->ended_link);
	vbd_deferred_init(&connection->reap, reap);
	status =
		vbd_timer_create(daemon->loop, on_deadline, connection, &connection->deadline, err);
	if (status)
		goto free_connection;
	take_name_from_ended(daemon, name);
	status = vbd_registry_add(daemon->connections, &connection->object, name, err);
	if (status)
		goto destroy_timer;
	*ret_connection = connection;
	return VBD_OK;

destroy_timer:
	vbd_timer_destroy(connection->deadline);
free_connection:
	free(connection);
	return status;
}

static void discard_record(struct vbd_connection *connection)
{
	vbd_timer_destroy(connection->deadline);
	vbd_registry_remove(connection->daemon->connections, &connection->object);
	free(connection);
}

static void count_open(struct vbd_connection *connection)
{
	connection->daemon->connections_open++;
	connection->daemon->messages_bytes += connection->receive_bytes;
}

static void resolve(struct vbd_connection *connection, const struct sockaddr *addr)
{
	connection->phase_ns = vbd_clock_mono_ns();
	vbd_conn_resolve(connection->conn, addr);
}

static void on_resolved(
	const struct sockaddr *addr, socklen_t addr_bytes, const struct vbd_error *err, void *arg)
{
	struct vbd_connection *connection = arg;

	(void)addr_bytes;
	connection->resolution = NULL;
	if (!addr)
		vbd_conn_name_failed(connection->conn, err);
	else
		resolve(connection, addr);
}

static enum vbd_status begin(struct vbd_connection *connection,
	const struct vbd_connection_spec *spec, struct vbd_error *err)
{
	struct sockaddr_storage dst;

	/* A numeric address needs no detour through the thread pool. */
	if (vbd_addr_parse(spec->dst_addr, spec->dst_port, &dst)) {
		resolve(connection, (const struct sockaddr *)&dst);
		return VBD_OK;
	}
	return vbd_resolve(connection->daemon->loop, spec->dst_addr, spec->dst_port, on_resolved,
		connection, &connection->resolution, err);
}

/* What an address lacks that can be seen before anybody is asked. A host name passes. */
static enum vbd_status check_dst(const struct vbd_connection_spec *spec,
	const struct vbd_cm_params *cm, struct vbd_error *err)
{
	const struct sockaddr *src = (const struct sockaddr *)&cm->src;
	struct sockaddr_storage dst;

	if (!vbd_addr_parse(spec->dst_addr, spec->dst_port, &dst))
		return strchr(spec->dst_addr, '%')
			       ? vbd_error_input(err, VBD_E_BAD_VALUE, "/dst_addr",
					 "'%.80s' names no interface of this host", spec->dst_addr)
			       : VBD_OK;
	if (cm->src.ss_family && cm->src.ss_family != dst.ss_family)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/src_addr",
			"src_addr and dst_addr are not of one family");
	if (vbd_sockaddr_needs_scope((const struct sockaddr *)&dst) && !cm->device[0] &&
		(!cm->src.ss_family || vbd_sockaddr_needs_scope(src)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/dst_addr",
			"'%.80s' is link-local: name the interface as well, as in fe80::1%%eth0",
			spec->dst_addr);
	return VBD_OK;
}

static enum vbd_status check_spec(const struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_cm_params *cm, struct vbd_error *err)
{
	struct vbd_device *device = NULL;
	enum vbd_status status = VBD_OK;

	if (spec->src_addr[0])
		status = vbd_addr_parse_own(spec->src_addr, "/src_addr", &cm->src, err);

	if (!status)
		status = check_dst(spec, cm, err);
	if (!status)
		status = vbd_device_choose(daemon, cm->device, &device, err);
	if (!status && cm->device[0])
		status = vbd_conn_params_check(&spec->params, device, err);
	/* Where the route alone decides on the device, what fits everywhere is what fits. */
	if (!status)
		status = vbd_private_data_check(&cm->private_data, VBD_CM_MESSAGE_REQUEST,
			cm->device[0] && vbd_device_is_iwarp(device), "/private_data/data", err);
	return status;
}

enum vbd_status vbd_connection_create(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err)
{
	struct vbd_connection *connection;
	struct vbd_cm_params cm = spec->cm;
	struct vbd_error error = {0};
	enum vbd_status status;

	status = check_spec(daemon, spec, &cm, err);
	if (!status)
		status = make_record(daemon, spec->name, &spec->params, &connection, err);
	if (status)
		return status;
	(void)snprintf(connection->dst, sizeof(connection->dst),
		strchr(spec->dst_addr, ':') ? "[%s]:%u" : "%s:%u", spec->dst_addr, spec->dst_port);
	status = vbd_conn_create(daemon->fabric, connection->object.id, &spec->params, &cm,
		spec->timeout_ms, &conn_ops, connection, &connection->conn, err);
	if (status)
		goto discard;
	count_open(connection);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_CONNECTION_CREATED, VBD_SEVERITY_INFO,
		VBD_KIND_CONNECTION, connection->object.id, VBD_REASON_NONE, "to %.100s, %u ms",
		connection->dst, spec->timeout_ms);
	*ret_connection = connection;
	/* From here on a failure is the connection's: its record has been seen in the event log. */
	if (begin(connection, spec, &error) != VBD_OK)
		vbd_conn_name_failed(connection->conn, &error);
	return VBD_OK;

discard:
	discard_record(connection);
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
	if (!status && spec->params.transport == VBD_TRANSPORT_UC)
		status = vbd_device_require(device, VBD_CAP_UC, err);
	if (!status)
		status = vbd_manual_choose(device, &spec->how, &local, err);
	if (!status)
		status = make_record(daemon, spec->name, &spec->params, &connection, err);
	if (status)
		return status;
	status = vbd_conn_create_manual(daemon->fabric, connection->object.id, &spec->params,
		device, &local, spec->timeout_ms, &conn_ops, connection, &connection->conn, err);
	if (status) {
		discard_record(connection);
		return status;
	}
	memcpy(connection->conn->cm.device, spec->device, sizeof(spec->device));
	count_open(connection);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_CONNECTION_CREATED, VBD_SEVERITY_INFO,
		VBD_KIND_CONNECTION, connection->object.id, VBD_REASON_NONE,
		"to be brought up by hand on %s port %u", device->name, local.port_num);
	*ret_connection = connection;
	vbd_conn_open_manual(connection->conn, spec->how.stay_in_reset);
	return VBD_OK;
}

/* The listener's policy: a failure to accept is the connection's own. */
static void decide(struct vbd_listener *listener, struct vbd_connection *connection)
{
	struct vbd_error error = {0};

	if (listener->accept == VBD_ACCEPT_MANUAL) {
		connection->counted_waiting = true;
		listener->waiting++;
		return;
	}
	if (vbd_conn_accept(connection->conn, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "connection", "%s", error.text);
}

bool vbd_connection_from_request(
	struct vbd_listener *listener, const struct vbd_pv_cm_event *request)
{
	struct vbd_daemon *daemon = listener->daemon;
	struct vbd_connection *connection;
	struct vbd_error error = {0};
	char peer[VBD_ADDR_TEXT_BYTES];
	enum vbd_status status;

	status = make_record(daemon, "", &listener->params, &connection, &error);
	if (status)
		goto refused;
	connection->listener_id = listener->object.id;
	status = vbd_conn_create_passive(daemon->fabric, connection->object.id, &listener->params,
		&listener->cm_params, listener->accept_timeout_ms, request, &conn_ops, connection,
		&connection->conn, &error);
	if (status) {
		discard_record(connection);
		goto refused;
	}
	connection->undecided = true;
	count_open(connection);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_CONNECTION_REQUESTED,
		VBD_SEVERITY_INFO, VBD_KIND_CONNECTION, connection->object.id, VBD_REASON_NONE,
		"from %s port %u by listener %llu", vbd_addr_format(&connection->conn->peer, peer),
		vbd_addr_port(&connection->conn->peer), (unsigned long long)listener->object.id);
	decide(listener, connection);
	return true;

refused:
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_REQUEST_REFUSED, VBD_SEVERITY_WARNING,
		VBD_KIND_LISTENER, listener->object.id, VBD_REASON_NONE, "a connect request: %s",
		error.text);
	return false;
}

struct vbd_connection *vbd_connection_find(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_object *object = vbd_registry_find_ref(daemon->connections, ref, err);

	return object ? connection_of(object) : NULL;
}

/* Commands. */

static enum vbd_status check_private_data(const struct vbd_connection *connection,
	const struct vbd_private_data *data, enum vbd_cm_message message, struct vbd_error *err)
{
	const struct vbd_device *device =
		vbd_fabric_device(connection->daemon->fabric, connection->conn->device_name);

	return vbd_private_data_check(
		data, message, device && vbd_device_is_iwarp(device), "/private_data/data", err);
}

enum vbd_status vbd_connection_accept(struct vbd_connection *connection,
	const struct vbd_connection_accept *how, struct vbd_error *err)
{
	const struct vbd_conn_params *params = &connection->conn->params;
	struct vbd_daemon *daemon = connection->daemon;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (!status)
		status = check_private_data(
			connection, &how->private_data, VBD_CM_MESSAGE_REPLY, err);
	if (!status && how->service >= 0)
		status = vbd_service_check((enum vbd_service)how->service, params->transport,
			params->recv_size_bytes, err);
	if (status)
		return status;
	if (connection->conn->state == VBD_CONN_REQUESTED) {
		if (how->name[0]) {
			take_name_from_ended(daemon, how->name);
			status = vbd_registry_set_name(
				daemon->connections, &connection->object, how->name, err);
			if (status)
				return status;
		}
		if (how->service >= 0)
			connection->conn->params.service = (enum vbd_service)how->service;
		if (how->private_data_seen) {
			connection->conn->cm.private_data = how->private_data;
			connection->conn->cm.private_data.message = VBD_CM_MESSAGE_REPLY;
		}
	}
	return vbd_conn_accept(connection->conn, err);
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

void vbd_connection_forget(struct vbd_connection *connection)
{
	connection->forget = true;
	if (connection->ended)
		vbd_loop_defer(connection->daemon->loop, &connection->reap);
	else
		vbd_connection_close(connection);
}

void vbd_connection_problem(const struct vbd_connection *connection, struct vbd_error *ret_err)
{
	const struct vbd_conn *conn = connection->conn;
	enum vbd_status status = vbd_reason_status(conn->reason);

	*ret_err = (struct vbd_error){0};
	if (conn->first_error.at_ns)
		*ret_err = conn->first_error.error;
	else
		(void)vbd_error_set(ret_err, status, "connection %llu ended: %s",
			(unsigned long long)connection->object.id, vbd_reason_text(conn->reason));
	/* A call that failed names its own status; for all else the reason decides. */
	if (conn->reason != VBD_REASON_RESOURCE_ERROR)
		ret_err->status = status;
	(void)vbd_registry_path(
		connection->daemon->connections, connection->object.id, ret_err->object);
}

static void release_message(struct vbd_recv_slot *slot, void *arg)
{
	const struct vbd_connection *connection = arg;

	vbd_conn_release_message(connection->conn, slot);
}

enum vbd_status vbd_connection_delete_messages(
	struct vbd_connection *connection, uint64_t through, struct vbd_error *err)
{
	return vbd_inbox_delete(&connection->inbox, through, release_message, connection, err);
}

void vbd_connections_device_removing(struct vbd_daemon *daemon, const char *device_name)
{
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
		struct vbd_connection *connection = connection_of(object);

		if (!connection->ended && strcmp(connection->conn->device_name, device_name) == 0)
			vbd_conn_device_removed(connection->conn);
	}
}

void vbd_connections_listener_gone(struct vbd_daemon *daemon, uint64_t listener_id)
{
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
		struct vbd_connection *connection = connection_of(object);

		if (connection->listener_id == listener_id &&
			connection->conn->state == VBD_CONN_REQUESTED)
			vbd_connection_close(connection);
	}
}

void vbd_connections_close_all(struct vbd_daemon *daemon)
{
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object))
		vbd_conn_close(connection_of(object)->conn, VBD_REASON_SHUTDOWN);
}

static void free_object(struct vbd_object *object)
{
	free_connection(connection_of(object));
}

void vbd_connections_destroy_all(struct vbd_daemon *daemon)
{
	vbd_registry_drain(daemon->connections, free_object);
}

void vbd_connections_totals(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals)
{
	*ret_totals = daemon->ended_totals;
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
		const struct vbd_connection *connection = connection_of(object);

		if (!connection->ended)
			count_totals(ret_totals, connection->conn);
	}
}

void vbd_connections_count_bytes(struct vbd_daemon *daemon)
{
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object)) {
		struct vbd_connection *connection = connection_of(object);

		connection->moved_bytes = 0;
		for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
			connection->moved_bytes +=
				vbd_counter_get(&vbd_conn_op_counters(connection->conn, op)->bytes);
	}
}

void vbd_connections_count_states(
	const struct vbd_daemon *daemon, uint64_t ret_counts[VBD_CONN_STATE_COUNT])
{
	memset(ret_counts, 0, VBD_CONN_STATE_COUNT * sizeof(*ret_counts));
	for (struct vbd_object *object = vbd_registry_first(daemon->connections); object;
		object = vbd_registry_next(object))
		ret_counts[connection_of(object)->conn->state]++;
}
