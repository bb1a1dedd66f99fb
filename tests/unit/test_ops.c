/* SPDX-License-Identifier: Apache-2.0 */
/* The work requests of each operation, their results, and which of them are signalled. */
#include "rdma/device/op.h"

#include "rdma/device/cq.h"
#include "tests/unit/rig.h"

#include <endian.h>
#include <sys/mman.h>

static struct rig_conn *connect_with(struct rig *rig, struct vbd_conn_params params)
{
	struct rig_conn *rc;

	fake_receives_optional(params.qp.service == VBD_SERVICE_NONE);
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	return rc;
}

static struct rig_conn *connect_none(struct rig *rig, uint32_t rq_depth)
{
	struct vbd_conn_params params = rig_params();

	params.qp.service = VBD_SERVICE_NONE;
	params.qp.rq_depth = rq_depth;
	params.qp.max_recv_sge = 3;
	return connect_with(rig, params);
}

static void assert_done(const struct rig_transfer *rt, uint64_t bytes, uint64_t wrs)
{
	assert_int_equal(rt->ended, 1);
	assert_string_equal(vbd_transfer_state_name(rt->transfer.state), "done");
	assert_int_equal(vbd_counter_get(&rt->transfer.bytes_done), bytes);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), wrs);
}

static const struct vbd_op_counters *counters_of(const struct rig_conn *rc, enum vbd_op op)
{
	return vbd_qp_op_counters(&rc->conn->qp, op);
}

static struct vbd_sge range(const struct vbd_mem *mem, uint32_t offset, uint32_t length_bytes)
{
	return (struct vbd_sge){mem->addr + offset, length_bytes, mem->lkey};
}

/* Operations of each transport. */

RIG_TEST(test_ops__each_transport_knows_its_own)
{
	for (unsigned int i = 0; i < VBD_OP_COUNT; i++)
		assert_true(vbd_op_allowed((enum vbd_op)i, VBD_TRANSPORT_RC));
	assert_false(vbd_op_allowed(VBD_OP_READ, VBD_TRANSPORT_UC));
	assert_false(vbd_op_allowed(VBD_OP_FETCH_ADD, VBD_TRANSPORT_UC));
	assert_false(vbd_op_allowed(VBD_OP_COMPARE_SWAP, VBD_TRANSPORT_UC));
	assert_true(vbd_op_allowed(VBD_OP_WRITE_IMM, VBD_TRANSPORT_UC));
	assert_false(vbd_op_allowed(VBD_OP_WRITE, VBD_TRANSPORT_UD));
	assert_false(vbd_op_allowed(VBD_OP_WRITE_IMM, VBD_TRANSPORT_UD));
	assert_true(vbd_op_allowed(VBD_OP_SEND_IMM, VBD_TRANSPORT_UD));
	assert_string_equal(vbd_transport_name(VBD_TRANSPORT_UC), "uc");
}

/* Immediates. */

RIG_TEST(test_ops__a_send_carries_its_immediate)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND_IMM, mem, 64, 64);
	struct fake_wr wr;

	rt->transfer.wr.imm = 0x12345678;
	rig_start_transfer(rt);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(be32toh(wr.imm_data), 0x12345678);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_done(rt, 64, 1);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_SEND_IMM)->completed), 1);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_SEND)->posted), 0);
}

RIG_TEST(test_ops__only_the_end_of_a_write_tells_the_peer)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE_IMM, mem, 50, 20);

	rt->transfer.wr.imm = 7;
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 3);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 1).opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 2).opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 2).length_bytes, 10);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 2).remote_addr, 0x10000 + 40);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	rig_settle(rig);
	assert_done(rt, 50, 3);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->completed), 2);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE_IMM)->completed), 1);
}

RIG_TEST(test_ops__messages_tell_what_the_peer_did)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_received *received;

	fake_recv_done_imm(rc->conn->qp.ibv_qp, IBV_WC_RECV, "abc", 3, UINT32_MAX);
	fake_recv_done_imm(rc->conn->qp.ibv_qp, IBV_WC_RECV_RDMA_WITH_IMM, NULL, 5000, 0);
	fake_recv_done(rc->conn->qp.ibv_qp, "d", 1);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 3);
	received = &rc->messages[0]->received;
	assert_int_equal(received->op, VBD_OP_SEND);
	assert_true(received->has_imm);
	assert_int_equal(received->imm, UINT32_MAX);
	assert_int_equal(received->length_bytes, 3);
	assert_int_equal(received->written_bytes, 0);
	received = &rc->messages[1]->received;
	assert_int_equal(received->op, VBD_OP_WRITE_IMM);
	assert_true(received->has_imm);
	assert_int_equal(received->imm, 0);
	assert_int_equal(received->length_bytes, 0);
	assert_int_equal(received->written_bytes, 5000);
	assert_false(rc->messages[2]->received.has_imm);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_RECV)->bytes), 4);
}

RIG_TEST(test_ops__an_echo_keeps_the_immediate)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.service = VBD_SERVICE_ECHO;
	rc = connect_with(rig, params);
	fake_recv_done_imm(rc->conn->qp.ibv_qp, IBV_WC_RECV, "abc", 3, 9);
	rig_settle(rig);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(be32toh(fake_send_at(rc->conn->qp.ibv_qp, 0).imm_data), 9);
}

/* Atomics. */

RIG_TEST(test_ops__an_atomic_brings_the_old_value)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;
	struct vbd_mem *there = rig_mem(rig, 64, VBD_ACCESS_REMOTE_ATOMIC);
	struct vbd_mem *here = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct vbd_sge place;
	uint64_t word = 40;

	rig_loop_connect(listener, &active, &passive);
	memcpy(UNIT_BYTES(there) + 8, &word, sizeof(word));
	rt = rig_transfer(active, VBD_OP_FETCH_ADD, here, VBD_ATOMIC_BYTES, VBD_ATOMIC_BYTES);
	rt->transfer.local_addr = 0;
	rt->transfer.wr.remote_addr = (uintptr_t)there->addr + 8;
	rt->transfer.wr.rkey = there->rkey;
	rt->transfer.wr.compare_add = 2;
	rig_start_transfer(rt);
	assert_done(rt, 8, 1);
	assert_int_equal(rt->transfer.old_value, 40);

	place = range(here, 16, 8);
	rt = rig_transfer(active, VBD_OP_COMPARE_SWAP, here, VBD_ATOMIC_BYTES, VBD_ATOMIC_BYTES);
	rt->transfer.local_addr = 0;
	rt->transfer.sges = &place;
	rt->transfer.sge_count = 1;
	rt->transfer.wr.remote_addr = (uintptr_t)there->addr + 8;
	rt->transfer.wr.rkey = there->rkey;
	rt->transfer.wr.compare_add = 42;
	rt->transfer.wr.swap = 1;
	rig_start_transfer(rt);
	assert_done(rt, 8, 1);
	assert_int_equal(rt->transfer.old_value, 42);
	memcpy(&word, UNIT_BYTES(here) + 16, sizeof(word));
	assert_int_equal(word, 42);
	memcpy(&word, UNIT_BYTES(there) + 8, sizeof(word));
	assert_int_equal(word, 1);
}

RIG_TEST(test_ops__an_atomic_on_a_queue_pair_without_that_access_is_refused)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;
	struct vbd_mem *there = rig_mem(rig, 64, VBD_ACCESS_REMOTE_ATOMIC);
	struct rig_transfer *rt;

	listener->params.remote_access = VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ;
	rig_loop_connect(listener, &active, &passive);
	rt = rig_transfer(active, VBD_OP_FETCH_ADD, there, VBD_ATOMIC_BYTES, VBD_ATOMIC_BYTES);
	rt->transfer.local_addr = 0;
	rt->transfer.wr.remote_addr = (uintptr_t)there->addr;
	rt->transfer.wr.rkey = there->rkey;
	rig_start_transfer(rt);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(active->conn->qp.reason, VBD_REASON_REMOTE_INVALID);
}

RIG_TEST(test_ops__an_atomic_on_memory_without_that_access_is_refused)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *active, *passive;
	struct vbd_mem *there = rig_mem(rig, 64, VBD_ACCESS_REMOTE_WRITE);
	struct rig_transfer *rt;

	rig_loop_connect(listener, &active, &passive);
	rt = rig_transfer(active, VBD_OP_FETCH_ADD, there, VBD_ATOMIC_BYTES, VBD_ATOMIC_BYTES);
	rt->transfer.local_addr = 0;
	rt->transfer.wr.remote_addr = (uintptr_t)there->addr;
	rt->transfer.wr.rkey = there->rkey;
	rig_start_transfer(rt);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(active->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
}

/* A program that has the descriptor of a shared buffer can take its pages away. */
RIG_TEST(test_ops__a_result_that_cant_be_read_fails_its_atomic)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	const struct vbd_sge place = range(mem, 16, 8);
	struct rig_transfer *rt =
		rig_transfer(rc, VBD_OP_FETCH_ADD, mem, VBD_ATOMIC_BYTES, VBD_ATOMIC_BYTES);

	rt->transfer.local_addr = 0;
	rt->transfer.sges = &place;
	rt->transfer.sge_count = 1;
	rig_start_transfer(rt);
	assert_int_equal(mprotect(UNIT_BYTES(mem), 64, PROT_NONE), 0);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(rt->transfer.error.status, VBD_E_NO_MEMORY);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

/* Lists. */

RIG_TEST(test_ops__a_list_is_one_work_request_without_its_empty_ranges)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	const struct vbd_sge sges[] = {range(mem, 10, 5), range(mem, 0, 0), range(mem, 0, 7)};
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_WRITE, mem, 12, 4);
	struct fake_wr wr;

	rt->transfer.local_addr = 0;
	rt->transfer.sges = sges;
	rt->transfer.sge_count = 3;
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.sge_count, 2);
	assert_int_equal(wr.sges[0].addr, (uintptr_t)mem->addr + 10);
	assert_int_equal(wr.sges[1].addr, (uintptr_t)mem->addr);
	assert_int_equal(wr.length_bytes, 12);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_done(rt, 12, 1);
}

static void assert_too_many(
	struct rig *rig, const struct vbd_conn_params *params, const char *param)
{
	struct rig_conn *rc = rig_conn_connect(rig, params);

	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_OUT_OF_RANGE);
	assert_string_equal(rc->conn->qp.first_error.error.param, param);
	assert_false(rc->conn->qp.info.lqpn);
	rig_assert_cqs_idle(rig);
}

RIG_TEST(test_ops__more_ranges_than_the_device_has_are_refused)
{
	struct vbd_conn_params params = rig_params();

	params.qp.max_send_sge = 33;
	assert_too_many(rig, &params, "max_send_sge");
	params = rig_params();
	params.qp.max_recv_sge = 33;
	assert_too_many(rig, &params, "max_recv_sge");
	params = rig_params();
	params.qp.max_send_sge = params.qp.max_recv_sge = 32;
	(void)connect_with(rig, params);
}

RIG_TEST(test_ops__the_default_is_lowered_to_what_the_device_has)
{
	struct rig_conn *rc;

	rig_stop(rig);
	rig->device->attr.max_sge = 2;
	assert_true(rig_start(rig, 1));
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(rc->conn->qp.channel->limits.max_send_sge, 2);
}

RIG_TEST(test_ops__too_much_inline_is_named)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.inline_bytes = 200;
	rc = connect_with(rig, params);
	assert_int_equal(rc->conn->qp.channel->limits.inline_bytes, 200);
	rig_close(rc);
	fake_fail_next("ibv_create_qp", EINVAL);
	assert_too_many(rig, &params, "inline_bytes");
}

/* Receives of a client. */

static struct rig_transfer *receive(
	struct rig_conn *rc, const struct vbd_mem *mem, const struct vbd_sge *sges, uint32_t count)
{
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_RECV, mem, 0, 1);

	rt->transfer.local_addr = 0;
	rt->transfer.sges = sges;
	rt->transfer.sge_count = count;
	for (uint32_t i = 0; i < count; i++)
		rt->transfer.length_bytes += sges[i].length_bytes;
	rig_start_transfer(rt);
	return rt;
}

RIG_TEST(test_ops__a_receive_is_scattered)
{
	struct rig_conn *rc = connect_none(rig, 4);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	const struct vbd_sge sges[] = {range(mem, 20, 2), range(mem, 0, 2), range(mem, 40, 10)};
	struct rig_transfer *rt;

	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 0);
	rt = receive(rc, mem, sges, 3);
	assert_int_equal(rt->transfer.state, VBD_TRANSFER_RUNNING);
	fake_recv_done_imm(rc->conn->qp.ibv_qp, IBV_WC_RECV, "abcdef", 6, 3);
	rig_settle(rig);
	assert_done(rt, 6, 1);
	assert_memory_equal(UNIT_BYTES(mem) + 20, "ab", 2);
	assert_memory_equal(UNIT_BYTES(mem), "cd", 2);
	assert_memory_equal(UNIT_BYTES(mem) + 40, "ef", 2);
	assert_int_equal(rt->transfer.received.length_bytes, 6);
	assert_true(rt->transfer.received.has_imm);
	assert_int_equal(rt->transfer.received.imm, 3);
	assert_int_equal(rc->messages_ever, 0);
}

RIG_TEST(test_ops__a_receive_of_nothing_has_a_range_on_iwarp_only)
{
	struct vbd_mem *mem = rig_mem(rig, 64, 0);

	for (int iwarp = 0; iwarp < 2; iwarp++) {
		const struct vbd_channel *channel;
		struct rig_transfer *rt;
		struct rig_conn *rc;
		struct fake_wr wr;

		if (iwarp)
			rig_make_iwarp(rig);
		rc = connect_none(rig, 4);
		channel = rc->conn->qp.channel;
		rt = receive(rc, mem, NULL, 0);
		wr = fake_recv_at(rc->conn->qp.ibv_qp, 0);
		assert_int_equal(wr.sge_count, iwarp);
		assert_int_equal(wr.length_bytes, 0);
		assert_ptr_equal(wr.addr, iwarp ? channel->mem.addr : NULL);
		assert_int_equal(wr.lkey, iwarp ? channel->mem.lkey : 0);
		fake_recv_done(rc->conn->qp.ibv_qp, "", 0);
		rig_settle(rig);
		assert_done(rt, 0, 1);
	}
}

RIG_TEST(test_ops__receives_wait_for_room_in_the_queue_and_keep_their_order)
{
	struct rig_conn *rc = connect_none(rig, 2);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rts[5];
	struct vbd_sge sges[5];
	struct rig_transfer *sent;

	for (uint32_t i = 0; i < 5; i++) {
		sges[i] = range(mem, i * 4, 4);
		rts[i] = receive(rc, mem, &sges[i], 1);
	}
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 2);
	/* Receives do not delay sends. */
	sent = rig_transfer(rc, VBD_OP_SEND, mem, 4, 4);
	rig_start_transfer(sent);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_done(sent, 4, 1);
	for (uint32_t i = 0; i < 5; i++) {
		char letter = (char)('a' + i);

		fake_recv_done(rc->conn->qp.ibv_qp, &letter, 1);
		rig_settle(rig);
		assert_done(rts[i], 1, 1);
		assert_int_equal(UNIT_BYTES(mem)[i * 4], letter);
	}
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 0);
}

RIG_TEST(test_ops__a_receive_that_waits_is_cancelled_at_once)
{
	struct rig_conn *rc = connect_none(rig, 1);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct vbd_sge sge = range(mem, 0, 4);
	struct rig_transfer *posted = receive(rc, mem, &sge, 1);
	struct rig_transfer *waiting = receive(rc, mem, &sge, 1);

	rig_cancel_transfer(waiting, false);
	assert_int_equal(waiting->ended_as, VBD_TRANSFER_CANCELLED);
	rig_cancel_transfer(posted, false);
	assert_int_equal(posted->ended, 0);
	rig_close(rc);
	assert_int_equal(posted->ended_as, VBD_TRANSFER_CANCELLED);
}

RIG_TEST(test_ops__receives_end_with_their_connection)
{
	struct rig_conn *rc = connect_none(rig, 1);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct vbd_sge sge = range(mem, 0, 4);
	struct rig_transfer *posted = receive(rc, mem, &sge, 1);
	struct rig_transfer *waiting = receive(rc, mem, &sge, 1);

	fake_flushes_withheld(true);
	rig_close(rc);
	assert_int_equal(waiting->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(posted->ended, 0);
	/* Its flush never comes: the QP is destroyed first. */
	rig_deadline(rc);
	assert_int_equal(posted->ended_as, VBD_TRANSFER_FAILED);
	rig_assert_cqs_idle(rig);
}

RIG_TEST(test_ops__a_receive_that_can_not_be_posted_ends_the_connection)
{
	struct rig_conn *rc = connect_none(rig, 2);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct vbd_sge sge = range(mem, 0, 4);
	struct rig_transfer *rt;

	fake_fail_next("ibv_post_recv", ENOMEM);
	rt = receive(rc, mem, &sge, 1);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

/* Completions. */

RIG_TEST(test_ops__each_nth_asks_for_a_completion_and_the_last)
{
	static const bool wanted[] = {false, false, true, false, false, true, true};
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct rig_conn *rc;

	params.qp.sq_depth = 16;
	params.qp.signal_every = 3;
	rc = connect_with(rig, params);
	rt = rig_transfer(rc, VBD_OP_WRITE, mem, 7, 1);
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 7);
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(
			!!(fake_send_at(rc->conn->qp.ibv_qp, i).send_flags & IBV_SEND_SIGNALED),
			wanted[i]);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->signalled), 3);
	/* The first two are unsignalled; the completion of the third retires them. */
	fake_sends_done(rc->conn->qp.ibv_qp, 2);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 0);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 3);
	assert_int_equal(vbd_counter_get(&rt->transfer.bytes_done), 3);
	fake_sends_done(rc->conn->qp.ibv_qp, 4);
	rig_settle(rig);
	assert_done(rt, 7, 7);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->completed), 7);
}

RIG_TEST(test_ops__a_full_queue_ends_with_a_completion)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct rig_conn *rc;

	params.qp.sq_depth = params.qp.signal_every = 4;
	rc = connect_with(rig, params);
	rt = rig_transfer(rc, VBD_OP_WRITE, mem, 10, 1);
	rig_start_transfer(rt);
	for (unsigned int done = 0; done < 10; done++) {
		assert_int_not_equal(fake_sends(rc->conn->qp.ibv_qp), 0);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
	}
	assert_done(rt, 10, 10);
}

RIG_TEST(test_ops__an_error_says_that_those_before_it_went_well)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct rig_conn *rc;

	params.qp.sq_depth = 8;
	params.qp.signal_every = 8;
	rc = connect_with(rig, params);
	rt = rig_transfer(rc, VBD_OP_WRITE, mem, 8, 1);
	rig_start_transfer(rt);
	fake_sends_done(rc->conn->qp.ibv_qp, 3);
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_settle(rig);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_int_equal(vbd_counter_get(&rt->transfer.wrs_done), 3);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->completed), 3);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->errors), 1);
	assert_int_equal(vbd_counter_get(&counters_of(rc, VBD_OP_WRITE)->flushed), 4);
}

RIG_TEST(test_ops__a_close_leaves_no_work_behind_that_nobody_would_tell_of)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct rig_conn *rc;

	params.qp.sq_depth = 8;
	params.qp.signal_every = 8;
	rc = connect_with(rig, params);
	rt = rig_transfer(rc, VBD_OP_WRITE, mem, 20, 1);
	rig_start_transfer(rt);
	fake_sends_done(rc->conn->qp.ibv_qp, 5);
	rig_close(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(rt->ended, 1);
	rig_assert_cqs_idle(rig);
}
