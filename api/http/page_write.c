/* SPDX-License-Identifier: Apache-2.0 */
/* The document {total, next, items}. */
#include "api/http/page_parts.h"
#include "daemon/core/registry.h"

static void put_head(struct vbd_page *page)
{
	char cursor[VBD_PAGE_CURSOR_BYTES];

	page->sieve = vbd_view_sieve(
		page->turns.req->role, page->source->members, &page->view, &page->sieve_room);
	page->bare =
		vbd_view_sieve(VBD_ROLE_READ, page->source->members, &page->view, &page->bare_room);
	page->out = vbd_encode_begin();
	vbd_put_u64(&page->out, "total", page->total);
	vbd_put_text(&page->out, "next",
		page->next.id ? vbd_page_cursor(page, &page->next, cursor) : NULL);
	vbd_begin_array(&page->out, "items");
}

static void put_past_item(struct vbd_page *page, const struct vbd_page_item *item)
{
	const struct vbd_registry *registry = page->listed;
	const struct vbd_record *record = vbd_records_find(&registry->past, item->place.id);

	if (record)
		vbd_page_put_record(page, record);
}

static void put_item(struct vbd_page *page, const struct vbd_page_item *item)
{
	bool bare = false;
	const void *thing = page->source->walk ? item->item
					       : vbd_registry_find_id(page->listed, item->place.id);

	if (!thing) {
		put_past_item(page, item);
		return;
	}
	if (!page->source->walk)
		bare = vbd_view_role(page->turns.req, thing) != page->turns.req->role;
	vbd_begin_object(&page->out, NULL);
	vbd_encode_through(&page->out, bare ? page->bare : page->sieve);
	page->source->encode(&page->out, thing);
	vbd_encode_through(&page->out, NULL);
	vbd_end(&page->out);
}

bool vbd_page_write(struct vbd_page *page)
{
	if (!page->begun)
		put_head(page);
	page->begun = true;
	for (int i = 0; i < VBD_PAGE_STEP_ITEMS && page->written < page->count; i++)
		put_item(page, &page->items[page->written++]);
	if (page->written < page->count)
		return false;
	vbd_end(&page->out);
	return true;
}
