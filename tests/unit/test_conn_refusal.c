/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device refuses a request of the peer, such as a write with a wrong key: it answers the peer
 * and moves the QP to ERR, and may say no more than that.
 */
#include "tests/unit/rig.h"

#define ALL_QPS 64

static void assert_refusal(struct rig_conn *rc, enum vbd_reason reason, enum vbd_refusal refusal)
{
	rig_settle(rc->rig);
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), vbd_reason_name(reason));
	assert_string_equal(vbd_refusal_name(rc->conn->refusal), vbd_refusal_name(refusal));
	rig_assert_gone(rc);
	rig_assert_idle(rc->rig);
}

/* A connection whose receives all hold messages, so that nothing is flushed. */
static struct rig_conn *mute_conn(struct rig *rig)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	while (fake_recvs(rc->conn->qp.ibv_qp) > 0) {
		fake_recv_done(rc->conn->qp.ibv_qp, "m", 1);
		rig_settle(rig);
	}
	return rc;
}

RIG_TEST(test_conn_refusal__a_flush_out_of_the_blue_is_evidence)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	assert_refusal(rc, VBD_REASON_QP_FATAL, VBD_REFUSAL_QP_STATE);
}

RIG_TEST(test_conn_refusal__a_qp_without_receives_is_found_by_looking)
{
	struct rig_conn *rc = mute_conn(rig);
	struct rig_conn *other = mute_conn(rig);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	vbd_fabric_check_qps(rig->fabric, ALL_QPS);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_QP_STATE);
	assert_int_equal(other->conn->state, VBD_CONN_ESTABLISHED);
	rig_close(other);
	assert_refusal(other, VBD_REASON_LOCAL_CLOSE, VBD_REFUSAL_NONE);
}

RIG_TEST(test_conn_refusal__each_qp_gets_its_turn)
{
	struct rig_conn *rcs[] = {mute_conn(rig), mute_conn(rig), mute_conn(rig)};
	unsigned int before = fake_count("ibv_query_qp");

	fake_qp_to_err(rcs[2]->conn->qp.ibv_qp);
	vbd_fabric_check_qps(rig->fabric, 2);
	assert_int_equal(fake_count("ibv_query_qp"), before + 2);
	assert_int_equal(rcs[2]->conn->state, VBD_CONN_ESTABLISHED);
	vbd_fabric_check_qps(rig->fabric, 1);
	rig_settle(rig);
	assert_int_equal(rcs[2]->conn->state, VBD_CONN_FAILED);
	rig_close(rcs[0]);
	rig_close(rcs[1]);
	assert_refusal(rcs[2], VBD_REASON_QP_FATAL, VBD_REFUSAL_QP_STATE);
}

RIG_TEST(test_conn_refusal__the_disconnect_of_the_refused_peer_does_not_hide_it)
{
	struct rig_conn *rc = mute_conn(rig);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_refusal(rc, VBD_REASON_QP_FATAL, VBD_REFUSAL_QP_STATE);
}

RIG_TEST(test_conn_refusal__the_device_may_say_so)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR};

	for (size_t i = 0; i < VBD_ARRAY_LEN(types); i++) {
		struct rig_conn *rc = rig_conn_connect(rig, NULL);

		fake_qp_to_err(rc->conn->qp.ibv_qp);
		fake_qp_async(rc->conn->qp.ibv_qp, types[i]);
		assert_refusal(rc, VBD_REASON_QP_FATAL, VBD_REFUSAL_ASYNC_EVENT);
	}
}

RIG_TEST(test_conn_refusal__an_ordinary_end_is_none)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_refusal(rc, VBD_REASON_PEER_DISCONNECT, VBD_REFUSAL_NONE);
	rc = mute_conn(rig);
	rig_close(rc);
	vbd_fabric_check_qps(rig->fabric, ALL_QPS);
	assert_refusal(rc, VBD_REASON_LOCAL_CLOSE, VBD_REFUSAL_NONE);
	rc = rig_conn_connect(rig, NULL);
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	rig_settle(rig);
	assert_refusal(rc, VBD_REASON_QP_FATAL, VBD_REFUSAL_NONE);
	rc = rig_conn_connect(rig, NULL);
	fake_recv_failed(rc->conn->qp.ibv_qp, IBV_WC_LOC_LEN_ERR, 0);
	assert_refusal(rc, VBD_REASON_LOCAL_ERROR, VBD_REFUSAL_NONE);
}

/* The QP is seen in ERR before the completion that explains it. */
RIG_TEST(test_conn_refusal__a_failed_work_request_explains_the_state)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_recv_failed(rc->conn->qp.ibv_qp, IBV_WC_LOC_LEN_ERR, 0);
	vbd_fabric_check_qps(rig->fabric, ALL_QPS);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_QP_STATE);
	assert_refusal(rc, VBD_REASON_LOCAL_ERROR, VBD_REFUSAL_NONE);
	assert_int_equal(rc->conn->qp.first_error.error.kind, IBV_WC_LOC_LEN_ERR);
}

RIG_TEST(test_conn_refusal__a_device_that_goes_explains_the_state)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	vbd_fabric_check_qps(rig->fabric, ALL_QPS);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_QP_STATE);
	vbd_conn_device_removed(rc->conn);
	assert_int_equal(rc->conn->refusal, VBD_REFUSAL_NONE);
	fake_flushes_withheld(false);
	fake_flush(rc->conn->qp.ibv_qp);
	assert_refusal(rc, VBD_REASON_DEVICE_REMOVED, VBD_REFUSAL_NONE);
}
