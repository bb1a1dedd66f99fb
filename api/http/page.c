/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "api/http/page_parts.h"
#include "daemon/core/context.h"

#include <stdlib.h>

static void free_page(struct vbd_page *page)
{
	vbd_turns_drop(&page->steps);
	vbd_encode_drop(&page->out);
	free(page->items);
	free(page);
}

static void refuse(struct vbd_page *page, const struct vbd_error *err)
{
	vbd_reply_problem(page->req, err);
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
	vbd_reply_json(page->req, 200, &page->out);
	free_page(page);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Returns whether the page is written, or has failed. */
static bool go_on(struct vbd_page *page)
{
	if (page->walked)
		return vbd_page_write(page);
	vbd_page_walk(page);
	return page->failed;
}

static bool take_step(struct vbd_steps *steps)
{
	struct vbd_page *page = VBD_CONTAINER_OF(steps, struct vbd_page, steps);

	if (!go_on(page))
		return false;
	finish(page);
	return true;
}

static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	free_page(arg);
}

/* Returns false if the page must be written at once: too many requests wait. */
static bool await_turn(struct vbd_page *page, struct vbd_turns *turns)
{
	if (vbd_request_park(page->req, 0, NULL, on_gone, page, NULL) != VBD_OK)
		return false;
	vbd_turns_add(turns, &page->steps);
	return true;
}

/* Most pages are written at once. */
static void run(struct vbd_page *page)
{
	const struct vbd_registry *registry = page->source->walk ? NULL : page->listed;
	struct vbd_turns *turns = registry ? &registry->daemon->turns : NULL;
	bool done = false;

	while (!done) {
		if (turns && !vbd_turns_go_on(turns)) {
			if (await_turn(page, turns))
				return;
			turns = NULL;
		}
		done = go_on(page);
	}
	finish(page);
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
	vbd_list_init(&page->steps.link);
	page->steps.step = take_step;
	page->req = req;
	page->source = source;
	page->caller = req->caller;
	page->listed = listed;
	page->limit = 100;
	if (vbd_page_parse(page, resolve, req, &err) != VBD_OK) {
		refuse(page, &err);
		return;
	}
	vbd_page_walk_begin(page);
	run(page);
}

const char *vbd_page_name(const void *item)
{
	return ((const struct vbd_object *)item)->name;
}

uint64_t vbd_page_created(const void *item)
{
	return ((const struct vbd_object *)item)->created_ns;
}
