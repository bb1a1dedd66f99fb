/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: their list, waiting for their states, commands, timelines. connection_create.c makes
 * them, connection_json.c encodes them.
 */
#include "api/connections/connections.h"

#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "api/core/qp_params.h"
#include "api/http/archive.h"
#include "api/http/waiter.h"
#include "base/clock.h"
#include "daemon/connections/connections.h"

/* --- the list -------------------------------------------------------------------------------- */

static const struct vbd_conn *conn_of(const void *item)
{
	return ((const struct vbd_connection *)item)->conn;
}

VBD_PAGE_NUMBER(by_state, struct vbd_connection, conn->state)

VBD_PAGE_TEXT(by_device, struct vbd_connection, conn->device.name)

VBD_PAGE_NUMBER(by_created, struct vbd_connection, conn->created_ns)
VBD_PAGE_NUMBER(by_established, struct vbd_connection, conn->established_ns)
VBD_PAGE_NUMBER(by_ended, struct vbd_connection, conn->ended_ns)

/* An open connection has no end code and sorts first. */
static const char *by_end_code(const void *item)
{
	enum vbd_reason reason = conn_of(item)->qp.reason;

	return reason ? vbd_reason_name(reason) : "";
}

/* Open connections compare as if all ended at the same time. */
static uint64_t by_duration(const void *item)
{
	const struct vbd_conn *conn = conn_of(item);

	return (conn->ended_ns ? conn->ended_ns : UINT64_MAX) - conn->created_ns;
}

VBD_PAGE_NUMBER(by_listener, struct vbd_connection, listener_id)

static uint64_t by_bytes(const void *item)
{
	return vbd_connection_moved_bytes(item);
}

static uint64_t past_duration(const struct vbd_archived *archived)
{
	const struct vbd_record *record = archived->record;

	return record->ended_wall_ns - record->created_wall_ns;
}

static uint64_t past_bytes(const struct vbd_archived *archived)
{
	json_t *counters = json_object_get(archived->body, "counters");
	uint64_t moved_bytes = 0;
	const char *op;
	json_t *of_op;

	json_object_foreach(counters, op, of_op) moved_bytes +=
		(uint64_t)json_integer_value(json_object_get(of_op, "bytes"));
	return moved_bytes;
}

/* The first reason is that of a connection that has not ended. */
static const char *end_code_at(unsigned int i)
{
	return i + 1 < VBD_REASON_COUNT ? vbd_reason_name((enum vbd_reason)(i + 1)) : NULL;
}

static const struct vbd_page_column connection_columns[] = {
	VBD_COLUMN_NAME,
	{"state", VBD_SORTS, .number = by_state},
	VBD_COLUMN_DEVICE(VBD_SORTS_AND_SELECTS, by_device),
	{"created_at", VBD_SORTS, .number = by_created},
	{"established_at", VBD_SORTS, .number = by_established},
	{"ended_at", VBD_SORTS, .number = by_ended},
	{"end_code", VBD_SORTS_AND_SELECTS, .text = by_end_code, .word = end_code_at},
	{"duration", VBD_SORTS, .number = by_duration, .past = past_duration},
	{"bytes", VBD_SORTS, .number = by_bytes, .past = past_bytes},
	{"listener", VBD_SELECTS, .kind = VBD_KIND_LISTENER, .number = by_listener},
	{.name = NULL},
};

static void refresh_qp(void *item)
{
	const struct vbd_connection *connection = item;

	vbd_conn_refresh_qp_at(
		connection->conn, vbd_loop_now_ns(connection->object.registry->daemon->loop));
}

static void answer_connection(struct vbd_request *req, struct vbd_object *object)
{
	struct vbd_connection *connection = VBD_CONTAINER_OF(object, struct vbd_connection, object);

	vbd_connection_wait(req, connection,
		connection->conn->manual ? VBD_GOAL_OPEN : VBD_GOAL_ESTABLISHED, 201);
}

const struct vbd_task_kind vbd_connection_task = {
	.kind = VBD_KIND_CONNECTION,
	.answer = answer_connection,
	.refresh = refresh_qp,
	.encode_past = vbd_put_past_explanation,
	.page.members = vbd_connection_members,
	.page.columns = connection_columns,
	.page.states = VBD_PAGE_STATES(VBD_CONN_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = vbd_put_connection,
};

/* --- waiting for a state --------------------------------------------------------------------- */

struct vbd_connection *vbd_request_connection(struct vbd_request *req)
{
	return vbd_task_find(req, &vbd_connection_task);
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
};

static bool is_ending(enum vbd_conn_state state)
{
	return state == VBD_CONN_DRAINING || vbd_conn_state_terminal(state);
}

static bool goal_is_reached(const struct vbd_conn *conn, enum vbd_goal goal)
{
	return goal == VBD_GOAL_ESTABLISHED ? conn->state == VBD_CONN_ESTABLISHED
					    : !is_ending(conn->state) && !vbd_conn_stepping(conn);
}

/* True if the answer is the error that ends the connection. The answer waits for the end, so that
 * the client finds the record complete, and the name free. A client that does not wait for the
 * connection to be established gets the connection in its current state instead. */
static bool ended_before_goal(const struct state_waiter *waiter, enum vbd_wake why)
{
	enum vbd_conn_state state = waiter->connection->conn->state;

	if (!vbd_conn_state_terminal(state) && !(why == VBD_WAKE_TIMEOUT && is_ending(state)))
		return false;
	return waiter->waiter.req->wait_asked || waiter->goal != VBD_GOAL_ESTABLISHED;
}

static void reply_goal_reached(struct vbd_request *req, const struct state_waiter *waiter)
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
	vbd_task_reply(req, waiter->reached_status, &vbd_connection_task, waiter->connection);
}

static void answer_state(struct vbd_waiter *base, enum vbd_wake why)
{
	struct state_waiter *waiter = VBD_CONTAINER_OF(base, struct state_waiter, waiter);
	struct vbd_request *req = base->req;
	bool reached;

	if (why == VBD_WAKE_OBJECT_GONE) {
		vbd_task_reply_gone(req, &vbd_connection_task);
		return;
	}
	if (ended_before_goal(waiter, why)) {
		reply_end(base, &waiter->connection->object, why != VBD_WAKE_TIMEOUT);
		return;
	}
	reached = goal_is_reached(waiter->connection->conn, waiter->goal);
	if (!reached && why != VBD_WAKE_TIMEOUT)
		return;
	if (waiter->reached_status == 201)
		vbd_request_add_location(req, "connections", waiter->connection->object.id);
	if (reached)
		reply_goal_reached(req, waiter);
	else
		vbd_task_reply(req, 202, &vbd_connection_task, waiter->connection);
}

/* Without a Prefer header, wait for the QP without a deadline: the client needs the QP number, and
 * a QP takes no longer to open than its receives to register. */
static uint64_t goal_wait_ms(const struct vbd_request *req, enum vbd_goal goal)
{
	if (req->wait_asked || goal != VBD_GOAL_OPEN)
		return req->wait_ms;
	return req->respond_async ? 0 : VBD_WAIT_UNBOUNDED;
}

void vbd_connection_wait(struct vbd_request *req, struct vbd_connection *connection,
	enum vbd_goal goal, unsigned int reached_status)
{
	struct state_waiter waiter = {
		.waiter.answer = answer_state,
		.connection = connection,
		.goal = goal,
		.reached_status = reached_status,
	};

	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, &connection->object.watches,
		goal_wait_ms(req, goal));
}

/* --- commands -------------------------------------------------------------------------------- */

struct accept_input {
	struct vbd_connection_accept how;
	struct vbd_private_data_input private_data;
};

static const struct vbd_field accept_fields[] = {
	{VBD_FIELD_NAME(struct accept_input, how.name)},
	{VBD_FIELD(ENUM, "service", struct accept_input, how.service), .names = vbd_service_names,
		.n_names = VBD_CONNECTION_SERVICES},
	VBD_PRIVATE_DATA_FIELD(struct accept_input),
};

void vbd_accept_connection(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct accept_input input = {.how = {.caller = req->caller, .service = -1}};

	if (!connection ||
		vbd_request_decode(req, VBD_FIELDS(accept_fields), &input, &req->err) != VBD_OK ||
		vbd_private_data_decode(&input.private_data, &input.how.private_data, &req->err) !=
			VBD_OK)
		return;
	input.how.private_data_seen = input.private_data.data != NULL;
	if (vbd_connection_accept(connection, &input.how, &req->err) == VBD_OK)
		vbd_connection_wait(req, connection, VBD_GOAL_ESTABLISHED, 200);
}

/* CM reject reasons that a user may give (rdma_reject(3), rdma_reject_ece(3)). */
enum reject_reason { REJECT_CONSUMER_DEFINED, REJECT_VENDOR_OPTION_NOT_SUPPORTED };

static const char *const reject_names[] = {
	[REJECT_CONSUMER_DEFINED] = "consumer_defined",
	[REJECT_VENDOR_OPTION_NOT_SUPPORTED] = "vendor_option_not_supported",
};

struct reject_input {
	enum reject_reason reason;
	struct vbd_private_data_input private_data;
};

static const struct vbd_field reject_fields[] = {
	{VBD_FIELD(ENUM, "reason", struct reject_input, reason), VBD_NAMES(reject_names)},
	VBD_PRIVATE_DATA_FIELD(struct reject_input),
};

void vbd_reject_connection(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct reject_input input = {.reason = REJECT_CONSUMER_DEFINED};
	struct vbd_private_data data;

	if (connection &&
		vbd_request_decode(req, VBD_FIELDS(reject_fields), &input, &req->err) == VBD_OK &&
		vbd_private_data_decode(&input.private_data, &data, &req->err) == VBD_OK &&
		vbd_connection_reject(connection, &data,
			input.reason == REJECT_VENDOR_OPTION_NOT_SUPPORTED, &req->err) == VBD_OK)
		vbd_task_reply(req, 200, &vbd_connection_task, connection);
}

/* --- the timeline ---------------------------------------------------------------------------- */

/* Events that are looked at for a timeline, the newest ones: this takes about a millisecond. */
#define LOOKS_MAX 50000

static void put_event(struct vbd_encoder *out, const struct vbd_event *event, uint64_t start_ns)
{
	vbd_begin_object(out, NULL);
	vbd_put_time(out, "at", event->at_ns);
	vbd_put_i64(out, "since_start_ns", (int64_t)(event->at_ns - start_ns));
	vbd_put_text(out, "kind", vbd_timeline_kind_name(VBD_TIMELINE_EVENT));
	vbd_put_text(out, "what", vbd_event_type_name(event->type));
	vbd_put_null(out, "from");
	vbd_put_null(out, "to");
	vbd_put_text_or_null(out, "detail", event->detail);
	vbd_end(out);
}

static void list_events(struct vbd_request *req, const struct vbd_record *record)
{
	const struct vbd_eventlog *eventlog = vbd_request_daemon(req)->eventlog;
	const struct vbd_event_filter filter = {
		.kind = VBD_KIND_CONNECTION, .object_id = record->object.id, .caller = req->caller};
	uint64_t at = vbd_eventlog_before_newest(eventlog, LOOKS_MAX);
	uint64_t start_ns = vbd_clock_mono_of_wall_ns(record->created_wall_ns);
	unsigned int looks = LOOKS_MAX;
	struct vbd_encoder out = vbd_encode_begin();
	const struct vbd_event *event;
	uint64_t total = 0;

	vbd_begin_array(&out, "items");
	while ((event = vbd_eventlog_look(eventlog, &at, &filter, &looks))) {
		put_event(&out, event, start_ns);
		at = event->seq;
		total++;
	}
	vbd_end(&out);
	vbd_put_u64(&out, "total", total);
	vbd_put_null(&out, "next");
	vbd_put_u64(&out, "dropped", 0);
	vbd_put_bool(&out, "incomplete", true);
	vbd_reply_json(req, 200, &out);
}

static void put_entries(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	vbd_begin_array(out, name);
	for (uint32_t i = 0; i < conn->timeline.count; i++)
		vbd_put_timeline_entry(out, NULL, conn->timeline.entries[i], conn->created_ns);
	vbd_end(out);
}

void vbd_list_timeline(struct vbd_request *req)
{
	const struct vbd_record *record = vbd_record_of_path(req, VBD_KIND_CONNECTION);
	const struct vbd_connection *connection = record ? NULL : vbd_request_connection(req);
	const struct vbd_conn *conn;
	struct vbd_encoder out;

	if (record)
		list_events(req, record);
	if (!connection)
		return;
	conn = connection->conn;
	out = vbd_encode_begin();
	vbd_put_u64(&out, "total", conn->timeline.count);
	vbd_put_null(&out, "next");
	vbd_put_u64(&out, "dropped", conn->timeline.dropped);
	put_entries(&out, "items", conn);
	vbd_reply_json(req, 200, &out);
}
