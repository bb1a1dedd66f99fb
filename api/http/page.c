/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/page.h"

#include "daemon/core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64

struct page {
	const struct vbd_page_source *source;
	/* the parameters */
	uint64_t limit;
	uint64_t after;
	const struct vbd_page_key *key; /* NULL: sort by id */
	bool descending;
	const char *state; /* NULL: any */
	uint64_t fields;   /* bit mask of source->fields; 0: all */
	/* the matching items */
	const void **items;
	size_t count;
	size_t room;
	bool failed;
};

static uint64_t id_of(const struct vbd_page_source *source, const void *item)
{
	return source->id ? source->id(item) : ((const struct vbd_object *)item)->id;
}

/* --- parameters ------------------------------------------------------------------------------ */

static enum vbd_status parse_sort(
	struct page *page, const struct vbd_request *req, struct vbd_error *err)
{
	const char *sort = "id";
	char known[160] = "id";
	enum vbd_status status = vbd_query_text(req, "sort", 32, &sort, err);

	if (status != VBD_OK)
		return status;
	page->descending = *sort == '-';
	sort += page->descending;
	if (strcmp(sort, "id") == 0)
		return VBD_OK;
	for (const struct vbd_page_key *key = page->source->keys; key->name; key++) {
		size_t used = strlen(known);

		if (strcmp(sort, key->name) == 0) {
			page->key = key;
			return VBD_OK;
		}
		(void)snprintf(known + used, sizeof(known) - used, ", %s", key->name);
	}
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, "sort", "sort must be one of: %s; '-' may precede it", known);
}

static enum vbd_status parse_state(
	struct page *page, const struct vbd_request *req, struct vbd_error *err)
{
	const char *const *states = page->source->states;
	size_t count = 0;
	size_t index = SIZE_MAX;
	enum vbd_status status;

	if (!states)
		return VBD_OK;
	while (states[count])
		count++;
	status = vbd_query_enum(req, "state", states, count, &index, err);
	if (status == VBD_OK && index != SIZE_MAX)
		page->state = states[index];
	return status;
}

/* The bit of a field; 0 if there is no field of that name. */
static uint64_t field_bit(const struct vbd_page_source *source, const char *name, size_t len)
{
	for (size_t i = 0; i < FIELDS_MAX && source->fields[i]; i++) {
		if (strlen(source->fields[i]) == len && memcmp(source->fields[i], name, len) == 0)
			return UINT64_C(1) << i;
	}
	return 0;
}

static enum vbd_status parse_fields(
	struct page *page, const struct vbd_request *req, struct vbd_error *err)
{
	const char *fields = NULL;
	enum vbd_status status = vbd_query_text(req, "fields", 512, &fields, err);

	while (status == VBD_OK && fields && *fields) {
		size_t len = strcspn(fields, ",");
		uint64_t bit = field_bit(page->source, fields, len);

		if (!bit)
			return vbd_error_input(err, VBD_E_BAD_VALUE, "fields",
				"'%.*s' is not a member of the listed items",
				len < 40 ? (int)len : 40, fields);
		page->fields |= bit;
		fields += len + (fields[len] == ',');
	}
	if (page->fields)
		page->fields |= field_bit(page->source, "id", 2);
	return status;
}

static enum vbd_status parse(
	struct page *page, const struct vbd_request *req, struct vbd_error *err)
{
	enum vbd_status status = vbd_query_u64(req, "limit", 1, 1000, &page->limit, err);

	if (status == VBD_OK)
		status = vbd_query_u64(req, "after", 0, INT64_MAX, &page->after, err);
	if (status == VBD_OK)
		status = parse_sort(page, req, err);
	if (status == VBD_OK)
		status = parse_state(page, req, err);
	return status == VBD_OK ? parse_fields(page, req, err) : status;
}

/* --- items ----------------------------------------------------------------------------------- */

static void collect(const void *item, void *visitor)
{
	struct page *page = visitor;

	if (page->failed || (page->state && !page->source->in_state(item, page->state)))
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

static void walk(const struct vbd_page_source *source, void *listed, struct page *page)
{
	if (source->walk) {
		source->walk(listed, collect, page);
		return;
	}
	for (const struct vbd_object *object = vbd_registry_first(listed); object;
		object = vbd_registry_next(object))
		collect(object, page);
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct page *page = arg;
	const void *a = *(const void *const *)left;
	const void *b = *(const void *const *)right;
	int order = page->key ? page->key->compare(a, b) : 0;

	if (!order)
		order = vbd_compare_u64(id_of(page->source, a), id_of(page->source, b));
	return page->descending ? -order : order;
}

/* Find the index of the first item of the page. */
static enum vbd_status find_start(const struct page *page, size_t *ret_start, struct vbd_error *err)
{
	bool by_id = !page->key;
	size_t i = 0;

	if (page->after && by_id && !page->descending) {
		while (i < page->count && id_of(page->source, page->items[i]) <= page->after)
			i++;
	} else if (page->after && by_id) {
		while (i < page->count && id_of(page->source, page->items[i]) >= page->after)
			i++;
	} else if (page->after) {
		/* The key of a deleted item is unknown, so its place can't be found. */
		while (i < page->count && id_of(page->source, page->items[i]) != page->after)
			i++;
		if (i == page->count)
			return vbd_error_input(err, VBD_E_BAD_VALUE, "after",
				"the last item of the previous page is gone: begin again, or sort "
				"by id");
		i++;
	}
	*ret_start = i;
	return VBD_OK;
}

/* --- the answer ------------------------------------------------------------------------------ */

static json_t *encode_item(const struct page *page, const void *item, struct vbd_request *req)
{
	json_t *json = page->source->encode(item, req);

	if (!page->fields)
		return json;
	for (size_t i = 0; i < FIELDS_MAX && page->source->fields[i]; i++) {
		if (!(page->fields & UINT64_C(1) << i))
			(void)json_object_del(json, page->source->fields[i]);
	}
	return json;
}

static json_t *encode(const struct page *page, size_t start, struct vbd_request *req)
{
	json_t *items = json_array();
	size_t end = start;
	bool more;

	for (; end < page->count && end - start < page->limit; end++) {
		if (json_array_append_new(items, encode_item(page, page->items[end], req)) < 0) {
			json_decref(items);
			return NULL;
		}
	}
	more = end < page->count;
	return json_pack("{s:I, s:o, s:o}", "total", (json_int_t)page->count, "next",
		more ? json_integer((json_int_t)id_of(page->source, page->items[end - 1]))
		     : json_null(),
		"items", items);
}

void vbd_page_reply(struct vbd_request *req, const struct vbd_page_source *source, void *listed)
{
	struct page page = {.source = source, .limit = 100};
	struct vbd_error err = {0};
	size_t start = 0;
	enum vbd_status status = parse(&page, req, &err);

	if (status == VBD_OK) {
		walk(source, listed, &page);
		if (page.failed)
			status = vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the list");
	}
	if (status == VBD_OK && page.count > 1 && (page.key || page.descending))
		qsort_r(page.items, page.count, sizeof(*page.items), compare, &page);
	if (status == VBD_OK)
		status = find_start(&page, &start, &err);
	if (status == VBD_OK)
		vbd_reply_json(req, 200, encode(&page, start, req));
	else
		vbd_reply_problem(req, &err);
	free(page.items);
}

int vbd_object_compare_name(const void *a, const void *b)
{
	return strcmp(((const struct vbd_object *)a)->name, ((const struct vbd_object *)b)->name);
}

int vbd_object_compare_created(const void *a, const void *b)
{
	return vbd_compare_u64(((const struct vbd_object *)a)->created_ns,
		((const struct vbd_object *)b)->created_ns);
}
