/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/fabric.h"
#include "rdma/fabric/fabric_parts.h"

#include "rdma/data/srq.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/shared.h"
#include "tests/unit/rig.h"

static unsigned int device_count(const struct rig *rig)
{
	unsigned int count = 0;

	vbd_list_for_each (link, &rig->fabric->devices)
		count++;
	return count;
}

/* Scanning for devices. */

RIG_TEST(test_fabric__a_rescan_adds_and_removes)
{
	struct fake_device *second = fake_device_add("fake1");
	struct vbd_device *first, *other;

	assert_int_equal(rig->added, 1);
	unit_rescan(rig->fabric);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->added, 2);
	first = vbd_fabric_device(rig->fabric, "fake0");
	other = vbd_fabric_device(rig->fabric, "fake1");
	assert_non_null(first);
	assert_non_null(other);
	assert_true(first->id < other->id);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removing, 1);
	rig_finish_calls(rig);
	assert_int_equal(rig->removed, 1);
	assert_null(vbd_fabric_device(rig->fabric, "fake0"));
	assert_non_null(vbd_fabric_device(rig->fabric, "fake1"));
	assert_true(fake_device_let_go(rig->device));
	fake_device_unplug(second);
	unit_rescan(rig->fabric);
	rig_finish_calls(rig);
	assert_int_equal(rig->removed, 2);
	assert_int_equal(device_count(rig), 2);
}

RIG_TEST(test_fabric__a_device_that_comes_back_is_a_new_one)
{
	const struct vbd_device *old = vbd_fabric_device(rig->fabric, "fake0");
	const struct vbd_device *fresh;

	/* The device went and came back between two scans: only the uverbs number shows it. */
	fake_device_unplug(rig->device);
	rig->device = fake_device_add("fake0");
	unit_rescan(rig->fabric);
	rig_finish_calls(rig);
	assert_true(rig->fabric->rescan_owed);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removed, 1);
	assert_int_equal(rig->added, 2);
	fresh = vbd_fabric_device(rig->fabric, "fake0");
	assert_ptr_not_equal(fresh, old);
	assert_int_equal(old->state, VBD_DEVICE_REMOVED);
	assert_int_equal(fresh->id, old->id + 1);
	assert_string_equal(fresh->uverbs_name, "uverbs1");
}

RIG_TEST(test_fabric__a_device_that_is_busy_comes_back_when_it_is_free)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	fake_device_unplug(rig->device);
	rig->device = fake_device_add("fake0");
	unit_rescan(rig->fabric);
	assert_int_equal(rig->added, 1);
	assert_int_equal(vbd_fabric_device(rig->fabric, "fake0")->state, VBD_DEVICE_REMOVING);
	rig_deadline(rc);
	assert_int_equal(rig->removed, 1);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->added, 2);
	assert_int_equal(vbd_fabric_device(rig->fabric, "fake0")->state, VBD_DEVICE_PRESENT);
}

RIG_TEST(test_fabric__a_device_that_could_not_be_opened_is_tried_again)
{
	struct fake_device *late = fake_device_add("fake1");

	late->open_errno = EACCES;
	unit_rescan(rig->fabric);
	assert_int_equal(rig->added, 2);
	assert_null(vbd_fabric_device(rig->fabric, "fake1"));
	late->open_errno = 0;
	unit_rescan(rig->fabric);
	assert_non_null(vbd_fabric_device(rig->fabric, "fake1"));
	/* A failed device is removed as well. */
	rig->free_removed = true;
	rig_settle(rig);
	assert_int_equal(device_count(rig), 2);
}

RIG_TEST(test_fabric__a_list_that_can_not_be_had_removes_nothing)
{
	fake_fail_next("ibv_get_device_list", EMFILE);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removing, 0);
	fake_memory_fail_nth(1);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removing, 0);
	assert_non_null(vbd_fabric_device(rig->fabric, "fake0"));
}

static void port_goes_down(struct rig *rig, struct fake_device *fake, const char *name)
{
	fake->port.state = IBV_PORT_DOWN;
	fake_device_async(fake, IBV_EVENT_PORT_ERR, 1);
	vbd_device_drain_async(vbd_fabric_device(rig->fabric, name));
}

RIG_TEST(test_fabric__the_default_device_has_an_active_port)
{
	struct fake_device *second = fake_device_add("fake1");

	unit_rescan(rig->fabric);
	assert_string_equal(vbd_fabric_default_device(rig->fabric)->name, "fake0");
	port_goes_down(rig, rig->device, "fake0");
	assert_string_equal(vbd_fabric_default_device(rig->fabric)->name, "fake1");
	port_goes_down(rig, second, "fake1");
	assert_string_equal(vbd_fabric_default_device(rig->fabric)->name, "fake0");
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_string_equal(vbd_fabric_default_device(rig->fabric)->name, "fake1");
	fake_device_unplug(second);
	unit_rescan(rig->fabric);
	assert_null(vbd_fabric_default_device(rig->fabric));
}

/* All signs of a removed device. */

enum sign {
	BY_CM,
	BY_ASYNC,
	BY_UEVENT,
	BY_RESCAN,
	SIGNS,
};

static void give_sign(struct rig *rig, enum sign sign)
{
	switch (sign) {
	case BY_CM:
		fake_device_cm_removal(rig->device);
		break;
	case BY_ASYNC:
		fake_device_async(rig->device, IBV_EVENT_DEVICE_FATAL, 0);
		break;
	case BY_UEVENT:
		vbd_fabric_remove_uverbs(rig->fabric, rig->device->ibv.dev_name);
		break;
	case BY_RESCAN:
		fake_device_unplug(rig->device);
		unit_rescan(rig->fabric);
		break;
	case SIGNS:
		break;
	}
}

/* Two connections and a buffer on the device, then the signs. @settled: each sign is handled before
 * the next one. */
static void remove_by(struct rig *rig, const enum sign *signs, size_t count, bool settled)
{
	struct rig_conn *one = rig_conn_connect(rig, NULL);
	struct rig_conn *two = rig_conn_in(rig, VBD_CONN_REQUESTED);
	unsigned int before = rig->removed;

	for (size_t i = 0; i < count; i++) {
		give_sign(rig, signs[i]);
		if (settled)
			rig_settle(rig);
	}
	rig_settle(rig);
	assert_int_equal(one->conn->qp.reason, VBD_REASON_DEVICE_REMOVED);
	assert_int_equal(two->conn->qp.reason, VBD_REASON_DEVICE_REMOVED);
	rig_assert_gone(one);
	rig_assert_gone(two);
	assert_int_equal(rig->removing, before + 1);
	assert_int_equal(rig->removed, before + 1);
	assert_true(fake_device_let_go(rig->device));
	assert_int_equal(fake_live().contexts, 0);
	assert_true(vbd_list_empty(&rig->fabric->cqs));
	fake_device_unplug(rig->device);
	rig->device = fake_device_add("fake0");
	unit_rescan(rig->fabric);
}

RIG_TEST(test_fabric__each_sign_alone_removes_a_device)
{
	for (unsigned int i = 0; i < SIGNS; i++)
		remove_by(rig, (const enum sign[]){(enum sign)i}, 1, true);
}

RIG_TEST(test_fabric__the_signs_may_come_in_any_order)
{
	for (unsigned int a = 0; a < SIGNS; a++) {
		for (unsigned int b = 0; b < SIGNS; b++) {
			for (unsigned int c = 0; c < SIGNS; c++) {
				const enum sign signs[] = {
					(enum sign)a, (enum sign)b, (enum sign)c};

				remove_by(rig, signs, 3, a % 2 == 0);
				/* The room of a rig for connections is limited. */
				if (rig->conn_count > RIG_CONNS - 4) {
					rig_stop(rig);
					assert_true(rig_start(rig, 1));
					rig->removing = 0;
					rig->removed = 0;
				}
			}
		}
	}
}

RIG_TEST(test_fabric__another_devices_sign_does_no_harm)
{
	struct fake_device *second = fake_device_add("fake1");
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	unit_rescan(rig->fabric);
	fake_device_async(second, IBV_EVENT_DEVICE_FATAL, 0);
	vbd_fabric_remove_uverbs(rig->fabric, "uverbs17");
	rig_settle(rig);
	assert_int_equal(rig->removed, 1);
	assert_null(vbd_fabric_device(rig->fabric, "fake1"));
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_true(fake_device_let_go(second));
}

RIG_TEST(test_fabric__a_device_with_flushes_withheld_goes_all_the_same)
{
	struct rig_conn *one = rig_conn_connect(rig, NULL);
	struct rig_conn *two = rig_conn_connect(rig, NULL);

	fake_flushes_withheld(true);
	fake_device_cm_removal(rig->device);
	rig_settle(rig);
	assert_int_equal(rig->removed, 0);
	rig_deadline(one);
	assert_int_equal(rig->removed, 0);
	rig_deadline(two);
	assert_int_equal(rig->removed, 1);
	assert_true(fake_device_let_go(rig->device));
}

RIG_TEST(test_fabric__memory_holds_a_device_until_it_goes)
{
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);

	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removing, 1);
	assert_int_equal(rig->removed, 0);
	assert_int_equal(UNIT_BYTES(mem)[0], 0);
	vbd_mem_deregister(mem);
	rig_finish_calls(rig);
	assert_int_equal(rig->removed, 1);
	assert_true(fake_device_let_go(rig->device));
}

/* CM events. */

RIG_TEST(test_fabric__cm_events_are_counted_by_type)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&rig->fabric->cm_events[RDMA_CM_EVENT_ADDR_CHANGE]), 2);
	assert_int_equal(vbd_counter_get(&rig->fabric->cm_events[RDMA_CM_EVENT_ADDR_RESOLVED]), 1);
}

RIG_TEST(test_fabric__cm_events_of_no_known_type_are_counted_together)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_cm_event(rc->conn->cm_id, (enum rdma_cm_event_type)16, 0);
	fake_cm_event(rc->conn->cm_id, (enum rdma_cm_event_type)77, 0);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&rig->fabric->cm_events[VBD_CM_EVENT_TYPES - 1]), 2);
}

RIG_TEST(test_fabric__a_flood_of_events_leaves_the_loop_its_turn)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_counter *counter = &rig->fabric->cm_events[RDMA_CM_EVENT_ADDR_CHANGE];

	for (int i = 0; i < 1000; i++)
		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	assert_in_range(vbd_counter_get(counter), 1, 999);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(counter), 1000);
}

RIG_TEST(test_fabric__a_flood_of_notifications_leaves_the_loop_its_turn)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *conns[6];
	unsigned int messages = 0;

	params.qp.rq_depth = 60;
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		conns[i] = rig_conn_connect(rig, &params);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++) {
		for (int k = 0; k < 60; k++)
			fake_recv_done(conns[i]->conn->qp.ibv_qp, "x", 1);
	}
	while (rig_turn_workers(rig))
		;
	vbd_fabric_dispatch_control(rig->fabric);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		messages += conns[i]->message_count;
	assert_in_range(messages, 1, 359);
	rig_settle(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		assert_int_equal(conns[i]->message_count, 60);
}

/* Workers. */

TWO_WORKERS_TEST(test_fabric__workers_take_turns)
{
	struct rig_conn *conns[6];
	unsigned int of_first = 0;

	assert_int_equal(rig->fabric->worker_count, 2);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++) {
		conns[i] = rig_conn_connect(rig, NULL);
		assert_int_equal(conns[i]->conn->state, VBD_CONN_ESTABLISHED);
		of_first += conns[i]->conn->qp.channel->worker == rig->fabric->workers[0];
		fake_recv_done(conns[i]->conn->qp.ibv_qp, "x", 1);
	}
	assert_int_equal(of_first, 3);
	assert_int_equal(fake_live().cqs, 2);
	rig_settle(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		assert_int_equal(conns[i]->message_count, 1);
}

TWO_WORKERS_TEST(test_fabric__the_worker_with_the_fewest_connections_gets_the_next)
{
	struct rig_conn *conns[6];

	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		conns[i] = rig_conn_connect(rig, NULL);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++) {
		if (conns[i]->conn->qp.channel->worker == rig->fabric->workers[1])
			rig_close(conns[i]);
	}
	rig_finish_calls(rig);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(rig_conn_connect(rig, NULL)->conn->qp.channel->worker,
			rig->fabric->workers[1]);
}

static unsigned int count_cqs(const struct rig *rig, const struct vbd_device *device)
{
	unsigned int count = 0;

	vbd_list_for_each (link, &rig->fabric->cqs)
		count += VBD_CONTAINER_OF(link, struct vbd_cq, link)->device == device;
	return count;
}

/* A CQ that a client asked for makes no other one spare, nor does one of another worker or device.
 */
TWO_WORKERS_TEST(test_fabric__each_worker_keeps_a_cq_of_each_device)
{
	struct vbd_fabric *fabric = rig->fabric;
	const uint32_t cqe = fabric->default_cqe;
	struct vbd_device *devices[2];
	struct vbd_cq *asked_for[2], *cqs[2][4];

	(void)fake_device_add("fake1");
	unit_rescan(fabric);
	devices[0] = vbd_fabric_device(fabric, "fake0");
	devices[1] = vbd_fabric_device(fabric, "fake1");
	for (size_t d = 0; d < 2; d++) {
		assert_int_equal(
			vbd_fabric_make_cq(fabric, devices[d], 16, &asked_for[d], &rig->err),
			VBD_OK);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(
				vbd_fabric_admit_on(fabric, devices[d], fabric->workers[i % 2], cqe,
					&cqs[d][i], &rig->err),
				VBD_OK);
		assert_int_equal(count_cqs(rig, devices[d]), 5);
	}
	for (size_t d = 0; d < 2; d++) {
		for (size_t i = 0; i < 4; i++)
			vbd_cq_release(cqs[d][i], cqe);
		vbd_fabric_release_device(fabric, devices[d]);
		rig_settle(rig);
		assert_int_equal(count_cqs(rig, devices[d]), 3);
		assert_int_equal(count_cqs(rig, devices[1 - d]), d == 0 ? 5 : 3);
	}
	/* The older one stays. */
	for (size_t d = 0; d < 2; d++) {
		for (size_t i = 0; i < 2; i++) {
			struct vbd_cq *cq;

			assert_int_equal(vbd_fabric_admit_on(fabric, devices[d], fabric->workers[i],
						 cqe, &cq, &rig->err),
				VBD_OK);
			assert_ptr_equal(cq, cqs[d][i]);
			vbd_cq_release(cq, cqe);
		}
	}
	for (size_t d = 0; d < 2; d++)
		vbd_fabric_delete_cq(fabric, asked_for[d]);
	rig_settle(rig);
}

/* A CQ that was made because the first was full is destroyed with its connections. */
RIG_TEST(test_fabric__a_cq_that_is_not_needed_any_more_goes)
{
	struct vbd_cq *cqs[3];
	struct vbd_error err = {0};
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	const uint32_t cqe = rig->fabric->default_cqe;

	for (size_t i = 0; i < VBD_ARRAY_LEN(cqs); i++)
		assert_int_equal(vbd_fabric_admit(rig->fabric, device, cqe, &cqs[i], &err), VBD_OK);
	assert_int_equal(fake_live().cqs, 3);
	vbd_cq_release(cqs[2], cqe);
	vbd_fabric_release_device(rig->fabric, device);
	rig_settle(rig);
	assert_int_equal(fake_live().cqs, 2);
	vbd_cq_release(cqs[0], cqe);
	vbd_cq_release(cqs[1], cqe);
	vbd_fabric_release_device(rig->fabric, device);
	rig_settle(rig);
	assert_int_equal(fake_live().cqs, 1);
	assert_ptr_equal(VBD_CONTAINER_OF(rig->fabric->cqs.next, struct vbd_cq, link), cqs[0]);
}

RIG_TEST(test_fabric__a_failed_creation_leaves_nothing)
{
	static const struct vbd_fabric_ops no_ops;
	unsigned int nth = 0;
	bool failed;

	rig_stop(rig);
	do {
		struct vbd_fabric *fabric = NULL;
		struct vbd_error err = {0};

		fake_memory_fail_nth(++nth);
		if (vbd_fabric_create(3, 16, 1000, &no_ops, NULL, &fabric, &err) != VBD_OK) {
			assert_null(fabric);
			assert_int_equal(err.status, VBD_E_NO_MEMORY);
		}
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		vbd_fabric_destroy(fabric);
		assert_int_equal(fake_live_total(), 0);
	} while (failed);
	/* The fabric, its list, three workers with their counts of probes and chains of sends, the
	 * call threads. */
	assert_int_equal(nth, 13);
}

/* Objects that are made on request. */

static void assert_cq_refused(const struct vbd_device *device, uint32_t depth_cqe,
	const struct vbd_cq_moderation *how, const char *param, const char *text)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_fabric_check_cq(device, depth_cqe, how, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.param, param);
	assert_string_equal(err.text, text);
}

RIG_TEST(test_fabric__a_cq_keeps_to_the_limits_of_its_device)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_cq_moderation how = {.count = 10, .period_us = 20};
	struct vbd_error err = {0};

	device->attr.max_cqe = 100;
	device->attr.max_cq_count = 10;
	device->attr.max_cq_period_us = 20;
	assert_int_equal(vbd_fabric_check_cq(device, 100, &how, &err), VBD_OK);
	assert_int_equal(vbd_fabric_check_cq(device, 100, NULL, &err), VBD_OK);
	assert_cq_refused(
		device, 101, NULL, "cqe", "a completion queue of device fake0 holds 100 at most");
	how.count = 11;
	assert_cq_refused(
		device, 100, &how, "moderation_count", "device fake0 allows a count of 10 at most");
	how = (struct vbd_cq_moderation){.period_us = 21};
	assert_cq_refused(device, 100, &how, "moderation_period_us",
		"device fake0 allows a period of 20 us at most");
	device->attr.max_cqe = 0; /* unknown */
	how = (struct vbd_cq_moderation){.count = 1};
	assert_int_equal(vbd_fabric_check_cq(device, 1 << 30, &how, &err), VBD_OK);
	device->caps = 0;
	assert_int_equal(vbd_fabric_check_cq(device, 16, &how, &err), VBD_E_NOT_SUPPORTED);
	how = (struct vbd_cq_moderation){0};
	assert_int_equal(vbd_fabric_check_cq(device, 16, &how, NULL), VBD_OK);
	how = (struct vbd_cq_moderation){.period_us = 1};
	assert_int_equal(vbd_fabric_check_cq(device, 16, &how, NULL), VBD_E_NOT_SUPPORTED);
}

RIG_TEST(test_fabric__a_cq_that_was_asked_for_has_room_up_to_its_end)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_error err = {0};
	struct vbd_cq *cq;

	assert_int_equal(vbd_fabric_make_cq(rig->fabric, device, 16, &cq, &rig->err), VBD_OK);
	assert_true(cq->asked_for);
	assert_ptr_equal(vbd_fabric_cq(rig->fabric, cq->id), cq);
	assert_null(vbd_fabric_cq(rig->fabric, cq->id + 1));
	assert_int_equal(vbd_fabric_admit_in(cq, 10, &err), VBD_OK);
	assert_int_equal(vbd_fabric_admit_in(cq, 7, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 16);
	assert_string_equal(
		err.text, "cq 1 holds 16 completions and has 10 reserved: no room for 7 more");
	assert_int_equal(vbd_fabric_admit_in(cq, 6, &rig->err), VBD_OK);
	assert_int_equal(cq->reserved_cqe, 16);
	assert_int_equal(cq->connections, 2);
	err = (struct vbd_error){0};
	assert_int_equal(vbd_fabric_resize_cq(cq, 15, &err), VBD_E_IN_USE);
	assert_string_equal(
		err.text, "cq 1 has 16 completions reserved and can't be smaller than that");
	assert_int_equal(vbd_fabric_resize_cq(cq, 16, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_resize_cq(cq, 64, &rig->err), VBD_OK);
	assert_int_equal(cq->capacity_cqe, 64);
	vbd_cq_release(cq, 10);
	vbd_cq_release(cq, 6);
	cq->failed = true;
	err = (struct vbd_error){0};
	assert_int_equal(vbd_fabric_admit_in(cq, 1, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.text, "the device has given up cq 1; create another one");
	cq->failed = false;
	vbd_fabric_delete_cq(rig->fabric, cq);
	assert_null(vbd_fabric_cq(rig->fabric, cq->id));
	rig_settle(rig);
}

RIG_TEST(test_fabric__cqs_are_summed_up_by_device)
{
	struct fake_device *second = fake_device_add("fake1");
	struct vbd_cq_totals totals, all;
	struct vbd_device *one, *two;
	struct vbd_cq *cqs[3];

	unit_rescan(rig->fabric);
	one = vbd_fabric_device(rig->fabric, "fake0");
	two = vbd_fabric_device(rig->fabric, "fake1");
	assert_int_equal(vbd_fabric_make_cq(rig->fabric, one, 16, &cqs[0], &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_make_cq(rig->fabric, one, 32, &cqs[1], &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_make_cq(rig->fabric, two, 64, &cqs[2], &rig->err), VBD_OK);
	rig_settle(rig);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(cqs); i++) {
		cqs[i]->reserved_cqe = 1 + i;
		vbd_counter_set(&cqs[i]->outstanding, 10 + i);
		vbd_counter_set(&cqs[i]->high_water, 22 - i);
		vbd_counter_set(&cqs[i]->completions, 100 + i);
		vbd_counter_set(&cqs[i]->error_completions, 50 + i);
	}
	one->ended_cq_completions = 1000;
	one->ended_cq_error_completions = 2000;
	two->ended_cq_completions = 3000;
	two->ended_cq_error_completions = 4000;
	vbd_fabric_cq_totals(rig->fabric, one, &totals);
	assert_int_equal(totals.outstanding_cqe, 21);
	assert_int_equal(totals.reserved_cqe, 3);
	assert_int_equal(totals.capacity_cqe, 48);
	assert_int_equal(totals.completions, 1201);
	assert_int_equal(totals.error_completions, 2101);
	assert_int_equal(totals.high_water_cqe, 22);
	vbd_fabric_cq_totals(rig->fabric, two, &totals);
	assert_int_equal(totals.completions, 3102);
	assert_int_equal(totals.high_water_cqe, 20);
	vbd_fabric_cq_totals(rig->fabric, NULL, &all);
	assert_int_equal(all.outstanding_cqe, 33);
	assert_int_equal(all.capacity_cqe, 112);
	assert_int_equal(all.completions, 4303);
	assert_int_equal(all.error_completions, 6153);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(cqs); i++) {
		cqs[i]->reserved_cqe = 0;
		vbd_fabric_delete_cq(rig->fabric, cqs[i]);
	}
	rig_settle(rig);
	/* Their counts stay with their device. */
	vbd_fabric_cq_totals(rig->fabric, NULL, &totals);
	assert_int_equal(totals.completions, all.completions);
	assert_int_equal(totals.error_completions, all.error_completions);
	(void)second;
}

RIG_TEST(test_fabric__an_srq_is_as_deep_as_device_and_cq_allow)
{
	struct fake_device *second = fake_device_add("fake1");
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_srq_params params = {.depth = 9, .recv_size_bytes = 64};
	struct vbd_error err = {0};
	struct vbd_srq *srq = NULL;
	struct vbd_cq *cq;

	device->attr.max_srq_wr = 8;
	assert_int_equal(
		vbd_fabric_plan_srq(device->pd, NULL, &params, &srq, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.param, "depth");
	assert_string_equal(err.text, "a shared receive queue of device fake0 holds 8 at most");
	device->attr.max_srq_wr = 100;
	device->attr.max_cqe = 8;
	assert_int_equal(
		vbd_fabric_plan_srq(device->pd, NULL, &params, &srq, NULL), VBD_E_OUT_OF_RANGE);
	params.depth = 8;
	assert_int_equal(vbd_fabric_plan_srq(device->pd, NULL, &params, &srq, &rig->err), VBD_OK);
	assert_int_equal(srq->mem.size_bytes, 512);
	vbd_srq_destroy(srq);
	unit_rescan(rig->fabric);
	assert_int_equal(vbd_fabric_make_cq(rig->fabric, vbd_fabric_device(rig->fabric, "fake1"),
				 16, &cq, &rig->err),
		VBD_OK);
	err = (struct vbd_error){0};
	assert_int_equal(vbd_fabric_plan_srq(device->pd, cq, &params, &srq, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.param, "srq_cq");
	assert_string_equal(err.text, "cq 1 belongs to fake1, but the pd belongs to fake0");
	rig_settle(rig);
	vbd_fabric_delete_cq(rig->fabric, cq);
	rig_settle(rig);
	(void)second;
}

RIG_TEST(test_fabric__protection_domains_that_differ_are_named)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_error err = {0};
	struct vbd_pd *pd;

	assert_int_equal(vbd_fabric_make_pd(rig->fabric, device, &pd, &rig->err), VBD_OK);
	assert_ptr_equal(vbd_fabric_pd(rig->fabric, pd->id), pd);
	assert_null(vbd_fabric_pd(rig->fabric, pd->id + 1));
	assert_int_equal(vbd_pd_require_same(pd, "one", pd, "other", &err), VBD_OK);
	assert_int_equal(vbd_pd_require_same(device->pd, "srq 1", pd, "the endpoint", &err),
		VBD_E_PD_MISMATCH);
	assert_string_equal(
		err.text, "srq 1 is in the default pd of fake0, and the endpoint is in pd 2");
	(void)snprintf(pd->name, sizeof(pd->name), "video");
	err = (struct vbd_error){0};
	assert_int_equal(
		vbd_pd_require_same(pd, "srq 1", device->pd, "it", &err), VBD_E_PD_MISMATCH);
	assert_string_equal(
		err.text, "srq 1 is in pd 2 (video), and it is in the default pd of fake0");
	assert_int_equal(pd->refs, 0);
	vbd_pd_ref(pd);
	assert_int_equal(pd->refs, 1);
	vbd_pd_delete(pd);
	assert_null(vbd_fabric_pd(rig->fabric, 2));
	assert_int_equal(fake_live().pds, 2);
	vbd_pd_unref(pd);
	assert_int_equal(fake_live().pds, 1);
}

static void assert_not_opened(struct rig *rig, const struct vbd_conn_params *params,
	enum vbd_status status, const char *param, const char *text)
{
	struct rig_conn *rc = rig_conn_connect(rig, params);
	const struct vbd_error *error = &rc->conn->qp.first_error.error;

	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_string_equal(error->text, text);
	assert_int_equal(error->status, status);
	assert_string_equal(error->param, param);
}

RIG_TEST(test_fabric__parameters_beyond_the_device_say_what_it_has)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_conn_params params = rig_params();

	device->attr.max_sge = 2;
	params.qp.max_recv_sge = 3;
	assert_not_opened(rig, &params, VBD_E_OUT_OF_RANGE, "max_recv_sge",
		"max_recv_sge is 3; a work request of device fake0 has 2 ranges at most");
	params.qp.max_recv_sge = 2;
	params.qp.max_send_sge = 5;
	assert_not_opened(rig, &params, VBD_E_OUT_OF_RANGE, "max_send_sge",
		"max_send_sge is 5; a work request of device fake0 has 2 ranges at most");
	params.qp.max_send_sge = 4; /* the default, which is lowered */
	assert_int_equal(rig_conn_connect(rig, &params)->conn->qp.channel->limits.max_send_sge, 2);
	params.qp.max_send_sge = 1;
	assert_int_equal(rig_conn_connect(rig, &params)->conn->qp.channel->limits.max_send_sge, 1);
	params = rig_params();
	params.qp.pd_id = 77;
	assert_not_opened(
		rig, &params, VBD_E_NOT_FOUND, "pd", "there is no protection domain '77'");
	params = rig_params();
	params.qp.cq_id = 78;
	assert_not_opened(rig, &params, VBD_E_NOT_FOUND, "cq", "there is no completion queue '78'");
	params = rig_params();
	params.qp.srq_id = 79;
	assert_not_opened(
		rig, &params, VBD_E_NOT_FOUND, "srq", "there is no shared receive queue '79'");
	device->attr.max_cqe = 8;
	params = rig_params();
	params.qp.rq_depth = 5;
	/* There is a CQ with room from the first connection; another is full. */
	VBD_CONTAINER_OF(rig->fabric->cqs.next, struct vbd_cq, link)->failed = true;
	assert_not_opened(rig, &params, VBD_E_OUT_OF_RANGE, "qp",
		"sq_depth + rq_depth is 9; a completion queue of device fake0 holds 8");
	VBD_CONTAINER_OF(rig->fabric->cqs.next, struct vbd_cq, link)->failed = false;
}

RIG_TEST(test_fabric__an_srq_of_another_pd_is_named_in_full)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	const struct vbd_srq_params how = {.depth = 8, .recv_size_bytes = 64};
	struct vbd_conn_params params = rig_params();
	const struct vbd_error *error;
	struct vbd_srq *srq;
	struct vbd_pd *pd;

	assert_int_equal(vbd_fabric_make_pd(rig->fabric, device, &pd, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_plan_srq(device->pd, NULL, &how, &srq, &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_prepare(&srq->mem, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_add_srq(rig->fabric, srq, NULL, &rig->err), VBD_OK);
	srq->id = UINT64_MAX;
	params.qp.srq_id = srq->id;
	params.qp.pd_id = pd->id;
	error = &rig_conn_connect(rig, &params)->conn->qp.first_error.error;
	assert_int_equal(error->status, VBD_E_PD_MISMATCH);
	assert_string_equal(error->text, "srq 18446744073709551615 is in the default pd of fake0, "
					 "and the connection is in pd 2");
	vbd_fabric_delete_srq(srq);
	vbd_pd_delete(pd);
	rig_settle(rig);
}

RIG_TEST(test_fabric__a_full_device_does_not_blame_the_inline_bytes)
{
	struct vbd_conn_params params = rig_params();
	const struct vbd_error *error;

	rig_close(rig_conn_connect(rig, NULL));
	rig_finish_calls(rig);
	params.qp.inline_bytes = 1000;
	fake_objects_full(true);
	error = &rig_conn_connect(rig, &params)->conn->qp.first_error.error;
	fake_objects_full(false);
	assert_string_equal(error->call, "ibv_create_qp");
	assert_null(error->param);
}
