/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum vbd_status vbd_mailbox_init(struct vbd_mailbox *box, struct vbd_error *err)
{
	atomic_init(&box->stub.next, NULL);
	atomic_init(&box->newest, &box->stub);
	atomic_init(&box->signalled, false);
	box->oldest = &box->stub;
	box->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (box->event_fd < 0)
		return vbd_error_errno(err, VBD_OK, "eventfd", errno, "no mailbox");
	return VBD_OK;
}

void vbd_mailbox_fini(struct vbd_mailbox *box)
{
	if (box->event_fd >= 0)
		(void)close(box->event_fd);
	box->event_fd = -1;
}

void vbd_mailbox_leave(struct vbd_mailbox *box, struct vbd_mailbox_item *item)
{
	struct vbd_mailbox_item *before;

	atomic_store_explicit(&item->next, NULL, memory_order_relaxed);
	before = atomic_exchange_explicit(&box->newest, item, memory_order_acq_rel);
	atomic_store_explicit(&before->next, item, memory_order_release);
}

void vbd_mailbox_poke(struct vbd_mailbox *box)
{
	const uint64_t one = 1;

	if (!atomic_exchange(&box->signalled, true))
		(void)!write(box->event_fd, &one, sizeof(one)); /* fails only at 2^64-1 unread */
}

void vbd_mailbox_send(struct vbd_mailbox *box, struct vbd_mailbox_item *item)
{
	vbd_mailbox_leave(box, item);
	vbd_mailbox_poke(box);
}

struct vbd_mailbox_item *vbd_mailbox_take(struct vbd_mailbox *box)
{
	struct vbd_mailbox_item *oldest = box->oldest;
	struct vbd_mailbox_item *next = atomic_load_explicit(&oldest->next, memory_order_acquire);

	if (oldest == &box->stub) {
		if (!next)
			return NULL;
		box->oldest = next;
		oldest = next;
		next = atomic_load_explicit(&oldest->next, memory_order_acquire);
	}
	if (next) {
		box->oldest = next;
		return oldest;
	}
	if (oldest != atomic_load_explicit(&box->newest, memory_order_acquire))
		return NULL; /* a sender has exchanged its item in and not linked it yet */
	/* The last item can be removed only while another one follows it. */
	vbd_mailbox_leave(box, &box->stub);
	next = atomic_load_explicit(&oldest->next, memory_order_acquire);
	if (!next)
		return NULL;
	box->oldest = next;
	return oldest;
}

void vbd_mailbox_rearm(struct vbd_mailbox *box)
{
	uint64_t count;

	(void)!read(box->event_fd, &count, sizeof(count));
	/* An exchange instead of a store: it acquires the items that were linked by the sender that
	 * set the flag. */
	(void)atomic_exchange(&box->signalled, false);
}
