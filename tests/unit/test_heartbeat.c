/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/heartbeat.h"

#include "base/clock.h"
#include "rdma/data/worker.h"
#include "tests/unit/rig.h"

/* No time that a test takes is near this. */
#define INTERVAL_MS UINT32_C(1000000)
#define INTERVAL_NS (INTERVAL_MS * VBD_NS_PER_MS)

static struct rig_conn *connect_with(struct rig *rig)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.heartbeat_ms = INTERVAL_MS;
	rc = rig_conn_connect(rig, &params);
	rig_settle(rig);
	return rc;
}

static struct vbd_worker *worker_of(const struct rig_conn *rc)
{
	return rc->rig->fabric->workers[0];
}

static struct vbd_heartbeat *heartbeat_of(const struct rig_conn *rc)
{
	return rc->conn->qp.channel->heartbeat;
}

static unsigned int sends(const struct rig_conn *rc)
{
	return fake_sends(rc->conn->qp.ibv_qp);
}

/* The worker looks at its heartbeats @intervals after the last sign of life. */
static void look_after(const struct rig_conn *rc, double intervals)
{
	struct vbd_worker *worker = worker_of(rc);

	worker->now_ns = heartbeat_of(rc)->alive_ns + (uint64_t)(intervals * (double)INTERVAL_NS);
	vbd_heartbeats_run(worker);
	worker->now_ns = 0;
}

static void look_at(const struct rig_conn *rc, uint64_t now_ns)
{
	struct vbd_worker *worker = worker_of(rc);

	worker->now_ns = now_ns;
	vbd_heartbeats_run(worker);
	worker->now_ns = 0;
}

static void assert_counts(const struct rig_conn *rc, uint64_t sent, uint64_t answered)
{
	const struct vbd_heartbeat_counters *counters = vbd_qp_heartbeat(&rc->conn->qp);

	assert_int_equal(vbd_counter_get(&counters->sent), sent);
	assert_int_equal(vbd_counter_get(&counters->answered), answered);
}

RIG_TEST(test_heartbeat__a_quiet_peer_is_asked_by_a_write_of_nothing)
{
	const struct rig_conn *rc = connect_with(rig);
	struct fake_wr wr;

	look_after(rc, 0.5);
	assert_int_equal(sends(rc), 0);
	look_after(rc, 1);
	assert_int_equal(sends(rc), 1);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(wr.length_bytes, 0);
	assert_true(wr.send_flags & IBV_SEND_SIGNALED);
	assert_counts(rc, 1, 0);
}

RIG_TEST(test_heartbeat__an_answer_begins_the_next_interval)
{
	const struct rig_conn *rc = connect_with(rig);

	for (unsigned int i = 1; i <= 3; i++) {
		look_after(rc, 1);
		assert_int_equal(sends(rc), 1);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rc->rig);
		assert_counts(rc, i, i);
		assert_in_range(vbd_worker_wait_ms(worker_of(rc)), INTERVAL_MS / 2, INTERVAL_MS);
	}
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_heartbeat__a_silent_peer_ends_the_connection_in_three_intervals)
{
	struct rig_conn *rc = connect_with(rig);

	look_after(rc, 1);
	look_after(rc, 2.5);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	look_after(rc, 3);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_PEER_SILENT);
	assert_int_equal(rc->conn->qp.first_error.op, -1);
	assert_counts(rc, 1, 0);
}

RIG_TEST(test_heartbeat__each_look_plans_the_next)
{
	const struct rig_conn *rc = connect_with(rig);
	struct vbd_heartbeat *heartbeat = heartbeat_of(rc);
	const uint64_t early_ns = INTERVAL_NS / 8;
	uint64_t at_ns = heartbeat->alive_ns;

	assert_int_equal(heartbeat->due.key, at_ns + INTERVAL_NS);
	/* A heartbeat may be early by an eighth of its interval, and not by more. */
	look_at(rc, at_ns + INTERVAL_NS - early_ns - 1);
	assert_int_equal(heartbeat->due.key, at_ns + INTERVAL_NS);
	/* After a sign of life it waits an interval from there. */
	heartbeat->alive_ns = at_ns + INTERVAL_NS / 2;
	look_at(rc, at_ns + INTERVAL_NS - early_ns);
	assert_int_equal(heartbeat->due.key, heartbeat->alive_ns + INTERVAL_NS);
	assert_int_equal(sends(rc), 0);
	at_ns = heartbeat->due.key - early_ns;
	look_at(rc, at_ns);
	assert_int_equal(sends(rc), 1);
	assert_int_equal(heartbeat->due.key, at_ns + 2 * INTERVAL_NS);
	/* A sign of life that is no answer delays the end by two intervals from there. */
	heartbeat->alive_ns = at_ns + INTERVAL_NS;
	look_at(rc, heartbeat->due.key - early_ns);
	assert_int_equal(heartbeat->due.key, heartbeat->alive_ns + 2 * INTERVAL_NS);
	/* A process that was late by an interval gives the time again; one that was less, does not.
	 */
	at_ns = heartbeat->due.key + INTERVAL_NS;
	look_at(rc, at_ns);
	assert_int_equal(heartbeat->due.key, at_ns + 2 * INTERVAL_NS);
	look_at(rc, heartbeat->due.key + INTERVAL_NS - 1);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_string_equal(rc->conn->qp.first_error.error.text,
		"the peer's device did not acknowledge a heartbeat, and gave no sign of life for "
		"5999999 ms");
	assert_counts(rc, 1, 0);
}

RIG_TEST(test_heartbeat__an_answer_in_time_is_no_silence)
{
	const struct rig_conn *rc = connect_with(rig);
	struct vbd_heartbeat *heartbeat = heartbeat_of(rc);
	const uint64_t early_ns = INTERVAL_NS / 8;
	uint64_t at_ns = heartbeat->due.key;

	look_at(rc, at_ns);
	/* Two intervals after the sign of life: the look comes at the last moment that is in time.
	 */
	heartbeat->alive_ns = heartbeat->due.key - 2 * INTERVAL_NS + 1;
	look_at(rc, heartbeat->due.key - early_ns);
	assert_false(rc->conn->qp.channel->broken);
	heartbeat->alive_ns = heartbeat->due.key - 2 * INTERVAL_NS;
	look_at(rc, heartbeat->due.key - early_ns);
	assert_true(rc->conn->qp.channel->broken);
}

RIG_TEST(test_heartbeat__a_device_that_gives_up_tells_of_a_silent_peer)
{
	struct rig_conn *rc = connect_with(rig);

	look_after(rc, 1);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_RETRY_EXC_ERR, 0x81);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_PEER_SILENT);
	assert_int_equal(rc->conn->qp.first_error.op, -1);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_WC, "IBV_WC_RETRY_EXC_ERR"));
}

RIG_TEST(test_heartbeat__another_failure_of_it_is_not_silence)
{
	struct rig_conn *rc = connect_with(rig);

	look_after(rc, 1);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_LOC_QP_OP_ERR, 0);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_LOCAL_ERROR);
}

RIG_TEST(test_heartbeat__a_peer_that_allows_no_writes_refuses_it)
{
	struct rig_conn *rc = connect_with(rig);

	look_after(rc, 1);
	assert_false(vbd_qp_refuses_heartbeat(&rc->conn->qp));
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_INV_REQ_ERR, 0);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_true(vbd_qp_refuses_heartbeat(&rc->conn->qp));
}

RIG_TEST(test_heartbeat__messages_and_acknowledgements_are_signs_of_life)
{
	struct rig_conn *rc = connect_with(rig);
	struct ibv_qp *qp = rc->conn->qp.ibv_qp;
	const struct vbd_mem *mem = rig_mem(rc->rig, 64, 0);
	uint64_t before_ns;

	look_after(rc, 0.5);
	before_ns = heartbeat_of(rc)->alive_ns = 1;
	fake_recv_done(qp, "abc", 3);
	rig_settle(rc->rig);
	assert_true(heartbeat_of(rc)->alive_ns > before_ns);
	before_ns = heartbeat_of(rc)->alive_ns = 1;
	rig_start_transfer(rig_transfer(rc, VBD_OP_SEND, mem, 64, 64));
	fake_send_done(qp);
	rig_settle(rc->rig);
	assert_true(heartbeat_of(rc)->alive_ns > before_ns);
	assert_counts(rc, 0, 0);
}

RIG_TEST(test_heartbeat__none_is_sent_while_a_request_is_outstanding)
{
	struct rig_conn *rc = connect_with(rig);
	const struct vbd_mem *mem = rig_mem(rc->rig, 64, 0);

	rig_start_transfer(rig_transfer(rc, VBD_OP_SEND, mem, 64, 64));
	look_after(rc, 1);
	look_after(rc, 2);
	look_after(rc, 5);
	assert_int_equal(sends(rc), 1);
	assert_int_equal(heartbeat_of(rc)->due.key, heartbeat_of(rc)->alive_ns + 6 * INTERVAL_NS);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rc->rig);
	assert_counts(rc, 0, 0);
}

RIG_TEST(test_heartbeat__a_process_that_stood_still_blames_no_peer)
{
	const struct rig_conn *rc = connect_with(rig);

	look_after(rc, 1);
	look_after(rc, 60);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	/* One look, not one for each interval that was missed. */
	assert_int_equal(sends(rc), 1);
	look_after(rc, 61);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	look_after(rc, 62);
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

RIG_TEST(test_heartbeat__it_is_no_traffic_of_the_user)
{
	const struct rig_conn *rc = connect_with(rig);
	const struct vbd_op_counters *writes = vbd_qp_op_counters(&rc->conn->qp, VBD_OP_WRITE);
	const struct vbd_worker *worker = worker_of(rc);

	look_after(rc, 1);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rc->rig);
	look_after(rc, 1);
	rig_close((struct rig_conn *)rc);
	writes = vbd_qp_op_counters(&rc->conn->qp, VBD_OP_WRITE);
	assert_int_equal(vbd_counter_get(&writes->posted), 0);
	assert_int_equal(vbd_counter_get(&writes->completed), 0);
	assert_int_equal(vbd_counter_get(&writes->flushed), 0);
	assert_int_equal(vbd_counter_get(&worker->op_totals[VBD_OP_WRITE].posted), 0);
	assert_int_equal(vbd_counter_get(&worker->op_totals[VBD_OP_WRITE].flushed), 0);
	assert_int_equal(vbd_counter_get(&worker->heartbeat_totals.sent), 2);
	assert_int_equal(vbd_counter_get(&worker->heartbeat_totals.answered), 1);
	assert_counts(rc, 2, 1);
}

RIG_TEST(test_heartbeat__an_ended_connection_wakes_nobody)
{
	struct rig_conn *rc = connect_with(rig);
	const struct vbd_worker *worker = worker_of(rc);

	assert_in_range(vbd_worker_wait_ms(worker), 1, INTERVAL_MS);
	rig_close(rc);
	assert_int_equal(vbd_worker_wait_ms(worker), -1);
}

RIG_TEST(test_heartbeat__without_one_nobody_is_woken)
{
	const struct vbd_conn_params params = rig_params();
	const struct rig_conn *rc = rig_conn_connect(rig, &params);

	rig_settle(rig);
	assert_null(heartbeat_of(rc));
	assert_null(vbd_qp_heartbeat(&rc->conn->qp));
	assert_int_equal(vbd_worker_wait_ms(worker_of(rc)), -1);
}

RIG_TEST(test_heartbeat__a_turn_takes_care_of_a_few)
{
	struct vbd_worker *worker;
	unsigned int posted = 0;

	for (unsigned int i = 0; i <= VBD_HEARTBEATS_A_TURN; i++)
		(void)connect_with(rig);
	worker = worker_of(&rig->conns[0]);
	worker->now_ns = vbd_clock_mono_ns() + INTERVAL_NS;
	vbd_heartbeats_run(worker);
	for (unsigned int i = 0; i <= VBD_HEARTBEATS_A_TURN; i++)
		posted += sends(&rig->conns[i]);
	assert_int_equal(posted, VBD_HEARTBEATS_A_TURN);
	vbd_heartbeats_run(worker);
	worker->now_ns = 0;
	for (unsigned int i = 0; i <= VBD_HEARTBEATS_A_TURN; i++)
		assert_int_equal(sends(&rig->conns[i]), 1);
}

RIG_TEST(test_heartbeat__iwarp_has_none)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	params.qp.heartbeat_ms = INTERVAL_MS;
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NOT_SUPPORTED);
	assert_string_equal(rc->conn->qp.first_error.error.param, "heartbeat_ms");
}
