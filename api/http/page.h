/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to GET of a list: the parameters limit, after, sort, state, fields and those that select
 * by a column, and the document {total, next, items}. A resource has tables of its states and its
 * columns, and a function that encodes an object; only the objects on the page are encoded.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_PAGE_H
#define VBD_API_HTTP_PAGE_H

#include "api/http/request.h"
#include "api/http/view.h"
#include "daemon/core/labels.h"

struct vbd_archived;
struct vbd_similar;

/* A state of the items. Several states may have the same name. */
struct vbd_page_state {
	const char *name; /* NULL ends a table */
	bool ended;
};

/* A column sorts the items by the parameter `sort`, selects them by a parameter of its own name, or
 * does both. */
enum vbd_page_use {
	VBD_SORTS = 1,
	VBD_SELECTS = 2,
	VBD_SORTS_AND_SELECTS = VBD_SORTS | VBD_SELECTS,
};

/* A value of the items: `number` or `text` gives it, or `has`, which selects only. */
struct vbd_page_column {
	const char *name; /* NULL ends a table */
	enum vbd_page_use use;
	/* The items are selected by the id or the name of an object of this kind to which they
	 * refer; VBD_KIND_NONE: by a text. */
	enum vbd_object_kind kind;
	uint64_t (*number)(const void *item);  /* of a reference: the id, 0 for none */
	const char *(*text)(const void *item); /* fewer than VBD_PAGE_TEXT_BYTES bytes */
	/* An item refers to several objects: is the one with @id among them? */
	bool (*has)(const void *item, uint64_t id);
	/* The number of a record of an earlier run. NULL: `name` is a member of the object that is
	 * a number, a time, a reference or the state. */
	uint64_t (*past)(const struct vbd_archived *archived);
	/* The texts that an item can have, NULL behind the last; NULL: any. */
	const char *(*word)(unsigned int i);
};

#define VBD_PAGE_TEXT_BYTES 128

struct vbd_page_source {
	const struct vbd_member *members; /* of an item */
	const struct vbd_page_column *columns;
	/* By the value of `state_of`; NULL: the items have no states, and the list has no parameter
	 * `state`. */
	const struct vbd_page_state *states;
	uint64_t (*state_of)(const void *item);
	/* The item with the lowest id above @id, NULL behind the last one. NULL: @listed is a
	 * registry, and the items are its objects. */
	const void *(*after)(const void *listed, uint64_t id);
	uint64_t (*id)(const void *item);			   /* together with `after` */
	void (*encode)(struct vbd_encoder *out, const void *item); /* put the members */
};

/* Find the object that a parameter names, by its id or its name. Sets *@ret_id to the object's id;
 * for a device it sets *@ret_text to the name instead, NULL if there is none. Refuses a name that
 * no object has or had. */
typedef enum vbd_status (*vbd_page_resolve_fn)(struct vbd_request *req,
	const struct vbd_page_column *column, const char *ref, uint64_t *ret_id,
	const char **ret_text, struct vbd_error *err);

/** vbd_refuse_name - VBD_E_BAD_VALUE: the parameter has a value that names nothing; tells the name
 * that is most like it */
enum vbd_status vbd_refuse_name(const char *param, const char *value,
	const struct vbd_similar *similar, struct vbd_error *err);

/**
 * vbd_page_reply - answer GET of a list
 * @event:   the place in the event log that the list is true for, which the answer names
 * @resolve: NULL if no column selects by a reference
 * @listed:  the argument of `after`, or the registry
 */
void vbd_page_reply(struct vbd_request *req, const char *event,
	const struct vbd_page_source *source, vbd_page_resolve_fn resolve, const void *listed);

/** vbd_page_add_states - add to a bit mask the states with a name, or those that `open` or `ended`
 * stands for: no state of a listener is `ended`. False for an unknown word. */
bool vbd_page_add_states(
	const struct vbd_page_state *states, const char *word, size_t len, uint64_t *states_mask);

/** vbd_page_add_state_names - append ", NAME" to @text for each name of a state */
void vbd_page_add_state_names(const struct vbd_page_state *states, char *text, size_t size_bytes);

/* Values of objects of a registry. */
const char *vbd_page_name(const void *item);
uint64_t vbd_page_created(const void *item);

/* Define the function that gives a number of an item, a @type_; @member_ has the number. */
#define VBD_PAGE_NUMBER(function_, type_, member_)                 \
	static uint64_t function_(const void *item)                \
	{                                                          \
		return (uint64_t)(((const type_ *)item)->member_); \
	}

/* As VBD_PAGE_NUMBER(), for a text. */
#define VBD_PAGE_TEXT(function_, type_, member_)       \
	static const char *function_(const void *item) \
	{                                              \
		return ((const type_ *)item)->member_; \
	}

/* Rows of common columns. @use_: of the device; @device_: the function that gives its name */
#define VBD_COLUMN_NAME                                                             \
	{                                                                           \
		.name = "name", .use = VBD_SORTS_AND_SELECTS, .text = vbd_page_name \
	}
#define VBD_COLUMN_CREATED                                                         \
	{                                                                          \
		.name = "created_at", .use = VBD_SORTS, .number = vbd_page_created \
	}
#define VBD_COLUMN_DEVICE(use_, device_)                                                    \
	{                                                                                   \
		.name = "device", .use = (use_), .kind = VBD_KIND_DEVICE, .text = (device_) \
	}

/* The table of the states of a VBD_…_STATE_MAP. The second is for maps with rows (SYMBOL, name,
 * json name, awaited, ended). */
#define VBD_PAGE_STATES(map_)	      VBD_PAGE_STATES_BY(map_, VBD_PAGE_STATE)
#define VBD_PAGE_STATES_AWAITED(map_) VBD_PAGE_STATES_BY(map_, VBD_PAGE_STATE_AWAITED)
#define VBD_PAGE_STATES_BY(map_, row_)  \
	(const struct vbd_page_state[]) \
	{                               \
		map_(row_)              \
		{                       \
			NULL, false     \
		}                       \
	}
#define VBD_PAGE_STATE(sym_, json_, ended_, ...)		     [sym_] = {json_, ended_},
#define VBD_PAGE_STATE_AWAITED(sym_, name_, json_, awaited_, ended_) [sym_] = {json_, ended_},

/** vbd_query_labels - read `label`, as in "job=x,team"; absent: no labels are selected */
enum vbd_status vbd_query_labels(const struct vbd_request *req, struct vbd_label_selector *selector,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
