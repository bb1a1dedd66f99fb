/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several connections by one POST: all are checked and made, or none is; then they connect one
 * after the other. Their common outcome is a batch of connections.
 */
#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/problem.h"
#include "api/http/waiter.h"
#include "daemon/connections/connection_batches.h"

/* To get memory for so many connections takes less than half a millisecond. */
#define ROOM_PER_PART 64

_Static_assert(VBD_BATCH_MAX <= VBD_CONN_ROOM_MAX, "a batch fits the room");

/* --- creation -------------------------------------------------------------------------------- */

/* The connections of a request, as they are being made. */
struct made {
	struct vbd_connection *connections[VBD_BATCH_MAX];
	uint32_t count;
};

static void make_batch(struct vbd_request *req, struct made *made)
{
	struct vbd_batch *batch;
	struct vbd_error err = {0};

	if (vbd_connection_batch_create(vbd_request_daemon(req), made->connections, made->count,
		    &batch, &err) == VBD_OK) {
		vbd_task_answer(req, &vbd_connection_batch_task, batch);
		return;
	}
	vbd_connections_discard(made->connections, made->count);
	vbd_reply_problem(req, &err);
}

struct batch_create {
	const json_t *connections;
	uint32_t count;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD(ARRAY, "connections", struct batch_create, connections), .required = true,
		.min = 1, .max = VBD_BATCH_MAX},
	{VBD_FIELD(UINT, "count", struct batch_create, count), .min = 1, .max = VBD_BATCH_MAX},
};

static enum vbd_status decode_batch(
	struct vbd_request *req, struct batch_create *input, struct vbd_error *err)
{
	size_t total;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(create_fields), input, err);

	if (status != VBD_OK)
		return status;
	total = json_array_size(input->connections) * input->count;
	if (total > VBD_BATCH_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/count",
			"these are %zu connections; a batch has at most %d", total, VBD_BATCH_MAX);
	return VBD_OK;
}

/* Make an item of the list, as often as `count` says. */
static enum vbd_status prepare_item(struct vbd_request *req, const struct batch_create *input,
	const json_t *json, struct vbd_conn_room *room, struct made *made, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_connection_spec spec;
	enum vbd_status status;

	if (vbd_manual_requested(json))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/bringup",
			"connections of a batch are brought up by the CM; a connection with "
			"bringup manual needs a request of its own");
	status = vbd_connection_decode(daemon, &origin, json, false, &spec, &req->faults, err);
	if (status)
		return status;
	spec.count = input->count;
	spec.numbered = vbd_given(req->json, "count");
	spec.room = room;
	status = vbd_connections_prepare(daemon, &spec, &made->connections[made->count], err);
	made->count += status ? 0 : spec.count;
	return status;
}

/* Make all connections, or none. */
static enum vbd_status prepare_all(struct vbd_request *req, struct vbd_conn_room *room,
	struct made *made, struct vbd_error *err)
{
	struct batch_create input = {.count = 1};
	enum vbd_status status = decode_batch(req, &input, err);

	for (size_t i = 0; !status && i < json_array_size(input.connections); i++) {
		const json_t *json = json_array_get(input.connections, i);

		status = prepare_item(req, &input, json, room, made, err);
		if (status)
			vbd_problem_of_item(err, &req->faults, "connection", i);
	}
	if (status)
		vbd_connections_discard(made->connections, made->count);
	return status;
}

/* All is checked and made in the turn in which the memory is there, as if the request came then:
 * so nothing that happens in the turns before can be in the way of all or none. */
static void make_all(struct vbd_request *req, struct vbd_conn_room *room)
{
	struct made made = {.count = 0};
	struct vbd_error err = {0};

	if (prepare_all(req, room, &made, &err) == VBD_OK)
		make_batch(req, &made);
	else
		vbd_reply_problem(req, &err);
}

/* --- creation over several turns ------------------------------------------------------------- */

/* A request that gets the memory for its connections. */
struct creation {
	struct vbd_in_turns turns; /* first */
	uint32_t wanted;	   /* connections that the request asks for */
	struct vbd_conn_room room;
};

static void free_creation(struct creation *creation)
{
	vbd_conn_room_fini(&creation->room);
	free(creation);
}

static enum vbd_status get_room(struct creation *creation, struct vbd_error *err)
{
	uint32_t missing = creation->wanted - creation->room.count;

	return vbd_conn_room_add(
		&creation->room, missing < ROOM_PER_PART ? missing : ROOM_PER_PART, err);
}

static bool go_on(struct vbd_in_turns *self)
{
	struct creation *creation = VBD_CONTAINER_OF(self, struct creation, turns);
	struct vbd_error err = {0};

	if (creation->room.count == creation->wanted)
		make_all(self->req, &creation->room);
	else if (get_room(creation, &err) == VBD_OK)
		return false;
	else
		vbd_reply_problem(self->req, &err);
	free_creation(creation);
	return true;
}

static void drop(struct vbd_in_turns *self)
{
	free_creation(VBD_CONTAINER_OF(self, struct creation, turns));
}

/* Not checked yet: what is refused needs no memory, and at most VBD_CONN_ROOM_MAX is got. */
static uint32_t wanted_by(const json_t *body)
{
	const json_t *count = json_object_get(body, "count");
	size_t items = json_array_size(json_object_get(body, "connections"));
	json_int_t each = count ? json_integer_value(count) : 1;

	if (each < 0 || each > VBD_CONN_ROOM_MAX || items > VBD_CONN_ROOM_MAX)
		return 0;
	return items * (size_t)each > VBD_CONN_ROOM_MAX ? 0 : (uint32_t)(items * (size_t)each);
}

void vbd_create_connection_batch(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct creation *creation = calloc(1, sizeof(*creation));

	if (!creation) {
		(void)vbd_error_set(&req->err, VBD_E_NO_MEMORY, "no memory for connections");
		return;
	}
	creation->turns = (struct vbd_in_turns){.req = req, .go_on = go_on, .drop = drop};
	creation->wanted = wanted_by(req->json);
	vbd_in_turns_run(&creation->turns, &daemon->turns);
}
