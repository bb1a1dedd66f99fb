/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/transfers.h"

#include "base/clock.h"
#include "rdma/device/caps.h"
#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"
#include "tests/unit/svc.h"

/* Two connections and a buffer for each end. */
struct scene {
	struct svc *svc;
	struct svc_pair pair;
	struct vbd_buffer *here, *there;
};

static struct scene make_scene(struct svc *svc)
{
	struct scene scene = {
		.svc = svc,
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.here = svc_buffer(svc, "here", 10000, 0),
		.there = svc_buffer(
			svc, "there", 10000, VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_WRITE),
	};

	for (size_t i = 0; i < 10000; i++)
		UNIT_BYTES(&scene.here->mem)[i] = (uint8_t)(i * 13);
	return scene;
}

static struct vbd_transfer_spec spec_of(const struct scene *scene, enum vbd_op op)
{
	return (struct vbd_transfer_spec){
		.qp = &scene->pair.active->conn->qp,
		.buffer = scene->here,
		.op = op,
		.length_bytes = 10000,
		.wr.remote_addr = (uintptr_t)scene->there->mem.addr,
		.wr.rkey = scene->there->mem.rkey,
		.chunk_bytes = 1000,
		.timeout_ms = 30000,
	};
}

static struct vbd_transfer_record *begin(
	const struct scene *scene, const struct vbd_transfer_spec *spec)
{
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(
		vbd_transfer_create(scene->svc->daemon, spec, &record, &scene->svc->err), VBD_OK);
	return record;
}

static void wait_for_end(struct svc *svc, const struct vbd_transfer_record *record)
{
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	assert_null(record->qp);
	assert_true(!record->range_count || !record->ranges->buffer);
}

static void assert_refused(const struct scene *scene, const struct vbd_transfer_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_transfer_create(scene->svc->daemon, spec, &record, &err), status);
	assert_string_equal(err.param ? err.param : err.pointer, err.param ? pointer + 1 : pointer);
	assert_null(record);
	assert_int_equal(scene->svc->daemon->transfers->open, 0);
	assert_int_equal(spec->buffer->users, 0);
}

/* Moving. */

SVC_TEST(test_services_transfers__a_write_and_a_read)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *record = begin(&scene, &spec);

	assert_int_equal(svc->daemon->transfers->open, 1);
	assert_int_equal(scene.here->users, 1);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	assert_memory_equal(UNIT_BYTES(&scene.here->mem), UNIT_BYTES(&scene.there->mem), 10000);
	assert_int_equal(svc->daemon->transfers->open, 0);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 1);
	assert_int_equal(scene.here->users, 0);
	assert_int_equal(scene.here->refs, 0);
	assert_int_equal(vbd_counter_get(&record->transfer.wrs_done), 10);
	assert_int_equal(vbd_counter_get(&svc->daemon->times.queued[VBD_OP_WRITE].count), 1);
	assert_int_equal(vbd_counter_get(&svc->daemon->times.wire[VBD_OP_WRITE].count), 1);
	/* Both are parts of the time from the start of the daemon to now. */
	assert_in_range(vbd_counter_get(&svc->daemon->times.queued[VBD_OP_WRITE].sum) +
				vbd_counter_get(&svc->daemon->times.wire[VBD_OP_WRITE].sum),
		0, vbd_clock_mono_ns() - svc->daemon->started_ns);

	memset(UNIT_BYTES(&scene.here->mem), 0, 10000);
	spec = spec_of(&scene, VBD_OP_READ);
	spec.offset_bytes = 100;
	spec.length_bytes = 200;
	record = begin(&scene, &spec);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	assert_memory_equal(UNIT_BYTES(&scene.here->mem) + 100, UNIT_BYTES(&scene.there->mem), 200);
	assert_int_equal(UNIT_BYTES(&scene.here->mem)[99], 0);
	assert_int_equal(UNIT_BYTES(&scene.here->mem)[300], 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_TRANSFER_ENDED), 2);
	assert_ptr_equal(svc_find(svc->daemon->transfers, "2", &svc->err), record);
	assert_null(svc_find(svc->daemon->transfers, "3", &svc->err));
}

SVC_TEST(test_services_transfers__a_chunk_is_no_longer_than_the_port_carries)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_transfer_spec spec;
	struct vbd_error err = {0};
	struct scene scene;

	svc->device->port.max_msg_sz = 512;
	svc_restart(svc);
	scene = make_scene(svc);
	spec = spec_of(&scene, VBD_OP_WRITE);
	spec.length_bytes = 1024;
	record = begin(&scene, &spec);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.chunk_bytes, 512);
	assert_int_equal(vbd_counter_get(&record->transfer.wrs_done), 2);
	spec.op = VBD_OP_SEND;
	assert_refused(&scene, &spec, VBD_E_OUT_OF_RANGE, "/length_bytes");
	assert_int_equal(svc_send_message(scene.pair.active, UNIT_BYTES(&scene.here->mem), 513,
				 NULL, 1000, &record, &err),
		VBD_E_OUT_OF_RANGE);
}

SVC_TEST(test_services_transfers__what_fits_goes_inline_by_itself)
{
	static const struct {
		enum vbd_op op;
		uint64_t length_bytes;
		bool inlined;
	} cases[] = {
		{VBD_OP_WRITE, 1, true},
		{VBD_OP_SEND, VBD_INLINE_BYTES, true},
		{VBD_OP_WRITE, VBD_INLINE_BYTES + 1, false},
		{VBD_OP_WRITE, 0, false},
		{VBD_OP_READ, 1, false},
	};
	const struct scene scene = make_scene(svc);
	struct vbd_transfer_record *record;
	struct vbd_transfer_spec spec;

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		spec = spec_of(&scene, cases[i].op);
		spec.length_bytes = cases[i].length_bytes;
		record = begin(&scene, &spec);
		assert_int_equal(record->transfer.wr.inlined, cases[i].inlined);
		wait_for_end(svc, record);
		assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	}
	/* Another program may cut the memory short while the bytes are copied. */
	scene.here->mem.kind = VBD_MEM_SHARED;
	spec = spec_of(&scene, VBD_OP_WRITE);
	spec.length_bytes = 1;
	record = begin(&scene, &spec);
	assert_false(record->transfer.wr.inlined);
	wait_for_end(svc, record);
	scene.here->mem.kind = VBD_MEM_ANONYMOUS;
}

SVC_TEST(test_services_transfers__messages_of_every_size)
{
	static const uint32_t sizes[] = {
		0, 1, VBD_INLINE_BYTES, VBD_INLINE_BYTES + 1, 4000, VBD_MESSAGE_BYTES_MAX};
	struct vbd_listener_spec listener_spec = svc_listener_spec();
	static uint8_t data[VBD_MESSAGE_BYTES_MAX + 1];
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};
	struct svc_pair pair;

	listener_spec.params.qp.recv_size_bytes = VBD_MESSAGE_BYTES_MAX;
	pair = svc_pair(svc, svc_listen(svc, &listener_spec));
	for (size_t i = 0; i < VBD_ARRAY_LEN(sizes); i++) {
		const struct vbd_message *message;

		memset(data, (int)i + 1, sizes[i]);
		assert_int_equal(svc_send_message(pair.active, data, sizes[i], NULL, 10000, &record,
					 &svc->err),
			VBD_OK);
		/* The bytes were copied, so the caller may change its own. */
		memset(data, 0xff, sizeof(data));
		wait_for_end(svc, record);
		assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
		assert_null(record->message.slab);
		SVC_UNTIL(svc, pair.passive->inbox.last_seq == i + 1);
		message = VBD_LIST_FIRST(&pair.passive->inbox.messages, struct vbd_message, link);
		assert_int_equal(message->received.length_bytes, sizes[i]);
		for (uint32_t k = 0; k < sizes[i]; k++)
			assert_int_equal(vbd_message_data(message)[k], i + 1);
		assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, i + 1, &svc->err), VBD_OK);
	}
	assert_int_equal(svc_send_message(pair.active, data, VBD_MESSAGE_BYTES_MAX + 1, NULL, 1000,
				 &record, &err),
		VBD_E_TOO_LONG);
	assert_string_equal(err.pointer, "/data");
}

SVC_TEST(test_services_transfers__long_messages_have_so_many_slots)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_record *records[VBD_MESSAGES_MAX];
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	/* Nothing completes: the peer has too few receives. */
	fake_loopback(false);
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		assert_int_equal(svc_send_message(scene.pair.active, UNIT_BYTES(&scene.here->mem),
					 65, NULL, 10000, &records[i], &svc->err),
			VBD_OK);
	assert_int_equal(svc_send_message(scene.pair.active, UNIT_BYTES(&scene.here->mem), 65, NULL,
				 10000, &record, &err),
		VBD_E_TOO_MANY_REQUESTS);
	assert_int_equal(err.limit, VBD_MESSAGES_MAX);
	/* A short message needs no slot. */
	assert_int_equal(svc_send_message(scene.pair.active, UNIT_BYTES(&scene.here->mem), 64, NULL,
				 10000, &record, &svc->err),
		VBD_OK);
	assert_int_equal(svc->daemon->transfers->open, VBD_MESSAGES_MAX + 1);
	vbd_connection_close(scene.pair.active);
	wait_for_end(svc, record);
	for (int i = 0; i < VBD_MESSAGES_MAX; i++)
		wait_for_end(svc, records[i]);
	SVC_UNTIL(svc, scene.pair.active->object.ended);
	assert_int_equal(svc->daemon->transfers->open, 0);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_FAILED], VBD_MESSAGES_MAX + 1);
	vbd_connection_close(scene.pair.passive);
}

/* Refusing. */

SVC_TEST(test_services_transfers__what_can_not_work_is_refused)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);

	spec.offset_bytes = 1;
	assert_refused(&scene, &spec, VBD_E_RANGE_NOT_SATISFIABLE, "/length_bytes");
	spec.offset_bytes = UINT64_MAX;
	spec.length_bytes = 2;
	assert_refused(&scene, &spec, VBD_E_RANGE_NOT_SATISFIABLE, "/length_bytes");
	spec = spec_of(&scene, VBD_OP_WRITE);
	scene.here->state = VBD_BUFFER_REGISTERING;
	assert_refused(&scene, &spec, VBD_E_WRONG_STATE, "/buffer");
	scene.here->state = VBD_BUFFER_READY;
	svc_close(svc, scene.pair.active);
	assert_refused(&scene, &spec, VBD_E_WRONG_STATE, "/connection");
}

SVC_TEST(test_services_transfers__a_buffer_of_another_device_is_refused)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct fake_device *second = fake_device_add("fake1");

	unit_rescan(svc->daemon->fabric);
	svc->device->port.state = IBV_PORT_DOWN;
	fake_device_async(svc->device, IBV_EVENT_PORT_ERR, 1);
	svc_turn(svc);
	spec.buffer = svc_buffer(svc, "elsewhere", 10000, 0);
	assert_string_equal(spec.buffer->device.name, "fake1");
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/buffer");
	(void)second;
}

SVC_TEST(test_services_transfers__an_atomic_has_its_size_and_alignment)
{
	struct scene scene = make_scene(svc);
	struct vbd_device *device = scene.pair.active->conn->qp.device;
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_FETCH_ADD);
	uint64_t caps = device->caps;

	for (uint64_t length_bytes = 7; length_bytes <= 9; length_bytes += 2) {
		spec.length_bytes = length_bytes;
		assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/length_bytes");
	}
	spec.repeats = 2;
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/size_bytes");
	spec.repeats = 0;
	spec.length_bytes = 8;
	spec.wr.remote_addr = 0x1004;
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/remote/addr");
	device->caps &= ~(1ULL << VBD_CAP_ATOMICS);
	assert_refused(&scene, &spec, VBD_E_NOT_SUPPORTED, "/op");
	device->caps = caps;
	scene.pair.active->conn->qp.info.initiator_depth = 0;
	assert_refused(&scene, &spec, VBD_E_WRONG_STATE, "/op");
}

SVC_TEST(test_services_transfers__what_must_go_inline_has_to_fit)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);

	spec.wr.inlined = true;
	spec.length_bytes = VBD_INLINE_BYTES + 1;
	assert_refused(&scene, &spec, VBD_E_OUT_OF_RANGE, "/inline");
	scene.here->mem.kind = VBD_MEM_SHARED;
	spec.length_bytes = 1;
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/inline");
	scene.here->mem.kind = VBD_MEM_ANONYMOUS;
	/* Each work request has to fit, not the whole. */
	spec.length_bytes = 2 * VBD_INLINE_BYTES;
	spec.chunk_bytes = VBD_INLINE_BYTES;
	wait_for_end(svc, begin(&scene, &spec));
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 1);
}

/* A work request of as many ranges, in two buffers: each but the first has one byte. */
static void put_ranges(const struct scene *scene, struct vbd_transfer_spec *spec, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		spec->ranges[i] =
			(struct vbd_transfer_range){.buffer = i ? scene->here : scene->there,
				.offset_bytes = i,
				.length_bytes = i ? 1 : 5};
	spec->buffer = NULL;
	spec->range_count = count;
	spec->length_bytes = count + 4;
}

static void refuse_ranges(struct scene *scene, const struct vbd_transfer_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_transfer_create(scene->svc->daemon, spec, &record, &err), status);
	assert_string_equal(err.pointer, pointer);
	assert_null(record);
	assert_int_equal(scene->here->users + scene->there->users, 0);
}

SVC_TEST(test_services_transfers__ranges_are_as_many_as_the_queue_pair_takes)
{
	struct scene scene = make_scene(svc);
	struct vbd_qp *qp = &scene.pair.active->conn->qp;
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_READ);
	uint32_t max = qp->channel->limits.max_send_sge;
	char pointer[40];

	assert_in_range(max, 2, VBD_ARRAY_LEN(spec.ranges) - 1);
	put_ranges(&scene, &spec, max + 1);
	refuse_ranges(&scene, &spec, VBD_E_OUT_OF_RANGE, "/sges");
	qp->device->attr.max_sge_rd = max - 1;
	put_ranges(&scene, &spec, max);
	refuse_ranges(&scene, &spec, VBD_E_OUT_OF_RANGE, "/sges");
	spec.ranges[max - 2].offset_bytes = 10000;
	spec.range_count = max - 1;
	(void)snprintf(pointer, sizeof(pointer), "/sges/%u/length_bytes", max - 2);
	refuse_ranges(&scene, &spec, VBD_E_RANGE_NOT_SATISFIABLE, pointer);
	spec.ranges[max - 2].offset_bytes = 9999;
	scene.here->state = VBD_BUFFER_LOST;
	refuse_ranges(&scene, &spec, VBD_E_WRONG_STATE, "/sges/1/buffer");
	scene.here->state = VBD_BUFFER_READY;
}

SVC_TEST(test_services_transfers__ranges_go_inline_but_those_in_shared_memory)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_SEND);
	struct vbd_transfer_record *record;

	put_ranges(&scene, &spec, 2);
	record = begin(&scene, &spec);
	assert_true(record->transfer.wr.inlined);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	scene.here->mem.kind = VBD_MEM_SHARED; /* of the last range only */
	record = begin(&scene, &spec);
	assert_false(record->transfer.wr.inlined);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	scene.here->mem.kind = VBD_MEM_ANONYMOUS;
	assert_true(vbd_list_empty(&scene.pair.active->conn->qp.transfers));
}

SVC_TEST(test_services_transfers__a_connection_has_one_peer)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_SEND);
	struct vbd_peer_record peer = {0};
	struct vbd_group_record group = {0};

	spec.peer = &peer;
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/ud_peer");
	spec.peer = NULL;
	spec.group = &group;
	assert_refused(&scene, &spec, VBD_E_BAD_VALUE, "/multicast_membership");
}

SVC_TEST(test_services_transfers__open_ones_are_limited)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_transfer_spec spec;
	struct vbd_error err = {0};
	struct scene scene;

	svc->config.limits.transfers = 2;
	svc_restart(svc);
	scene = make_scene(svc);
	fake_loopback(false);
	spec = spec_of(&scene, VBD_OP_WRITE);
	(void)begin(&scene, &spec);
	(void)begin(&scene, &spec);
	assert_int_equal(
		vbd_transfer_create(svc->daemon, &spec, &record, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 2);
	assert_int_equal(scene.here->users, 2);
}

SVC_TEST(test_services_transfers__without_memory_nothing_is_left)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	unsigned int nth = 0;
	bool failed;

	/* The first transfer makes the workers allocate room for the connections. */
	wait_for_end(svc, begin(&scene, &spec));
	do {
		struct vbd_transfer_record *record = NULL;
		struct vbd_error err = {0};

		fake_memory_fail_nth(++nth);
		if (vbd_transfer_create(svc->daemon, &spec, &record, &err) == VBD_OK)
			wait_for_end(svc, record);
		else
			assert_int_equal(err.status, VBD_E_NO_MEMORY);
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		assert_int_equal(scene.here->users, 0);
		assert_int_equal(svc->daemon->transfers->open, 0);
	} while (failed);
	nth = 0;
	do {
		struct vbd_transfer_record *record = NULL;
		struct vbd_error err = {0};

		fake_memory_fail_nth(++nth);
		if (svc_send_message(scene.pair.active, UNIT_BYTES(&scene.here->mem),
			    nth % 2 ? 10 : 64, NULL, 10000, &record, &err) == VBD_OK)
			wait_for_end(svc, record);
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		assert_int_equal(svc->daemon->transfers->open, 0);
		assert_int_equal(vbd_inbox_delete(&scene.pair.passive->inbox,
					 scene.pair.passive->inbox.last_seq, &svc->err),
			VBD_OK);
	} while (failed);
}

/* Several at once. */

SVC_TEST(test_services_transfers__what_is_prepared_moves_when_started)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *records[2];

	for (size_t i = 0; i < VBD_ARRAY_LEN(records); i++)
		assert_int_equal(
			vbd_transfer_prepare(svc->daemon, &spec, &records[i], &svc->err), VBD_OK);
	svc_turn(svc);
	assert_int_equal(svc->daemon->transfers->open, 2);
	assert_int_equal(scene.here->users, 2);
	assert_int_equal(records[0]->transfer.state, VBD_TRANSFER_QUEUED);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_TRANSFER_CREATED), 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(records); i++)
		vbd_transfer_start(records[i]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(records); i++) {
		wait_for_end(svc, records[i]);
		assert_int_equal(records[i]->transfer.state, VBD_TRANSFER_DONE);
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_TRANSFER_CREATED), 2);
}

SVC_TEST(test_services_transfers__what_is_freed_unstarted_leaves_nothing)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(vbd_transfer_prepare(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	vbd_transfer_free(record);
	assert_int_equal(svc->daemon->transfers->open, 0);
	assert_int_equal(scene.here->users, 0);
	assert_int_equal(scene.here->refs, 0);
	assert_int_equal(vbd_registry_count(svc->daemon->transfers), 0);
	assert_true(vbd_list_empty(&scene.pair.active->conn->qp.transfers));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_TRANSFER_CREATED), 0);
}

SVC_TEST(test_services_transfers__a_send_is_cut_into_messages)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_SEND);
	struct vbd_transfer_record *record;

	spec.length_bytes = 170;
	spec.message_bytes = 50;
	spec.tx_depth = 2;
	record = begin(&scene, &spec);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(record->transfer.tx_depth, 2);
	assert_int_equal(vbd_counter_get(&record->transfer.wrs_done), 4);
	SVC_UNTIL(svc, scene.pair.passive->inbox.last_seq == 4);
	spec.message_bytes = 500;
	spec.length_bytes = 60;
	spec.tx_depth = 16384;
	record = begin(&scene, &spec);
	assert_int_equal(record->transfer.tx_depth, scene.pair.active->conn->params.qp.sq_depth);
	assert_int_equal(vbd_inbox_delete(&scene.pair.passive->inbox, 4, &svc->err), VBD_OK);
	wait_for_end(svc, record);
	assert_int_equal(vbd_counter_get(&record->transfer.wrs_done), 1);
}

/* Stopping. */

SVC_TEST(test_services_transfers__a_cancel_ends_it)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *first, *second;
	struct vbd_error problem;

	fake_loopback(false);
	first = begin(&scene, &spec);
	second = begin(&scene, &spec);
	vbd_object_cancel(&second->object);
	vbd_object_cancel(&second->object);
	wait_for_end(svc, second);
	assert_int_equal(second->transfer.state, VBD_TRANSFER_CANCELLED);
	vbd_object_problem(&second->object, &problem);
	assert_int_equal(problem.status, VBD_E_CANCELLED);
	assert_string_equal(problem.object, "/v1/transfers/2");
	vbd_object_cancel(&second->object);
	vbd_object_cancel(&first->object);
	SVC_UNTIL(svc, fake_sends(scene.pair.active->conn->qp.ibv_qp) == 4);
	fake_sends_done(scene.pair.active->conn->qp.ibv_qp, 4);
	wait_for_end(svc, first);
	assert_int_equal(first->transfer.state, VBD_TRANSFER_CANCELLED);
	assert_int_equal(vbd_counter_get(&first->transfer.bytes_done), 4000);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_CANCELLED], 2);
	assert_int_equal(scene.pair.active->conn->state, VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_transfers__a_deadline_stops_what_waits)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *running, *waiting;
	struct vbd_error problem;

	fake_loopback(false);
	running = begin(&scene, &spec);
	spec.timeout_ms = 5;
	waiting = begin(&scene, &spec);
	wait_for_end(svc, waiting);
	assert_int_equal(waiting->transfer.state, VBD_TRANSFER_TIMED_OUT);
	vbd_object_problem(&waiting->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_TIMED_OUT], 1);
	assert_int_equal(running->transfer.state, VBD_TRANSFER_RUNNING);
	assert_int_equal(scene.pair.active->conn->state, VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_transfers__what_can_not_be_called_back_costs_the_connection)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *record;

	fake_loopback(false);
	spec.timeout_ms = 5;
	record = begin(&scene, &spec);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_CANCELLING);
	/* End the grace period at once. */
	vbd_timer_set(record->object.deadline, 0);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_TIMED_OUT);
	SVC_UNTIL(svc, scene.pair.active->object.ended);
	assert_int_equal(scene.pair.active->conn->qp.reason, VBD_REASON_TIMED_OUT);
	assert_int_equal(scene.pair.active->conn->qp.first_error.transfer, record->object.id);
}

SVC_TEST(test_services_transfers__what_has_no_place_in_flight_is_refused)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_READ);
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	scene.pair.active->conn->qp.info.initiator_depth = 0;
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.pointer, "/op");
	assert_non_null(strstr(err.hint, "responder_resources"));
	spec = spec_of(&scene, VBD_OP_WRITE);
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
}

SVC_TEST(test_services_transfers__what_the_peer_has_no_room_for_is_refused)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_SEND);
	struct vbd_transfer_record *record = NULL;
	struct vbd_error err = {0};

	scene.pair.active->conn->qp.peer_recv_size_bytes = 16;
	spec.length_bytes = 17;
	assert_int_equal(
		vbd_transfer_create(svc->daemon, &spec, &record, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "/length_bytes");
	assert_string_equal(
		err.text, "the message has 17 bytes, and each receive of the peer has 16");
	spec.length_bytes = 16;
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	wait_for_end(svc, record);
	spec = spec_of(&scene, VBD_OP_WRITE);
	spec.length_bytes = 17;
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	wait_for_end(svc, record);
}

SVC_TEST(test_services_transfers__a_message_is_no_longer_than_the_device_sends)
{
	struct scene scene = make_scene(svc);
	struct vbd_device *device = scene.pair.active->conn->qp.device;
	uint32_t max_msg_bytes = device->attr.max_msg_bytes;
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_SEND);

	device->attr.max_msg_bytes = 16;
	spec.length_bytes = 17;
	assert_refused(&scene, &spec, VBD_E_OUT_OF_RANGE, "/length_bytes");
	spec.length_bytes = 40;
	spec.message_bytes = 17;
	assert_refused(&scene, &spec, VBD_E_OUT_OF_RANGE, "/message_bytes");
	spec.message_bytes = 16;
	wait_for_end(svc, begin(&scene, &spec));
	/* A write is cut, unless it is repeated. */
	spec = spec_of(&scene, VBD_OP_WRITE);
	spec.length_bytes = 17;
	wait_for_end(svc, begin(&scene, &spec));
	spec.repeats = 2;
	assert_refused(&scene, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 2);
	device->attr.max_msg_bytes = max_msg_bytes;
}

SVC_TEST(test_services_transfers__a_cancel_that_is_not_heard_closes)
{
	struct scene scene = make_scene(svc);
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *record;

	fake_loopback(false);
	record = begin(&scene, &spec);
	vbd_object_cancel(&record->object);
	vbd_timer_set(record->object.deadline, 0);
	wait_for_end(svc, record);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_CANCELLED);
	SVC_UNTIL(svc, scene.pair.active->object.ended);
	assert_int_equal(scene.pair.active->conn->qp.reason, VBD_REASON_CANCELLED);
	assert_int_equal(scene.pair.active->conn->qp.first_error.transfer, record->object.id);
	assert_int_equal(scene.pair.active->conn->state, VBD_CONN_CLOSED);
}

/* Failing. */

SVC_TEST(test_services_transfers__a_wrong_key_fails_it_and_its_connection_only)
{
	struct scene scene = make_scene(svc);
	struct svc_pair other = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_transfer_spec spec = spec_of(&scene, VBD_OP_WRITE);
	struct vbd_transfer_record *record, *behind;
	struct vbd_error problem;

	spec.wr.rkey += 1000;
	record = begin(&scene, &spec);
	behind = begin(&scene, &spec);
	wait_for_end(svc, record);
	wait_for_end(svc, behind);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_REMOTE_ACCESS);
	assert_int_equal(record->transfer.wc_status, IBV_WC_REM_ACCESS_ERR);
	/* The transfer behind it reports the cause of the connection's end, not the flush, and not
	 * the peer's disconnect. */
	vbd_object_problem(&behind->object, &problem);
	assert_int_equal(problem.status, VBD_E_REMOTE_ACCESS);
	SVC_UNTIL(svc, scene.pair.active->object.ended && scene.pair.passive->object.ended);
	assert_int_equal(scene.pair.active->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
	assert_int_equal(scene.pair.active->conn->refusal, VBD_REFUSAL_NONE);
	assert_int_equal(scene.pair.passive->conn->refusal, VBD_REFUSAL_ASYNC_EVENT);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_SECURITY_PEER_REFUSED), 1);
	assert_int_equal(svc->daemon->peer_refusals[VBD_REFUSAL_ASYNC_EVENT], 1);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_FAILED], 2);
	assert_int_equal(other.active->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(other.passive->conn->state, VBD_CONN_ESTABLISHED);
}

/* Records. */

SVC_TEST(test_services_transfers__the_newest_records_are_kept)
{
	struct vbd_transfer_spec spec;
	uint64_t expected = 4;
	struct scene scene;

	svc->config.records.ended = 2;
	svc_restart(svc);
	scene = make_scene(svc);
	spec = spec_of(&scene, VBD_OP_WRITE);
	for (int i = 0; i < 5; i++)
		wait_for_end(svc, begin(&scene, &spec));
	svc_turn(svc);
	assert_int_equal(svc->daemon->transfers->ended.count, 2);
	vbd_registry_for_each (object, svc->daemon->transfers)
		assert_int_equal(object->id, expected++);
	assert_int_equal(expected, 6);
	vbd_object_delete(svc_find(svc->daemon->transfers, "5", &svc->err));
	svc_turn(svc);
	assert_int_equal(svc->daemon->transfers->ended.count, 1);
	assert_int_equal(svc->daemon->transfers_ended[VBD_TRANSFER_DONE], 5);
}

SVC_TEST(test_services_transfers__a_refusal_names_both_in_full)
{
	struct vbd_transfer_record *record = NULL;
	struct vbd_pd *pd = NULL, *home;
	struct vbd_error err = {0};
	struct vbd_transfer_spec spec;
	struct scene scene;

	svc->daemon->buffers->last_id = UINT64_MAX - 9;
	svc->daemon->connections->last_id = UINT64_MAX - 99;
	scene = make_scene(svc);
	spec = spec_of(&scene, VBD_OP_WRITE);
	home = scene.here->mem.pd;
	assert_int_equal(vbd_pd_create(home->device, &pd, &svc->err), VBD_OK);
	scene.here->mem.pd = pd;
	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &err), VBD_E_PD_MISMATCH);
	scene.here->mem.pd = home;
	vbd_pd_destroy(pd);
	assert_string_equal(err.text, "buffer 18446744073709551607 is in pd 0, and connection "
				      "18446744073709551517 is in the default pd of fake0");
}
