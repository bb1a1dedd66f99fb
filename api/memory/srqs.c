/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues. */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "daemon/memory/shared.h"

static void encode_srq(struct vbd_encoder *out, const void *item)
{
	const struct vbd_shared *shared = item;
	const struct vbd_srq *srq = shared->srq;
	const struct vbd_daemon *daemon = shared->object.registry->daemon;
	struct vbd_users users;

	vbd_shared_users_of(shared, NULL, &users);
	vbd_put_object(out, &shared->object);
	vbd_put_reference(out, "device", srq->pd->device->id, srq->pd->device->name);
	vbd_put_ref(out, "pd", daemon->pds, srq->pd->id);
	vbd_put_ref(out, "cq", daemon->cqs, srq->cq->id);
	vbd_put_u64(out, "max_wr", srq->depth);
	vbd_put_u64(out, "recv_size_bytes", srq->recv_size_bytes);
	vbd_put_u64(out, "srq_limit", vbd_counter_get(&srq->limit));
	vbd_put_u64(out, "posted", vbd_counter_get(&srq->posted));
	vbd_put_u64(out, "messages", vbd_counter_get(&srq->messages));
	vbd_put_u64(out, "limit_events", vbd_counter_get(&srq->limit_events));
	vbd_put_u64(out, "refills", vbd_counter_get(&srq->refills));
	vbd_put_u64(out, "qp_count", srq->users);
	vbd_put_u64(out, "user_count", users.total);
	vbd_put_time(out, "created_at", shared->object.created_ns);
}

/* --- creation and change --------------------------------------------------------------------- */

struct srq_input {
	struct vbd_srq_spec spec;
	const struct vbd_shared *pd, *cq;
};

static const struct vbd_field srq_fields[] = {
	{VBD_FIELD_NAME(struct srq_input, spec.name)},
	{VBD_FIELD(DEVICE, "device", struct srq_input, spec.device_name)},
	{VBD_FIELD_OF(PD, "pd", struct srq_input, pd)},
	{VBD_FIELD_OF(CQ, "cq", struct srq_input, cq)},
	{VBD_FIELD(UINT, "max_wr", struct srq_input, spec.params.depth), .min = 1, .max = 65536},
	{VBD_FIELD(UINT, "recv_size_bytes", struct srq_input, spec.params.recv_size_bytes),
		.min = 1, .max = 1048576},
	{VBD_FIELD(UINT, "srq_limit", struct srq_input, spec.params.limit), .max = 65536},
};

static void on_srq_made(struct vbd_shared *srq, const struct vbd_error *err, void *arg)
{
	if (srq)
		vbd_task_created(arg, &vbd_srq_task, &srq->object);
	else
		vbd_reply_problem(arg, err);
}

/* Nobody would learn of the SRQ, and a repeat under the same Idempotency-Key makes it. */
static void on_client_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	vbd_srq_cancel(arg);
}

static void create_srq(struct vbd_request *req, const struct vbd_srq_spec *spec)
{
	struct vbd_srq_creation *creation;

	if (vbd_srq_request(vbd_request_daemon(req), spec, on_srq_made, req, &creation,
		    &req->err) == VBD_OK &&
		vbd_request_park(req, 0, NULL, on_client_gone, creation, &req->err) != VBD_OK)
		vbd_srq_cancel(creation);
}

void vbd_create_srq(struct vbd_request *req)
{
	struct srq_input input = {.spec = {.origin = vbd_request_origin(req),
					  .params = {.depth = 64, .recv_size_bytes = 4096}}};

	if (vbd_request_decode_found(req, VBD_FIELDS(srq_fields), &input, &req->err) != VBD_OK)
		return;
	input.spec.pd = input.pd ? input.pd->pd : NULL;
	input.spec.cq = input.cq ? input.cq->cq : NULL;
	create_srq(req, &input.spec);
}

struct srq_change {
	uint32_t limit;
};

static const struct vbd_field srq_change_fields[] = {
	{VBD_FIELD(UINT, "srq_limit", struct srq_change, limit), .required = true, .max = 65536},
};

void vbd_patch_srq(struct vbd_request *req)
{
	struct vbd_shared *shared = vbd_task_find(req, &vbd_srq_task);
	struct srq_change input = {0};
	struct vbd_srq *srq;

	if (!shared)
		return;
	srq = shared->srq;
	if (vbd_request_decode(req, VBD_FIELDS(srq_change_fields), &input, &req->err) == VBD_OK &&
		input.limit > srq->depth)
		(void)vbd_error_input(&req->err, VBD_E_OUT_OF_RANGE, "/srq_limit",
			"limit is %u; the queue holds %u receives", input.limit, srq->depth);
	if (req->err.status != VBD_OK)
		return;
	vbd_srq_set_limit(srq, input.limit);
	vbd_shared_updated(shared);
	vbd_task_reply(req, 200, &vbd_srq_task, shared);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_TEXT(by_device, struct vbd_shared, srq->pd->device->name)

static const struct vbd_page_column srq_columns[] = {
	VBD_COLUMN_NAME,
	VBD_COLUMN_DEVICE(VBD_SORTS_AND_SELECTS, by_device),
	{.name = NULL},
};

const struct vbd_task_kind vbd_srq_task = {
	.kind = VBD_KIND_SRQ,
	.remove = vbd_remove_shared,
	.users = vbd_users_of_shared,
	.page.members = vbd_srq_members,
	.page.columns = srq_columns,
	.page.encode = encode_srq,
};
