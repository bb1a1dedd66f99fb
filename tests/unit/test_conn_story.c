/* SPDX-License-Identifier: Apache-2.0 */
/* Whole lives of connections: each note of the timeline, each deadline and each line of the log. */
#include "rdma/conn/conn.h"

#include "base/clock.h"
#include "rdma/conn/manual.h"
#include "rdma/data/channel.h"
#include "rdma/data/heartbeat.h"
#include "rdma/data/worker.h"
#include "tests/unit/rig.h"

RIG_TEST(test_story__a_connection_comes_up_and_is_closed)
{
	struct rig_conn *rc;

	rig_tell_story(rig);
	rc = rig_conn_connect(rig, NULL);
	rig_assert_story(rig);
	rig_close(rc);
	rig_assert_story(rig);
}

RIG_TEST(test_story__one_of_iwarp_is_brought_up_by_the_kernel)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rig_tell_story(rig);
	rc = rig_conn_connect(rig, NULL);
	rig_assert_story(rig);
	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	fake_flush(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	rig_assert_story(rig);
	rig_deadline(rc);
	rig_assert_story(rig);
}

RIG_TEST(test_story__a_request_is_accepted_and_the_peer_leaves)
{
	struct rig_conn *rc;

	rig_tell_story(rig);
	rc = rig_conn_in(rig, VBD_CONN_REQUESTED);
	rig_assert_story(rig);
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	rig_settle(rig);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	rig_assert_story(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	rig_assert_story(rig);
}

RIG_TEST(test_story__sends_that_are_under_way_are_looked_at)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	rig_tell_story(rig);
	rig_start_transfer(rig_transfer(rc, VBD_OP_SEND, mem, 64, 64));
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	rig_assert_story(rig);
	rig_deadline(rc);
	rig_assert_story(rig);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_settle(rig);
	rig_assert_story(rig);
}

/* The worker is in ibv_post_send(3), and the answer to the request is there already. */
RIG_TEST(test_story__sends_that_are_not_counted_yet_are_looked_at)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	vbd_counter_set(&rc->conn->qp.channel->ringing, 1);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_RTS);
	vbd_counter_set(&rc->conn->qp.channel->ringing, 0);
	rig_deadline(rc);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
}

RIG_TEST(test_story__a_queue_pair_fails_in_a_transfer)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	rig_tell_story(rig);
	fake_flushes_withheld(true);
	rig_start_transfer(rig_transfer(rc, VBD_OP_WRITE, mem, 64, 64));
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_SQ_DRAINED);
	rig_settle(rig);
	rig_assert_story(rig);
	rig_deadline(rc);
	rig_assert_story(rig);
}

RIG_TEST(test_story__a_peer_rejects_or_does_not_answer)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	rig_tell_story(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_REJECTED, 8);
	rig_settle(rig);
	rig_assert_story(rig);
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	rig->story[0] = '\0';
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_UNREACHABLE, -110);
	rig_settle(rig);
	rig_assert_story(rig);
	rig_close(rc);
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	rig->story[0] = '\0';
	rig_deadline(rc);
	rig_assert_story(rig);
	assert_string_equal(rc->conn->qp.first_error.error.text,
		"the deadline of 5000 ms passed in state "
		"connecting, waiting for the peer's answer");
}

RIG_TEST(test_story__calls_that_fail_at_the_end_are_logged)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	rig_tell_story(rig);
	fake_fail_next("rdma_reject", EINVAL);
	assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, &rig->err), VBD_OK);
	rig_settle(rig);
	rig_assert_story(rig);
	rc = rig_conn_connect(rig, NULL);
	rig->story[0] = '\0';
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle(rig);
	fake_fail_next("rdma_disconnect", EINVAL);
	rig_close(rc);
	rig_assert_story(rig);
}

RIG_TEST(test_story__a_fault_is_injected)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	rig_tell_story(rig);
	vbd_conn_inject_error(rc->conn);
	rig_settle(rig);
	rig_assert_story(rig);
}

/* Brought up by hand. */

static const struct vbd_manual_remote remote = {
	.gid = {[10] = 0xff, 0xff, 10, 0, 0, 99},
	.qpn = 0x4242,
	.psn = 0x111111,
	.hop_limit = 64,
	.responder_resources = VBD_DEPTH_UNKNOWN,
	.initiator_depth = VBD_DEPTH_UNKNOWN,
};

static void step(struct rig_conn *rc, enum vbd_qp_step to)
{
	struct vbd_error err = {0};

	if (vbd_conn_set_qp_state(rc->conn, to, &err) != VBD_OK)
		fail_msg("%s", err.text);
	rig_settle(rc->rig);
}

RIG_TEST(test_story__a_queue_pair_is_moved_by_hand)
{
	struct rig_conn *rc;

	rig_tell_story(rig);
	rc = rig_manual(rig, NULL, NULL);
	rig_assert_story(rig);
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &rig->err), VBD_OK);
	rig_settle(rig);
	rig_assert_story(rig);
	step(rc, VBD_QP_TO_SQD);
	step(rc, VBD_QP_TO_RTS);
	rig_assert_story(rig);
	fake_flushes_withheld(true);
	step(rc, VBD_QP_TO_ERR);
	rig_assert_story(rig);
	fake_flushes_withheld(false);
	fake_flush(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	rig_assert_story(rig);
	step(rc, VBD_QP_TO_RESET);
	rig_assert_story(rig);
	step(rc, VBD_QP_TO_INIT);
	step(rc, VBD_QP_TO_RTR);
	rig_assert_story(rig);
	rig_close(rc);
	rig_assert_story(rig);
}

RIG_TEST(test_story__moves_that_fail_are_noted)
{
	struct rig_conn *rc;

	rc = rig_manual(rig, NULL, NULL);
	rig_tell_story(rig);
	fake_fail_next("ibv_modify_qp", ETIMEDOUT);
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &rig->err), VBD_OK);
	rig_settle(rig);
	assert_int_equal(rc->conn->manual->failure.status, VBD_E_ADDR_ERROR);
	rig_assert_story(rig);
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &rig->err), VBD_OK);
	rig_settle(rig);
	rig->story[0] = '\0';
	fake_fail_next("ibv_modify_qp", EINVAL);
	assert_int_not_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_SQD, &rig->err), VBD_OK);
	assert_string_equal(
		rig->err.text, "by the script: ibv_modify_qp: Invalid argument (EINVAL)");
	rig_assert_story(rig);
	rig_close(rc);
}

static void assert_not_moved(const struct rig_conn *rc, enum vbd_qp_step to, const char *text)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_conn_set_qp_state(rc->conn, to, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.text, text);
}

RIG_TEST(test_story__a_move_that_is_refused_says_why)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_error err = {0};

	assert_not_moved(rc, VBD_QP_TO_ERR,
		"connection 1 was not created with bringup manual: the CM moves its QP");
	rig_close(rc);
	rc = rig_manual(rig, NULL, NULL);
	assert_not_moved(rc, VBD_QP_TO_RTR,
		"RTR needs the peer's attributes, and connection 2 has none yet: POST …/remote");
	assert_not_moved(rc, VBD_QP_TO_SQD,
		"the QP of connection 2 is in INIT and can't go to SQD; possible: RESET, RTR, ERR");
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &err), VBD_OK);
	assert_not_moved(
		rc, VBD_QP_TO_ERR, "an earlier move of the QP of connection 2 is not complete yet");
	rig_settle(rig);
	assert_int_equal(
		vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.text,
		"the QP of connection 2 is in RTS; the peer's attributes can be set in INIT only");
	step(rc, VBD_QP_TO_SQD);
	fake_qp_draining(rc->conn->qp.ibv_qp, true);
	assert_not_moved(rc, VBD_QP_TO_RTS, "the send queue of connection 2 is still draining");
	fake_qp_draining(rc->conn->qp.ibv_qp, false);
	rig_close(rc);
	assert_not_moved(rc, VBD_QP_TO_RESET, "connection 2 is closed");
}

/* Others that tell. */

RIG_TEST(test_story__a_heartbeat_that_is_not_answered_ends_it)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	struct vbd_worker *worker = rig->fabric->workers[0];

	params.qp.heartbeat_ms = 1000;
	rc = rig_conn_connect(rig, &params);
	rig_settle(rig);
	rig_tell_story(rig);
	fake_unanswered(true);
	worker->now_ns = rc->conn->qp.channel->heartbeat->alive_ns + 1000 * VBD_NS_PER_MS;
	vbd_heartbeats_run(worker);
	worker->now_ns = 0;
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_RETRY_EXC_ERR, 129);
	rig_settle(rig);
	rig_assert_story(rig);
	assert_string_equal(rc->conn->qp.first_error.error.text,
		"heartbeat: The peer's device did not acknowledge in time (IBV_WC_RETRY_EXC_ERR, "
		"vendor_err 129)");
}

RIG_TEST(test_story__a_list_of_devices_that_fails_is_logged)
{
	rig_tell_story(rig);
	fake_fail_next("ibv_get_device_list", EMFILE);
	unit_rescan(rig->fabric);
	rig_assert_story(rig);
}

RIG_TEST(test_story__what_a_listener_is_not_asked_is_logged)
{
	struct rig_listener *listener = rig_listener(rig);

	rig_tell_story(rig);
	rig_listen(listener);
	fake_cm_event(listener->cm.cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle(rig);
	rig_assert_story(rig);
	listener->refuse = true;
	fake_fail_next("rdma_reject", EINVAL);
	(void)rig_request(listener);
	rig_assert_story(rig);
	assert_int_equal(fake_live().ids, 1);
}
