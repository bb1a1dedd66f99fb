/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/handlers.h"

#include "api/http/waiter.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "daemon/drain.h"

#define DEADLINE_MS_MAX UINT64_C(86400000)

struct drain_create {
	uint64_t deadline_ms; /* 0 if absent */
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD(UINT, "deadline_ms", struct drain_create, deadline_ms), .min = 1,
		.max = DEADLINE_MS_MAX},
};

static void reply_drain(struct vbd_request *req)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "state", vbd_drain_state_name(daemon->drain.state));
	vbd_put_time(&out, "since", daemon->drain.since_ns);
	vbd_put_time(&out, "deadline_at", daemon->drain.deadline_ns);
	vbd_put_u64(&out, "transfer_count", vbd_drain_transfers(daemon));
	vbd_put_u64(&out, "connection_count", daemon->connections->open);
	vbd_reply_json(req, 200, &out);
}

static void answer_drained(struct vbd_waiter *waiter, enum vbd_wake why)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(waiter->req);

	if (why == VBD_WAKE_TIMEOUT || daemon->drain.state != VBD_DRAIN_DRAINING)
		reply_drain(waiter->req);
}

void vbd_get_drain(struct vbd_request *req)
{
	struct vbd_waiter waiter = {.answer = answer_drained};

	vbd_waiter_run(&waiter, sizeof(waiter), req, &vbd_request_daemon(req)->drain.watches,
		req->wait_ms);
}

void vbd_post_drain(struct vbd_request *req)
{
	struct drain_create input = {0};
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_error err = {0};

	if (vbd_request_decode(req, VBD_FIELDS(create_fields), &input, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_drain_begin(daemon, input.deadline_ms);
	reply_drain(req);
}

void vbd_delete_drain(struct vbd_request *req)
{
	struct vbd_error err = {0};

	if (vbd_drain_undo(vbd_request_daemon(req), &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_reply_empty(req, 204);
}
