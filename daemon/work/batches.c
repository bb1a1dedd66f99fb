/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/batch.h"
#include "daemon/memory/buffers.h"
#include "daemon/memory/windows.h"
#include "daemon/work/transfers.h"

static const struct vbd_transfer_record *record_of(const struct vbd_object *object)
{
	return (const struct vbd_transfer_record *)object;
}

static unsigned int transfer_outcome(const struct vbd_object *object)
{
	return record_of(object)->transfer.state;
}

static void get_first_error(const struct vbd_object *object, struct vbd_first_error *ret_first)
{
	vbd_transfer_first_error(record_of(object), ret_first);
}

static void announce_transfer(struct vbd_object *object, uint64_t batch_id)
{
	struct vbd_transfer_record *record =
		VBD_CONTAINER_OF(object, struct vbd_transfer_record, object);

	record->batch_id = batch_id;
	vbd_transfer_announce(record);
}

static void start_transfer(struct vbd_object *object)
{
	vbd_transfer_submit(
		&VBD_CONTAINER_OF(object, struct vbd_transfer_record, object)->transfer);
}

static void discard_transfer(struct vbd_object *object)
{
	vbd_transfer_free(VBD_CONTAINER_OF(object, struct vbd_transfer_record, object));
}

_Static_assert(VBD_TRANSFER_STATE_COUNT <= VBD_BATCH_OUTCOMES_MAX, "each state is an outcome");

static const char *const outcome_names[] = {VBD_TRANSFER_STATE_MAP(VBD_ENUM_NAME)};

#define FAILURES                                                                    \
	(VBD_OUTCOMES(VBD_TRANSFER_FAILED) | VBD_OUTCOMES(VBD_TRANSFER_CANCELLED) | \
		VBD_OUTCOMES(VBD_TRANSFER_TIMED_OUT))

const struct vbd_batch_ops vbd_transfer_batch_ops = {
	.created = VBD_EVENT_TRANSFER_BATCH_CREATED,
	.ended = VBD_EVENT_TRANSFER_BATCH_ENDED,
	.cancels_per_turn = 64, /* a cancel is a message to a worker, and an event */
	.outcomes = VBD_TRANSFER_STATE_COUNT,
	.outcome_names = outcome_names,
	.outcome_of = transfer_outcome,
	.final = FAILURES | VBD_OUTCOMES(VBD_TRANSFER_DONE),
	.failures = FAILURES,
	.first_error = get_first_error,
	.announce = announce_transfer,
	.start = start_transfer,
	.discard = discard_transfer,
};

void vbd_buffer_users_of(const struct vbd_buffer *buffer, const struct vbd_caller *caller,
	struct vbd_users *ret_users)
{
	const struct vbd_daemon *daemon = buffer->object.registry->daemon;

	*ret_users = (struct vbd_users){.caller = caller};
	vbd_registry_for_each_of (struct vbd_transfer_record, transfer, daemon->transfers) {
		if (ret_users->total >= buffer->users)
			return;
		if (vbd_transfer_uses(transfer, buffer))
			vbd_users_add(ret_users, &transfer->object);
	}
	vbd_registry_for_each_of (struct vbd_window_record, window, daemon->windows) {
		if (ret_users->total >= buffer->users)
			return;
		if (window->buffer == buffer)
			vbd_users_add(ret_users, &window->object);
	}
}
