/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/benchmarks.h"

#include "tests/unit/svc.h"

/* Two connections, and memory for writes and reads of the active one. */
struct scene {
	struct svc *svc;
	struct svc_pair pair;
	struct vbd_buffer *there;
};

static struct scene make_scene(struct svc *svc)
{
	struct vbd_listener_spec listener = svc_listener_spec();

	listener.params.qp.service = VBD_SERVICE_SINK;
	return (struct scene){
		.svc = svc,
		.pair = svc_pair(svc, svc_listen(svc, &listener)),
		.there = svc_buffer(
			svc, "there", 65536, VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_WRITE),
	};
}

static struct vbd_benchmark_spec spec_of(const struct scene *scene, enum vbd_op op)
{
	return (struct vbd_benchmark_spec){
		.connection = scene->pair.active,
		.op = op,
		.size_bytes = 48,
		.tx_depth = 2,
		.count = 50,
		.wr.remote_addr = (uintptr_t)scene->there->mem.addr,
		.wr.rkey = scene->there->mem.rkey,
		.timeout_ms = 30000,
	};
}

static struct vbd_benchmark *begin(const struct scene *scene, const struct vbd_benchmark_spec *spec)
{
	struct vbd_benchmark *benchmark = NULL;

	assert_int_equal(
		vbd_benchmark_create(scene->svc->daemon, spec, &benchmark, &scene->svc->err),
		VBD_OK);
	assert_int_equal(benchmark->state, VBD_BENCHMARK_RUNNING);
	return benchmark;
}

static void wait_for_end(struct svc *svc, const struct vbd_benchmark *benchmark)
{
	struct vbd_object *transfer;

	SVC_UNTIL(svc, benchmark->state != VBD_BENCHMARK_RUNNING);
	/* The record may change later: a client labels it. */
	transfer = vbd_registry_find_id(svc->daemon->transfers, benchmark->transfer_id);
	if (transfer)
		vbd_object_changed(transfer);
	svc_turn(svc);
	assert_null(benchmark->transfer);
	assert_int_equal(svc->daemon->benchmarks->open, 0);
	assert_int_equal(svc->daemon->transfers->open, 0);
}

static void assert_result(
	const struct vbd_benchmark *benchmark, uint64_t messages, uint64_t size_bytes)
{
	const struct vbd_benchmark_result result = vbd_benchmark_result(benchmark);

	assert_int_equal(benchmark->state, VBD_BENCHMARK_DONE);
	assert_int_equal(result.messages, messages);
	assert_int_equal(result.bytes, messages * size_bytes);
	assert_int_not_equal(result.elapsed_ns, 0);
	assert_int_equal(vbd_counter_get(&benchmark->latency_ns.count), messages);
}

static void assert_refused(const struct scene *scene, const struct vbd_benchmark_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_benchmark *benchmark = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_benchmark_create(scene->svc->daemon, spec, &benchmark, &err), status);
	assert_string_equal(err.param ? err.param : err.pointer, err.param ? pointer + 1 : pointer);
	assert_null(benchmark);
	assert_int_equal(scene->svc->daemon->benchmarks->open, 0);
	assert_int_equal(vbd_registry_count(scene->svc->daemon->benchmarks), 0);
	assert_int_equal(vbd_registry_count(scene->svc->daemon->transfers), 0);
}

SVC_TEST(test_services_benchmarks__each_op_runs_so_often_with_every_kind_of_memory)
{
	static const enum vbd_op ops[] = {VBD_OP_WRITE, VBD_OP_READ, VBD_OP_SEND};
	/* Empty, small enough to be inlined, and too large for that. */
	static const uint32_t sizes[] = {0, 48, 64};
	const struct scene scene = make_scene(svc);
	struct vbd_buffer *here = svc_buffer(svc, "here", 4096, 0);

	for (size_t i = 0; i < VBD_ARRAY_LEN(ops); i++) {
		for (size_t j = 0; j < VBD_ARRAY_LEN(sizes); j++) {
			struct vbd_benchmark_spec spec = spec_of(&scene, ops[i]);
			struct vbd_benchmark *benchmark;

			spec.size_bytes = sizes[j];
			spec.buffer = j == 2 ? here : NULL;
			benchmark = begin(&scene, &spec);
			wait_for_end(svc, benchmark);
			assert_result(benchmark, 50, sizes[j]);
			assert_int_equal(here->users, 0);
		}
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BENCHMARK_CREATED), 9);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_BENCHMARK_ENDED), 9);
	/* Benchmarks do not count in the wire times of other transfers. */
	assert_int_equal(vbd_counter_get(&svc->daemon->times.wire[VBD_OP_WRITE].count), 0);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 9);
}

SVC_TEST(test_services_benchmarks__its_transfer_is_one_like_any_other)
{
	const struct scene scene = make_scene(svc);
	const struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_WRITE);
	const struct vbd_benchmark *benchmark = begin(&scene, &spec);
	const struct vbd_transfer_record *record = svc_find(svc->daemon->transfers, "1", &svc->err);

	assert_ptr_equal(record, benchmark->transfer);
	assert_int_equal(benchmark->transfer_id, 1);
	assert_int_equal(benchmark->tx_depth, 2);
	assert_int_equal(vbd_transfer_length(&record->transfer), 50 * 48);
	wait_for_end(svc, benchmark);
	assert_non_null(svc_find(svc->daemon->benchmarks, "1", &svc->err));
	assert_null(svc_find(svc->daemon->benchmarks, "2", &svc->err));
}

SVC_TEST(test_services_benchmarks__one_by_time_ends_well_when_it_is_up)
{
	const struct scene scene = make_scene(svc);
	struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_WRITE);
	const struct vbd_event_filter filter = {
		.by_type = true, .types[VBD_EVENT_TRANSFER_CREATED] = true};
	const struct vbd_benchmark *benchmark;

	spec.count = 0;
	spec.duration_ms = 5;
	benchmark = begin(&scene, &spec);
	assert_string_equal(vbd_eventlog_next(svc->daemon->eventlog, 0, &filter)->detail,
		"write for 5 ms over connection 1");
	wait_for_end(svc, benchmark);
	assert_int_equal(benchmark->state, VBD_BENCHMARK_DONE);
	assert_true(benchmark->result.messages > 0);
	assert_true(benchmark->result.elapsed_ns >= 5000000);
	assert_int_equal(benchmark->result.bytes, benchmark->result.messages * 48);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 1);
}

SVC_TEST(test_services_benchmarks__a_cancel_keeps_the_result_so_far)
{
	const struct scene scene = make_scene(svc);
	struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_benchmark *benchmark;
	struct vbd_error problem;

	spec.count = VBD_BENCHMARK_COUNT_MAX;
	benchmark = begin(&scene, &spec);
	UNIT_UNTIL (vbd_benchmark_result(benchmark).messages >= 10)
		svc_turn(svc);
	vbd_object_cancel(&benchmark->object);
	vbd_object_cancel(&benchmark->object);
	wait_for_end(svc, benchmark);
	vbd_object_cancel(&benchmark->object);
	vbd_object_problem(&benchmark->object, &problem);
	assert_int_equal(problem.status, VBD_E_CANCELLED);
	assert_int_equal(benchmark->state, VBD_BENCHMARK_CANCELLED);
	assert_string_equal(problem.object, "/v1/benchmarks/1");
	assert_true(benchmark->result.messages >= 10);
	/* A cancel is no error of a completion. */
	assert_int_equal(benchmark->first_error.op, -1);
	assert_int_equal(benchmark->first_error.error.status, VBD_OK);
	vbd_object_delete(&benchmark->object);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->benchmarks), 0);
}

SVC_TEST(test_services_benchmarks__the_end_of_the_connection_is_told)
{
	const struct scene scene = make_scene(svc);
	struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_benchmark *benchmark;
	struct vbd_error problem;

	spec.count = VBD_BENCHMARK_COUNT_MAX;
	benchmark = begin(&scene, &spec);
	svc_close(svc, scene.pair.active);
	wait_for_end(svc, benchmark);
	vbd_object_problem(&benchmark->object, &problem);
	assert_int_equal(problem.status, VBD_E_LOCAL_CLOSE);
}

SVC_TEST(test_services_benchmarks__what_can_not_work_is_refused)
{
	const struct scene scene = make_scene(svc);
	struct vbd_buffer *here = svc_buffer(svc, "here", 4096, 0);
	struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_WRITE);

	spec.size_bytes = VBD_MESSAGE_BYTES_MAX + 1;
	assert_refused(&scene, &spec, VBD_E_MISSING_FIELD, "/buffer");
	spec.buffer = here;
	assert_refused(&scene, &spec, VBD_E_RANGE_NOT_SATISFIABLE, "/size_bytes");
	svc_close(svc, scene.pair.active);
	assert_refused(&scene, &spec, VBD_E_WRONG_STATE, "/connection");
}

SVC_TEST(test_services_benchmarks__the_newest_records_are_kept)
{
	struct vbd_benchmark_spec spec;
	struct scene scene;

	svc->config.records.ended = 2;
	svc_restart(svc);
	scene = make_scene(svc);
	spec = spec_of(&scene, VBD_OP_SEND);
	spec.count = 1;
	for (unsigned int i = 0; i < 5; i++)
		wait_for_end(svc, begin(&scene, &spec));
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->benchmarks), 2);
	assert_int_equal(vbd_registry_after(svc->daemon->benchmarks, 0)->id, 4);
}

SVC_TEST(test_services_benchmarks__the_daemon_stops_with_one_under_way)
{
	const struct scene scene = make_scene(svc);
	struct vbd_benchmark_spec spec = spec_of(&scene, VBD_OP_READ);

	spec.count = VBD_BENCHMARK_COUNT_MAX;
	(void)begin(&scene, &spec);
	svc_stop(svc);
}
