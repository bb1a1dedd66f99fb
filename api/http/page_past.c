/* SPDX-License-Identifier: Apache-2.0 */
/* Records of earlier runs as items of lists. */
#include "api/http/archive.h"
#include "api/http/page_parts.h"
#include "base/clock.h"
#include "daemon/core/caller.h"

#include <stdio.h>
#include <string.h>

/* --- which records --------------------------------------------------------------------------- */

static uint64_t state_of(const struct vbd_page *page, const struct vbd_record *record)
{
	const struct vbd_page_state *states = page->source->states;
	uint64_t state = 0;

	while (states[state].name && strcmp(states[state].name, record->state) != 0)
		state++;
	return state;
}

static const char *text_of(const struct vbd_archived *archived, const char *name)
{
	return strcmp(name, "end_code") == 0 ? archived->record->end_code
					     : vbd_archived_text(archived, name);
}

static bool fulfils(const struct vbd_page_wish *wish, const struct vbd_archived *archived)
{
	const struct vbd_page_filter *filter = wish->filter;

	if (filter->has || filter->id)
		return wish->id && vbd_archived_refers(archived, filter->name, wish->id);
	return wish->text && strcmp(text_of(archived, filter->name), wish->text) == 0;
}

static bool wanted(const struct vbd_page *page, const struct vbd_archived *archived)
{
	for (size_t i = 0; i < page->n_wishes; i++) {
		if (!fulfils(&page->wishes[i], archived))
			return false;
	}
	return true;
}

bool vbd_page_asks_for_past(const struct vbd_page *page)
{
	const struct vbd_page_state *states = page->source->states;
	const struct vbd_registry *registry = page->listed;

	if (page->source->walk || !states || !vbd_records_count(&registry->past))
		return false;
	for (size_t i = 0; states[i].name; i++) {
		if (states[i].ended && (page->states >> i & 1))
			return true;
	}
	return false;
}

/* --- the order ------------------------------------------------------------------------------- */

static bool is_time(const struct vbd_page_key *key)
{
	size_t len = strlen(key->name);

	return len > 3 && strcmp(key->name + len - 3, "_at") == 0;
}

static uint64_t time_of(const struct vbd_archived *archived, const char *name)
{
	uint64_t wall_ns = strcmp(name, "ended_at") == 0 ? archived->record->ended_wall_ns
							 : vbd_archived_time_ns(archived, name);

	return wall_ns ? vbd_clock_mono_of_wall_ns(wall_ns) : 0;
}

static uint64_t number_of(const struct vbd_page *page, const struct vbd_archived *archived)
{
	const struct vbd_page_key *key = page->key;

	if (key->past)
		return key->past(archived);
	if (strcmp(key->name, "state") == 0)
		return state_of(page, archived->record);
	return is_time(key) ? time_of(archived, key->name)
			    : vbd_archived_number(archived, key->name);
}

uint64_t vbd_page_order_of_number(const struct vbd_page_key *key, uint64_t number)
{
	return number && is_time(key) ? number + (UINT64_C(1) << 62) : number;
}

static struct vbd_page_place place_of(
	const struct vbd_page *page, const struct vbd_archived *archived)
{
	const struct vbd_page_key *key = page->key;
	struct vbd_page_place place = {.id = archived->record->id};

	if (key && key->number)
		place.number = vbd_page_order_of_number(key, number_of(page, archived));
	if (key && key->text)
		(void)snprintf(place.text, sizeof(place.text), "%s", text_of(archived, key->name));
	return place;
}

/* --- the walk -------------------------------------------------------------------------------- */

static bool passes(const struct vbd_page *page, const struct vbd_record *record)
{
	return vbd_caller_sees(page->caller, record->owner) &&
	       (page->states >> state_of(page, record) & 1) &&
	       vbd_labels_match(record->labels, &page->labels);
}

bool vbd_page_needs_body(const struct vbd_page *page)
{
	return page->key || page->n_wishes;
}

bool vbd_page_matches_record(const struct vbd_page *page, const struct vbd_record *record,
	struct vbd_page_place *ret_place)
{
	struct vbd_archived archived;
	bool matches;

	if (!passes(page, record))
		return false;
	*ret_place = (struct vbd_page_place){.id = record->id};
	if (!vbd_page_needs_body(page))
		return true;
	if (!vbd_archived_open(&archived, record))
		return false;
	matches = wanted(page, &archived);
	if (matches)
		*ret_place = place_of(page, &archived);
	vbd_archived_close(&archived);
	return matches;
}

void vbd_page_put_record(struct vbd_page *page, const struct vbd_record *record)
{
	struct vbd_archived archived;

	if (!vbd_archived_open(&archived, record))
		return;
	vbd_begin_object(&page->out, NULL);
	vbd_encode_through(&page->out, page->sieve);
	vbd_archived_put(&page->out, &archived);
	vbd_encode_through(&page->out, NULL);
	vbd_end(&page->out);
	vbd_archived_close(&archived);
}
