/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes as JSON: the schemas Probe and ConnectionRtt of openapi.yaml.
 */
#include "api/resources/common_json.h"
#include "base/clock.h"
#include "daemon/work/probes.h"

static bool any(const struct vbd_histogram *times_ns)
{
	return vbd_counter_get(&times_ns->count) != 0;
}

static void put_error(
	struct vbd_encoder *out, const char *name, const struct vbd_probe_record *record)
{
	struct vbd_error error = {0};

	if (record->object.ended && record->state != VBD_PROBE_DONE)
		vbd_object_problem(&record->object, &error);
	vbd_put_error(out, name, &record->object, &error, NULL);
}

static void put_counters(struct vbd_encoder *out, const struct vbd_probe *probe)
{
	const struct vbd_probe_counters *counters = &probe->counters;
	bool known = any(&counters->rtt_ns);

	vbd_put_u64(out, "sent", vbd_counter_get(&counters->sent));
	vbd_put_u64(out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(out, "late", vbd_counter_get(&counters->late));
	vbd_put_u64(out, "lost", vbd_counter_get(&counters->lost));
	vbd_put_u64(out, "mismatched", vbd_counter_get(&probe->mismatched));
	vbd_put_u64_or_null(out, "last_ns", known, vbd_counter_get(&probe->last_ns));
	vbd_put_u64_or_null(out, "jitter_ns", known, vbd_counter_get(&probe->jitter_ns));
	vbd_put_latency(out, "rtt_ns", &counters->rtt_ns);
}

void vbd_put_probe(struct vbd_encoder *out, const struct vbd_probe_record *record)
{
	const struct vbd_probe *probe = &record->probe;
	bool ended = record->state != VBD_PROBE_RUNNING;

	vbd_put_u64(out, "id", record->object.id);
	vbd_put_owner(out, &record->object);
	vbd_put_labels(out, record->object.labels);
	vbd_put_text(out, "state", vbd_probe_state_name(record->state));
	vbd_put_ref(out, "connection", record->object.registry->daemon->connections,
		record->connection_id);
	vbd_put_text(out, "kind", vbd_probe_kind_name(probe->kind));
	vbd_put_u64_or_null(out, "count", probe->count != 0, probe->count);
	vbd_put_u64(out, "interval_ms", probe->interval_ns / VBD_NS_PER_MS);
	vbd_put_u64(out, "size_bytes", probe->size_bytes);
	vbd_put_u64_or_null(out, "timeout_ms", record->timeout_ms != 0, record->timeout_ms);
	put_counters(out, probe);
	vbd_put_time(out, "created_at", record->object.created_ns);
	vbd_put_time(out, "ended_at", ended ? vbd_counter_get(&probe->ended_ns) : 0);
	put_error(out, "error", record);
}

void vbd_put_rtt(struct vbd_encoder *out, const char *name, const struct vbd_connection *connection)
{
	const struct vbd_probe_record *record = vbd_probe_of(connection);
	const struct vbd_probe_counters *counters;
	bool known;

	if (!record) {
		vbd_put_null(out, name);
		return;
	}
	counters = &record->probe.counters;
	known = any(&counters->rtt_ns);
	vbd_begin_object(out, name);
	vbd_put_ref(out, "probe", record->object.registry, record->object.id);
	vbd_put_u64(out, "sent", vbd_counter_get(&counters->sent));
	vbd_put_u64(out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(out, "lost", vbd_counter_get(&counters->lost));
	vbd_put_u64_or_null(out, "last_ns", known, vbd_counter_get(&record->probe.last_ns));
	vbd_put_u64_or_null(out, "jitter_ns", known, vbd_counter_get(&record->probe.jitter_ns));
	vbd_put_u64_or_null(out, "p50_ns", known, vbd_histogram_permille(&counters->rtt_ns, 500));
	vbd_put_u64_or_null(out, "p90_ns", known, vbd_histogram_permille(&counters->rtt_ns, 900));
	vbd_put_u64_or_null(out, "p99_ns", known, vbd_histogram_permille(&counters->rtt_ns, 990));
	vbd_put_u64_or_null(out, "p999_ns", known, vbd_histogram_permille(&counters->rtt_ns, 999));
	vbd_end(out);
}
