/* SPDX-License-Identifier: Apache-2.0 */
#include "base/enum.h"
#include "daemon/connections/connection_parts.h"

#include "base/clock.h"

void vbd_connection_count_state(struct vbd_connection *connection)
{
	uint64_t *counts = connection->object.registry->daemon->connections_in_state;
	enum vbd_conn_state now = connection->conn->state;

	if (connection->in_state)
		counts[connection->counted_state]--;
	connection->in_state = !vbd_conn_state_terminal(now);
	connection->counted_state = now;
	if (connection->in_state)
		counts[now]++;
}

VBD_ENUM_NAMES(vbd_phase_name, enum vbd_phase, VBD_PHASE_MAP)

/* Count only a state that led to the next one: a failure would distort the durations. */
void vbd_connection_time_phase(struct vbd_connection *connection, enum vbd_conn_state left)
{
	static const enum vbd_conn_state states[VBD_PHASE_COUNT] = {
#define PHASE_STATE(sym, name, state) [sym] = VBD_CONN_##state,
		VBD_PHASE_MAP(PHASE_STATE)
#undef PHASE_STATE
	};
	enum vbd_conn_state now = connection->conn->state;
	uint64_t now_ns = vbd_clock_mono_ns();

	for (size_t i = 0; i < VBD_PHASE_COUNT; i++) {
		if (states[i] == left && connection->phase_ns && now != VBD_CONN_DRAINING &&
			now != VBD_CONN_RETRYING && !vbd_conn_state_terminal(now))
			vbd_histogram_add(&connection->object.registry->daemon->times.phases[i],
				now_ns - connection->phase_ns);
	}
	connection->phase_ns = now_ns;
}

uint64_t vbd_connection_moved_bytes(const struct vbd_connection *connection)
{
	uint64_t moved_bytes = 0;

	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		moved_bytes +=
			vbd_counter_get(&vbd_qp_op_counters(&connection->conn->qp, op)->bytes);
	return moved_bytes;
}
