/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/batch.h"

#include "daemon/core/context.h"
#include "daemon/core/object.h"

void vbd_failures_add(
	struct vbd_failures *failures, const struct vbd_object *object, const struct vbd_error *err)
{
	struct vbd_failure *failure;

	failures->total++;
	if (!failures->items)
		failures->items = calloc(VBD_FAILURES_MAX, sizeof(*failures->items));
	if (!failures->items || failures->count == VBD_FAILURES_MAX)
		return;
	failure = &failures->items[failures->count++];
	failure->kind = object->registry->singular;
	failure->id = object->id;
	memcpy(failure->name, object->name, sizeof(failure->name));
	failure->err = *err;
}

void vbd_failures_fini(struct vbd_failures *failures)
{
	free(failures->items);
	*failures = (struct vbd_failures){0};
}

VBD_ENUM_NAMES(vbd_batch_state_name, enum vbd_batch_state, VBD_BATCH_STATE_MAP)

VBD_OBJECT_RECORD(batch_of, struct vbd_batch)

unsigned int vbd_batch_outcome(const struct vbd_batch_item *item)
{
	return item->object ? item->batch->ops->outcome_of(item->object) : item->outcome;
}

static void log_end(struct vbd_batch *batch)
{
	if (batch->state == VBD_BATCH_DONE)
		vbd_object_log(&batch->object, batch->ops->ended, VBD_SEVERITY_INFO, VBD_OK,
			"done, %u %s", batch->count, batch->of->plural);
	else
		vbd_object_log(&batch->object, batch->ops->ended, VBD_SEVERITY_WARNING,
			batch->error.status, "failed, %zu of %u %s failed: %s",
			batch->failures.total, batch->count, batch->of->plural, batch->error.text);
}

static void end_batch(struct vbd_batch *batch)
{
	batch->state = batch->failures.total ? VBD_BATCH_FAILED : VBD_BATCH_DONE;
	vbd_object_end(&batch->object);
	log_end(batch);
	vbd_object_changed(&batch->object);
}

static void record_error(struct vbd_batch *batch, const struct vbd_object *object)
{
	struct vbd_error error = {0};

	vbd_object_problem(object, &error);
	if (!batch->failures.total)
		batch->failed_connection = vbd_object_connection(object);
	if (!batch->failures.total && batch->ops->first_error)
		batch->ops->first_error(object, &batch->first_error);
	vbd_failures_add(&batch->failures, object, &error);
	(void)vbd_error_set(&batch->error, error.status, "%s %llu: %.200s", batch->of->singular,
		(unsigned long long)object->id,
		*error.text ? error.text : vbd_status_text(error.status));
}

static void record_final_outcome(struct vbd_batch_item *item)
{
	struct vbd_batch *batch = item->batch;

	vbd_watch_remove(&item->watch);
	if (batch->ops->failures & VBD_OUTCOMES(item->outcome))
		record_error(batch, item->object);
	item->object = NULL;
	batch->open--;
}

static void on_object_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_batch_item *item = VBD_CONTAINER_OF(watch, struct vbd_batch_item, watch);
	struct vbd_batch *batch = item->batch;
	unsigned int before = item->outcome;

	/* An object is freed before its outcome is final only with the daemon. */
	if (gone) {
		item->object = NULL;
		return;
	}
	item->outcome = batch->ops->outcome_of(item->object);
	if (item->outcome == before)
		return;
	if (batch->ops->final & VBD_OUTCOMES(item->outcome))
		record_final_outcome(item);
	if (batch->open == 0)
		end_batch(batch);
	else
		vbd_object_counted(&batch->object);
}

/* Returns whether there is no other object to cancel. */
static bool cancel_some_objects(struct vbd_steps *steps)
{
	struct vbd_batch *batch = VBD_CONTAINER_OF(steps, struct vbd_batch, cancelling);

	for (uint32_t i = 0; i < batch->ops->cancels_per_turn && batch->cancelled < batch->count;
		i++) {
		const struct vbd_batch_item *item = &batch->items[batch->cancelled++];

		if (item->object)
			vbd_object_cancel(item->object);
	}
	return batch->cancelled == batch->count;
}

static void add_object(struct vbd_batch *batch, struct vbd_object *object)
{
	struct vbd_batch_item *item = &batch->items[batch->count++];

	item->watch.cb = on_object_changed;
	vbd_list_init(&item->watch.link);
	vbd_watch_add(&object->watches, &item->watch);
	item->batch = batch;
	item->object = object;
	item->id = object->id;
	item->outcome = batch->ops->outcome_of(object);
	batch->open++;
	if (batch->ops->announce)
		batch->ops->announce(object, batch->object.id);
}

enum vbd_status vbd_batch_create(struct vbd_registry *registry, const struct vbd_batch_ops *ops,
	struct vbd_object *const *objects, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err)
{
	struct vbd_batch *batch;
	struct vbd_object *object;
	const struct vbd_origin origin = vbd_origin_like(objects[0]);
	enum vbd_status status = vbd_object_create(registry, &origin, "", &object, err);

	if (status)
		return status;
	batch = batch_of(object);
	vbd_list_init(&batch->cancelling.link);
	batch->cancelling.step = cancel_some_objects;
	batch->ops = ops;
	batch->of = objects[0]->registry;
	batch->items = calloc(count, sizeof(*batch->items));
	if (!batch->items) {
		status = vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory for %u %s", count, batch->of->plural);
		vbd_object_free(object);
		return status;
	}
	vbd_object_log(object, ops->created, VBD_SEVERITY_INFO, VBD_OK, "%u %s, the first is %llu",
		count, batch->of->plural, (unsigned long long)objects[0]->id);
	for (uint32_t i = 0; i < count; i++)
		add_object(batch, objects[i]);
	for (uint32_t i = 0; i < count; i++)
		ops->start(objects[i]);
	*ret_batch = batch;
	return VBD_OK;
}

static void cancel_batch(struct vbd_object *object)
{
	struct vbd_batch *batch = batch_of(object);

	if (batch->cancelled == 0 && !cancel_some_objects(&batch->cancelling))
		vbd_turns_add(&object->registry->daemon->turns, &batch->cancelling);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_batch, state, vbd_batch_state_name)

static void free_batch(struct vbd_object *object)
{
	struct vbd_batch *batch = batch_of(object);

	vbd_turns_drop(&batch->cancelling);
	for (uint32_t i = 0; i < batch->count; i++)
		vbd_watch_remove(&batch->items[i].watch);
	free(batch->items);
	vbd_failures_fini(&batch->failures);
}

#define BATCH_KIND                                                                 \
	{                                                                          \
		.size_bytes = sizeof(struct vbd_batch), .keeps_history = true,     \
		.connection_at = offsetof(struct vbd_batch, failed_connection),    \
		.cancel = cancel_batch, .state = get_state_name,                   \
		.error_at = offsetof(struct vbd_batch, error), .free = free_batch, \
	}

const struct vbd_kind vbd_transfer_batch_kind = BATCH_KIND;
const struct vbd_kind vbd_connection_batch_kind = BATCH_KIND;
