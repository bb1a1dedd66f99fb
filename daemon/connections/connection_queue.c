/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_parts.h"

#include "base/addr.h"
#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "daemon/core/batch.h"

void vbd_connection_announce(struct vbd_connection *connection)
{
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_CREATED,
		connection->failed_before ? VBD_SEVERITY_DEBUG : VBD_SEVERITY_INFO, VBD_OK,
		"to %.100s port %u, %llu ms", connection->dst_addr, connection->dst_port,
		(unsigned long long)connection->conn->timeout_ms);
}

static void on_resolved(const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg)
{
	struct vbd_connection *connection = arg;

	connection->resolution = NULL;
	connection->phase_ns = vbd_clock_mono_ns();
	if (addrs)
		vbd_conn_resolve_named(connection->conn, addrs);
	else
		vbd_conn_name_failed(connection->conn, err);
}

enum vbd_status vbd_connection_look_up(struct vbd_connection *connection, struct vbd_error *err)
{
	return vbd_resolve(connection->object.registry->daemon->loop, connection->object.owner,
		connection->dst_addr, connection->dst_port, (int)connection->conn->cm.src.ss_family,
		on_resolved, connection, &connection->resolution, err);
}

static enum vbd_status begin_connect(struct vbd_connection *connection, struct vbd_error *err)
{
	struct sockaddr_storage dst;

	/* A numeric address needs no thread pool. */
	if (!vbd_addr_parse(connection->dst_addr, connection->dst_port, &dst))
		return vbd_connection_look_up(connection, err);
	connection->phase_ns = vbd_clock_mono_ns();
	vbd_conn_resolve(connection->conn, (const struct sockaddr *)&dst);
	return VBD_OK;
}

/* An event has told of the connection, so a failure is the connection's own `reason`. */
void vbd_connection_resolve(struct vbd_connection *connection)
{
	struct vbd_error error = {0};

	if (begin_connect(connection, &error) != VBD_OK)
		vbd_conn_name_failed(connection->conn, &error);
}

void vbd_connection_begin(struct vbd_connection *connection)
{
	vbd_conn_begin(connection->conn);
	vbd_connection_resolve(connection);
}

/* At most so many begin to connect in a turn; fewer if the turn has taken long enough. Each takes
 * calls of the kernel: so many take less than a millisecond. */
#define STARTS_PER_TURN	   16
#define ANNOUNCES_PER_TURN 100
#define CLOSES_PER_TURN	   16
#define VISITS_PER_TURN	   1000

static bool may_start_next(const struct vbd_daemon *daemon)
{
	return vbd_daemon_accepts_work(daemon, NULL) == VBD_OK &&
	       !vbd_list_empty(&daemon->queued_connections) &&
	       daemon->connects_in_flight < daemon->config->connects_in_flight;
}

/* --- events ---------------------------------------------------------------------------------- */

static void announce_queued(struct vbd_connection *connection)
{
	if (vbd_list_empty(&connection->unannounced_link))
		return;
	vbd_list_remove(&connection->unannounced_link);
	vbd_connection_announce(connection);
}

static bool has_unannounced(const struct vbd_daemon *daemon)
{
	return !vbd_list_empty(&daemon->unannounced_connections);
}

static void announce_some(struct vbd_daemon *daemon)
{
	for (int i = 0; i < ANNOUNCES_PER_TURN && has_unannounced(daemon); i++)
		announce_queued(VBD_LIST_FIRST(
			&daemon->unannounced_connections, struct vbd_connection, unannounced_link));
}

/* --- starts ---------------------------------------------------------------------------------- */

static void start_next(struct vbd_daemon *daemon)
{
	struct vbd_connection *connection =
		VBD_LIST_FIRST(&daemon->queued_connections, struct vbd_connection, queue_link);

	announce_queued(connection);
	vbd_list_remove(&connection->queue_link);
	connection->in_flight = true;
	daemon->connects_in_flight++;
	vbd_connection_begin(connection);
}

static void start_some(struct vbd_daemon *daemon)
{
	for (int i = 0; i < STARTS_PER_TURN && may_start_next(daemon); i++) {
		if (i > 0 && !vbd_turns_go_on(&daemon->turns))
			return;
		start_next(daemon);
	}
}

/* --- the end --------------------------------------------------------------------------------- */

static bool is_open(const struct vbd_connection *connection)
{
	return connection->conn->state != VBD_CONN_DRAINING && !connection->object.ended;
}

/* Close a connection, unless it is closed. Returns whether the turn has room for another one. */
static bool close_next(struct vbd_daemon *daemon, struct vbd_object *object, int *closed)
{
	struct vbd_connection *connection = vbd_connection_of(object);

	daemon->closed_id = object->id;
	if (!is_open(connection))
		return true;
	vbd_conn_close(connection->conn, VBD_REASON_STOPPING);
	return ++*closed < CLOSES_PER_TURN && vbd_turns_go_on(&daemon->turns);
}

/* Returns whether there is no other connection to close. */
static bool close_some(struct vbd_daemon *daemon)
{
	int closed = 0;

	for (int i = 0; i < VISITS_PER_TURN; i++) {
		struct vbd_object *object =
			vbd_registry_after(daemon->connections, daemon->closed_id);

		if (!object)
			return true;
		if (!close_next(daemon, object, &closed))
			break;
	}
	return false;
}

void vbd_connections_close_all(struct vbd_daemon *daemon)
{
	if (!close_some(daemon))
		vbd_connection_queue_wake(daemon);
}

/* --- the queue ------------------------------------------------------------------------------- */

static bool step_queue(struct vbd_steps *steps)
{
	struct vbd_daemon *daemon = VBD_CONTAINER_OF(steps, struct vbd_daemon, queue);

	if (daemon->closing)
		return close_some(daemon);
	announce_some(daemon);
	start_some(daemon);
	return !has_unannounced(daemon) && !may_start_next(daemon);
}

void vbd_connection_queue_init(struct vbd_daemon *daemon)
{
	vbd_list_init(&daemon->queued_connections);
	vbd_list_init(&daemon->unannounced_connections);
	vbd_list_init(&daemon->queue.link);
	daemon->queue.step = step_queue;
}

void vbd_connection_queue_wake(struct vbd_daemon *daemon)
{
	vbd_turns_add(&daemon->turns, &daemon->queue);
}

static bool is_connecting(enum vbd_conn_state state)
{
	return state == VBD_CONN_RESOLVING_ADDR || state == VBD_CONN_RESOLVING_ROUTE ||
	       state == VBD_CONN_CONNECTING || state == VBD_CONN_RETRYING;
}

void vbd_connection_queue_moved(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;

	if (connection->conn->state != VBD_CONN_QUEUED) {
		announce_queued(connection);
		vbd_list_remove(&connection->queue_link);
	}
	if (!connection->in_flight || is_connecting(connection->conn->state))
		return;
	connection->in_flight = false;
	daemon->connects_in_flight--;
	if (may_start_next(daemon))
		vbd_connection_queue_wake(daemon);
}

/* --- batches --------------------------------------------------------------------------------- */

static unsigned int batch_outcome(const struct vbd_object *object)
{
	enum vbd_conn_state state = ((const struct vbd_connection *)object)->conn->state;

	if (state == VBD_CONN_QUEUED)
		return VBD_CONNECTION_OUTCOME_QUEUED;
	if (state == VBD_CONN_ESTABLISHED)
		return VBD_CONNECTION_OUTCOME_ESTABLISHED;
	return vbd_conn_state_terminal(state) ? VBD_CONNECTION_OUTCOME_FAILED
					      : VBD_CONNECTION_OUTCOME_CONNECTING;
}

/* The event of its creation is appended in a later turn, before any other event about it. */
static void add_to_queue(struct vbd_object *object)
{
	struct vbd_connection *connection = vbd_connection_of(object);
	struct vbd_daemon *daemon = object->registry->daemon;

	vbd_list_append(&daemon->queued_connections, &connection->queue_link);
	vbd_list_append(&daemon->unannounced_connections, &connection->unannounced_link);
	vbd_connection_queue_wake(daemon);
}

_Static_assert(VBD_CONNECTION_OUTCOME_COUNT <= VBD_BATCH_OUTCOMES_MAX, "each outcome has room");

static const char *const outcome_names[] = {VBD_CONNECTION_OUTCOME_MAP(VBD_ENUM_NAME)};

const struct vbd_batch_ops vbd_connection_batch_ops = {
	.created = VBD_EVENT_CONNECTION_BATCH_CREATED,
	.ended = VBD_EVENT_CONNECTION_BATCH_ENDED,
	.cancels_per_turn = 16, /* to close a connection takes calls of the kernel */
	.outcomes = VBD_CONNECTION_OUTCOME_COUNT,
	.outcome_names = outcome_names,
	.outcome_of = batch_outcome,
	.final = VBD_OUTCOMES(VBD_CONNECTION_OUTCOME_ESTABLISHED) |
		 VBD_OUTCOMES(VBD_CONNECTION_OUTCOME_FAILED),
	.failures = VBD_OUTCOMES(VBD_CONNECTION_OUTCOME_FAILED),
	.start = add_to_queue,
	.discard = vbd_connection_discard,
};
