/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/rping.h"

#include "rdma/data/channel.h"
#include "rdma/data/probe.h"
#include "tests/unit/rig.h"

#include <endian.h>

/* The table. */

TEST(test_rping__every_pair_is_decided_and_halves_do_not_mix)
{
	for (unsigned int from = 0; from < VBD_RPING_STATE_COUNT; from++) {
		for (unsigned int event = 0; event < VBD_RPING_EVENT_COUNT; event++) {
			const struct vbd_rule *rule = vbd_rping_rule(
				(enum vbd_rping_state)from, (enum vbd_rping_event)event);

			assert_non_null(rule->note);
			assert_int_equal(
				from >= VBD_RPING_IDLE, (unsigned int)rule->next >= VBD_RPING_IDLE);
		}
	}
}

static enum vbd_rping_state follow(
	enum vbd_rping_state from, enum vbd_rping_event event, enum vbd_rping_action action)
{
	const struct vbd_rule *rule = vbd_rping_rule(from, event);

	assert_int_equal(rule->action, action);
	return rule->next;
}

TEST(test_rping__a_ping_takes_both_halves_round)
{
	enum vbd_rping_state server = VBD_RPING_WAIT_SOURCE;
	enum vbd_rping_state client = VBD_RPING_IDLE;

	client = follow(client, VBD_RPING_EV_START, VBD_RPING_SAY_SOURCE);
	server = follow(server, VBD_RPING_EV_MESSAGE, VBD_RPING_READ);
	server = follow(server, VBD_RPING_EV_MOVED, VBD_RPING_SAY_DONE);
	client = follow(client, VBD_RPING_EV_MESSAGE, VBD_RPING_SAY_SINK);
	server = follow(server, VBD_RPING_EV_MESSAGE, VBD_RPING_WRITE);
	server = follow(server, VBD_RPING_EV_MOVED, VBD_RPING_SAY_DONE);
	client = follow(client, VBD_RPING_EV_MESSAGE, VBD_RPING_CHECK);
	assert_int_equal(server, VBD_RPING_WAIT_SOURCE);
	assert_int_equal(client, VBD_RPING_IDLE);
}

TEST(test_rping__services_are_where_they_can_be)
{
	static const struct {
		enum vbd_service service;
		enum vbd_qp_transport transport;
		uint32_t recv_size_bytes;
		enum vbd_status status;
		const char *text;
	} cases[] = {
		{VBD_SERVICE_INBOX, VBD_TRANSPORT_UD, 1, VBD_OK, NULL},
		{VBD_SERVICE_SINK, VBD_TRANSPORT_UC, 1, VBD_OK, NULL},
		{VBD_SERVICE_ECHO, VBD_TRANSPORT_UC, 1, VBD_OK, NULL},
		{VBD_SERVICE_ECHO, VBD_TRANSPORT_UD, 4096, VBD_E_NOT_SUPPORTED,
			"the service echo answers over a connection, and ud has no connection"},
		{VBD_SERVICE_RPING, VBD_TRANSPORT_RC, 16, VBD_OK, NULL},
		{VBD_SERVICE_RPING, VBD_TRANSPORT_RC, 15, VBD_E_BAD_VALUE,
			"the service rping receives messages of 16 bytes; recv_size_bytes is only "
			"15"},
		{VBD_SERVICE_RPING_CLIENT, VBD_TRANSPORT_UC, 16, VBD_E_NOT_SUPPORTED,
			"the service rping_client needs RDMA read, which uc does not support"},
		{VBD_SERVICE_RPING_CLIENT, VBD_TRANSPORT_UD, 16, VBD_E_NOT_SUPPORTED,
			"the service rping_client needs RDMA read, which ud does not support"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		struct vbd_error err = {0};

		assert_int_equal(vbd_service_check(cases[i].service, cases[i].transport,
					 cases[i].recv_size_bytes, &err),
			cases[i].status);
		assert_int_equal(err.status, cases[i].status);
		assert_string_equal(err.text, cases[i].text ? cases[i].text : "");
	}
}

/* The client; the test plays its peer. */

struct ended {
	struct vbd_probe *probe;
	unsigned int times;
};

static void on_ended(struct vbd_probe *probe, void *arg)
{
	struct ended *ended = arg;

	ended->probe = probe;
	ended->times++;
}

static struct rig_conn *client(struct rig *rig)
{
	struct vbd_conn_params params = rig_params();

	params.qp.service = VBD_SERVICE_RPING_CLIENT;
	return rig_conn_connect(rig, &params);
}

static struct vbd_probe *make_probe(struct rig_conn *rc, struct ended *ended, uint32_t count)
{
	struct vbd_probe *probe = calloc(1, sizeof(*probe));

	assert_non_null(probe);
	probe->kind = VBD_PROBE_RPING;
	probe->channel = rc->conn->qp.channel;
	probe->count = count;
	probe->size_bytes = 20;
	probe->ended = on_ended;
	probe->arg = ended;
	return probe;
}

struct message {
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t size_bytes_be;
} __attribute__((packed));

/* The client's last message, whose completion is delivered. */
static uint8_t *heard(struct rig_conn *rc)
{
	struct fake_wr wr = fake_send_at(rc->conn->qp.ibv_qp, 0);
	struct message message;

	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	assert_int_equal(wr.opcode, IBV_WR_SEND);
	assert_int_equal(wr.length_bytes, sizeof(message));
	memcpy(&message, wr.addr, sizeof(message));
	assert_int_equal(be32toh(message.size_bytes_be), 20);
	assert_int_not_equal(message.rkey_be, 0);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rc->rig);
	return (uint8_t *)(uintptr_t)be64toh(message.addr_be);
}

static void answer(struct rig_conn *rc)
{
	const struct message message = {0};

	fake_recv_done(rc->conn->qp.ibv_qp, &message, sizeof(message));
	rig_settle(rc->rig);
}

/* One ping as rping's server does it; with the first @wrong bytes changed. */
static void serve(struct rig_conn *rc, const char *expected, size_t wrong)
{
	const uint8_t *source = heard(rc);
	uint8_t bytes[20];
	uint8_t *sink;

	memcpy(bytes, source, sizeof(bytes));
	assert_string_equal((const char *)bytes, expected);
	answer(rc);
	sink = heard(rc);
	assert_ptr_not_equal(sink, source);
	memcpy(sink, bytes, sizeof(bytes));
	memset(sink, '!', wrong);
	answer(rc);
}

RIG_TEST(test_rping__a_probe_counts_times_and_compares)
{
	struct rig_conn *rc = client(rig);
	struct ended ended = {0};
	struct vbd_probe *probe = make_probe(rc, &ended, 3);

	vbd_probe_start(probe);
	rig_settle(rig);
	assert_int_equal(vbd_counter_get(&probe->counters.sent), 1);
	serve(rc, "rdma-ping-0: ABCDEF", 0);
	serve(rc, "rdma-ping-1: BCDEFG", 5);
	assert_int_equal(ended.times, 0);
	serve(rc, "rdma-ping-2: CDEFGH", 0);
	assert_int_equal(ended.times, 1);
	assert_int_equal(probe->error.status, VBD_OK);
	assert_int_equal(vbd_counter_get(&probe->counters.sent), 3);
	assert_int_equal(vbd_counter_get(&probe->counters.completed), 3);
	assert_int_equal(vbd_counter_get(&probe->mismatched), 1);
	assert_int_equal(vbd_counter_get(&probe->counters.rtt_ns.count), 3);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	free(probe);

	/* The next client starts at the beginning. */
	probe = make_probe(rc, &ended, 1);
	vbd_probe_start(probe);
	rig_settle(rig);
	serve(rc, "rdma-ping-0: ABCDEF", 0);
	assert_int_equal(ended.times, 2);
	free(probe);
}

RIG_TEST(test_rping__a_stop_waits_for_the_ping_under_way)
{
	struct rig_conn *rc = client(rig);
	struct ended ended = {0};
	struct vbd_probe *probe = make_probe(rc, &ended, 100);

	vbd_probe_start(probe);
	rig_settle(rig);
	serve(rc, "rdma-ping-0: ABCDEF", 0);
	vbd_probe_stop(probe);
	vbd_probe_stop(probe);
	rig_settle(rig);
	assert_int_equal(ended.times, 0);
	serve(rc, "rdma-ping-1: BCDEFG", 0);
	assert_int_equal(ended.times, 1);
	assert_int_equal(probe->error.status, VBD_E_CANCELLED);
	assert_int_equal(vbd_counter_get(&probe->counters.completed), 2);
	free(probe);
}

RIG_TEST(test_rping__a_stop_of_the_last_ping_changes_nothing)
{
	struct rig_conn *rc = client(rig);
	struct ended ended = {0};
	struct vbd_probe *probe = make_probe(rc, &ended, 1);

	vbd_probe_start(probe);
	rig_settle(rig);
	vbd_probe_stop(probe);
	serve(rc, "rdma-ping-0: ABCDEF", 0);
	assert_int_equal(ended.times, 1);
	assert_int_equal(probe->error.status, VBD_OK);
	free(probe);
}

RIG_TEST(test_rping__a_probe_ends_with_its_connection)
{
	struct rig_conn *rc = client(rig);
	struct ended ended = {0};
	struct vbd_probe *probe = make_probe(rc, &ended, 2);

	vbd_probe_start(probe);
	rig_settle(rig);
	rig_close(rc);
	vbd_probe_stop(probe);
	rig_settle(rig);
	assert_int_equal(ended.times, 1);
	assert_int_equal(probe->error.status, VBD_E_QP_FATAL);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	free(probe);
}

RIG_TEST(test_rping__a_word_out_of_turn_ends_the_connection)
{
	struct rig_conn *rc = client(rig);

	answer(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_REMOTE_OPERATION);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "unexpected message"));
}

RIG_TEST(test_rping__the_client_waits_for_a_send_slot)
{
	struct vbd_conn_params params = rig_params();
	struct ended ended = {0};
	struct vbd_probe *probe;
	struct rig_conn *rc;

	params.qp.service = VBD_SERVICE_RPING_CLIENT;
	params.qp.sq_depth = 1;
	rc = rig_conn_connect(rig, &params);
	probe = make_probe(rc, &ended, 1);
	vbd_probe_start(probe);
	rig_settle(rig);
	/* The server's answer arrives before our completion. */
	answer(rc);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	fake_send_done(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_int_equal(fake_sends(rc->conn->qp.ibv_qp), 1);
	(void)heard(rc);
	answer(rc);
	assert_int_equal(ended.times, 1);
	assert_int_equal(vbd_counter_get(&probe->mismatched), 1);
	free(probe);
}

RIG_TEST(test_rping__the_text_goes_round_the_letters)
{
	struct rig_conn *rc = client(rig);
	struct ended ended = {0};
	struct vbd_probe *probe = make_probe(rc, &ended, 1);
	struct message message;

	probe->size_bytes = 80;
	vbd_probe_start(probe);
	rig_settle(rig);
	memcpy(&message, fake_send_at(rc->conn->qp.ibv_qp, 0).addr, sizeof(message));
	assert_int_equal(be32toh(message.size_bytes_be), 80);
	assert_string_equal((const char *)(uintptr_t)be64toh(message.addr_be),
		"rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCDEFGH");
	rig_close(rc);
	assert_int_equal(ended.times, 1);
	assert_string_equal(probe->error.text, "the connection ended after 0 pings");
	free(probe);
}
