/* SPDX-License-Identifier: Apache-2.0 */
/* Whole lives of connections: each note of the timeline, each deadline and each line of the log. */
#include "rdma/conn/conn.h"

#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static void test_story__a_connection_comes_up_and_is_closed(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;

	rig_tell_story(rig);
	rc = rig_conn_connect(rig, NULL);
	rig_assert_story(rig, "state resolving_addr ()\n"
			      "deadline 5000 ms\n"
			      "call rdma_create_id ()\n"
			      "call rdma_resolve_addr (timeout 2000 ms)\n"
			      "cm_event RDMA_CM_EVENT_ADDR_RESOLVED (status 0)\n"
			      "conn: 1 resolving_addr -> resolving_route (addr_resolved)\n"
			      "call rdma_resolve_route (device fake0 port 1)\n"
			      "state resolving_addr -> resolving_route (the address is resolved)\n"
			      "cm_event RDMA_CM_EVENT_ROUTE_RESOLVED (status 0)\n"
			      "conn: 1 resolving_route -> connecting (route_resolved)\n"
			      "state resolving_route -> connecting (the route is resolved)\n"
			      "call ibv_create_qp (lqpn 0x000011, cq 1)\n"
			      "qp RESET -> INIT (lqpn 0x000011)\n"
			      "call rdma_connect (qp_num 0x000011)\n"
			      "cm_event RDMA_CM_EVENT_CONNECT_RESPONSE (status 0)\n"
			      "qp INIT -> RTR (lqpn 0x000011)\n"
			      "conn: 1 connecting -> established (qp_rtr)\n"
			      "qp RTR -> RTS (lqpn 0x000011)\n"
			      "call rdma_establish ()\n"
			      "deadline 0 ms\n"
			      "state connecting -> established (the QP is in RTR)\n");
	rig_close(rc);
	rig_assert_story(rig, "command close (local_close)\n"
			      "conn: 1 established -> draining (cmd_close)\n"
			      "call rdma_disconnect ()\n"
			      "deadline 1000 ms\n"
			      "qp RTS -> ERR (lqpn 0x000011)\n"
			      "state established -> draining (a client closed the connection)\n"
			      "cm_event RDMA_CM_EVENT_DISCONNECTED (status 0)\n"
			      "conn: 1 draining -> closed (drained_clean)\n"
			      "deadline 0 ms\n"
			      "call ibv_destroy_qp (lqpn 0x000011)\n"
			      "call rdma_destroy_id ()\n"
			      "state draining -> closed (all work requests are completed)\n");
}

static void test_story__one_of_iwarp_is_brought_up_by_the_kernel(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rig_tell_story(rig);
	rc = rig_conn_connect(rig, NULL);
	rig_assert_story(rig, "state resolving_addr ()\n"
			      "deadline 5000 ms\n"
			      "call rdma_create_id ()\n"
			      "call rdma_resolve_addr (timeout 2000 ms)\n"
			      "cm_event RDMA_CM_EVENT_ADDR_RESOLVED (status 0)\n"
			      "conn: 1 resolving_addr -> resolving_route (addr_resolved)\n"
			      "call rdma_resolve_route (device fake0 port 1)\n"
			      "state resolving_addr -> resolving_route (the address is resolved)\n"
			      "cm_event RDMA_CM_EVENT_ROUTE_RESOLVED (status 0)\n"
			      "conn: 1 resolving_route -> connecting (route_resolved)\n"
			      "state resolving_route -> connecting (the route is resolved)\n"
			      "call ibv_create_qp (lqpn 0x000011, cq 1)\n"
			      "qp RESET -> INIT (lqpn 0x000011)\n"
			      "call rdma_connect (qp_num 0x000011)\n"
			      "conn: 1 ignores call_returned in connecting: rdma_connect is done; "
			      "the CM reports the answer\n"
			      "cm_event RDMA_CM_EVENT_ESTABLISHED (status 0)\n"
			      "conn: 1 connecting -> established (established)\n"
			      "qp INIT -> RTS (by the kernel's iWARP CM, lqpn 0x000011)\n"
			      "deadline 0 ms\n"
			      "state connecting -> established (both sides are connected)\n");
	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	fake_flush(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	rig_assert_story(rig, "wc IBV_WC_WR_FLUSH_ERR (recv, vendor_err 0)\n"
			      "conn: 1 established -> draining (flushed)\n"
			      "deadline 1000 ms\n"
			      "qp RTS -> ERR (lqpn 0x000011)\n"
			      "deadline 1000 ms\n"
			      "state established -> draining (a work request was flushed)\n");
	rig_deadline(rc);
	rig_assert_story(rig,
		"call rdma_disconnect ()\n"
		"conn: 1 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000011)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
}

static void test_story__a_request_is_accepted_and_the_peer_leaves(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;

	rig_tell_story(rig);
	rc = rig_conn_in(rig, VBD_CONN_REQUESTED);
	rig_assert_story(rig, "cm_event RDMA_CM_EVENT_CONNECT_REQUEST (rqpn 0x000077, status 0)\n"
			      "state requested ()\n"
			      "deadline 5000 ms\n");
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	rig_settle(rig);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	rig_assert_story(rig, "command accept (service inbox)\n"
			      "conn: 1 requested -> accepting (cmd_accept)\n"
			      "deadline 5000 ms\n"
			      "state requested -> accepting (a client accepted the request)\n"
			      "call ibv_create_qp (lqpn 0x000011, cq 1)\n"
			      "qp RESET -> INIT (lqpn 0x000011)\n"
			      "qp INIT -> RTR (lqpn 0x000011)\n"
			      "qp RTR -> RTS (lqpn 0x000011)\n"
			      "call rdma_accept (qp_num 0x000011)\n"
			      "cm_event RDMA_CM_EVENT_ESTABLISHED (status 0)\n"
			      "conn: 1 accepting -> established (established)\n"
			      "deadline 0 ms\n"
			      "state accepting -> established (both sides are connected)\n");
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	rig_assert_story(rig, "cm_event RDMA_CM_EVENT_DISCONNECTED (status 0)\n"
			      "conn: 1 established -> draining (disconnected)\n"
			      "call rdma_disconnect ()\n"
			      "deadline 1000 ms\n"
			      "qp RTS -> ERR (lqpn 0x000011)\n"
			      "state established -> draining (the peer disconnected)\n"
			      "conn: 1 draining -> closed (drained_clean)\n"
			      "deadline 0 ms\n"
			      "call ibv_destroy_qp (lqpn 0x000011)\n"
			      "call rdma_destroy_id ()\n"
			      "state draining -> closed (all work requests are completed)\n");
}

static void test_story__sends_that_are_under_way_are_looked_at(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	rig_tell_story(rig);
	rig_start_transfer(rig_transfer(rc, VBD_OP_SEND, mem, 64, 64));
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	rig_assert_story(rig,
		"transfer: 1 queued -> running (started: its first work request is posted)\n"
		"cm_event RDMA_CM_EVENT_DISCONNECTED (status 0)\n"
		"conn: 1 established -> draining (disconnected)\n"
		"call rdma_disconnect ()\n"
		"deadline 10 ms\n"
		"state established -> draining (the peer disconnected)\n");
	rig_deadline(rc);
	rig_assert_story(rig, "deadline 10 ms\n");
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_settle(rig);
	rig_assert_story(rig,
		"wc IBV_WC_REM_ACCESS_ERR (send, vendor_err 136)\n"
		"deadline 1000 ms\n"
		"qp RTS -> ERR (lqpn 0x000011)\n"
		"transfer: 1 running -> failed (failed: a completion failed, the rest is flushed)\n"
		"conn: 1 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000011)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
}

static void test_story__a_queue_pair_fails_in_a_transfer(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	rig_tell_story(rig);
	fake_flushes_withheld(true);
	rig_start_transfer(rig_transfer(rc, VBD_OP_WRITE, mem, 64, 64));
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_SQ_DRAINED);
	rig_settle(rig);
	rig_assert_story(rig,
		"transfer: 1 queued -> running (started: its first work request is posted)\n"
		"async_event sq_drained (lqpn 0x000011)\n"
		"wc IBV_WC_REM_ACCESS_ERR (write, vendor_err 136)\n"
		"conn: 1 established -> draining (wc_error)\n"
		"call rdma_disconnect ()\n"
		"deadline 1000 ms\n"
		"qp RTS -> ERR (lqpn 0x000011)\n"
		"state established -> draining (a completion failed)\n"
		"transfer: 1 running -> failed (failed: a completion failed, the rest is flushed)\n"
		"cm_event RDMA_CM_EVENT_DISCONNECTED (status 0)\n");
	rig_deadline(rc);
	rig_assert_story(rig,
		"call ibv_destroy_qp (lqpn 0x000011)\n"
		"conn: 1 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
}

static void test_story__a_peer_rejects_or_does_not_answer(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	rig_tell_story(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_REJECTED, 8);
	rig_settle(rig);
	rig_assert_story(rig,
		"cm_event RDMA_CM_EVENT_REJECTED (status 8: nobody listens on that port (invalid "
		"service id))\n"
		"conn: 1 connecting -> draining (rejected)\n"
		"deadline 1000 ms\n"
		"qp INIT -> ERR (lqpn 0x000011)\n"
		"state connecting -> draining (the peer rejected the connection)\n"
		"conn: 1 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000011)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	rig->story[0] = '\0';
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_UNREACHABLE, -110);
	rig_settle(rig);
	rig_assert_story(rig,
		"cm_event RDMA_CM_EVENT_UNREACHABLE (status -110)\n"
		"conn: 2 connecting -> draining (unreachable)\n"
		"deadline 1000 ms\n"
		"qp INIT -> ERR (lqpn 0x000012)\n"
		"state connecting -> draining (the peer does not answer)\n"
		"conn: 2 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000012)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	rig->story[0] = '\0';
	rig_deadline(rc);
	rig_assert_story(rig,
		"conn: 3 connecting -> draining (deadline)\n"
		"deadline 1000 ms\n"
		"qp INIT -> ERR (lqpn 0x000013)\n"
		"state connecting -> draining (the deadline passed)\n"
		"conn: 3 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000013)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
	assert_string_equal(
		rc->conn->qp.first_error.error.text, "the deadline of 5000 ms passed in state "
						     "connecting, waiting for the peer's answer");
}

static void test_story__calls_that_fail_at_the_end_are_logged(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	rig_tell_story(rig);
	fake_fail_next("rdma_reject", EINVAL);
	assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, &rig->err), VBD_OK);
	rig_settle(rig);
	rig_assert_story(rig, "command reject (0 bytes of private data)\n"
			      "conn: 1 requested -> closed (cmd_reject)\n"
			      "call rdma_reject ()\n"
			      "conn: by the script: rdma_reject: Invalid argument (EINVAL)\n"
			      "deadline 0 ms\n"
			      "call rdma_destroy_id ()\n"
			      "state requested -> closed (a client rejected the request)\n");
	rc = rig_conn_connect(rig, NULL);
	rig->story[0] = '\0';
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle(rig);
	fake_fail_next("rdma_disconnect", EINVAL);
	rig_close(rc);
	rig_assert_story(rig, "cm_event RDMA_CM_EVENT_ADDR_CHANGE (status 0)\n"
			      "conn: 2 ignores addr_change in established: a hint "
			      "(rdma_get_cm_event(3)); a failure is reported by its own event\n"
			      "command close (local_close)\n"
			      "conn: 2 established -> draining (cmd_close)\n"
			      "call rdma_disconnect ()\n"
			      "conn: by the script: rdma_disconnect: Invalid argument (EINVAL)\n"
			      "deadline 1000 ms\n"
			      "qp RTS -> ERR (lqpn 0x000011)\n"
			      "state established -> draining (a client closed the connection)\n"
			      "conn: 2 draining -> closed (drained_clean)\n"
			      "deadline 0 ms\n"
			      "call ibv_destroy_qp (lqpn 0x000011)\n"
			      "call rdma_destroy_id ()\n"
			      "state draining -> closed (all work requests are completed)\n");
}

static void test_story__a_fault_is_injected(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	rig_tell_story(rig);
	vbd_conn_inject_error(rc->conn);
	rig_settle(rig);
	rig_assert_story(rig,
		"command fault (the queue pair is moved to ERR)\n"
		"async_event qp_fatal (lqpn 0x000011)\n"
		"conn: 1 established -> draining (qp_error)\n"
		"call rdma_disconnect ()\n"
		"deadline 1000 ms\n"
		"qp RTS -> ERR (lqpn 0x000011)\n"
		"state established -> draining (the device reported an error of the QP)\n"
		"cm_event RDMA_CM_EVENT_DISCONNECTED (status 0)\n"
		"conn: 1 draining -> failed (drained_failed)\n"
		"deadline 0 ms\n"
		"call ibv_destroy_qp (lqpn 0x000011)\n"
		"call rdma_destroy_id ()\n"
		"state draining -> failed (all work requests are completed, after an error)\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_story__##name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_comes_up_and_is_closed),
		TEST(one_of_iwarp_is_brought_up_by_the_kernel),
		TEST(a_request_is_accepted_and_the_peer_leaves),
		TEST(sends_that_are_under_way_are_looked_at),
		TEST(a_queue_pair_fails_in_a_transfer),
		TEST(a_peer_rejects_or_does_not_answer),
		TEST(calls_that_fail_at_the_end_are_logged),
		TEST(a_fault_is_injected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
