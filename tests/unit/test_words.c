/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an explanation, and the outcome that decides which explanation it is. */

#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/judge.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static void expect(const struct vbd_facts *facts, const char *text, const char *wanted)
{
	char filled[512];

	assert_string_equal(vbd_words_fill(text, facts, filled, sizeof(filled)), wanted);
}

struct row {
	const char *text, *wanted;
};

TEST(test_words__each_tells_what_is_known)
{
	static const struct row rows[] = {
		{"{peer}", "192.0.2.2 port 7471"},
		{"{host}", "192.0.2.2"},
		{"{asked}", "b.example"},
		{"{port}", "7471"},
		{"{device}", "rxe0"},
		{"{port_num}", "3"},
		{"{port_state}", "active"},
		{"{netdev}", "eth0"},
		{"{next_hop}", "192.0.2.9"},
		{"{path_mtu}", "1024"},
		{"{route_mtu}", "1500"},
		{"{op}", "write"},
		{"{what}", "write of 64 bytes"},
		{"{request}", "transfer 5"},
		{"{length}", "64"},
		{"{done}", "32"},
		{"{receive}", "16"},
		{"{waited}", "3.2 s"},
		{"{rtt}", "1.50 ms"},
		{"{patience}", "336 ms"},
		{"{words}", "go away"},
		{"{error}", "it failed"},
		{"{inbox}", "7"},
		{"{srq}", "8"},
		{"{rnr_came}", "9"},
		{"{gaps}", "21"},
		{"{packets_sent}", "12"},
		{"a {op} of {peers} {", "a write of {peers} {"},
	};
	struct vbd_facts facts = {.device = "rxe0",
		.reliable = true,
		.qp.soft_roce = true,
		.port_known = true,
		.port = {.port_num = 3, .state = IBV_PORT_ACTIVE},
		.qp.sgid_known = true,
		.qp.sgid = {.netdev = "eth1"},
		.qp.path_mtu_bytes = 1024,
		.qp.sends_known = true,
		.qp.ack_timeout = 14,
		.qp.retry_count = 4,
		.netroute_known = true,
		.netroute = {.netdev = "eth0", .mtu_bytes = 1500},
		.rtt_ns = 1500000,
		.inbox_capacity = 7,
		.srq_id = 8,
		.incident = {.peer = "192.0.2.2",
			.port = 7471,
			.asked = "b.example",
			.error = {.text = "it failed (EPERM)"},
			.transfer = 5,
			.op = VBD_OP_WRITE,
			.length_bytes = 64,
			.done_bytes = 32,
			.waited_ms = 3200,
			.recv_size_bytes = 16,
			.words = "go away",
			.traces = {[VBD_TRACE_RNR_CAME] = 9,
				[VBD_TRACE_GAPS_SEEN] = 10,
				[VBD_TRACE_GAPS_TOLD] = 11,
				[VBD_TRACE_PACKETS_SENT] = 12}}};
	struct sockaddr_in *next = (struct sockaddr_in *)&facts.netroute.next;

	next->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, "192.0.2.9", &next->sin_addr), 1);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		expect(&facts, rows[i].text, rows[i].wanted);
}

TEST(test_words__what_is_not_known_has_a_text_too)
{
	static const struct row rows[] = {
#define UNKNOWN(name, unknown, ...) {"{" #name "}", unknown},
		VBD_WORD_MAP(UNKNOWN)
#undef UNKNOWN
	};
	struct vbd_facts facts = {.incident = {.op = -1, .error = {.raw = -1}}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		expect(&facts, rows[i].text, rows[i].wanted);
}

TEST(test_words__a_part_that_is_not_known_is_left_out)
{
	struct vbd_facts facts = {.incident = {.peer = "192.0.2.2", .op = VBD_OP_SEND}};

	expect(&facts, "{peer}", "192.0.2.2");
	expect(&facts, "{what}", "send");
	facts.incident.peer[0] = '\0';
	facts.incident.port = 7471;
	facts.incident.op = -1;
	facts.incident.length_bytes = 64;
	expect(&facts, "{peer}", "the peer");
	expect(&facts, "{what}", "request");
	(void)strcpy(facts.incident.asked, "b.example");
	expect(&facts, "{peer}", "b.example port 7471");
}

TEST(test_words__the_interface_is_that_of_the_route_or_else_of_the_address)
{
	struct vbd_facts facts = {.qp.sgid_known = true,
		.qp.sgid = {.netdev = "eth1"},
		.netroute_known = true,
		.netroute = {.netdev = "eth0"}};

	expect(&facts, "{netdev}", "eth0");
	facts.netroute.local = true;
	expect(&facts, "{netdev}", "eth1");
	facts.netroute.local = false;
	facts.netroute.route_errnum = 101;
	expect(&facts, "{netdev}", "eth1");
	facts.netroute.route_errnum = 0;
	facts.netroute_known = false;
	expect(&facts, "{netdev}", "eth1");
	facts.qp.sgid_known = false;
	expect(&facts, "{netdev}", "the interface");
}

TEST(test_words__a_next_hop_may_have_an_ipv6_address)
{
	struct vbd_facts facts = {0};
	struct sockaddr_in6 *next = (struct sockaddr_in6 *)&facts.netroute.next;

	next->sin6_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::9", &next->sin6_addr), 1);
	expect(&facts, "{next_hop}", "2001:db8::9");
}

TEST(test_words__the_reason_of_the_peer_is_that_of_its_report)
{
	struct vbd_facts facts = {0};

	expect(&facts, "{peer_reason}", "a failure");
	facts.peer_report.known = true;
	expect(&facts, "{peer_reason}", "a failure");
	facts.peer_report.reason = VBD_REASON_TIMED_OUT;
	expect(&facts, "{peer_reason}", vbd_reason_text(VBD_REASON_TIMED_OUT));
}

TEST(test_words__a_text_is_cut_where_the_room_ends)
{
	struct vbd_facts facts = {.device = "rxe0"};
	char room[7];

	assert_string_equal(
		vbd_words_fill("on {device} here", &facts, room, sizeof(room)), "on rxe");
	assert_string_equal(vbd_words_fill("nothing", &facts, room, sizeof(room)), "nothin");
}

TEST(test_words__a_time_is_in_its_usual_unit)
{
	static const struct {
		uint64_t ns;
		const char *wanted;
	} rows[] = {
		{0, "0.00 ms"},
		{9990000, "9.99 ms"},
		{10 * VBD_NS_PER_MS, "10 ms"},
		{999 * VBD_NS_PER_MS, "999 ms"},
		{VBD_NS_PER_S, "1.0 s"},
		{9900 * VBD_NS_PER_MS, "9.9 s"},
		{10 * VBD_NS_PER_S, "10 s"},
	};
	char text[VBD_SPAN_TEXT_BYTES];

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		assert_string_equal(vbd_span_text(rows[i].ns, text), rows[i].wanted);
}

/* --- outcomes ----------------------------------------------------------------------------------
 */

TEST(test_outcome__each_status_of_a_completion_has_one)
{
	static const struct {
		int kind, op;
		enum vbd_outcome wanted;
	} rows[] = {
		{IBV_WC_WR_FLUSH_ERR, VBD_OP_WRITE, VBD_OUTCOME_QP_FAILED},
		{IBV_WC_REM_ACCESS_ERR, VBD_OP_RECV, VBD_OUTCOME_REFUSED},
		{IBV_WC_LOC_ACCESS_ERR, VBD_OP_RECV, VBD_OUTCOME_REFUSED},
		{IBV_WC_LOC_LEN_ERR, VBD_OP_RECV, VBD_OUTCOME_RECEIVE_FAILED},
		{IBV_WC_MW_BIND_ERR, VBD_OP_BIND_WINDOW, VBD_OUTCOME_BIND},
		{IBV_WC_REM_ACCESS_ERR, VBD_OP_WRITE, VBD_OUTCOME_ACCESS},
		{IBV_WC_REM_OP_ERR, VBD_OP_WRITE, VBD_OUTCOME_OPERATION},
		{IBV_WC_REM_ABORT_ERR, VBD_OP_WRITE, VBD_OUTCOME_OPERATION},
		{IBV_WC_REM_INV_REQ_ERR, VBD_OP_WRITE, VBD_OUTCOME_INVALID},
		{IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE, VBD_OUTCOME_UNACKED},
		{IBV_WC_RESP_TIMEOUT_ERR, VBD_OP_WRITE, VBD_OUTCOME_UNACKED},
		{IBV_WC_RNR_RETRY_EXC_ERR, VBD_OP_SEND, VBD_OUTCOME_RNR},
		{IBV_WC_LOC_PROT_ERR, VBD_OP_WRITE, VBD_OUTCOME_REQUEST_FAILED},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_first_error first = {
			.op = rows[i].op, .error = {.source = VBD_SOURCE_WC, .kind = rows[i].kind}};
		struct vbd_outcome_end end = {.state = VBD_CONN_ESTABLISHED,
			.reason = VBD_REASON_LOCAL_ERROR,
			.first = &first};

		assert_int_equal(vbd_outcome_of_end(&end), rows[i].wanted);
	}
}

TEST(test_outcome__a_deadline_is_judged_by_the_state_in_which_it_passed)
{
	static const enum vbd_outcome wanted[VBD_CONN_STATE_COUNT] = {
		[VBD_CONN_QUEUED] = VBD_OUTCOME_UNRESOLVED,
		[VBD_CONN_RESOLVING_ADDR] = VBD_OUTCOME_UNRESOLVED,
		[VBD_CONN_RESOLVING_ROUTE] = VBD_OUTCOME_UNRESOLVED,
		[VBD_CONN_CONNECTING] = VBD_OUTCOME_UNANSWERED,
		[VBD_CONN_RETRYING] = VBD_OUTCOME_UNRESOLVED,
		[VBD_CONN_REQUESTED] = VBD_OUTCOME_NOT_DECIDED,
		[VBD_CONN_ACCEPTING] = VBD_OUTCOME_UNCONFIRMED,
		[VBD_CONN_AWAITING_REMOTE] = VBD_OUTCOME_NO_REMOTE,
		[VBD_CONN_ESTABLISHED] = VBD_OUTCOME_LATE,
	};
	struct vbd_first_error first = {.op = -1, .error = {.source = VBD_SOURCE_DEADLINE}};

	for (unsigned int i = 0; i <= VBD_CONN_ESTABLISHED; i++) {
		struct vbd_outcome_end end = {.state = (enum vbd_conn_state)i,
			.reason = VBD_REASON_TIMED_OUT,
			.first = &first};

		assert_int_equal(vbd_outcome_of_end(&end), wanted[i]);
	}
}

TEST(test_outcome__a_wait_is_judged_by_its_state)
{
	static const enum vbd_outcome wanted[VBD_CONN_STATE_COUNT] = {
		[VBD_CONN_QUEUED] = VBD_OUTCOME_WELL,
		[VBD_CONN_RESOLVING_ADDR] = VBD_OUTCOME_RESOLVING,
		[VBD_CONN_RESOLVING_ROUTE] = VBD_OUTCOME_RESOLVING,
		[VBD_CONN_CONNECTING] = VBD_OUTCOME_CONNECTING,
		[VBD_CONN_RETRYING] = VBD_OUTCOME_RESOLVING,
		[VBD_CONN_REQUESTED] = VBD_OUTCOME_UNDECIDED,
		[VBD_CONN_ACCEPTING] = VBD_OUTCOME_WELL,
		[VBD_CONN_AWAITING_REMOTE] = VBD_OUTCOME_AWAITING,
		[VBD_CONN_ESTABLISHED] = VBD_OUTCOME_STUCK,
		[VBD_CONN_DRAINING] = VBD_OUTCOME_WELL,
		[VBD_CONN_CLOSED] = VBD_OUTCOME_WELL,
		[VBD_CONN_FAILED] = VBD_OUTCOME_WELL,
	};

	for (unsigned int i = 0; i < VBD_CONN_STATE_COUNT; i++)
		assert_int_equal(vbd_outcome_of_wait((enum vbd_conn_state)i), wanted[i]);
}

TEST(test_trace__a_counter_of_the_kernel_is_known_by_its_set_and_name)
{
	static const struct {
		enum vbd_counter_set set;
		const char *name;
		enum vbd_trace wanted;
	} rows[] = {
		{VBD_COUNTER_SET_HW, "rcvd_rnr_err", VBD_TRACE_RNR_CAME},
		{VBD_COUNTER_SET_HW, "rnr_nak_retry_err", VBD_TRACE_RNR_CAME},
		{VBD_COUNTER_SET_HW, "out_of_seq_request", VBD_TRACE_GAPS_SEEN},
		{VBD_COUNTER_SET_HW, "out_of_sequence", VBD_TRACE_GAPS_SEEN},
		{VBD_COUNTER_SET_HW, "rcvd_seq_err", VBD_TRACE_GAPS_TOLD},
		{VBD_COUNTER_SET_HW, "packet_seq_err", VBD_TRACE_GAPS_TOLD},
		{VBD_COUNTER_SET_HW, "duplicate_request", VBD_TRACE_REPEATS_SEEN},
		{VBD_COUNTER_SET_HW, "sent_pkts", VBD_TRACE_PACKETS_SENT},
		{VBD_COUNTER_SET_HW, "rcvd_pkts", VBD_TRACE_PACKETS_CAME},
		{VBD_COUNTER_SET_CM_RX_MSGS, "mra", VBD_TRACE_MRA_CAME},
		{VBD_COUNTER_SET_HW, "mra", VBD_TRACE_COUNT},
		{VBD_COUNTER_SET_CM_RX_MSGS, "sent_pkts", VBD_TRACE_COUNT},
		{VBD_COUNTER_SET_HW, "link_downed", VBD_TRACE_COUNT},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		assert_int_equal(vbd_trace_of(rows[i].set, rows[i].name), rows[i].wanted);
}
