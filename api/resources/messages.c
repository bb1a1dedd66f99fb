/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a connection: reading the inbox, and sending the bytes of a request.
 */
#include "api/http/message.h"
#include "api/http/waiter.h"
#include "api/resources/connections.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/message_page.h"
#include "api/resources/transfers.h"
#include "daemon/connections/connections.h"
#include "daemon/work/transfers.h"

/* --- the inbox ------------------------------------------------------------------------------- */

struct inbox_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_inbox_view view;
	struct vbd_message_query query;
};

static void answer_inbox(struct vbd_waiter *base, enum vbd_wake why)
{
	struct inbox_waiter *waiter = VBD_CONTAINER_OF(base, struct inbox_waiter, waiter);
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the %s was deleted in the meantime",
			waiter->view.kind);
		vbd_reply_problem(base->req, &err);
		return;
	}
	/* An ended connection or endpoint receives nothing more. */
	if (why == VBD_WAKE_TIMEOUT || vbd_inbox_newest(waiter->view.inbox) > waiter->query.after ||
		waiter->view.over(waiter->view.owner))
		base->handed_on =
			vbd_reply_message_page(base->req, waiter->view.inbox, &waiter->query);
}

static enum vbd_status parse_list(
	const struct vbd_request *req, struct inbox_waiter *waiter, struct vbd_error *err)
{
	enum vbd_status status = vbd_query_u64(req, "limit", 1, 1000, &waiter->query.limit, err);

	if (status == VBD_OK)
		status = vbd_query_u64(req, "after", 0, INT64_MAX, &waiter->query.after, err);
	if (status == VBD_OK)
		status = vbd_query_enum(req, "encoding", vbd_encoding_names,
			VBD_ARRAY_LEN(vbd_encoding_names), &waiter->query.encoding, err);
	return status;
}

void vbd_reply_inbox(struct vbd_request *req, const struct vbd_inbox_view *view)
{
	struct inbox_waiter waiter = {
		.waiter.answer = answer_inbox,
		.view = *view,
		.query = {.limit = 100, .encoding = VBD_ENCODING_AUTO},
	};
	struct vbd_error err = {0};

	if (parse_list(req, &waiter, &err) == VBD_OK)
		vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, view->watches, req->wait_ms);
	else
		vbd_reply_problem(req, &err);
}

static bool is_over(const void *owner)
{
	const struct vbd_connection *connection = owner;

	return vbd_conn_state_terminal(connection->conn->state);
}

void vbd_list_messages(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);

	if (!connection)
		return;
	vbd_reply_inbox(req, &(const struct vbd_inbox_view){
				     .inbox = &connection->inbox,
				     .watches = &connection->object.watches,
				     .over = is_over,
				     .owner = connection,
				     .kind = "connection",
			     });
}

enum vbd_status vbd_query_through(
	const struct vbd_request *req, uint64_t *ret_through, struct vbd_error *err)
{
	if (!vbd_uri_param(&req->uri, "through"))
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "through",
			"the parameter through is missing: the seq of the last message to delete");
	return vbd_query_u64(req, "through", 1, INT64_MAX, ret_through, err);
}

void vbd_delete_messages(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct vbd_error err = {0};
	uint64_t through = 0;

	if (!connection)
		return;
	if (vbd_query_through(req, &through, &err) == VBD_OK &&
		vbd_connection_delete_messages(connection, through, &err) == VBD_OK)
		vbd_reply_empty(req, 204);
	else
		vbd_reply_problem(req, &err);
}

/* --- sending --------------------------------------------------------------------------------- */

struct message_send {
	struct vbd_message_input message;
};

static const struct vbd_field send_fields[] = {VBD_MESSAGE_FIELDS(struct message_send)};

static enum vbd_status send_message(struct vbd_request *req, struct vbd_connection *connection,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	struct message_send input = {.message = VBD_MESSAGE_INPUT_DEFAULT};
	const struct vbd_transfer_spec to = {
		.origin = vbd_request_origin(req), .qp = &connection->conn->qp};
	uint32_t len_bytes;
	uint8_t *bytes;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(send_fields), &input, err);

	if (status == VBD_OK)
		status = vbd_message_decode(&input.message, &bytes, &len_bytes, err);
	if (status != VBD_OK)
		return status;
	status = vbd_transfer_send(vbd_request_daemon(req), &to, bytes, len_bytes,
		vbd_message_imm(&input.message), input.message.timeout_ms, ret_record, err);
	free(bytes);
	return status;
}

void vbd_send_message(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_request_connection(req);
	struct vbd_transfer_record *record;
	struct vbd_error err = {0};

	if (!connection)
		return;
	if (send_message(req, connection, &record, &err) == VBD_OK)
		vbd_transfer_answer(req, record);
	else
		vbd_reply_problem(req, &err);
}
