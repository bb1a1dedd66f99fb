/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/keep_answer.h"

#include "api/http/waiter.h"
#include "api/resources/context.h"
#include "daemon/core/object.h"
#include "daemon/store/keeper.h"

struct keep_waiter {
	struct vbd_waiter waiter; /* first */
	uint64_t ticket;
	const struct vbd_registry *registry; /* NULL: there is no object */
	uint64_t id;
	vbd_keep_answer_fn answer;
	void *arg;
};

static void answer_kept(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct keep_waiter *waiter = VBD_CONTAINER_OF(base, struct keep_waiter, waiter);
	struct vbd_request *req = base->req;

	if (why == VBD_WAKE_CHANGED &&
		vbd_keeper_will_have(vbd_request_daemon(req), waiter->ticket))
		return;
	/* No second wait begins at the deadline of the first one. */
	if (why == VBD_WAKE_TIMEOUT)
		req->wait_ms = 0;
	base->handed_on = true;
	waiter->answer(req,
		waiter->registry ? vbd_registry_find_id(waiter->registry, waiter->id) : NULL,
		waiter->arg);
}

void vbd_keep_answer(struct vbd_request *req, uint64_t ticket, struct vbd_object *object,
	vbd_keep_answer_fn answer, void *arg)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct keep_waiter waiter = {.waiter.answer = answer_kept,
		.ticket = ticket,
		.registry = object ? object->registry : NULL,
		.id = object ? object->id : 0,
		.answer = answer,
		.arg = arg};

	if (vbd_keeper_will_have(daemon, ticket))
		vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, vbd_keeper_watches(daemon),
			VBD_KEEP_ANSWER_MS);
	else
		answer(req, object, arg);
}

void vbd_keep_answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)object;
	(void)arg;
	vbd_reply_empty(req, 204);
}
