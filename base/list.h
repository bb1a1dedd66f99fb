/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked list with a sentinel. A link that is on no list points to itself, so
 * removing it twice is harmless.
 *
 * Not thread-safe: only the owner of the head may use the list. No function here blocks.
 */
#ifndef VBD_BASE_LIST_H
#define VBD_BASE_LIST_H

#include "base/attr.h"

struct vbd_link {
	struct vbd_link *prev;
	struct vbd_link *next;
};

/** vbd_list_init - make @link an empty list's head, or a link that is on no list */
static inline void vbd_list_init(struct vbd_link *link)
{
	link->prev = link;
	link->next = link;
}

/** vbd_list_empty - whether the list has no links */
static inline bool vbd_list_empty(const struct vbd_link *head)
{
	return head->next == head;
}

/** vbd_list_remove - take @link off its list; does nothing if it is on none */
static inline void vbd_list_remove(struct vbd_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	vbd_list_init(link);
}

/** vbd_list_append - add @link, which must not be on a list, at the end */
static inline void vbd_list_append(struct vbd_link *head, struct vbd_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/** vbd_list_prepend - add @link, which must not be on a list, at the beginning */
static inline void vbd_list_prepend(struct vbd_link *head, struct vbd_link *link)
{
	vbd_list_append(head->next, link);
}

/**
 * vbd_list_go_round - for looking at a long list a few links at a time, in turn
 * @first: of the links of this time; points to NULL at the first call
 *
 * Moves the first link to the end, and returns it; NULL if the list is empty, or has been gone
 * round.
 */
static inline struct vbd_link *vbd_list_go_round(
	struct vbd_link *head, const struct vbd_link **first)
{
	struct vbd_link *link = head->next;

	if (vbd_list_empty(head) || link == *first)
		return NULL;
	if (!*first)
		*first = link;
	vbd_list_remove(link);
	vbd_list_append(head, link);
	return link;
}

/* The struct TYPE whose member MEMBER is the first on the list; NULL if the list is empty. */
#define VBD_LIST_FIRST(head, type, member) \
	(vbd_list_empty(head) ? NULL : VBD_CONTAINER_OF((head)->next, type, member))

/* Walks the links. The body may remove the current link. */
#define vbd_list_for_each(link, head)                                                         \
	for (struct vbd_link *link = (head)->next, *link##_next = link->next; link != (head); \
		link = link##_next, link##_next = link->next)

/* Walks the structs TYPE whose member MEMBER is on the list. The body may remove the current one.
 */
#define vbd_list_for_each_of(type, item, member, head)                              \
	for (type *item = VBD_CONTAINER_OF((head)->next, type, member),             \
		  *item##_next = VBD_CONTAINER_OF(item->member.next, type, member); \
		&item->member != (head); item = item##_next,                        \
		  item##_next = VBD_CONTAINER_OF(item->member.next, type, member))

/** vbd_list_take_all - move all links of @from to @to, which becomes a list with no other links */
static inline void vbd_list_take_all(struct vbd_link *to, struct vbd_link *from)
{
	vbd_list_init(to);
	while (!vbd_list_empty(from)) {
		struct vbd_link *link = from->next;

		vbd_list_remove(link);
		vbd_list_append(to, link);
	}
}

#endif
