/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connection_batches.h"

#include "daemon/connections/connections.h"

VBD_ENUM_NAMES(vbd_connection_outcome_name, enum vbd_connection_outcome, VBD_CONNECTION_OUTCOME_MAP)

static unsigned int outcome_of(const struct vbd_object *object)
{
	enum vbd_conn_state state = ((const struct vbd_connection *)object)->conn->state;

	if (state == VBD_CONN_QUEUED)
		return VBD_CONNECTION_OUTCOME_QUEUED;
	if (state == VBD_CONN_ESTABLISHED)
		return VBD_CONNECTION_OUTCOME_ESTABLISHED;
	return vbd_conn_state_terminal(state) ? VBD_CONNECTION_OUTCOME_FAILED
					      : VBD_CONNECTION_OUTCOME_CONNECTING;
}

static const char *outcome_name(unsigned int outcome)
{
	return vbd_connection_outcome_name((enum vbd_connection_outcome)outcome);
}

static bool is_final(unsigned int outcome)
{
	return outcome >= VBD_CONNECTION_OUTCOME_ESTABLISHED;
}

static bool is_failure(unsigned int outcome)
{
	return outcome == VBD_CONNECTION_OUTCOME_FAILED;
}

_Static_assert(VBD_CONNECTION_OUTCOME_COUNT <= VBD_BATCH_OUTCOMES_MAX, "each outcome has room");

static const struct vbd_batch_ops ops = {
	.created = VBD_EVENT_CONNECTION_BATCH_CREATED,
	.ended = VBD_EVENT_CONNECTION_BATCH_ENDED,
	.cancels_per_turn = 16, /* to close a connection takes calls of the kernel */
	.outcomes = VBD_CONNECTION_OUTCOME_COUNT,
	.outcome_name = outcome_name,
	.outcome_of = outcome_of,
	.is_final = is_final,
	.is_failure = is_failure,
};

const struct vbd_kind vbd_connection_batch_kind = VBD_BATCH_KIND;

enum vbd_status vbd_connection_batch_create(struct vbd_daemon *daemon,
	struct vbd_connection *const *connections, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err)
{
	enum vbd_status status = vbd_batch_begin(
		daemon->connection_batches, &ops, &connections[0]->object, count, ret_batch, err);

	if (status)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		vbd_batch_add(*ret_batch, &connections[i]->object);
		vbd_connection_queue_add(connections[i]);
	}
	return VBD_OK;
}
