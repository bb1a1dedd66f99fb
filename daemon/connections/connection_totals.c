/* SPDX-License-Identifier: Apache-2.0 */
#include "base/enum.h"
#include "daemon/connections/connection_parts.h"

#include "base/clock.h"
#include "daemon/core/totals.h"

#include <string.h>

void vbd_connection_count_totals(struct vbd_totals *totals, const struct vbd_conn *conn)
{
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_totals_add(totals, op, vbd_qp_op_counters(&conn->qp, op));
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
			!vbd_conn_state_terminal(now))
			vbd_histogram_add(&connection->object.registry->daemon->times.phases[i],
				now_ns - connection->phase_ns);
	}
	connection->phase_ns = now_ns;
}

void vbd_connections_totals(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals)
{
	*ret_totals = daemon->ended_totals;
	vbd_registry_for_each (object, daemon->connections) {
		const struct vbd_connection *connection = vbd_connection_of(object);

		if (!connection->object.ended)
			vbd_connection_count_totals(ret_totals, connection->conn);
	}
}

void vbd_connections_count_bytes(struct vbd_daemon *daemon)
{
	vbd_registry_for_each (object, daemon->connections) {
		struct vbd_connection *connection = vbd_connection_of(object);

		connection->moved_bytes = 0;
		for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
			connection->moved_bytes += vbd_counter_get(
				&vbd_qp_op_counters(&connection->conn->qp, op)->bytes);
	}
}

void vbd_connections_count_states(
	const struct vbd_daemon *daemon, uint64_t ret_counts[VBD_CONN_STATE_COUNT])
{
	memset(ret_counts, 0, VBD_CONN_STATE_COUNT * sizeof(*ret_counts));
	vbd_registry_for_each (object, daemon->connections)
		ret_counts[vbd_connection_of(object)->conn->state]++;
}
