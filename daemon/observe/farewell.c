/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/report.h"

#include "daemon/observe/explain.h"
#include "daemon/observe/report.h"
#include "rdma/data/calls.h"
#include "rdma/device/port_counters.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/ask.h"

/* The records that are looked at in the one turn: most of them may have ended. */
#define VISITS_MAX 1000

struct farewell {
	struct vbd_call call;
	struct vbd_daemon *daemon;
	unsigned int within_ms;
	bool hangs;
	unsigned int count;
	struct vbd_pv_question questions[VBD_FAREWELLS_MAX];
};

static struct farewell *farewell_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct farewell, call);
}

/* Call thread. */
static void work(struct vbd_call *call)
{
	struct farewell *farewell = farewell_of(call);

	farewell->hangs = !vbd_pv_tell(farewell->questions, farewell->count, farewell->within_ms);
}

static void done(struct vbd_call *call)
{
	struct farewell *farewell = farewell_of(call);

	farewell->daemon->farewell_hangs = farewell->hangs;
	free(farewell);
}

/* A message of the CM would make some devices deaf: see rdma/device/port_counters.h. */
static bool may_send(const struct vbd_conn *conn)
{
	struct vbd_device *device = vbd_fabric_device(conn->fabric, conn->device_name);

	return device && device->state == VBD_DEVICE_PRESENT && !vbd_cm_must_not_send(device);
}

static void add(struct farewell *farewell, const struct vbd_connection *connection)
{
	struct vbd_pv_question *question = &farewell->questions[farewell->count];

	if (connection->conn->state != VBD_CONN_ESTABLISHED || !may_send(connection->conn) ||
		!vbd_explain_ends(connection, &question->src, &question->dst))
		return;
	vbd_report_farewell(connection, question);
	farewell->count += question->count > 0;
}

static void add_all(struct farewell *farewell, const struct vbd_daemon *daemon)
{
	const struct vbd_object *object = vbd_registry_before(daemon->connections, UINT64_MAX);

	for (int i = 0; i < VISITS_MAX && object && farewell->count < VBD_FAREWELLS_MAX; i++) {
		add(farewell, VBD_CONTAINER_OF(object, const struct vbd_connection, object));
		object = vbd_registry_before(daemon->connections, object->id);
	}
}

void vbd_farewell_begin(struct vbd_daemon *daemon)
{
	uint64_t part_ms = daemon->config->shutdown_timeout_ms / 8;
	struct farewell *farewell;

	if (!daemon->config->peer_reports || !daemon->connections->open || !part_ms)
		return;
	farewell = calloc(1, sizeof(*farewell));
	if (!farewell)
		return;
	add_all(farewell, daemon);
	if (!farewell->count) {
		free(farewell);
		return;
	}
	farewell->daemon = daemon;
	farewell->within_ms = part_ms < VBD_FAREWELL_MS ? (unsigned int)part_ms : VBD_FAREWELL_MS;
	farewell->call.work = work;
	farewell->call.done = done;
	vbd_call_start(daemon->fabric->calls, &farewell->call, VBD_LANE_PEER);
}
