/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of an explanation and the facts that are printed below it: no generated set of
 * facts contradicts the line. Each claim reads facts, not clues, so that a row and its clues can't
 * agree on an error.
 */
#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/judge.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>

static struct vbd_facts facts;
static struct vbd_verdicts verdicts;

/* --- sets of facts --------------------------------------------------------------------------- */

static uint64_t random_state;

/* splitmix64 */
static uint64_t next(void)
{
	uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static bool one_in(unsigned int n)
{
	return next() % n == 0;
}

static uint64_t one_of(const uint64_t *values, size_t count)
{
	return values[next() % count];
}

#define ONE_OF(...)                             \
	one_of((const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void make_error(struct vbd_incident *incident)
{
	struct vbd_error *error = &incident->error;

	*error = (struct vbd_error){.status = VBD_E_LOCAL_ERROR, .source = VBD_SOURCE_WC};
	error->kind = (int)ONE_OF(IBV_WC_RETRY_EXC_ERR, IBV_WC_LOC_LEN_ERR);
	if (incident->outcome == VBD_OUTCOME_RESOURCE)
		error->status = (enum vbd_status)ONE_OF(
			VBD_E_MEMLOCK, VBD_E_ADDRESS_IN_USE, VBD_E_NO_MEMORY);
	if (incident->outcome == VBD_OUTCOME_REJECTED) {
		error->source = VBD_SOURCE_CM_EVENT;
		error->kind = RDMA_CM_EVENT_REJECTED;
		error->raw = facts.iwarp ? -(int64_t)ONE_OF(ECONNREFUSED, ECONNRESET)
					 : (int64_t)ONE_OF(1, 3, 8, 10, 28);
	}
	if (incident->outcome == VBD_OUTCOME_UNANSWERED) {
		error->source = one_in(2) ? VBD_SOURCE_CM_EVENT : VBD_SOURCE_DEADLINE;
		error->kind = RDMA_CM_EVENT_UNREACHABLE;
		error->raw = facts.iwarp ? -EHOSTUNREACH : -ETIMEDOUT;
	}
}

static void make_incident(struct vbd_incident *incident)
{
	*incident = (struct vbd_incident){
		.outcome = (enum vbd_outcome)(1 + next() % (VBD_OUTCOME_COUNT - 1)),
		.peer = "192.0.2.2",
		.asked = "b.example",
		.port = 7471,
		.op = one_in(3) ? -1 : (int)(next() % VBD_OP_COUNT),
		.transfer = next() % 3,
		.length_bytes = ONE_OF(0, 64, 8000),
		.recv_size_bytes = 4096,
		.waited_ms = ONE_OF(0, 3200, 12000),
		.by_hand = one_in(6),
		.acked = one_in(2),
		.heard = one_in(2),
		.heartbeats = one_in(4),
		.held_back = one_in(8),
		.no_receive_left = one_in(4),
		.listener_deleted = one_in(4),
		.traces_known = one_in(2),
	};
	if (incident->outcome == VBD_OUTCOME_STUCK && incident->op == VBD_OP_RECV)
		incident->outcome = VBD_OUTCOME_UNSENT;
	if (incident->op >= 0 && one_in(3))
		incident->done_bytes = incident->length_bytes / 2;
	if (incident->done_bytes)
		incident->acked = true;
	incident->tcp_open = facts.iwarp && one_in(2);
	incident->fault = one_in(20) ? "qp_error" : NULL;
	for (size_t i = 0; i < VBD_TRACE_COUNT && incident->traces_known; i++)
		incident->traces[i] = one_in(3) ? next() % 50 : 0;
	make_error(incident);
}

static void make_memory(struct vbd_incident *incident)
{
	incident->open_buffers = next() % 3;
	incident->nothing_open = !incident->open_buffers && one_in(2);
	incident->other_pd_open = !incident->open_buffers && !incident->nothing_open && one_in(2);
	if (one_in(3))
		(void)snprintf(incident->open_device, sizeof(incident->open_device), "rxe1");
	/* The judge of a report looks at the same buffers. */
	if (!incident->nothing_open && !incident->other_pd_open)
		facts.judged = (enum vbd_report_memory)(next() % VBD_REPORT_MEMORY_COUNT);
	else if (one_in(2))
		facts.judged = VBD_REPORT_MEMORY_NO_SUCH_KEY;
}

static void make_route(void)
{
	static const char *const neighbours[] = {
		"reachable", "stale", "failed", "incomplete", "permanent"};
	struct vbd_pv_netroute *netroute = &facts.netroute;

	facts.netroute_known = !one_in(5);
	netroute->neighbour = neighbours[next() % VBD_ARRAY_LEN(neighbours)];
	netroute->hwaddr_bytes = 6;
	netroute->route_errnum = one_in(12) ? ENETUNREACH : 0;
	netroute->gateway = one_in(4);
	netroute->local = one_in(12);
	netroute->mtu_bytes = (uint32_t)ONE_OF(1500, 4200);
	(void)snprintf(netroute->netdev, sizeof(netroute->netdev), one_in(8) ? "eth9" : "eth0");
	facts.netroute_has_rdma = !one_in(8);
	facts.netroute_by_device = facts.netroute_has_rdma && !one_in(8);
	netroute->next.ss_family = AF_INET;
}

/* Over iWARP, and without a way, nobody is asked and nobody reports. */
static void make_peer(void)
{
	enum vbd_outcome outcome = facts.incident.outcome;
	struct vbd_report *report = &facts.peer_report;

	report->op = -1;
	if (facts.iwarp || outcome == VBD_OUTCOME_RESOLVING || outcome == VBD_OUTCOME_UNRESOLVED)
		return;
	facts.asked = one_in(2);
	facts.answered = facts.asked && one_in(2);
	facts.rtt_ns = facts.answered ? ONE_OF(1, 400) * VBD_NS_PER_MS : 0;
	facts.peer_replied = facts.answered && one_in(2);
	report->known = facts.peer_replied && one_in(2);
	facts.peer_anew = facts.peer_replied && !report->known && one_in(2);
	if (!report->known)
		return;
	report->ended = !one_in(3);
	report->reason = report->ended ? (enum vbd_reason)(1 + next() % (VBD_REASON_COUNT - 1))
				       : VBD_REASON_NONE;
	report->failed = report->ended && !vbd_reason_clean(report->reason);
	report->inbox_full = one_in(6);
	report->op = one_in(2) ? -1 : (int)(next() % VBD_OP_COUNT);
	report->length_bytes = ONE_OF(64, 8000);
	report->recv_size_bytes = (uint32_t)ONE_OF(512, 65536);
	report->path_mtu_bytes = (uint32_t)ONE_OF(0, 1024, 1024, 256);
}

static void make_facts(uint64_t seed)
{
	random_state = seed;
	facts = (struct vbd_facts){
		.open = one_in(3),
		.device = "rxe0",
		.reliable = true,
		.iwarp = one_in(5),
		.qp.soft_roce = one_in(2),
		.cm_silent = one_in(8),
		.device_removed = one_in(16),
		.port_fell = one_in(8),
		.port_fell_before_ms = ONE_OF(100, 900000),
		.port_known = !one_in(5),
		.port = {.port_num = 1,
			.state = one_in(6) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
			.link_layer = "ethernet",
			.active_mtu_bytes = 1024},
		.qp.sgid_known = !one_in(4),
		.qp.sgid = {.gid_index = 1, .type = "roce_v2", .netdev = "eth0"},
		.sgid_gone = one_in(10),
		.qp.path_mtu_bytes = (uint32_t)ONE_OF(1024, 4096),
		.qp.sends_known = one_in(2),
		.qp.ack_timeout = 14,
		.qp.retry_count = 2,
		.inbox_capacity = one_in(2) ? 16 : 0,
		.inbox_messages = one_in(3) ? 16 : 0,
		.srq_id = one_in(8),
		.flushed_sends = one_in(2),
	};
	make_route();
	make_incident(&facts.incident);
	make_peer();
	if (facts.incident.outcome == VBD_OUTCOME_REFUSED)
		make_memory(&facts.incident);
}

/* --- claims ---------------------------------------------------------------------------------- */

static bool answers(void)
{
	return facts.answered;
}

static bool does_not_answer(void)
{
	return !facts.answered;
}

static bool has_neighbour(void)
{
	const char *neighbour = facts.netroute.neighbour;

	return !facts.netroute_known || facts.netroute.route_errnum || facts.netroute.local ||
	       (strcmp(neighbour, "failed") != 0 && strcmp(neighbour, "incomplete") != 0);
}

static bool is_found_silent(void)
{
	for (size_t i = 0; i < verdicts.finding_count; i++) {
		if (verdicts.findings[i].row == &vbd_finding_rows[VBD_FINDING_NEIGHBOUR_FAILED])
			return true;
	}
	return false;
}

static bool is_well_there(void)
{
	const struct vbd_report *report = &facts.peer_report;

	return report->known && (!report->ended || report->reason == VBD_REASON_PEER_DISCONNECT);
}

static bool has_failed_there(void)
{
	return facts.peer_report.known && facts.peer_report.failed;
}

static bool has_no_failure_there(void)
{
	return !has_failed_there();
}

static bool is_known_there(void)
{
	return facts.peer_report.known;
}

static bool is_down_here(void)
{
	return facts.port_known && facts.port.state != IBV_PORT_ACTIVE;
}

static bool is_up_here(void)
{
	return !is_down_here();
}

static bool has_worked(void)
{
	return facts.incident.done_bytes != 0;
}

static bool was_acknowledged(void)
{
	return facts.incident.acked || facts.incident.heartbeats || facts.incident.done_bytes;
}

static bool has_no_way_by_tcp(void)
{
	return facts.incident.error.source == VBD_SOURCE_CM_EVENT &&
	       facts.incident.error.raw == -EHOSTUNREACH;
}

static bool is_memory_found(void)
{
	return facts.incident.open_buffers || facts.judged == VBD_REPORT_MEMORY_PAST_END ||
	       facts.judged == VBD_REPORT_MEMORY_OTHER_PD ||
	       facts.judged == VBD_REPORT_MEMORY_NO_ACCESS ||
	       facts.judged == VBD_REPORT_MEMORY_GRANTED;
}

static bool is_no_memory_open(void)
{
	return facts.incident.nothing_open;
}

static bool has_iwarp(void)
{
	return facts.iwarp;
}

static bool has_rdma_neither_here_nor_there(void)
{
	return facts.netroute_known && (facts.netroute.route_errnum || !facts.netroute_has_rdma) &&
	       !facts.netroute.local;
}

static bool is_received_here(void)
{
	return !facts.inbox_capacity || facts.inbox_messages < facts.inbox_capacity;
}

static bool is_never_slowed(void)
{
	return !facts.incident.traces[VBD_TRACE_SLOWED];
}

static bool is_received_there(void)
{
	return !facts.peer_report.inbox_full;
}

static bool has_no_empty_srq(void)
{
	return !facts.srq_id || facts.srq_posted;
}

static bool is_receive_posted(void)
{
	return !facts.incident.no_receive_left;
}

static bool is_not_judged(void)
{
	return facts.judged == VBD_REPORT_MEMORY_UNJUDGED ||
	       facts.judged == VBD_REPORT_MEMORY_GRANTED;
}

#define CODES_MAX 12

/* The first line of one of these causes, or any line with these words, says what the facts
 * contradict. */
static const struct claim {
	const char *says;
	bool (*is_contradicted)(void);
	const char *words; /* in the text or the advice; NULL: whatever they are */
	enum vbd_cause_code codes[CODES_MAX]; /* 0, a fault on purpose, ends them */
} claims[] = {
	{"the host or its device is silent", answers, NULL,
		{VBD_CAUSE_HOST_GONE, VBD_CAUSE_NEIGHBOUR_BY_HAND, VBD_CAUSE_NO_ANSWER,
			VBD_CAUSE_CM_DEAF, VBD_CAUSE_NOT_RESOLVED}},
	{"the host is gone", answers, "its host or queue pair is gone", {0}},
	{"the device of the peer that left is gone", answers, "or its host is gone", {0}},
	{"the device of the peer answers", does_not_answer, "device still answers", {0}},
	{"the device of a silent peer answers", does_not_answer, "its RDMA device answers", {0}},
	{"the host answers", does_not_answer, NULL,
		{VBD_CAUSE_QP_GONE_THERE, VBD_CAUSE_BACKLOG_FULL_THERE, VBD_CAUSE_NOT_TAKEN_YET,
			VBD_CAUSE_WAY_TOO_NARROW, VBD_CAUSE_TIMEOUT_TOO_SHORT}},
	{"the host answers, whose neighbour entry has failed", is_found_silent, NULL,
		{VBD_CAUSE_QP_GONE_THERE, VBD_CAUSE_BACKLOG_FULL_THERE, VBD_CAUSE_NOT_TAKEN_YET,
			VBD_CAUSE_NO_ANSWER, VBD_CAUSE_NOT_ACKNOWLEDGED}},
	{"the next hop has no hardware address", has_neighbour, NULL, {VBD_CAUSE_HOST_GONE}},
	{"the connection is gone on the other side", is_well_there, NULL,
		{VBD_CAUSE_QP_GONE_THERE, VBD_CAUSE_STOPPED_THERE, VBD_CAUSE_CLOSED_THERE,
			VBD_CAUSE_FAILED_THERE, VBD_CAUSE_NOT_ACKNOWLEDGED}},
	{"the verbsd there does not know it", is_known_there, NULL, {VBD_CAUSE_FORGOTTEN_THERE}},
	{"the verbsd there was started anew", is_known_there, "was started anew", {0}},
	{"the connection failed there", has_no_failure_there, NULL, {VBD_CAUSE_FAILED_THERE}},
	{"the program there ended or closed it", has_failed_there, NULL,
		{VBD_CAUSE_PEER_LEFT, VBD_CAUSE_CLOSED_THERE, VBD_CAUSE_STOPPED_THERE}},
	{"the program there ended, while the port here works", is_down_here, NULL,
		{VBD_CAUSE_PEER_LEFT, VBD_CAUSE_FORGOTTEN_THERE, VBD_CAUSE_NOTHING_SENT,
			VBD_CAUSE_QP_GONE_THERE, VBD_CAUSE_ACKS_LATE}},
	{"the port here is up again", is_down_here, "is up again", {0}},
	{"the port here is down", is_up_here, NULL, {VBD_CAUSE_INTERFACE_DOWN}},
	{"the key was wrong from the start", has_worked, "the key is wrong", {0}},
	{"nothing was ever acknowledged", was_acknowledged, NULL, {VBD_CAUSE_WRONG_REMOTE}},
	{"TCP has connected", has_no_way_by_tcp, NULL, {VBD_CAUSE_NOT_IWARP}},
	{"no such memory is open here", is_memory_found, NULL, {VBD_CAUSE_NOTHING_OPEN}},
	{"buffers here are open", is_no_memory_open, "here are open to it", {0}},
	{"switches are congested", is_never_slowed, "are congested", {0}},
	{"UDP is dropped", has_iwarp, "drops UDP 4791", {0}},
	{"UDP has to pass", has_iwarp, "that UDP 4791", {0}},
	{"UDP is closed", has_iwarp, "open UDP 4791", {0}},
	{"another way than the route is to blame", has_rdma_neither_here_nor_there, NULL,
		{VBD_CAUSE_NO_ANSWER, VBD_CAUSE_QP_GONE_THERE, VBD_CAUSE_NOT_ACKNOWLEDGED,
			VBD_CAUSE_WRONG_REMOTE, VBD_CAUSE_PACKETS_LOST, VBD_CAUSE_CM_DEAF}},
	{"the inbox here is full", is_received_here, "receives here hold messages", {0}},
	{"the inbox there is full", is_received_there, "hold messages that nobody there", {0}},
	{"the shared receive queue here is empty", has_no_empty_srq, "has no receive left", {0}},
	{"no receive is posted here", is_receive_posted, "no receive is posted here", {0}},
	{"the peer asked for what is not there", is_not_judged, "says that it made", {0}},
};

static bool is_made(const struct claim *claim, const struct vbd_verdict *first)
{
	if (claim->words)
		return strstr(first->text, claim->words) || strstr(first->advice, claim->words);
	for (size_t i = 0; i < CODES_MAX && claim->codes[i]; i++) {
		if (&vbd_cause_rows[claim->codes[i]] == first->row)
			return true;
	}
	return false;
}

static void tell_clues(void)
{
	vbd_clue_set clues = vbd_clues_find(&facts);
	char text[VBD_VERDICT_BYTES];

	for (unsigned int i = 0; i < VBD_CLUE_COUNT; i++) {
		if (clues & VBD_CLUE_BIT(i))
			(void)fprintf(stderr, "  %s\n",
				vbd_words_fill(vbd_clue_text((enum vbd_clue)i), &facts, text,
					sizeof(text)));
	}
}

static const char *find_contradicted(const struct vbd_verdict *diagnosis)
{
	if (strchr(diagnosis->text, '{') || strchr(diagnosis->advice, '{'))
		return "each placeholder has a value";
	for (size_t i = 0; i < VBD_ARRAY_LEN(claims); i++) {
		if (is_made(&claims[i], diagnosis) && claims[i].is_contradicted())
			return claims[i].says;
	}
	return NULL;
}

/* The causes that are possible besides are no less true than the first one. */
static unsigned int count_contradicted(uint64_t seed)
{
	unsigned int count = 0;

	for (size_t i = 0; i < verdicts.cause_count; i++) {
		const struct vbd_verdict *diagnosis = &verdicts.causes[i];
		const char *says = find_contradicted(diagnosis);

		if (!says)
			continue;
		(void)fprintf(stderr, "set %" PRIu64 ", outcome %u, cause %zu, %s: \"%s\" (%s)\n",
			seed, facts.incident.outcome, i + 1, diagnosis->row->name, diagnosis->text,
			says);
		tell_clues();
		count++;
	}
	return count;
}

static uint64_t wanted_sets(void)
{
	const char *sets = getenv("FACT_SETS");

	return sets ? strtoull(sets, NULL, 10) : 10000;
}

TEST(test_first_line__no_fact_contradicts_it)
{
	unsigned int count = 0;

	for (uint64_t seed = 1; seed <= wanted_sets() && count < 5; seed++) {
		make_facts(seed);
		vbd_judge(&facts, &verdicts);
		/* The reason of a stop says all. */
		if (!verdicts.cause_count && facts.incident.outcome != VBD_OUTCOME_STOPPED)
			fail_msg("set %" PRIu64 " has no cause", seed);
		count += count_contradicted(seed);
	}
	assert_int_equal(count, 0);
}

/* A claim that no set makes can't fail. */
TEST(test_first_line__each_claim_is_made)
{
	bool made[VBD_ARRAY_LEN(claims)] = {false};

	for (uint64_t seed = 1; seed <= 10000; seed++) {
		make_facts(seed);
		vbd_judge(&facts, &verdicts);
		for (size_t i = 0; i < VBD_ARRAY_LEN(claims) && verdicts.cause_count; i++)
			made[i] = made[i] || is_made(&claims[i], verdicts.causes);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(claims); i++) {
		if (!made[i])
			fail_msg("no set leads to a line that says: %s", claims[i].says);
	}
}
