/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/worker_messages.h"

#include "base/mailbox.h"
#include "rdma/data/worker.h"

void vbd_worker_send(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_send(&worker->inbox, item);
}

/* The control thread is the only sender of a worker's inbox, as vbd_mailbox_leave() demands. */
void vbd_worker_leave(
	struct vbd_worker *worker, struct vbd_mailbox_item *item, enum vbd_worker_command command)
{
	item->kind = command;
	vbd_mailbox_leave(&worker->inbox, item);
}

void vbd_worker_notify(struct vbd_worker *worker, struct vbd_mailbox_item *item,
	enum vbd_notification notification)
{
	item->kind = notification;
	vbd_mailbox_send(worker->control, item);
}
