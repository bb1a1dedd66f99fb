/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "api/http/page_parts.h"
#include "daemon/core/caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t id_of(const struct vbd_page_source *source, const void *item)
{
	return source->id ? source->id(item) : ((const struct vbd_object *)item)->id;
}

/* --- items ----------------------------------------------------------------------------------- */

static bool fulfils(const struct vbd_page_wish *wish, const void *item)
{
	const struct vbd_page_filter *filter = wish->filter;

	if (filter->has)
		return wish->id && filter->has(item, wish->id);
	if (filter->id)
		return wish->id && filter->id(item) == wish->id;
	return wish->text && strcmp(filter->text(item), wish->text) == 0;
}

static bool matches(const struct vbd_page *page, const void *item)
{
	const struct vbd_page_source *source = page->source;

	if (!source->walk &&
		!vbd_caller_sees(page->caller, ((const struct vbd_object *)item)->owner))
		return false;
	if (source->states && !(page->states >> source->state_of(item) & 1))
		return false;
	for (size_t i = 0; i < page->n_wishes; i++) {
		if (!fulfils(&page->wishes[i], item))
			return false;
	}
	/* A list that takes labels is one of objects. */
	return !page->labels.count ||
	       vbd_labels_match(((const struct vbd_object *)item)->labels, &page->labels);
}

static void collect(const void *item, void *visitor)
{
	struct vbd_page *page = visitor;

	if (page->failed || !matches(page, item))
		return;
	if (page->count == page->room) {
		size_t room = page->room ? page->room * 2 : 64;
		const void **items = reallocarray(page->items, room, sizeof(*items));

		if (!items) {
			page->failed = true;
			return;
		}
		page->items = items;
		page->room = room;
	}
	page->items[page->count++] = item;
}

static void walk(const struct vbd_page_source *source, void *listed, struct vbd_page *page)
{
	if (source->walk) {
		source->walk(listed, collect, page);
		return;
	}
	for (const struct vbd_object *object = vbd_registry_first(listed); object;
		object = vbd_registry_next(object))
		collect(object, page);
}

/* --- the order ------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compare the values of the sort key; the text of the second one may be that of a cursor. */
static int compare_values(
	const struct vbd_page *page, const void *a, uint64_t number, const char *text)
{
	const struct vbd_page_key *key = page->key;

	if (!key)
		return 0;
	return key->text ? strcmp(key->text(a), text) : compare_u64(key->number(a), number);
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct vbd_page *page = arg;
	const struct vbd_page_key *key = page->key;
	const void *a = *(const void *const *)left;
	const void *b = *(const void *const *)right;
	int order = compare_values(page, a, key && key->number ? key->number(b) : 0,
		key && key->text ? key->text(b) : NULL);

	if (!order)
		order = compare_u64(id_of(page->source, a), id_of(page->source, b));
	return page->descending ? -order : order;
}

static void place_of(
	const struct vbd_page *page, const void *item, struct vbd_page_place *ret_place)
{
	const struct vbd_page_key *key = page->key;

	*ret_place = (struct vbd_page_place){.id = id_of(page->source, item)};
	if (key && key->number)
		ret_place->number = key->number(item);
	if (key && key->text)
		(void)snprintf(ret_place->text, sizeof(ret_place->text), "%s", key->text(item));
}

static bool is_behind(
	const struct vbd_page *page, const void *item, const struct vbd_page_place *place)
{
	int order = compare_values(page, item, place->number, place->text);

	if (!order)
		order = compare_u64(id_of(page->source, item), place->id);
	return page->descending ? order < 0 : order > 0;
}

/* The index of the first item of the page. */
static size_t find_start(const struct vbd_page *page)
{
	size_t i = 0;

	if (!page->after.id)
		return 0;
	while (i < page->count && !is_behind(page, page->items[i], &page->after))
		i++;
	return i;
}

/* --- the answer ------------------------------------------------------------------------------ */

static void reply(struct vbd_request *req, struct vbd_page *page, const void *listed)
{
	size_t start = find_start(page);
	size_t end = page->count - start < page->limit ? page->count : start + page->limit;

	if (end < page->count)
		place_of(page, page->items[end - 1], &page->next);
	vbd_page_write(req, page, start, end, listed);
}

void vbd_page_reply(struct vbd_request *req, const struct vbd_page_source *source,
	vbd_page_resolve_fn resolve, void *listed)
{
	struct vbd_page page = {.source = source, .caller = req->caller, .limit = 100};
	struct vbd_error err = {0};
	enum vbd_status status = vbd_page_parse(&page, resolve, req, &err);

	if (status == VBD_OK) {
		walk(source, listed, &page);
		if (page.failed)
			status = vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the list");
	}
	if (status == VBD_OK && page.count > 1 && (page.key || page.descending))
		qsort_r(page.items, page.count, sizeof(*page.items), compare, &page);
	if (status == VBD_OK)
		reply(req, &page, listed);
	else
		vbd_reply_problem(req, &err);
	free(page.items);
}

const char *vbd_page_name(const void *item)
{
	return ((const struct vbd_object *)item)->name;
}

uint64_t vbd_page_created(const void *item)
{
	return ((const struct vbd_object *)item)->created_ns;
}
