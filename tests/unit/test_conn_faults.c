/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection's life with each provider call, and each allocation, failing in turn. Whichever
 * fails, the connection ends, reports it, and leaves no object behind.
 */
#include "rdma/conn/conn.h"

#include "tests/unit/rig.h"

/* More calls than any life below makes. */
#define CALLS_MAX 400

/* The stages that a life reached. */
struct life {
	bool established;
	bool moved;  /* a message each way */
	bool closed; /* ended without an error */
};

/* Calls that may fail without the connection failing: reads of facts for display, and calls during
 * teardown or that are repeated later. */
static bool is_harmless(const char *call)
{
	static const char *const calls[] = {
		"ibv_query_qp",	     /* the QP's facts stay unknown */
		"ibv_query_gid_ex",  /* the facts of its GID stay unknown */
		"rdma_disconnect",   /* the QP is destroyed anyway */
		"ibv_req_notify_cq", /* the CQ is polled instead */
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i], call) == 0)
			return true;
	}
	return false;
}

static void on_ended(struct vbd_transfer *transfer, void *arg)
{
	(void)transfer;
	*(bool *)arg = true;
}

static void fire_deadlines(struct rig_conn *rc)
{
	for (int i = 0; i < 3 && rc->deadline_ms; i++)
		rig_deadline(rc);
}

/* Receives a message, sends a message, and forgets the first one. */
static bool move_messages(struct rig *rig, struct rig_conn *rc)
{
	/* Static, so that the teardown can free it after a failed assertion. */
	static struct vbd_transfer transfer;
	static uint8_t byte;
	static bool ended;

	ended = false;
	transfer = (struct vbd_transfer){
		.op = VBD_OP_SEND,
		.channel = rc->conn->qp.channel,
		.local_addr = (uintptr_t)&byte,
		.wr.inlined = true,
		.length_bytes = 1,
		.chunk_bytes = 64,
		.ended = on_ended,
		.arg = &ended,
	};

	fake_recv_done(rc->conn->qp.ibv_qp, "ping", 4);
	vbd_transfer_submit(&transfer);
	rig_settle(rig);
	if (rc->conn->qp.ibv_qp && fake_sends(rc->conn->qp.ibv_qp))
		fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	if (rc->message_count)
		rig_release(rc);
	fire_deadlines(rc);
	assert_true(ended);
	if (rc->conn->state != VBD_CONN_ESTABLISHED)
		return false;
	/* The connection lives, so all its work must have completed. */
	assert_int_equal(transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(rc->message_count, 0);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	return true;
}

static struct life live_on(struct rig *rig, struct rig_conn *rc)
{
	struct life life = {0};

	fire_deadlines(rc);
	life.established = rc->conn->state == VBD_CONN_ESTABLISHED;
	if (life.established)
		life.moved = move_messages(rig, rc);
	if (rc->conn->state == VBD_CONN_ESTABLISHED)
		rig_close(rc);
	fire_deadlines(rc);
	life.closed = rc->conn->state == VBD_CONN_CLOSED;
	if (!life.closed) {
		assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
		assert_int_not_equal(rc->conn->qp.first_error.at_ns, 0);
		assert_true(rc->conn->qp.first_error.error.text[0] != '\0');
	}
	rig_assert_gone(rc);
	rig_assert_cqs_idle(rig);
	return life;
}

static struct life connect_life(struct rig *rig)
{
	struct rig_conn *rc;

	if (!rig_start(rig, 1))
		return (struct life){0};
	rc = rig_conn_connect(rig, NULL);
	return rc ? live_on(rig, rc) : (struct life){0};
}

/* The peer's request arrives; a failing call may keep it from becoming a connection. */
static struct life accept_life(struct rig *rig)
{
	static const struct life nothing;
	struct rig_listener *listener;

	if (!rig_start(rig, 1))
		return nothing;
	listener = rig_listener(rig);
	listener->accept = true;
	if (!rig_try_listen(listener) || !rig_request(listener))
		return nothing;
	if (rig_conn_answer(listener->last))
		rig_settle(rig);
	return live_on(rig, listener->last);
}

static void begin(struct rig *rig)
{
	struct rig *fresh = rig;

	rig_stop(fresh);
	fake_reset();
	memset(&rig->err, 0, sizeof(rig->err));
	rig->device = fake_device_add("fake0");
}

static void end(struct rig *rig)
{
	fake_fail_nth(0, 0);
	fake_memory_fail_nth(0);
	rig_stop(rig);
	assert_null(fake_misuse());
	assert_int_equal(fake_live_total(), 0);
}

static void each_call_fails(struct rig *rig, struct life (*live)(struct rig *))
{
	bool reached = true;
	unsigned int nth;

	for (nth = 1; reached; nth++) {
		struct life life;
		const char *call;

		assert_in_range(nth, 1, CALLS_MAX);
		begin(rig);
		fake_fail_nth(nth, EIO);
		life = live(rig);
		call = fake_failed_call();
		reached = call != NULL;
		if (!reached || is_harmless(call)) {
			if (!life.moved || !life.closed)
				fail_msg("call %u, %s, did harm", nth, call ? call : "none");
		} else if (life.moved && strcmp(call, "ibv_modify_qp") != 0) {
			fail_msg("call %u, %s, failed, and nobody noticed", nth, call);
		}
		end(rig);
	}
	/* Otherwise the call that failed was not one of this test. */
	assert_in_range(nth, 25, CALLS_MAX);
}

static void each_allocation_fails(struct rig *rig, struct life (*live)(struct rig *))
{
	bool reached = true;
	unsigned int nth;

	for (nth = 1; reached; nth++) {
		struct life life;

		assert_in_range(nth, 1, CALLS_MAX);
		begin(rig);
		fake_memory_fail_nth(nth);
		life = live(rig);
		reached = fake_memory_failed();
		if (!reached)
			assert_true(life.moved && life.closed);
		end(rig);
	}
	assert_in_range(nth, 12, CALLS_MAX);
}

RIG_TEST(test_conn_faults__each_call_failing_on_the_way_out)
{
	each_call_fails(rig, connect_life);
}

RIG_TEST(test_conn_faults__each_call_failing_on_the_way_in)
{
	each_call_fails(rig, accept_life);
}

RIG_TEST(test_conn_faults__each_allocation_failing_on_the_way_out)
{
	each_allocation_fails(rig, connect_life);
}

RIG_TEST(test_conn_faults__each_allocation_failing_on_the_way_in)
{
	each_allocation_fails(rig, accept_life);
}
