/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/timeline.h"

#include "base/clock.h"
#include "base/enum.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAPACITY 24

VBD_ENUM_NAMES(vbd_timeline_kind_name, enum vbd_timeline_kind, VBD_TIMELINE_KIND_MAP)

static bool make_room(struct vbd_timeline *timeline)
{
	struct vbd_timeline_entry *entries;
	uint32_t capacity;

	if (timeline->count < timeline->capacity)
		return true;
	capacity = timeline->capacity ? timeline->capacity * 2 : FIRST_CAPACITY;
	if (capacity > VBD_TIMELINE_MAX)
		return false;
	entries = reallocarray(timeline->entries, capacity, sizeof(*entries));
	if (!entries)
		return false;
	timeline->entries = entries;
	timeline->capacity = capacity;
	return true;
}

struct vbd_timeline_entry *vbd_timeline_add(struct vbd_timeline *timeline,
	enum vbd_timeline_kind kind, const char *what, const char *detail_fmt, ...)
{
	struct vbd_timeline_entry *entry;
	va_list ap;

	if (!make_room(timeline)) {
		timeline->dropped++;
		return NULL;
	}
	entry = &timeline->entries[timeline->count++];
	entry->at_ns = vbd_clock_mono_ns();
	entry->kind = kind;
	entry->from = NULL;
	entry->to = NULL;
	(void)snprintf(entry->what, sizeof(entry->what), "%s", what);
	va_start(ap, detail_fmt);
	(void)vsnprintf(entry->detail, sizeof(entry->detail), detail_fmt, ap);
	va_end(ap);
	return entry;
}

void vbd_timeline_fini(struct vbd_timeline *timeline)
{
	free(timeline->entries);
	*timeline = (struct vbd_timeline){0};
}
