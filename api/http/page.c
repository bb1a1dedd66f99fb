/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "api/http/page_parts.h"
#include "daemon/core/context.h"

#include <stdlib.h>

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
	vbd_reply_json(page->turns.req, 200, &page->out);
	free_page(page);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool go_on(struct vbd_in_turns *self)
{
	struct vbd_page *page = VBD_CONTAINER_OF(self, struct vbd_page, turns);
	bool written = page->walked && vbd_page_write(page);

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

void vbd_page_reply(struct vbd_request *req, const struct vbd_page_source *source,
	vbd_page_resolve_fn resolve, void *listed)
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
