/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/benchmarks.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

const char *vbd_benchmark_state_name(enum vbd_benchmark_state state)
{
	static const char *const names[VBD_BENCHMARK_STATE_COUNT] = {
#define VBD_BENCHMARK_STATE_NAME(sym, json) [VBD_BENCHMARK_##sym] = json,
		VBD_BENCHMARK_STATE_MAP(VBD_BENCHMARK_STATE_NAME)
#undef VBD_BENCHMARK_STATE_NAME
	};

	return names[state];
}

static struct vbd_benchmark *benchmark_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_benchmark, object);
}

static void free_benchmark(struct vbd_benchmark *benchmark)
{
	vbd_list_remove(&benchmark->reap.link);
	vbd_history_leave(&benchmark->daemon->ended_benchmarks, &benchmark->ended_link);
	vbd_watch_remove(&benchmark->transfer_watch);
	vbd_registry_remove(benchmark->daemon->benchmarks, &benchmark->object);
	vbd_watch_notify(&benchmark->watches, true);
	free(benchmark);
}

static void reap(struct vbd_deferred *deferred)
{
	free_benchmark(VBD_CONTAINER_OF(deferred, struct vbd_benchmark, reap));
}

static void bound_history(struct vbd_daemon *daemon)
{
	struct vbd_link *oldest =
		vbd_history_take_oldest(&daemon->ended_benchmarks, daemon->config->benchmarks_kept);

	if (oldest)
		vbd_benchmark_forget(VBD_CONTAINER_OF(oldest, struct vbd_benchmark, ended_link));
}

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

static void ended(struct vbd_benchmark *benchmark)
{
	const struct vbd_transfer_record *record = benchmark->transfer;
	struct vbd_daemon *daemon = benchmark->daemon;
	bool done = record->transfer.state == VBD_TRANSFER_DONE;

	vbd_watch_remove(&benchmark->transfer_watch);
	benchmark->result = result_so_far(&record->transfer);
	benchmark->ended_ns = vbd_counter_get(&record->transfer.ended_ns);
	benchmark->state = done ? VBD_BENCHMARK_DONE : VBD_BENCHMARK_FAILED;
	if (!done)
		vbd_transfer_problem(record, &benchmark->error);
	benchmark->transfer = NULL;
	daemon->benchmarks_open--;
	vbd_history_add(&daemon->ended_benchmarks, &benchmark->ended_link);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_BENCHMARK_ENDED,
		done ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING, VBD_KIND_BENCHMARK,
		benchmark->object.id, VBD_REASON_NONE,
		"%s, %llu messages of %u bytes over connection %llu in %llu ms%s%s",
		vbd_benchmark_state_name(benchmark->state),
		(unsigned long long)benchmark->result.messages, benchmark->size_bytes,
		(unsigned long long)benchmark->connection_id,
		(unsigned long long)(benchmark->result.elapsed_ns / VBD_NS_PER_MS),
		done ? "" : ": ", benchmark->error.text);
	vbd_watch_notify(&benchmark->watches, false);
	bound_history(daemon);
}

static void on_transfer_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_benchmark *benchmark =
		VBD_CONTAINER_OF(watch, struct vbd_benchmark, transfer_watch);

	/* Only with the whole daemon does its record go before it has ended. */
	if (gone)
		benchmark->transfer = NULL;
	else if (vbd_transfer_state_ended(benchmark->transfer->transfer.state))
		ended(benchmark);
}

static enum vbd_status make(struct vbd_daemon *daemon, const struct vbd_benchmark_spec *spec,
	struct vbd_benchmark **ret_benchmark, struct vbd_error *err)
{
	struct vbd_benchmark *benchmark = calloc(1, sizeof(*benchmark));
	enum vbd_status status;

	if (!benchmark)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a benchmark");
	benchmark->daemon = daemon;
	benchmark->connection_id = spec->connection->object.id;
	benchmark->buffer_id = spec->buffer ? spec->buffer->object.id : 0;
	benchmark->op = spec->op;
	benchmark->size_bytes = spec->size_bytes;
	benchmark->count = spec->count;
	benchmark->duration_ms = spec->count ? 0 : spec->duration_ms;
	benchmark->timeout_ms = spec->timeout_ms;
	benchmark->created_ns = vbd_clock_mono_ns();
	benchmark->transfer_watch.cb = on_transfer_changed;
	vbd_list_init(&benchmark->transfer_watch.link);
	vbd_list_init(&benchmark->ended_link);
	vbd_list_init(&benchmark->watches);
	vbd_deferred_init(&benchmark->reap, reap);
	status = vbd_registry_add(daemon->benchmarks, &benchmark->object, "", err);
	if (status) {
		free(benchmark);
		return status;
	}
	*ret_benchmark = benchmark;
	return VBD_OK;
}

static enum vbd_status prepare(struct vbd_benchmark *benchmark,
	const struct vbd_benchmark_spec *spec, struct vbd_error *err)
{
	const struct vbd_transfer_spec transfer = {
		.carrier.connection = spec->connection,
		.buffer = spec->buffer,
		.op = spec->op,
		.length_bytes = spec->size_bytes,
		.remote_addr = spec->remote_addr,
		.rkey = spec->rkey,
		.window = spec->window,
		.timeout_ms = spec->timeout_ms,
		.repeats = spec->count ? spec->count : UINT64_MAX,
		.run_ns = benchmark->duration_ms * VBD_NS_PER_MS,
		.latency_ns = &benchmark->latency_ns,
	};
	enum vbd_status status =
		vbd_transfer_prepare(benchmark->daemon, &transfer, &benchmark->transfer, err);

	if (status)
		return status;
	benchmark->transfer_id = benchmark->transfer->object.id;
	benchmark->window = benchmark->transfer->transfer.window;
	vbd_watch_add(&benchmark->transfer->watches, &benchmark->transfer_watch);
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
	status = make(daemon, spec, &benchmark, err);
	if (status)
		return status;
	status = prepare(benchmark, spec, err);
	if (status) {
		free_benchmark(benchmark);
		return status;
	}
	daemon->benchmarks_open++;
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_BENCHMARK_CREATED, VBD_SEVERITY_INFO,
		VBD_KIND_BENCHMARK, benchmark->object.id, VBD_REASON_NONE,
		"%s, messages of %u bytes, %u at a time, over connection %llu: transfer %llu",
		vbd_op_name(spec->op), spec->size_bytes, benchmark->window,
		(unsigned long long)benchmark->connection_id,
		(unsigned long long)benchmark->transfer_id);
	vbd_transfers_start(&benchmark->transfer, 1);
	*ret_benchmark = benchmark;
	return VBD_OK;
}

struct vbd_benchmark *vbd_benchmark_find(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_object *object = vbd_registry_find_ref(daemon->benchmarks, ref, err);

	return object ? benchmark_of(object) : NULL;
}

void vbd_benchmark_cancel(struct vbd_benchmark *benchmark)
{
	if (benchmark->transfer)
		vbd_transfer_cancel(benchmark->transfer);
}

void vbd_benchmark_forget(struct vbd_benchmark *benchmark)
{
	vbd_loop_defer(benchmark->daemon->loop, &benchmark->reap);
}

void vbd_benchmark_problem(const struct vbd_benchmark *benchmark, struct vbd_error *ret_err)
{
	*ret_err = benchmark->error;
	(void)vbd_registry_path(
		benchmark->daemon->benchmarks, benchmark->object.id, ret_err->object);
}

static void free_object(struct vbd_object *object)
{
	free_benchmark(benchmark_of(object));
}

void vbd_benchmarks_destroy_all(struct vbd_daemon *daemon)
{
	vbd_registry_drain(daemon->benchmarks, free_object);
}
