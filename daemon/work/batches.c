/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/batches.h"

#include "base/clock.h"
#include "daemon/memory/buffers.h"
#include "daemon/memory/windows.h"
#include "daemon/work/transfers.h"

/* A cancel is a message to a worker, and an event. */
#define CANCELS_PER_TURN 64

VBD_ENUM_NAMES(vbd_batch_state_name, enum vbd_batch_state, VBD_BATCH_STATE_MAP)

static struct vbd_batch *batch_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_batch, object);
}

enum vbd_transfer_state vbd_batch_transfer_state(const struct vbd_batch_item *item)
{
	return item->transfer ? item->transfer->transfer.state : item->ended_state;
}

static void log_end(struct vbd_batch *batch)
{
	if (batch->state == VBD_BATCH_DONE)
		vbd_object_log(&batch->object, VBD_EVENT_TRANSFER_BATCH_ENDED, VBD_SEVERITY_INFO,
			VBD_OK, "done, %u transfers", batch->count);
	else
		vbd_object_log(&batch->object, VBD_EVENT_TRANSFER_BATCH_ENDED, VBD_SEVERITY_WARNING,
			batch->error.status, "failed, %zu of %u transfers failed: %s",
			batch->failures.total, batch->count, batch->error.text);
}

static void ended(struct vbd_batch *batch)
{
	batch->ended_ns = vbd_clock_mono_ns();
	batch->state = batch->failures.total ? VBD_BATCH_FAILED : VBD_BATCH_DONE;
	vbd_object_end(&batch->object);
	log_end(batch);
	vbd_object_changed(&batch->object);
}

static void take_error(struct vbd_batch *batch, const struct vbd_transfer_record *record)
{
	struct vbd_error error = {0};

	vbd_object_problem(&record->object, &error);
	if (!batch->failures.total)
		vbd_transfer_first_error(record, &batch->first_error);
	vbd_failures_add(&batch->failures, &record->object, &error);
	(void)vbd_error_set(&batch->error, error.status, "transfer %llu: %.200s",
		(unsigned long long)record->object.id,
		*error.text ? error.text : vbd_status_text(error.status));
}

static void on_transfer_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_batch_item *item = VBD_CONTAINER_OF(watch, struct vbd_batch_item, watch);
	struct vbd_transfer_record *record = item->transfer;

	/* A transfer's record is freed before the transfer has ended only with the daemon. */
	if (gone)
		item->transfer = NULL;
	if (gone || !vbd_transfer_state_ended(record->transfer.state))
		return;
	vbd_watch_remove(&item->watch);
	if (record->transfer.state != VBD_TRANSFER_DONE)
		take_error(item->batch, record);
	item->ended_state = record->transfer.state;
	item->transfer = NULL;
	if (--item->batch->open == 0)
		ended(item->batch);
	else
		vbd_object_counted(&item->batch->object);
}

static void add_transfers(struct vbd_batch *batch, struct vbd_transfer_record *const *records)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct vbd_batch_item *item = &batch->items[i];

		item->watch.cb = on_transfer_changed;
		vbd_list_init(&item->watch.link);
		vbd_watch_add(&records[i]->object.watches, &item->watch);
		item->batch = batch;
		item->transfer = records[i];
		item->transfer_id = records[i]->object.id;
		records[i]->batch_id = batch->object.id;
	}
}

/* Returns whether there is no other transfer to cancel. */
static bool cancel_some(struct vbd_steps *steps)
{
	struct vbd_batch *batch = VBD_CONTAINER_OF(steps, struct vbd_batch, cancelling);

	for (int i = 0; i < CANCELS_PER_TURN && batch->cancelled < batch->count; i++) {
		const struct vbd_batch_item *item = &batch->items[batch->cancelled++];

		if (item->transfer)
			vbd_object_cancel(&item->transfer->object);
	}
	return batch->cancelled == batch->count;
}

enum vbd_status vbd_batch_create(struct vbd_daemon *daemon,
	struct vbd_transfer_record *const *records, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err)
{
	struct vbd_batch *batch;
	struct vbd_object *object;
	enum vbd_status status = vbd_object_create(daemon->transfer_batches, "", &object, err);

	if (status)
		return status;
	batch = batch_of(object);
	vbd_list_init(&batch->cancelling.link);
	batch->cancelling.step = cancel_some;
	batch->items = calloc(count, sizeof(*batch->items));
	if (!batch->items) {
		vbd_object_free(object);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for %u transfers", count);
	}
	batch->count = count;
	batch->open = count;
	add_transfers(batch, records);
	vbd_object_log(object, VBD_EVENT_TRANSFER_BATCH_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%u transfers, the first is %llu", count,
		(unsigned long long)batch->items->transfer_id);
	vbd_transfers_start(records, count);
	*ret_batch = batch;
	return VBD_OK;
}

static void cancel(struct vbd_object *object)
{
	struct vbd_batch *batch = batch_of(object);

	if (batch->cancelled == 0 && !cancel_some(&batch->cancelling))
		vbd_turns_add(&object->registry->daemon->turns, &batch->cancelling);
}

static void get_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	*ret_err = ((const struct vbd_batch *)object)->error;
}

static void free_batch(struct vbd_object *object)
{
	struct vbd_batch *batch = batch_of(object);

	vbd_turns_drop(&batch->cancelling);
	for (uint32_t i = 0; i < batch->count; i++)
		vbd_watch_remove(&batch->items[i].watch);
	free(batch->items);
	vbd_failures_fini(&batch->failures);
}

static const char *state(const struct vbd_object *object)
{
	return vbd_batch_state_name(((const struct vbd_batch *)object)->state);
}

/* Cancelling a batch cancels those of its transfers that have not ended. */
const struct vbd_kind vbd_transfer_batch_kind = {
	.size_bytes = sizeof(struct vbd_batch),
	.keeps_history = true,
	.cancel = cancel,
	.state = state,
	.problem = get_problem,
	.free = free_batch,
};

static bool transfer_uses(struct vbd_object *object, const struct vbd_buffer *buffer)
{
	return vbd_transfer_uses(
		VBD_CONTAINER_OF(object, struct vbd_transfer_record, object), buffer);
}

static bool window_uses(struct vbd_object *object, const struct vbd_buffer *buffer)
{
	return VBD_CONTAINER_OF(object, struct vbd_window_record, object)->buffer == buffer;
}

static void add_users(const struct vbd_buffer *buffer, const struct vbd_registry *registry,
	bool (*uses)(struct vbd_object *object, const struct vbd_buffer *buffer),
	struct vbd_users *users)
{
	for (struct vbd_object *object = vbd_registry_first(registry);
		object && users->total < buffer->users; object = vbd_registry_next(object)) {
		if (uses(object, buffer))
			vbd_users_add(users, object);
	}
}

void vbd_buffer_users_of(const struct vbd_buffer *buffer, struct vbd_users *ret_users)
{
	const struct vbd_daemon *daemon = buffer->object.registry->daemon;

	*ret_users = (struct vbd_users){0};
	add_users(buffer, daemon->transfers, transfer_uses, ret_users);
	add_users(buffer, daemon->windows, window_uses, ret_users);
}
