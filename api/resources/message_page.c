/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/message_page.h"

#include "api/json/codec.h"
#include "api/json/encode.h"
#include "api/json/print.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "daemon/core/loop.h"

#include <stdlib.h>
#include <string.h>

/* Jansson writes a byte that needs an escape in 50 ns: 16 KiB take a millisecond at most. */
#define AT_ONCE_BYTES 16384

struct page {
	struct vbd_request *req; /* NULL once the client has left */
	enum vbd_encoding encoding;
	json_t *json;	/* its items lack `encoding` and `data` */
	uint8_t *bytes; /* of all items, one after another */
	char *text;	/* the answer; NULL without memory */
	size_t text_bytes;
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
	size_t bytes;
};

static struct range choose(const struct vbd_inbox *inbox, const struct vbd_message_query *query)
{
	const struct vbd_link *head = &inbox->messages;
	struct range range = {.first = head->next};
	uint64_t count = 0;

	while (range.first != head && message_of(range.first)->seq <= query->after)
		range.first = range.first->next;
	for (range.end = range.first; range.end != head; range.end = range.end->next) {
		const struct vbd_message *message = message_of(range.end);
		size_t more = message->received.length_bytes;

		if (count == query->limit || (count && range.bytes + more > VBD_MESSAGE_PAGE_BYTES))
			break;
		count++;
		range.bytes += more;
		range.last = message->seq;
	}
	return range;
}

static json_t *encode_source(const struct vbd_ah_source *source)
{
	struct vbd_encoder out = vbd_encode_begin();
	char text[VBD_GID_TEXT_BYTES];
	uint8_t gid[16];
	bool has_gid = vbd_ah_source_gid(source, gid);

	vbd_put_u64(&out, "qpn", source->qpn);
	vbd_put_text(&out, "gid", has_gid ? vbd_gid_text(gid, text) : NULL);
	vbd_put_u64(&out, "lid", source->lid);
	vbd_put_u64(&out, "sl", source->sl);
	return vbd_encode_end(&out);
}

static json_t *encode_message(const struct vbd_message *message)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "seq", message->seq);
	vbd_put_received(&out, &message->received);
	if (message->has_source)
		vbd_put(&out, "source", encode_source(&message->source));
	vbd_put_time(&out, "received_at", message->received_ns);
	return vbd_encode_end(&out);
}

/* Encode all but the bytes, and copy these. */
static json_t *encode_page(
	const struct vbd_inbox *inbox, const struct range *range, uint8_t *ret_bytes)
{
	json_t *items = json_array();
	size_t used = 0;

	for (const struct vbd_link *link = range->first; link != range->end; link = link->next) {
		const struct vbd_message *message = message_of(link);
		size_t len = message->received.length_bytes;

		if (json_array_append_new(items, encode_message(message)) < 0) {
			json_decref(items);
			return NULL;
		}
		if (len)
			memcpy(ret_bytes + used, vbd_message_data(message), len);
		used += len;
	}
	return json_pack("{s:I, s:o, s:o}", "total", (json_int_t)inbox->count, "next",
		range->end == &inbox->messages ? json_null()
					       : json_integer((json_int_t)range->last),
		"items", items);
}

/* Returns NULL without memory. */
static struct page *make_page(struct vbd_request *req, const struct vbd_inbox *inbox,
	const struct range *range, const struct vbd_message_query *query)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->req = req;
	page->encoding = (enum vbd_encoding)query->encoding;
	page->bytes = malloc(range->bytes + 1);
	if (page->bytes)
		page->json = encode_page(inbox, range, page->bytes);
	return page;
}

/* --- on the thread pool: the bytes ----------------------------------------------------------- */

/* Returns 0, or -1 without memory. */
static int put_data(json_t *item, const uint8_t *bytes, size_t len, enum vbd_encoding encoding)
{
	json_t *data = vbd_codec_encode(bytes, len, encoding, &encoding);
	json_t *name = json_string(vbd_encoding_names[encoding]);
	int rc = json_object_set_new(item, "encoding", name);

	return json_object_set_new(item, "data", data) < 0 ? -1 : rc;
}

/* Complete the items, and write the text. Nothing else accesses the page meanwhile. */
static void write_page(void *arg)
{
	struct page *page = arg;
	const json_t *items = json_object_get(page->json, "items");
	const uint8_t *at = page->bytes;

	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		size_t len = (size_t)json_integer_value(json_object_get(item, "length_bytes"));

		if (put_data(item, at, len, page->encoding) < 0)
			return;
		at += len;
	}
	page->text = vbd_json_document(page->json, &page->text_bytes);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void free_page(struct page *page)
{
	json_decref(page->json);
	free(page->bytes);
	free(page->text);
	free(page);
}

static void on_written(void *arg)
{
	struct page *page = arg;

	if (page->req) {
		vbd_reply_text(page->req, "application/json", page->text, page->text_bytes);
		page->text = NULL;
	}
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
		status = vbd_loop_work(
			vbd_request_daemon(req)->loop, write_page, on_written, page, &err);
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
