/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/connections.h"

#include "api/http/waiter.h"
#include "api/resources/common_json.h"
#include "daemon/connections/connections.h"
#include "daemon/kept/kept.h"

struct vbd_connection *vbd_request_connection(struct vbd_request *req)
{
	return vbd_task_find(req, &vbd_connection_task);
}

void vbd_connection_reply(
	struct vbd_request *req, unsigned int status, const struct vbd_connection *connection)
{
	vbd_task_reply(req, status, &vbd_connection_task, connection);
}

/* Answer a client that waited with the error that ended the connection. */
static void reply_end(struct vbd_waiter *waiter, const struct vbd_object *connection, bool wait)
{
	struct vbd_error err = {0};

	vbd_object_problem(connection, &err);
	waiter->handed_on = true;
	vbd_task_reply_ended(waiter->req, connection, &err, vbd_kept_of(connection), wait);
}

struct state_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_connection *connection;
	enum vbd_goal goal;
	unsigned int reached_status;
	bool location;
};

static bool is_ending(enum vbd_conn_state state)
{
	return state == VBD_CONN_DRAINING || vbd_conn_state_terminal(state);
}

static void reply_gone(struct vbd_request *req, enum vbd_goal goal)
{
	if (goal == VBD_GOAL_DELETED)
		vbd_reply_empty(req, 204);
	else
		vbd_task_reply_gone(req, &vbd_connection_task);
}

static bool is_reached(const struct vbd_conn *conn, enum vbd_goal goal)
{
	switch (goal) {
	case VBD_GOAL_ESTABLISHED:
		return conn->state == VBD_CONN_ESTABLISHED;
	case VBD_GOAL_OPEN:
	case VBD_GOAL_STEPPED:
		return !is_ending(conn->state) && !vbd_conn_stepping(conn);
	case VBD_GOAL_ENDED:
		return vbd_conn_state_terminal(conn->state);
	case VBD_GOAL_DELETED:
		break;
	}
	return false;
}

/* True if the answer is the error that ends the connection. The answer waits for the end, so that
 * the client finds the record complete, and the name free. A client that does not wait for the
 * connection to be established gets the connection in its current state instead. */
static bool ended_instead(const struct state_waiter *waiter, enum vbd_wake why)
{
	enum vbd_conn_state state = waiter->connection->conn->state;

	if (waiter->goal == VBD_GOAL_ENDED || waiter->goal == VBD_GOAL_DELETED)
		return false;
	if (!vbd_conn_state_terminal(state) && !(why == VBD_WAKE_TIMEOUT && is_ending(state)))
		return false;
	return waiter->waiter.req->wait_asked || waiter->goal != VBD_GOAL_ESTABLISHED;
}

static void reply_reached(struct vbd_request *req, const struct state_waiter *waiter)
{
	struct vbd_conn *conn = waiter->connection->conn;

	if (waiter->goal == VBD_GOAL_STEPPED && conn->manual->failure.status != VBD_OK) {
		struct vbd_error err = conn->manual->failure;

		(void)vbd_registry_path(waiter->connection->object.registry,
			waiter->connection->object.id, err.object);
		vbd_reply_outcome(req, &err, NULL);
		return;
	}
	if (waiter->goal == VBD_GOAL_STEPPED)
		vbd_conn_refresh_qp(conn);
	vbd_connection_reply(req, waiter->reached_status, waiter->connection);
}

static void answer_state(struct vbd_waiter *base, enum vbd_wake why)
{
	struct state_waiter *waiter = VBD_CONTAINER_OF(base, struct state_waiter, waiter);
	struct vbd_request *req = base->req;
	bool reached;

	if (why == VBD_WAKE_OBJECT_GONE) {
		reply_gone(req, waiter->goal);
		return;
	}
	if (ended_instead(waiter, why)) {
		reply_end(base, &waiter->connection->object, why != VBD_WAKE_TIMEOUT);
		return;
	}
	reached = is_reached(waiter->connection->conn, waiter->goal);
	if (!reached && why != VBD_WAKE_TIMEOUT)
		return;
	if (waiter->location)
		vbd_request_add_location(req, "connections", waiter->connection->object.id);
	if (reached)
		reply_reached(req, waiter);
	else
		vbd_connection_reply(req, 202, waiter->connection);
}

/* A QP takes no longer to open than its receives to register, and the client needs its number:
 * without a Prefer header, wait for it without a deadline. */
static uint64_t wait_ms(const struct vbd_request *req, enum vbd_goal goal)
{
	if (req->wait_asked || goal != VBD_GOAL_OPEN)
		return req->wait_ms;
	return req->respond_async ? 0 : VBD_WAIT_UNBOUNDED;
}

void vbd_connection_wait(struct vbd_request *req, struct vbd_connection *connection,
	enum vbd_goal goal, unsigned int reached_status, bool location)
{
	struct state_waiter waiter = {
		.waiter.answer = answer_state,
		.connection = connection,
		.goal = goal,
		.reached_status = reached_status,
		.location = location,
	};

	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, &connection->object.watches,
		wait_ms(req, goal));
}
