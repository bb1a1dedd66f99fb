/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/batches.h"

#include "daemon/memory/buffers.h"
#include "daemon/memory/windows.h"
#include "daemon/work/transfers.h"

static const struct vbd_transfer_record *record_of(const struct vbd_object *object)
{
	return (const struct vbd_transfer_record *)object;
}

static unsigned int outcome_of(const struct vbd_object *object)
{
	return record_of(object)->transfer.state;
}

static const char *outcome_name(unsigned int outcome)
{
	return vbd_transfer_state_name((enum vbd_transfer_state)outcome);
}

static bool is_final(unsigned int outcome)
{
	return vbd_transfer_state_ended((enum vbd_transfer_state)outcome);
}

static bool is_failure(unsigned int outcome)
{
	return outcome != VBD_TRANSFER_DONE;
}

static void first_error(const struct vbd_object *object, struct vbd_first_error *ret_first)
{
	vbd_transfer_first_error(record_of(object), ret_first);
}

_Static_assert(VBD_TRANSFER_STATE_COUNT <= VBD_BATCH_OUTCOMES_MAX, "each state is an outcome");

static const struct vbd_batch_ops ops = {
	.created = VBD_EVENT_TRANSFER_BATCH_CREATED,
	.ended = VBD_EVENT_TRANSFER_BATCH_ENDED,
	.cancels_per_turn = 64, /* a cancel is a message to a worker, and an event */
	.outcomes = VBD_TRANSFER_STATE_COUNT,
	.outcome_name = outcome_name,
	.outcome_of = outcome_of,
	.is_final = is_final,
	.is_failure = is_failure,
	.first_error = first_error,
};

const struct vbd_kind vbd_transfer_batch_kind = VBD_BATCH_KIND;

enum vbd_status vbd_transfer_batch_create(struct vbd_daemon *daemon,
	struct vbd_transfer_record *const *records, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err)
{
	enum vbd_status status = vbd_batch_begin(
		daemon->transfer_batches, &ops, &records[0]->object, count, ret_batch, err);

	if (status)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		vbd_batch_add(*ret_batch, &records[i]->object);
		records[i]->batch_id = (*ret_batch)->object.id;
	}
	vbd_transfers_start(records, count);
	return VBD_OK;
}

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

void vbd_buffer_users_of(const struct vbd_buffer *buffer, const struct vbd_caller *caller,
	struct vbd_users *ret_users)
{
	const struct vbd_daemon *daemon = buffer->object.registry->daemon;

	*ret_users = (struct vbd_users){.caller = caller};
	add_users(buffer, daemon->transfers, transfer_uses, ret_users);
	add_users(buffer, daemon->windows, window_uses, ret_users);
}
