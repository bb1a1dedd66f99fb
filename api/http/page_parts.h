/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page, for page.c and page_walk.c.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_PAGE_PARTS_H
#define VBD_API_HTTP_PAGE_PARTS_H

#include "api/http/waiter.h"
#include "api/http/page.h"

#define VBD_PAGE_WISHES_MAX 8

/* The place of an item in the order of a list: its value of the sort key, and its id. */
struct vbd_page_place {
	uint64_t id; /* 0: before the first item */
	uint64_t number;
	char text[VBD_PAGE_TEXT_BYTES];
};

/* A parameter of the request that selects items. */
struct vbd_page_wish {
	const struct vbd_page_column *column;
	uint64_t id;	  /* of the object, if ids are compared; 0 for an unknown name */
	const char *text; /* if texts are compared; of the request, or `device` */
	char device[64];  /* its name */
};

struct vbd_page {
	struct vbd_in_turns turns; /* first */
	const struct vbd_page_source *source;
	const struct vbd_caller *caller; /* the list is for this caller */
	const void *listed;
	char event[40]; /* "SERVER_ID-17" */
	/* the parameters */
	uint64_t limit;
	const char *sort;		   /* as in the request: "-name" */
	const struct vbd_page_column *key; /* NULL: sort by id */
	bool descending;
	struct vbd_page_place after;
	uint64_t states; /* bit mask of the states of the list */
	struct vbd_view view;
	struct vbd_page_wish wishes[VBD_PAGE_WISHES_MAX];
	size_t n_wishes;
	struct vbd_label_selector labels;
	/* page_walk.c: the matching items */
	bool with_past; /* records of earlier runs can be on the page */
	bool counted;	/* `total` was known without a walk */
	bool walked;	/* all that is needed */
	bool ranked;	/* the first limit + 1 of `items` are in their order */
	uint64_t at_id; /* of the item that was walked over last */
	uint64_t total;
	struct vbd_page_place
		*items; /* the first ones behind the cursor; later those of the page */
	size_t count, room;
	bool failed;		    /* there is no memory for the items */
	struct vbd_page_place next; /* the last item of the page; id 0: nothing follows it */
	/* write_page() */
	bool begun;
	size_t written; /* of `items` */
	struct vbd_encoder out;
	struct vbd_sieve sieve_room, bare_room;
	struct vbd_sieve *sieve;
	struct vbd_sieve *bare; /* for objects that the caller sees, but may not use */
};

/** vbd_page_walk_begin - begin at the cursor if `total` is known, else at the first object */
void vbd_page_walk_begin(struct vbd_page *page);

/** vbd_page_walk - walk over some objects; sets `walked` when the items of the page are known */
void vbd_page_walk(struct vbd_page *page);

#endif
