/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "api/http/archive.h"
#include "api/http/page_parts.h"
#include "daemon/core/context.h"

#include <stdio.h>
#include <stdlib.h>

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

static void put_item(struct vbd_page *page, const struct vbd_page_item *item)
{
	const struct vbd_registry *registry = page->source->walk ? NULL : page->listed;
	const void *thing = registry ? vbd_registry_find_id(registry, item->place.id) : item->item;
	const struct vbd_record *record = thing ? NULL : vbd_record_find(registry, item->place.id);
	bool bare =
		registry && thing && vbd_view_role(page->turns.req, thing) != page->turns.req->role;
	struct vbd_archived past = {.record = record};

	if (!thing && (!record || !vbd_archived_open(&past, record)))
		return;
	vbd_begin_object(&page->out, NULL);
	vbd_encode_through(&page->out, bare ? page->bare : page->sieve);
	if (thing)
		page->source->encode(&page->out, thing);
	else
		vbd_put_json_members(&page->out, past.body);
	vbd_encode_through(&page->out, NULL);
	vbd_end(&page->out);
	vbd_archived_close(&past);
}

static bool write_page(struct vbd_page *page)
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

static void free_page(struct vbd_page *page)
{
	vbd_encode_drop(&page->out);
	free(page->items);
	free(page);
}

static void refuse(struct vbd_page *page, const struct vbd_error *err)
{
	vbd_reply_problem(page->turns.req, err);
	free_page(page);
}

static void finish(struct vbd_page *page)
{
	struct vbd_error err = {0};

	if (page->failed) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the list");
		refuse(page, &err);
		return;
	}
	vbd_request_add_header(page->turns.req, "Verbsd-Event", page->event);
	vbd_reply_json(page->turns.req, 200, &page->out);
	free_page(page);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool go_on(struct vbd_in_turns *self)
{
	struct vbd_page *page = VBD_CONTAINER_OF(self, struct vbd_page, turns);
	bool written = page->walked && write_page(page);

	if (!page->walked)
		vbd_page_walk(page);
	if (!written && !page->failed)
		return false;
	finish(page);
	return true;
}

static void drop(struct vbd_in_turns *self)
{
	free_page(VBD_CONTAINER_OF(self, struct vbd_page, turns));
}

/* A list without a registry is short. */
static struct vbd_turns *turns_of(const struct vbd_page *page)
{
	const struct vbd_registry *registry = page->source->walk ? NULL : page->listed;

	return registry ? &registry->daemon->turns : NULL;
}

void vbd_page_reply(struct vbd_request *req, const char *event,
	const struct vbd_page_source *source, vbd_page_resolve_fn resolve, void *listed)
{
	struct vbd_page *page = calloc(1, sizeof(*page));
	struct vbd_error err = {0};

	if (!page) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the list");
		vbd_reply_problem(req, &err);
		return;
	}
	page->turns.req = req;
	page->turns.go_on = go_on;
	page->turns.drop = drop;
	page->source = source;
	page->caller = req->caller;
	page->listed = listed;
	(void)snprintf(page->event, sizeof(page->event), "%s", event);
	page->limit = 100;
	if (vbd_page_parse(page, resolve, req, &err) != VBD_OK) {
		refuse(page, &err);
		return;
	}
	vbd_page_walk_begin(page);
	vbd_in_turns_run(&page->turns, turns_of(page));
}

const char *vbd_page_name(const void *item)
{
	return ((const struct vbd_object *)item)->name;
}

uint64_t vbd_page_created(const void *item)
{
	return ((const struct vbd_object *)item)->created_ns;
}
