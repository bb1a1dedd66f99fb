/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a page that page.c, page_query.c, page_cursor.c and page_write.c share.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_PAGE_PARTS_H
#define VBD_API_HTTP_PAGE_PARTS_H

#include "api/http/page.h"
#include "daemon/core/labels.h"

#define VBD_PAGE_FILTERS_MAX 8

/* The place of an item in the order of a list: its value of the sort key, and its id. */
struct vbd_page_place {
	uint64_t id; /* 0: before the first item */
	uint64_t number;
	char text[VBD_PAGE_TEXT_BYTES];
};

/* A filter of the request. */
struct vbd_page_wish {
	const struct vbd_page_filter *filter;
	uint64_t id;	  /* of the object, if the filter compares ids; 0 for an unknown name */
	const char *text; /* if the filter compares texts; valid as long as the request */
};

struct vbd_page {
	const struct vbd_page_source *source;
	const struct vbd_caller *caller; /* the list is for this caller */
	/* the parameters */
	uint64_t limit;
	const char *sort;		/* as in the request: "-name" */
	const struct vbd_page_key *key; /* NULL: sort by id */
	bool descending;
	struct vbd_page_place after;
	uint64_t states; /* bit mask of the states of the list */
	struct vbd_view view;
	struct vbd_page_wish wishes[VBD_PAGE_FILTERS_MAX];
	size_t n_wishes;
	struct vbd_label_selector labels;
	/* the matching items */
	const void **items;
	size_t count;
	size_t room;
	bool failed;
	struct vbd_page_place next; /* the last item of the page; id 0: nothing follows it */
};

/** vbd_page_parse - take the parameters of a list from its request */
enum vbd_status vbd_page_parse(struct vbd_page *page, vbd_page_resolve_fn resolve,
	struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

/* Items of a page that are written in one turn of the loop: a connection takes about 4 us. */
#define VBD_PAGE_SLICE_ITEMS 100

/**
 * vbd_page_write - answer with the items @start up to @end, and page->next
 * @listed: the registry of the items, unless the source has a `walk`
 *
 * Keeps the request if the page is long, and nothing of @page.
 */
void vbd_page_write(struct vbd_request *req, const struct vbd_page *page, size_t start, size_t end,
	const void *listed);

/* Longest `next` and its NUL: a sort key, two numbers and a text in base64url. */
#define VBD_PAGE_CURSOR_BYTES 320

/** vbd_page_cursor - write the value of `next` for a page that ends at @place; returns @cursor */
char *vbd_page_cursor(const struct vbd_page *page, const struct vbd_page_place *place,
	char cursor[VBD_PAGE_CURSOR_BYTES]);

/** vbd_page_cursor_parse - read the place from an `after`; VBD_E_BAD_VALUE if it is not a `next` of
 * a list in the same order */
enum vbd_status vbd_page_cursor_parse(const struct vbd_page *page, const char *cursor,
	struct vbd_page_place *ret_place, struct vbd_error *err) VBD_MUST_CHECK;

#endif
