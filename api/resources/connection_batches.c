/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several connections by one POST: all are checked and made, or none is; then they connect one
 * after the other. Their common outcome is a batch of connections.
 */
#include "daemon/connections/connection_batches.h"

#include "api/http/page.h"
#include "api/http/problem.h"
#include "api/json/encode.h"
#include "api/resources/common_json.h"
#include "api/resources/connections.h"
#include "api/resources/context.h"
#include "api/resources/members.h"
#include "api/resources/task.h"

static const struct vbd_connection_batch *batch_of(const void *item)
{
	return item;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_counts(
	struct vbd_encoder *out, const char *name, const struct vbd_connection_batch *batch)
{
	vbd_begin_object(out, name);
	for (uint32_t i = 0; i < VBD_CONNECTION_OUTCOME_COUNT; i++)
		vbd_put_u64(out, vbd_connection_outcome_name((enum vbd_connection_outcome)i),
			batch->counts[i]);
	vbd_end(out);
}

static void put_connections(
	struct vbd_encoder *out, const char *name, const struct vbd_connection_batch *batch)
{
	const struct vbd_registry *connections = batch->object.registry->daemon->connections;

	vbd_begin_array(out, name);
	for (uint32_t i = 0; i < batch->count; i++)
		vbd_put_ref(out, NULL, connections, batch->items[i].connection_id);
	vbd_end(out);
}

static void encode_batch(struct vbd_encoder *out, const void *item)
{
	const struct vbd_connection_batch *batch = item;

	vbd_put_u64(out, "id", batch->object.id);
	vbd_put_owner(out, &batch->object);
	vbd_put_labels(out, batch->object.labels);
	vbd_put_text(out, "state", vbd_connection_batch_state_name(batch->state));
	put_counts(out, "counts", batch);
	put_connections(out, "connections", batch);
	vbd_put_failures(out, "failures", &batch->failures);
	vbd_put_time(out, "created_at", batch->object.created_ns);
	vbd_put_time(out, "ended_at", batch->ended_ns);
	vbd_put_error(out, "error", &batch->error, NULL);
}

/* Also a batch with failures is done: those that were established are of use. */
static enum vbd_task_state task_state(const void *item)
{
	return batch_of(item)->state == VBD_CONNECTION_BATCH_RUNNING ? VBD_TASK_RUNNING
								     : VBD_TASK_DONE;
}

/* --- creation -------------------------------------------------------------------------------- */

/* The connections of a request, as they are being made. */
struct made {
	struct vbd_connection *connections[VBD_CONNECTION_BATCH_MAX];
	uint32_t count;
};

static void make_batch(struct vbd_request *req, struct made *made)
{
	struct vbd_connection_batch *batch;
	struct vbd_error err = {0};

	if (vbd_connection_batch_create(vbd_request_daemon(req), made->connections, made->count,
		    &batch, &err) == VBD_OK) {
		vbd_task_answer(req, &vbd_connection_batch_task, batch);
		return;
	}
	vbd_connections_discard(made->connections, made->count);
	vbd_reply_problem(req, &err);
}

void vbd_create_connections(struct vbd_request *req, const struct vbd_connection_spec *spec)
{
	struct made made = {.count = spec->count};
	struct vbd_error err = {0};

	if (vbd_connections_prepare(vbd_request_daemon(req), spec, made.connections, &err) ==
		VBD_OK)
		make_batch(req, &made);
	else
		vbd_reply_problem(req, &err);
}

static enum vbd_status refuse_in_list(const json_t *json, struct vbd_error *err)
{
	if (vbd_manual_requested(json))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/bringup",
			"connections in a list are brought up by the CM; a connection with "
			"bringup manual needs a request of its own");
	if (json_object_get(json, "count"))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/count",
			"an item of a list is one connection; count is for a request without a "
			"list");
	return VBD_OK;
}

static enum vbd_status prepare_one(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_connection **ret_connection, struct vbd_faults *faults, struct vbd_error *err)
{
	struct vbd_connection_spec spec;
	enum vbd_status status = refuse_in_list(json, err);

	if (!status)
		status = vbd_connection_decode(daemon, json, &spec, faults, err);
	if (status)
		return status;
	spec.count = 1;
	return vbd_connections_prepare(daemon, &spec, ret_connection, err);
}

struct list_create {
	const json_t *connections;
};

static const struct vbd_field list_fields[] = {
	{VBD_FIELD(ARRAY, "connections", struct list_create, connections), .required = true,
		.min = 1, .max = VBD_CONNECTION_LIST_MAX},
};

/* Make all connections of the list, or none. */
static enum vbd_status prepare_list(
	struct vbd_request *req, struct made *made, struct vbd_error *err)
{
	struct list_create input = {0};
	enum vbd_status status =
		vbd_request_decode(req, list_fields, VBD_ARRAY_LEN(list_fields), &input, err);

	while (!status && made->count < json_array_size(input.connections)) {
		status = prepare_one(vbd_request_daemon(req),
			json_array_get(input.connections, made->count),
			&made->connections[made->count], &req->faults, err);
		if (status)
			vbd_problem_of_item(err, &req->faults, "connection", made->count);
		made->count += !status;
	}
	if (status)
		vbd_connections_discard(made->connections, made->count);
	return status;
}

void vbd_create_connection_list(struct vbd_request *req)
{
	struct made made = {.count = 0};
	struct vbd_error err = {0};

	if (prepare_list(req, &made, &err) == VBD_OK)
		make_batch(req, &made);
	else
		vbd_reply_problem(req, &err);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, batch_of, state)

static const struct vbd_page_state batch_states[] = {
	VBD_CONNECTION_BATCH_STATE_MAP(VBD_PAGE_STATE){NULL, false}};

static const struct vbd_page_key batch_keys[] = {
	{.name = "state", .number = by_state},
	VBD_PAGE_KEY_CREATED,
	{.name = NULL},
};

static const struct vbd_page_source batch_page = {
	.members = vbd_connection_batch_members,
	.keys = batch_keys,
	.states = batch_states,
	.state_of = by_state,
	.encode = encode_batch,
};

const struct vbd_task_kind vbd_connection_batch_task = {
	.kind = VBD_KIND_CONNECTION_BATCH,
	.gone = "the batch was deleted in the meantime",
	.encode = encode_batch,
	.state = task_state,
	.page = &batch_page,
};
