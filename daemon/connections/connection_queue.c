/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_queue.h"

#include "daemon/connections/connection_parts.h"

/* To begin to connect takes calls of the kernel: so many take less than a millisecond. */
#define STARTS_PER_TURN 16
#define CLOSES_PER_TURN 16

static bool has_next(const struct vbd_daemon *daemon)
{
	return !daemon->stopping && !vbd_list_empty(&daemon->queued_connections) &&
	       daemon->connects_in_flight < daemon->config->connects_in_flight;
}

static void start_next(struct vbd_daemon *daemon)
{
	struct vbd_connection *connection =
		VBD_LIST_FIRST(&daemon->queued_connections, struct vbd_connection, queue_link);

	vbd_list_remove(&connection->queue_link);
	connection->in_flight = true;
	daemon->connects_in_flight++;
	vbd_connection_begin(connection);
}

static bool is_open(const struct vbd_connection *connection)
{
	return connection->conn->state != VBD_CONN_DRAINING && !connection->object.ended;
}

/* A closed one may take its time in DRAINING, so that the next turn passes over it. */
void vbd_connections_close_all(struct vbd_daemon *daemon)
{
	int closed = 0;

	vbd_registry_for_each (object, daemon->connections) {
		struct vbd_connection *connection = vbd_connection_of(object);

		if (!is_open(connection))
			continue;
		if (closed++ == CLOSES_PER_TURN) {
			vbd_timer_set(daemon->queue_timer, 0);
			return;
		}
		vbd_conn_close(connection->conn, VBD_REASON_STOPPING);
	}
}

static void on_turn(void *arg)
{
	struct vbd_daemon *daemon = arg;

	if (daemon->stopping) {
		vbd_connections_close_all(daemon);
		return;
	}
	for (int i = 0; i < STARTS_PER_TURN && has_next(daemon); i++)
		start_next(daemon);
	if (has_next(daemon))
		vbd_timer_set(daemon->queue_timer, 0);
}

enum vbd_status vbd_connection_queue_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	return vbd_timer_create(daemon->loop, on_turn, daemon, &daemon->queue_timer, err);
}

void vbd_connection_queue_add(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;

	vbd_list_append(&daemon->queued_connections, &connection->queue_link);
	vbd_timer_set(daemon->queue_timer, 0);
}

static bool is_connecting(enum vbd_conn_state state)
{
	return state == VBD_CONN_RESOLVING_ADDR || state == VBD_CONN_RESOLVING_ROUTE ||
	       state == VBD_CONN_CONNECTING;
}

void vbd_connection_queue_moved(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;

	if (connection->conn->state != VBD_CONN_QUEUED)
		vbd_list_remove(&connection->queue_link);
	if (!connection->in_flight || is_connecting(connection->conn->state))
		return;
	connection->in_flight = false;
	daemon->connects_in_flight--;
	if (has_next(daemon))
		vbd_timer_set(daemon->queue_timer, 0);
}
