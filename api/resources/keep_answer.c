/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/keep_answer.h"

#include "api/resources/context.h"
#include "daemon/store/keeper.h"

#include <stdlib.h>

struct keep_answer {
	uint64_t ticket;
	const struct vbd_registry *registry; /* NULL: there is no object */
	uint64_t id;
	vbd_keep_answer_fn answer;
	void *arg;
};

static void answer_now(struct vbd_request *req, const struct keep_answer *keep)
{
	/* No second wait begins at the deadline of the first one. */
	if (vbd_keeper_will_have(vbd_request_daemon(req)->keeper, keep->ticket))
		req->wait_ms = 0;
	keep->answer(req, keep->registry ? vbd_registry_find_id(keep->registry, keep->id) : NULL,
		keep->arg);
}

static void on_written(struct vbd_request *req, void *arg)
{
	answer_now(req, arg);
	free(arg);
}

void vbd_keep_answer(struct vbd_request *req, uint64_t ticket, struct vbd_object *object,
	vbd_keep_answer_fn answer, void *arg)
{
	const struct keep_answer now = {.ticket = ticket,
		.registry = object ? object->registry : NULL,
		.id = object ? object->id : 0,
		.answer = answer,
		.arg = arg};
	struct keep_answer *later = malloc(sizeof(*later));

	vbd_request_acted(req, true);
	if (later)
		*later = now;
	if (later && vbd_request_wait_written(req, vbd_request_daemon(req)->keeper, ticket,
			     on_written, later, NULL) == VBD_OK)
		return;
	free(later);
	answer_now(req, &now);
}

void vbd_keep_answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)object;
	(void)arg;
	vbd_reply_empty(req, 204);
}
