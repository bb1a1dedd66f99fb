/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks as JSON: the schema Benchmark of openapi.yaml.
 */
#include "api/json/encode.h"
#include "api/resources/common_json.h"
#include "base/clock.h"
#include "daemon/work/benchmarks.h"

static void put_error(
	struct vbd_encoder *out, const char *name, const struct vbd_benchmark *benchmark)
{
	const struct vbd_first_error *first = &benchmark->first_error;
	struct vbd_error error = {0};

	if (benchmark->object.ended && benchmark->state != VBD_BENCHMARK_DONE)
		vbd_object_problem(&benchmark->object, &error);
	vbd_put_error(out, name, &error, first->error.status ? first : NULL);
}

static uint64_t per_second(uint64_t what, uint64_t elapsed_ns)
{
	return (uint64_t)((double)what * (double)VBD_NS_PER_S / (double)elapsed_ns);
}

static void put_result(struct vbd_encoder *out, const struct vbd_benchmark *benchmark)
{
	const struct vbd_benchmark_result result = vbd_benchmark_result(benchmark);
	bool began = result.elapsed_ns != 0;

	vbd_put_u64(out, "messages", result.messages);
	vbd_put_u64(out, "bytes", result.bytes);
	vbd_put_u64_or_null(out, "elapsed_ns", began, result.elapsed_ns);
	vbd_put_u64_or_null(
		out, "bytes_per_s", began, began ? per_second(result.bytes, result.elapsed_ns) : 0);
	vbd_put_u64_or_null(out, "messages_per_s", began,
		began ? per_second(result.messages, result.elapsed_ns) : 0);
	vbd_put_latency(out, "latency_ns", &benchmark->latency_ns);
}

void vbd_put_benchmark(struct vbd_encoder *out, const struct vbd_benchmark *benchmark)
{
	const struct vbd_daemon *daemon = benchmark->object.registry->daemon;
	bool by_time = benchmark->duration_ms != 0;

	vbd_put_u64(out, "id", benchmark->object.id);
	vbd_put_owner(out, &benchmark->object);
	vbd_put_labels(out, benchmark->object.labels);
	vbd_put_text(out, "state", vbd_benchmark_state_name(benchmark->state));
	vbd_put_ref(out, "connection", daemon->connections, benchmark->connection_id);
	vbd_put_ref(out, "transfer", daemon->transfers, benchmark->transfer_id);
	vbd_put_text(out, "op", vbd_op_name(benchmark->op));
	vbd_put_u64(out, "size_bytes", benchmark->size_bytes);
	vbd_put_u64(out, "tx_depth", benchmark->tx_depth);
	vbd_put_u64_or_null(out, "count", !by_time, benchmark->count);
	vbd_put_u64_or_null(out, "duration_ms", by_time, benchmark->duration_ms);
	vbd_put_ref(out, "buffer", daemon->buffers, benchmark->buffer_id);
	vbd_put_remote(out, "remote", benchmark->op, benchmark->remote_addr, benchmark->rkey);
	vbd_put_u64(out, "timeout_ms", benchmark->timeout_ms);
	put_result(out, benchmark);
	vbd_put_time(out, "created_at", benchmark->object.created_ns);
	vbd_put_time(out, "ended_at", benchmark->ended_ns);
	put_error(out, "error", benchmark);
}
