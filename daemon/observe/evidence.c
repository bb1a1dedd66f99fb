/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/evidence.h"

#include "base/attr.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/observe/explain.h"
#include "daemon/observe/look.h"

#include <stdlib.h>

/* When thousands of connections fail together, the thread pool looks for so many of them. */
#define LOOKS_MAX 16

struct keeping {
	struct vbd_daemon *daemon;
	struct vbd_connection *connection; /* NULL: it is freed */
	bool again;			   /* the error of the connection has become another one */
};

static void look(struct vbd_connection *connection);

static void take(struct vbd_connection *connection, const struct vbd_look *look)
{
	/* A second look finds counters that have gone on. */
	if (!connection->kept->netroute_known)
		vbd_look_take(connection, look, connection->kept);
	vbd_look_take_reply(connection, look, connection->kept);
	if (look->replied && look->report.known)
		vbd_peer_report_take(connection, &look->report, true);
	else
		vbd_object_counted(&connection->object);
}

static void on_look(const struct vbd_look *seen, void *arg)
{
	const struct keeping *keeping = arg;
	struct vbd_connection *connection = keeping->connection;

	if (connection)
		connection->keeping = NULL;
	/* Without `hotplug` the daemon is being destroyed. */
	if (keeping->daemon->hotplug)
		keeping->daemon->looks_running--;
	if (connection && keeping->daemon->hotplug) {
		if (keeping->again)
			look(connection);
		take(connection, seen);
	}
	free(arg);
}

static void look(struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct keeping *keeping;

	if (daemon->looks_running >= LOOKS_MAX)
		return;
	keeping = calloc(1, sizeof(*keeping));
	if (!keeping)
		return;
	keeping->daemon = daemon;
	keeping->connection = connection;
	connection->report_owed = true;
	if (vbd_look_begin(connection, on_look, keeping, NULL) != VBD_OK) {
		free(keeping);
		return;
	}
	connection->report_owed = false;
	daemon->looks_running++;
	connection->keeping = &keeping->connection;
}

/* A failed completion may come after the device has moved the queue pair, and replaces that. */
static bool is_other_error(const struct vbd_connection *connection)
{
	const struct vbd_error *before = &connection->kept->incident.error;
	const struct vbd_error *now = &connection->conn->qp.first_error.error;

	return before->status != now->status || before->source != now->source ||
	       before->kind != now->kind;
}

/* The peer is to hear of the error that stays. */
static void look_again(struct vbd_connection *connection)
{
	if (!is_other_error(connection))
		return;
	if (connection->keeping) {
		VBD_CONTAINER_OF(connection->keeping, struct keeping, connection)->again = true;
		return;
	}
	look(connection);
}

void vbd_evidence_keep(struct vbd_connection *connection)
{
	if (connection->kept) {
		look_again(connection);
		return;
	}
	connection->kept = malloc(sizeof(*connection->kept));
	if (!connection->kept)
		return;
	vbd_explain_gather(connection, connection->kept);
	look(connection);
}
