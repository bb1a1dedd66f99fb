/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a connection or an endpoint: reading the inbox, and sending the bytes of a request.
 */
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

/* --- the inbox ------------------------------------------------------------------------------- */

/* @object: a connection or an endpoint */
static struct vbd_inbox *inbox_of(struct vbd_object *object)
{
	return vbd_registry_kind(object->registry) == VBD_KIND_CONNECTION
		       ? &VBD_CONTAINER_OF(object, struct vbd_connection, object)->inbox
		       : &VBD_CONTAINER_OF(object, struct vbd_endpoint_record, object)->inbox;
}

struct inbox_waiter {
	struct vbd_waiter waiter; /* first */
	struct vbd_object *object;
	struct message_query query;
};

static void answer_inbox(struct vbd_waiter *base, enum vbd_wake why)
{
	struct inbox_waiter *waiter = VBD_CONTAINER_OF(base, struct inbox_waiter, waiter);
	const struct vbd_inbox *inbox;

	if (why == VBD_WAKE_OBJECT_GONE) {
		vbd_task_reply_gone(base->req, base->req->route->task);
		return;
	}
	inbox = inbox_of(waiter->object);
	/* An ended connection or endpoint receives nothing more. */
	if (why == VBD_WAKE_TIMEOUT || vbd_inbox_newest(inbox) > waiter->query.after ||
		waiter->object->ended)
		base->handed_on = reply_page(base->req, inbox, &waiter->query);
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

void vbd_list_messages(struct vbd_request *req)
{
	struct inbox_waiter waiter = {
		.waiter.answer = answer_inbox,
		.object = vbd_task_find(req, req->route->task),
		.query = {.limit = 100, .encoding = VBD_ENCODING_AUTO},
	};

	if (waiter.object && parse_list(req, &waiter, &req->err) == VBD_OK)
		vbd_waiter_run(
			&waiter.waiter, sizeof(waiter), req, &waiter.object->watches, req->wait_ms);
}

void vbd_delete_messages(struct vbd_request *req)
{
	struct vbd_object *object = vbd_task_find(req, req->route->task);
	uint64_t through = 0;

	if (object && !vbd_uri_param(&req->uri, "through"))
		(void)vbd_error_input(&req->err, VBD_E_MISSING_FIELD, "through",
			"the parameter through is missing: the seq of the last message to delete");
	else if (object &&
		 vbd_query_u64(req, "through", 1, INT64_MAX, &through, &req->err) == VBD_OK &&
		 vbd_inbox_delete(inbox_of(object), through, &req->err) == VBD_OK)
		vbd_reply_empty(req, 204);
}

/* --- sending --------------------------------------------------------------------------------- */

/* The strings point into the document. */
struct message_send {
	struct vbd_transfer_spec to;
	const char *data;
	uint32_t encoding;
	uint32_t imm;
	bool imm_seen;
	uint32_t timeout_ms;
};

static const struct vbd_field send_fields[] = {
	VBD_DESTINATION_FIELDS(struct message_send, to),
	{VBD_FIELD(STRING, "data", struct message_send, data), .required = true, .max = 131072,
		.raw = true},
	{VBD_FIELD(ENUM, "encoding", struct message_send, encoding), .names = vbd_encoding_names,
		.n_names = VBD_ENCODING_AUTO},
	{VBD_FIELD(UINT, "imm", struct message_send, imm), .max = UINT32_MAX,
		VBD_FIELD_SEEN(struct message_send, imm_seen)},
	{VBD_FIELD(UINT, "timeout_ms", struct message_send, timeout_ms), .min = 1, .max = 3600000},
};

/* The first members, of a datagram only. */
#define DESTINATION_FIELDS 2

static enum vbd_status decode_send(struct vbd_request *req, struct vbd_object *object,
	struct message_send *input, struct vbd_error *err)
{
	size_t skipped = 0;

	if (vbd_registry_kind(object->registry) == VBD_KIND_CONNECTION) {
		skipped = DESTINATION_FIELDS;
		input->to.qp = &VBD_CONTAINER_OF(object, struct vbd_connection, object)->conn->qp;
	} else {
		input->to.qp =
			&VBD_CONTAINER_OF(object, struct vbd_endpoint_record, object)->endpoint->qp;
	}
	return vbd_request_decode_found(
		req, &send_fields[skipped], VBD_ARRAY_LEN(send_fields) - skipped, input, err);
}

void vbd_send_message(struct vbd_request *req)
{
	struct vbd_object *object = vbd_task_find(req, req->route->task);
	struct message_send input = {.to.origin = vbd_request_origin(req),
		.encoding = VBD_ENCODING_TEXT,
		.timeout_ms = 30000};
	struct vbd_transfer_record *transfer;
	size_t len_bytes;
	uint8_t *bytes;

	if (!object || decode_send(req, object, &input, &req->err) != VBD_OK ||
		vbd_codec_decode(input.data, (enum vbd_encoding)input.encoding,
			VBD_MESSAGE_BYTES_MAX, "/data", &bytes, &len_bytes, &req->err) != VBD_OK)
		return;
	if (vbd_transfer_send(vbd_request_daemon(req), &input.to, bytes, (uint32_t)len_bytes,
		    input.imm_seen ? &input.imm : NULL, input.timeout_ms, &transfer,
		    &req->err) == VBD_OK)
		vbd_task_answer(req, &vbd_transfer_task, transfer);
	free(bytes);
}
