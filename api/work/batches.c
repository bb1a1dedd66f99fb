/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: their JSON and lists, and how a list of objects in one request is made: all objects are
 * checked and made, or none is; then they start one after the other.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/problem.h"
#include "api/work/transfers.h"
#include "daemon/core/batch.h"
#include "daemon/work/transfers.h"

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_counts(struct vbd_encoder *out, const char *name, const struct vbd_batch *batch)
{
	uint32_t counts[VBD_BATCH_OUTCOMES_MAX] = {0};

	vbd_begin_object(out, name);
	for (uint32_t i = 0; i < batch->count; i++)
		counts[vbd_batch_outcome(&batch->items[i])]++;
	for (unsigned int i = 0; i < batch->ops->outcomes; i++)
		vbd_put_u64(out, batch->ops->outcome_names[i], counts[i]);
	vbd_end(out);
}

static void put_objects(struct vbd_encoder *out, const struct vbd_batch *batch)
{
	vbd_begin_array(out, batch->of->plural);
	for (uint32_t i = 0; i < batch->count; i++)
		vbd_put_ref(out, NULL, batch->of, batch->items[i].id);
	vbd_end(out);
}

static void encode_batch(struct vbd_encoder *out, const void *item)
{
	const struct vbd_batch *batch = item;
	const struct vbd_first_error *first = &batch->first_error;

	vbd_put_task(out, &batch->object, vbd_batch_state_name(batch->state));
	put_counts(out, "counts", batch);
	put_objects(out, batch);
	vbd_put_failures(out, "failures", &batch->failures);
	vbd_put_time(out, "created_at", batch->object.created_ns);
	vbd_put_time(out, "ended_at", batch->object.ended_ns);
	vbd_put_error(
		out, "error", &batch->object, &batch->error, first->error.status ? first : NULL);
}

/* --- creation -------------------------------------------------------------------------------- */

static enum vbd_status prepare_transfer(struct vbd_request *req,
	const struct vbd_batch_input *input, const json_t *json, struct vbd_batch_made *made,
	struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_transfer_spec spec;
	struct vbd_transfer_record *record;
	enum vbd_status status =
		vbd_transfer_decode(daemon, &origin, json, &spec, &req->faults, err);

	(void)input;
	if (!status && spec.awaits_connection)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/if_not_established",
			"the transfers of a batch do not wait for their connections");
	if (!status)
		status = vbd_transfer_prepare(daemon, &spec, &record, err);
	if (!status)
		made->objects[made->count++] = &record->object;
	return status;
}

static enum vbd_status decode_batch(struct vbd_request *req, const struct vbd_batch_form *form,
	struct vbd_batch_input *input, struct vbd_error *err)
{
	size_t total;
	enum vbd_status status = vbd_request_decode(req, form->fields, form->n_fields, input, err);

	if (status != VBD_OK)
		return status;
	total = json_array_size(input->items) * input->count;
	if (total > VBD_BATCH_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/count",
			"these are %zu connections; a batch has at most %d", total, VBD_BATCH_MAX);
	return VBD_OK;
}

static void discard_made(const struct vbd_batch_form *form, struct vbd_batch_made *made)
{
	while (made->count > 0)
		form->ops->discard(made->objects[--made->count]);
}

void vbd_batch_answer(struct vbd_request *req, const struct vbd_batch_form *form)
{
	const struct vbd_task_kind *kind = req->route->task;
	struct vbd_batch_input input = {.count = 1};
	struct vbd_batch_made made = {.count = 0};
	struct vbd_batch *batch;
	enum vbd_status status = decode_batch(req, form, &input, &req->err);

	for (size_t i = 0; !status && i < json_array_size(input.items); i++) {
		status = form->prepare(
			req, &input, json_array_get(input.items, i), &made, &req->err);
		if (status)
			vbd_problem_of_item(&req->err, &req->faults, form->singular, i);
	}
	if (!status)
		status = vbd_batch_create(&vbd_request_daemon(req)->registries[kind->kind],
			form->ops, made.objects, made.count, &batch, &req->err);
	if (!status) {
		vbd_task_answer(req, kind, batch);
		return;
	}
	discard_made(form, &made);
}

void vbd_create_transfer_batch(struct vbd_request *req)
{
	static const struct vbd_field fields[] = {
		{VBD_FIELD(ARRAY, "transfers", struct vbd_batch_input, items), .required = true,
			.min = 1, .max = VBD_BATCH_MAX},
	};
	static const struct vbd_batch_form form = {
		"transfer", &vbd_transfer_batch_ops, VBD_FIELDS(fields), prepare_transfer};

	vbd_batch_answer(req, &form);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_batch, state)

static const struct vbd_page_column batch_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	VBD_COLUMN_CREATED,
	{.name = NULL},
};

const struct vbd_task_kind vbd_transfer_batch_task = {
	.kind = VBD_KIND_TRANSFER_BATCH,
	.done = VBD_STATES(VBD_BATCH_DONE),
	.page.members = vbd_transfer_batch_members,
	.page.columns = batch_columns,
	.page.states = VBD_PAGE_STATES(VBD_BATCH_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_batch,
};

const struct vbd_task_kind vbd_connection_batch_task = {
	.kind = VBD_KIND_CONNECTION_BATCH,
	.done = VBD_STATES(VBD_BATCH_DONE),
	.page.members = vbd_connection_batch_members,
	.page.columns = batch_columns,
	.page.states = VBD_PAGE_STATES(VBD_BATCH_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_batch,
};
