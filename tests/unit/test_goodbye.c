/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/goodbye.h"

#include "base/clock.h"
#include "tests/unit/rig.h"

/* Closes an established connection, and returns its CM id. */
static struct rdma_cm_id *closed(struct rig *rig)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_ESTABLISHED);
	struct rdma_cm_id *cm_id = rc->conn->cm_id;

	rig_close(rc);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_null(rc->conn->cm_id);
	return cm_id;
}

RIG_TEST(test_goodbye__an_answered_disconnect_leaves_nothing)
{
	(void)closed(rig);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
}

/* Whether the peer's answer came late or the kernel has given up. */
RIG_TEST(test_goodbye__an_id_outlives_its_connection_until_the_kernel_has_an_answer)
{
	static const int statuses[] = {0, -ETIMEDOUT};

	fake_unanswered(true);
	for (size_t i = 0; i < VBD_ARRAY_LEN(statuses); i++) {
		struct rdma_cm_id *cm_id = closed(rig);

		assert_int_equal(rig->fabric->goodbye_count, 1);
		assert_int_equal(fake_live().ids, 1);
		assert_int_equal(fake_live().qps, 0);
		assert_true(fake_id_asked(cm_id).disconnected);
		fake_cm_event(cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
		rig_settle(rig);
		assert_int_equal(rig->fabric->goodbye_count, 1);
		fake_cm_event(cm_id, RDMA_CM_EVENT_DISCONNECTED, statuses[i]);
		fake_cm_event(cm_id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		rig_settle(rig);
		assert_int_equal(rig->fabric->goodbye_count, 0);
		rig_assert_idle(rig);
	}
}

RIG_TEST(test_goodbye__a_device_that_goes_waits_for_no_answer)
{
	struct rdma_cm_id *cm_id;

	fake_unanswered(true);
	cm_id = closed(rig);
	fake_cm_event(cm_id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	assert_int_equal(fake_live().ids, 0);
}

RIG_TEST(test_goodbye__who_was_disconnected_waits_for_nobody)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_ESTABLISHED);

	fake_unanswered(true);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
}

/* The kernel's CM has no connection any more that a disconnect could end, so nothing would answer:
 * cm_rej_handler() and cm_timewait_handler() in core/cm.c, 6.1. */
RIG_TEST(test_goodbye__a_connection_that_the_cm_has_ended_waits_for_nobody)
{
	static const enum rdma_cm_event_type ends[] = {
		RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_TIMEWAIT_EXIT};

	fake_unanswered(true);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ends); i++) {
		struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_ESTABLISHED);

		fake_cm_event(rc->conn->cm_id, ends[i], 0);
		rig_close(rc);
		rig_settle(rig);
		assert_true(vbd_conn_state_terminal(rc->conn->state));
		assert_int_equal(rig->fabric->goodbye_count, 0);
		rig_assert_idle(rig);
	}
}

RIG_TEST(test_goodbye__an_id_whose_answer_never_comes_is_destroyed_in_the_end)
{
	uint64_t now_ns;

	fake_unanswered(true);
	(void)closed(rig);
	(void)closed(rig);
	now_ns = vbd_clock_mono_ns();
	vbd_goodbyes_check(rig->fabric, now_ns, 8);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 2);
	now_ns += VBD_GOODBYE_PATIENCE_NS;
	vbd_goodbyes_check(rig->fabric, now_ns, 1);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 1);
	vbd_goodbyes_check(rig->fabric, now_ns, 8);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
}

/* rig_teardown() asserts that nothing is left. */
RIG_TEST(test_goodbye__those_at_the_end_are_destroyed)
{
	fake_unanswered(true);
	(void)closed(rig);
	(void)closed(rig);
	assert_int_equal(rig->fabric->goodbye_count, 2);
}

/* The call thread has destroyed the id, and nobody takes the call back. */
RIG_TEST(test_goodbye__an_answer_just_before_the_end_destroys_the_id_once)
{
	struct rdma_cm_id *cm_id;

	fake_unanswered(true);
	cm_id = closed(rig);
	fake_cm_event(cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	while (fake_live().ids)
		continue;
}

static void become_soft_roce(struct rig *rig)
{
	struct vbd_device *device = vbd_fabric_default_device(rig->fabric);

	device->attr.vendor_id = VBD_VENDOR_RXE;
}

static void port_is(struct rig *rig, enum ibv_port_state port_state)
{
	rig->device->port.state = port_state;
	fake_device_async(rig->device,
		port_state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, 1);
	vbd_device_drain_async(vbd_fabric_default_device(rig->fabric));
	rig_settle(rig);
}

RIG_TEST(test_goodbye__soft_roce_says_it_when_its_interface_is_up_again)
{
	struct rdma_cm_id *cm_id;

	become_soft_roce(rig);
	port_is(rig, IBV_PORT_DOWN);
	cm_id = closed(rig);
	assert_int_equal(rig->fabric->goodbye_count, 1);
	assert_int_equal(fake_count("rdma_disconnect"), 0);
	vbd_goodbyes_check(rig->fabric, vbd_clock_mono_ns() + VBD_GOODBYE_PATIENCE_NS, 8);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 1);
	port_is(rig, IBV_PORT_ACTIVE);
	assert_int_equal(fake_count("rdma_disconnect"), 1);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
	(void)cm_id;
}

RIG_TEST(test_goodbye__one_that_was_held_is_waited_for_like_any_other)
{
	uint64_t now_ns;

	become_soft_roce(rig);
	port_is(rig, IBV_PORT_DOWN);
	(void)closed(rig);
	fake_unanswered(true);
	port_is(rig, IBV_PORT_ACTIVE);
	assert_int_equal(fake_count("rdma_disconnect"), 1);
	assert_int_equal(rig->fabric->goodbye_count, 1);
	now_ns = vbd_clock_mono_ns();
	vbd_goodbyes_check(rig->fabric, now_ns, 8);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 1);
	vbd_goodbyes_check(rig->fabric, now_ns + VBD_GOODBYE_PATIENCE_NS, 8);
	rig_settle(rig);
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
}

/* The event that the port is up again would not come, since it was never down. */
RIG_TEST(test_goodbye__soft_roce_that_can_not_be_asked_for_its_port_is_not_down)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	become_soft_roce(rig);
	fake_fail_next("ibv_query_port", EIO);
	rig_ask_ports(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_REJECTED, 8);
	rig_settle(rig);
	assert_true(vbd_conn_state_terminal(rc->conn->state));
	assert_int_equal(rig->fabric->goodbye_count, 0);
	rig_assert_idle(rig);
}

/* The destruction of its id would send a reject. */
RIG_TEST(test_goodbye__soft_roce_gives_up_a_connect_when_its_interface_is_up_again)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	become_soft_roce(rig);
	port_is(rig, IBV_PORT_DOWN);
	rig_close(rc);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(fake_live().ids, 1);
	port_is(rig, IBV_PORT_ACTIVE);
	assert_int_equal(fake_count("rdma_disconnect"), 0);
	rig_assert_idle(rig);
}

/* The fake device has no counters, so no message ever comes in. */
RIG_TEST(test_goodbye__soft_roce_that_hears_nothing_after_a_fall_may_be_deaf)
{
	become_soft_roce(rig);
	for (int fell = 0; fell < 2; fell++) {
		struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
		const struct vbd_error *error = &rc->conn->qp.first_error.error;

		rig_deadline(rc);
		rig_settle(rig);
		assert_int_equal(rc->conn->qp.reason, VBD_REASON_TIMED_OUT);
		assert_int_equal(strstr(error->text, "Soft-RoCE may have gone deaf") != NULL, fell);
		assert_int_equal(error->hint && strstr(error->hint, "rdma link add"), fell);
		port_is(rig, IBV_PORT_DOWN);
		port_is(rig, IBV_PORT_ACTIVE);
	}
}

RIG_TEST(test_goodbye__no_more_ids_outlive_their_connections_than_the_limit)
{
	fake_unanswered(true);
	rig->fabric->goodbye_count = VBD_GOODBYES_MAX - 1;
	(void)closed(rig);
	assert_int_equal(rig->fabric->goodbye_count, VBD_GOODBYES_MAX);
	assert_int_equal(fake_live().ids, 1);
	(void)closed(rig);
	assert_int_equal(rig->fabric->goodbye_count, VBD_GOODBYES_MAX);
	assert_int_equal(fake_live().ids, 1);
	rig->fabric->goodbye_count = 1;
}
