/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/batch.h"
#include "daemon/work/transfers.h"

#include "tests/unit/svc.h"

#define COUNT 3

/* A connection and a buffer for each end. */
struct scene {
	struct svc *svc;
	struct svc_pair pair;
	struct vbd_buffer *here, *there;
};

static struct scene make_scene(struct svc *svc)
{
	return (struct scene){
		.svc = svc,
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.here = svc_buffer(svc, "here", 10000, 0),
		.there = svc_buffer(svc, "there", 10000, VBD_ACCESS_REMOTE_WRITE),
	};
}

static struct vbd_transfer_spec spec_of(const struct scene *scene)
{
	return (struct vbd_transfer_spec){
		.qp = &scene->pair.active->conn->qp,
		.buffer = scene->here,
		.op = VBD_OP_WRITE,
		.length_bytes = 10000,
		.wr.remote_addr = (uintptr_t)scene->there->mem.addr,
		.wr.rkey = scene->there->mem.rkey,
		.chunk_bytes = 1000,
		.timeout_ms = 30000,
	};
}

static struct vbd_batch *begin_many(const struct scene *scene, uint32_t count)
{
	const struct vbd_transfer_spec spec = spec_of(scene);
	struct vbd_object *objects[VBD_BATCH_MAX] = {NULL};
	struct vbd_daemon *daemon = scene->svc->daemon;
	struct vbd_transfer_record *record;
	struct vbd_batch *batch = NULL;

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(
			vbd_transfer_prepare(daemon, &spec, &record, &scene->svc->err), VBD_OK);
		objects[i] = &record->object;
	}
	assert_int_equal(vbd_batch_create(daemon->transfer_batches, &vbd_transfer_batch_ops,
				 objects, count, &batch, &scene->svc->err),
		VBD_OK);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(
			((struct vbd_transfer_record *)objects[i])->batch_id, batch->object.id);
	return batch;
}

static struct vbd_batch *begin(const struct scene *scene)
{
	return begin_many(scene, COUNT);
}

static void wait_for_end(struct svc *svc, const struct vbd_batch *batch)
{
	SVC_UNTIL(svc, batch->state != VBD_BATCH_RUNNING);
	assert_int_equal(batch->open, 0);
	assert_true(batch->object.ended);
	assert_true(batch->object.ended_ns > 0);
}

static void assert_states(const struct vbd_batch *batch, enum vbd_transfer_state state)
{
	for (uint32_t i = 0; i < batch->count; i++)
		assert_int_equal(vbd_batch_outcome(&batch->items[i]), state);
}

SVC_TEST(test_services_batches__all_transfers_done_is_done)
{
	const struct scene scene = make_scene(svc);
	const struct vbd_batch *batch = begin(&scene);

	assert_int_equal(svc->daemon->transfer_batches->open, 1);
	assert_int_equal(svc->daemon->transfers->open, COUNT);
	wait_for_end(svc, batch);
	assert_int_equal(batch->state, VBD_BATCH_DONE);
	assert_states(batch, VBD_TRANSFER_DONE);
	assert_int_equal(batch->error.status, VBD_OK);
	assert_int_equal(svc->daemon->transfer_batches->open, 0);
}

/* A record may change after its end: a client labels it. */
SVC_TEST(test_services_batches__an_ended_transfer_that_changes_is_counted_once)
{
	const struct scene scene = make_scene(svc);
	const struct vbd_batch *batch = begin(&scene);

	wait_for_end(svc, batch);
	vbd_registry_for_each (object, svc->daemon->transfers)
		vbd_object_changed(object);
	svc_turn(svc);
	assert_int_equal(batch->open, 0);
	assert_states(batch, VBD_TRANSFER_DONE);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_TRANSFER_BATCH_ENDED), 1);
}

SVC_TEST(test_services_batches__the_first_failure_is_the_error)
{
	const struct scene scene = make_scene(svc);
	struct vbd_batch *batch;
	struct vbd_error problem;

	fake_loopback(false);
	batch = begin(&scene);
	vbd_object_cancel(batch->items[1].object);
	SVC_UNTIL(svc, batch->open == COUNT - 1);
	assert_int_equal(batch->state, VBD_BATCH_RUNNING);
	assert_int_equal(batch->error.status, VBD_E_CANCELLED);
	assert_string_equal(
		batch->error.text, "transfer 2: the transfer was cancelled after 0 of 10000 bytes");
	svc_close(svc, scene.pair.active);
	wait_for_end(svc, batch);
	assert_int_equal(batch->state, VBD_BATCH_FAILED);
	assert_int_equal(batch->failures.total, COUNT);
	assert_int_equal(batch->failures.items[0].id, 2);
	assert_string_equal(batch->failures.items[0].kind, "transfer");
	assert_int_equal(batch->failures.items[0].err.status, VBD_E_CANCELLED);
	assert_int_not_equal(batch->failures.items[1].id, 2);
	vbd_object_problem(&batch->object, &problem);
	assert_int_equal(problem.status, VBD_E_CANCELLED);
	assert_string_equal(problem.object, "/v1/transfer_batches/1");
}

SVC_TEST(test_services_batches__a_failed_completion_is_kept)
{
	const struct scene scene = make_scene(svc);
	const struct vbd_batch *batch;

	scene.there->mem.rkey++;
	batch = begin(&scene);
	scene.there->mem.rkey--;
	wait_for_end(svc, batch);
	assert_int_equal(batch->state, VBD_BATCH_FAILED);
	assert_int_equal(batch->error.status, VBD_E_REMOTE_ACCESS);
	assert_int_equal(batch->first_error.error.source, VBD_SOURCE_WC);
	assert_int_equal(batch->first_error.op, VBD_OP_WRITE);
	assert_int_equal(batch->first_error.transfer, batch->items->id);
}

SVC_TEST(test_services_batches__a_turn_cancels_a_few_of_many)
{
	const struct scene scene = make_scene(svc);
	struct vbd_batch *batch;

	fake_loopback(false);
	batch = begin_many(&scene, VBD_BATCH_MAX);
	vbd_object_cancel(&batch->object);
	assert_int_equal(batch->cancelled, 64);
	vbd_object_cancel(&batch->object);
	assert_int_equal(batch->cancelled, 64);
	UNIT_UNTIL (batch->cancelled >= batch->count) {
		uint32_t cancelled = batch->cancelled;

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(batch->cancelled - cancelled, 0, 64);
	}
	svc_close(svc, scene.pair.active);
	wait_for_end(svc, batch);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_CANCELLED], VBD_BATCH_MAX);
}

SVC_TEST(test_services_batches__a_deletion_cancels_what_runs)
{
	const struct scene scene = make_scene(svc);
	struct vbd_batch *batch;

	fake_loopback(false);
	batch = begin(&scene);
	assert_false(vbd_object_delete(&batch->object));
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->transfer_batches) == 0);
	assert_int_equal(svc->daemon->transfers->open, 0);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_CANCELLED], COUNT);
	assert_int_equal(vbd_registry_count(svc->daemon->transfers), COUNT);
}

SVC_TEST(test_services_batches__a_deleted_transfer_counts_in_its_last_state)
{
	const struct scene scene = make_scene(svc);
	const struct vbd_batch *batch = begin(&scene);

	wait_for_end(svc, batch);
	vbd_registry_for_each (object, svc->daemon->transfers)
		assert_true(vbd_object_delete(object));
	svc_turn(svc);
	assert_states(batch, VBD_TRANSFER_DONE);
}

SVC_TEST(test_services_batches__the_newest_records_are_kept)
{
	struct scene scene;

	svc->config.records.ended = 2;
	svc_restart(svc);
	scene = make_scene(svc);
	for (int i = 0; i < 4; i++)
		wait_for_end(svc, begin(&scene));
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->transfer_batches), 2);
	assert_int_equal(vbd_registry_after(svc->daemon->transfer_batches, 0)->id, 3);
}

SVC_TEST(test_services_batches__the_daemon_stops_with_one_under_way)
{
	const struct scene scene = make_scene(svc);

	fake_loopback(false);
	(void)begin(&scene);
	svc_stop(svc);
}
