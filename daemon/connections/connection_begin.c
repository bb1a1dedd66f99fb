/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_parts.h"

#include "base/clock.h"
#include "daemon/core/addr.h"

void vbd_connection_announce(struct vbd_connection *connection)
{
	vbd_object_log(&connection->object, VBD_EVENT_CONNECTION_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"to %.100s port %u, %llu ms", connection->dst_addr, connection->dst_port,
		(unsigned long long)connection->conn->timeout_ms);
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

static enum vbd_status begin(struct vbd_connection *connection, struct vbd_error *err)
{
	struct sockaddr_storage dst;

	/* A numeric address needs no thread pool. */
	if (vbd_addr_parse(connection->dst_addr, connection->dst_port, &dst)) {
		resolve(connection, (const struct sockaddr *)&dst);
		return VBD_OK;
	}
	return vbd_resolve(connection->object.registry->daemon->loop, connection->object.owner,
		connection->dst_addr, connection->dst_port, on_resolved, connection,
		&connection->resolution, err);
}

/* The record is in the event log, so a failure becomes the connection's own. */
void vbd_connection_resolve(struct vbd_connection *connection)
{
	struct vbd_error error = {0};

	if (begin(connection, &error) != VBD_OK)
		vbd_conn_name_failed(connection->conn, &error);
}

void vbd_connection_begin(struct vbd_connection *connection)
{
	vbd_conn_begin(connection->conn);
	vbd_connection_resolve(connection);
}
