/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/peer_reports.h"

#include "base/clock.h"
#include "rdma/device/source.h"

/* Report ports that are opened in advance; others follow with a connection at their address. */
#define AHEAD_MAX 64

static struct vbd_daemon *daemon_of(const struct vbd_connection *connection)
{
	return connection->object.registry->daemon;
}

/* NOLINTBEGIN(readability-function-size): the length comes from uthash's macros */
static struct vbd_connection *find_by_qps(
	const struct vbd_daemon *daemon, const struct vbd_connection_qps *qps)
{
	struct vbd_connection *connection;

	HASH_FIND(by_qps, daemon->connections_by_qps, qps, sizeof(*qps), connection);
	return connection;
}

void vbd_peer_reports_forget(struct vbd_connection *connection)
{
	if (connection->by_qps.tbl)
		HASH_DELETE(by_qps, daemon_of(connection)->connections_by_qps, connection);
	memset(&connection->by_qps, 0, sizeof(connection->by_qps));
	free(connection->peer_report);
	connection->peer_report = NULL;
}

/* Without memory uthash leaves the handle's table NULL: then no report finds the connection. */
static void insert_by_qps(struct vbd_connection *connection)
{
	HASH_ADD(by_qps, daemon_of(connection)->connections_by_qps, qps, sizeof(connection->qps),
		connection);
}
/* NOLINTEND(readability-function-size) */

/* Without a CM the address comes from the GID. */
static void open_report_port(struct vbd_fabric *fabric, const struct vbd_conn *conn)
{
	struct sockaddr_storage local = conn->local;

	if (!local.ss_family && conn->qp.info.sgid_known)
		(void)vbd_source_of_gid(&conn->qp.info.sgid, &local);
	(void)vbd_report_port_open(fabric, conn->qp.device, &local);
}

/* Link-local addresses are left out: they need an interface, which may have several devices. */
static bool open_report_ports(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	struct vbd_gid *gids;
	bool all = true;
	size_t count;

	if (vbd_device_is_iwarp(device))
		return true;
	if (vbd_device_query_gids(device, &gids, &count, NULL) != VBD_OK)
		return false;
	for (size_t i = 0; i < count && fabric->report_port_count < AHEAD_MAX; i++) {
		struct sockaddr_storage addr = {0};

		if (strcmp(gids[i].type, "roce_v2") == 0 && vbd_source_of_gid(&gids[i], &addr) &&
			!vbd_sockaddr_is_link_local((const struct sockaddr *)&addr))
			all = vbd_report_port_open(fabric, device, &addr) && all;
	}
	free(gids);
	return all;
}

bool vbd_peer_reports_listen(struct vbd_daemon *daemon)
{
	bool all = true;

	if (!daemon->config->peer_reports)
		return true;
	vbd_list_for_each_of (const struct vbd_device, device, link, &daemon->fabric->devices) {
		if (device->state == VBD_DEVICE_PRESENT)
			all = open_report_ports(daemon->fabric, device) && all;
	}
	return all;
}

/* Take an ended connection out of the table: its queue pair numbers are used again. Its report
 * stays. */
static void unindex_ended(struct vbd_connection *before)
{
	struct vbd_peer_report *report = before->peer_report;

	before->peer_report = NULL;
	vbd_peer_reports_forget(before);
	before->peer_report = report;
}

void vbd_peer_reports_expect(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = daemon_of(connection);
	const struct vbd_conn *conn = connection->conn;
	struct vbd_connection *before;

	if (!daemon->config->peer_reports || !conn->qp.device || connection->by_qps.tbl ||
		!conn->qp.info.lqpn || !conn->qp.info.rqpn)
		return;
	connection->qps = (struct vbd_connection_qps){
		.device_id = conn->qp.device->id,
		.lqpn = conn->qp.info.lqpn,
		.rqpn = conn->qp.info.rqpn,
	};
	before = find_by_qps(daemon, &connection->qps);
	if (before)
		unindex_ended(before);
	insert_by_qps(connection);
	open_report_port(daemon->fabric, conn);
}

struct vbd_connection *vbd_peer_reports_find(
	struct vbd_daemon *daemon, const char *device_name, uint32_t lqpn, uint32_t rqpn)
{
	const struct vbd_device *device = vbd_fabric_device(daemon->fabric, device_name);
	struct vbd_connection_qps qps = {.lqpn = lqpn, .rqpn = rqpn};

	if (!device)
		return NULL;
	qps.device_id = device->id;
	return find_by_qps(daemon, &qps);
}
