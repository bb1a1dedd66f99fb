/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/judge.h"

#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/rejection.h"
#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

static struct vbd_facts facts;
static struct vbd_verdicts verdicts;
static bool first_of[VBD_CAUSE_COUNT]; /* a test has led to this cause */

/* A connection over RoCE v2 to 192.0.2.2, whose facts are all well, with this incident. */
static void begin(enum vbd_outcome outcome)
{
	facts = (struct vbd_facts){
		.device = "rxe0",
		.reliable = true,
		.qp.soft_roce = true,
		.port_known = true,
		.port = {.port_num = 1,
			.state = IBV_PORT_ACTIVE,
			.link_layer = "ethernet",
			.active_mtu_bytes = 1024},
		.qp.sgid_known = true,
		.qp.sgid = {.gid_index = 1, .type = "roce_v2", .netdev = "eth0"},
		.qp.path_mtu_bytes = 1024,
		.qp.sends_known = true,
		.qp.initiator_depth = 16,
		.netroute_known = true,
		.netroute = {.netdev = "eth0",
			.mtu_bytes = 1500,
			.neighbour = "reachable",
			.hwaddr_bytes = 6},
		.netroute_has_rdma = true,
		.netroute_by_device = true,
		.incident = {.outcome = outcome,
			.peer = "192.0.2.2",
			.asked = "b.example",
			.port = 7471,
			.op = -1,
			.acked = true,
			.recv_size_bytes = 4096,
			.waited_ms = 3200},
	};
	facts.netroute.next.ss_family = AF_INET;
	(void)inet_pton(
		AF_INET, "192.0.2.2", &((struct sockaddr_in *)&facts.netroute.next)->sin_addr);
}

static void completion(int status, int op)
{
	facts.incident.error = (struct vbd_error){
		.status = VBD_E_LOCAL_ERROR, .source = VBD_SOURCE_WC, .kind = status};
	facts.incident.op = op;
	facts.incident.length_bytes = 8000;
	facts.incident.remote_addr = 0x7f0000001000;
	facts.incident.rkey = 0x1f2e;
}

static void cm_event(int event, int64_t raw)
{
	facts.incident.error = (struct vbd_error){
		.status = VBD_E_REJECTED, .source = VBD_SOURCE_CM_EVENT, .kind = event, .raw = raw};
}

static void leads_to(enum vbd_cause_code code)
{
	vbd_judge(&facts, &verdicts);
	if (!verdicts.cause_count || verdicts.causes[0].row != &vbd_cause_rows[code])
		fail_msg("the first cause is %s, not %s",
			verdicts.cause_count ? verdicts.causes[0].row->name : "none",
			vbd_cause_rows[code].name);
	first_of[code] = true;
	if (strchr(verdicts.causes[0].text, '{') || strchr(verdicts.causes[0].advice, '{'))
		fail_msg("a placeholder is left: %s; %s", verdicts.causes[0].text,
			verdicts.causes[0].advice);
}

static void says(const char *part)
{
	if (!strstr(verdicts.causes[0].text, part))
		fail_msg("'%s' is not in: %s", part, verdicts.causes[0].text);
}

/* The connection manager of the peer's host was asked. */
static void asked(bool answered)
{
	facts.asked = true;
	facts.answered = answered;
	facts.rtt_ns = answered ? 2 * VBD_NS_PER_MS : 0;
}

TEST(test_cause__a_fault_on_purpose_is_not_blamed_on_the_device)
{
	begin(VBD_OUTCOME_QP_FAILED);
	facts.incident.fault = "qp_error";
	leads_to(VBD_CAUSE_FAULT_ON_PURPOSE);
	says("the fault qp_error");
	facts.device_removed = true;
	leads_to(VBD_CAUSE_FAULT_ON_PURPOSE);
	facts.device_removed = false;
	facts.incident.outcome = VBD_OUTCOME_PEER_LEFT;
	leads_to(VBD_CAUSE_PEER_LEFT);
}

/* --- the network ----------------------------------------------------------------------------- */

TEST(test_cause__a_broken_interface_goes_before_the_status_of_the_completion)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	facts.port.state = IBV_PORT_DOWN;
	facts.sgid_gone = true;
	facts.netroute.neighbour = "failed";
	leads_to(VBD_CAUSE_INTERFACE_DOWN);
	says("port 1 of rxe0 is down");
	facts.incident.outcome = VBD_OUTCOME_REQUEST_FAILED;
	completion(IBV_WC_LOC_QP_OP_ERR, VBD_OP_SEND);
	leads_to(VBD_CAUSE_INTERFACE_DOWN);
	facts.incident.outcome = VBD_OUTCOME_REFUSED;
	leads_to(VBD_CAUSE_INTERFACE_DOWN);
	facts.device_removed = true;
	leads_to(VBD_CAUSE_DEVICE_REMOVED);
}

TEST(test_cause__an_address_that_went_is_named)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	facts.sgid_gone = true;
	leads_to(VBD_CAUSE_ADDRESS_GONE);
	says("eth0");
	facts.sgid_gone = false;
	facts.port_fell = true;
	leads_to(VBD_CAUSE_PORT_FELL);
	says("and is up again");
	facts.port_fell = false;
	(void)snprintf(facts.netroute.netdev, sizeof(facts.netroute.netdev), "eth9");
	leads_to(VBD_CAUSE_ROUTE_MOVED);
	facts.netroute.neighbour = "failed"; /* on the other interface */
	leads_to(VBD_CAUSE_ROUTE_MOVED);
	facts.netroute.neighbour = "reachable";
	facts.netroute_has_rdma = false;
	leads_to(VBD_CAUSE_ROUTE_WITHOUT_RDMA);
	facts.netroute.route_errnum = 101;
	leads_to(VBD_CAUSE_NO_ROUTE);
}

TEST(test_cause__a_silent_neighbour_is_an_address_that_nobody_has_or_a_host_that_went)
{
	begin(VBD_OUTCOME_UNRESOLVED);
	facts.netroute.neighbour = "failed";
	leads_to(VBD_CAUSE_HOST_GONE);
	says("192.0.2.2 does not answer on eth0");
	facts.incident.outcome = VBD_OUTCOME_UNACKED;
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	leads_to(VBD_CAUSE_HOST_GONE);
	facts.netroute.gateway = true;
	leads_to(VBD_CAUSE_HOST_GONE);
}

TEST(test_cause__a_hardware_address_that_was_set_by_hand_goes_before_a_silent_host)
{
	begin(VBD_OUTCOME_UNANSWERED);
	asked(false);
	facts.netroute.neighbour = "stale";
	leads_to(VBD_CAUSE_NO_ANSWER);
	facts.netroute.neighbour = "permanent";
	memcpy(facts.netroute.hwaddr, "\x02\x00\x00\x00\x00\x99", 6);
	leads_to(VBD_CAUSE_NEIGHBOUR_BY_HAND);
	says("02:00:00:00:00:99");
	asked(true);
	leads_to(VBD_CAUSE_NOT_TAKEN_YET);
}

TEST(test_cause__a_transfer_that_goes_on_over_a_lossy_path)
{
	begin(VBD_OUTCOME_WELL);
	facts.incident.op = VBD_OP_WRITE;
	facts.incident.transfer = 7;
	facts.incident.length_bytes = 8000;
	facts.incident.done_bytes = 4000;
	facts.incident.traces_known = true;
	facts.incident.traces[VBD_TRACE_PACKETS_SENT] = 1000;
	facts.incident.traces[VBD_TRACE_GAPS_TOLD] = 4;
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
	facts.incident.traces[VBD_TRACE_GAPS_TOLD] = 5;
	leads_to(VBD_CAUSE_PACKETS_LOST);
	says("4000 of 8000 bytes are done after 3.2 s");
}

TEST(test_cause__a_device_that_is_not_that_of_the_route_is_named)
{
	begin(VBD_OUTCOME_REJECTED);
	cm_event(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED);
	facts.iwarp = true;
	leads_to(VBD_CAUSE_NOBODY_LISTENS);
	facts.netroute_by_device = false;
	leads_to(VBD_CAUSE_WRONG_DEVICE);
	says("eth0, which is not an interface of rxe0");
	facts.netroute_has_rdma = false;
	leads_to(VBD_CAUSE_NOBODY_LISTENS);
}

TEST(test_cause__an_address_that_is_not_resolved)
{
	begin(VBD_OUTCOME_UNRESOLVED);
	facts.netroute_known = false;
	leads_to(VBD_CAUSE_NOT_RESOLVED);
	says("no subnet manager");
	begin(VBD_OUTCOME_UNRESOLVED);
	facts.netroute.local = true;
	leads_to(VBD_CAUSE_ADDRESS_WITHOUT_RDMA);
	says("192.0.2.2 is an address of this host");
	begin(VBD_OUTCOME_NAMELESS);
	leads_to(VBD_CAUSE_NAME_UNKNOWN);
	says("b.example");
}

/* --- the handshake --------------------------------------------------------------------------- */

TEST(test_cause__a_rejection_names_who_rejected)
{
	static const struct {
		int64_t reason;
		enum vbd_cause_code code;
	} rejections[] = {
		{8, VBD_CAUSE_NOBODY_LISTENS},
		{-ECONNREFUSED, VBD_CAUSE_NOBODY_LISTENS},
		{28, VBD_CAUSE_REFUSED_BY_PROGRAM},
		{1, VBD_CAUSE_REFUSED_BY_CM},
		{3, VBD_CAUSE_REFUSED_BY_CM},
		{12, VBD_CAUSE_REFUSED_BY_CM},
		{10, VBD_CAUSE_REFUSED_BY_CM},
		{27, VBD_CAUSE_REFUSED_BY_CM},
		{26, VBD_CAUSE_REFUSED_BY_CM},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rejections); i++) {
		begin(VBD_OUTCOME_REJECTED);
		cm_event(RDMA_CM_EVENT_REJECTED, rejections[i].reason);
		leads_to(rejections[i].code);
	}
	says("invalid path MTU");
	begin(VBD_OUTCOME_REJECTED);
	facts.incident.error = (struct vbd_error){
		.status = VBD_E_REJECTED, .source = VBD_SOURCE_ERRNO, .raw = ECONNREFUSED};
	leads_to(VBD_CAUSE_NOBODY_LISTENS);
}

TEST(test_cause__the_words_of_the_peer_are_in_the_first_line)
{
	begin(VBD_OUTCOME_REJECTED);
	cm_event(RDMA_CM_EVENT_REJECTED, 28);
	(void)snprintf(facts.incident.words, sizeof(facts.incident.words), "go away: tenant 7");
	leads_to(VBD_CAUSE_REFUSED_WITH_WORDS);
	says("\"go away: tenant 7\"");
}

static void rejected_with(const char *words, enum vbd_cause_code code)
{
	begin(VBD_OUTCOME_REJECTED);
	cm_event(RDMA_CM_EVENT_REJECTED, 28);
	(void)snprintf(facts.incident.words, sizeof(facts.incident.words), "%s", words);
	leads_to(code);
}

TEST(test_cause__the_reason_that_a_verbsd_gives_is_told_in_words)
{
	char words[64];

	for (enum vbd_connect_refusal i = 0; i < VBD_CONNECT_REFUSAL_COUNT; i++) {
		(void)snprintf(words, sizeof(words), "verbsd: %s", vbd_connect_refusal_name(i));
		rejected_with(words, VBD_CAUSE_REFUSED_WITH_WORDS);
		says("the verbsd at 192.0.2.2 port 7471 refused");
		says(vbd_connect_refusal_told(i));
		assert_string_equal(verdicts.causes[0].advice, vbd_connect_refusal_advice(i));
	}
	rejected_with("verbsd: timed_out", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("nobody there accepted or rejected the request in time");
	rejected_with("verbsd: no_memory", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("it could not accept: out of memory");
	rejected_with("verbsd: listener_deleted", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("its listener was deleted before anybody decided");
	rejected_with("verbsd: stopping", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("the daemon is stopping");
	assert_int_equal(verdicts.cause_count, 1);
}

TEST(test_cause__a_reason_that_is_not_known_is_told_as_it_is)
{
	rejected_with("verbsd: tired_of_you", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("\"verbsd: tired_of_you\"");
	rejected_with("policy", VBD_CAUSE_REFUSED_WITH_WORDS);
	says("\"policy\"");
}

TEST(test_cause__silence_names_what_may_be_silent_and_an_answer_who_hesitates)
{
	for (unsigned int i = 0; i < 2; i++) {
		begin(i ? VBD_OUTCOME_CONNECTING : VBD_OUTCOME_UNANSWERED);
		leads_to(VBD_CAUSE_NO_ANSWER);
		says("has not decided");
		facts.incident.waited_ms = 12000;
		facts.incident.traces_known = true;
		facts.incident.traces[VBD_TRACE_PACKETS_SENT] = 3;
		leads_to(VBD_CAUSE_NO_ANSWER);
		says("in 12 s");
		says("firewall");
		says("backlog");
		facts.cm_silent = true;
		leads_to(VBD_CAUSE_CM_DEAF);
		says("has come in on rxe0 since its interface was down");
		facts.incident.traces[VBD_TRACE_MRA_CAME] = 1;
		leads_to(VBD_CAUSE_PEER_UNDECIDED);
		facts.incident.traces[VBD_TRACE_MRA_CAME] = 0;
		facts.iwarp = true;
		leads_to(VBD_CAUSE_NO_ANSWER);
	}
}

TEST(test_cause__a_write_that_is_not_acknowledged_by_a_host_that_was_asked)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	facts.qp.sends_known = true;
	facts.qp.ack_timeout = 14;
	facts.qp.retry_count = 2;
	asked(false);
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	asked(true);
	facts.rtt_ns = 300 * VBD_NS_PER_MS;
	leads_to(VBD_CAUSE_TIMEOUT_TOO_SHORT);
	says("an answer of 192.0.2.2 takes 300 ms, and this side waits 202 ms");
	asked(true);
	leads_to(VBD_CAUSE_QP_GONE_THERE);
	says("the RDMA device of 192.0.2.2 answers");
}

TEST(test_cause__a_cm_that_answers_has_the_request)
{
	begin(VBD_OUTCOME_UNANSWERED);
	asked(true);
	leads_to(VBD_CAUSE_NOT_TAKEN_YET);
	says("the program at port 7471 has not decided in 3.2 s");
	facts.incident.waited_ms = 12000;
	facts.incident.traces_known = true;
	facts.incident.traces[VBD_TRACE_PACKETS_SENT] = 3;
	leads_to(VBD_CAUSE_BACKLOG_FULL_THERE);
	says("port 7471");
	facts.incident.traces[VBD_TRACE_MRA_CAME] = 1;
	leads_to(VBD_CAUSE_PEER_UNDECIDED);
}

TEST(test_cause__attributes_given_by_hand_that_are_not_the_peers)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_SEND);
	facts.incident.by_hand = true;
	facts.incident.acked = false;
	leads_to(VBD_CAUSE_WRONG_REMOTE);
	asked(false);
	leads_to(VBD_CAUSE_WRONG_REMOTE);
	asked(true);
	leads_to(VBD_CAUSE_WRONG_REMOTE);
	facts.incident.acked = true; /* the attributes are right */
	leads_to(VBD_CAUSE_QP_GONE_THERE);
}

TEST(test_cause__packets_that_come_out_of_step_to_a_queue_pair_by_hand)
{
	begin(VBD_OUTCOME_WELL);
	facts.incident.by_hand = true;
	facts.incident.acked = false;
	facts.inbox_capacity = 16;
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
	facts.incident.traces[VBD_TRACE_REPEATS_SEEN] = 1;
	leads_to(VBD_CAUSE_WRONG_PSN_HERE);
	facts.incident.heard = true;
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
	facts.incident.heard = false;
	facts.inbox_capacity = 0; /* writes may have come */
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
	facts.incident.outcome = VBD_OUTCOME_UNSENT;
	leads_to(VBD_CAUSE_WRONG_PSN_HERE);
}

TEST(test_cause__a_receive_waits_for_a_message)
{
	static const enum vbd_outcome outcomes[] = {VBD_OUTCOME_UNSENT, VBD_OUTCOME_LATE};

	for (size_t i = 0; i < VBD_ARRAY_LEN(outcomes); i++) {
		begin(outcomes[i]);
		facts.incident.op = VBD_OP_RECV;
		facts.incident.transfer = 7;
		leads_to(VBD_CAUSE_NOTHING_SENT);
		says("transfer 7 has waited 3.2 s for a message, and the peer has sent none: "
		     "nothing has failed here");
		asked(true);
		leads_to(VBD_CAUSE_NOTHING_SENT);
		says("its RDMA device answers");
		facts.incident.heartbeats = 4;
		leads_to(VBD_CAUSE_NOTHING_SENT);
		says("answers the heartbeats");
		facts.port.state = IBV_PORT_DOWN;
		leads_to(VBD_CAUSE_INTERFACE_DOWN);
	}
	begin(VBD_OUTCOME_UNSENT);
	asked(false);
	leads_to(VBD_CAUSE_NOTHING_SENT);
}

TEST(test_cause__a_transfer_that_moves_is_slow_and_not_stuck)
{
	begin(VBD_OUTCOME_LATE);
	facts.incident.transfer = 7;
	facts.incident.op = VBD_OP_WRITE;
	facts.incident.length_bytes = 8000;
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	facts.incident.done_bytes = 4000;
	leads_to(VBD_CAUSE_TOO_SLOW);
	says("transfer 7 had done 4000 of 8000 bytes");
	facts.incident.traces[VBD_TRACE_SLOWED] = 21;
	leads_to(VBD_CAUSE_CONGESTED);
	says("switches on the way are congested, and rxe0 was told to send slower (21 times)");
	assert_int_equal(verdicts.cause_count, 1);
	facts.incident.traces[VBD_TRACE_RNR_CAME] = 3;
	facts.incident.op = VBD_OP_SEND;
	leads_to(VBD_CAUSE_NO_RECEIVE);
}

TEST(test_cause__tcp_tells_what_does_not_answer_over_iwarp)
{
	begin(VBD_OUTCOME_UNANSWERED);
	facts.iwarp = true;
	leads_to(VBD_CAUSE_NO_ANSWER);
	facts.incident.tcp_open = true;
	leads_to(VBD_CAUSE_NOT_IWARP);
	says("took the TCP connection");
	assert_int_equal(verdicts.cause_count, 1);
	begin(VBD_OUTCOME_REJECTED);
	facts.iwarp = true;
	cm_event(RDMA_CM_EVENT_REJECTED, -ECONNRESET);
	leads_to(VBD_CAUSE_REFUSED_BY_PROGRAM);
	(void)snprintf(facts.incident.words, sizeof(facts.incident.words), "no");
	leads_to(VBD_CAUSE_REFUSED_WITH_WORDS);
}

TEST(test_cause__an_address_that_moved_to_another_host)
{
	const struct vbd_first_error first = {
		.op = -1,
		.at_ns = 1,
		.error = {.status = VBD_E_UNREACHABLE,
			.source = VBD_SOURCE_CM_EVENT,
			.kind = RDMA_CM_EVENT_UNREACHABLE},
	};
	const struct vbd_outcome_end end = {
		.state = VBD_CONN_ESTABLISHED, .reason = VBD_REASON_UNREACHABLE, .first = &first};

	begin(vbd_outcome_of_end(&end));
	facts.netroute.hwaddr[0] = 2;
	facts.netroute.hwaddr[5] = 0x77;
	leads_to(VBD_CAUSE_ADDRESS_TAKEN);
	says("another hardware address now, 02:00:00:00:00:77:");
}

TEST(test_cause__a_handshake_that_breaks_off)
{
	const struct vbd_first_error timeout = {
		.op = -1,
		.at_ns = 1,
		.error = {.status = VBD_E_REJECTED,
			.source = VBD_SOURCE_CM_EVENT,
			.kind = RDMA_CM_EVENT_REJECTED,
			.raw = 4},
	};
	const struct vbd_outcome_end end = {.state = VBD_CONN_ACCEPTING,
		.reason = VBD_REASON_REJECTED,
		.first = &timeout,
		.passive = true};

	begin(VBD_OUTCOME_UNCONFIRMED);
	leads_to(VBD_CAUSE_NOT_CONFIRMED);
	begin(vbd_outcome_of_end(&end));
	leads_to(VBD_CAUSE_NOT_CONFIRMED);
	begin(VBD_OUTCOME_HANDSHAKE);
	leads_to(VBD_CAUSE_FAILED_HERE);
	begin(VBD_OUTCOME_NO_REMOTE);
	leads_to(VBD_CAUSE_NO_REMOTE);
}

TEST(test_cause__a_request_that_waits_for_a_decision_here)
{
	begin(VBD_OUTCOME_UNDECIDED);
	leads_to(VBD_CAUSE_UNDECIDED_HERE);
	begin(VBD_OUTCOME_NOT_DECIDED);
	leads_to(VBD_CAUSE_UNDECIDED_HERE);
	begin(VBD_OUTCOME_REJECTED_HERE);
	leads_to(VBD_CAUSE_CLOSED_HERE);
	says("rejected the request of 192.0.2.2");
}

/* --- data ------------------------------------------------------------------------------------ */

TEST(test_cause__an_access_error_is_of_the_side_that_asked)
{
	begin(VBD_OUTCOME_ACCESS);
	completion(IBV_WC_REM_ACCESS_ERR, VBD_OP_READ);
	leads_to(VBD_CAUSE_ACCESS_REFUSED);
	says("a read of 8000 bytes");
	begin(VBD_OUTCOME_REFUSED);
	leads_to(VBD_CAUSE_REFUSED_HERE);
	says("the peer reached for memory that it may not use: buffers here are open to it");
	facts.incident.open_buffers = 3;
	leads_to(VBD_CAUSE_REFUSED_HERE);
	says("3 buffers here are open to it");
}

TEST(test_cause__a_long_message_says_so_on_both_sides)
{
	begin(VBD_OUTCOME_OPERATION);
	completion(IBV_WC_REM_OP_ERR, VBD_OP_SEND);
	leads_to(VBD_CAUSE_MESSAGE_TOO_LONG);
	says("send of 8000 bytes");
	says("4096 bytes");
	facts.incident.outcome = VBD_OUTCOME_INVALID;
	completion(IBV_WC_REM_INV_REQ_ERR, VBD_OP_SEND_IMM);
	leads_to(VBD_CAUSE_MESSAGE_TOO_LONG);
	begin(VBD_OUTCOME_RECEIVE_FAILED);
	completion(IBV_WC_LOC_LEN_ERR, VBD_OP_RECV);
	leads_to(VBD_CAUSE_RECEIVE_TOO_SHORT);
	says("4096 bytes");
	completion(IBV_WC_LOC_QP_OP_ERR, VBD_OP_RECV);
	leads_to(VBD_CAUSE_RECEIVE_TOO_SHORT);
	facts.qp.soft_roce = false;
	leads_to(VBD_CAUSE_FAILED_HERE);
}

TEST(test_cause__an_operation_that_the_peers_device_fails)
{
	begin(VBD_OUTCOME_INVALID);
	completion(IBV_WC_REM_INV_REQ_ERR, VBD_OP_FETCH_ADD);
	leads_to(VBD_CAUSE_PEER_QP_FORBIDS);
	begin(VBD_OUTCOME_OPERATION);
	completion(IBV_WC_REM_OP_ERR, VBD_OP_WRITE);
	leads_to(VBD_CAUSE_PEER_DEVICE_FAILED);
}

TEST(test_cause__heartbeats_that_are_not_answered)
{
	begin(VBD_OUTCOME_SILENT);
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	says("192.0.2.2 did not acknowledge the heartbeats");
	facts.netroute.neighbour = "failed";
	leads_to(VBD_CAUSE_HOST_GONE);
	facts.port.state = IBV_PORT_DOWN;
	leads_to(VBD_CAUSE_INTERFACE_DOWN);
}

TEST(test_cause__a_request_that_is_not_acknowledged)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_SEND);
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	says("in 3.2 s");
	facts.incident.traces[VBD_TRACE_GAPS_SEEN] = 4;
	leads_to(VBD_CAUSE_PACKETS_LOST);
	facts.netroute.mtu_bytes = 1024;
	leads_to(VBD_CAUSE_MTU_TOO_LARGE);
	facts.incident.traces[VBD_TRACE_RNR_CAME] = 2;
	leads_to(VBD_CAUSE_NO_RECEIVE);
	/* A write needs no receive of the peer: others on the device were refused. */
	facts.incident.op = VBD_OP_WRITE;
	leads_to(VBD_CAUSE_MTU_TOO_LARGE);
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	facts.incident.by_hand = true;
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	facts.incident.acked = false;
	leads_to(VBD_CAUSE_WRONG_REMOTE);
}

TEST(test_cause__memory_that_is_not_open_explains_a_refusal_here)
{
	begin(VBD_OUTCOME_REFUSED);
	facts.incident.nothing_open = true;
	leads_to(VBD_CAUSE_NOTHING_OPEN);
	(void)snprintf(facts.incident.open_device, sizeof(facts.incident.open_device), "siw0");
	leads_to(VBD_CAUSE_NOTHING_OPEN);
	says("are on siw0, while its connection is on rxe0");
	facts.judged = VBD_REPORT_MEMORY_NO_SUCH_KEY;
	leads_to(VBD_CAUSE_NOTHING_OPEN);
	facts.incident.open_device[0] = '\0';
	leads_to(VBD_CAUSE_REFUSED_HERE);
	says("that memory was deleted");
	facts.judged = VBD_REPORT_MEMORY_UNJUDGED;
	facts.incident.nothing_open = false;
	facts.incident.other_pd_open = true;
	leads_to(VBD_CAUSE_OTHER_PD);
}

TEST(test_cause__a_peer_that_left_when_nothing_here_took_what_it_sent)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	leads_to(VBD_CAUSE_PEER_LEFT);
	facts.incident.no_receive_left = true;
	leads_to(VBD_CAUSE_PEER_LEFT);
	facts.incident.traces[VBD_TRACE_RNR_TOLD] = 3;
	leads_to(VBD_CAUSE_PEER_LEFT_UNSERVED);
	says("no receive is posted here, as rxe0 has told it");
	facts.flushed_sends = 1;
	leads_to(VBD_CAUSE_PEER_LEFT);
	facts.inbox_capacity = facts.inbox_messages = 64;
	leads_to(VBD_CAUSE_PEER_LEFT_UNSERVED);
	says("all 64 receives");
	facts.inbox_capacity = 0;
	facts.srq_id = 3;
	leads_to(VBD_CAUSE_PEER_LEFT_UNSERVED);
	says("shared receive queue 3");
	assert_non_null(strstr(verdicts.causes[0].advice, "srqs create"));
}

TEST(test_cause__a_shared_receive_queue_that_ran_dry)
{
	begin(VBD_OUTCOME_WELL);
	facts.srq_id = 3;
	leads_to(VBD_CAUSE_INBOX_FULL);
	says("shared receive queue 3");
	facts.srq_posted = 1;
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
}

TEST(test_cause__a_peer_that_left_after_the_port_fell)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	facts.port_fell = true;
	facts.port_fell_before_ms = 2000;
	leads_to(VBD_CAUSE_PORT_FELL);
	says("the peer gave the connection up after that");
	facts.port_fell_before_ms = 299999;
	leads_to(VBD_CAUSE_PORT_FELL);
	facts.port_fell_before_ms = 300000;
	leads_to(VBD_CAUSE_PEER_LEFT);
}

TEST(test_cause__a_peer_that_left_because_its_host_or_device_went)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	asked(false);
	leads_to(VBD_CAUSE_PEER_LEFT);
	asked(true);
	leads_to(VBD_CAUSE_PEER_LEFT);
}

/* --- the report of the peer's verbsd --------------------------------------------------------- */

static void reports(enum vbd_reason reason)
{
	facts.peer_replied = true;
	facts.peer_report = (struct vbd_report){.known = true,
		.ended = true,
		.failed = !vbd_reason_clean(reason),
		.reason = reason,
		.op = -1};
}

TEST(test_cause__a_peer_that_left_reports_why)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	facts.flushed_sends = 1;
	reports(VBD_REASON_LOCAL_CLOSE);
	leads_to(VBD_CAUSE_CLOSED_THERE);
	assert_int_equal(verdicts.cause_count, 1);
	reports(VBD_REASON_STOPPING);
	leads_to(VBD_CAUSE_STOPPED_THERE);
	reports(VBD_REASON_REMOTE_OPERATION);
	leads_to(VBD_CAUSE_FAILED_THERE);
	says("192.0.2.2, which reports \"");
	assert_int_equal(verdicts.cause_count, 1);
	reports(VBD_REASON_PEER_DISCONNECT);
	leads_to(VBD_CAUSE_PEER_LEFT);
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	asked(true);
	reports(VBD_REASON_STOPPING);
	leads_to(VBD_CAUSE_STOPPED_THERE);
	reports(VBD_REASON_LOCAL_CLOSE);
	leads_to(VBD_CAUSE_CLOSED_THERE);
}

/* Neither side points at the other one. */
TEST(test_cause__acknowledgements_that_got_lost_are_told_on_both_sides)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	asked(true);
	reports(VBD_REASON_NONE);
	facts.peer_report.ended = facts.peer_report.failed = false;
	leads_to(VBD_CAUSE_ACKS_LATE);
	says("nothing had failed on the other");
	assert_non_null(strstr(verdicts.causes[0].advice, "Raise qp.ack_timeout"));
	reports(VBD_REASON_PEER_DISCONNECT); /* this side has disconnected since */
	leads_to(VBD_CAUSE_ACKS_LATE);
	asked(false); /* the report is of before */
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	begin(VBD_OUTCOME_PEER_LEFT);
	facts.flushed_sends = 1;
	reports(VBD_REASON_RETRY_EXCEEDED);
	leads_to(VBD_CAUSE_ACKS_LATE);
	reports(VBD_REASON_PEER_SILENT);
	leads_to(VBD_CAUSE_ACKS_LATE);
	facts.port_fell = true;
	leads_to(VBD_CAUSE_PORT_FELL);
}

TEST(test_cause__a_key_that_worked_was_not_wrong)
{
	begin(VBD_OUTCOME_ACCESS);
	completion(IBV_WC_REM_ACCESS_ERR, VBD_OP_WRITE);
	leads_to(VBD_CAUSE_ACCESS_REFUSED);
	says("the key is wrong or old");
	facts.incident.done_bytes = 4096;
	leads_to(VBD_CAUSE_ACCESS_REFUSED);
	says("memory there was closed while the transfer ran");
}

TEST(test_cause__a_verbsd_that_was_started_anew_does_not_know_the_connection)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	facts.peer_replied = true;
	leads_to(VBD_CAUSE_FORGOTTEN_THERE);
	facts.peer_anew = true;
	leads_to(VBD_CAUSE_STOPPED_THERE);
	says("was started anew while the connection was up");
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	asked(true);
	leads_to(VBD_CAUSE_QP_GONE_THERE);
	facts.peer_replied = true;
	leads_to(VBD_CAUSE_FORGOTTEN_THERE);
	facts.peer_anew = true;
	leads_to(VBD_CAUSE_STOPPED_THERE);
}

/* A side that waited in vain knows no more than this one, unless it left because of that. */
TEST(test_cause__who_waited_in_vain_does_not_tell_the_cause)
{
	const vbd_clue_set failed = VBD_CLUE_BIT(VBD_CLUE_PEER_FAILED);

	for (int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		enum vbd_reason reason = (enum vbd_reason)i;
		bool lost = reason == VBD_REASON_RETRY_EXCEEDED || reason == VBD_REASON_PEER_SILENT;
		bool waited =
			lost || reason == VBD_REASON_TIMED_OUT || reason == VBD_REASON_UNREACHABLE;
		bool clean = vbd_reason_clean(reason);

		begin(VBD_OUTCOME_UNACKED);
		reports(reason);
		assert_int_equal((vbd_clues_find(&facts) & failed) != 0, !clean && !waited);
		begin(VBD_OUTCOME_PEER_LEFT);
		reports(reason);
		assert_int_equal((vbd_clues_find(&facts) & failed) != 0, !clean && !lost);
	}
}

TEST(test_cause__of_a_silent_path_the_report_of_the_other_side_says_nothing)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_WRITE);
	asked(true);
	reports(VBD_REASON_RETRY_EXCEEDED);
	leads_to(VBD_CAUSE_QP_GONE_THERE);
	reports(VBD_REASON_QP_FATAL);
	leads_to(VBD_CAUSE_FAILED_THERE);
}

TEST(test_cause__this_side_names_what_was_wrong_with_the_peers_request)
{
	static const struct {
		enum vbd_report_memory memory;
		const char *says;
	} rows[] = {
		{VBD_REPORT_MEMORY_NO_SUCH_KEY,
			"says that it made a write of 640 bytes, with a key "
			"that no memory of this connection's owner has"},
		{VBD_REPORT_MEMORY_PAST_END, "says that it made a write of 640 bytes, which goes "
					     "past the end of the memory here by 64 bytes"},
		{VBD_REPORT_MEMORY_NO_ACCESS, "says that it made a write of 640 bytes, which the "
					      "memory here does not grant"},
		{VBD_REPORT_MEMORY_GRANTED, "reached for memory that it may not use"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		begin(VBD_OUTCOME_REFUSED);
		reports(VBD_REASON_REMOTE_ACCESS);
		facts.peer_report.op = VBD_OP_WRITE;
		facts.peer_report.length_bytes = 640;
		facts.judged = rows[i].memory;
		facts.judged_over_bytes = 64;
		leads_to(VBD_CAUSE_REFUSED_HERE);
		says(rows[i].says);
		assert_non_null(strstr(verdicts.causes[0].advice, "that grants a write"));
		assert_int_equal(verdicts.cause_count, 1);
	}
}

TEST(test_cause__a_device_that_librdmacm_can_not_open)
{
	begin(VBD_OUTCOME_UNRESOLVED);
	facts.netroute.local = true;
	leads_to(VBD_CAUSE_ADDRESS_WITHOUT_RDMA);
	cm_event(RDMA_CM_EVENT_ADDR_ERROR, -1);
	leads_to(VBD_CAUSE_DEVICE_NOT_OPENED);
}

TEST(test_cause__a_name_without_an_address)
{
	begin(VBD_OUTCOME_NAMELESS);
	facts.incident.error = (struct vbd_error){
		.status = VBD_E_NAME_NOT_RESOLVED, .source = VBD_SOURCE_GAI, .raw = EAI_NONAME};
	leads_to(VBD_CAUSE_NAME_UNKNOWN);
	says("the name b.example has no address");
	facts.incident.error.raw = EAI_AGAIN;
	leads_to(VBD_CAUSE_NAME_UNKNOWN);
	says("no name server answered for the name b.example");
}

TEST(test_cause__a_full_inbox_there_is_no_lack_of_receives)
{
	begin(VBD_OUTCOME_STUCK);
	facts.incident.op = VBD_OP_SEND;
	facts.incident.traces_known = true;
	facts.incident.traces[VBD_TRACE_RNR_CAME] = 3;
	leads_to(VBD_CAUSE_NO_RECEIVE);
	assert_null(strstr(verdicts.causes[0].text, "hold messages"));
	facts.peer_report.known = true;
	facts.peer_report.op = -1;
	facts.peer_report.inbox_full = true;
	leads_to(VBD_CAUSE_NO_RECEIVE);
	says("all of them hold messages that nobody there has read");
	facts.incident.traces[VBD_TRACE_RNR_CAME] = 0; /* the counters are not known */
	leads_to(VBD_CAUSE_NO_RECEIVE);
	assert_int_equal(verdicts.causes[0].evidence & VBD_CLUE_BIT(VBD_CLUE_RNR_CAME), 0);
}

TEST(test_cause__iwarp_does_not_tell_why_the_peer_left)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	leads_to(VBD_CAUSE_PEER_LEFT);
	facts.iwarp = true;
	leads_to(VBD_CAUSE_PEER_LEFT);
	says("which iWARP does not tell");
	assert_non_null(strstr(verdicts.causes[0].advice, "compare keys"));
	facts.flushed_sends = 1;
	leads_to(VBD_CAUSE_PEER_LEFT);
	says("while requests of this side were outstanding");
}

TEST(test_cause__two_path_mtus_are_told_on_both_sides)
{
	begin(VBD_OUTCOME_INVALID);
	completion(IBV_WC_REM_INV_REQ_ERR, VBD_OP_WRITE);
	facts.incident.length_bytes = 257;
	reports(VBD_REASON_QP_FATAL);
	facts.peer_report.path_mtu_bytes = 256;
	leads_to(VBD_CAUSE_PATH_MTU_DIFFERS);
	says("1024 bytes here and 256 on the side of 192.0.2.2");
	facts.incident.length_bytes = 256;
	leads_to(VBD_CAUSE_PEER_QP_FORBIDS);
	facts.incident.length_bytes = 8000;
	facts.peer_report.path_mtu_bytes = 0;
	leads_to(VBD_CAUSE_PEER_QP_FORBIDS);
	facts.peer_report.path_mtu_bytes = 1024;
	leads_to(VBD_CAUSE_PEER_QP_FORBIDS);
	begin(VBD_OUTCOME_REFUSED);
	reports(VBD_REASON_REMOTE_INVALID);
	facts.qp.path_mtu_bytes = 256;
	facts.peer_report.path_mtu_bytes = 4096;
	facts.peer_report.length_bytes = 16000;
	leads_to(VBD_CAUSE_PATH_MTU_DIFFERS);
}

TEST(test_cause__data_that_does_not_pass_where_short_packets_do_names_the_path_mtu)
{
	begin(VBD_OUTCOME_UNACKED);
	completion(IBV_WC_RETRY_EXC_ERR, VBD_OP_READ);
	asked(true);
	leads_to(VBD_CAUSE_QP_GONE_THERE);
	facts.qp.path_mtu_bytes = facts.port.active_mtu_bytes = 4096;
	facts.netroute.mtu_bytes = 4200;
	leads_to(VBD_CAUSE_WAY_TOO_NARROW);
	says("carries less than the path MTU of 4096 bytes");
	facts.incident.op = VBD_OP_WRITE;
	leads_to(VBD_CAUSE_WAY_TOO_NARROW);
	facts.incident.length_bytes = 512;
	leads_to(VBD_CAUSE_QP_GONE_THERE);
}

TEST(test_cause__both_sides_tell_both_lengths)
{
	begin(VBD_OUTCOME_OPERATION);
	completion(IBV_WC_REM_OP_ERR, VBD_OP_SEND);
	reports(VBD_REASON_LOCAL_ERROR);
	facts.peer_report.recv_size_bytes = 8000;
	leads_to(VBD_CAUSE_MESSAGE_TOO_LONG);
	facts.peer_report.recv_size_bytes = 512;
	leads_to(VBD_CAUSE_MESSAGE_TOO_LONG);
	says("a send of 8000 bytes did not fit into a receive of the peer, which has 512 bytes as "
	     "it says");
	begin(VBD_OUTCOME_RECEIVE_FAILED);
	completion(IBV_WC_LOC_QP_OP_ERR, VBD_OP_RECV);
	reports(VBD_REASON_REMOTE_OPERATION);
	facts.peer_report.op = VBD_OP_SEND;
	facts.peer_report.length_bytes = 4096;
	leads_to(VBD_CAUSE_RECEIVE_TOO_SHORT);
	facts.peer_report.length_bytes = 4097;
	leads_to(VBD_CAUSE_RECEIVE_TOO_SHORT);
	says("the peer sent a message of 4097 bytes, longer than a receive here, which has 4096 "
	     "bytes");
}

TEST(test_cause__while_it_is_stuck_too)
{
	begin(VBD_OUTCOME_STUCK);
	facts.incident.op = VBD_OP_SEND;
	leads_to(VBD_CAUSE_NOT_ACKNOWLEDGED);
	facts.incident.held_back = true;
	leads_to(VBD_CAUSE_HELD_BACK);
	facts.incident.held_back = false;
	facts.incident.traces[VBD_TRACE_RNR_CAME] = 9;
	leads_to(VBD_CAUSE_NO_RECEIVE);
	begin(VBD_OUTCOME_RNR);
	completion(IBV_WC_RNR_RETRY_EXC_ERR, VBD_OP_SEND);
	leads_to(VBD_CAUSE_NO_RECEIVE);
	begin(VBD_OUTCOME_WELL);
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
	facts.inbox_capacity = facts.inbox_messages = 16;
	leads_to(VBD_CAUSE_INBOX_FULL);
	says("all 16 receives");
}

/* --- this side ------------------------------------------------------------------------------- */

TEST(test_cause__what_failed_here)
{
	begin(VBD_OUTCOME_REQUEST_FAILED);
	completion(IBV_WC_GENERAL_ERR, VBD_OP_WRITE);
	leads_to(VBD_CAUSE_FAILED_HERE);
	begin(VBD_OUTCOME_BIND);
	leads_to(VBD_CAUSE_FAILED_HERE);
	begin(VBD_OUTCOME_QP_FAILED);
	leads_to(VBD_CAUSE_FAILED_HERE);
	begin(VBD_OUTCOME_SERVICE);
	leads_to(VBD_CAUSE_SPEAKS_OTHERWISE);
	begin(VBD_OUTCOME_PROTOCOL);
	leads_to(VBD_CAUSE_FAILED_HERE);
}

TEST(test_cause__a_limit_here_is_named)
{
	begin(VBD_OUTCOME_RESOURCE);
	leads_to(VBD_CAUSE_FAILED_HERE);
	facts.incident.error.status = VBD_E_ADDRESS_NOT_AVAILABLE;
	leads_to(VBD_CAUSE_ADDRESS_WITHOUT_RDMA);
	facts.incident.error.status = VBD_E_ADDRESS_IN_USE;
	leads_to(VBD_CAUSE_PORT_TAKEN);
	facts.incident.error.status = VBD_E_MEMLOCK;
	leads_to(VBD_CAUSE_FULL_MEMLOCK);
	facts.incident.error.status = VBD_E_DEVICE_LIMIT;
	leads_to(VBD_CAUSE_FAILED_HERE);
	facts.incident.error.source = VBD_SOURCE_ERRNO;
	facts.incident.error.raw = EAGAIN;
	leads_to(VBD_CAUSE_FULL_CGROUP);
}

TEST(test_cause__an_end_that_somebody_wanted)
{
	begin(VBD_OUTCOME_PEER_LEFT);
	leads_to(VBD_CAUSE_PEER_LEFT);
	facts.flushed_sends = 1;
	leads_to(VBD_CAUSE_PEER_LEFT);
	begin(VBD_OUTCOME_CLOSED);
	leads_to(VBD_CAUSE_CLOSED_HERE);
	says("a client of this verbsd closed it");
	facts.incident.listener_deleted = true;
	leads_to(VBD_CAUSE_CLOSED_HERE);
	says("deleted the listener while the request of 192.0.2.2 waited");
	begin(VBD_OUTCOME_CANCELLED);
	facts.incident.transfer = 7;
	leads_to(VBD_CAUSE_CANCELLED_HERE);
	says("a client cancelled transfer 7");
	/* The reason of the end says all. */
	begin(VBD_OUTCOME_STOPPED);
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.cause_count, 0);
}

TEST(test_cause__codes_of_an_error_are_not_in_the_first_line)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"device rxe0 can't be opened: ibv_open_device: Try again (EAGAIN)",
			"device rxe0 can't be opened: ibv_open_device: Try again"},
		{"send: The device failed (IBV_WC_GENERAL_ERR, vendor_err 7)",
			"send: The device failed"},
		{"it is gone (ENODEV): look again", "it is gone: look again"},
		{"no room (of 16) is left", "no room (of 16) is left"},
		{"cut off (EINVAL", "cut off (EINVAL"},
	};

	begin(VBD_OUTCOME_RESOURCE);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		(void)vbd_error_set(&facts.incident.error, VBD_E_VERBS_ERROR, "%s", rows[i].text);
		leads_to(VBD_CAUSE_FAILED_HERE);
		assert_string_equal(verdicts.causes[0].text, rows[i].said);
		facts.incident.error = (struct vbd_error){0};
	}
}

TEST(test_cause__each_reason_of_an_end_has_an_outcome)
{
	const struct vbd_first_error none = {.op = -1};

	for (enum vbd_reason i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		const struct vbd_outcome_end end = {
			.state = VBD_CONN_ESTABLISHED, .reason = i, .first = &none};

		if (vbd_outcome_of_end(&end) == VBD_OUTCOME_WELL)
			fail_msg("the end %s has no outcome", vbd_reason_name(i));
	}
}

/* --- the table ------------------------------------------------------------------------------- */

/* The tests before this one have led to each cause. */
TEST(test_cause__each_row_was_the_first_in_a_case)
{
	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++) {
		if (!first_of[i])
			fail_msg("no case leads to %s", vbd_cause_rows[i].name);
	}
}

TEST(test_cause__texts_are_clauses_and_advice_is_sentences)
{
	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++) {
		const char *text = vbd_cause_rows[i].text;
		const char *advice = vbd_cause_rows[i].advice;

		assert_int_not_equal(text[strlen(text) - 1], '.');
		if (*advice != '{')
			assert_int_equal(advice[strlen(advice) - 1], '.');
	}
}

/* The words of an error, of its cause and of docs/why.md must not part. */
TEST(test_cause__an_event_that_means_something_else_has_one_text_everywhere)
{
	static const enum vbd_cause_code codes[VBD_CM_MEANING_COUNT] = {
		[VBD_CM_ADDRESS_TAKEN] = VBD_CAUSE_ADDRESS_TAKEN,
		[VBD_CM_NOT_CONFIRMED] = VBD_CAUSE_NOT_CONFIRMED,
	};
	struct vbd_why event, problem;

	assert_true(vbd_why_find(VBD_WHY_CM_EVENT, RDMA_CM_EVENT_UNREACHABLE, &event));
	assert_true(vbd_why_find(VBD_WHY_PROBLEM, VBD_E_UNREACHABLE, &problem));
	begin(VBD_OUTCOME_MOVED);
	for (unsigned int i = 0; i < VBD_CM_MEANING_COUNT; i++) {
		const char *text = vbd_cm_meaning_text((enum vbd_cm_meaning)i);
		const char *hint = vbd_cm_meaning_hint((enum vbd_cm_meaning)i);
		char told[VBD_VERDICT_BYTES];

		facts.netroute.hwaddr_bytes = 0;
		(void)vbd_words_fill(vbd_cause_rows[codes[i]].text, &facts, told, sizeof(told));
		assert_string_equal(told + strlen("192.0.2.2"), text);
		assert_string_equal(vbd_cause_rows[codes[i]].advice, hint);
		assert_non_null(strstr(event.causes, text));
		assert_non_null(strstr(event.hint, hint));
		assert_non_null(strstr(problem.causes, text));
	}
}

TEST(test_cause__the_codes_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_enum("CauseCode", &contract);
	assert_int_equal(contract.count, VBD_CAUSE_COUNT);
	for (unsigned int i = 0; i < VBD_CAUSE_COUNT; i++)
		assert_string_equal(contract.values[i], vbd_cause_rows[i].name);
}
