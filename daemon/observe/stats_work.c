/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats_parts.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/observe/stats.h"
#include "daemon/work/probes.h"
#include "rdma/data/worker.h"
#include "rdma/fabric/fabric.h"

static void add_op_counters(struct vbd_op_totals *totals, const struct vbd_op_counters *counters)
{
	totals->posted += vbd_counter_get(&counters->posted);
	totals->completed += vbd_counter_get(&counters->completed);
	totals->errors += vbd_counter_get(&counters->errors);
	totals->flushed += vbd_counter_get(&counters->flushed);
	totals->bytes += vbd_counter_get(&counters->bytes);
}

void vbd_totals_of(const struct vbd_fabric *fabric, struct vbd_totals *ret_totals)
{
	*ret_totals = (struct vbd_totals){0};
	for (unsigned int i = 0; i < fabric->worker_count; i++) {
		for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
			add_op_counters(&ret_totals->ops[op], &fabric->workers[i]->op_totals[op]);
	}
}

void vbd_traffic_take(struct vbd_traffic *traffic, const struct vbd_fabric *fabric)
{
	const uint64_t now_ns = vbd_clock_mono_ns();
	const struct vbd_traffic_sample *before =
		&traffic->samples[(traffic->taken + VBD_TRAFFIC_SAMPLES - 1) % VBD_TRAFFIC_SAMPLES];
	struct vbd_traffic_sample *now = &traffic->samples[traffic->taken % VBD_TRAFFIC_SAMPLES];
	uint64_t out_bytes = 0, in_bytes = 0;
	struct vbd_totals totals;
	double s = (double)(now_ns - before->at_ns) / VBD_NS_PER_S;

	vbd_totals_of(fabric, &totals);
	/* Sends and writes, which may be inline, send bytes out; all other operations bring bytes
	 * in. */
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		*(vbd_ops[op].may_inline ? &out_bytes : &in_bytes) += totals.ops[op].bytes;
	*now = (struct vbd_traffic_sample){.at_ns = now_ns};
	if (traffic->taken++ && s > 0) {
		now->out_bytes_per_s = (uint64_t)((double)(out_bytes - traffic->out_bytes) / s);
		now->in_bytes_per_s = (uint64_t)((double)(in_bytes - traffic->in_bytes) / s);
	}
	traffic->out_bytes = out_bytes;
	traffic->in_bytes = in_bytes;
}

void vbd_stats_walk_connections(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat states_row = VBD_STAT("verbsd_connections", GAUGE,
		"Connections that have not ended, by state.", .label = "state");
	static const struct vbd_stat ended_row = VBD_STAT("verbsd_connections_ended_total", COUNTER,
		"Connections that ended, by reason.", .label = "reason");
	static const struct vbd_stat refusals_row = VBD_STAT("verbsd_peer_refusals_total", COUNTER,
		"Connections that ended because the device refused a request of the peer, most "
		"likely access to memory, by how that is known.",
		.label = "evidence");
	static const struct vbd_stat refused_row = VBD_STAT("verbsd_connects_refused_total",
		COUNTER, "Connect requests that a listener refused, by reason.", .label = "reason");
	static const struct vbd_stat phase_row = VBD_STAT("verbsd_connect_phase_seconds", TIMES,
		"Duration of each phase of a connect.", .label = "phase");
	const struct vbd_config_limits *limits = &daemon->config->limits;
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_connections", GAUGE, "Connections that have not ended.",
			.label = "state", .is_sum = true, .value = daemon->connections->open),
		VBD_STAT_LIMIT("verbsd_connections_limit", limits, connections),
		VBD_STAT("verbsd_listener_connections", GAUGE,
			"Connections of listeners that have not ended.",
			.value = daemon->connections_accepted),
		VBD_STAT_LIMIT("verbsd_connections_reserved_limit", limits, connections_reserved),
		VBD_STAT("verbsd_connections_failed_total", COUNTER,
			"Connections that ended in the state failed.",
			.value = daemon->connections_failed),
		VBD_STAT("verbsd_peer_reports_refused_total", COUNTER,
			"Reports of peers that came too often, or told of a refused access while "
			"the device has refused none on that connection.",
			.value = daemon->reports_refused),
		VBD_STAT("verbsd_listeners", GAUGE, "Listeners.",
			.value = vbd_registry_count(daemon->listeners)),
		VBD_STAT_LIMIT("verbsd_listeners_limit", limits, listeners),
		VBD_STAT("verbsd_connections_ended_total", COUNTER, "Connections that ended.",
			.label = "reason", .is_sum = true,
			.value = daemon->connections_closed + daemon->connections_failed),
	};

	for (enum vbd_conn_state state = 0; state < VBD_CONN_STATE_COUNT; state++) {
		if (!vbd_conn_state_terminal(state))
			vbd_stat_put_of(walk, &states_row, vbd_conn_state_name(state),
				daemon->connections_in_state[state]);
	}
	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
	for (enum vbd_reason reason = VBD_REASON_NONE + 1; reason < VBD_REASON_COUNT; reason++)
		vbd_stat_put_of(walk, &ended_row, vbd_reason_name(reason),
			daemon->connections_ended[reason]);
	for (enum vbd_refusal how = VBD_REFUSAL_NONE + 1; how < VBD_REFUSAL_COUNT; how++)
		vbd_stat_put_of(
			walk, &refusals_row, vbd_refusal_name(how), daemon->peer_refusals[how]);
	for (enum vbd_connect_refusal refusal = 0; refusal < VBD_CONNECT_REFUSAL_COUNT; refusal++)
		vbd_stat_put_of(walk, &refused_row, vbd_connect_refusal_name(refusal),
			daemon->connects_refused[refusal]);
	for (enum vbd_phase phase = 0; phase < VBD_PHASE_COUNT; phase++)
		vbd_stat_put_times(
			walk, &phase_row, vbd_phase_name(phase), &daemon->times.phases[phase]);
}

void vbd_stats_walk_ops(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat posted_row = VBD_STAT("verbsd_work_requests_posted_total",
		COUNTER, "Work requests posted, by operation.", .label = "op");
	static const struct vbd_stat completed_row =
		VBD_STAT("verbsd_work_requests_completed_total", COUNTER,
			"Work requests completed, by operation and result; flushed: given back "
			"when their queue pair ended.",
			.label = "op", .label2 = "result");
	static const struct vbd_stat bytes_row = VBD_STAT("verbsd_transferred_bytes_total", COUNTER,
		"Bytes that work requests without an error moved, by operation.", .label = "op");
	struct vbd_totals totals;

	vbd_totals_of(daemon->fabric, &totals);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_stat_put_of(walk, &posted_row, vbd_op_name(op), totals.ops[op].posted);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const char *name = vbd_op_name(op);

		vbd_stat_put_of2(walk, &completed_row, name, "ok", totals.ops[op].completed);
		vbd_stat_put_of2(walk, &completed_row, name, "error", totals.ops[op].errors);
		vbd_stat_put_of2(walk, &completed_row, name, "flushed", totals.ops[op].flushed);
	}
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_stat_put_of(walk, &bytes_row, vbd_op_name(op), totals.ops[op].bytes);
}

void vbd_stats_walk_transfers(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct vbd_stat ended_row = VBD_STAT("verbsd_transfers_ended_total", COUNTER,
		"Transfers that ended, by state.", .label = "state");
	static const struct vbd_stat queue_row = VBD_STAT("verbsd_transfer_queue_seconds", TIMES,
		"Time from the request to the first work request, of completed transfers.",
		.label = "op");
	static const struct vbd_stat wire_row = VBD_STAT("verbsd_transfer_wire_seconds", TIMES,
		"Time from the first work request to the last completion, of completed transfers.",
		.label = "op");
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_transfer_batches", GAUGE,
			"Batches of transfers that have not ended.",
			.value = daemon->transfer_batches->open),
		VBD_STAT("verbsd_connection_batches", GAUGE,
			"Batches of connections that have not ended.",
			.value = daemon->connection_batches->open),
		VBD_STAT("verbsd_benchmarks", GAUGE, "Benchmarks that have not ended.",
			.value = daemon->benchmarks->open),
		VBD_STAT("verbsd_transfers", GAUGE, "Transfers that have not ended.",
			.value = daemon->transfers->open),
		VBD_STAT_LIMIT("verbsd_transfers_limit", &daemon->config->limits, transfers),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
	for (enum vbd_transfer_state state = 0; state < VBD_TRANSFER_STATE_COUNT; state++) {
		if (vbd_transfer_state_ended(state))
			vbd_stat_put_of(walk, &ended_row, vbd_transfer_state_name(state),
				daemon->transfers_ended[state]);
	}
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_stat_put_times(walk, &queue_row, vbd_op_name(op), &daemon->times.queued[op]);
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
		vbd_stat_put_times(walk, &wire_row, vbd_op_name(op), &daemon->times.wire[op]);
}

static uint64_t counter_at(const void *counters, size_t offset)
{
	return vbd_counter_get((const void *)((const char *)counters + offset));
}

void vbd_stats_walk_heartbeats(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	const struct vbd_fabric *fabric = daemon->fabric;
	uint64_t sent = 0, answered = 0;

	for (unsigned int i = 0; i < fabric->worker_count; i++) {
		sent += vbd_counter_get(&fabric->workers[i]->heartbeat_totals.sent);
		answered += vbd_counter_get(&fabric->workers[i]->heartbeat_totals.answered);
	}
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_heartbeats_sent_total", COUNTER,
			"Heartbeats sent to peers of connections that were idle.", .value = sent),
		VBD_STAT("verbsd_heartbeats_answered_total", COUNTER,
			"Heartbeats that the device of the peer acknowledged.", .value = answered),
	};

	vbd_stat_put_rows(walk, rows, VBD_ARRAY_LEN(rows));
}

void vbd_stats_walk_probes(const struct vbd_daemon *daemon, const struct vbd_stat_walk *walk)
{
	static const struct {
		struct vbd_stat row;
		size_t offset;
	} rows[] = {
		{VBD_STAT("verbsd_probe_pings_sent_total", COUNTER, "Pings that probes sent.",
			 .label = "kind"),
			offsetof(struct vbd_probe_counters, sent)},
		{VBD_STAT("verbsd_probe_pings_completed_total", COUNTER, "Pings that returned.",
			 .label = "kind"),
			offsetof(struct vbd_probe_counters, completed)},
		{VBD_STAT("verbsd_probe_pings_late_total", COUNTER,
			 "Pings that had not returned when the next one was due.", .label = "kind"),
			offsetof(struct vbd_probe_counters, late)},
		{VBD_STAT("verbsd_probe_pings_lost_total", COUNTER, "Pings that never returned.",
			 .label = "kind"),
			offsetof(struct vbd_probe_counters, lost)},
	};
	static const struct vbd_stat rtt_row = VBD_STAT("verbsd_probe_rtt_seconds", TIMES,
		"Round trips of probes, by kind of ping.", .label = "kind");
	static const struct vbd_stat ended_row = VBD_STAT("verbsd_probes_ended_total", COUNTER,
		"Probes that ended, by state.", .label = "state");
	const struct vbd_stat running = VBD_STAT("verbsd_probes", GAUGE,
		"Probes that have not ended.", .value = daemon->probes->open);
	struct vbd_probe_counters totals[VBD_PROBE_KIND_COUNT];

	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		vbd_probes_totals(daemon, kind, &totals[kind]);
	for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
		vbd_stat_put_times(walk, &rtt_row, vbd_probe_kind_name(kind), &totals[kind].rtt_ns);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		for (enum vbd_probe_kind kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++)
			vbd_stat_put_of(walk, &rows[i].row, vbd_probe_kind_name(kind),
				counter_at(&totals[kind], rows[i].offset));
	}
	walk->cb(&running, walk->arg);
	vbd_stat_put_of(walk, &ended_row, "done", daemon->probes_done);
	vbd_stat_put_of(walk, &ended_row, "failed", daemon->probes_failed);
	vbd_stat_put_of(walk, &ended_row, "cancelled", daemon->probes_cancelled);
}
