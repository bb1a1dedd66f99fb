/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue between threads: any number of senders, one receiver, no bound. Lock-free (D. Vyukov's
 * intrusive MPSC queue), with an eventfd that wakes a sleeping receiver. Items are linked through
 * memory of the sender, so sending needs no allocation and can't fail. The queue stays finite
 * because every item is part of an object whose number is limited.
 */
#ifndef VBD_BASE_MAILBOX_H
#define VBD_BASE_MAILBOX_H

#include "base/attr.h"
#include "base/error.h"

#include <stdatomic.h>

/* The first member of every item. An item is in one mailbox at most. */
struct vbd_mailbox_item {
	struct vbd_mailbox_item *_Atomic next;
	unsigned int kind; /* defined by the receiver */
};

/* A case of a receiver's switch over the kinds: the item is the member MEMBER of the struct TYPE,
 * which STATEMENT calls NAME. */
#define VBD_MAILBOX_CASE(value, item, type, name, member, statement) \
	case value: {                                                \
		type *name = VBD_CONTAINER_OF(item, type, member);   \
                                                                     \
		statement;                                           \
		break;                                               \
	}

struct vbd_mailbox {
	struct vbd_mailbox_item *_Atomic newest; /* senders exchange their item into this pointer */
	struct vbd_mailbox_item *oldest;	 /* only the receiver reads and writes it */
	struct vbd_mailbox_item stub;
	atomic_bool signalled; /* the eventfd was written and not yet cleared */
	int event_fd;
};

/**
 * vbd_mailbox_init - make the mailbox empty and open its eventfd
 *
 * Returns VBD_OK, or the status of a failed eventfd(2). Call vbd_mailbox_fini() after success.
 */
enum vbd_status vbd_mailbox_init(struct vbd_mailbox *box, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_mailbox_fini - close the eventfd
 *
 * Items still inside belong to the caller, who empties the mailbox first.
 */
void vbd_mailbox_fini(struct vbd_mailbox *box);

/**
 * vbd_mailbox_send - append an item
 * @item: belongs to the receiver from now on
 *
 * Any thread; does not block. Wakes the receiver, unless a sender has done so since the receiver's
 * last vbd_mailbox_rearm().
 */
void vbd_mailbox_send(struct vbd_mailbox *box, struct vbd_mailbox_item *item);

/**
 * vbd_mailbox_leave - append an item that can wait: the receiver finds it when it wakes next
 * @item: belongs to the receiver from now on
 *
 * Any thread; does not block. While an item of one sender is being linked in, the receiver can't
 * reach the items behind it, and this sender does not wake it after that. So a mailbox with other
 * senders needs vbd_mailbox_poke() later.
 */
void vbd_mailbox_leave(struct vbd_mailbox *box, struct vbd_mailbox_item *item);

/**
 * vbd_mailbox_take - remove the oldest item
 *
 * Only the receiver; does not block. Returns NULL if the mailbox is empty, or if a sender is
 * between the two steps of vbd_mailbox_send(). That sender wakes the receiver after the second
 * step.
 */
struct vbd_mailbox_item *vbd_mailbox_take(struct vbd_mailbox *box);

/**
 * vbd_mailbox_rearm - clear the eventfd
 *
 * Only the receiver; does not block. Call it when the eventfd is readable, then call
 * vbd_mailbox_take() until it returns NULL.
 */
void vbd_mailbox_rearm(struct vbd_mailbox *box);

/**
 * vbd_mailbox_poke - make the eventfd readable
 *
 * Any thread; does not block. A receiver that stops before the mailbox is empty calls it for
 * itself.
 */
void vbd_mailbox_poke(struct vbd_mailbox *box);

/** vbd_mailbox_fd - the eventfd, which is readable while items wait; stays the mailbox's */
static inline int vbd_mailbox_fd(const struct vbd_mailbox *box)
{
	return box->event_fd;
}

#endif
