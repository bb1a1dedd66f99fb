/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn.h"

#include "base/clock.h"
#include "base/log.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/goodbye.h"
#include "tests/unit/slabs.h"
#include "tests/unit/rig.h"

#include <arpa/inet.h>

/* The states of a connection in which an event can come. */
static const enum vbd_conn_state open_states[] = {
	VBD_CONN_RESOLVING_ADDR,
	VBD_CONN_RESOLVING_ROUTE,
	VBD_CONN_CONNECTING,
	VBD_CONN_REQUESTED,
	VBD_CONN_ACCEPTING,
	VBD_CONN_ESTABLISHED,
};

static const enum vbd_conn_state all_states[] = {
	VBD_CONN_RESOLVING_ADDR,
	VBD_CONN_RESOLVING_ROUTE,
	VBD_CONN_CONNECTING,
	VBD_CONN_REQUESTED,
	VBD_CONN_ACCEPTING,
	VBD_CONN_ESTABLISHED,
	VBD_CONN_DRAINING,
	VBD_CONN_CLOSED,
	VBD_CONN_FAILED,
};

static void assert_notified(
	const struct rig_conn *rc, const enum vbd_conn_state *states, size_t count)
{
	assert_int_equal(rc->state_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rc->states[i], states[i]);
}

/* Asserts the moves of the QP that the timeline has. */
static void assert_moves(const struct rig_conn *rc, const char *const *moves, size_t count)
{
	const struct vbd_timeline *timeline = &rc->conn->timeline;
	size_t found = 0;

	for (uint32_t i = 0; i < timeline->count; i++) {
		if (timeline->entries[i]->kind != VBD_TIMELINE_QP)
			continue;
		assert_in_range(found, 0, count - 1);
		assert_string_equal(timeline->entries[i]->what, moves[found++]);
	}
	assert_int_equal(found, count);
}

static void assert_ended(struct rig_conn *rc, enum vbd_conn_state state, enum vbd_reason reason)
{
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, state);
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), vbd_reason_name(reason));
	rig_assert_gone(rc);
	rig_assert_idle(rc->rig);
}

/* The peer is away: another try begins, and stays without an answer until the time is over. */
static void await_the_end(struct rig_conn *rc)
{
	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	rig_deadline(rc);
}

/* Coming up. */

RIG_TEST(test_conn__an_active_connection_comes_up)
{
	static const enum vbd_conn_state told[] = {
		VBD_CONN_RESOLVING_ROUTE, VBD_CONN_CONNECTING, VBD_CONN_ESTABLISHED};
	static const char *const moves[] = {"RESET -> INIT", "INIT -> RTR", "RTR -> RTS"};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	assert_notified(rc, told, VBD_ARRAY_LEN(told));
	assert_moves(rc, moves, VBD_ARRAY_LEN(moves));
	assert_int_equal(rc->conn->qp.ibv_qp->state, IBV_QPS_RTS);
	assert_int_not_equal(rc->conn->established_ns, 0);
	assert_int_equal(rc->deadline_ms, 0);
	assert_string_equal(rc->conn->device.name, "fake0");
	assert_int_equal(rc->conn->port_num, 1);
	assert_false(rc->conn->passive);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_NONE);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__an_open_asks_the_device_for_nothing_that_is_known)
{
	struct vbd_device *device;
	struct rig_conn *rc;

	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(fake_count("rdma_init_qp_attr"), 3);
	assert_int_equal(fake_count("ibv_modify_qp"), 3);
	assert_int_equal(fake_count("ibv_query_qp"), 0);
	assert_int_equal(fake_count("ibv_query_gid_ex"), 1);
	assert_true(rc->conn->qp.info.sgid_known);
	device = rc->conn->qp.device;
	device->recent.gid_at_ns += 3600 * VBD_NS_PER_S;
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(fake_count("ibv_query_gid_ex"), 1);
	assert_true(rc->conn->qp.info.sgid_known);
	fake_device_async(rig->device, IBV_EVENT_GID_CHANGE, 1);
	vbd_device_drain_async(device);
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(fake_count("ibv_query_gid_ex"), 2);
	device->recent.gid_at_ns += 3600 * VBD_NS_PER_S;
	vbd_fabric_forget_recent(rig->fabric);
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(fake_count("ibv_query_gid_ex"), 3);
}

/* ibv_modify_qp() blocks until now. */
static void connects_on_a_call_thread(struct rig *rig)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	assert_int_equal(rc->conn->calling, VBD_CONN_CALLS_RTR);
	fake_unblock();
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

/* A move to RTR would wait on a call thread. On the control thread the fake demands that the
 * hardware address is known. */
RIG_TEST(test_conn__a_known_neighbour_needs_no_call_thread)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_device *device = rc->conn->qp.device;

	for (size_t i = 0; i < VBD_NEIGHBOURS; i++) {
		if (device->recent.neighbours[i].at_ns)
			device->recent.neighbours[i].at_ns += 3600 * VBD_NS_PER_S;
	}
	fake_block("ibv_modify_qp");
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	fake_device_async(rig->device, IBV_EVENT_PORT_ERR, 1);
	vbd_device_drain_async(device);
	connects_on_a_call_thread(rig);
}

/* On the control thread the fake demands that the hardware address is known. */
RIG_TEST(test_conn__a_neighbour_that_the_kernel_lost_is_asked_for_on_a_call_thread)
{
	(void)rig_conn_connect(rig, NULL);
	fake_lose_neighbours();
	fake_block("ibv_modify_qp");
	connects_on_a_call_thread(rig);
}

RIG_TEST(test_conn__only_a_channel_that_stood_still_is_resumed_by_a_command)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_channel *channel = rc->conn->qp.channel;
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND, mem, 10, 64);

	assert_int_equal(vbd_counter_get(&channel->resumes_sent), 0);
	vbd_channel_pause(channel);
	vbd_transfer_submit(&rt->transfer);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_post_send"), 0);
	vbd_channel_resume(channel);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_post_send"), 1);
	assert_int_equal(vbd_counter_get(&channel->resumes_sent), 1);
	vbd_channel_pause(channel);
	vbd_channel_resume(channel);
	assert_int_equal(vbd_counter_get(&channel->resumes_sent), 1);
}

RIG_TEST(test_conn__receives_are_posted_before_the_peer_hears_of_us)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	assert_int_equal(fake_count("ibv_post_recv"), 1); /* a chain */
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	assert_true(fake_last("ibv_post_recv") < fake_first("rdma_connect"));
	assert_true(fake_first("rdma_establish") > fake_last("ibv_modify_qp"));
	assert_true(fake_id_asked(rc->conn->cm_id).established);
}

RIG_TEST(test_conn__the_qp_gets_what_was_asked_for)
{
	struct vbd_conn_params params = rig_params();
	const struct vbd_qp_info *info;
	struct fake_id_asked asked;
	struct rig_conn *rc;

	params.retry_count = 3;
	params.rnr_retry = 2;
	params.ack_timeout = 15;
	params.min_rnr_timer = 9;
	params.responder_resources = 5;
	params.initiator_depth = 6;
	rc = rig_conn_connect(rig, &params);
	asked = fake_id_asked(rc->conn->cm_id);
	assert_int_equal(asked.ack_timeout, 15);
	assert_int_equal(asked.tos, -1);
	assert_int_equal(asked.param.retry_count, 3);
	assert_int_equal(asked.param.rnr_retry_count, 2);
	assert_int_equal(asked.param.responder_resources, 5);
	assert_int_equal(asked.param.initiator_depth, 6);
	assert_int_equal(asked.param.qp_num, rc->conn->qp.info.lqpn);
	info = &rc->conn->qp.info;
	assert_true(info->path_known);
	assert_int_equal(info->state, IBV_QPS_RTS);
	assert_int_equal(info->rqpn, 0x77);
	assert_int_equal(info->retry_count, 3);
	assert_int_equal(info->rnr_retry, 2);
	assert_int_equal(info->ack_timeout, 15);
	assert_int_equal(info->min_rnr_timer, 9);
	assert_int_equal(info->responder_resources, 5);
	assert_int_equal(info->initiator_depth, 6);
	assert_int_equal(info->path_mtu_bytes, 1024);
	assert_int_equal(info->rq_psn, 0x1234);
	assert_int_equal(info->sq_psn, 0x4321);
	assert_true(info->gid_known);
}

RIG_TEST(test_conn__reads_are_lowered_to_what_device_and_peer_allow)
{
	struct vbd_conn_params params = rig_params();
	const struct vbd_pv_cm_event response = {
		.type = RDMA_CM_EVENT_CONNECT_RESPONSE,
		.has_conn_param = true,
		.responder_resources = 3,
		.initiator_depth = 40,
		.qp_num = 0x99,
	};
	struct rig_conn *rc;

	vbd_fabric_device(rig->fabric, "fake0")->attr.max_qp_init_rd_atom = 10;
	params.responder_resources = 60;
	params.initiator_depth = 60;
	rc = rig_conn_create(rig, &params);
	for (int i = 0; i < 2; i++) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rig);
	}
	assert_int_equal(fake_id_asked(rc->conn->cm_id).param.responder_resources, 60);
	assert_int_equal(fake_id_asked(rc->conn->cm_id).param.initiator_depth, 10);
	fake_cm_event_with(rc->conn->cm_id, &response);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(rc->conn->qp.info.initiator_depth, 10);
	assert_int_equal(rc->conn->qp.info.responder_resources, 3);
}

RIG_TEST(test_conn__a_tos_and_a_source_reach_the_cm)
{
	static const struct vbd_conn_ops no_ops = {0};
	const struct sockaddr_in dst = {.sin_family = AF_INET, .sin_port = htons(1)};
	struct vbd_conn_params params = rig_params();
	struct sockaddr_in src = rig->device->addr;
	struct vbd_conn *conn;

	rig->cm.tos = 46;
	memcpy(&rig->cm.src, &src, sizeof(src));
	/* An observer may leave all callbacks NULL. */
	assert_int_equal(vbd_conn_create(rig->fabric, 1, &params, &rig->cm, 100, &no_ops, NULL,
				 &conn, &rig->err),
		VBD_OK);
	vbd_conn_resolve(conn, (const struct sockaddr *)&dst);
	assert_int_equal(fake_id_asked(conn->cm_id).tos, 46);
	assert_int_equal(conn->cm_id->route.addr.src_sin.sin_addr.s_addr, src.sin_addr.s_addr);
	assert_true(fake_last("rdma_set_option") < fake_first("rdma_resolve_addr"));
	vbd_conn_close(conn, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(conn->state, VBD_CONN_CLOSED);
	vbd_conn_destroy(conn);
}

RIG_TEST(test_conn__on_iwarp_established_comes_without_a_response)
{
	static const char *const moves[] = {"RESET -> INIT", "INIT -> RTS"};
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = rig_conn_connect(rig, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_moves(rc, moves, VBD_ARRAY_LEN(moves));
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_RTS);
	assert_false(fake_id_asked(rc->conn->cm_id).established);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

/* A connection over iWARP whose rdma_connect is blocked: its host is silent. */
static struct rig_conn *to_silent_host(struct rig *rig)
{
	struct rig_conn *rc = rig_conn_create(rig, NULL);

	fake_block("rdma_connect");
	for (int i = 0; i < 2; i++) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rig);
	}
	assert_int_equal(rc->conn->state, VBD_CONN_CONNECTING);
	return rc;
}

/* The interrupt of a blocked call takes effect a little later. */
static void until_returned(struct rig_conn *rc)
{
	while (rc->conn->calling) {
		rig_settle(rc->rig);
		if (rc->conn->calling)
			rig_deadline(rc);
	}
}

RIG_TEST(test_conn__a_silent_iwarp_host_stops_nothing_else)
{
	struct rig_conn *silent, *other;

	rig_make_iwarp(rig);
	silent = to_silent_host(rig);
	assert_int_equal(fake_blocked(), 1);
	fake_block("nothing");
	other = rig_conn_connect(rig, NULL);
	assert_int_equal(other->conn->state, VBD_CONN_ESTABLISHED);
	rig_close(other);
	assert_int_equal(other->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(silent->conn->state, VBD_CONN_CONNECTING);
	rig_close(silent);
	until_returned(silent);
	assert_ended(silent, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__the_deadline_interrupts_a_blocked_connect)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = to_silent_host(rig);
	rig_deadline(rc);
	until_returned(rc);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_TIMED_OUT);
	assert_int_equal(fake_blocked(), 0);
	assert_int_equal(rc->conn->qp.errors_after_first, 0);
}

/* The signal may come before the call sleeps in the kernel: then nothing wakes it. */
RIG_TEST(test_conn__a_lost_interrupt_is_repeated)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = to_silent_host(rig);
	fake_ignore_interrupts(1);
	vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
	while (fake_ignores_interrupts())
		rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_int_equal(fake_blocked(), 1);
	assert_int_not_equal(rc->deadline_ms, 0);
	rig_deadline(rc);
	until_returned(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_STOPPING);
}

/* A server that takes the TCP connection and says nothing: siw destroys neither QP nor id before
 * its own deadline of 10 s. */
RIG_TEST(test_conn__a_mute_iwarp_peer_does_not_delay_the_end)
{
	struct rig_conn *rc, *other;
	struct rdma_cm_id *id;

	rig_make_iwarp(rig);
	rc = rig_conn_create(rig, NULL);
	for (int i = 0; i < 2; i++) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rig);
	}
	id = rc->conn->cm_id;
	fake_block("ibv_destroy_qp");
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(fake_blocked(), 1);
	assert_int_equal(fake_live().qps, 1);
	other = rig_conn_connect(rig, NULL);
	assert_int_equal(other->conn->state, VBD_CONN_ESTABLISHED);
	/* The CM still has the id, but nobody wants its events. */
	fake_cm_event(id, RDMA_CM_EVENT_UNREACHABLE, -110);
	rig_settle(rig);
	fake_unblock();
	rig_settle(rig);
	assert_int_equal(fake_live().qps, 1);
	rig_close(other);
	rig_assert_idle(rig);
}

RIG_TEST(test_conn__the_cm_may_be_faster_than_the_return_of_connect)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = to_silent_host(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_REJECTED, -111);
	fake_unblock();
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_REJECTED);
}

/* The name of the event says that the peer does not answer, which it may well do. */
RIG_TEST(test_conn__another_host_at_the_address_of_a_live_peer_is_named)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_error *error = &rc->conn->qp.first_error.error;

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_UNREACHABLE, -110);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_UNREACHABLE);
	assert_non_null(strstr(error->text, vbd_cm_meaning_text(VBD_CM_ADDRESS_TAKEN)));
	assert_string_equal(error->hint, vbd_cm_meaning_hint(VBD_CM_ADDRESS_TAKEN));
}

RIG_TEST(test_conn__a_refused_iwarp_connect_ends_it)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = to_silent_host(rig);
	fake_fail_next("rdma_connect", ECONNREFUSED);
	fake_unblock();
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_REJECTED);
	assert_int_equal(rc->conn->qp.first_error.error.raw, ECONNREFUSED);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "nobody listens on that port"));
}

RIG_TEST(test_conn__an_iwarp_host_that_does_not_answer_is_unreachable)
{
	static const int errnums[] = {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH};

	rig_make_iwarp(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(errnums); i++) {
		struct rig_conn *rc = to_silent_host(rig);

		fake_fail_next("rdma_connect", errnums[i]);
		fake_unblock();
		await_the_end(rc);
		assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_UNREACHABLE);
		assert_int_equal(rc->conn->qp.first_error.error.raw, errnums[i]);
	}
}

#define PEER_THREADS 64

/* Connects that wait for a thread end without having been made. */
RIG_TEST(test_conn__more_silent_hosts_than_threads_are_queued)
{
	struct rig_conn *rcs[PEER_THREADS + 2];
	unsigned int queued, running;

	rig_make_iwarp(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rcs); i++) {
		rig->queued_calls += i >= PEER_THREADS;
		rcs[i] = to_silent_host(rig);
		do {
			rig_settle(rig);
			vbd_calls_load(rig->fabric->calls, VBD_LANE_PEER, &queued, &running);
		} while (queued < rig->queued_calls);
	}
	assert_int_equal(running, PEER_THREADS);
	rig->queued_calls = 0;
	vbd_conn_close(rcs[VBD_ARRAY_LEN(rcs) - 1]->conn, VBD_REASON_LOCAL_CLOSE);
	vbd_conn_close(rcs[VBD_ARRAY_LEN(rcs) - 2]->conn, VBD_REASON_LOCAL_CLOSE);
	rig_settle(rig);
	assert_int_equal(fake_blocked(), PEER_THREADS);
	assert_int_equal(fake_count("rdma_connect"), 0);
	assert_int_equal(rcs[VBD_ARRAY_LEN(rcs) - 1]->conn->state, VBD_CONN_CLOSED);
	for (size_t i = 0; i < PEER_THREADS; i++) {
		rig_close(rcs[i]);
		until_returned(rcs[i]);
	}
	assert_int_equal(fake_blocked(), 0);
}

RIG_TEST(test_conn__a_passive_connection_comes_up)
{
	static const enum vbd_conn_state told[] = {VBD_CONN_ACCEPTING, VBD_CONN_ESTABLISHED};
	static const char *const moves[] = {"RESET -> INIT", "INIT -> RTR", "RTR -> RTS"};
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *rc;

	rig_listen(listener);
	rc = rig_request(listener);
	assert_int_equal(rc->conn->state, VBD_CONN_REQUESTED);
	assert_int_equal(rc->deadline_ms, 5000);
	assert_true(rc->conn->passive);
	assert_int_equal(((const struct sockaddr_in *)&rc->conn->peer)->sin_port, htons(40000));
	assert_string_equal(rc->conn->device.name, "fake0");
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	rig_settle(rig);
	assert_int_equal(rc->conn->qp.ibv_qp->state, IBV_QPS_RTS);
	assert_true(fake_last("ibv_post_recv") < fake_first("rdma_accept"));
	assert_int_equal(rc->deadline_ms, 5000);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_notified(rc, told, VBD_ARRAY_LEN(told));
	assert_moves(rc, moves, VBD_ARRAY_LEN(moves));
	assert_int_equal(rc->deadline_ms, 0);
	assert_int_equal(fake_id_asked(rc->conn->cm_id).ack_timeout, 14);
	vbd_cm_listener_close(&listener->cm);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__on_iwarp_the_kernel_moves_the_accepted_qp)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	rc = rig_conn_in(rig, VBD_CONN_ACCEPTING);
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_RTS);
}

RIG_TEST(test_conn__data_before_established_is_told_to_the_cm)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_ACCEPTING);

	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_COMM_EST);
	rig_settle(rig);
	assert_true(fake_id_asked(rc->conn->cm_id).notified);
	assert_int_equal(rc->conn->state, VBD_CONN_ACCEPTING);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_ASYNC_EVENT, "comm_est"));
	assert_true(rig_conn_answer(rc));
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	/* Only the passive side calls rdma_notify(). */
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_COMM_EST);
	rig_settle(rig);
	assert_int_equal(fake_count("rdma_notify"), 1);
}

RIG_TEST(test_conn__private_data_of_the_peer_is_kept)
{
	struct vbd_pv_cm_event response = {
		.type = RDMA_CM_EVENT_CONNECT_RESPONSE,
		.has_conn_param = true,
		.responder_resources = 1,
		.initiator_depth = 1,
		.qp_num = 0x77,
		.private_data_bytes = 255,
	};
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);

	memset(response.private_data, 0xab, sizeof(response.private_data));
	fake_cm_event_with(rc->conn->cm_id, &response);
	rig_settle(rig);
	assert_int_equal(rc->conn->peer_private_data.message, VBD_CM_MESSAGE_REPLY);
	assert_int_equal(rc->conn->peer_private_data.length_bytes, 255);
	assert_memory_equal(rc->conn->peer_private_data.bytes, response.private_data, 255);
}

RIG_TEST(test_conn__ids_without_a_device_fail_cleanly)
{
	struct rig_conn *rc = rig_conn_create(rig, NULL);

	/* rdma-core PR #1547: ADDR_RESOLVED, and no device bound. */
	fake_addr_resolved(rc->conn->cm_id, NULL);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ROUTE);
	assert_string_equal(rc->conn->device.name, "");
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_RESOURCE_ERROR);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NO_DEVICE);
}

/* Not coming up. */

RIG_TEST(test_conn__a_rejection_keeps_its_reason)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	const struct vbd_error *error = &rc->conn->qp.first_error.error;

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_REJECTED, 8);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_REJECTED);
	assert_int_equal(error->status, VBD_E_REJECTED);
	assert_int_equal(error->source, VBD_SOURCE_CM_EVENT);
	assert_int_equal(error->kind, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(error->raw, 8);
	assert_non_null(strstr(error->text, "nobody listens on that port"));
	assert_true(vbd_status_hint(error->status)[0] != '\0');
	assert_int_equal(rc->conn->qp.first_error.op, -1);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_CM_EVENT, "RDMA_CM_EVENT_REJECTED"));
	assert_int_equal(fake_count("rdma_disconnect"), 0);
}

struct failure_row {
	enum vbd_conn_state state;
	enum rdma_cm_event_type event;
	enum vbd_reason reason;
	enum vbd_status status;
};

RIG_TEST(test_conn__a_cm_error_becomes_the_reason)
{
	static const struct failure_row rows[] = {
		{VBD_CONN_RESOLVING_ADDR, RDMA_CM_EVENT_ADDR_ERROR, VBD_REASON_ADDR_ERROR,
			VBD_E_ADDR_ERROR},
		{VBD_CONN_RESOLVING_ROUTE, RDMA_CM_EVENT_ROUTE_ERROR, VBD_REASON_ROUTE_ERROR,
			VBD_E_ROUTE_ERROR},
		{VBD_CONN_CONNECTING, RDMA_CM_EVENT_CONNECT_ERROR, VBD_REASON_CONNECT_ERROR,
			VBD_E_CONNECT_ERROR},
		{VBD_CONN_ACCEPTING, RDMA_CM_EVENT_CONNECT_ERROR, VBD_REASON_CONNECT_ERROR,
			VBD_E_CONNECT_ERROR},
		{VBD_CONN_ESTABLISHED, RDMA_CM_EVENT_ADDR_RESOLVED, VBD_REASON_PROTOCOL_ERROR,
			VBD_OK},
		{VBD_CONN_ESTABLISHED, RDMA_CM_EVENT_MULTICAST_ERROR, VBD_REASON_PROTOCOL_ERROR,
			VBD_E_INTERNAL},
		{VBD_CONN_RESOLVING_ADDR, (enum rdma_cm_event_type)77, VBD_REASON_PROTOCOL_ERROR,
			VBD_E_INTERNAL},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = rig_conn_in(rig, rows[i].state);

		fake_cm_event(rc->conn->cm_id, rows[i].event, -110);
		if (rows[i].state < VBD_CONN_CONNECTING && rows[i].status != VBD_E_INTERNAL)
			await_the_end(rc);
		assert_ended(rc, VBD_CONN_FAILED, rows[i].reason);
		assert_int_equal(rc->conn->qp.first_error.error.status, rows[i].status);
		if (rows[i].status)
			assert_int_equal(rc->conn->qp.first_error.error.raw, -110);
	}
}

/* The statuses of an address that this host, not the peer, makes useless. */
RIG_TEST(test_conn__an_address_error_says_whose_fault_it_is)
{
	static const struct {
		int status;
		enum vbd_reason reason;
		enum vbd_status code;
		const char *text;
	} rows[] = {
		{-EMFILE, VBD_REASON_RESOURCE_ERROR, VBD_E_FD_LIMIT, "no file descriptor is left"},
		{-ENODEV, VBD_REASON_ADDR_ERROR, VBD_E_ADDR_ERROR, "has no RDMA device"},
		{-1, VBD_REASON_ADDR_ERROR, VBD_E_ADDR_ERROR, "can't open the device"},
		{-ETIMEDOUT, VBD_REASON_ADDR_ERROR, VBD_E_ADDR_ERROR, "could not be resolved"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_RESOLVING_ADDR);
		struct vbd_error error;

		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_ERROR, rows[i].status);
		if (rows[i].status == -ETIMEDOUT)
			await_the_end(rc);
		assert_ended(rc, VBD_CONN_FAILED, rows[i].reason);
		assert_int_equal(rc->conn->qp.first_error.error.status, rows[i].code);
		assert_non_null(strstr(rc->conn->qp.first_error.error.text, rows[i].text));
		vbd_qp_end_error(&rc->conn->qp, &error);
		if (rows[i].code == VBD_E_FD_LIMIT)
			assert_string_equal(error.hint, vbd_status_hint(VBD_E_FD_LIMIT));
	}
}

RIG_TEST(test_conn__unreachable_ends_every_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);

		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_UNREACHABLE, -110);
		if (open_states[i] <= VBD_CONN_CONNECTING)
			await_the_end(rc);
		assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_UNREACHABLE);
		assert_int_equal(rc->conn->qp.first_error.error.kind, RDMA_CM_EVENT_UNREACHABLE);
	}
}

RIG_TEST(test_conn__a_deadline_ends_every_waiting_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);

		if (open_states[i] == VBD_CONN_ESTABLISHED)
			continue;
		rig_deadline(rc);
		assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_TIMED_OUT);
		assert_int_equal(rc->conn->qp.first_error.error.source, VBD_SOURCE_DEADLINE);
		assert_int_equal(rc->conn->qp.first_error.error.raw, 5000);
		assert_non_null(strstr(rc->conn->qp.first_error.error.text,
			vbd_conn_state_waits_for(open_states[i])));
	}
	assert_int_equal(fake_count("rdma_reject"), 1);
}

RIG_TEST(test_conn__a_late_deadline_leaves_an_established_one_alone)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	vbd_conn_deadline(rc->conn);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_conn__a_name_without_address_fails)
{
	struct vbd_conn_params params = rig_params();
	static const struct vbd_conn_ops no_ops = {0};
	struct vbd_error why = {.source = VBD_SOURCE_GAI, .raw = -2};
	struct vbd_conn *conn;

	assert_int_equal(vbd_conn_create(rig->fabric, 1, &params, &rig->cm, 100, &no_ops, NULL,
				 &conn, &rig->err),
		VBD_OK);
	(void)vbd_error_set(&why, VBD_E_NAME_NOT_RESOLVED, "no such host");
	vbd_conn_name_failed(conn, &why);
	assert_int_equal(conn->state, VBD_CONN_FAILED);
	assert_int_equal(conn->qp.reason, VBD_REASON_NAME_NOT_RESOLVED);
	assert_int_equal(conn->qp.first_error.error.raw, -2);
	vbd_conn_destroy(conn);
}

RIG_TEST(test_conn__without_a_cm_there_is_no_connecting)
{
	struct rig_conn *rc;

	rig_stop(rig);
	fake_fail_next("rdma_create_event_channel", ENOENT);
	assert_true(rig_start(rig, 1));
	/* The rescan after the failure has opened the channel. */
	assert_int_equal(rig->cm_opened, 1);
	rig_stop(rig);
	assert_int_equal(vbd_fabric_create(1, 16, 1000, &(struct vbd_fabric_ops){0}, NULL,
				 &rig->fabric, &rig->err),
		VBD_OK);
	vbd_pv_destroy_event_channel(rig->fabric->cm_channel);
	rig->fabric->cm_channel = NULL;
	(void)vbd_error_set(&rig->fabric->cm_channel_error, VBD_E_NO_DEVICE, "no rdma_cm");
	assert_int_equal(vbd_fabric_cm_fd(rig->fabric), -1);
	rc = rig_conn_create(rig, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_RESOURCE_ERROR);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NO_DEVICE);
}

/* Decisions. */

RIG_TEST(test_conn__a_request_can_be_rejected)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, &rig->err), VBD_OK);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_REJECTED_LOCALLY);
	assert_int_equal(fake_count("rdma_reject"), 1);
}

RIG_TEST(test_conn__closing_a_request_rejects_it)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(fake_count("rdma_reject"), 1);
}

RIG_TEST(test_conn__a_reject_that_fails_still_lets_go)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_REQUESTED);

	fake_fail_next("rdma_reject", EINVAL);
	assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, &rig->err), VBD_OK);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_REJECTED_LOCALLY);
}

RIG_TEST(test_conn__only_a_request_can_be_accepted_or_rejected)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(all_states); i++) {
		struct vbd_error err = {0};
		struct rig_conn *rc;

		if (all_states[i] == VBD_CONN_REQUESTED)
			continue;
		rc = rig_conn_in(rig, all_states[i]);
		assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &err), VBD_E_WRONG_STATE);
		assert_non_null(strstr(err.text, vbd_conn_state_name(all_states[i])));
		assert_int_equal(vbd_conn_reject(rc->conn, NULL, false, NULL), VBD_E_WRONG_STATE);
		assert_int_equal(rc->conn->state, all_states[i]);
	}
}

RIG_TEST(test_conn__a_listener_may_refuse_without_a_connection)
{
	struct rig_listener *listener = rig_listener(rig);

	listener->refuse = true;
	rig_listen(listener);
	assert_null(rig_request(listener));
	assert_int_equal(fake_count("rdma_reject"), 1);
	assert_int_equal(fake_live().ids, 1);
	vbd_cm_listener_close(&listener->cm);
	vbd_cm_listener_close(&listener->cm);
}

/* Going down. */

RIG_TEST(test_conn__the_peer_disconnects)
{
	static const enum vbd_conn_state told[] = {VBD_CONN_RESOLVING_ROUTE, VBD_CONN_CONNECTING,
		VBD_CONN_ESTABLISHED, VBD_CONN_DRAINING, VBD_CONN_CLOSED};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
	assert_notified(rc, told, VBD_ARRAY_LEN(told));
	assert_int_equal(rc->conn->qp.first_error.at_ns, 0);
	/* Our side has to disconnect too: the QP is still in RTS. */
	assert_int_equal(fake_count("rdma_disconnect"), 1);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_QP, "RTS -> ERR"));
	assert_true(fake_last("ibv_destroy_qp") < fake_last("rdma_destroy_id"));
	/* Its memory stays registered for the next. */
	assert_int_equal(fake_count("ibv_dereg_mr"), 0);
	assert_int_equal(slabs_use(rig->fabric).taken_bytes, 0);
}

RIG_TEST(test_conn__a_peer_that_gives_up_early_is_a_clean_end)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);

		fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
	}
}

RIG_TEST(test_conn__a_local_close_ends_every_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);

		rig_close(rc);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
		assert_true(rig_has_entry(rc, VBD_TIMELINE_COMMAND, "close"));
		assert_int_equal(rc->conn->qp.first_error.at_ns, 0);
	}
}

RIG_TEST(test_conn__a_shutdown_ends_every_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);

		vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_STOPPING);
	}
}

RIG_TEST(test_conn__an_error_from_above_ends_every_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(open_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, open_states[i]);
		struct vbd_error why = {.source = VBD_SOURCE_DEADLINE};

		(void)vbd_error_set(&why, VBD_E_TIMED_OUT, "the transfer's deadline");
		rc->conn->qp.ops->end(&rc->conn->qp, &why, 42);
		assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_TIMED_OUT);
		assert_int_equal(rc->conn->qp.first_error.transfer, 42);
	}
}

RIG_TEST(test_conn__a_disconnect_that_fails_does_not_matter)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_fail_next("rdma_disconnect", EINVAL);
	rig_close(rc);
	rig_settle(rig);
	vbd_goodbyes_check(rig->fabric, vbd_clock_mono_ns(), 8);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__closing_twice_is_closing_once)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	fake_flush(rc->conn->qp.ibv_qp);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_LOCAL_CLOSE);
}

/* The data path fails. */

static void send_message(struct rig_conn *rc, struct vbd_transfer *transfer, uint8_t *byte)
{
	*transfer = (struct vbd_transfer){
		.id = 9,
		.op = VBD_OP_SEND,
		.channel = rc->conn->qp.channel,
		.local_addr = (uintptr_t)byte,
		.wr.inlined = true,
		.length_bytes = 1,
		.chunk_bytes = 64,
	};
	vbd_transfer_submit(transfer);
	rig_settle(rc->rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
}

static void no_end(struct vbd_transfer *transfer, void *arg)
{
	(void)transfer;
	(void)arg;
}

RIG_TEST(test_conn__a_wrong_rkey_is_the_first_error_and_flushes_are_counted)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_transfer transfer;
	uint8_t byte = 1;

	send_message(rc, &transfer, &byte);
	transfer.ended = no_end;
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_REMOTE_ACCESS);
	assert_int_equal(rc->conn->qp.first_error.error.source, VBD_SOURCE_WC);
	assert_int_equal(rc->conn->qp.first_error.error.kind, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(rc->conn->qp.first_error.error.raw, 0x88);
	assert_int_equal(rc->conn->qp.first_error.op, VBD_OP_SEND);
	assert_int_equal(rc->conn->qp.first_error.transfer, 9);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_WC, "IBV_WC_REM_ACCESS_ERR"));
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->flushed), 4);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_SEND)->errors), 1);
	assert_int_equal(transfer.state, VBD_TRANSFER_FAILED);
	assert_int_equal(transfer.wc_status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(transfer.vendor_err, 0x88);
	assert_int_equal(transfer.error.status, VBD_E_REMOTE_ACCESS);
}

RIG_TEST(test_conn__the_wc_class_becomes_the_reason)
{
	static const struct {
		enum ibv_wc_status wc;
		enum vbd_reason reason;
	} rows[] = {
		{IBV_WC_RETRY_EXC_ERR, VBD_REASON_RETRY_EXCEEDED},
		{IBV_WC_RNR_RETRY_EXC_ERR, VBD_REASON_RNR_EXCEEDED},
		{IBV_WC_REM_INV_REQ_ERR, VBD_REASON_REMOTE_INVALID},
		{IBV_WC_REM_OP_ERR, VBD_REASON_REMOTE_OPERATION},
		{IBV_WC_LOC_PROT_ERR, VBD_REASON_LOCAL_ERROR},
		{IBV_WC_FATAL_ERR, VBD_REASON_QP_FATAL},
		{(enum ibv_wc_status)77, VBD_REASON_LOCAL_ERROR},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = rig_conn_connect(rig, NULL);

		fake_recv_failed(rc->conn->qp.ibv_qp, rows[i].wc, 0);
		assert_ended(rc, VBD_CONN_FAILED, rows[i].reason);
		assert_int_equal(rc->conn->qp.first_error.op, VBD_OP_RECV);
	}
}

RIG_TEST(test_conn__a_second_error_does_not_replace_the_first)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_recv_failed(rc->conn->qp.ibv_qp, IBV_WC_LOC_LEN_ERR, 5);
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_QP_FATAL);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	/* The order of the three events is up to the loop; the first one stays the cause. */
	rig_settle(rig);
	assert_true(vbd_conn_state_terminal(rc->conn->state));
	rig_assert_gone(rc);
}

static void assert_remote_access(struct rig_conn *rc)
{
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_REMOTE_ACCESS);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_REMOTE_ACCESS);
	assert_int_equal(rc->conn->qp.errors_after_first, 0);
}

RIG_TEST(test_conn__an_error_is_the_cause_though_the_peer_hangs_up_first)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_transfer transfer;
	uint8_t byte = 1;

	/* The worker has sent its notification; control handles the disconnect first. */
	send_message(rc, &transfer, &byte);
	transfer.ended = no_end;
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	rig_turn_workers(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_QP_FATAL);
	assert_remote_access(rc);

	/* The worker gets the command to drain before it sees the completion. */
	rc = rig_conn_connect(rig, NULL);
	send_message(rc, &transfer, &byte);
	transfer.ended = no_end;
	fake_send_failed(rc->conn->qp.ibv_qp, IBV_WC_REM_ACCESS_ERR, 0x88);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	vbd_fabric_dispatch_cm(rig->fabric);
	assert_remote_access(rc);
}

/* A connection with a send outstanding that the peer has disconnected; the answer of the peer's
 * device to the send is still under way. */
static struct rig_conn *overtaken(struct rig *rig, struct vbd_transfer *transfer)
{
	static uint8_t byte = 1;
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	send_message(rc, transfer, &byte);
	transfer->ended = no_end;
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_RTS);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	return rc;
}

RIG_TEST(test_conn__a_refusal_that_the_disconnect_overtook_is_the_cause)
{
	static const struct {
		enum ibv_wc_status wc;
		enum vbd_reason reason;
	} rows[] = {
		{IBV_WC_REM_ACCESS_ERR, VBD_REASON_REMOTE_ACCESS},
		{IBV_WC_REM_OP_ERR, VBD_REASON_REMOTE_OPERATION},
		{IBV_WC_REM_INV_REQ_ERR, VBD_REASON_REMOTE_INVALID},
		{IBV_WC_RNR_RETRY_EXC_ERR, VBD_REASON_RNR_EXCEEDED},
		{IBV_WC_LOC_PROT_ERR, VBD_REASON_LOCAL_ERROR},
	};
	struct vbd_transfer transfer;

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = overtaken(rig, &transfer);

		fake_send_failed(rc->conn->qp.ibv_qp, rows[i].wc, 0);
		assert_ended(rc, VBD_CONN_FAILED, rows[i].reason);
		assert_int_equal(rc->conn->qp.first_error.error.kind, rows[i].wc);
		assert_int_equal(transfer.wc_status, rows[i].wc);
	}
}

RIG_TEST(test_conn__that_a_peer_which_left_does_not_answer_is_no_cause)
{
	static const enum ibv_wc_status silence[] = {IBV_WC_RETRY_EXC_ERR, IBV_WC_RESP_TIMEOUT_ERR};
	struct vbd_transfer transfer;

	for (size_t i = 0; i < VBD_ARRAY_LEN(silence); i++) {
		struct rig_conn *rc = overtaken(rig, &transfer);

		fake_send_failed(rc->conn->qp.ibv_qp, silence[i], 0);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
		assert_int_equal(rc->conn->qp.errors_after_first, 1);
	}
}

RIG_TEST(test_conn__a_peer_that_left_is_waited_for_until_the_sends_are_over)
{
	struct vbd_transfer transfer;
	struct rig_conn *rc = overtaken(rig, &transfer);

	/* The peer has its answer, and the send goes on. */
	assert_int_equal(fake_count("rdma_disconnect"), 1);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	rig_deadline(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
	assert_int_equal(transfer.state, VBD_TRANSFER_DONE);
}

RIG_TEST(test_conn__a_peer_that_left_is_waited_for_a_second_at_most)
{
	struct vbd_transfer transfer;
	struct rig_conn *rc = overtaken(rig, &transfer);
	uint64_t waited_ms = 0;

	while (rc->conn->looks_left) {
		waited_ms += rc->deadline_ms;
		rig_deadline(rc);
	}
	assert_int_equal(waited_ms, 1000);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
	assert_int_equal(transfer.state, VBD_TRANSFER_FAILED);
}

RIG_TEST(test_conn__whatever_comes_while_a_refusal_may_be_under_way)
{
	struct vbd_transfer transfer;
	struct rig_conn *rc = overtaken(rig, &transfer);

	vbd_conn_close(rc->conn, VBD_REASON_STOPPING);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
	rc = overtaken(rig, &transfer);
	vbd_conn_device_removed(rc->conn);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_PEER_DISCONNECT);
}

RIG_TEST(test_conn__the_first_error_stays)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_qp *qp = &rc->conn->qp;
	const struct vbd_error errors[] = {
		{.status = VBD_E_TIMED_OUT}, {.status = VBD_E_REMOTE_ACCESS}};
	const struct vbd_cause causes[] = {{.error = &errors[0], .op = VBD_OP_WRITE, .transfer = 7},
		{.error = &errors[1], .op = VBD_OP_READ, .transfer = 8}};
	const struct vbd_cause none = {.op = -1};
	const struct vbd_first_error was = qp->first_error;
	uint64_t at_ns;

	vbd_qp_remember(qp, VBD_REASON_TIMED_OUT, &none);
	assert_int_equal(qp->first_error.at_ns, 0);
	vbd_qp_remember(qp, VBD_REASON_PEER_DISCONNECT, &causes[0]);
	at_ns = qp->first_error.at_ns;
	assert_int_not_equal(at_ns, 0);
	assert_int_equal(qp->errors_after_first, 0);
	vbd_qp_remember(qp, VBD_REASON_LOCAL_CLOSE, &causes[1]);
	assert_int_equal(qp->errors_after_first, 1);
	assert_int_equal(qp->first_error.at_ns, at_ns);
	assert_int_equal(qp->first_error.error.status, VBD_E_TIMED_OUT);
	assert_int_equal(qp->first_error.op, VBD_OP_WRITE);
	assert_int_equal(qp->first_error.transfer, 7);
	assert_int_equal(qp->reason, VBD_REASON_TIMED_OUT);
	qp->first_error = was;
	qp->errors_after_first = 0;
	qp->reason = VBD_REASON_NONE;
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__an_error_after_a_local_close_is_counted_only)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_recv_failed(rc->conn->qp.ibv_qp, IBV_WC_LOC_LEN_ERR, 5);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(rc->conn->qp.errors_after_first, 1);
}

RIG_TEST(test_conn__an_async_error_of_the_qp_ends_it)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR};

	for (size_t i = 0; i < VBD_ARRAY_LEN(types); i++) {
		struct rig_conn *other = rig_conn_connect(rig, NULL);
		struct rig_conn *rc = rig_conn_connect(rig, NULL);

		fake_qp_async(rc->conn->qp.ibv_qp, types[i]);
		rig_settle(rig);
		assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
		assert_int_equal(rc->conn->qp.reason, VBD_REASON_QP_FATAL);
		assert_int_equal(rc->conn->qp.first_error.error.source, VBD_SOURCE_ASYNC);
		assert_int_equal(rc->conn->qp.first_error.error.kind, types[i]);
		assert_int_equal(other->conn->state, VBD_CONN_ESTABLISHED);
		rig_close(other);
	}
	rig_assert_idle(rig);
}

RIG_TEST(test_conn__other_async_events_of_the_qp_are_noted_only)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_SQ_DRAINED);
	fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_ASYNC_EVENT, "sq_drained"));
}

RIG_TEST(test_conn__a_flush_out_of_the_blue_is_qp_fatal)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_QP_FATAL);
	assert_int_equal(rc->conn->qp.first_error.error.kind, IBV_WC_WR_FLUSH_ERR);
}

/* Draining. */

RIG_TEST(test_conn__flushes_that_never_come_are_not_waited_for)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_transfer transfer;
	uint8_t byte = 1;

	send_message(rc, &transfer, &byte);
	transfer.ended = no_end;
	fake_flushes_withheld(true);
	rig_close(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_int_equal(rc->deadline_ms, 1000);
	assert_int_equal(fake_live().qps, 1);
	rig_deadline(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	/* Work without a completion counts as flushed, and the transfer has failed. */
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->flushed), 4);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_SEND)->flushed), 1);
	assert_int_equal(transfer.state, VBD_TRANSFER_FAILED);
	assert_int_equal(slabs_use(rig->fabric).taken_bytes, 0);
}

RIG_TEST(test_conn__a_deadline_beside_the_last_flush_does_no_harm)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	/* The flushes are in the CQ, and the deadline passes before the worker polls them. */
	fake_flush(rc->conn->qp.ibv_qp);
	rig_deadline(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->flushed), 4);
}

RIG_TEST(test_conn__a_device_that_takes_no_orders_is_forced_at_once)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_fail_next("ibv_modify_qp", EIO);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__a_forced_qp_stays_until_its_worker_posts_no_more)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND, mem, 10, 64);

	/* The worker has the command to post, but not the command to drain. */
	vbd_transfer_submit(&rt->transfer);
	fake_fail_next("ibv_modify_qp", EIO);
	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	assert_int_equal(fake_live().qps, 1);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_gone(rc);
	rig_assert_cqs_idle(rig);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
}

RIG_TEST(test_conn__late_events_of_an_ended_one_find_nobody)
{
	static const enum vbd_conn_state ended[] = {VBD_CONN_CLOSED, VBD_CONN_FAILED};

	for (size_t i = 0; i < VBD_ARRAY_LEN(ended); i++) {
		struct rig_conn *rc = rig_conn_in(rig, ended[i]);
		struct vbd_conn before = *rc->conn;

		for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; type++) {
			const struct vbd_pv_cm_event event = {
				.type = (enum rdma_cm_event_type)type};

			vbd_conn_on_cm_event(rc->conn, &event);
		}
		rc->conn->qp.ops->on_async(&rc->conn->qp, IBV_EVENT_QP_FATAL);
		vbd_conn_device_removed(rc->conn);
		vbd_conn_deadline(rc->conn);
		vbd_conn_refresh_qp(rc->conn);
		assert_int_equal(rc->conn->state, ended[i]);
		assert_int_equal(rc->conn->qp.reason, before.qp.reason);
		assert_int_equal(rc->conn->qp.first_error.at_ns, before.qp.first_error.at_ns);
		assert_int_equal(rc->conn->ended_ns, before.ended_ns);
		rig_assert_idle(rig);
	}
}

RIG_TEST(test_conn__events_while_it_drains_change_nothing)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; type++) {
		const struct vbd_pv_cm_event event = {.type = (enum rdma_cm_event_type)type};

		vbd_conn_on_cm_event(rc->conn, &event);
	}
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	fake_flush(rc->conn->qp.ibv_qp);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

/* The device goes. */

RIG_TEST(test_conn__a_removed_device_takes_everything_in_every_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(all_states); i++) {
		struct rig_conn *rc = rig_conn_in(rig, all_states[i]);
		bool was_over = vbd_conn_state_terminal(all_states[i]);

		fake_device_unplug(rig->device);
		fake_device_cm_removal(rig->device);
		unit_rescan(rig->fabric);
		rig_settle(rig);
		if (rc->conn->state == VBD_CONN_DRAINING)
			rig_deadline(rc);
		if (all_states[i] == VBD_CONN_RESOLVING_ADDR) {
			/* The id is not bound to a device yet, so the removal does not concern
			 * it. */
			assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
			rig_close(rc);
		} else if (!was_over && all_states[i] != VBD_CONN_DRAINING) {
			assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
			assert_int_equal(rc->conn->qp.reason, VBD_REASON_DEVICE_REMOVED);
			assert_int_equal(
				rc->conn->qp.first_error.error.status, VBD_E_DEVICE_REMOVED);
		}
		rig_assert_gone(rc);
		rig_assert_idle(rig);
		assert_true(fake_device_let_go(rig->device));
		assert_int_equal(fake_live().contexts, 0);
		assert_int_equal(rig->removing, i + 1);
		assert_int_equal(rig->removed, i + 1);
		rig->device = fake_device_add("fake0");
		unit_rescan(rig->fabric);
	}
}

RIG_TEST(test_conn__a_device_that_goes_while_we_connect_is_not_used)
{
	struct rig_conn *holder = rig_conn_in(rig, VBD_CONN_DRAINING);
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_RESOLVING_ADDR);

	/* The device is REMOVING but still has users: its context is open, but no object is made on
	 * it. */
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	assert_int_equal(rig->removed, 0);
	fake_addr_resolved(rc->conn->cm_id, rig->device);
	rig_settle(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_DEVICE_REMOVED);
	rig_assert_gone(rc);
	rig_deadline(holder);
	assert_int_equal(rig->removed, 1);
	assert_true(fake_device_let_go(rig->device));
}

RIG_TEST(test_conn__a_device_that_could_not_be_opened_says_why)
{
	struct rig_conn *rc;
	struct fake_device *second = fake_device_add("fake1");

	second->open_errno = EACCES;
	unit_rescan(rig->fabric);
	rc = rig_conn_create(rig, NULL);
	fake_addr_resolved(rc->conn->cm_id, second);
	rig_settle(rig);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_RESOURCE_ERROR);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_NO_DEVICE);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "fake1"));
}

RIG_TEST(test_conn__too_deep_queues_are_refused_with_the_limit)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.sq_depth = 16384;
	params.qp.rq_depth = 16384;
	vbd_fabric_device(rig->fabric, "fake0")->attr.max_cqe = 1000;
	rc = rig_conn_connect(rig, &params);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_RESOURCE_ERROR);
	assert_int_equal(rc->conn->qp.first_error.error.status, VBD_E_OUT_OF_RANGE);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "1000"));
}

/* The record. */

RIG_TEST(test_conn__the_timeline_is_bounded_and_in_order)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	const struct vbd_timeline *timeline = &rc->conn->timeline;

	for (int i = 0; i < 200; i++)
		fake_qp_async(rc->conn->qp.ibv_qp, IBV_EVENT_SQ_DRAINED);
	rig_settle(rig);
	assert_int_equal(timeline->count, VBD_TIMELINE_MAX);
	assert_true(timeline->dropped > 100);
	for (uint32_t i = 1; i < timeline->count; i++)
		assert_true(timeline->entries[i]->at_ns >= timeline->entries[i - 1]->at_ns);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__at_debug_every_decision_is_logged)
{
	struct rig_conn *rc;

	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_TEXT);
	rc = rig_conn_connect(rig, NULL);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_cm_event(rc->conn->cm_id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	fake_fail_next("rdma_disconnect", EINVAL);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__what_it_moved_is_known_after_its_end)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_recv_done(rc->conn->qp.ibv_qp, "hello", 5);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 1);
	assert_int_equal(rc->messages[0]->received.length_bytes, 5);
	assert_memory_equal(vbd_channel_recv_data(rc->messages[0]), "hello", 5);
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	assert_true(rc->memory_went);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->completed), 1);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->bytes), 5);
	assert_int_equal(
		vbd_counter_get(&vbd_qp_op_counters(&rc->conn->qp, VBD_OP_RECV)->posted), 4);
}

RIG_TEST(test_conn__a_qp_that_can_not_be_queried_keeps_its_facts)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_fail_next("ibv_query_qp", EIO);
	vbd_conn_refresh_qp(rc->conn);
	assert_int_equal(rc->conn->qp.info.rqpn, 0x77);
	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	vbd_conn_refresh_qp(rc->conn);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_ERR);
}

/* A call thread moves the QP while a client looks at the connection. */
RIG_TEST(test_conn__a_query_in_between_hides_no_move)
{
	static const char *const moves[] = {
		"RESET -> INIT", "INIT -> RTR", "RTR -> RTS", "RTS -> ERR"};
	struct rig_conn *rc = rig_conn_connect(rig, NULL);

	fake_flushes_withheld(true);
	fake_qp_to_err(rc->conn->qp.ibv_qp);
	vbd_conn_refresh_qp(rc->conn);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_ERR);
	vbd_qp_moved(&rc->conn->qp, IBV_QPS_ERR);
	assert_moves(rc, moves, VBD_ARRAY_LEN(moves));
}

RIG_TEST(test_conn__many_who_look_at_a_qp_ask_the_device_once)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	unsigned int queries = fake_count("ibv_query_qp");
	uint64_t now_ns = 5 * VBD_QP_FRESH_NS;

	vbd_conn_refresh_qp_at(rc->conn, now_ns);
	vbd_conn_refresh_qp_at(rc->conn, now_ns + VBD_QP_FRESH_NS - 1);
	assert_int_equal(fake_count("ibv_query_qp"), queries + 1);
	vbd_conn_refresh_qp_at(rc->conn, now_ns + VBD_QP_FRESH_NS);
	assert_int_equal(fake_count("ibv_query_qp"), queries + 2);
	vbd_qp_moved(&rc->conn->qp, IBV_QPS_RTS);
	vbd_conn_refresh_qp_at(rc->conn, now_ns + VBD_QP_FRESH_NS);
	assert_int_equal(fake_count("ibv_query_qp"), queries + 3);
}

RIG_TEST(test_conn__two_deadlines_before_its_worker_turns_force_it_once)
{
	struct rig_conn *rc = rig_conn_in(rig, VBD_CONN_DRAINING);

	vbd_conn_deadline(rc->conn);
	vbd_conn_deadline(rc->conn);
	rig_settle(rig);
	rc->deadline_ms = 0;
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn__an_end_is_told_by_its_first_error_or_its_reason)
{
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_error err = {0};

	rig_close(rc);
	vbd_qp_end_error(&rc->conn->qp, &err);
	assert_int_equal(err.status, vbd_reason_status(VBD_REASON_LOCAL_CLOSE));
	assert_memory_equal(err.text, "connection 1 ended: ", 20);
	assert_string_equal(err.text + 20, vbd_reason_text(VBD_REASON_LOCAL_CLOSE));
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	rig_deadline(rc);
	vbd_qp_end_error(&rc->conn->qp, &err);
	assert_int_equal(err.status, VBD_E_TIMED_OUT);
	assert_string_equal(err.text, rc->conn->qp.first_error.error.text);
	err = (struct vbd_error){0};
	assert_int_equal(rc->conn->qp.ops->check_usable(&rc->conn->qp, &err), VBD_E_WRONG_STATE);
	assert_string_equal(err.text,
		"connection 2 is failed (timed_out); data moves only while it is established");
	assert_string_equal(err.param, "connection");
	assert_non_null(err.hint);
	err = (struct vbd_error){0};
	rc = rig_conn_in(rig, VBD_CONN_CONNECTING);
	assert_int_equal(rc->conn->qp.ops->check_usable(&rc->conn->qp, &err), VBD_E_WRONG_STATE);
	assert_string_equal(
		err.text, "connection 3 is connecting; data moves only while it is established");
	assert_null(err.hint);
}

RIG_TEST(test_conn__only_some_events_of_its_queue_pair_fail_it)
{
	static const struct {
		int type;
		bool fails;
	} rows[] = {
		{IBV_EVENT_QP_FATAL, true},
		{IBV_EVENT_QP_REQ_ERR, true},
		{IBV_EVENT_QP_ACCESS_ERR, true},
		{IBV_EVENT_CQ_ERR, true},
		{IBV_EVENT_COMM_EST, false},
		{IBV_EVENT_SQ_DRAINED, false},
		{IBV_EVENT_PATH_MIG, false},
		{IBV_EVENT_PORT_ERR, false},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		assert_int_equal(vbd_qp_fails_by(rows[i].type), rows[i].fails);
}
