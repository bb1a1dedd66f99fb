/* SPDX-License-Identifier: Apache-2.0 */
#include "api/waiter.h"

#include <stdlib.h>

static void end(struct vbd_waiter *waiter)
{
	vbd_watch_remove(&waiter->watch);
	free(waiter);
}

static void on_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_waiter *waiter = VBD_CONTAINER_OF(watch, struct vbd_waiter, watch);

	waiter->answer(waiter, gone ? VBD_WAKE_OBJECT_GONE : VBD_WAKE_CHANGED);
	if (waiter->req->reply.status)
		end(waiter);
}

static void on_timeout(struct vbd_request *req, void *arg)
{
	struct vbd_waiter *waiter = arg;

	(void)req;
	waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	end(waiter);
}

static void on_gone(struct vbd_request *req, void *arg)
{
	struct vbd_waiter *waiter = arg;

	if (req->method != VBD_METHOD_GET)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	end(waiter);
}

void vbd_waiter_run(struct vbd_waiter *waiter, struct vbd_request *req, struct vbd_link *watches,
	uint64_t wait_ms)
{
	uint64_t timeout_ms = wait_ms == VBD_WAIT_UNBOUNDED ? 0 : wait_ms;
	struct vbd_error err = {0};

	vbd_list_init(&waiter->watch.link);
	waiter->watch.cb = on_changed;
	waiter->req = req;
	waiter->answer(waiter, VBD_WAKE_CHANGED);
	if (!req->reply.status && !wait_ms)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	if (!req->reply.status &&
		vbd_request_park(req, timeout_ms, on_timeout, on_gone, waiter, &err) == VBD_OK) {
		vbd_watch_add(watches, &waiter->watch);
		return;
	}
	/* What a POST began goes on, whether anybody can wait for it or not. */
	if (!req->reply.status && req->method != VBD_METHOD_GET)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	else if (!req->reply.status)
		vbd_reply_problem(req, &err);
	end(waiter);
}
