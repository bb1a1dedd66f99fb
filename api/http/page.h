/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convention of lists: limit, after, sort, state, fields; {total, next, items}. A resource says
 * how to walk its objects and how to encode one; only those on the page are encoded.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_PAGE_H
#define VBD_API_HTTP_PAGE_H

#include "api/http/request.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

typedef void (*vbd_page_visit_cb)(const void *item, void *visitor);

struct vbd_page_key {
	const char *name; /* NULL ends a table */
	int (*compare)(const void *a, const void *b);
};

struct vbd_page_source {
	const char *const *fields;	 /* top-level members of an item; NULL ends */
	const struct vbd_page_key *keys; /* to sort by, besides id */
	const char *const *states; /* that `state` may ask for; NULL ends; NULL if there are none */
	bool (*in_state)(const void *item, const char *state);
	/* NULL for the objects of a registry. */
	uint64_t (*id)(const void *item);
	/* Call @visit with every item, ids ascending. NULL: @listed is a registry. */
	void (*walk)(void *listed, vbd_page_visit_cb visit, void *visitor);
	/* A new reference; NULL without memory. */
	json_t *(*encode)(const void *item, struct vbd_request *req);
};

/** vbd_page_reply - answer a list request
 * @listed: what `walk` goes through */
void vbd_page_reply(struct vbd_request *req, const struct vbd_page_source *source, void *listed);

/** vbd_object_compare_name - for lists of objects of a registry */
int vbd_object_compare_name(const void *a, const void *b);
int vbd_object_compare_created(const void *a, const void *b);

/** vbd_compare_u64 - for compare functions */
static inline int vbd_compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* A compare function for a key of a list: @of_ makes a pointer to the object of an item, @member_
 * is a number in it. */
#define VBD_PAGE_BY(function_, of_, member_)                              \
	static int function_(const void *a, const void *b)                \
	{                                                                 \
		return vbd_compare_u64(of_(a)->member_, of_(b)->member_); \
	}

/* What a VBD_…_STATE_MAP gives for the list of the names that ?state= takes. */
#define VBD_PAGE_STATE(sym_, json_, ...) json_,

#endif
