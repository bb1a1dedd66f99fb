/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/benchmarks.h"

#include "base/clock.h"
#include "base/enum.h"

VBD_ENUM_NAMES(vbd_benchmark_state_name, enum vbd_benchmark_state, VBD_BENCHMARK_STATE_MAP)

VBD_OBJECT_RECORD(benchmark_of, struct vbd_benchmark)

static struct vbd_benchmark_result result_so_far(const struct vbd_transfer *transfer)
{
	uint64_t started_ns = vbd_counter_get(&transfer->started_ns);
	uint64_t ended_ns = vbd_counter_get(&transfer->ended_ns);
	uint64_t until_ns = ended_ns ? ended_ns : vbd_clock_mono_ns();

	return (struct vbd_benchmark_result){
		.messages = vbd_counter_get(&transfer->wrs_done),
		.bytes = vbd_counter_get(&transfer->bytes_done),
		.elapsed_ns = started_ns ? until_ns - started_ns : 0,
	};
}

struct vbd_benchmark_result vbd_benchmark_result(const struct vbd_benchmark *benchmark)
{
	return benchmark->transfer ? result_so_far(&benchmark->transfer->transfer)
				   : benchmark->result;
}

static enum vbd_benchmark_state state_after_transfer(enum vbd_transfer_state transfer)
{
	if (transfer == VBD_TRANSFER_CANCELLED)
		return VBD_BENCHMARK_CANCELLED;
	return transfer == VBD_TRANSFER_DONE ? VBD_BENCHMARK_DONE : VBD_BENCHMARK_FAILED;
}

static void end_benchmark(struct vbd_benchmark *benchmark)
{
	const struct vbd_transfer_record *record = benchmark->transfer;
	bool done = record->transfer.state == VBD_TRANSFER_DONE;

	vbd_watch_remove(&benchmark->transfer_watch);
	benchmark->result = result_so_far(&record->transfer);
	benchmark->ended_ns = vbd_counter_get(&record->transfer.ended_ns);
	benchmark->state = state_after_transfer(record->transfer.state);
	if (!done) {
		vbd_object_problem(&record->object, &benchmark->error);
		vbd_transfer_first_error(record, &benchmark->first_error);
	}
	benchmark->transfer = NULL;
	vbd_object_end(&benchmark->object);
	vbd_object_log(&benchmark->object, VBD_EVENT_BENCHMARK_ENDED,
		done ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING,
		done ? VBD_OK : benchmark->error.status,
		"%s, %llu messages of %u bytes over connection %llu in %llu ms%s%s",
		vbd_benchmark_state_name(benchmark->state),
		(unsigned long long)benchmark->result.messages, benchmark->size_bytes,
		(unsigned long long)benchmark->connection_id,
		(unsigned long long)(benchmark->result.elapsed_ns / VBD_NS_PER_MS),
		done ? "" : ": ", benchmark->error.text);
	vbd_object_changed(&benchmark->object);
}

static void on_transfer_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_benchmark *benchmark =
		VBD_CONTAINER_OF(watch, struct vbd_benchmark, transfer_watch);

	/* A transfer's record is freed before the transfer has ended only with the daemon. */
	if (gone)
		benchmark->transfer = NULL;
	else if (vbd_transfer_state_ended(benchmark->transfer->transfer.state))
		end_benchmark(benchmark);
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_benchmark_spec *spec,
	struct vbd_benchmark **ret_benchmark, struct vbd_error *err)
{
	struct vbd_benchmark *benchmark;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->benchmarks, &spec->origin, "", &object, err);

	if (status)
		return status;
	benchmark = benchmark_of(object);
	benchmark->connection_id = spec->connection->object.id;
	benchmark->buffer_id = spec->buffer ? spec->buffer->object.id : 0;
	benchmark->op = spec->op;
	benchmark->remote_addr = spec->wr.remote_addr;
	benchmark->rkey = spec->wr.rkey;
	benchmark->size_bytes = spec->size_bytes;
	benchmark->count = spec->count;
	benchmark->duration_ms = spec->count ? 0 : spec->duration_ms;
	benchmark->timeout_ms = spec->timeout_ms;
	benchmark->transfer_watch.cb = on_transfer_changed;
	vbd_list_init(&benchmark->transfer_watch.link);
	*ret_benchmark = benchmark;
	return VBD_OK;
}

static enum vbd_status prepare_transfer(struct vbd_benchmark *benchmark,
	const struct vbd_benchmark_spec *spec, struct vbd_error *err)
{
	const struct vbd_transfer_spec transfer = {
		.origin = spec->origin,
		.qp = &spec->connection->conn->qp,
		.buffer = spec->buffer,
		.op = spec->op,
		.length_bytes = spec->size_bytes,
		.wr = spec->wr,
		.tx_depth = spec->tx_depth,
		.timeout_ms = spec->timeout_ms,
		.repeats = spec->count ? spec->count : UINT64_MAX,
		.run_ns = benchmark->duration_ms * VBD_NS_PER_MS,
		.latency_ns = &benchmark->latency_ns,
	};
	enum vbd_status status = vbd_transfer_prepare(
		benchmark->object.registry->daemon, &transfer, &benchmark->transfer, err);

	if (status)
		return status;
	benchmark->transfer_id = benchmark->transfer->object.id;
	benchmark->tx_depth = benchmark->transfer->transfer.tx_depth;
	vbd_watch_add(&benchmark->transfer->object.watches, &benchmark->transfer_watch);
	return VBD_OK;
}

enum vbd_status vbd_benchmark_create(struct vbd_daemon *daemon,
	const struct vbd_benchmark_spec *spec, struct vbd_benchmark **ret_benchmark,
	struct vbd_error *err)
{
	struct vbd_benchmark *benchmark;
	enum vbd_status status;

	if (!spec->buffer && spec->size_bytes > VBD_MESSAGE_BYTES_MAX)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/buffer",
			"/buffer is missing: messages of more than %d bytes need one",
			VBD_MESSAGE_BYTES_MAX);
	status = make_record(daemon, spec, &benchmark, err);
	if (status)
		return status;
	status = prepare_transfer(benchmark, spec, err);
	if (status) {
		vbd_object_free(&benchmark->object);
		return status;
	}
	vbd_object_log(&benchmark->object, VBD_EVENT_BENCHMARK_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%s, messages of %u bytes, %u at a time, over connection %llu: transfer %llu",
		vbd_op_name(spec->op), spec->size_bytes, benchmark->tx_depth,
		(unsigned long long)benchmark->connection_id,
		(unsigned long long)benchmark->transfer_id);
	vbd_transfer_start(benchmark->transfer);
	*ret_benchmark = benchmark;
	return VBD_OK;
}

static void cancel_benchmark(struct vbd_object *object)
{
	const struct vbd_benchmark *benchmark = benchmark_of(object);

	if (benchmark->transfer)
		vbd_object_cancel(&benchmark->transfer->object);
}

static void free_benchmark(struct vbd_object *object)
{
	vbd_watch_remove(&benchmark_of(object)->transfer_watch);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_benchmark, state, vbd_benchmark_state_name)

const struct vbd_kind vbd_benchmark_kind = {
	.size_bytes = sizeof(struct vbd_benchmark),
	.keeps_history = true,
	.connection_at = offsetof(struct vbd_benchmark, connection_id),
	.cancel = cancel_benchmark,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_benchmark, error),
	.free = free_benchmark,
};
