/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to GET of a list: the parameters limit, after, sort, state, fields, and the document
 * {total, next, items}. A resource has a function that walks its objects and one that encodes an
 * object; only the objects on the page are encoded.
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
	const char *const *fields;	 /* top-level members of an item; ends with NULL */
	const struct vbd_page_key *keys; /* sort keys besides id */
	const char *const *states; /* values of `state`; ends with NULL; NULL: no such parameter */
	bool (*in_state)(const void *item, const char *state);
	/* NULL: an item is an object of a registry. */
	uint64_t (*id)(const void *item);
	/* Call @visit with every item, ids ascending. NULL: @listed is a registry. */
	void (*walk)(void *listed, vbd_page_visit_cb visit, void *visitor);
	/* Returns a new reference; NULL without memory. */
	json_t *(*encode)(const void *item, struct vbd_request *req);
};

/** vbd_page_reply - answer GET of a list; @listed: the argument of `walk`, or the registry */
void vbd_page_reply(struct vbd_request *req, const struct vbd_page_source *source, void *listed);

/** vbd_object_compare_name - compare functions for lists of objects of a registry */
int vbd_object_compare_name(const void *a, const void *b);
int vbd_object_compare_created(const void *a, const void *b);

/** vbd_compare_u64 - compare two numbers: negative, 0 or positive */
static inline int vbd_compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Define the compare function of a sort key: @of_ converts an item to its object, and @member_ is a
 * number in the object. */
#define VBD_PAGE_BY(function_, of_, member_)                              \
	static int function_(const void *a, const void *b)                \
	{                                                                 \
		return vbd_compare_u64(of_(a)->member_, of_(b)->member_); \
	}

/* Applied to a VBD_…_STATE_MAP: the list of the values of `state`. */
#define VBD_PAGE_STATE(sym_, json_, ...) json_,

#endif
