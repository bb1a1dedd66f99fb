/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/sieve.h"

#include <string.h>

void vbd_sieve_begin(struct vbd_sieve *ret_sieve)
{
	ret_sieve->n_keep = 0;
	ret_sieve->n_hide = 0;
	ret_sieve->at = 0;
	ret_sieve->levels[0] = (struct vbd_sieve_level){.whole = true};
}

void vbd_sieve_keep(struct vbd_sieve *sieve, const char *text, size_t len)
{
	sieve->levels[0].whole = false;
	sieve->levels[0].keep |= UINT64_C(1) << sieve->n_keep;
	sieve->keep[sieve->n_keep++] = (struct vbd_sieve_path){text, len};
}

void vbd_sieve_hide(struct vbd_sieve *sieve, const char *text, size_t len)
{
	sieve->levels[0].hide |= UINT64_C(1) << sieve->n_hide;
	sieve->hide[sieve->n_hide++] = (struct vbd_sieve_path){text, len};
}

/* The path from its part with number @level on. */
static struct vbd_sieve_path rest_of(struct vbd_sieve_path path, unsigned int level)
{
	for (; level; level--) {
		const char *dot = memchr(path.text, '.', path.len);
		size_t used = dot ? (size_t)(dot - path.text) + 1 : path.len;

		path = (struct vbd_sieve_path){path.text + used, path.len - used};
	}
	return path;
}

/* Is @name the first part of the path? */
static bool begins_with(struct vbd_sieve_path path, const char *name, size_t len)
{
	return len <= path.len && memcmp(path.text, name, len) == 0 &&
	       (len == path.len || path.text[len] == '.');
}

/* The paths that a member is part of. */
struct found {
	bool ends; /* at this member, for one of them */
	uint64_t more;
};

static struct found find(const struct vbd_sieve_path *paths, uint64_t mask, unsigned int level,
	const char *name, size_t len)
{
	struct found found = {0};

	for (; mask; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(mask);
		struct vbd_sieve_path path = rest_of(paths[i], level);
		size_t used = begins_with(path, name, len) ? len : begins_with(path, "*", 1);

		if (used && used == path.len)
			found.ends = true;
		else if (used)
			found.more |= UINT64_C(1) << i;
	}
	return found;
}

/* A level that lets everything pass. */
static bool is_open(const struct vbd_sieve_level *level)
{
	return level->whole && !level->hide;
}

bool vbd_sieve_passes(const struct vbd_sieve *sieve, const char *name)
{
	const struct vbd_sieve_level *level = &sieve->levels[sieve->at];
	size_t len;
	struct found found;

	if (is_open(level))
		return true;
	len = strlen(name);
	if (find(sieve->hide, level->hide, sieve->at, name, len).ends)
		return false;
	if (level->whole)
		return true;
	found = find(sieve->keep, level->keep, sieve->at, name, len);
	return found.ends || found.more;
}

void vbd_sieve_enter(struct vbd_sieve *sieve, const char *name)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];
	struct found keep, hide;
	size_t len;

	if (!name || is_open(level) || sieve->at + 1 == VBD_SIEVE_DEPTH_MAX) {
		level->plain++;
		return;
	}
	len = strlen(name);
	keep = find(sieve->keep, level->keep, sieve->at, name, len);
	hide = find(sieve->hide, level->hide, sieve->at, name, len);
	sieve->levels[++sieve->at] = (struct vbd_sieve_level){
		.whole = level->whole || keep.ends, .keep = keep.more, .hide = hide.more};
}

void vbd_sieve_leave(struct vbd_sieve *sieve)
{
	struct vbd_sieve_level *level = &sieve->levels[sieve->at];

	if (level->plain)
		level->plain--;
	else
		sieve->at--;
}
