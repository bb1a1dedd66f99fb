/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/report.h"

#include "daemon/connections/peer_reports.h"
#include "daemon/observe/explain.h"

/* When thousands of connections fail together, the thread pool looks for so many of them. */
#define LOOKS_MAX 16

/* A host that disconnected lives, and may be too busy to say why: it is asked so often. */
#define ASKS_MAX 4

struct keeping {
	struct vbd_daemon *daemon;
	struct vbd_connection *connection; /* NULL: it is freed */
	unsigned int asks;
	bool again; /* the error of the connection has become another one */
};

static void look(struct vbd_connection *connection, unsigned int asks);

static bool is_to_ask_again(const struct keeping *keeping, const struct vbd_look *seen)
{
	return keeping->again || (vbd_connection_was_left(keeping->connection) && seen->asked &&
					 !seen->answered && keeping->asks < ASKS_MAX);
}

static void take(struct vbd_connection *connection, const struct vbd_look *look)
{
	vbd_look_take(connection, look, connection->kept);
	if (look->replied && look->report.known)
		vbd_report_take(connection, &look->report, true);
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
		if (is_to_ask_again(keeping, seen))
			look(connection, keeping->asks + 1);
		take(connection, seen);
	}
	free(arg);
}

static void look(struct vbd_connection *connection, unsigned int asks)
{
	struct vbd_daemon *daemon = connection->object.registry->daemon;
	struct keeping *keeping;

	if (daemon->looks_running >= LOOKS_MAX && !vbd_connection_was_left(connection))
		return;
	keeping = calloc(1, sizeof(*keeping));
	if (!keeping)
		return;
	keeping->daemon = daemon;
	keeping->connection = connection;
	keeping->asks = asks;
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

/* The peer is to hear of the error that stays, and the facts to have its transfer, which a client
 * may delete. */
static void look_again(struct vbd_connection *connection)
{
	if (!is_other_error(connection))
		return;
	vbd_explain_incident(connection, NULL, &connection->kept->incident);
	if (connection->keeping) {
		VBD_CONTAINER_OF(connection->keeping, struct keeping, connection)->again = true;
		return;
	}
	look(connection, 1);
}

void vbd_evidence_keep(struct vbd_connection *connection)
{
	struct vbd_facts *facts;

	if (connection->kept) {
		look_again(connection);
		return;
	}
	facts = malloc(sizeof(*facts));
	if (!facts)
		return;
	vbd_explain_gather(connection, NULL, facts);
	connection->kept = facts;
	look(connection, 1);
}
