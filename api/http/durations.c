/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct vbd_durations *durations)
{
	size_t room = durations->room ? durations->room * 2 : 64;
	struct vbd_duration **pairs;

	if (durations->count < durations->room)
		return true;
	pairs = reallocarray(durations->pairs, room, sizeof(*pairs));
	if (!pairs)
		return false;
	durations->pairs = pairs;
	durations->room = room;
	return true;
}

static struct vbd_duration *find_or_make(
	struct vbd_durations *durations, const char *operation, unsigned int status)
{
	struct vbd_duration *pair;

	for (size_t i = 0; i < durations->count; i++) {
		pair = durations->pairs[i];
		if (pair->status == status && strcmp(pair->operation, operation) == 0)
			return pair;
	}
	pair = make_room(durations) ? calloc(1, sizeof(*pair)) : NULL;
	if (!pair)
		return NULL;
	pair->operation = operation;
	pair->status = status;
	durations->pairs[durations->count++] = pair;
	return pair;
}

void vbd_durations_add(struct vbd_durations *durations, const char *operation, unsigned int status,
	uint64_t took_ns)
{
	struct vbd_duration *pair = find_or_make(durations, operation ? operation : "none", status);

	vbd_histogram_add(&durations->all, took_ns);
	if (pair)
		vbd_histogram_add(&pair->times, took_ns);
}

void vbd_durations_fini(struct vbd_durations *durations)
{
	for (size_t i = 0; i < durations->count; i++)
		free(durations->pairs[i]);
	free(durations->pairs);
	*durations = (struct vbd_durations){0};
}
