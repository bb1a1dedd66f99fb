/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way in which threads talk: an unbounded queue of letters with any number of senders and
 * one receiver. Lock-free (D. Vyukov's intrusive MPSC queue), with an eventfd that wakes a sleeping
 * receiver. Letters are linked through the sender's own memory, so sending neither allocates nor
 * fails: what bounds the queue is that every letter belongs to an object with a limit of its own.
 */
#ifndef VBD_BASE_MAILBOX_H
#define VBD_BASE_MAILBOX_H

#include "base/attr.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The first member of every letter. A letter is on one mailbox at most. */
struct vbd_mail {
	struct vbd_mail *_Atomic next;
	unsigned int kind; /* the receiver's to define */
};

struct vbd_mailbox {
	struct vbd_mail *_Atomic newest; /* senders swap themselves in here */
	struct vbd_mail *oldest;	 /* receiver only */
	struct vbd_mail stub;
	atomic_bool signalled; /* the eventfd has been written and not cleared */
	int event_fd;
};

/** vbd_mailbox_init - returns VBD_OK or what eventfd(2) says */
enum vbd_status vbd_mailbox_init(struct vbd_mailbox *box, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_mailbox_fini - close the eventfd; letters still inside belong to the caller, who drains
 * first */
void vbd_mailbox_fini(struct vbd_mailbox *box);

/**
 * vbd_mailbox_send - hand a letter over
 * @mail: belongs to the receiver from now on
 *
 * Any thread. Does not block. Wakes the receiver if nobody has since its last vbd_mailbox_rearm().
 */
void vbd_mailbox_send(struct vbd_mailbox *box, struct vbd_mail *mail);

/**
 * vbd_mailbox_take - the oldest letter, or NULL
 *
 * Receiver only. NULL can also mean that a sender is between its two steps; that sender signals
 * after the second, so the receiver is woken again.
 */
struct vbd_mail *vbd_mailbox_take(struct vbd_mailbox *box);

/** vbd_mailbox_rearm - clear the eventfd; call it when the fd is readable, and take() until NULL
 * after it */
void vbd_mailbox_rearm(struct vbd_mailbox *box);

/** vbd_mailbox_poke - make the fd readable: the receiver stopped before it had taken all */
void vbd_mailbox_poke(struct vbd_mailbox *box);

/** vbd_mailbox_fd - becomes readable when there are letters */
static inline int vbd_mailbox_fd(const struct vbd_mailbox *box)
{
	return box->event_fd;
}

#endif
