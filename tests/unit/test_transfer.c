/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/transfer.h"

#include "rdma/device/cq.h"
#include "tests/unit/rig.h"

static uint64_t bytes_done(const struct rig_transfer *rt)
{
	return vbd_counter_get(&rt->transfer.bytes_done);
}

static void assert_ended_as(const struct rig_transfer *rt, enum vbd_transfer_state state)
{
	assert_string_equal(
		vbd_transfer_state_name(rt->transfer.state), vbd_transfer_state_name(state));
	assert_int_equal(rt->started, 1);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->ended_as, state);
	assert_int_not_equal(vbd_counter_get(&rt->transfer.ended_ns), 0);
}

static void assert_not_ended(const struct rig_transfer *rt, enum vbd_transfer_state state)
{
	assert_int_equal(rt->ended, 0);
	assert_string_equal(
		vbd_transfer_state_name(rt->transfer.state), vbd_transfer_state_name(state));
}

/* The state table. */

TEST(test_transfer__every_pair_is_decided_and_ends_are_final)
{
	for (unsigned int state = 0; state < VBD_TRANSFER_STATE_COUNT; state++) {
		for (unsigned int event = 0; event < VBD_TRANSFER_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = vbd_transfer_rule(
				(enum vbd_transfer_state)state, (enum vbd_transfer_event)event);

			assert_non_null(rule->note);
			assert_in_range(rule->next, 0, VBD_TRANSFER_STATE_COUNT - 1);
			if (vbd_transfer_state_ended((enum vbd_transfer_state)state))
				assert_int_equal(rule->next, state);
		}
	}
	for (unsigned int event = 0; event < VBD_TRANSFER_EVENT_COUNT; event++)
		assert_non_null(vbd_transfer_event_name((enum vbd_transfer_event)event));
}

/* Cutting and posting. */

RIG_TEST(test_transfer__a_write_is_cut_into_chunks)
{
	static const uint32_t lengths[] = {300, 300, 300, 100};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 300);

	rig_start_transfer(rt);
	assert_not_ended(rt, VBD_TRANSFER_RUNNING);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 4);
	for (unsigned int i = 0; i < 4; i++) {
		struct fake_wr wr = fake_send_at(rc->conn->qp.ibv_qp, i);

		assert_int_equal(wr.opcode, IBV_WR_RDMA_WRITE);
		assert_int_equal(wr.length_bytes, lengths[i]);
		assert_ptr_equal(wr.addr, UNIT_BYTES(mem) + (size_t)i * 300);
		assert_int_equal(wr.remote_addr, 0x10000 + i * 300);
		assert_int_equal(wr.rkey, 0x77);
		assert_int_equal(wr.lkey, mem->lkey);
		assert_int_equal(wr.send_flags, IBV_SEND_SIGNALED);
	}
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	rig_settle(rig);
	assert_not_ended(rt, VBD_TRANSFER_RUNNING);
	assert_int_equal(bytes_done(rt), 900);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_int_equal(bytes_done(rt), 1000);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 4);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_WRITE)->bytes), 1000);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_WRITE)->posted), 4);
}

RIG_TEST(test_transfer__no_more_is_posted_than_the_queue_holds)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_READ, mem, 1000, 100);

	rig_start_transfer(rt);
	for (unsigned int left = 10; left > 0; left--) {
		assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), left < 4 ? left : 4);
		assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_RDMA_READ);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
	}
	assert_ended_as(rt, VBD_TRANSFER_DONE);
}

RIG_TEST(test_transfer__no_more_is_outstanding_than_its_window)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 500, 100);
	struct rig_transfer *behind = rig_transfer(rc, VBD_OP_WRITE, mem, 100, 100);

	rt->transfer.tx_depth = 2;
	rig_start_transfer(rt);
	rig_start_transfer(behind);
	for (unsigned int left = 5; left > 2; left--) {
		assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 2);
		assert_int_equal(vbd_counter_get(&behind->transfer.started_ns), 0);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
	}
	/* The last request of the first transfer is posted, so the next transfer starts. */
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 3);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_ended_as(behind, VBD_TRANSFER_DONE);
}

RIG_TEST(test_transfer__a_full_window_gets_a_completion)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt;
	struct rig_conn *rc;

	params.qp.signal_every = params.qp.sq_depth;
	rc = rig_conn_connect(rig, &params);
	rt = rig_transfer(rc, VBD_OP_WRITE, mem, 400, 100);
	rt->transfer.tx_depth = 2;
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 2);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).send_flags, 0);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 1).send_flags, IBV_SEND_SIGNALED);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 2);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
}

RIG_TEST(test_transfer__chunks_go_to_the_device_as_one_chain)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 600, 100);
	unsigned int doorbells = fake_count("ibv_post_send");

	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 4);
	assert_int_equal(fake_count("ibv_post_send"), doorbells + 1);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(
			fake_send_at(rc->conn->qp.ibv_qp, i).addr - UNIT_BYTES(mem), 100 * (int)i);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 2);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
}

RIG_TEST(test_transfer__a_chain_that_fails_half_way_ends_its_transfer)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *first = rig_transfer(rc, VBD_OP_WRITE, mem, 100, 100);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_READ, mem, 300, 100);

	rig_start_transfer(first);
	fake_fail_post(2);
	rig_start_transfer(rt);
	rig_settle(rig);
	assert_int_equal(rc->conn->qp.first_error.op, VBD_OP_READ);
	assert_int_equal(rc->conn->qp.first_error.transfer, rt->transfer.id);
	assert_string_equal(rc->conn->qp.first_error.error.call, "ibv_post_send");
	assert_int_equal(rc->conn->qp.first_error.error.raw, EIO);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(rt->transfer.outstanding_wrs, 0);
	/* Its first request was posted, and flushed; the two behind were not. */
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_READ)->posted), 1);
	assert_int_equal(first->ended, 1);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

RIG_TEST(test_transfer__a_failure_behind_unsignalled_requests_is_of_its_own)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *first, *second;
	struct rig_conn *rc;

	params.qp.signal_every = params.qp.sq_depth;
	rc = rig_conn_connect(rig, &params);
	first = rig_transfer(rc, VBD_OP_WRITE, mem, 200, 100);
	second = rig_transfer(rc, VBD_OP_READ, mem, 200, 100);
	rig_start_transfer(first);
	rig_start_transfer(second);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 4);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 7);
	rig_settle(rig);
	assert_ended_as(first, VBD_TRANSFER_DONE);
	assert_int_equal(bytes_done(first), 200);
	assert_ended_as(second, VBD_TRANSFER_FAILED);
	assert_int_equal(bytes_done(second), 100);
	assert_int_equal(second->transfer.wc_status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(rc->conn->qp.first_error.transfer, second->transfer.id);
}

RIG_TEST(test_transfer__they_go_in_order)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *first = rig_transfer(rc, VBD_OP_WRITE, mem, 600, 100);
	struct rig_transfer *second = rig_transfer(rc, VBD_OP_SEND, mem, 10, 4096);

	rig_start_transfer(first);
	rig_start_transfer(second);
	assert_int_equal(vbd_counter_get(&second->transfer.started_ns), 0);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 3);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 1).opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 2).opcode, IBV_WR_SEND);
	assert_int_not_equal(vbd_counter_get(&second->transfer.started_ns), 0);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_ended_as(first, VBD_TRANSFER_DONE);
	assert_not_ended(second, VBD_TRANSFER_RUNNING);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_ended_as(second, VBD_TRANSFER_DONE);
}

RIG_TEST(test_transfer__one_of_nothing_is_one_work_request)
{
	static const enum vbd_op ops[] = {VBD_OP_SEND, VBD_OP_WRITE, VBD_OP_READ};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);

	for (size_t i = 0; i < VBD_ARRAY_LEN(ops); i++) {
		struct rig_transfer *rt = rig_transfer(rc, ops[i], mem, 0, 100);

		rig_start_transfer(rt);
		assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
		assert_null(fake_send_at(rc->conn->qp.ibv_qp, 0).addr);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
		assert_ended_as(rt, VBD_TRANSFER_DONE);
		assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 1);
	}
}

RIG_TEST(test_transfer__inline_bytes_are_copied)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND, mem, VBD_INLINE_BYTES, 4096);
	struct fake_wr wr;

	memset(UNIT_BYTES(mem), 'a', VBD_INLINE_BYTES);
	rt->transfer.wr.inlined = true;
	rt->transfer.lkey = 0;
	rig_start_transfer(rt);
	memset(UNIT_BYTES(mem), 'b', VBD_INLINE_BYTES);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	for (size_t i = 0; i < VBD_INLINE_BYTES; i++)
		assert_int_equal(wr.inlined[i], 'a');
}

/* Cancelling. */

RIG_TEST(test_transfer__a_queued_one_is_cancelled_at_once)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *first = rig_transfer(rc, VBD_OP_WRITE, mem, 400, 100);
	struct rig_transfer *second = rig_transfer(rc, VBD_OP_WRITE, mem, 400, 100);
	struct rig_transfer *third = rig_transfer(rc, VBD_OP_WRITE, mem, 100, 100);

	rig_start_transfer(first);
	rig_start_transfer(second);
	rig_start_transfer(third);
	rig_cancel_transfer(second, false);
	assert_ended_as(second, VBD_TRANSFER_CANCELLED);
	assert_int_equal(bytes_done(second), 0);
	assert_int_equal(second->transfer.error.status, VBD_E_CANCELLED);
	assert_not_ended(first, VBD_TRANSFER_RUNNING);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_ended_as(first, VBD_TRANSFER_DONE);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_ended_as(third, VBD_TRANSFER_DONE);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_transfer__a_running_one_waits_for_what_the_device_holds)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(rt);
	rig_cancel_transfer(rt, false);
	assert_not_ended(rt, VBD_TRANSFER_CANCELLING);
	/* Cancelling again changes nothing. */
	rig_cancel_transfer(rt, true);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	rig_settle(rig);
	assert_not_ended(rt, VBD_TRANSFER_CANCELLING);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_CANCELLED);
	assert_int_equal(bytes_done(rt), 400);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 0);
	rig_cancel_transfer(rt, false);
	assert_ended_as(rt, VBD_TRANSFER_CANCELLED);
}

RIG_TEST(test_transfer__what_its_deadline_stopped_timed_out)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *running = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);
	struct rig_transfer *queued = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(running);
	rig_start_transfer(queued);
	rig_cancel_transfer(queued, true);
	assert_ended_as(queued, VBD_TRANSFER_TIMED_OUT);
	rig_cancel_transfer(running, true);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_ended_as(running, VBD_TRANSFER_TIMED_OUT);
}

RIG_TEST(test_transfer__a_transfer_faster_than_its_cancel_is_done)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *before = rig_transfer(rc, VBD_OP_WRITE, mem, 200, 100);
	struct rig_transfer *behind = rig_transfer(rc, VBD_OP_WRITE, mem, 200, 100);

	/* The last completion is already in the CQ. */
	rig_start_transfer(before);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_cancel_transfer(before, false);
	assert_ended_as(before, VBD_TRANSFER_DONE);

	/* All requests are posted: there is nothing to cancel. */
	rig_start_transfer(behind);
	rig_cancel_transfer(behind, false);
	assert_not_ended(behind, VBD_TRANSFER_CANCELLING);
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_ended_as(behind, VBD_TRANSFER_DONE);
	assert_int_equal(bytes_done(behind), 200);
}

RIG_TEST(test_transfer__a_cancel_right_behind_the_start_is_in_time)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	vbd_transfer_submit(&rt->transfer);
	rig_cancel_transfer(rt, false);
	assert_not_ended(rt, VBD_TRANSFER_CANCELLING);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_CANCELLED);
}

RIG_TEST(test_transfer__a_cancel_that_meets_a_failure_failed)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(rt);
	rig_cancel_transfer(rt, false);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_RETRY_EXC_ERR, 1);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_RETRY_EXCEEDED);
}

/* Failing. */

RIG_TEST(test_transfer__an_error_midway_ends_it_and_those_behind_it)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);
	struct rig_transfer *behind = rig_transfer(rc, VBD_OP_SEND, mem, 10, 100);

	rig_start_transfer(rt);
	rig_start_transfer(behind);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(bytes_done(rt), 100);
	assert_int_equal(rt->transfer.wc_status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(rt->transfer.vendor_err, 0x88);
	assert_int_equal(rt->transfer.error.status, VBD_E_REMOTE_ACCESS);
	assert_ended_as(behind, VBD_TRANSFER_FAILED);
	assert_int_equal(behind->transfer.wc_status, -1);
	assert_int_equal(behind->transfer.error.status, VBD_E_QP_FATAL);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.first_error.transfer, 1);
	assert_int_equal(rc->conn->qp.first_error.op, VBD_OP_WRITE);
	rig_assert_gone(rc);
}

RIG_TEST(test_transfer__an_only_work_request_that_fails_ends_it_once)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 100, 100);

	rig_start_transfer(rt);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

RIG_TEST(test_transfer__a_post_that_fails_ends_the_connection)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(rt);
	fake_send_done(rc->conn->qp.ibv_qp);
	fake_fail_next("ibv_post_send", ENOMEM);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_RESOURCE_ERROR);
	assert_string_equal(rc->conn->qp.first_error.error.call, "ibv_post_send");
	assert_int_equal(rc->conn->qp.first_error.transfer, 1);
}

RIG_TEST(test_transfer__a_first_post_that_fails_ends_all_that_wait)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *first = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);
	struct rig_transfer *second = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	fake_fail_next("ibv_post_send", ENOMEM);
	vbd_transfer_submit(&first->transfer);
	rig_start_transfer(second);
	assert_ended_as(first, VBD_TRANSFER_FAILED);
	assert_ended_as(second, VBD_TRANSFER_FAILED);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

/* The connection ends. */

RIG_TEST(test_transfer__no_memory_for_its_requests_is_its_failure)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 500, 100);

	fake_memory_fail_nth(1);
	rig_start_transfer(rt);
	assert_true(fake_memory_failed());
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->transfer.outstanding_wrs, 0);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NO_MEMORY);
	assert_int_equal(rc->conn->qp.first_error.op, VBD_OP_WRITE);
	assert_int_equal(rc->conn->qp.first_error.transfer, rt->transfer.id);
}

RIG_TEST(test_transfer__a_close_ends_what_runs_and_what_waits)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *running = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);
	struct rig_transfer *waiting = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(running);
	rig_start_transfer(waiting);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_close(rc);
	assert_ended_as(running, VBD_TRANSFER_FAILED);
	assert_ended_as(waiting, VBD_TRANSFER_FAILED);
	assert_int_equal(bytes_done(running), 100);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
}

RIG_TEST(test_transfer__a_transfer_without_completions_has_failed)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *posted = rig_transfer(rc, VBD_OP_WRITE, mem, 200, 100);
	struct rig_transfer *cancelled = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);
	struct rig_transfer *waiting = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(posted);
	rig_start_transfer(cancelled);
	rig_start_transfer(waiting);
	rig_cancel_transfer(cancelled, false);
	fake_flushes_withheld(true);
	rig_close(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	/* The completions of outstanding requests may still bring the cause. */
	assert_not_ended(waiting, VBD_TRANSFER_RUNNING);
	rig_deadline(rc);
	assert_ended_as(waiting, VBD_TRANSFER_FAILED);
	assert_ended_as(posted, VBD_TRANSFER_FAILED);
	/* A cancelled transfer is cancelled, even if the connection fails. */
	assert_ended_as(cancelled, VBD_TRANSFER_CANCELLED);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_cqs_idle(rig);
}

RIG_TEST(test_transfer__a_cancel_behind_the_drain_needs_no_command)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(rt);
	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	vbd_transfer_request_cancel(&rt->transfer, false);
	assert_false(rt->transfer.cancel_sent);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_CANCELLED);
	rig_assert_gone(rc);
}

RIG_TEST(test_transfer__a_cancel_before_the_drain_is_answered)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 1000, 100);

	rig_start_transfer(rt);
	vbd_transfer_request_cancel(&rt->transfer, false);
	rig_close(rc);
	assert_int_equal(rt->ended, 1);
	assert_true(rt->transfer.cancel_back);
	rig_assert_gone(rc);
}

/* With real bytes. */

static void fill(struct vbd_mem *mem, uint8_t seed)
{
	for (size_t i = 0; i < mem->size_bytes; i++)
		UNIT_BYTES(mem)[i] = (uint8_t)(i * 7 + seed);
}

RIG_TEST(test_transfer__a_write_arrives_and_a_read_brings_it_back)
{
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_mem *here = rig_mem(rig, 100000, 0);
	struct vbd_mem *there =
		rig_mem(rig, 100000, VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ);
	struct vbd_mem *back = rig_mem(rig, 100000, 0);
	struct rig_conn *active, *passive;
	struct rig_transfer *rt;

	rig_loop_connect(listener, &active, &passive);
	fill(here, 1);
	rt = rig_transfer(active, VBD_OP_WRITE, here, 100000, 777);
	rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there);
	rt->transfer.wr.rkey = there->rkey;
	rig_start_transfer(rt);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_memory_equal(UNIT_BYTES(here), UNIT_BYTES(there), 100000);

	/* The passive side may transfer too. */
	fill(there, 2);
	rt = rig_transfer(passive, VBD_OP_READ, back, 99999, 4096);
	rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there) + 1;
	rt->transfer.wr.rkey = there->rkey;
	rig_start_transfer(rt);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_memory_equal(UNIT_BYTES(back), UNIT_BYTES(there) + 1, 99999);
}

static void assert_access_fails(
	struct rig *rig, enum vbd_op op, unsigned int access, uint64_t past_end, uint32_t key_error)
{
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_mem *here = rig_mem(rig, 4096, 0);
	struct vbd_mem *there = rig_mem(rig, 4096, access);
	struct rig_conn *active, *passive;
	struct rig_transfer *rt;

	rig_loop_connect(listener, &active, &passive);
	rt = rig_transfer(active, op, here, 4096, 1024);
	rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there) + past_end;
	rt->transfer.wr.rkey = there->rkey + key_error;
	rig_start_transfer(rt);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(active->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
	/* The peer's QP is in error too; its device reports it. */
	assert_int_equal(passive->conn->state, VBD_CONN_FAILED);
	assert_int_equal(passive->conn->qp.reason, VBD_REASON_QP_FATAL);
	assert_int_equal(bytes_done(rt), past_end ? 3072 : 0);
}

RIG_TEST(test_transfer__a_wrong_key_is_refused)
{
	assert_access_fails(rig, VBD_OP_WRITE, VBD_ACCESS_REMOTE_WRITE, 0, 50);
}

RIG_TEST(test_transfer__bytes_past_the_end_are_refused)
{
	assert_access_fails(rig, VBD_OP_WRITE, VBD_ACCESS_REMOTE_WRITE, 1, 0);
}

RIG_TEST(test_transfer__a_write_into_what_may_be_read_is_refused)
{
	assert_access_fails(rig, VBD_OP_WRITE, VBD_ACCESS_REMOTE_READ, 0, 0);
}

RIG_TEST(test_transfer__a_read_of_what_may_be_written_is_refused)
{
	assert_access_fails(rig, VBD_OP_READ, VBD_ACCESS_REMOTE_WRITE, 0, 0);
}

RIG_TEST(test_transfer__a_message_longer_than_the_receive_ends_both)
{
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_mem *here = rig_mem(rig, 4096, 0);
	struct rig_conn *active, *passive;
	struct rig_transfer *rt;

	rig_loop_connect(listener, &active, &passive);
	rt = rig_transfer(active, VBD_OP_SEND, here, 65, 4096);
	rig_start_transfer(rt);
	assert_ended_as(rt, VBD_TRANSFER_FAILED);
	assert_int_equal(active->conn->qp.reason, VBD_REASON_REMOTE_INVALID);
	assert_int_equal(passive->conn->qp.reason, VBD_REASON_LOCAL_ERROR);
}

/* Transfers of a benchmark. */

static void complete_oldest(struct rig_conn *rc)
{
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rc->rig);
}

RIG_TEST(test_transfer__a_repeated_one_moves_the_same_bytes_again)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_mem *mem = rig_mem(rig, 4096, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 5 * 300, 300);
	struct vbd_histogram *latency_ns = calloc(1, sizeof(*latency_ns));

	assert_non_null(latency_ns);
	rt->transfer.repeats = 5;
	rt->transfer.tx_depth = 2;
	rt->transfer.latency_ns = latency_ns;
	rig_start_transfer(rt);
	for (unsigned int i = 0; i < 5; i++) {
		struct fake_wr wr = fake_send_at(rc->conn->qp.ibv_qp, 0);

		assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), i < 4 ? 2 : 1);
		assert_ptr_equal(wr.addr, UNIT_BYTES(mem));
		assert_int_equal(wr.length_bytes, 300);
		assert_int_equal(wr.remote_addr, 0x10000);
		assert_not_ended(rt, VBD_TRANSFER_RUNNING);
		complete_oldest(rc);
	}
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_int_equal(bytes_done(rt), 1500);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 5);
	assert_int_equal(vbd_counter_get(&latency_ns->count), 5);
	free(latency_ns);
}

RIG_TEST(test_transfer__nothing_can_be_repeated_too)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND, rig_mem(rig, 4096, 0), 0, 0);

	rt->transfer.local_addr = 0;
	rt->transfer.repeats = 3;
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 3);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	rig_settle(rig);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 3);
}

RIG_TEST(test_transfer__when_the_time_is_up_one_more_goes_out_as_the_last)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_READ, rig_mem(rig, 4096, 0), 64, 64);

	rt->transfer.repeats = UINT64_MAX;
	rt->transfer.run_ns = UINT64_C(3600000000000);
	rt->transfer.tx_depth = 1;
	rig_start_transfer(rt);
	for (unsigned int i = 0; i < 20; i++)
		complete_oldest(rc);
	assert_not_ended(rt, VBD_TRANSFER_RUNNING);
	/* A start at time 1, long ago. */
	vbd_counter_set(&rt->transfer.started_ns, 1);
	rt->transfer.run_ns = 1;
	complete_oldest(rc);
	assert_not_ended(rt, VBD_TRANSFER_RUNNING);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	complete_oldest(rc);
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_int_equal(bytes_done(rt), 22 * 64);
}

RIG_TEST(test_transfer__only_signalled_requests_are_timed)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_histogram *latency_ns = calloc(1, sizeof(*latency_ns));
	struct rig_transfer *rt;
	struct rig_conn *rc;

	assert_non_null(latency_ns);
	params.qp.signal_every = 4;
	rc = rig_conn_connect(rig, &params);
	rt = rig_transfer(rc, VBD_OP_WRITE, rig_mem(rig, 4096, 0), 8 * 8, 8);
	rt->transfer.repeats = 8;
	rt->transfer.latency_ns = latency_ns;
	rig_start_transfer(rt);
	while (fake_sends(rc->conn->qp.ibv_qp)) {
		fake_sends_done(rc->conn->qp.ibv_qp, fake_sends(rc->conn->qp.ibv_qp));
		rig_settle(rig);
	}
	assert_ended_as(rt, VBD_TRANSFER_DONE);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 8);
	assert_int_equal(vbd_counter_get(&latency_ns->count), 2);
	free(latency_ns);
}
