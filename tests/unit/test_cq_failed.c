/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device gives up a completion queue (IBV_EVENT_CQ_ERR), and completions are lost with it.
 * Admission prevents that a queue is overrun: see test_fabric.c.
 */
#include "tests/unit/rig.h"

#include "rdma/device/cq.h"
#include "rdma/fabric/shared.h"

#define REPEATS 100

static const struct vbd_cq *cq_of(const struct rig_conn *rc)
{
	return rc->conn->qp.channel->cq;
}

RIG_TEST(test_cq_failed__its_connections_end_and_others_get_another_cq)
{
	struct rig_conn *first = rig_conn_connect(rig, NULL);
	struct rig_conn *second = rig_conn_connect(rig, NULL);
	const struct vbd_cq *failed = cq_of(first);
	uint64_t failed_id = failed->id;
	struct rig_conn *rc;

	assert_ptr_equal(cq_of(second), failed);
	fake_cq_overrun(failed->cq, 1);
	rig_settle(rig);
	assert_int_equal(first->conn->state, VBD_CONN_FAILED);
	assert_int_equal(second->conn->state, VBD_CONN_FAILED);
	assert_int_equal(first->conn->qp.reason, VBD_REASON_QP_FATAL);
	assert_int_equal(first->conn->qp.first_error.error.kind, IBV_EVENT_CQ_ERR);
	/* The failed queue is gone with its last user. */
	assert_int_equal(fake_live().cqs, 0);
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_not_equal(rc->conn->qp.cq_id, failed_id);
	rig_close(rc);
	rig_assert_gone(rc);
}

RIG_TEST(test_cq_failed__a_connection_whose_memory_is_being_registered_ends_too)
{
	struct rig_conn *first = rig_conn_connect(rig, NULL);
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	/* Receives of this size have a slab of their own, which is registered now. */
	params.qp.recv_size_bytes = 1 << 20;
	rc = rig_conn_create(rig, &params);
	fake_block("ibv_reg_mr");
	UNIT_UNTIL (rc->conn->calling) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rig);
	}
	assert_int_equal(rc->conn->calling, VBD_CONN_CALLS_PREPARE);
	assert_ptr_equal(cq_of(rc), cq_of(first));
	fake_cq_overrun(cq_of(first)->cq, 1);
	rig_settle(rig);
	assert_int_equal(first->conn->state, VBD_CONN_FAILED);
	fake_unblock();
	rig_finish_calls(rig);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_WRONG_STATE);
	rig_assert_gone(rc);
}

RIG_TEST(test_cq_failed__it_is_told_once)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_device *device = rc->conn->qp.device;
	unsigned int before = rig->async_events;

	fake_cq_overrun(cq_of(rc)->cq, REPEATS);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rig->async_events, before + 1);
	assert_int_equal(rig->last_async_type, IBV_EVENT_CQ_ERR);
	assert_int_equal(rig->last_async_port, 0); /* a device event */
	assert_int_equal(vbd_counter_get(&device->async_events[IBV_EVENT_CQ_ERR]), REPEATS);
	rig_assert_gone(rc);
}

RIG_TEST(test_cq_failed__completions_that_are_lost_are_not_waited_for)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_flushes_withheld(true);
	fake_cq_overrun(cq_of(rc)->cq, 1);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	rig_deadline(rc);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_NONE);
	rig_assert_gone(rc);
	assert_int_equal(fake_live().cqs, 0);
}

/* The device flushes the QP before it says why. */
RIG_TEST(test_cq_failed__it_is_no_alarm_about_the_peer)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct ibv_cq *cq = cq_of(rc)->cq;

	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	vbd_fabric_check_qps(rig->fabric, 1);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_QP_STATE);
	fake_cq_overrun(cq, 1);
	rig_settle(rig);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_NONE);
	rig_deadline(rc);
	rig_settle(rig);
	rig_assert_gone(rc);
}

RIG_TEST(test_cq_failed__one_that_a_client_made_takes_nothing_more)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_cq *cq;

	assert_int_equal(vbd_fabric_make_cq(rig->fabric, device, 64, &cq, &rig->err), VBD_OK);
	rig_settle(rig);
	fake_cq_overrun(cq->cq, 1);
	rig_settle(rig);
	assert_true(cq->failed);
	assert_int_equal(vbd_fabric_admit_in(cq, 1, &rig->err), VBD_E_WRONG_STATE);
	vbd_fabric_delete_cq(rig->fabric, cq);
	rig_settle(rig);
	assert_int_equal(fake_live().cqs, 0);
}
