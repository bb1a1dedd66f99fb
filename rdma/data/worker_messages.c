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

void vbd_worker_notify(struct vbd_worker *worker, struct vbd_mailbox_item *item,
	enum vbd_notification notification)
{
	item->kind = notification;
	vbd_mailbox_send(worker->control, item);
}
