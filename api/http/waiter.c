/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/waiter.h"

static void free_waiter(struct vbd_waiter *waiter)
{
	vbd_watch_remove(&waiter->watch);
	free(waiter);
}

static bool has_reply(const struct vbd_waiter *waiter)
{
	return waiter->handed_on || waiter->req->reply.status;
}

static void on_object_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_waiter *waiter = VBD_CONTAINER_OF(watch, struct vbd_waiter, watch);

	waiter->answer(waiter, gone ? VBD_WAKE_OBJECT_GONE : VBD_WAKE_CHANGED);
	if (has_reply(waiter))
		free_waiter(waiter);
}

static void on_timeout(struct vbd_request *req, void *arg)
{
	struct vbd_waiter *waiter = arg;

	(void)req;
	waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	free_waiter(waiter);
}

static void on_client_gone(struct vbd_request *req, void *arg)
{
	struct vbd_waiter *waiter = arg;

	if (req->method != VBD_METHOD_GET)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	free_waiter(waiter);
}

static enum vbd_status park_copy(const struct vbd_waiter *waiter, size_t size_bytes,
	struct vbd_link *watches, uint64_t timeout_ms, struct vbd_error *err)
{
	struct vbd_waiter *parked = malloc(size_bytes);
	enum vbd_status status;

	if (!parked)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to wait");
	memcpy(parked, waiter, size_bytes);
	vbd_list_init(&parked->watch.link);
	parked->watch.cb = on_object_changed;
	status = vbd_request_park(parked->req, timeout_ms, on_timeout, on_client_gone, parked, err);
	if (status == VBD_OK)
		vbd_watch_add(watches, &parked->watch);
	else
		free(parked);
	return status;
}

void vbd_waiter_run(struct vbd_waiter *waiter, size_t size_bytes, struct vbd_request *req,
	struct vbd_link *watches, uint64_t wait_ms)
{
	uint64_t timeout_ms = wait_ms == VBD_WAIT_UNBOUNDED ? 0 : wait_ms;
	struct vbd_error err = {0};

	/* Nobody waits for the answer any more. */
	if (req->abandoned)
		wait_ms = 0;

	if (req->method != VBD_METHOD_GET)
		req->acted = true;
	waiter->req = req;
	waiter->answer(waiter, VBD_WAKE_CHANGED);
	if (!has_reply(waiter) && !wait_ms)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	if (has_reply(waiter) || park_copy(waiter, size_bytes, watches, timeout_ms, &err) == VBD_OK)
		return;
	/* The work that a POST has started goes on even if its request can't wait. */
	if (req->method != VBD_METHOD_GET)
		waiter->answer(waiter, VBD_WAKE_TIMEOUT);
	else
		vbd_reply_problem(req, &err);
}

/* --- answers in parts ------------------------------------------------------------------------- */

static bool make_part(struct vbd_steps *steps)
{
	struct vbd_in_turns *answer = VBD_CONTAINER_OF(steps, struct vbd_in_turns, steps);

	return answer->go_on(answer);
}

static void drop_turns(struct vbd_request *req, void *arg)
{
	struct vbd_in_turns *answer = arg;

	(void)req;
	vbd_turns_drop(&answer->steps);
	answer->drop(answer);
}

/* Returns false if the request can't be parked. */
static bool await_turn(struct vbd_in_turns *answer, struct vbd_turns *turns)
{
	enum vbd_status status;

	answer->req->brief = true;
	status = vbd_request_park(answer->req, 0, NULL, drop_turns, answer, NULL);
	answer->req->brief = false;
	if (status != VBD_OK)
		return false;
	vbd_turns_add(turns, &answer->steps);
	return true;
}

void vbd_in_turns_run(struct vbd_in_turns *answer, struct vbd_turns *turns)
{
	vbd_list_init(&answer->steps.link);
	answer->steps.step = make_part;
	do {
		if (turns && !vbd_turns_go_on(turns)) {
			if (await_turn(answer, turns))
				return;
			turns = NULL;
		}
	} while (!answer->go_on(answer));
}
