/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/windows.h"

#include "rdma/device/pd.h"
#include "tests/unit/svc.h"

#define REMOTE (VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ)

/* The passive side owns the memory, the active side accesses it. */
struct scene {
	struct svc_pair pair;
	struct vbd_buffer *target, *source;
};

static struct scene set_scene(struct svc *svc)
{
	struct scene scene = {
		.pair = svc_pair(svc, svc_listen(svc, NULL)),
		.target = svc_buffer(svc, "", 8192, VBD_ACCESS_MW_BIND),
		.source = svc_buffer(svc, "", 8192, 0),
	};

	memset(UNIT_BYTES(&scene.source->mem), 7, 8192);
	return scene;
}

static struct vbd_window_spec spec_of(const struct scene *scene, unsigned int type)
{
	return (struct vbd_window_spec){
		.buffer = scene->target,
		.connection = scene->pair.passive,
		.range = {.type = type, .offset = 4096, .length_bytes = 100, .access = REMOTE},
		.timeout_ms = 5000,
	};
}

static struct vbd_window_record *create(struct svc *svc, const struct vbd_window_spec *spec)
{
	struct vbd_window_record *record = NULL;

	assert_int_equal(vbd_window_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	return record;
}

static struct vbd_window_record *open_window(struct svc *svc, const struct vbd_window_spec *spec)
{
	struct vbd_window_record *record = create(svc, spec);

	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	return record;
}

static void assert_refused(struct svc *svc, const struct vbd_window_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_window_record *record = NULL;
	uint64_t count = vbd_registry_count(svc->daemon->windows);
	uint32_t users = spec->buffer->users;
	struct vbd_error err = {0};

	assert_int_equal(vbd_window_create(svc->daemon, spec, &record, &err), status);
	assert_null(record);
	assert_string_equal(err.pointer, pointer);
	assert_int_equal(vbd_registry_count(svc->daemon->windows), count);
	assert_int_equal(spec->buffer->users, users);
}

static enum vbd_transfer_state reach(struct svc *svc, const struct scene *scene,
	const struct vbd_window_record *window, enum vbd_op op, uint64_t skip,
	uint64_t length_bytes)
{
	const struct vbd_transfer_spec spec = {
		.qp = &scene->pair.active->conn->qp,
		.buffer = scene->source,
		.op = op,
		.length_bytes = length_bytes,
		.chunk_bytes = 4096,
		.wr.remote_addr = window->addr + skip,
		.wr.rkey = window->window.rkey,
		.timeout_ms = 5000,
	};
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	if (record->transfer.state == VBD_TRANSFER_FAILED)
		assert_int_equal(record->transfer.error.status, VBD_E_REMOTE_ACCESS);
	return record->transfer.state;
}

SVC_TEST(test_services_windows__a_peer_reaches_what_the_window_gives)
{
	for (unsigned int type = 1; type <= 2; type++) {
		struct scene scene = set_scene(svc);
		const struct vbd_window_spec spec = spec_of(&scene, type);
		const struct vbd_window_record *record = open_window(svc, &spec);

		assert_int_equal(record->addr, (uintptr_t)scene.target->mem.addr + 4096);
		assert_int_equal(
			reach(svc, &scene, record, VBD_OP_WRITE, 0, 100), VBD_TRANSFER_DONE);
		assert_int_equal(UNIT_BYTES(&scene.target->mem)[4095], 0);
		assert_int_equal(UNIT_BYTES(&scene.target->mem)[4096], 7);
		assert_int_equal(UNIT_BYTES(&scene.target->mem)[4195], 7);
		assert_int_equal(UNIT_BYTES(&scene.target->mem)[4196], 0);
		assert_int_equal(
			reach(svc, &scene, record, VBD_OP_READ, 50, 50), VBD_TRANSFER_DONE);
		assert_int_equal(
			reach(svc, &scene, record, VBD_OP_WRITE, 1, 100), VBD_TRANSFER_FAILED);
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_WINDOW_BOUND), 2);
}

SVC_TEST(test_services_windows__a_revoked_one_gives_nothing_and_others_go_on)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec spec = spec_of(&scene, 1);
	struct vbd_window_record *one = open_window(svc, &spec);
	const struct vbd_window_record *two = open_window(svc, &spec);
	const struct vbd_window_record was = *one;

	vbd_object_delete(&one->object);
	assert_int_equal(one->window.state, VBD_WINDOW_REVOKING);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->windows) == 1);
	assert_int_equal(fake_live().mws, 1);
	assert_int_equal(scene.target->users, 1);
	assert_int_equal(reach(svc, &scene, two, VBD_OP_WRITE, 0, 100), VBD_TRANSFER_DONE);
	assert_int_equal(reach(svc, &scene, &was, VBD_OP_WRITE, 0, 100), VBD_TRANSFER_FAILED);
	assert_int_equal(two->window.state, VBD_WINDOW_READY);
	assert_int_equal(svc->daemon->windows_revoked, 1);
}

SVC_TEST(test_services_windows__access_that_is_not_given_is_refused_to_peers)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);

	spec.range.access = VBD_ACCESS_REMOTE_READ;
	assert_int_equal(reach(svc, &scene, open_window(svc, &spec), VBD_OP_WRITE, 0, 1),
		VBD_TRANSFER_FAILED);
}

SVC_TEST(test_services_windows__bad_ones_are_refused_before_anything_is_made)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);

	spec.range.length_bytes = 4097;
	assert_refused(svc, &spec, VBD_E_RANGE_NOT_SATISFIABLE, "/size_bytes");
	spec = spec_of(&scene, 2);
	spec.buffer = scene.source;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/buffer");
	spec = spec_of(&scene, 2);
	spec.connection = NULL;
	assert_refused(svc, &spec, VBD_E_MISSING_FIELD, "/connection");
	spec = spec_of(&scene, 1);
	(void)snprintf(spec.name, sizeof(spec.name), "mine");
	(void)open_window(svc, &spec);
	assert_refused(svc, &spec, VBD_E_NAME_TAKEN, "/name");
	fake_fail_next("ibv_alloc_mw", ENOMEM);
	spec.name[0] = '\0';
	assert_refused(svc, &spec, VBD_E_DEVICE_LIMIT, "");
	svc_close(svc, scene.pair.active);
	SVC_UNTIL(svc, scene.pair.passive->object.ended);
	assert_refused(svc, &spec, VBD_E_WRONG_STATE, "/connection");
	spec.connection = NULL;
	assert_refused(svc, &spec, VBD_E_WRONG_STATE, "");
}

SVC_TEST(test_services_windows__a_buffer_that_is_lost_or_elsewhere_is_refused)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);
	struct vbd_buffer_spec buffer_spec = {
		.size_bytes = 8192, .access = VBD_ACCESS_MW_BIND, .device_name = "fake1"};

	scene.target->state = VBD_BUFFER_LOST;
	assert_refused(svc, &spec, VBD_E_WRONG_STATE, "/buffer");
	scene.target->state = VBD_BUFFER_READY;
	(void)fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(
		vbd_buffer_create(svc->daemon, &buffer_spec, &spec.buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, spec.buffer->state == VBD_BUFFER_READY);
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/buffer");
	/* No connection is on that device. */
	spec.connection = NULL;
	spec.range.type = 1;
	assert_refused(svc, &spec, VBD_E_WRONG_STATE, "");
}

SVC_TEST(test_services_windows__one_that_was_revoked_says_so)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec spec = spec_of(&scene, 1);
	struct vbd_window_record *record = open_window(svc, &spec);
	struct vbd_error problem;

	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_CANCELLED);
	assert_string_equal(problem.object, "/v1/windows/1");
	record->error.status = VBD_E_TIMED_OUT;
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
}

SVC_TEST(test_services_windows__their_buffer_stays_and_names_them)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec spec = spec_of(&scene, 2);
	struct vbd_window_record *record = open_window(svc, &spec);
	struct vbd_error err = {0};
	struct vbd_users users;

	assert_int_equal(vbd_buffer_delete(scene.target, &err), VBD_E_IN_USE);
	vbd_buffer_users_of(scene.target, NULL, &users);
	assert_int_equal(users.total, 1);
	assert_string_equal(users.paths[0], "/v1/windows/1");
	vbd_object_delete(&record->object);
	SVC_UNTIL(svc, scene.target->users == 0);
	assert_int_equal(vbd_buffer_delete(scene.target, &svc->err), VBD_OK);
}

SVC_TEST(test_services_windows__what_the_device_can_not_is_refused)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");

	device->caps = ~(1ULL << VBD_CAP_MW_TYPE_2);
	assert_refused(svc, &spec, VBD_E_NOT_SUPPORTED, "");
	device->caps = ~(1ULL << VBD_CAP_MW_TYPE_1);
	spec.range.type = 1;
	assert_refused(svc, &spec, VBD_E_NOT_SUPPORTED, "");
	device->caps = ~(1ULL << VBD_CAP_ATOMICS);
	spec.range.access = VBD_ACCESS_REMOTE_ATOMIC;
	assert_refused(svc, &spec, VBD_E_NOT_SUPPORTED, "");
	device->caps = UINT64_MAX;
	(void)open_window(svc, &spec);
}

SVC_TEST(test_services_windows__memory_of_another_pd_is_refused)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);
	struct vbd_pd *pd = NULL, *home = scene.target->mem.pd;

	assert_int_equal(vbd_pd_create(home->device, &pd, &svc->err), VBD_OK);
	scene.target->mem.pd = pd;
	assert_refused(svc, &spec, VBD_E_PD_MISMATCH, "");
	/* A connection in another protection domain can't bind the window either. */
	spec = spec_of(&scene, 1);
	spec.connection = NULL;
	assert_refused(svc, &spec, VBD_E_WRONG_STATE, "");
	scene.target->mem.pd = home;
	vbd_pd_destroy(pd);
}

SVC_TEST(test_services_windows__a_refusal_names_both_in_full)
{
	struct vbd_window_record *record = NULL;
	struct vbd_pd *pd = NULL, *home;
	struct vbd_error err = {0};
	struct vbd_window_spec spec;
	struct scene scene;

	svc->daemon->buffers->last_id = UINT64_MAX - 9;
	svc->daemon->connections->last_id = UINT64_MAX - 99;
	scene = set_scene(svc);
	spec = spec_of(&scene, 2);
	home = scene.target->mem.pd;
	assert_int_equal(vbd_pd_create(home->device, &pd, &svc->err), VBD_OK);
	scene.target->mem.pd = pd;
	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &err), VBD_E_PD_MISMATCH);
	scene.target->mem.pd = home;
	vbd_pd_destroy(pd);
	assert_string_equal(err.text, "buffer 18446744073709551607 is in pd 0, and connection "
				      "18446744073709551518 is in the default pd of fake0");
}

/* Devices that check a window only against its memory region. */

SVC_TEST(test_services_windows__a_part_gets_a_region_of_its_own_on_rxe)
{
	struct scene scene;
	struct vbd_window_spec spec;
	struct vbd_window_record *record;
	unsigned int mrs;

	svc->device->attr.vendor_id = VBD_VENDOR_RXE;
	svc_restart(svc);
	scene = set_scene(svc);
	spec = spec_of(&scene, 2);
	mrs = fake_live().mrs;
	record = open_window(svc, &spec);
	assert_int_equal(fake_live().mrs, mrs + 1);
	assert_ptr_equal(record->window.mr->addr, UNIT_BYTES(&scene.target->mem) + 4096);
	assert_int_equal(record->window.mr->length, 100);
	assert_int_equal(reach(svc, &scene, record, VBD_OP_WRITE, 0, 100), VBD_TRANSFER_DONE);
	vbd_object_delete(&record->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->windows) == 0);
	assert_int_equal(fake_live().mrs, mrs);
	assert_int_equal(scene.target->users, 0);
	/* A window on the whole buffer needs no region of its own. */
	spec.range.offset = 0;
	spec.range.length_bytes = 8192;
	(void)open_window(svc, &spec);
	assert_int_equal(fake_live().mrs, mrs);
	/* A failure is reported. */
	spec.range.length_bytes = 1;
	fake_fail_next("ibv_reg_mr", EAGAIN);
	record = create(svc, &spec);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_FAILED);
	assert_int_equal(record->error.status, VBD_E_DEVICE_LIMIT);
	SVC_UNTIL(svc, scene.target->users == 1);
}

SVC_TEST(test_services_windows__an_end_meets_a_region_on_its_way)
{
	struct vbd_window_record *record;
	struct vbd_window_spec spec;
	struct scene scene;

	svc->device->attr.vendor_id = VBD_VENDOR_RXE;
	svc_restart(svc);
	scene = set_scene(svc);
	spec = spec_of(&scene, 2);
	vbd_object_delete(&create(svc, &spec)->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->windows) == 0);
	record = create(svc, &spec);
	vbd_connection_close(scene.pair.passive);
	SVC_UNTIL(svc, scene.target->users == 0);
	assert_int_equal(record->window.state, VBD_WINDOW_REVOKED);
	assert_int_equal(record->error.status, VBD_E_LOCAL_CLOSE);
	scene.pair = svc_pair(svc, svc_listen(svc, NULL));
	spec.connection = scene.pair.passive;
	(void)create(svc, &spec);
	(void)open_window(svc, &spec);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
}

/* Endings without a request. */

SVC_TEST(test_services_windows__a_connection_takes_type_2_with_it)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec one = spec_of(&scene, 1), two = spec_of(&scene, 2);
	struct vbd_window_record *stays = open_window(svc, &one);
	const struct vbd_window_record *goes = open_window(svc, &two);

	svc_close(svc, scene.pair.active);
	SVC_UNTIL(svc, scene.pair.passive->object.ended);
	assert_int_equal(goes->window.state, VBD_WINDOW_REVOKED);
	assert_int_equal(goes->error.status, VBD_E_PEER_DISCONNECT);
	assert_int_equal(goes->connection_id, scene.pair.passive->object.id);
	assert_null(goes->buffer);
	assert_int_equal(stays->window.state, VBD_WINDOW_READY);
	assert_int_equal(scene.target->users, 1);
	/* No connection is left to revoke the window. */
	vbd_object_delete(&stays->object);
	assert_int_equal(fake_live().mws, 0);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->windows), 1);
}

SVC_TEST(test_services_windows__another_connection_carries_a_revocation)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 1);
	struct vbd_window_record *record;
	struct svc_pair other;

	spec.connection = NULL;
	record = open_window(svc, &spec);
	assert_int_equal(record->connection_id, 0);
	other = svc_pair(svc, svc_listen(svc, NULL));
	svc_close(svc, scene.pair.active);
	SVC_UNTIL(svc, scene.pair.passive->object.ended);
	assert_int_equal(record->window.state, VBD_WINDOW_READY);
	vbd_object_delete(&record->object);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->windows) == 0);
	assert_int_equal(vbd_counter_get(&vbd_qp_op_counters(
				 &other.active->conn->qp, VBD_OP_INVALIDATE_WINDOW)
						  ->completed) +
				 vbd_counter_get(&vbd_qp_op_counters(
					 &other.passive->conn->qp, VBD_OP_INVALIDATE_WINDOW)
							  ->completed),
		1);
}

SVC_TEST(test_services_windows__a_bind_ends_with_its_connection)
{
	for (unsigned int type = 1; type <= 2; type++) {
		struct scene scene = set_scene(svc);
		const struct vbd_window_spec spec = spec_of(&scene, type);
		const struct vbd_window_record *record;

		fake_loopback(false);
		record = create(svc, &spec);
		SVC_UNTIL(svc, fake_sends(scene.pair.passive->conn->qp.ibv_qp) == 1);
		vbd_connection_close(scene.pair.passive);
		SVC_UNTIL(svc, vbd_window_state_ended(record->window.state));
		assert_int_equal(record->error.status, VBD_E_LOCAL_CLOSE);
		assert_int_equal(scene.target->users, 0);
		fake_loopback(true);
		vbd_connection_close(scene.pair.active);
		SVC_UNTIL(svc, scene.pair.active->object.ended && scene.pair.passive->object.ended);
	}
	assert_int_equal(svc->daemon->windows_failed + svc->daemon->windows_revoked, 2);
}

SVC_TEST(test_services_windows__a_deadline_ends_a_bind_that_does_not_come_back)
{
	struct scene scene = set_scene(svc);
	struct vbd_window_spec spec = spec_of(&scene, 2);
	const struct vbd_window_record *record;

	spec.timeout_ms = 1;
	fake_loopback(false);
	record = create(svc, &spec);
	/* The connection has some time more, since the bind may have been done. */
	SVC_UNTIL(svc, record->late);
	assert_int_equal(scene.pair.passive->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(record->error.source, VBD_SOURCE_DEADLINE);
	vbd_timer_set(record->object.deadline, 0);
	SVC_UNTIL(svc, vbd_window_state_ended(record->window.state));
	assert_int_equal(record->error.status, VBD_E_TIMED_OUT);
	SVC_UNTIL(svc, scene.pair.passive->object.ended);
	assert_int_equal(scene.pair.passive->conn->qp.reason, VBD_REASON_TIMED_OUT);
	fake_loopback(true);
}

SVC_TEST(test_services_windows__a_device_that_goes_takes_them_with_it)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec one = spec_of(&scene, 1), two = spec_of(&scene, 2);
	const struct vbd_window_record *first = open_window(svc, &one);
	const struct vbd_window_record *second = open_window(svc, &two);

	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(first->window.state, VBD_WINDOW_REVOKED);
	assert_int_equal(first->error.status, VBD_E_DEVICE_REMOVED);
	assert_int_equal(second->window.state, VBD_WINDOW_REVOKED);
	assert_int_equal(second->error.status, VBD_E_DEVICE_REMOVED);
	assert_int_equal(scene.target->state, VBD_BUFFER_LOST);
}

SVC_TEST(test_services_windows__a_daemon_that_stops_takes_them_down)
{
	struct scene scene = set_scene(svc);
	const struct vbd_window_spec one = spec_of(&scene, 1), two = spec_of(&scene, 2);

	(void)open_window(svc, &one);
	(void)open_window(svc, &two);
	(void)create(svc, &one);
	(void)create(svc, &two);
	svc_stop(svc);
	assert_int_equal(fake_live_total(), 0);
}

SVC_TEST(test_services_windows__ended_windows_make_room)
{
	struct vbd_window_spec spec;
	struct scene scene;

	svc->config.limits.objects = 2;
	svc_restart(svc);
	scene = set_scene(svc);
	spec = spec_of(&scene, 2);
	(void)snprintf(spec.name, sizeof(spec.name), "mine");
	(void)open_window(svc, &spec);
	spec.name[0] = '\0';
	(void)open_window(svc, &spec);
	assert_refused(svc, &spec, VBD_E_LIMIT_REACHED, "");
	svc_close(svc, scene.pair.active);
	SVC_UNTIL(svc, scene.pair.passive->object.ended);
	assert_int_equal(vbd_registry_count(svc->daemon->windows), 2);
	scene.pair = svc_pair(svc, svc_listen(svc, NULL));
	spec.connection = scene.pair.passive;
	(void)snprintf(spec.name, sizeof(spec.name), "mine");
	(void)open_window(svc, &spec);
	assert_int_equal(vbd_registry_count(svc->daemon->windows), 2);
	assert_non_null(svc_find(svc->daemon->windows, "mine", &svc->err));
	assert_null(svc_find(svc->daemon->windows, "1", NULL));
}
