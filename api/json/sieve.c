/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/sieve.h"

#include <string.h>

void vbd_sieve_begin(struct vbd_sieve *ret_sieve)
{
	ret_sieve->n_keep = 0;
	ret_sieve->n_hide = 0;
	ret_sieve->at = 0;
	ret_sieve->levels[0] = (struct vbd_sieve_level){0};
}

void vbd_sieve_keep(struct vbd_sieve *sieve, const char *name)
{
	sieve->keep[sieve->n_keep++] = name;
}

void vbd_sieve_hide(struct vbd_sieve *sieve, const char *path)
{
	sieve->levels[0].hide |= UINT64_C(1) << sieve->n_hide;
	sieve->hide[sieve->n_hide++] = path;
}

/* The path from its part with number @level on. */
static const char *rest_of(const char *path, unsigned int level)
{
	for (; level; level--) {
		path += strcspn(path, ".");
		path += *path == '.';
	}
	return path;
}

/* Is @name the first part of the path? */
static bool begins_with(const char *path, const char *name)
{
	size_t len = strlen(name);

	return strncmp(path, name, len) == 0 && (!path[len] || path[len] == '.');
}

/* The hidden paths that a member of the innermost object is part of. @ret_ends: one of them ends at
 * the member. */
static uint64_t find(const struct vbd_sieve *sieve, const char *name, bool *ret_ends)
{
	uint64_t more = 0;

	*ret_ends = false;
	for (uint64_t mask = sieve->levels[sieve->at].hide; mask; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(mask);
		const char *path = rest_of(sieve->hide[i], sieve->at);

		if (!begins_with(path, name) && !begins_with(path, "*"))
			continue;
		if (strchr(path, '.'))
			more |= UINT64_C(1) << i;
		else
			*ret_ends = true;
	}
	return more;
}

static bool is_kept(const struct vbd_sieve *sieve, const char *name)
{
	for (unsigned int i = 0; i < sieve->n_keep; i++) {
		if (strcmp(sieve->keep[i], name) == 0)
			return true;
	}
	return !sieve->n_keep;
}

bool vbd_sieve_passes(const struct vbd_sieve *sieve, const char *name)
{
	bool hidden;

	(void)find(sieve, name, &hidden);
	return !hidden && (sieve->at > 0 || is_kept(sieve, name));
}

void vbd_sieve_enter(struct vbd_sieve *sieve, const char *name)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];
	bool hidden;

	if (!name || (sieve->at > 0 && !level->hide) || sieve->at + 1 == VBD_SIEVE_DEPTH_MAX) {
		level->plain++;
		return;
	}
	sieve->levels[sieve->at + 1] = (struct vbd_sieve_level){.hide = find(sieve, name, &hidden)};
	sieve->at++;
}

void vbd_sieve_leave(struct vbd_sieve *sieve)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];

	if (level->plain)
		level->plain--;
	else
		sieve->at--;
}
