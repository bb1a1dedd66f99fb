/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/timeline.h"

#include "base/clock.h"
#include "base/text.h"

/* The entries of the first tries. */
#define FIRST_ENTRIES 12

/* An open connection that is idle has 17 entries. */
#define FIRST_CAPACITY 18

VBD_ENUM_NAMES(vbd_timeline_kind_name, enum vbd_timeline_kind, VBD_TIMELINE_KIND_MAP)

static bool grow_entries(struct vbd_timeline *timeline)
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
	struct vbd_timeline_entry *entry = grow_entries(timeline) ? make_entry(note) : NULL;

	if (entry)
		timeline->entries[timeline->count++] = entry;
	else
		timeline->dropped++;
	return entry;
}

static bool is_try_entry(const struct vbd_timeline_entry *entry, const char *what)
{
	return entry->kind == VBD_TIMELINE_TRY && strcmp(entry->what, what) == 0;
}

static uint32_t count_waiting(const struct vbd_timeline *timeline)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < timeline->count; i++)
		count += is_try_entry(timeline->entries[i], VBD_TIMELINE_WAITING);
	return count;
}

void vbd_timeline_drop(struct vbd_timeline *timeline, const char *what)
{
	uint32_t i = timeline->count;

	while (i && !is_try_entry(timeline->entries[i - 1], what))
		i--;
	if (!i)
		return;
	free(timeline->entries[i - 1]);
	memmove(&timeline->entries[i - 1], &timeline->entries[i],
		(timeline->count - i) * sizeof(timeline->entries[0]));
	timeline->count--;
}

/* Put the last entry in front of all behind @at. */
static void move_last_to(struct vbd_timeline *timeline, uint32_t at)
{
	struct vbd_timeline_entry *last = timeline->entries[timeline->count - 1];

	memmove(&timeline->entries[at + 1], &timeline->entries[at],
		(timeline->count - 1 - at) * sizeof(timeline->entries[0]));
	timeline->entries[at] = last;
}

void vbd_timeline_carry_tries(struct vbd_timeline *timeline, const struct vbd_timeline *before)
{
	uint32_t left = count_waiting(before), at = 0;

	for (uint32_t i = 0; i < before->count; i++) {
		const struct vbd_timeline_entry *tried = before->entries[i];
		const struct vbd_timeline_note note = {
			.kind = tried->kind, .what = tried->what, .detail = tried->detail};
		struct vbd_timeline_entry *copy;

		if (!is_try_entry(tried, VBD_TIMELINE_WAITING) || left-- > VBD_TIMELINE_TRIES_MAX)
			continue;
		copy = vbd_timeline_add(timeline, &note);
		if (!copy)
			continue;
		copy->at_ns = tried->at_ns;
		move_last_to(timeline, at++);
	}
}

void vbd_timeline_make_way(struct vbd_timeline *timeline)
{
	struct vbd_timeline_entry **from = timeline->entries + FIRST_ENTRIES;
	uint32_t excess;

	if (timeline->count <= VBD_TIMELINE_MAX / 2)
		return;
	excess = timeline->count - VBD_TIMELINE_MAX / 2;
	for (uint32_t i = 0; i < excess; i++)
		free(from[i]);
	timeline->count -= excess;
	timeline->dropped += excess;
	memmove(from, from + excess, (timeline->count - FIRST_ENTRIES) * sizeof(from[0]));
}

void vbd_timeline_fini(struct vbd_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->count; i++)
		free(timeline->entries[i]);
	free(timeline->entries);
	*timeline = (struct vbd_timeline){0};
}
