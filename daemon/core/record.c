/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/record.h"

#include "daemon/core/caller.h"
#include "daemon/core/labels.h"

void vbd_record_free(struct vbd_record *record)
{
	if (!record)
		return;
	vbd_labels_unref(record->labels);
	vbd_caller_unref(record->owner);
	free(record->row);
	free(record);
}

void vbd_records_fini(struct vbd_records *records)
{
	for (size_t i = records->first; i < records->end; i++)
		vbd_record_free(records->items[i]);
	free(records->items);
	*records = (struct vbd_records){0};
}

/* The room is the power of two at or above the end, so that it needs no number of its own. */
bool vbd_records_append(struct vbd_records *records, struct vbd_record *record)
{
	struct vbd_record **items = records->items;
	size_t end = records->end;

	if (!(end & (end - 1)))
		items = reallocarray(items, end ? 2 * end : 1, sizeof(*items));
	if (!items)
		return false;
	items[end] = record;
	records->items = items;
	records->end++;
	return true;
}

size_t vbd_records_count(const struct vbd_records *records)
{
	return records->end - records->first;
}

/* The index of the first record whose id is @id or above. */
static size_t find(const struct vbd_records *records, uint64_t id)
{
	size_t low = records->first, high = records->end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (records->items[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct vbd_record *vbd_records_find(const struct vbd_records *records, uint64_t id)
{
	size_t at = find(records, id);

	return at < records->end && records->items[at]->id == id ? records->items[at] : NULL;
}

struct vbd_record *vbd_records_find_name(
	const struct vbd_records *records, const char *name, const struct vbd_caller *caller)
{
	struct vbd_record *newest = NULL;

	/* The id does not tell: a kept connection has one that is older than those of earlier
	 * tries.
	 */
	for (size_t i = records->end; i > records->first; i--) {
		struct vbd_record *record = records->items[i - 1];

		if (strcmp(record->name, name) == 0 && vbd_caller_sees(caller, record->owner) &&
			(!newest || record->created_wall_ns > newest->created_wall_ns))
			newest = record;
	}
	return newest;
}

struct vbd_record *vbd_records_after(const struct vbd_records *records, uint64_t id)
{
	size_t at = id == UINT64_MAX ? records->end : find(records, id + 1);

	return at < records->end ? records->items[at] : NULL;
}

struct vbd_record *vbd_records_before(const struct vbd_records *records, uint64_t id)
{
	size_t at = find(records, id);

	return at > records->first ? records->items[at - 1] : NULL;
}

void vbd_records_remove(struct vbd_records *records, struct vbd_record *record)
{
	size_t at = find(records, record->id);

	if (at == records->first) {
		records->first++;
	} else {
		memmove(&records->items[at], &records->items[at + 1],
			(records->end - at - 1) * sizeof(struct vbd_record *));
		records->end--;
	}
	vbd_record_free(record);
}
