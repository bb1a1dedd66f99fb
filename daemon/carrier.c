/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/carrier.h"

#include <stdio.h>

char *vbd_carrier_text(const struct vbd_carrier *carrier, char text[VBD_CARRIER_TEXT_BYTES])
{
	const struct vbd_connection *connection = carrier->connection;

	(void)snprintf(text, VBD_CARRIER_TEXT_BYTES, "%s %llu",
		connection ? "connection" : "endpoint",
		(unsigned long long)(connection ? connection->object.id
						: carrier->endpoint->object.id));
	return text;
}

const char *vbd_carrier_pointer(const struct vbd_carrier *carrier)
{
	return carrier->connection ? "/connection" : "/endpoint";
}

enum vbd_status vbd_carrier_check(const struct vbd_carrier *carrier, struct vbd_error *err)
{
	const struct vbd_connection *connection = carrier->connection;

	if (!connection)
		return carrier->endpoint->endpoint->qp.ops->check_usable(
			&carrier->endpoint->endpoint->qp, err);
	if (connection->conn->state == VBD_CONN_ESTABLISHED)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
		"connection %llu is %s; data moves only while it is established",
		(unsigned long long)connection->object.id,
		vbd_conn_state_name(connection->conn->state));
}

struct vbd_channel *vbd_carrier_channel(const struct vbd_carrier *carrier)
{
	return carrier->connection ? carrier->connection->conn->qp.channel
				   : carrier->endpoint->endpoint->qp.channel;
}

struct vbd_pd *vbd_carrier_pd(const struct vbd_carrier *carrier)
{
	return carrier->connection ? carrier->connection->conn->qp.pd
				   : carrier->endpoint->endpoint->qp.pd;
}

enum vbd_reason vbd_carrier_reason(const struct vbd_carrier *carrier)
{
	return carrier->connection ? carrier->connection->conn->qp.reason
				   : carrier->endpoint->endpoint->qp.reason;
}

void vbd_carrier_add(const struct vbd_carrier *carrier, struct vbd_link *link)
{
	vbd_list_append(carrier->connection ? &carrier->connection->transfers
					    : &carrier->endpoint->transfers,
		link);
}

void vbd_carrier_fail(
	const struct vbd_carrier *carrier, const struct vbd_error *why, uint64_t transfer)
{
	if (carrier->connection)
		carrier->connection->conn->qp.ops->end_failed(
			&carrier->connection->conn->qp, why, transfer);
	else
		carrier->endpoint->endpoint->qp.ops->end_failed(
			&carrier->endpoint->endpoint->qp, why, transfer);
}

void vbd_carrier_close(const struct vbd_carrier *carrier)
{
	if (carrier->connection)
		vbd_connection_close(carrier->connection);
	else
		vbd_endpoint_close(carrier->endpoint->endpoint, VBD_REASON_LOCAL_CLOSE);
}
