/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which items are on a page, and how many there are in all. In the order of ids the walk begins at
 * the cursor and ends with the page, if the objects that match are counted anyway; else it passes
 * over all objects, and keeps the first items behind the cursor.
 */
#include "api/http/archive.h"
#include "api/http/page_parts.h"
#include "base/clock.h"
#include "daemon/core/object.h"

/* Objects of a list that a step walks over. */
#define STEP_OBJECTS 1000

/* To read the body of a record takes as long as this many objects. */
#define RECORD_COST 20

/* An item that is looked at: an object, or a record of an earlier run. */
struct looked {
	uint64_t id;
	const void *item;
	const struct vbd_archived *past; /* NULL: `item` is there */
};

/* --- which items ----------------------------------------------------------------------------- */

static bool item_refers_to(const struct vbd_page_wish *wish, const struct looked *looked)
{
	const struct vbd_page_column *column = wish->column;

	if (looked->past)
		return vbd_archived_refers(looked->past, column->name, wish->id);
	return column->has ? column->has(looked->item, wish->id)
			   : column->number(looked->item) == wish->id;
}

static const char *item_text(const struct looked *looked, const struct vbd_page_column *column)
{
	return looked->past ? vbd_archived_text(looked->past, column->name)
			    : column->text(looked->item);
}

static bool fulfils_wish(const struct vbd_page_wish *wish, const struct looked *looked)
{
	if (!wish->column->text)
		return wish->id && item_refers_to(wish, looked);
	return wish->text && strcmp(item_text(looked, wish->column), wish->text) == 0;
}

static bool fulfils_all_wishes(const struct vbd_page *page, const struct looked *looked)
{
	for (size_t i = 0; i < page->n_wishes; i++) {
		if (!fulfils_wish(&page->wishes[i], looked))
			return false;
	}
	return true;
}

static bool is_seen_with_labels(const struct vbd_page *page, const struct vbd_caller *owner,
	const struct vbd_labels *labels)
{
	return vbd_caller_sees(page->caller, owner) && vbd_labels_match(labels, &page->labels);
}

/* A state that this version does not know, of a record, comes behind the others. */
static uint64_t item_state(const struct vbd_page *page, const struct looked *looked)
{
	const struct vbd_page_state *states = page->source->states;
	uint64_t state = 0;

	if (!looked->past)
		return page->source->state_of(looked->item);
	while (states[state].name && strcmp(states[state].name, looked->past->record->state) != 0)
		state++;
	return state;
}

/* --- the order ------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(
	const struct vbd_page *page, const struct vbd_page_place *a, const struct vbd_page_place *b)
{
	int order = 0;

	if (page->key)
		order = page->key->text ? strcmp(a->text, b->text)
					: compare_u64(a->number, b->number);
	if (!order)
		order = compare_u64(a->id, b->id);
	return page->descending ? -order : order;
}

static int compare_items(const void *left, const void *right, void *arg)
{
	return compare_places(arg, left, right);
}

static bool is_time(const struct vbd_page_column *key)
{
	size_t len = strlen(key->name);

	return len > 3 && strcmp(key->name + len - 3, "_at") == 0;
}

static uint64_t item_number(const struct vbd_page *page, const struct looked *looked)
{
	const struct vbd_page_column *key = page->key;
	uint64_t wall_ns;

	if (!looked->past)
		return key->number(looked->item);
	if (key->past)
		return key->past(looked->past);
	if (strcmp(key->name, "state") == 0)
		return item_state(page, looked);
	if (!is_time(key))
		return vbd_archived_number(looked->past, key->name);
	wall_ns = vbd_archived_time_ns(looked->past, key->name);
	return wall_ns ? vbd_clock_mono_of_wall_ns(wall_ns) : 0;
}

static struct vbd_page_place item_place(const struct vbd_page *page, const struct looked *looked)
{
	const struct vbd_page_column *key = page->key;
	struct vbd_page_place place = {.id = looked->id};

	if (key && key->number)
		place.number = item_number(page, looked);
	/* Times before the boot of the host, which records have, come before all others. */
	if (place.number && is_time(key))
		place.number += UINT64_C(1) << 62;
	if (key && key->text)
		(void)snprintf(place.text, sizeof(place.text), "%s", item_text(looked, key));
	return place;
}

/* The walk of an unsorted list is in the order of the page. */
static bool is_sorted(const struct vbd_page *page)
{
	return page->key || (page->source->after && page->descending);
}

/* --- items ----------------------------------------------------------------------------------- */

/* Items that are kept: those of the page, and one that tells that others follow. */
static size_t items_to_keep(const struct vbd_page *page)
{
	return (size_t)page->limit + 1;
}

static void sort_and_cut(struct vbd_page *page)
{
	if (is_sorted(page) && page->count > 1)
		qsort_r(page->items, page->count, sizeof(*page->items), compare_items, page);
	if (page->count > items_to_keep(page))
		page->count = items_to_keep(page);
	page->ranked = page->count == items_to_keep(page);
}

/* There is room for twice the items that are kept, so that few of many are ranked at a time. */
static bool make_room_for_item(struct vbd_page *page)
{
	size_t room = page->room ? page->room * 2 : 64;
	struct vbd_page_place *items;

	if (page->count == 2 * items_to_keep(page))
		sort_and_cut(page);
	if (page->count < page->room)
		return true;
	items = reallocarray(page->items, room, sizeof(*items));
	if (!items)
		return false;
	page->items = items;
	page->room = room;
	return true;
}

static void keep_item(struct vbd_page *page, const struct vbd_page_place *place)
{
	if (page->after.id && compare_places(page, place, &page->after) <= 0)
		return;
	if (page->ranked && compare_places(page, place, &page->items[page->limit]) >= 0)
		return;
	if (!make_room_for_item(page)) {
		page->failed = true;
		return;
	}
	page->items[page->count++] = *place;
	if (!is_sorted(page) && page->count == items_to_keep(page))
		page->ranked = true;
}

static void match_and_keep(struct vbd_page *page, const struct looked *looked)
{
	struct vbd_page_place place;

	if (!fulfils_all_wishes(page, looked))
		return;
	if (!page->counted)
		page->total++;
	place = item_place(page, looked);
	keep_item(page, &place);
}

static bool needs_record_body(const struct vbd_page *page)
{
	return page->key || page->n_wishes;
}

static void visit_item(struct vbd_page *page, const void *item)
{
	const struct vbd_page_source *source = page->source;
	const struct vbd_object *object = source->after ? NULL : item;
	struct vbd_archived past = {.record = vbd_record_of(object)};
	struct looked looked = {
		.id = page->at_id, .item = item, .past = past.record ? &past : NULL};

	if (page->failed || (object && !is_seen_with_labels(page, object->owner, object->labels)) ||
		(source->states && !(page->states >> item_state(page, &looked) & 1)) ||
		(past.record && needs_record_body(page) && !vbd_archived_open(&past, past.record)))
		return;
	match_and_keep(page, &looked);
	vbd_archived_close(&past);
}

/* --- the walk -------------------------------------------------------------------------------- */

/* Sets `total` if the request selects all objects of the list, or all that have not ended. */
static bool set_known_total(struct vbd_page *page)
{
	const struct vbd_page_source *source = page->source;
	const struct vbd_registry *registry = page->listed;
	uint64_t all = 0, open = 0;
	struct vbd_tally seen;

	if (source->after || page->with_past || page->n_wishes || page->labels.count)
		return false;
	for (size_t i = 0; source->states && source->states[i].name; i++) {
		all |= UINT64_C(1) << i;
		open |= source->states[i].ended ? 0 : UINT64_C(1) << i;
	}
	seen = vbd_tally_seen(registry, vbd_caller_scope((struct vbd_caller *)page->caller));
	page->total = page->states == all ? seen.objects : seen.open;
	return page->states == all || (page->states == open && registry->kind->keeps_history);
}

/* Can records of earlier runs be on the page? They have ended. */
static bool asks_for_past(const struct vbd_page *page)
{
	const struct vbd_page_state *states = page->source->states;
	const struct vbd_registry *registry = page->listed;

	if (page->source->after || !states || !registry->past_ended.count)
		return false;
	for (size_t i = 0; states[i].name; i++) {
		if (states[i].ended && (page->states >> i & 1))
			return true;
	}
	return false;
}

static bool is_backward(const struct vbd_page *page)
{
	return page->descending && !is_sorted(page);
}

void vbd_page_walk_begin(struct vbd_page *page)
{
	page->with_past = asks_for_past(page);
	page->counted = set_known_total(page);
	page->at_id = is_backward(page) ? UINT64_MAX : 0;
	if (!page->counted)
		page->total = 0;
	else if (page->after.id && !is_sorted(page))
		page->at_id = page->after.id;
}

/* Records of earlier runs have lower ids than all objects. */
static const void *next_item(const struct vbd_page *page)
{
	const struct vbd_registry *registry = page->listed;
	const struct vbd_object *object;

	if (page->source->after)
		return page->source->after(page->listed, page->at_id);
	if (is_backward(page)) {
		object = vbd_registry_before(registry, page->at_id);
		return object || !page->with_past ? object
						  : vbd_places_before(&registry->past, page->at_id);
	}
	object = page->with_past ? vbd_places_after(&registry->past, page->at_id) : NULL;
	return object ? object : vbd_registry_after(registry, page->at_id);
}

/* No later item is on the page, or need be counted. */
static bool page_is_full(const struct vbd_page *page)
{
	return page->counted && !is_sorted(page) && page->ranked;
}

static void walk_step(struct vbd_page *page)
{
	const struct vbd_page_source *source = page->source;
	int record_cost = needs_record_body(page) ? RECORD_COST : 1;

	for (int i = 0; i < STEP_OBJECTS && !page_is_full(page); i++) {
		const void *item = next_item(page);
		const struct vbd_object *object = source->after ? NULL : item;

		page->walked = !item;
		if (!item)
			return;
		page->at_id = object ? object->id : source->id(item);
		visit_item(page, item);
		i += object && object->past ? record_cost - 1 : 0;
	}
	page->walked = page_is_full(page);
}

void vbd_page_walk(struct vbd_page *page)
{
	walk_step(page);
	if (!page->walked)
		return;
	sort_and_cut(page);
	if (page->count > page->limit) {
		page->count = (size_t)page->limit;
		page->next = page->items[page->count - 1];
	}
}
