/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a connection: reading the inbox, and sending the bytes of a request.
 */
#include "api/connections/messages.h"

#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/waiter.h"
#include "api/work/transfers.h"
#include "daemon/work/transfers.h"

/* --- a page of an inbox ---------------------------------------------------------------------- */

/* A page has at most this many bytes of messages, or one longer message. */
#define PAGE_BYTES UINT64_C(1048576)

/* The parameters of a GET of messages. */
struct message_query {
	uint64_t limit;	 /* messages */
	uint64_t after;	 /* the seq before the first one */
	size_t encoding; /* enum vbd_encoding */
};

/* A byte that needs an escape is written in some 10 ns: 16 KiB take far less than a millisecond. */
#define AT_ONCE_BYTES 16384

struct page {
	struct vbd_request *req; /* NULL once the client has left */
	enum vbd_encoding encoding;
	uint64_t total;
	uint64_t next;	/* 0: this is the last page */
	uint8_t *bytes; /* of all messages, one after another */
	struct vbd_encoder out;
	size_t count;
	struct vbd_message heads[]; /* copies: all but the bytes counts */
};

/* --- on the control thread: what is in the page ---------------------------------------------- */

static const struct vbd_message *message_of(const struct vbd_link *link)
{
	return VBD_CONTAINER_OF(link, struct vbd_message, link);
}

/* The messages from @first to before @end. */
struct range {
	const struct vbd_link *first, *end;
	uint64_t last; /* seq of the last one */
	size_t count;
	size_t bytes;
};

static struct range choose_range(const struct vbd_inbox *inbox, const struct message_query *query)
{
	const struct vbd_link *head = &inbox->messages;
	struct range range = {.first = head->next};

	while (range.first != head && message_of(range.first)->seq <= query->after)
		range.first = range.first->next;
	for (range.end = range.first; range.end != head; range.end = range.end->next) {
		const struct vbd_message *message = message_of(range.end);
		size_t more = message->received.length_bytes;

		if (range.count == query->limit || (range.count && range.bytes + more > PAGE_BYTES))
			break;
		range.count++;
		range.bytes += more;
		range.last = message->seq;
	}
	return range;
}

/* Copy the messages of the page: they may be deleted before the page is written. */
static void copy_messages(struct page *page, const struct range *range)
{
	uint8_t *at = page->bytes;

	for (const struct vbd_link *link = range->first; link != range->end; link = link->next) {
		const struct vbd_message *message = message_of(link);
		size_t len = message->received.length_bytes;

		page->heads[page->count++] = *message;
		if (len)
			memcpy(at, vbd_message_data(message), len);
		at += len;
	}
}

/* Returns NULL without memory. */
static struct page *make_page(struct vbd_request *req, const struct vbd_inbox *inbox,
	const struct range *range, const struct message_query *query)
{
	struct page *page = calloc(1, sizeof(*page) + range->count * sizeof(page->heads[0]));

	if (!page)
		return NULL;
	page->req = req;
	page->encoding = (enum vbd_encoding)query->encoding;
	page->total = inbox->count;
	page->next = range->end == &inbox->messages ? 0 : range->last;
	page->bytes = malloc(range->bytes + 1);
	if (!page->bytes) {
		free(page);
		return NULL;
	}
	copy_messages(page, range);
	return page;
}

/* --- on the thread pool, if it is much: the text --------------------------------------------- */

static void put_source(
	struct vbd_encoder *out, const char *name, const struct vbd_ah_source *source)
{
	char text[VBD_GID_TEXT_BYTES];
	uint8_t gid[16];
	bool has_gid = vbd_ah_source_gid(source, gid);

	vbd_begin_object(out, name);
	vbd_put_u64(out, "qpn", source->qpn);
	vbd_put_text(out, "gid", has_gid ? vbd_gid_text(gid, text) : NULL);
	vbd_put_u64(out, "lid", source->lid);
	vbd_put_u64(out, "sl", source->sl);
	vbd_end(out);
}

static void put_message(struct vbd_encoder *out, const struct vbd_message *head,
	const uint8_t *bytes, enum vbd_encoding encoding)
{
	size_t len = head->received.length_bytes;

	encoding = vbd_codec_choose(bytes, len, encoding);
	vbd_begin_object(out, NULL);
	vbd_put_u64(out, "seq", head->seq);
	vbd_put_received(out, &head->received);
	if (head->has_source)
		put_source(out, "source", &head->source);
	vbd_put_time(out, "received_at", head->received_ns);
	vbd_put_text(out, "encoding", vbd_encoding_names[encoding]);
	vbd_put_data(out, "data", bytes, len, encoding);
	vbd_end(out);
}

/* Nothing else accesses the page meanwhile. */
static void write_page(void *arg)
{
	struct page *page = arg;
	struct vbd_encoder *out = &page->out;
	const uint8_t *at = page->bytes;

	*out = vbd_encode_begin();
	vbd_put_u64(out, "total", page->total);
	vbd_put_u64_or_null(out, "next", page->next != 0, page->next);
	vbd_begin_array(out, "items");
	for (size_t i = 0; i < page->count; i++) {
		put_message(out, &page->heads[i], at, page->encoding);
		at += page->heads[i].received.length_bytes;
	}
	vbd_end(out);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void free_page(struct page *page)
{
	vbd_encode_drop(&page->out);
	free(page->bytes);
	free(page);
}

static void reply_written_page(void *arg)
{
	struct page *page = arg;

	if (page->req)
		vbd_reply_json(page->req, 200, &page->out);
	free_page(page);
}

static void on_client_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	((struct page *)arg)->req = NULL;
}

/* Let the pool write the page, whose request is parked; else answer with a problem. */
static bool write_page_on_pool(struct page *page)
{
	struct vbd_request *req = page->req;
	struct vbd_error err = {0};
	enum vbd_status status = vbd_request_park(req, 0, NULL, on_client_gone, page, &err);

	if (status == VBD_OK)
		status = vbd_loop_work(vbd_request_daemon(req)->loop, VBD_WORK_BYTES, req->caller,
			write_page, reply_written_page, page, &err);
	if (status == VBD_OK)
		return true;
	free_page(page);
	vbd_reply_problem(req, &err);
	return false;
}

/*
 * reply_page - answer with the messages of @inbox that @query asks for
 *
 * A page of few bytes is answered at once. The bytes of another one are copied, and encoded on the
 * thread pool.
 *
 * Returns true if the request is parked, and answered later.
 */
static bool reply_page(
	struct vbd_request *req, const struct vbd_inbox *inbox, const struct message_query *query)
{
	struct range range = choose_range(inbox, query);
	struct page *page = make_page(req, inbox, &range, query);

	if (!page) {
		vbd_reply_text(req, "application/json", NULL, 0);
		return false;
	}
	if (range.bytes > AT_ONCE_BYTES)
		return write_page_on_pool(page);
	write_page(page);
	reply_written_page(page);
	return false;
}

/* --- the bytes of a request ------------------------------------------------------------------ */

enum vbd_status vbd_message_decode(const struct vbd_message_input *input, uint8_t **ret_bytes,
	uint32_t *ret_len_bytes, struct vbd_error *err)
{
	size_t len_bytes;
	enum vbd_status status = vbd_codec_decode(input->data, (enum vbd_encoding)input->encoding,
		VBD_MESSAGE_BYTES_MAX, "/data", ret_bytes, &len_bytes, err);

	if (status == VBD_OK)
		*ret_len_bytes = (uint32_t)len_bytes;
	return status;
}

const uint32_t *vbd_message_imm(const struct vbd_message_input *input)
{
	return input->imm_seen ? &input->imm : NULL;
}

/* --- the inbox ------------------------------------------------------------------------------- */

struct inbox_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_inbox_view view;
	struct message_query query;
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
		base->handed_on = reply_page(base->req, waiter->view.inbox, &waiter->query);
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

	if (parse_list(req, &waiter, &req->err) == VBD_OK)
		vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, view->watches, req->wait_ms);
}

static bool connection_has_ended(const void *owner)
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
				     .over = connection_has_ended,
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
	uint64_t through = 0;

	if (connection && vbd_query_through(req, &through, &req->err) == VBD_OK &&
		vbd_inbox_delete(&connection->inbox, through, &req->err) == VBD_OK)
		vbd_reply_empty(req, 204);
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

	if (connection && send_message(req, connection, &record, &req->err) == VBD_OK)
		vbd_task_answer(req, &vbd_transfer_task, record);
}
