/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_batches.h"

#include "base/clock.h"
#include "daemon/connections/connections.h"

/* To close a connection takes calls of the kernel: so many take about a millisecond. */
#define CANCELS_PER_TURN 16

VBD_ENUM_NAMES(vbd_connection_batch_state_name, enum vbd_connection_batch_state,
	VBD_CONNECTION_BATCH_STATE_MAP)
VBD_ENUM_NAMES(vbd_connection_outcome_name, enum vbd_connection_outcome, VBD_CONNECTION_OUTCOME_MAP)

static struct vbd_connection_batch *batch_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_connection_batch, object);
}

static void log_end(struct vbd_connection_batch *batch)
{
	if (batch->state == VBD_CONNECTION_BATCH_DONE)
		vbd_object_log(&batch->object, VBD_EVENT_CONNECTION_BATCH_ENDED, VBD_SEVERITY_INFO,
			VBD_OK, "done, %u connections", batch->count);
	else
		vbd_object_log(&batch->object, VBD_EVENT_CONNECTION_BATCH_ENDED,
			VBD_SEVERITY_WARNING, batch->error.status,
			"failed, %zu of %u connections failed: %s", batch->failures.total,
			batch->count, batch->error.text);
}

static void ended(struct vbd_connection_batch *batch)
{
	batch->ended_ns = vbd_clock_mono_ns();
	batch->state =
		batch->failures.total ? VBD_CONNECTION_BATCH_FAILED : VBD_CONNECTION_BATCH_DONE;
	vbd_object_end(&batch->object);
	log_end(batch);
	vbd_object_changed(&batch->object);
}

static void take_error(struct vbd_connection_batch *batch, const struct vbd_connection *connection)
{
	struct vbd_error error = {0};

	vbd_object_problem(&connection->object, &error);
	vbd_failures_add(&batch->failures, &connection->object, &error);
	(void)vbd_error_set(&batch->error, error.status, "connection %llu: %.200s",
		(unsigned long long)connection->object.id,
		*error.text ? error.text : vbd_status_text(error.status));
}

static enum vbd_connection_outcome outcome_of(const struct vbd_connection *connection)
{
	enum vbd_conn_state conn_state = connection->conn->state;

	if (conn_state == VBD_CONN_QUEUED)
		return VBD_CONNECTION_OUTCOME_QUEUED;
	if (conn_state == VBD_CONN_ESTABLISHED)
		return VBD_CONNECTION_OUTCOME_ESTABLISHED;
	return vbd_conn_state_terminal(conn_state) ? VBD_CONNECTION_OUTCOME_FAILED
						   : VBD_CONNECTION_OUTCOME_CONNECTING;
}

static bool has_ended(const struct vbd_connection_batch *batch)
{
	return batch->counts[VBD_CONNECTION_OUTCOME_QUEUED] +
		       batch->counts[VBD_CONNECTION_OUTCOME_CONNECTING] ==
	       0;
}

static void on_connection_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_connection_item *item =
		VBD_CONTAINER_OF(watch, struct vbd_connection_item, watch);
	struct vbd_connection_batch *batch = item->batch;
	const struct vbd_connection *connection = item->connection;
	enum vbd_connection_outcome outcome = outcome_of(connection);

	/* A connection's record is freed before its outcome is known only with the daemon. */
	if (gone)
		item->connection = NULL;
	if (gone || outcome == item->outcome)
		return;
	batch->counts[item->outcome]--;
	batch->counts[outcome]++;
	item->outcome = outcome;
	if (outcome >= VBD_CONNECTION_OUTCOME_ESTABLISHED) {
		vbd_watch_remove(&item->watch);
		item->connection = NULL;
	}
	if (outcome == VBD_CONNECTION_OUTCOME_FAILED)
		take_error(batch, connection);
	if (has_ended(batch))
		ended(batch);
	else
		vbd_object_counted(&batch->object);
}

static void add_connections(
	struct vbd_connection_batch *batch, struct vbd_connection *const *connections)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct vbd_connection_item *item = &batch->items[i];

		item->watch.cb = on_connection_changed;
		vbd_list_init(&item->watch.link);
		vbd_watch_add(&connections[i]->object.watches, &item->watch);
		item->batch = batch;
		item->connection = connections[i];
		item->connection_id = connections[i]->object.id;
		vbd_connection_queue_add(connections[i]);
	}
}

enum vbd_status vbd_connection_batch_create(struct vbd_daemon *daemon,
	struct vbd_connection *const *connections, uint32_t count,
	struct vbd_connection_batch **ret_batch, struct vbd_error *err)
{
	struct vbd_connection_batch *batch;
	struct vbd_object *object;
	enum vbd_status status = vbd_object_create(daemon->connection_batches, "", &object, err);

	if (status)
		return status;
	batch = batch_of(object);
	batch->items = calloc(count, sizeof(*batch->items));
	if (!batch->items) {
		vbd_object_free(object);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for %u connections", count);
	}
	batch->count = count;
	batch->counts[VBD_CONNECTION_OUTCOME_QUEUED] = count;
	vbd_object_log(object, VBD_EVENT_CONNECTION_BATCH_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%u connections, the first is %llu", count,
		(unsigned long long)connections[0]->object.id);
	add_connections(batch, connections);
	*ret_batch = batch;
	return VBD_OK;
}

/* Close a few of the connections in each turn of the loop. */
static void cancel_some(void *object)
{
	struct vbd_connection_batch *batch = batch_of(object);

	for (int i = 0; i < CANCELS_PER_TURN && batch->cancelled < batch->count; i++) {
		const struct vbd_connection_item *item = &batch->items[batch->cancelled++];

		if (item->connection)
			vbd_object_cancel(&item->connection->object);
	}
	if (batch->cancelled < batch->count)
		vbd_timer_set(batch->object.deadline, 0);
}

static void cancel(struct vbd_object *object)
{
	cancel_some(object);
}

static void get_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	*ret_err = ((const struct vbd_connection_batch *)object)->error;
}

static void free_batch(struct vbd_object *object)
{
	struct vbd_connection_batch *batch = batch_of(object);

	for (uint32_t i = 0; batch->items && i < batch->count; i++)
		vbd_watch_remove(&batch->items[i].watch);
	free(batch->items);
	vbd_failures_fini(&batch->failures);
}

static const char *state(const struct vbd_object *object)
{
	return vbd_connection_batch_state_name(
		((const struct vbd_connection_batch *)object)->state);
}

/* Cancelling a batch closes those of its connections that are not established yet. */
const struct vbd_kind vbd_connection_batch_kind = {
	.size_bytes = sizeof(struct vbd_connection_batch),
	.keeps_history = true,
	.on_deadline = cancel_some,
	.cancel = cancel,
	.state = state,
	.problem = get_problem,
	.free = free_batch,
};
