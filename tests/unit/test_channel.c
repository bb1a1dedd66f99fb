/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming messages of a connection, and the accounting of its CQ. */
#include "rdma/data/channel.h"

#include "rdma/data/srq.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "tests/unit/rig.h"

#include <endian.h>

static struct rig_conn *connect_with(struct rig *rig, enum vbd_service service, uint32_t sq_depth)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.service = service;
	params.qp.sq_depth = sq_depth;
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	return rc;
}

static uint64_t completed(const struct rig_conn *rc, enum vbd_op op)
{
	return vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, op)->completed);
}

static struct vbd_cq *only_cq(struct rig *rig)
{
	assert_false(vbd_list_empty(&rig->fabric->cqs));
	assert_ptr_equal(rig->fabric->cqs.next, rig->fabric->cqs.prev);
	return VBD_CONTAINER_OF(rig->fabric->cqs.next, struct vbd_cq, link);
}

/* The slots. */

RIG_TEST(test_channel__an_idle_one_owns_no_slots)
{
	static const enum vbd_service services[] = {
		VBD_SERVICE_INBOX, VBD_SERVICE_SINK, VBD_SERVICE_ECHO};

	for (size_t i = 0; i < VBD_ARRAY_LEN(services); i++) {
		struct rig_conn *rc = connect_with(rig, services[i], 4);
		const struct vbd_channel *channel = rc->conn->qp.channel;

		assert_null(channel->recv_slots);
		assert_null(channel->send_slots);
		fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
		rig_settle(rig);
		assert_non_null(channel->recv_slots);
		assert_int_equal(channel->send_slots != NULL, services[i] == VBD_SERVICE_ECHO);
	}
}

RIG_TEST(test_channel__flushes_of_an_idle_one_need_no_slots)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	fake_flushes_withheld(true);
	rig_close(rc);
	fake_flush(rc->conn->qp.ibv_qp);
	while (rig_turn_workers(rig))
		;
	assert_null(rc->conn->qp.channel->recv_slots);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->flushed), 4);
}

RIG_TEST(test_channel__no_memory_for_the_first_slots_ends_it)
{
	static const enum vbd_service services[] = {VBD_SERVICE_INBOX, VBD_SERVICE_ECHO};

	for (unsigned int i = 0; i < VBD_ARRAY_LEN(services); i++) {
		struct rig_conn *rc = connect_with(rig, services[i], 4);

		fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
		fake_memory_fail_nth(1 + i); /* an echo has a message, and can't send it */
		rig_settle(rig);
		assert_true(fake_memory_failed());
		assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
		assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NO_MEMORY);
		assert_int_equal(rc->conn->qp.first_error.op, i ? VBD_OP_SEND : VBD_OP_RECV);
		assert_int_equal(rc->conn->qp.first_error.transfer, 0);
	}
}

/* The inbox. */

RIG_TEST(test_channel__a_full_inbox_posts_no_receives)
{
	static const char *const texts[] = {"one", "two", "three", "four"};
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	for (size_t i = 0; i < 4; i++) {
		fake_recv_done(rc->conn->qp.ibv_qp, texts[i], (uint32_t)strlen(texts[i]));
		rig_settle(rig);
	}
	assert_int_equal(rc->message_count, 4);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(rc->messages[i]->received.length_bytes, strlen(texts[i]));
		assert_memory_equal(
			vbd_channel_recv_data(rc->messages[i]), texts[i], strlen(texts[i]));
		assert_int_not_equal(rc->messages[i]->received_ns, 0);
	}
	rig_release(rc);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 1);
	fake_recv_done(rc->conn->qp.ibv_qp, "five", 4);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 4);
	assert_memory_equal(vbd_channel_recv_data(rc->messages[3]), "five", 4);
	for (int i = 0; i < 4; i++)
		rig_release(rc);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	assert_int_equal(completed(rc, VBD_OP_RECV), 5);
}

RIG_TEST(test_channel__a_message_of_nothing_is_a_message)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	fake_recv_done(rc->conn->qp.ibv_qp, "", 0);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 1);
	assert_int_equal(rc->messages[0]->received.length_bytes, 0);
}

RIG_TEST(test_channel__a_message_forgotten_while_it_drains_is_not_posted)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);
	long posts;

	fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
	rig_settle(rig);
	posts = (long)fake_count("ibv_post_recv");
	fake_flushes_withheld(true);
	rig_close(rc);
	rig_release(rc);
	fake_flush(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(fake_count("ibv_post_recv"), posts);
}

RIG_TEST(test_channel__a_release_just_before_the_close_does_no_harm)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
	rig_settle(rig);
	vbd_qp_release_message(&rc->conn->qp, rc->messages[0]);
	rig_close(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_idle(rig);
}

RIG_TEST(test_channel__messages_that_come_with_the_end_still_come)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	/* Completed before the QP goes down; the observer must get it before the memory is
	 * freed. */
	fake_recv_done(rc->conn->qp.ibv_qp, "last words", 10);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	while (rig_turn_workers(rig))
		;
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(completed(rc, VBD_OP_RECV), 1);
	assert_int_equal(rc->messages_ever, 1);
}

RIG_TEST(test_channel__a_receive_that_can_not_be_posted_again_ends_it)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 4);

	fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
	rig_settle(rig);
	fake_fail_next("ibv_post_recv", ENOMEM);
	rig_release(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_string_equal(rc->conn->qp.first_error.error.call, "ibv_post_recv");
}

/* Echo. */

RIG_TEST(test_channel__an_echo_sends_back_what_came)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_ECHO, 4);
	struct fake_wr wr;

	fake_recv_done(rc->conn->qp.ibv_qp, "hello", 5);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.opcode, IBV_WR_SEND);
	assert_int_equal(wr.length_bytes, 5);
	/* The bytes are in the work request, and the receive is free. */
	assert_true(wr.send_flags & IBV_SEND_INLINE);
	assert_memory_equal(wr.inlined, "hello", 5);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	assert_int_equal(rc->message_count, 0);
}

RIG_TEST(test_channel__a_long_echo_keeps_its_receive_until_it_has_left)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	struct fake_wr wr;

	params.qp.service = VBD_SERVICE_ECHO;
	params.qp.rq_depth = 4;
	params.qp.inline_bytes = 4;
	rc = rig_conn_connect(rig, &params);
	fake_recv_done(rc->conn->qp.ibv_qp, "hello", 5);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_false(wr.send_flags & IBV_SEND_INLINE);
	assert_memory_equal(wr.addr, "hello", 5);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 3);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_channel__receives_of_one_poll_are_posted_again_together)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_ECHO, 4);
	unsigned int sends = fake_count("ibv_post_send"), recvs = fake_count("ibv_post_recv");

	fake_recv_done(rc->conn->qp.ibv_qp, "a", 1);
	fake_recv_done(rc->conn->qp.ibv_qp, "b", 1);
	fake_recv_done(rc->conn->qp.ibv_qp, "c", 1);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 3);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	/* Each message is answered when it is looked at; the receives are posted behind them. */
	assert_int_equal(fake_count("ibv_post_send"), sends + 3);
	assert_int_equal(fake_count("ibv_post_recv"), recvs + 1);
}

RIG_TEST(test_channel__echoes_wait_for_a_send_slot_and_keep_their_order)
{
	static const char *const texts[] = {"a", "bb", "", "dddd"};
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_ECHO, 1);

	for (size_t i = 0; i < 4; i++)
		fake_recv_done(rc->conn->qp.ibv_qp, texts[i], (uint32_t)strlen(texts[i]));
	rig_settle(rig);
	for (size_t i = 0; i < 4; i++) {
		struct fake_wr wr;

		assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
		wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
		assert_int_equal(wr.length_bytes, strlen(texts[i]));
		if (wr.length_bytes)
			assert_memory_equal(wr.addr, texts[i], wr.length_bytes);
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
	}
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 0);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_channel__the_echo_ring_turns)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_ECHO, 1);

	for (int i = 0; i < 30; i++) {
		fake_recv_done(rc->conn->qp.ibv_qp, &i, sizeof(i));
		if (i % 3 == 0) {
			fake_recv_done(rc->conn->qp.ibv_qp, &i, sizeof(i));
			rig_settle(rig);
			fake_send_done(rc->conn->qp.ibv_qp);
		}
		rig_settle(rig);
		assert_memory_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).addr, &i, sizeof(i));
		fake_send_done(rc->conn->qp.ibv_qp);
		rig_settle(rig);
	}
	assert_int_equal(completed(rc, VBD_OP_SEND), 40);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_channel__an_echo_answers_over_the_wire)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *client, *server;
	struct vbd_mem *mem = rig_mem(rig, 64, 0);

	listener->params.qp.service = VBD_SERVICE_ECHO;
	listener->params.qp.sq_depth = 1;
	rig_loop_connect(listener, &client, &server);
	for (uint32_t i = 0; i < 200; i++) {
		struct rig_transfer *rt;

		rig->transfer_count = 0;
		(void)snprintf((char *)UNIT_BYTES(mem), 64, "message %u", i);
		rt = rig_transfer(client, VBD_OP_SEND, mem, i % 65, 64);
		rig_start_transfer(rt);
		assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
		assert_int_equal(client->message_count, 1);
		assert_int_equal(client->messages[0]->received.length_bytes, i % 65);
		assert_memory_equal(
			vbd_channel_recv_data(client->messages[0]), UNIT_BYTES(mem), i % 65);
		rig_release(client);
	}
	assert_int_equal(completed(server, VBD_OP_SEND), 200);
}

/* Sink. */

RIG_TEST(test_channel__a_sink_counts_and_posts_again)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_SINK, 4);

	for (unsigned int i = 0; i < 10; i++) {
		fake_recv_done(rc->conn->qp.ibv_qp, "message", i % 8);
		rig_settle(rig);
		assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	}
	assert_int_equal(completed(rc, VBD_OP_RECV), 10);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->bytes), 29);
	assert_int_equal(rc->messages_ever, 0);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 0);
}

/* rping, with the layout of rdma-core's librdmacm/examples/rping.c. */

struct rping_message {
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t size_be;
} __attribute__((packed));

struct rping_client {
	struct rig_conn *rc;
	struct vbd_mem *source, *sink, *message;
};

static void say(struct rping_client *client, const struct vbd_mem *where, uint32_t size_bytes)
{
	const struct rping_message message = {
		.addr_be = htobe64((uintptr_t)where->addr),
		.rkey_be = htobe32(where->rkey),
		.size_be = htobe32(size_bytes),
	};
	struct rig_transfer *rt;

	client->rc->rig->transfer_count = 0;
	memcpy(UNIT_BYTES(client->message), &message, sizeof(message));
	rt = rig_transfer(client->rc, VBD_OP_SEND, client->message, sizeof(message), 64);
	rig_start_transfer(rt);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
}

static void hear_go_ahead(struct rping_client *client)
{
	assert_int_equal(client->rc->message_count, 1);
	assert_int_equal(
		client->rc->messages[0]->received.length_bytes, sizeof(struct rping_message));
	rig_release(client->rc);
}

static void rping_connect(struct rig *rig, uint32_t sq_depth, struct rping_client *client,
	struct rig_conn **ret_server)
{
	struct rig_listener *listener = rig_listener(rig);

	listener->params.qp.service = VBD_SERVICE_RPING;
	listener->params.qp.sq_depth = sq_depth;
	rig_loop_connect(listener, &client->rc, ret_server);
	client->message = rig_mem(rig, 64, 0);
	client->source = rig_mem(rig, 65536, VBD_ACCESS_REMOTE_READ);
	client->sink = rig_mem(rig, 65536, VBD_ACCESS_REMOTE_WRITE);
}

RIG_TEST(test_channel__rping_reads_and_writes_back)
{
	static const uint32_t sizes[] = {64, 1, 65536, 0, 1000};
	struct rping_client client;
	struct rig_conn *server;

	rping_connect(rig, 1, &client, &server);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t size = sizes[i % VBD_ARRAY_LEN(sizes)];

		for (uint32_t k = 0; k < size; k++)
			UNIT_BYTES(client.source)[k] = (uint8_t)(k + i);
		memset(UNIT_BYTES(client.sink), 0, 65536);
		say(&client, client.source, size);
		hear_go_ahead(&client);
		say(&client, client.sink, size);
		hear_go_ahead(&client);
		assert_memory_equal(UNIT_BYTES(client.source), client.sink->addr, size);
	}
	assert_int_equal(completed(server, VBD_OP_READ), 50);
	assert_int_equal(completed(server, VBD_OP_WRITE), 50);
	assert_int_equal(completed(server, VBD_OP_SEND), 100);
	assert_int_equal(server->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_channel__rping_refuses_too_much)
{
	struct rping_client client;
	struct rig_conn *server;

	rping_connect(rig, 4, &client, &server);
	say(&client, client.source, 65537);
	assert_int_equal(server->conn->state, VBD_CONN_FAILED);
	assert_int_equal(server->conn->qp.reason, VBD_REASON_REMOTE_OPERATION);
	assert_non_null(strstr(server->conn->qp.first_error.error.text, "64 KiB"));
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&server->conn->qp, VBD_OP_READ)->posted), 0);
}

RIG_TEST(test_channel__rping_that_may_not_read_fails)
{
	struct rping_client client;
	struct rig_conn *server;

	rping_connect(rig, 4, &client, &server);
	say(&client, client.sink, 64);
	assert_int_equal(server->conn->state, VBD_CONN_FAILED);
	assert_int_equal(server->conn->qp.reason, VBD_REASON_REMOTE_ACCESS);
	assert_int_equal(server->conn->qp.first_error.op, VBD_OP_READ);
}

static void rping_arrives(struct rig_conn *rc, uint32_t size_bytes)
{
	const struct rping_message message = {
		.addr_be = htobe64(0x7000),
		.rkey_be = htobe32(0x77),
		.size_be = htobe32(size_bytes),
	};

	fake_recv_done(rc->conn->qp.ibv_qp, &message, sizeof(message));
	rig_settle(rc->rig);
}

RIG_TEST(test_channel__rping_waits_for_a_send_slot)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_RPING, 1);
	struct fake_wr wr;

	rping_arrives(rc, 64);
	wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	assert_int_equal(wr.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(wr.remote_addr, 0x7000);
	assert_int_equal(wr.rkey, 0x77);
	assert_int_equal(wr.length_bytes, 64);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_SEND);
	/* The client's next message arrives before the completion of our go-ahead. */
	rping_arrives(rc, 64);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_RDMA_WRITE);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_send_at(rc->conn->qp.ibv_qp, 0).opcode, IBV_WR_SEND);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_channel__rping_refuses_what_is_not_rping)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_RPING, 4);

	fake_recv_done(rc->conn->qp.ibv_qp, "hello", 5);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_REMOTE_OPERATION);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "rping"));

	rc = connect_with(rig, VBD_SERVICE_RPING, 4);
	rping_arrives(rc, 64);
	rping_arrives(rc, 64);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "unexpected message"));
}

/* CQ usage. */

RIG_TEST(test_channel__the_cq_counts_what_is_outstanding)
{
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_ECHO, 4);
	struct vbd_cq *cq = only_cq(rig);
	uint64_t armed;

	assert_int_equal(cq->capacity_cqe, RIG_CQ_DEPTH);
	assert_int_equal(cq->reserved_cqe, 8);
	assert_int_equal(cq->connections, 1);
	assert_int_equal(cq->id, rc->conn->qp.cq_id);
	assert_int_equal(vbd_counter_get(&cq->outstanding), 4);
	assert_int_equal(vbd_counter_get(&cq->high_water), 4);
	assert_int_equal(vbd_counter_get(&cq->completions), 0);
	armed = vbd_counter_get(&cq->events_armed);
	assert_int_not_equal(armed, 0);
	fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&cq->completions), 1);
	assert_int_equal(vbd_counter_get(&cq->events_taken), 1);
	assert_int_equal(vbd_counter_get(&cq->events_armed), armed + 1);
	assert_int_equal(vbd_counter_get(&cq->outstanding), 5);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&cq->outstanding), 4);
	assert_int_equal(vbd_counter_get(&cq->high_water), 5);
	assert_int_equal(vbd_counter_get(&cq->error_completions), 0);
	assert_true(vbd_counter_get(&cq->polls) > vbd_counter_get(&cq->empty_polls));
	rig_close(rc);
	assert_int_equal(vbd_counter_get(&cq->outstanding), 0);
	assert_int_equal(vbd_counter_get(&cq->error_completions), 4);
	assert_int_equal(cq->connections, 0);
}

RIG_TEST(test_channel__a_cq_is_never_promised_more_than_it_holds)
{
	struct rig_conn *conns[40];
	unsigned int cqs = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		conns[i] = connect_with(rig, VBD_SERVICE_ECHO, 4);
	/* All work completes before any worker polls. */
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++) {
		for (int k = 0; k < 4; k++)
			fake_recv_done(conns[i]->conn->qp.ibv_qp, "x", 1);
	}
	rig_settle(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		fake_sends_done(conns[i]->conn->qp.ibv_qp, 4);
	for (size_t i = 0; i < VBD_ARRAY_LEN(conns); i++)
		fake_qp_to_err(conns[i]->conn->qp.ibv_qp);
	vbd_list_for_each (link, &rig->fabric->cqs) {
		const struct vbd_cq *cq = VBD_CONTAINER_OF(link, struct vbd_cq, link);

		assert_in_range(cq->reserved_cqe, 1, cq->capacity_cqe);
		assert_in_range(fake_cq_high_water(cq->cq), 1, cq->capacity_cqe);
		assert_in_range(vbd_counter_get(&cq->high_water), 1, cq->capacity_cqe);
		cqs++;
	}
	assert_int_equal(cqs, 2);
	assert_null(fake_misuse());
	rig_settle(rig);
	rig_assert_idle(rig);
}

RIG_TEST(test_channel__room_that_is_given_back_is_used_again)
{
	for (int i = 0; i < 60; i++) {
		struct rig_conn *rc = connect_with(rig, VBD_SERVICE_INBOX, 60);

		assert_int_equal(only_cq(rig)->reserved_cqe, 64);
		rig_close(rc);
	}
	assert_int_equal(fake_live().cqs, 1);
}

RIG_TEST(test_channel__a_cq_is_as_deep_as_one_connection_needs)
{
	(void)connect_with(rig, VBD_SERVICE_INBOX, 4);
	(void)connect_with(rig, VBD_SERVICE_INBOX, 1000);
	assert_int_equal(fake_live().cqs, 2);
	assert_int_equal(
		VBD_CONTAINER_OF(rig->fabric->cqs.prev, struct vbd_cq, link)->capacity_cqe, 1004);
}

/* Completions of the past. */

RIG_TEST(test_channel__a_completion_of_the_indexs_last_owner_finds_nobody)
{
	struct rig_conn *old = connect_with(rig, VBD_SERVICE_INBOX, 4);
	struct ibv_wc late = {.status = IBV_WC_SUCCESS, .byte_len = 5, .opcode = IBV_WC_RECV};
	struct rig_conn *rc;

	late.wr_id =
		vbd_wr_id(old->conn->qp.channel->generation, old->conn->qp.channel->index, true, 2);
	rig_close(old);
	rc = connect_with(rig, VBD_SERVICE_INBOX, 4);
	assert_int_equal(rc->conn->qp.channel->index, vbd_wr_id_index(late.wr_id));
	assert_int_not_equal(rc->conn->qp.channel->generation, vbd_wr_id_generation(late.wr_id));
	fake_cq_push(only_cq(rig)->cq, &late);
	late.wr_id = vbd_wr_id(1, 4711, false, 0);
	fake_cq_push(only_cq(rig)->cq, &late);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 0);
	assert_int_equal(completed(rc, VBD_OP_RECV), 0);
	assert_int_equal(vbd_counter_get(&only_cq(rig)->outstanding), 4);
	assert_int_equal(vbd_counter_get(&only_cq(rig)->completions), 4 + 2);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_channel__completions_before_the_attach_command_are_not_lost)
{
	struct rig_conn *other = connect_with(rig, VBD_SERVICE_INBOX, 4);
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	/* The peer's message is in the CQ before the worker takes the command. */
	fake_recv_done(other->conn->qp.ibv_qp, "x", 1);
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	UNIT_UNTIL (rc->conn->qp.ibv_qp && rc->conn->qp.channel->attached)
		vbd_fabric_dispatch_control(rig->fabric);
	fake_recv_done(rc->conn->qp.ibv_qp, "early", 5);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 1);
	assert_int_equal(other->message_count, 1);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

TEST(test_channel__a_wr_id_keeps_its_parts)
{
	uint64_t wr_id = vbd_wr_id(0xfedc, VBD_WR_INDEX_MAX, true, VBD_WR_RECV - 1);

	assert_int_equal(vbd_wr_id_generation(wr_id), 0xfedc);
	assert_int_equal(vbd_wr_id_index(wr_id), VBD_WR_INDEX_MAX);
	assert_true(vbd_wr_id_is_recv(wr_id));
	assert_int_equal(vbd_wr_id_slot(wr_id), VBD_WR_RECV - 1);
	wr_id = vbd_wr_id(1, 2, false, 3);
	assert_int_equal(vbd_wr_id_generation(wr_id), 1);
	assert_int_equal(vbd_wr_id_index(wr_id), 2);
	assert_false(vbd_wr_id_is_recv(wr_id));
	assert_int_equal(vbd_wr_id_slot(wr_id), 3);
}

/* --- channels of a shared receive queue ------------------------------------------------------ */

static size_t longest_list(const struct vbd_srq *srq)
{
	size_t longest = 0;

	for (size_t i = 0; i < VBD_SRQ_LISTS; i++) {
		size_t len = 0;

		vbd_list_for_each (link, &srq->channels[i])
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

TEST(test_channel__one_of_4096_of_an_srq_is_found_among_four)
{
	enum { COUNT = 4096, FIRST_QPN = 17 };
	struct vbd_channel *channels = calloc(COUNT, sizeof(*channels));
	struct vbd_srq *srq = calloc(1, sizeof(*srq));

	assert_non_null(channels);
	assert_non_null(srq);
	for (size_t i = 0; i < VBD_SRQ_LISTS; i++)
		vbd_list_init(&srq->channels[i]);
	for (uint32_t i = 0; i < COUNT; i++) {
		channels[i].qpn = FIRST_QPN + i;
		channels[i].limits.srq = srq;
		vbd_channel_join_srq(&channels[i]);
	}
	assert_int_equal(longest_list(srq), COUNT / VBD_SRQ_LISTS);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ptr_equal(vbd_channel_of_srq(srq, FIRST_QPN + i), &channels[i]);
	assert_null(vbd_channel_of_srq(srq, FIRST_QPN + COUNT));
	free(srq);
	free(channels);
}

/* Memory. */

RIG_TEST(test_channel__its_memory_has_room_for_receives_and_old_values)
{
	static const struct {
		uint32_t rq_depth, recv_size_bytes, sq_depth;
		size_t receives_bytes, mem_bytes;
	} rows[] = {
		{4, 64, 4, 256, 288},
		{3, 5, 2, 16, 32},
		{1, 8, 1, 8, 16},
		{1, 9, 1, 16, 24},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_conn_params params = rig_params();
		const struct vbd_channel *channel;

		params.qp.rq_depth = rows[i].rq_depth;
		params.qp.recv_size_bytes = rows[i].recv_size_bytes;
		params.qp.sq_depth = rows[i].sq_depth;
		channel = rig_conn_connect(rig, &params)->conn->qp.channel;
		assert_int_equal(channel->mem_bytes, rows[i].mem_bytes);
		assert_int_equal(channel->mem.size_bytes, rows[i].mem_bytes);
		assert_int_equal(channel->old_values - channel->mem.addr, rows[i].receives_bytes);
	}
}

RIG_TEST(test_channel__packets_are_counted_by_the_mtu)
{
	static const struct {
		uint32_t length_bytes;
		uint64_t packets;
	} rows[] = {{0, 1}, {1, 1}, {31, 1}, {32, 1}, {33, 2}, {64, 2}};
	struct rig_conn *rc = connect_with(rig, VBD_SERVICE_SINK, 4);
	struct vbd_channel *channel = rc->conn->qp.channel;
	static const uint8_t bytes[64];

	fake_recv_done(rc->conn->qp.ibv_qp, bytes, 64);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&channel->packets), 0);
	vbd_counter_set(&channel->mtu_bytes, 32);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		uint64_t before = vbd_counter_get(&channel->packets);

		fake_recv_done(rc->conn->qp.ibv_qp, bytes, rows[i].length_bytes);
		rig_settle(rig);
		assert_int_equal(vbd_counter_get(&channel->packets) - before, rows[i].packets);
	}
}
