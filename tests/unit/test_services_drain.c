/* SPDX-License-Identifier: Apache-2.0 */
/* Drain: nothing new begins, transfers finish, and it may be taken back. */
#include "daemon/drain.h"

#include "daemon/memory/shared.h"
#include "daemon/memory/windows.h"
#include "daemon/work/probes.h"
#include "tests/unit/svc.h"

static enum vbd_drain_state state_of(const struct svc *svc)
{
	return svc->daemon->drain.state;
}

/* A send that stays under way. */
static struct vbd_transfer_record *begin_send(struct svc *svc, const struct svc_pair *pair)
{
	struct vbd_transfer_record *record = NULL;

	fake_loopback(false);
	assert_int_equal(svc_send_message(pair->active, (const uint8_t *)"x", 1, NULL, 60000,
				 &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_RUNNING);
	return record;
}

static void finish_send(struct svc *svc, const struct svc_pair *pair)
{
	SVC_UNTIL(svc, fake_sends(pair->active->conn->qp.ibv_qp) == 1);
	fake_send_done(pair->active->conn->qp.ibv_qp);
	fake_loopback(true);
}

SVC_TEST(test_services_drain__an_idle_daemon_has_drained_at_once)
{
	assert_int_equal(state_of(svc), VBD_DRAIN_SERVING);
	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(state_of(svc), VBD_DRAIN_DRAINED);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_DRAINING), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_DRAINED), 1);
}

SVC_TEST(test_services_drain__nothing_new_begins)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_listener_spec listener_spec = svc_listener_spec();
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	const struct vbd_buffer_spec buffer_spec = {.size_bytes = 100};
	struct vbd_buffer *buffer = svc_buffer(svc, "here", 4096, VBD_ACCESS_MW_BIND);
	const struct vbd_cq_spec cq_spec = {.cqe = 16};
	const struct vbd_srq_spec srq_spec = {.params = {.depth = 4, .recv_size_bytes = 64}};
	const struct vbd_probe_spec probe_spec = {
		.connection = pair.active, .kind = VBD_PROBE_ACK, .count = 1, .timeout_ms = 1000};
	const struct vbd_manual_spec by_hand = {
		.params = svc_spec_to(NULL).params, .how = {.port_num = 1}};
	const struct vbd_window_spec window_spec = {.buffer = buffer,
		.connection = pair.passive,
		.range = {.type = 1, .length_bytes = 100, .access = VBD_ACCESS_REMOTE_READ},
		.timeout_ms = 5000};
	struct vbd_transfer_record *record = NULL;
	struct vbd_window_record *window = NULL;
	struct vbd_connection *connection = NULL;
	struct vbd_listener *listener = NULL;
	struct vbd_shared *shared = NULL;

	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, NULL), VBD_E_DRAINING);
	assert_int_equal(
		vbd_listener_create(svc->daemon, &listener_spec, &listener, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_buffer_create(svc->daemon, &buffer_spec, NULL, NULL), VBD_E_DRAINING);
	assert_int_equal(
		svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 100, &record, NULL),
		VBD_E_DRAINING);
	assert_int_equal(
		vbd_pd_request(svc->daemon, &svc->origin, "", "", &shared, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_cq_request(svc->daemon, &cq_spec, &shared, NULL), VBD_E_DRAINING);
	assert_int_equal(
		vbd_srq_request(svc->daemon, &srq_spec, NULL, NULL, NULL, NULL), VBD_E_DRAINING);
	assert_int_equal(vbd_probe_create(svc->daemon, &probe_spec, NULL, NULL), VBD_E_DRAINING);
	assert_int_equal(
		vbd_connection_create_manual(svc->daemon, &by_hand, NULL, NULL), VBD_E_DRAINING);
	assert_int_equal(
		vbd_window_create(svc->daemon, &window_spec, &window, NULL), VBD_E_DRAINING);
	buffer->state = VBD_BUFFER_LOST;
	assert_int_equal(vbd_buffer_restore(buffer, &buffer_spec, NULL), VBD_E_DRAINING);
	buffer->state = VBD_BUFFER_READY;
	assert_null(shared);
	assert_int_equal(pair.active->conn->state, VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_drain__a_transfer_under_way_finishes)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_transfer_record *record = begin_send(svc, &pair);

	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(state_of(svc), VBD_DRAIN_DRAINING);
	assert_int_equal(vbd_drain_transfers(svc->daemon), 1);
	finish_send(svc, &pair);
	SVC_UNTIL(svc, state_of(svc) == VBD_DRAIN_DRAINED);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(pair.active->conn->state, VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_drain__a_transfer_is_cancelled_at_the_deadline)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_transfer_record *record = begin_send(svc, &pair);

	vbd_drain_begin(svc->daemon, 1);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_CANCELLING);
	/* End the grace period at once. */
	vbd_timer_set(record->object.deadline, 0);
	SVC_UNTIL(svc, state_of(svc) == VBD_DRAIN_DRAINED);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_CANCELLED);
}

/* Two connections without a service, whose receives the client posts. */
static struct svc_pair bare_pair(struct svc *svc)
{
	struct vbd_listener_spec listener_spec = svc_listener_spec();
	struct vbd_connection_spec spec;
	struct vbd_listener *listener;
	struct svc_pair pair;

	fake_receives_optional(true);
	listener_spec.params.qp.service = VBD_SERVICE_NONE;
	listener = svc_listen(svc, &listener_spec);
	spec = svc_spec_to(listener);
	spec.params.qp.service = VBD_SERVICE_NONE;
	pair.active = svc_connect(svc, &spec);
	SVC_UNTIL(svc, pair.active->conn->state == VBD_CONN_ESTABLISHED);
	pair.passive = svc_newest_of(svc, listener);
	SVC_UNTIL(svc, pair.passive->conn->state == VBD_CONN_ESTABLISHED);
	return pair;
}

SVC_TEST(test_services_drain__all_but_receives_are_cancelled_at_the_deadline)
{
	struct svc_pair pair = bare_pair(svc);
	const struct vbd_transfer_spec receive = {.qp = &pair.passive->conn->qp,
		.buffer = svc_buffer(svc, "here", 64, 0),
		.op = VBD_OP_RECV,
		.length_bytes = 64,
		.timeout_ms = 60000};
	struct vbd_transfer_record *waits = NULL, *sent[2];

	assert_int_equal(vbd_transfer_create(svc->daemon, &receive, &waits, &svc->err), VBD_OK);
	sent[0] = begin_send(svc, &pair);
	sent[1] = begin_send(svc, &pair);
	vbd_drain_begin(svc->daemon, 0);
	assert_int_equal(vbd_drain_transfers(svc->daemon), 2);
	assert_int_equal(svc->daemon->drain.deadline_ns, 0);
	vbd_drain_begin(svc->daemon, 1);
	assert_true(svc->daemon->drain.deadline_ns > svc->daemon->drain.since_ns);
	for (size_t i = 0; i < VBD_ARRAY_LEN(sent); i++)
		SVC_UNTIL(svc, sent[i]->transfer.state == VBD_TRANSFER_CANCELLING);
	assert_int_equal(waits->transfer.state, VBD_TRANSFER_RUNNING);
	assert_int_equal(svc->daemon->receives_open, 1);
	/* The end of the grace period costs the connection. */
	vbd_timer_set(sent[0]->object.deadline, 0);
	SVC_UNTIL(svc, state_of(svc) == VBD_DRAIN_DRAINED);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_DRAINING), 1);
	assert_int_equal(vbd_drain_undo(svc->daemon, &svc->err), VBD_OK);
	assert_int_equal(svc->daemon->drain.since_ns, 0);
	assert_int_equal(svc->daemon->drain.deadline_ns, 0);
	assert_int_equal(vbd_drain_undo(svc->daemon, &svc->err), VBD_OK);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_UNDRAINED), 1);
}

/* A turn looks at some of the transfers only, and at ended ones too. */
SVC_TEST(test_services_drain__the_last_of_many_transfers_is_cancelled)
{
	struct vbd_transfer_record *record = NULL;
	struct svc_pair pair;

	svc->config.records.ended = 2000;
	svc_restart(svc);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	for (int i = 1; i <= 1001; i++) {
		assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 60000,
					 &record, &svc->err),
			VBD_OK);
		SVC_UNTIL(svc, record->object.ended);
		if (i % 4 == 0) {
			SVC_UNTIL(svc, pair.passive->inbox.last_seq == (uint64_t)i);
			assert_int_equal(
				vbd_inbox_delete(&pair.passive->inbox, (uint64_t)i, &svc->err),
				VBD_OK);
		}
	}
	record = begin_send(svc, &pair);
	vbd_drain_begin(svc->daemon, 1);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_CANCELLING);
	vbd_timer_set(record->object.deadline, 0);
	SVC_UNTIL(svc, state_of(svc) == VBD_DRAIN_DRAINED);
}

SVC_TEST(test_services_drain__a_listener_refuses_until_it_is_taken_back)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *refused = svc_connect(svc, &spec);

	/* The daemon is its own peer: this request is on its way already. */
	vbd_drain_begin(svc->daemon, 0);
	SVC_UNTIL(svc, refused->object.ended);
	assert_int_equal(refused->conn->qp.reason, VBD_REASON_REJECTED);
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_DRAINING], 1);
	assert_int_equal(listener->state, VBD_LISTENER_LISTENING);
	assert_int_equal(vbd_drain_undo(svc->daemon, &svc->err), VBD_OK);
	assert_int_equal(state_of(svc), VBD_DRAIN_SERVING);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_UNDRAINED), 1);
	(void)svc_pair(svc, listener);
}

SVC_TEST(test_services_drain__it_is_not_taken_back_from_a_stop)
{
	vbd_drain_begin(svc->daemon, 0);
	vbd_daemon_stop(svc->daemon, NULL, NULL);
	assert_int_equal(vbd_drain_undo(svc->daemon, NULL), VBD_E_STOPPING);
}

SVC_TEST(test_services_drain__a_stop_lets_transfers_finish)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_transfer_record *record = begin_send(svc, &pair);

	vbd_daemon_stop(svc->daemon, NULL, NULL);
	svc_turn(svc);
	assert_int_equal(pair.active->conn->state, VBD_CONN_ESTABLISHED);
	finish_send(svc, &pair);
	SVC_UNTIL(svc, vbd_daemon_is_drained(svc->daemon));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_STOPPING);
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

/* The registration is the last that the stop waits for, and fails in the second round. */
SVC_TEST(test_services_drain__a_stop_waits_for_a_registration)
{
	static const struct vbd_buffer_spec spec = {.name = "late", .size_bytes = 4096};

	for (int round = 0; round < 2; round++) {
		struct vbd_buffer *buffer = NULL;
		bool stopped = false;

		fake_block("ibv_reg_mr");
		assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
		SVC_UNTIL(svc, fake_blocked() == 1);
		vbd_daemon_stop(svc->daemon, on_stopped, &stopped);
		svc_turn(svc);
		assert_false(stopped);
		assert_false(vbd_daemon_is_drained(svc->daemon));
		fake_fail_next("ibv_reg_mr", round ? EAGAIN : 0);
		fake_unblock();
		SVC_UNTIL(svc, vbd_daemon_is_drained(svc->daemon));
		svc_turn(svc);
		assert_true(stopped);
		assert_int_equal(buffer->state, round ? VBD_BUFFER_FAILED : VBD_BUFFER_READY);
		svc_restart(svc);
	}
}

SVC_TEST(test_services_drain__a_stop_waits_for_a_part_of_its_time)
{
	struct svc_pair pair;

	svc->config.drain_timeout_ms = 100;
	svc->config.shutdown_timeout_ms = 102;
	svc_restart(svc);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	(void)begin_send(svc, &pair);
	vbd_daemon_stop(svc->daemon, NULL, NULL);
	SVC_UNTIL(svc, pair.active->conn->state != VBD_CONN_ESTABLISHED);
	SVC_UNTIL(svc, vbd_daemon_is_drained(svc->daemon));
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_STOPPING);
	fake_loopback(true);
}
