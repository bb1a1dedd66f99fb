/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/in_turns.h"

static bool take_step(struct vbd_steps *steps)
{
	struct vbd_in_turns *answer = VBD_CONTAINER_OF(steps, struct vbd_in_turns, steps);

	return answer->go_on(answer);
}

static void on_gone(struct vbd_request *req, void *arg)
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
	status = vbd_request_park(answer->req, 0, NULL, on_gone, answer, NULL);
	answer->req->brief = false;
	if (status != VBD_OK)
		return false;
	vbd_turns_add(turns, &answer->steps);
	return true;
}

void vbd_in_turns_run(struct vbd_in_turns *answer, struct vbd_turns *turns)
{
	vbd_list_init(&answer->steps.link);
	answer->steps.step = take_step;
	do {
		if (turns && !vbd_turns_go_on(turns)) {
			if (await_turn(answer, turns))
				return;
			turns = NULL;
		}
	} while (!answer->go_on(answer));
}
