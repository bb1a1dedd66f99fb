/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker as a thread, while the test's thread makes the fake provider complete work. Under
 * ThreadSanitizer this shows that control and worker share nothing but mailbox items.
 */
#include "rdma/data/worker.h"

#include "base/clock.h"
#include "base/heap.h"
#include "rdma/data/channel_parts.h"
#include "rdma/device/cq.h"
#include "tests/unit/rig.h"

#include <limits.h>
#include <poll.h>

#define CONNS	 4
#define MESSAGES 300

static void start(struct rig *rig)
{
	assert_int_equal(vbd_fabric_start(rig->fabric, &rig->err), VBD_OK);
	rig->threads = true;
}

/* Handles events until @done returns true. */
static void run_until(struct rig *rig, bool (*done)(void *arg), void *arg)
{
	UNIT_UNTIL (done(arg)) {
		struct pollfd fds[] = {
			{.fd = vbd_fabric_cm_fd(rig->fabric), .events = POLLIN},
			{.fd = vbd_fabric_control_fd(rig->fabric), .events = POLLIN},
		};

		assert_true(poll(fds, VBD_ARRAY_LEN(fds), rig_look(rig) ? 0 : -1) >= 0);
		if (fds[0].revents)
			vbd_fabric_dispatch_cm(rig->fabric);
		if (fds[1].revents)
			vbd_fabric_dispatch_control(rig->fabric);
	}
}

static bool has_ended(void *arg)
{
	const struct rig_conn *rc = arg;

	return vbd_conn_state_terminal(rc->conn->state);
}

static bool transfer_has_ended(void *arg)
{
	const struct rig_transfer *rt = arg;

	return rt->ended > 0;
}

static bool has_message(void *arg)
{
	const struct rig_conn *rc = arg;

	return rc->message_count > 0;
}

static void release(struct rig_conn *rc)
{
	struct vbd_recv_slot *slot = rc->messages[0];

	rc->message_count--;
	memmove(&rc->messages[0], &rc->messages[1],
		rc->message_count * sizeof(struct vbd_recv_slot *));
	vbd_qp_release_message(&rc->conn->qp, slot);
}

static bool all_established(void *arg)
{
	const struct rig *rig = arg;

	for (unsigned int i = 0; i < rig->conn_count; i++) {
		if (rig->conns[i].conn->state != VBD_CONN_ESTABLISHED)
			return false;
	}
	return true;
}

/* Connects to a listener of the test and waits until both sides are established. */
static void connect_pair(struct rig *rig, struct rig_listener *listener, struct rig_conn **ret_one,
	struct rig_conn **ret_other)
{
	*ret_one = rig_conn_create_to(listener);
	run_until(rig, all_established, rig);
	*ret_other = listener->last;
}

static void close_both(struct rig *rig, struct rig_conn *one, struct rig_conn *other)
{
	vbd_conn_close(one->conn, VBD_REASON_LOCAL_CLOSE);
	run_until(rig, has_ended, one);
	run_until(rig, has_ended, other);
}

RIG_TEST(test_worker__messages_go_back_and_forth)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *client, *server;
	struct vbd_mem *mem = rig_mem(rig, 64, 0);

	listener->accept = true;
	listener->params.qp.service = VBD_SERVICE_ECHO;
	rig_listen(listener);
	fake_loopback(true);
	start(rig);
	connect_pair(rig, listener, &client, &server);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct rig_transfer *rt;

		rig->transfer_count = 0;
		rt = rig_transfer(client, VBD_OP_SEND, mem, sizeof(i), 64);
		memcpy(UNIT_BYTES(mem), &i, sizeof(i));
		vbd_transfer_submit(&rt->transfer);
		run_until(rig, transfer_has_ended, rt);
		run_until(rig, has_message, client);
		assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
		assert_memory_equal(vbd_channel_recv_data(client->messages[0]), &i, sizeof(i));
		release(client);
	}
	close_both(rig, client, server);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&server->conn->qp, VBD_OP_SEND)->completed),
		MESSAGES);
}

TWO_WORKERS_TEST(test_worker__bytes_move_while_others_read_the_counters)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *client, *server;
	struct vbd_mem *here = rig_mem(rig, 100000, 0);
	struct vbd_mem *there = rig_mem(rig, 100000, VBD_ACCESS_REMOTE_WRITE);
	struct rig_transfer *rt;
	uint64_t seen = 0;

	listener->accept = true;
	rig_listen(listener);
	fake_loopback(true);
	start(rig);
	connect_pair(rig, listener, &client, &server);
	memset(UNIT_BYTES(here), 0x5a, here->size_bytes);
	rt = rig_transfer(client, VBD_OP_WRITE, here, 100000, 100);
	rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there);
	rt->transfer.wr.rkey = there->rkey;
	vbd_transfer_submit(&rt->transfer);
	UNIT_UNTIL (rt->ended) {
		uint64_t now = vbd_counter_get(&rt->transfer.bytes_done);

		assert_true(now >= seen);
		seen = now;
		vbd_fabric_dispatch_control(rig->fabric);
	}
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
	assert_memory_equal(UNIT_BYTES(here), UNIT_BYTES(there), 100000);
	close_both(rig, client, server);
}

TWO_WORKERS_TEST(test_worker__a_close_in_the_middle_ends_everything)
{
	struct rig_listener *listener = rig_listener(rig);
	struct vbd_mem *here = rig_mem(rig, 100000, 0);
	struct vbd_mem *there = rig_mem(rig, 100000, VBD_ACCESS_REMOTE_WRITE);

	listener->accept = true;
	rig_listen(listener);
	fake_loopback(true);
	start(rig);
	for (unsigned int round = 0; round < 20; round++) {
		struct rig_conn *client, *server;
		struct rig_transfer *rt;

		/* Ended connections of earlier rounds would count as not established. */
		rig_free_conns(rig);
		connect_pair(rig, listener, &client, &server);
		rig->transfer_count = 0;
		rt = rig_transfer(client, VBD_OP_WRITE, here, 100000, 50);
		rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there);
		rt->transfer.wr.rkey = there->rkey;
		vbd_transfer_submit(&rt->transfer);
		if (round % 3 == 0)
			vbd_transfer_request_cancel(&rt->transfer, round % 2);
		if (round % 4 == 1)
			vbd_fabric_dispatch_control(rig->fabric);
		close_both(rig, round % 2 ? client : server, round % 2 ? server : client);
		assert_int_equal(rt->ended, 1);
	}
	rig_finish_calls(rig);
	rig_assert_cqs_idle(rig);
}

TWO_WORKERS_TEST(test_worker__a_device_goes_while_everything_runs)
{
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *pairs[CONNS][2];
	struct vbd_mem *here = rig_mem(rig, 100000, 0);
	struct vbd_mem *there = rig_mem(rig, 100000, VBD_ACCESS_REMOTE_WRITE);

	listener->accept = true;
	rig_listen(listener);
	fake_loopback(true);
	start(rig);
	for (size_t i = 0; i < CONNS; i++)
		connect_pair(rig, listener, &pairs[i][0], &pairs[i][1]);
	for (size_t i = 0; i < CONNS; i++) {
		struct rig_transfer *rt = rig_transfer(pairs[i][0], VBD_OP_WRITE, here, 100000, 50);

		rt->transfer.wr.remote_addr = (uintptr_t)UNIT_BYTES(there);
		rt->transfer.wr.rkey = there->rkey;
		vbd_transfer_submit(&rt->transfer);
	}
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	for (size_t i = 0; i < CONNS; i++) {
		run_until(rig, has_ended, pairs[i][0]);
		run_until(rig, has_ended, pairs[i][1]);
		assert_int_equal(rig->transfers[i].ended, 1);
	}
	vbd_mem_deregister(here);
	vbd_mem_deregister(there);
	UNIT_UNTIL (rig->removed)
		vbd_fabric_dispatch_control(rig->fabric);
	/* Call threads may still destroy CM ids. */
	rig_finish_calls(rig);
	assert_true(fake_device_let_go(rig->device));
}

RIG_TEST(test_worker__a_worker_without_work_stops)
{
	start(rig);
}

/* Turned by hand. */

RIG_TEST(test_worker__an_idle_one_is_not_woken)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_cq *cq = rc->conn->qp.channel->cq;
	uint64_t polls = vbd_counter_get(&cq->polls);

	rig_settle(rig);
	assert_false(rig_turn_workers(rig));
	vbd_worker_turn(rig->fabric->workers[0], false);
	assert_int_equal(vbd_counter_get(&cq->polls), polls);
	assert_true(vbd_list_empty(&rig->fabric->workers[0]->active_cqs));
}

RIG_TEST(test_worker__it_answers_before_it_takes_the_event)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	const struct vbd_cq *cq;
	uint64_t taken;

	params.qp.service = VBD_SERVICE_ECHO;
	rc = rig_conn_connect(rig, &params);
	cq = rc->conn->qp.channel->cq;
	rig_settle(rig);
	taken = vbd_counter_get(&cq->events_taken);
	fake_recv_done(rc->conn->qp.ibv_qp, "ping", 4);
	for (int i = 0; fake_sends(rc->conn->qp.ibv_qp) == 0 && i < 10; i++)
		vbd_worker_turn(worker, false);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	assert_int_equal(vbd_counter_get(&cq->events_taken), taken);
	assert_false(cq->armed);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&cq->events_taken), taken + 1);
	assert_true(cq->armed);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&cq->events_taken), taken + 2);
}

RIG_TEST(test_worker__messages_of_one_poll_came_at_one_time)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	rig_settle(rig);
	fake_recv_done(rc->conn->qp.ibv_qp, "a", 1);
	fake_recv_done(rc->conn->qp.ibv_qp, "b", 1);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 2);
	assert_int_equal(rc->messages[0]->received_ns, rc->messages[1]->received_ns);
	fake_recv_done(rc->conn->qp.ibv_qp, "c", 1);
	rig_settle(rig);
	assert_true(rc->messages[2]->received_ns > rc->messages[1]->received_ns);
}

RIG_TEST(test_worker__a_busy_one_polls_on_until_its_channel_ends)
{
	const struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	const struct vbd_cq *cq;
	uint64_t polls, armed;

	params.qp.poll = VBD_POLL_BUSY;
	rc = rig_conn_connect(rig, &params);
	cq = rc->conn->qp.channel->cq;
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&worker->busy_channels), 1);
	polls = vbd_counter_get(&cq->polls);
	armed = vbd_counter_get(&cq->events_armed);
	for (int i = 0; i < 200; i++)
		vbd_worker_turn(rig->fabric->workers[0], true);
	assert_int_equal(vbd_counter_get(&cq->polls), polls + 200);
	assert_int_equal(vbd_counter_get(&cq->events_armed), armed);
	assert_true(vbd_counter_get(&worker->spun_ns) > 0);
	/* Commands and other connections are served meanwhile. */
	assert_int_equal(rig_conn_connect(rig, NULL)->conn->state, VBD_CONN_ESTABLISHED);
	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&worker->busy_channels), 0);
	assert_true(vbd_list_empty(&worker->active_cqs));
	vbd_worker_turn(rig->fabric->workers[0], false);
	assert_int_equal(worker->spun_at_ns, 0);
}

RIG_TEST(test_worker__the_time_until_work_comes_is_counted_as_spun)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	uint64_t spun_ns;

	params.qp.poll = VBD_POLL_BUSY;
	rc = rig_conn_connect(rig, &params);
	rig_settle(rig);
	vbd_worker_turn(worker, true);
	assert_int_not_equal(worker->spun_at_ns, 0);
	while (vbd_clock_mono_ns() <= worker->spun_at_ns)
		;
	spun_ns = vbd_counter_get(&worker->spun_ns);
	fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
	vbd_worker_turn(worker, true);
	assert_true(vbd_counter_get(&worker->spun_ns) > spun_ns);
	assert_int_equal(worker->spun_at_ns, 0);
}

RIG_TEST(test_worker__an_adaptive_one_polls_on_for_a_while)
{
	const struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;
	struct vbd_mem *mem;

	params.qp.poll = VBD_POLL_ADAPTIVE;
	params.qp.spin_us = 60000000;
	rc = rig_conn_connect(rig, &params);
	rig_settle(rig);
	assert_true(vbd_list_empty(&worker->active_cqs));
	mem = rig_mem(rig, 64, 0);
	rig_start_transfer(rig_transfer(rc, VBD_OP_SEND, mem, 64, 64));
	rig_settle(rig);
	assert_false(vbd_list_empty(&worker->active_cqs));
	rc->conn->qp.channel->cq->spin_until_ns = 1;
	rig_settle(rig);
	assert_true(vbd_list_empty(&worker->active_cqs));
	assert_int_equal(vbd_counter_get(&worker->busy_channels), 0);
}

RIG_TEST(test_worker__a_use_of_an_adaptive_one_moves_the_end_of_polling)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct vbd_channel *channel;
	struct vbd_cq *cq;

	params.qp.poll = VBD_POLL_ADAPTIVE;
	params.qp.spin_us = 50;
	channel = rig_conn_connect(rig, &params)->conn->qp.channel;
	cq = channel->cq;
	rig_settle(rig);
	cq->spin_until_ns = 0;
	worker->now_ns = 1000;
	vbd_channel_spin(channel);
	assert_int_equal(cq->spin_until_ns, 51000);
	assert_false(vbd_list_empty(&worker->active_cqs));
	/* Another connection of the CQ may have asked for longer. */
	cq->spin_until_ns = 51001;
	vbd_channel_spin(channel);
	assert_int_equal(cq->spin_until_ns, 51001);
	worker->now_ns = 0;
	assert_false(vbd_worker_spins_on(cq));
	assert_int_equal(cq->spin_until_ns, 0);
	cq->spin_until_ns = UINT64_MAX;
	assert_true(vbd_worker_spins_on(cq));
	cq->spin_until_ns = 0;
	rig_settle(rig);
	channel->limits.poll = VBD_POLL_EVENTS;
	vbd_channel_spin(channel);
	assert_int_equal(cq->spin_until_ns, 0);
	assert_true(vbd_list_empty(&worker->active_cqs));
}

RIG_TEST(test_worker__one_that_spins_looks_up_in_each_64th_turn)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	unsigned int armed = worker->armed_cqs, looks = 0;
	uint64_t spun_ns = vbd_counter_get(&worker->spun_ns);

	worker->spin_turns = 0;
	worker->armed_cqs = 1;
	assert_false(vbd_worker_spin(worker));
	assert_int_not_equal(worker->spun_at_ns, 0);
	worker->spun_at_ns -= 1000000;
	for (unsigned int i = 2; i < 64; i++)
		assert_false(vbd_worker_spin(worker));
	assert_int_equal(vbd_counter_get(&worker->spun_ns), spun_ns);
	assert_true(vbd_worker_spin(worker));
	assert_true(vbd_counter_get(&worker->spun_ns) >= spun_ns + 1000000);
	for (unsigned int i = 0; i < 256; i++)
		looks += vbd_worker_spin(worker);
	assert_int_equal(looks, 4);
	/* Without others that could wake it there is nothing to look at. */
	worker->armed_cqs = 0;
	for (unsigned int i = 0; i < 128; i++)
		assert_false(vbd_worker_spin(worker));
	/* A clock that was read earlier takes no time away. */
	spun_ns = vbd_counter_get(&worker->spun_ns);
	worker->spun_at_ns = UINT64_MAX;
	vbd_worker_end_spin(worker);
	assert_int_equal(vbd_counter_get(&worker->spun_ns), spun_ns);
	assert_int_equal(worker->spun_at_ns, 0);
	worker->armed_cqs = armed;
}

RIG_TEST(test_worker__the_next_due_time_bounds_its_sleep)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_heap_node node = {0};

	assert_int_equal(vbd_worker_wait_ms(worker), -1);
	vbd_heap_add(&worker->heartbeats, &node, 1);
	assert_int_equal(vbd_worker_wait_ms(worker), 0);
	vbd_heap_remove(&worker->heartbeats, &node);
	vbd_heap_add(&worker->heartbeats, &node, UINT64_MAX - VBD_NS_PER_S);
	assert_int_equal(vbd_worker_wait_ms(worker), INT_MAX);
	vbd_heap_remove(&worker->heartbeats, &node);
}

RIG_TEST(test_worker__its_turns_are_counted)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	uint64_t turns = vbd_counter_get(&worker->turns);

	vbd_worker_turn(worker, false);
	vbd_worker_turn(worker, false);
	assert_int_equal(vbd_counter_get(&worker->turns), turns + 2);
}

/* Completions of the queue pair that is destroyed may be behind those of others. */
RIG_TEST(test_worker__a_purge_waits_until_all_that_was_in_the_cq_is_taken)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	struct vbd_conn_params params = rig_params();
	struct vbd_channel *channel;
	struct rig_conn *rc, *other;

	params.qp.service = VBD_SERVICE_SINK;
	params.qp.rq_depth = 60;
	other = rig_conn_connect(rig, &params);
	rc = rig_conn_in(rig, VBD_CONN_DRAINING);
	channel = rc->conn->qp.channel;
	assert_ptr_equal(channel->cq, other->conn->qp.channel->cq);
	channel->purge_sent = true;
	rc->conn->qp.ops->before_destroy(&rc->conn->qp);
	for (int i = 0; i < 40; i++)
		fake_recv_done(other->conn->qp.ibv_qp, "x", 1);
	vbd_worker_send(worker, &channel->purge_command, VBD_WORKER_PURGE);
	vbd_worker_turn(worker, false);
	assert_false(channel->gone);
	assert_int_equal(channel->purged_at,
		vbd_counter_get(&channel->cq->completions) - 32 + channel->cq->capacity_cqe);
	UNIT_UNTIL (channel->gone)
		vbd_worker_turn(worker, false);
	rig_settle(rig);
	rig_assert_gone(rc);
}

TWO_WORKERS_TEST(test_worker__each_runs_on_its_processor)
{
	struct vbd_cpus list = {.count = 1};
	cpu_set_t allowed, of_thread;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (list.numbers[0] = 0; !CPU_ISSET(list.numbers[0], &allowed); list.numbers[0]++)
		;
	vbd_fabric_pin(rig->fabric, &list);
	start(rig);
	for (unsigned int i = 0; i < rig->fabric->worker_count; i++) {
		assert_int_equal(pthread_getaffinity_np(rig->fabric->workers[i]->thread,
					 sizeof(of_thread), &of_thread),
			0);
		assert_int_equal(CPU_COUNT(&of_thread), 1);
		assert_true(CPU_ISSET(list.numbers[0], &of_thread));
	}
}

RIG_TEST(test_worker__indexes_are_used_again_with_a_new_generation)
{
	struct vbd_worker *worker = rig->fabric->workers[0];
	uint32_t indexes[200];
	uint16_t generation;
	uint32_t index;

	for (uint32_t i = 0; i < 200; i++) {
		assert_true(vbd_channel_table_reserve(&worker->channels, &indexes[i], &generation));
		assert_int_equal(generation, 1);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(indexes[k], indexes[i]);
	}
	vbd_channel_table_release(&worker->channels, indexes[7]);
	assert_true(vbd_channel_table_reserve(&worker->channels, &index, &generation));
	assert_int_equal(index, indexes[7]);
	assert_int_equal(generation, 2);
	vbd_channel_table_release(&worker->channels, index);
	for (uint32_t i = 0; i < 200; i++) {
		if (i != 7)
			vbd_channel_table_release(&worker->channels, indexes[i]);
	}
}
