/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: their JSON and lists, and a list of transfers in one request. All transfers are checked,
 * then all are created, then all are started. connection_batches.c creates those of connections.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/problem.h"
#include "api/work/transfers.h"
#include "daemon/work/batches.h"

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_counts(struct vbd_encoder *out, const char *name, const struct vbd_batch *batch)
{
	uint32_t counts[VBD_BATCH_OUTCOMES_MAX] = {0};

	vbd_begin_object(out, name);
	for (uint32_t i = 0; i < batch->count; i++)
		counts[vbd_batch_outcome(&batch->items[i])]++;
	for (unsigned int i = 0; i < batch->ops->outcomes; i++)
		vbd_put_u64(out, batch->ops->outcome_name(i), counts[i]);
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
	vbd_put_time(out, "ended_at", batch->ended_ns);
	vbd_put_error(
		out, "error", &batch->object, &batch->error, first->error.status ? first : NULL);
}

/* --- creation -------------------------------------------------------------------------------- */

struct batch_create {
	const json_t *transfers;
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD(ARRAY, "transfers", struct batch_create, transfers), .required = true, .min = 1,
		.max = VBD_BATCH_MAX},
};

static enum vbd_status prepare_one(struct vbd_request *req, const json_t *json,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_transfer_spec spec;
	enum vbd_status status =
		vbd_transfer_decode(daemon, &origin, json, &spec, &req->faults, err);

	if (!status && spec.awaits_connection)
		status = vbd_error_input(err, VBD_E_BAD_VALUE, "/if_not_established",
			"the transfers of a batch do not wait for their connections");
	return status ? status : vbd_transfer_prepare(daemon, &spec, ret_record, err);
}

static void free_prepared(struct vbd_transfer_record **records, size_t count)
{
	while (count > 0)
		vbd_transfer_free(records[--count]);
}

/* Prepare all transfers, or none. */
static enum vbd_status prepare(struct vbd_request *req, const json_t *list,
	struct vbd_transfer_record **records, struct vbd_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		enum vbd_status status =
			prepare_one(req, json_array_get(list, i), &records[i], err);

		if (!status)
			continue;
		vbd_problem_of_item(err, &req->faults, "transfer", i);
		free_prepared(records, i);
		return status;
	}
	return VBD_OK;
}

static void *create_batch(struct vbd_request *req, struct vbd_error *err)
{
	struct vbd_transfer_record *records[VBD_BATCH_MAX];
	struct batch_create input = {0};
	struct vbd_batch *batch = NULL;
	enum vbd_status status = vbd_request_decode(req, VBD_FIELDS(create_fields), &input, err);
	size_t count = json_array_size(input.transfers);

	if (!status)
		status = prepare(req, input.transfers, records, err);
	if (status)
		return NULL;
	status = vbd_transfer_batch_create(
		vbd_request_daemon(req), records, (uint32_t)count, &batch, err);
	if (status)
		free_prepared(records, count);
	return status ? NULL : batch;
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_batch, state)

static const struct vbd_page_column batch_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	VBD_COLUMN_CREATED,
	{NULL},
};

const struct vbd_task_kind vbd_transfer_batch_task = {
	.kind = VBD_KIND_TRANSFER_BATCH,
	.gone = "the batch was deleted in the meantime",
	.create = create_batch,
	.done = VBD_STATES(VBD_BATCH_DONE),
	.page.members = vbd_transfer_batch_members,
	.page.columns = batch_columns,
	.page.states = VBD_PAGE_STATES(VBD_BATCH_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_batch,
};

const struct vbd_task_kind vbd_connection_batch_task = {
	.kind = VBD_KIND_CONNECTION_BATCH,
	.gone = "the batch was deleted in the meantime",
	.done = VBD_STATES(VBD_BATCH_DONE),
	.page.members = vbd_connection_batch_members,
	.page.columns = batch_columns,
	.page.states = VBD_PAGE_STATES(VBD_BATCH_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = encode_batch,
};
