/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/message_page.h"

#include "api/json/codec.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "daemon/core/loop.h"

/* A byte that needs an escape is written in some 10 ns: 16 KiB take much less than a millisecond.
 */
#define AT_ONCE_BYTES 16384

/* A page says this of a message, besides its bytes. */
struct head {
	uint64_t seq;
	struct vbd_received received;
	bool has_source;
	struct vbd_ah_source source;
	uint64_t received_ns;
};

struct page {
	struct vbd_request *req; /* NULL once the client has left */
	enum vbd_encoding encoding;
	uint64_t total;
	uint64_t next;	/* 0: this is the last page */
	uint8_t *bytes; /* of all messages, one after another */
	struct vbd_encoder out;
	size_t count;
	struct head heads[];
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

static struct range choose(const struct vbd_inbox *inbox, const struct vbd_message_query *query)
{
	const struct vbd_link *head = &inbox->messages;
	struct range range = {.first = head->next};

	while (range.first != head && message_of(range.first)->seq <= query->after)
		range.first = range.first->next;
	for (range.end = range.first; range.end != head; range.end = range.end->next) {
		const struct vbd_message *message = message_of(range.end);
		size_t more = message->received.length_bytes;

		if (range.count == query->limit ||
			(range.count && range.bytes + more > VBD_MESSAGE_PAGE_BYTES))
			break;
		range.count++;
		range.bytes += more;
		range.last = message->seq;
	}
	return range;
}

/* Copy what the page has of the messages, which may be deleted before it is written. */
static void copy_messages(struct page *page, const struct range *range)
{
	uint8_t *at = page->bytes;

	for (const struct vbd_link *link = range->first; link != range->end; link = link->next) {
		const struct vbd_message *message = message_of(link);
		size_t len = message->received.length_bytes;

		page->heads[page->count++] = (struct head){
			.seq = message->seq,
			.received = message->received,
			.has_source = message->has_source,
			.source = message->source,
			.received_ns = message->received_ns,
		};
		if (len)
			memcpy(at, vbd_message_data(message), len);
		at += len;
	}
}

/* Returns NULL without memory. */
static struct page *make_page(struct vbd_request *req, const struct vbd_inbox *inbox,
	const struct range *range, const struct vbd_message_query *query)
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

static void put_message(struct vbd_encoder *out, const struct head *head, const uint8_t *bytes,
	enum vbd_encoding encoding)
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

static void on_written(void *arg)
{
	struct page *page = arg;

	if (page->req)
		vbd_reply_json(page->req, 200, &page->out);
	free_page(page);
}

static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	((struct page *)arg)->req = NULL;
}

/* Let the pool write the page, whose request is parked; else answer with a problem. */
static bool write_later(struct page *page)
{
	struct vbd_request *req = page->req;
	struct vbd_error err = {0};
	enum vbd_status status = vbd_request_park(req, 0, NULL, on_gone, page, &err);

	if (status == VBD_OK)
		status = vbd_loop_work(vbd_request_daemon(req)->loop, VBD_WORK_BYTES, req->caller,
			write_page, on_written, page, &err);
	if (status == VBD_OK)
		return true;
	free_page(page);
	vbd_reply_problem(req, &err);
	return false;
}

bool vbd_reply_message_page(struct vbd_request *req, const struct vbd_inbox *inbox,
	const struct vbd_message_query *query)
{
	struct range range = choose(inbox, query);
	struct page *page = make_page(req, inbox, &range, query);

	if (!page) {
		vbd_reply_text(req, "application/json", NULL, 0);
		return false;
	}
	if (range.bytes > AT_ONCE_BYTES)
		return write_later(page);
	write_page(page);
	on_written(page);
	return false;
}
