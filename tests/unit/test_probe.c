/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/probe.h"

#include "base/clock.h"
#include "rdma/data/worker.h"
#include "tests/unit/rig.h"

#define HOUR_NS UINT64_C(3600000000000)

struct probing {
	struct rig_conn *rc;
	struct vbd_probe *probe;
	unsigned int ended;
};

static void on_ended(struct vbd_probe *probe, void *arg)
{
	struct probing *probing = arg;

	assert_ptr_equal(probe, probing->probe);
	probing->ended++;
}

static struct vbd_worker *worker_of(const struct probing *probing)
{
	return probing->probe->channel->worker;
}

static struct ibv_qp *qp_of(const struct probing *probing)
{
	return probing->rc->conn->qp.ibv_qp;
}

static void begin(struct probing *probing, uint32_t count, uint64_t interval_ns)
{
	struct vbd_probe *probe = calloc(1, sizeof(*probe));

	assert_non_null(probe);
	probe->kind = VBD_PROBE_ACK;
	probe->channel = probing->rc->conn->qp.channel;
	probe->count = count;
	probe->interval_ns = interval_ns;
	probe->ended = on_ended;
	probe->arg = probing;
	probing->probe = probe;
	probing->ended = 0;
	vbd_probe_start(probe);
	rig_settle(probing->rc->rig);
}

static void connect_and_begin(
	struct probing *probing, struct rig *rig, uint32_t count, uint64_t interval_ns)
{
	const struct vbd_conn_params params = rig_params();

	probing->rc = rig_conn_connect(rig, &params);
	begin(probing, count, interval_ns);
}

static void acknowledge(const struct probing *probing)
{
	fake_send_done(qp_of(probing));
	rig_settle(probing->rc->rig);
}

/* Moves the time of the next ping, if there is one. */
static void set_due(const struct probing *probing, uint64_t due_ns)
{
	if (!probing->probe->due.queued)
		return;
	vbd_heap_remove(&worker_of(probing)->probes, &probing->probe->due);
	vbd_heap_add(&worker_of(probing)->probes, &probing->probe->due, due_ns);
}

/* Lets the interval pass. */
static void come_due(const struct probing *probing)
{
	set_due(probing, 1);
	vbd_probes_run_due(worker_of(probing));
	rig_settle(probing->rc->rig);
}

static void assert_counters(
	const struct vbd_probe_counters *counters, uint64_t sent, uint64_t completed, uint64_t late)
{
	assert_int_equal(vbd_counter_get(&counters->sent), sent);
	assert_int_equal(vbd_counter_get(&counters->completed), completed);
	assert_int_equal(vbd_counter_get(&counters->late), late);
	assert_int_equal(vbd_counter_get(&counters->rtt_ns.count), completed);
}

static void assert_counts(
	const struct vbd_probe *probe, uint64_t sent, uint64_t completed, uint64_t late)
{
	assert_counters(&probe->counters, sent, completed, late);
}

/* The only probe of the worker, so that the sums of its kind are its own counts. */
static void assert_sums(const struct probing *probing)
{
	const struct vbd_probe_counters *own = &probing->probe->counters;

	for (int kind = 0; kind < VBD_PROBE_KIND_COUNT; kind++) {
		const struct vbd_probe_counters *sums =
			&probing->rc->rig->fabric->workers[0]->probe_totals[kind];

		if (kind != (int)probing->probe->kind) {
			assert_counters(sums, 0, 0, 0);
			assert_int_equal(vbd_counter_get(&sums->lost), 0);
			continue;
		}
		assert_counters(sums, vbd_counter_get(&own->sent), vbd_counter_get(&own->completed),
			vbd_counter_get(&own->late));
		assert_int_equal(vbd_counter_get(&sums->lost), vbd_counter_get(&own->lost));
	}
}

RIG_TEST(test_probe__a_ping_is_a_write_of_nothing)
{
	struct probing probing;
	struct fake_wr wr;

	connect_and_begin(&probing, rig, 1, 0);
	assert_int_equal(fake_sends(qp_of(&probing)), 1);
	wr = fake_send_at(qp_of(&probing), 0);
	assert_int_equal(wr.opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(wr.length_bytes, 0);
	assert_int_equal(wr.sge_count, 0);
	assert_true(wr.send_flags & IBV_SEND_SIGNALED);
	acknowledge(&probing);
	assert_counts(probing.probe, 1, 1, 0);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(probing.probe->error.status, VBD_OK);
	free(probing.probe);
}

RIG_TEST(test_probe__the_next_goes_out_when_one_is_back)
{
	struct probing probing;

	connect_and_begin(&probing, rig, 3, 0);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(fake_sends(qp_of(&probing)), 1);
		assert_counts(probing.probe, i, i - 1, 0);
		acknowledge(&probing);
	}
	assert_int_equal(fake_sends(qp_of(&probing)), 0);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(vbd_worker_wait_ms(worker_of(&probing)), -1);
	free(probing.probe);
}

RIG_TEST(test_probe__an_interval_wakes_the_worker_and_none_does_not)
{
	const struct vbd_conn_params params = rig_params();
	struct probing probing = {.rc = rig_conn_connect(rig, &params)};
	const struct vbd_worker *worker = probing.rc->conn->qp.channel->worker;

	assert_int_equal(vbd_worker_wait_ms(worker), -1);
	begin(&probing, 2, HOUR_NS);
	assert_in_range(vbd_worker_wait_ms(worker), 1, 3600000);
	acknowledge(&probing);
	assert_int_equal(fake_sends(qp_of(&probing)), 0);
	vbd_probes_run_due(worker_of(&probing));
	assert_int_equal(fake_sends(qp_of(&probing)), 0);
	set_due(&probing, 1);
	assert_int_equal(vbd_worker_wait_ms(worker), 0);
	come_due(&probing);
	assert_int_equal(fake_sends(qp_of(&probing)), 1);
	/* That was the last ping: the worker sets no timer for another. */
	assert_int_equal(vbd_worker_wait_ms(worker), -1);
	acknowledge(&probing);
	assert_int_equal(probing.ended, 1);
	free(probing.probe);
}

RIG_TEST(test_probe__the_next_is_due_an_interval_after_the_last_and_missed_ones_are_skipped)
{
	struct probing probing;
	uint64_t before_ns, after_ns, due_ns;

	connect_and_begin(&probing, rig, 0, HOUR_NS);
	acknowledge(&probing);
	due_ns = vbd_clock_mono_ns() - 1000;
	set_due(&probing, due_ns);
	vbd_probes_run_due(worker_of(&probing));
	assert_counts(probing.probe, 2, 1, 0);
	assert_int_equal(probing.probe->due.key, due_ns + HOUR_NS);
	acknowledge(&probing);

	probing.probe->interval_ns = 1000;
	set_due(&probing, 1);
	before_ns = vbd_clock_mono_ns();
	vbd_probes_run_due(worker_of(&probing));
	after_ns = vbd_clock_mono_ns();
	assert_counts(probing.probe, 3, 2, 0);
	assert_in_range(probing.probe->due.key, before_ns + 1000, after_ns + 1000);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	free(probing.probe);
}

/* Brings the ping back as if it had been sent @ago_ns earlier. Returns its round trip. */
static uint64_t acknowledge_late(const struct probing *probing, uint64_t ago_ns)
{
	probing->probe->posted_ns -= ago_ns;
	acknowledge(probing);
	return vbd_counter_get(&probing->probe->last_ns);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

RIG_TEST(test_probe__jitter_is_the_smoothed_change_of_round_trips)
{
	struct probing probing;
	uint64_t first_ns, second_ns, third_ns, sum_16;

	connect_and_begin(&probing, rig, 0, HOUR_NS);
	first_ns = acknowledge_late(&probing, 1000000000);
	assert_true(first_ns >= 1000000000);
	assert_int_equal(vbd_counter_get(&probing.probe->jitter_ns), 0);
	come_due(&probing);
	second_ns = acknowledge_late(&probing, 9000000000);
	sum_16 = apart(second_ns, first_ns);
	assert_int_equal(vbd_counter_get(&probing.probe->jitter_ns), sum_16 / 16);
	come_due(&probing);
	third_ns = acknowledge_late(&probing, 2000000000);
	/* RFC 3550, A.8 */
	sum_16 += apart(third_ns, second_ns) - ((sum_16 + 8) >> 4);
	assert_int_equal(vbd_counter_get(&probing.probe->jitter_ns), sum_16 >> 4);
	assert_int_equal(probing.probe->jitter_16, sum_16);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.rtt_ns.sum),
		first_ns + second_ns + third_ns);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	free(probing.probe);
}

RIG_TEST(test_probe__a_late_ping_is_counted_once_and_waited_for)
{
	struct probing probing;

	connect_and_begin(&probing, rig, 0, HOUR_NS);
	come_due(&probing);
	come_due(&probing);
	assert_int_equal(fake_sends(qp_of(&probing)), 1);
	assert_counts(probing.probe, 1, 0, 1);
	acknowledge(&probing);
	assert_counts(probing.probe, 1, 1, 1);
	come_due(&probing);
	assert_counts(probing.probe, 2, 1, 1);
	come_due(&probing);
	assert_counts(probing.probe, 2, 1, 2);
	assert_sums(&probing);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	assert_string_equal(probing.probe->error.text, "the probe was cancelled after 1 pings");
	free(probing.probe);
}

RIG_TEST(test_probe__a_stop_does_not_wait_for_the_last_ping)
{
	struct probing probing;

	connect_and_begin(&probing, rig, 0, HOUR_NS);
	vbd_probe_stop(probing.probe);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(probing.probe->error.status, VBD_E_CANCELLED);
	assert_int_equal(vbd_worker_wait_ms(worker_of(&probing)), -1);
	free(probing.probe);

	begin(&probing, 1, 0);
	assert_int_equal(fake_sends(qp_of(&probing)), 2);
	acknowledge(&probing);
	assert_counts(probing.probe, 1, 0, 0);
	acknowledge(&probing);
	assert_counts(probing.probe, 1, 1, 0);
	assert_int_equal(probing.ended, 1);
	free(probing.probe);
}

RIG_TEST(test_probe__a_stop_that_comes_late_changes_nothing)
{
	struct probing probing;

	connect_and_begin(&probing, rig, 1, 0);
	fake_send_done(qp_of(&probing));
	UNIT_UNTIL (vbd_counter_get(&probing.probe->ended_ns))
		vbd_worker_turn(worker_of(&probing), false);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(probing.probe->error.status, VBD_OK);
	free(probing.probe);
}

RIG_TEST(test_probe__a_full_queue_makes_it_wait_and_then_it_goes_first)
{
	const struct vbd_conn_params params = rig_params();
	struct probing probing = {.rc = rig_conn_connect(rig, &params)};
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt = rig_transfer(probing.rc, VBD_OP_WRITE, mem, 64, 8);

	rig_start_transfer(rt);
	assert_int_equal(fake_sends(qp_of(&probing)), params.qp.sq_depth);
	begin(&probing, 1, HOUR_NS);
	assert_counts(probing.probe, 0, 0, 0);
	come_due(&probing);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.late), 0);
	fake_send_done(qp_of(&probing));
	rig_settle(rig);
	assert_counts(probing.probe, 1, 0, 0);
	assert_int_equal(fake_send_at(qp_of(&probing), params.qp.sq_depth - 1).length_bytes, 0);
	while (fake_sends(qp_of(&probing))) {
		fake_send_done(qp_of(&probing));
		rig_settle(rig);
	}
	assert_int_equal(probing.ended, 1);
	assert_counts(probing.probe, 1, 1, 0);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
	assert_int_equal(vbd_counter_get(&rt->transfer.bytes_done), 64);
	assert_sums(&probing);
	free(probing.probe);
}

RIG_TEST(test_probe__what_never_comes_back_is_lost_with_the_connection)
{
	struct probing probing;
	struct vbd_worker *worker;

	connect_and_begin(&probing, rig, 0, HOUR_NS);
	worker = worker_of(&probing);
	acknowledge(&probing);
	come_due(&probing);
	fake_send_failed(qp_of(&probing), IBV_WC_RETRY_EXC_ERR, 129);
	rig_settle(rig);
	assert_int_equal(probing.ended, 1);
	assert_counts(probing.probe, 2, 1, 0);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.lost), 1);
	assert_int_equal(probing.probe->error.status, VBD_E_QP_FATAL);
	assert_string_equal(probing.probe->error.text, "the connection ended after 1 pings");
	assert_sums(&probing);
	assert_int_equal(probing.rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(probing.rc->conn->qp.reason, VBD_REASON_RETRY_EXCEEDED);
	assert_int_equal(vbd_worker_wait_ms(worker), -1);
	free(probing.probe);
}

/* Messages that the peer returns. */

static void begin_echo(
	struct probing *probing, struct rig *rig, enum vbd_qp_transport transport, uint32_t count)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_probe *probe = calloc(1, sizeof(*probe));

	assert_non_null(probe);
	params.qp.service = VBD_SERVICE_SINK;
	*probing = (struct probing){.rc = rig_conn_connect(rig, &params), .probe = probe};
	probing->rc->conn->qp.channel->limits.transport = transport;
	probe->kind = VBD_PROBE_ECHO;
	probe->channel = probing->rc->conn->qp.channel;
	probe->count = count;
	probe->interval_ns = HOUR_NS;
	probe->size_bytes = 40;
	probe->ended = on_ended;
	probe->arg = probing;
	vbd_probe_start(probe);
	rig_settle(rig);
}

/* The peer returns the oldest message; with byte @wrong changed. */
static void echo(const struct probing *probing, int wrong)
{
	struct fake_wr wr = fake_send_at(qp_of(probing), 0);
	uint8_t bytes[40];

	assert_int_equal(wr.opcode, IBV_WR_SEND);
	assert_true(wr.send_flags & IBV_SEND_INLINE);
	assert_int_equal(wr.length_bytes, sizeof(bytes));
	fake_wr_gather(&wr, bytes);
	if (wrong >= 0)
		bytes[wrong] ^= 1;
	acknowledge(probing);
	fake_recv_done(qp_of(probing), bytes, sizeof(bytes));
	rig_settle(probing->rc->rig);
}

RIG_TEST(test_probe__a_message_is_back_when_the_peer_has_sent_it_back)
{
	struct probing probing;

	begin_echo(&probing, rig, VBD_TRANSPORT_RC, 2);
	fake_recv_done(qp_of(&probing), "something else that has 40 bytes as well", 40);
	fake_recv_done(qp_of(&probing), "short", 5);
	rig_settle(rig);
	assert_counts(probing.probe, 1, 0, 0);
	echo(&probing, -1);
	assert_counts(probing.probe, 1, 1, 0);
	come_due(&probing);
	echo(&probing, 39);
	assert_counts(probing.probe, 2, 2, 0);
	assert_int_equal(vbd_counter_get(&probing.probe->mismatched), 1);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(fake_recvs(qp_of(&probing)), 4);
	free(probing.probe);
}

RIG_TEST(test_probe__a_message_has_the_mark_its_number_and_bytes_that_count_on)
{
	struct probing probing;
	struct fake_wr wr;
	uint8_t bytes[40];
	uint64_t number;

	begin_echo(&probing, rig, VBD_TRANSPORT_RC, 2);
	for (uint64_t i = 1; i <= 2; i++) {
		wr = fake_send_at(qp_of(&probing), 0);
		assert_int_equal(wr.length_bytes, sizeof(bytes));
		fake_wr_gather(&wr, bytes);
		assert_memory_equal(bytes, "vbd-echo", 8);
		memcpy(&number, bytes + 8, sizeof(number));
		assert_int_equal(number, i);
		for (uint8_t k = 16; k < sizeof(bytes); k++)
			assert_int_equal(bytes[k], i + k);
		echo(&probing, -1);
		if (i == 1)
			come_due(&probing);
	}
	assert_int_equal(vbd_counter_get(&probing.probe->mismatched), 0);
	assert_int_equal(probing.ended, 1);
	assert_sums(&probing);
	free(probing.probe);
}

RIG_TEST(test_probe__an_answer_with_another_mark_or_number_is_none)
{
	struct probing probing;
	struct fake_wr wr;
	uint8_t bytes[40];

	begin_echo(&probing, rig, VBD_TRANSPORT_RC, 1);
	wr = fake_send_at(qp_of(&probing), 0);
	fake_wr_gather(&wr, bytes);
	acknowledge(&probing);
	for (size_t i = 0; i < 16; i += 15) {
		bytes[i] ^= 1;
		fake_recv_done(qp_of(&probing), bytes, sizeof(bytes));
		rig_settle(rig);
		bytes[i] ^= 1;
		assert_counts(probing.probe, 1, 0, 0);
	}
	bytes[16] ^= 1;
	fake_recv_done(qp_of(&probing), bytes, sizeof(bytes));
	rig_settle(rig);
	assert_counts(probing.probe, 1, 1, 0);
	assert_int_equal(vbd_counter_get(&probing.probe->mismatched), 1);
	free(probing.probe);
}

RIG_TEST(test_probe__what_is_not_back_in_a_second_is_lost_where_that_can_be)
{
	struct probing probing;
	struct fake_wr wr;
	uint8_t late[40];

	begin_echo(&probing, rig, VBD_TRANSPORT_UC, 2);
	wr = fake_send_at(qp_of(&probing), 0);
	fake_wr_gather(&wr, late);
	acknowledge(&probing);
	come_due(&probing);
	assert_counts(probing.probe, 1, 0, 1);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.lost), 0);
	probing.probe->posted_ns = 1;
	come_due(&probing);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.lost), 1);
	assert_counts(probing.probe, 2, 0, 1);
	/* The answer arrives late, and is not taken for the answer to the current ping. */
	fake_recv_done(qp_of(&probing), late, sizeof(late));
	rig_settle(rig);
	assert_counts(probing.probe, 2, 0, 1);
	/* The last answer is lost too, and the probe ends without waiting for it. */
	acknowledge(&probing);
	probing.probe->posted_ns = 1;
	come_due(&probing);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.lost), 2);
	assert_sums(&probing);
	assert_int_equal(probing.ended, 1);
	assert_int_equal(probing.probe->error.status, VBD_OK);
	free(probing.probe);
}

RIG_TEST(test_probe__a_reliable_connection_loses_nothing_but_itself)
{
	struct probing probing;

	begin_echo(&probing, rig, VBD_TRANSPORT_RC, 0);
	acknowledge(&probing);
	probing.probe->posted_ns = 1;
	come_due(&probing);
	assert_counts(probing.probe, 1, 0, 1);
	assert_int_equal(vbd_counter_get(&probing.probe->counters.lost), 0);
	vbd_probe_stop(probing.probe);
	rig_settle(rig);
	assert_int_equal(probing.ended, 1);
	free(probing.probe);
}

RIG_TEST(test_probe__of_many_the_next_one_is_the_first_to_come_due)
{
	static const uint64_t intervals_ns[] = {3 * HOUR_NS, HOUR_NS, 4 * HOUR_NS, 2 * HOUR_NS};
	struct probing probing[VBD_ARRAY_LEN(intervals_ns)];
	struct vbd_heap *probes = NULL;
	uint64_t before_ns = 0;

	for (size_t i = 0; i < VBD_ARRAY_LEN(intervals_ns); i++) {
		connect_and_begin(&probing[i], rig, 0, intervals_ns[i]);
		probes = &worker_of(&probing[i])->probes;
	}
	while (probes->first) {
		assert_true(probes->first->key > before_ns);
		before_ns = probes->first->key;
		vbd_heap_remove(probes, probes->first);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(intervals_ns); i++)
		vbd_probe_stop(probing[i].probe);
	rig_settle(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(intervals_ns); i++) {
		assert_int_equal(probing[i].ended, 1);
		free(probing[i].probe);
	}
	assert_null(probes->first);
}
