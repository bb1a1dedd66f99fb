/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/evidence.h"

#include "daemon/observe/explain.h"
#include "daemon/observe/look.h"

#include <stdlib.h>

/* When thousands of connections fail together, the thread pool looks for so many of them. */
#define LOOKS_MAX 16

struct keeping {
	struct vbd_daemon *daemon;
	struct vbd_connection *connection; /* NULL: it is freed */
};

static void on_look(const struct vbd_look *look, void *arg)
{
	const struct keeping *keeping = arg;
	struct vbd_connection *connection = keeping->connection;

	if (connection)
		connection->keeping = NULL;
	/* Without `hotplug` the daemon is being destroyed. */
	if (keeping->daemon->hotplug)
		keeping->daemon->looks_running--;
	if (connection && keeping->daemon->hotplug) {
		vbd_look_take(connection, look, connection->kept);
		vbd_object_counted(&connection->object);
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
	if (vbd_look_begin(connection, on_look, keeping, NULL) != VBD_OK) {
		free(keeping);
		return;
	}
	daemon->looks_running++;
	connection->keeping = &keeping->connection;
}

void vbd_evidence_keep(struct vbd_connection *connection)
{
	connection->kept = malloc(sizeof(*connection->kept));
	if (!connection->kept)
		return;
	vbd_explain_gather(connection, connection->kept);
	look(connection);
}
