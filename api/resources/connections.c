/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections. connection_json.c encodes them, messages.c has the handlers of their messages.
 */
#include "api/resources/connections.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/keep.h"
#include "api/resources/common_json.h"
#include "api/resources/qp_params.h"
#include "daemon/connections/connections.h"
#include "daemon/kept/kept.h"

/* --- creation -------------------------------------------------------------------------------- */

static void answer_created(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)arg;
	if (object)
		vbd_connection_wait(req, VBD_CONTAINER_OF(object, struct vbd_connection, object),
			VBD_GOAL_ESTABLISHED, 201, true);
	else
		vbd_task_reply_gone(req, &vbd_connection_task);
}

static void create_one(struct vbd_request *req, const struct vbd_connection_spec *spec)
{
	struct vbd_connection *connection;
	struct vbd_error err = {0};

	if (vbd_connection_create(vbd_request_daemon(req), spec, &connection, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_kept_adopt(&connection->object);
	vbd_keep_answer(req, vbd_kept_ticket(&connection->object), &connection->object,
		answer_created, NULL);
}

static void create_by_cm(struct vbd_request *req)
{
	const char *name = json_string_value(json_object_get(req->json, "name"));
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	bool kept = name && vbd_kept_prepared(daemon, VBD_KIND_CONNECTION, name);
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_connection_spec spec;
	struct vbd_error err = {0};

	if (vbd_connection_decode(daemon, &origin, req->json, kept, &spec, &req->faults, &err) !=
		VBD_OK)
		vbd_reply_problem(req, &err);
	else
		create_one(req, &spec);
}

void vbd_create_connection(struct vbd_request *req)
{
	if (vbd_manual_requested(req->json))
		vbd_create_manual_connection(req);
	else
		create_by_cm(req);
}

/* --- commands -------------------------------------------------------------------------------- */

struct accept_input {
	struct vbd_connection_accept how;
	struct vbd_private_data_input private_data;
};

static const struct vbd_field accept_fields[] = {
	{VBD_FIELD_NAME(struct accept_input, how.name)},
	{VBD_FIELD(ENUM, "service", struct accept_input, how.service),
		VBD_NAMES(vbd_service_names)},
	VBD_PRIVATE_DATA_FIELD(struct accept_input),
};

void vbd_accept_connection(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct accept_input input = {.how = {.caller = req->caller, .service = -1}};
	struct vbd_error err = {0};
	enum vbd_status status;

	if (!connection)
		return;
	status = vbd_request_decode(req, VBD_FIELDS(accept_fields), &input, &err);
	if (status == VBD_OK)
		status =
			vbd_private_data_decode(&input.private_data, &input.how.private_data, &err);
	if (status == VBD_OK) {
		input.how.private_data_seen = input.private_data.data != NULL;
		status = vbd_connection_accept(connection, &input.how, &err);
	}
	if (status != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_connection_wait(req, connection, VBD_GOAL_ESTABLISHED, 200, false);
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
	struct vbd_error err = {0};

	if (!connection)
		return;
	if (vbd_request_decode(req, VBD_FIELDS(reject_fields), &input, &err) != VBD_OK ||
		vbd_private_data_decode(&input.private_data, &data, &err) != VBD_OK ||
		vbd_connection_reject(connection, &data,
			input.reason == REJECT_VENDOR_OPTION_NOT_SUPPORTED, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_connection_reply(req, 200, connection);
}

void vbd_close_connection(struct vbd_request *req)
{
	struct vbd_connection *connection;

	if (vbd_record_end(req, &vbd_connection_task))
		return;
	connection = vbd_request_connection(req);
	if (!connection)
		return;
	vbd_connection_close(connection);
	vbd_kept_rest(vbd_kept_of(&connection->object));
	vbd_connection_wait(req, connection, VBD_GOAL_ENDED, 200, false);
}

static void answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)arg;
	if (object)
		vbd_connection_wait(req, VBD_CONTAINER_OF(object, struct vbd_connection, object),
			VBD_GOAL_DELETED, 204, false);
	else
		vbd_reply_empty(req, 204);
}

void vbd_delete_connection(struct vbd_request *req)
{
	struct vbd_connection *connection;
	uint64_t ticket;

	if (vbd_record_remove(req, &vbd_connection_task) ||
		vbd_keep_remove(req, VBD_KIND_CONNECTION))
		return;
	connection = vbd_request_connection(req);
	if (!connection)
		return;
	ticket = vbd_kept_drop(vbd_kept_of(&connection->object));
	vbd_keep_answer(req, ticket,
		vbd_object_delete(&connection->object) ? NULL : &connection->object, answer_deleted,
		NULL);
}
