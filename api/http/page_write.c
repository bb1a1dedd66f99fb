/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document {total, next, items}. A long page is written some items in each turn of the loop, so
 * that others are served in between. An object that is gone when its turn comes is left out.
 */
#include "api/http/page_parts.h"
#include "daemon/core/context.h"
#include "daemon/core/loop.h"

#include <stdlib.h>

struct slices {
	struct vbd_request *req;
	const struct vbd_page_source *source;
	const struct vbd_registry *registry;
	struct vbd_timer *next_turn;
	struct vbd_encoder out;
	struct vbd_sieve room;
	struct vbd_sieve *sieve;
	size_t at, count;
	uint64_t ids[];
};

static void put_item(struct vbd_encoder *out, const struct vbd_page_source *source,
	struct vbd_sieve *sieve, const void *item)
{
	vbd_begin_object(out, NULL);
	vbd_encode_through(out, sieve);
	source->encode(out, item);
	vbd_encode_through(out, NULL);
	vbd_end(out);
}

static void put_head(struct vbd_encoder *out, const struct vbd_page *page)
{
	char cursor[VBD_PAGE_CURSOR_BYTES];

	vbd_put_u64(out, "total", page->count);
	vbd_put_text(
		out, "next", page->next.id ? vbd_page_cursor(page, &page->next, cursor) : NULL);
}

/* --- over several turns ---------------------------------------------------------------------- */

static void free_slices(struct slices *slices)
{
	vbd_timer_destroy(slices->next_turn);
	vbd_encode_drop(&slices->out);
	free(slices);
}

static void finish(struct slices *slices)
{
	vbd_end(&slices->out);
	vbd_reply_json(slices->req, 200, &slices->out);
	free_slices(slices);
}

static void write_slice(void *arg)
{
	struct slices *slices = arg;
	size_t end = slices->count - slices->at < VBD_PAGE_SLICE_ITEMS
			     ? slices->count
			     : slices->at + VBD_PAGE_SLICE_ITEMS;

	for (; slices->at < end; slices->at++) {
		const struct vbd_object *object =
			vbd_registry_find_id(slices->registry, slices->ids[slices->at]);

		if (object)
			put_item(&slices->out, slices->source, slices->sieve, object);
	}
	if (slices->at == slices->count)
		finish(slices);
	else
		vbd_timer_set(slices->next_turn, 0);
}

static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	free_slices(arg);
}

/* False without memory, or if too many requests wait. */
static bool begin_slices(struct vbd_request *req, const struct vbd_page *page, size_t start,
	size_t end, const struct vbd_registry *registry)
{
	size_t count = end - start;
	struct slices *slices = calloc(1, sizeof(*slices) + count * sizeof(slices->ids[0]));

	if (!slices)
		return false;
	if (vbd_timer_create(registry->daemon->loop, write_slice, slices, &slices->next_turn,
		    NULL) != VBD_OK) {
		free(slices);
		return false;
	}
	slices->req = req;
	slices->source = page->source;
	slices->registry = registry;
	slices->count = count;
	for (size_t i = 0; i < count; i++)
		slices->ids[i] = ((const struct vbd_object *)page->items[start + i])->id;
	if (vbd_request_park(req, 0, NULL, on_gone, slices, NULL) != VBD_OK) {
		free_slices(slices);
		return false;
	}
	slices->sieve = vbd_view_sieve(req, page->source->members, &page->view, &slices->room);
	slices->out = vbd_encode_begin();
	put_head(&slices->out, page);
	vbd_begin_array(&slices->out, "items");
	write_slice(slices);
	return true;
}

/* --- at once ------------------------------------------------------------------------------------
 */

void vbd_page_write(struct vbd_request *req, const struct vbd_page *page, size_t start, size_t end,
	const void *listed)
{
	struct vbd_encoder out;
	struct vbd_sieve room;
	struct vbd_sieve *sieve;

	if (!page->source->walk && end - start > VBD_PAGE_SLICE_ITEMS &&
		begin_slices(req, page, start, end, listed))
		return;
	sieve = vbd_view_sieve(req, page->source->members, &page->view, &room);
	out = vbd_encode_begin();
	put_head(&out, page);
	vbd_begin_array(&out, "items");
	for (size_t i = start; i < end; i++)
		put_item(&out, page->source, sieve, page->items[i]);
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
}
