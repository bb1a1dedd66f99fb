/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which members of an object are written: some of its own members are kept, and some paths are
 * hidden, whose parts are compared with the names of the members one after the other as they are
 * written.
 *
 * One thread at a time.
 */
#ifndef VBD_API_JSON_SIEVE_H
#define VBD_API_JSON_SIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VBD_SIEVE_NAMES_MAX 64
/* The most parts of a path, one more than those of the longest in openapi.yaml. */
#define VBD_SIEVE_DEPTH_MAX 8

struct vbd_sieve_level {
	uint64_t hide;	    /* bits of the hidden paths that lead through this object */
	unsigned int plain; /* open arrays, and objects in them, that have the same members */
};

struct vbd_sieve {
	const char *keep[VBD_SIEVE_NAMES_MAX];
	const char *hide[VBD_SIEVE_NAMES_MAX]; /* "qp.sq_depth"; "*" is any name */
	unsigned int n_keep, n_hide;
	struct vbd_sieve_level levels[VBD_SIEVE_DEPTH_MAX];
	unsigned int at; /* the level of the innermost object */
};

/** vbd_sieve_begin - a sieve at the top of an object, through which everything passes; with
 * vbd_sieve_keep() only the members that are kept do */
void vbd_sieve_begin(struct vbd_sieve *ret_sieve);

/** vbd_sieve_keep - keep a member of the object and all that the member contains; at most
 * VBD_SIEVE_NAMES_MAX. @name: valid as long as the sieve */
void vbd_sieve_keep(struct vbd_sieve *sieve, const char *name);

/** vbd_sieve_hide - hide the member with a path, also where it is kept; at most
 * VBD_SIEVE_NAMES_MAX. @path: valid as long as the sieve */
void vbd_sieve_hide(struct vbd_sieve *sieve, const char *path);

/** vbd_sieve_passes - does a member of the innermost object pass, wholly or in part? */
bool vbd_sieve_passes(const struct vbd_sieve *sieve, const char *name);

/** vbd_sieve_enter - a member that passes, or with NULL an element of an array, is an object or an
 * array, and its members are next */
void vbd_sieve_enter(struct vbd_sieve *sieve, const char *name);

/** vbd_sieve_leave - the innermost object or array has ended */
void vbd_sieve_leave(struct vbd_sieve *sieve);

#endif
