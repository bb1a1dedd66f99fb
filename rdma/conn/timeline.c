/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/timeline.h"

#include "base/clock.h"
#include "base/enum.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An open connection that is idle has 17 entries. */
#define FIRST_CAPACITY 18

VBD_ENUM_NAMES(vbd_timeline_kind_name, enum vbd_timeline_kind, VBD_TIMELINE_KIND_MAP)

static bool make_room(struct vbd_timeline *timeline)
{
	struct vbd_timeline_entry **entries;
	uint32_t capacity;

	if (timeline->count < timeline->capacity)
		return true;
	if (timeline->count == VBD_TIMELINE_MAX)
		return false;
	capacity = timeline->capacity ? timeline->capacity * 2 : FIRST_CAPACITY;
	if (capacity > VBD_TIMELINE_MAX)
		capacity = VBD_TIMELINE_MAX;
	entries = reallocarray(timeline->entries, capacity, sizeof(entries[0]));
	if (!entries)
		return false;
	timeline->entries = entries;
	timeline->capacity = capacity;
	return true;
}

/* The entry, and behind it the texts that are not static: the detail, and `what` of a QP's move. */
static struct vbd_timeline_entry *make_entry(const struct vbd_timeline_note *note)
{
	bool is_move = note->kind == VBD_TIMELINE_QP && note->from;
	size_t what_bytes = is_move ? strlen(note->from) + strlen(note->to) + sizeof(" -> ") : 0;
	size_t detail_bytes = strnlen(note->detail, VBD_TIMELINE_DETAIL_BYTES - 1) + 1;
	struct vbd_timeline_entry *entry = malloc(sizeof(*entry) + detail_bytes + what_bytes);

	if (!entry)
		return NULL;
	entry->at_ns = vbd_clock_mono_ns();
	entry->kind = note->kind;
	entry->what = note->what;
	entry->from = note->from;
	entry->to = note->to;
	(void)vbd_text_copy(entry->detail, detail_bytes, note->detail);
	if (is_move) {
		char *what = entry->detail + detail_bytes;
		size_t at = vbd_text_copy(what, what_bytes, note->from);

		at += vbd_text_copy(what + at, what_bytes - at, " -> ");
		(void)vbd_text_copy(what + at, what_bytes - at, note->to);
		entry->what = what;
	}
	return entry;
}

struct vbd_timeline_entry *vbd_timeline_add(
	struct vbd_timeline *timeline, const struct vbd_timeline_note *note)
{
	struct vbd_timeline_entry *entry = make_room(timeline) ? make_entry(note) : NULL;

	if (entry)
		timeline->entries[timeline->count++] = entry;
	else
		timeline->dropped++;
	return entry;
}

void vbd_timeline_fini(struct vbd_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->count; i++)
		free(timeline->entries[i]);
	free(timeline->entries);
	*timeline = (struct vbd_timeline){0};
}
