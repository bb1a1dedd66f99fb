/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/judge.h"

#include "tests/unit/openapi.h"
#include "tests/unit/unit.h"

#include <infiniband/verbs.h>

static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
static const uint8_t link_local[16] = {[0] = 0xfe, [1] = 0x80, [15] = 1};

/* An established connection over RoCE v2 without a finding. */
static struct vbd_facts good(void)
{
	struct vbd_facts facts = {
		.open = true,
		.established = true,
		.reliable = true,
		.watched = true,
		.device = "fake0",
		.port_known = true,
		.port = {.port_num = 1,
			.state = IBV_PORT_ACTIVE,
			.link_layer = "ethernet",
			.max_mtu_bytes = 4096,
			.active_mtu_bytes = 4096},
		.qp.sgid_known = true,
		.qp.sgid = {.gid_index = 1,
			.port_num = 1,
			.type = "roce_v2",
			.scope = "ipv4_mapped",
			.netdev = "eth0",
			.vlan_id = -1},
		.qp.gid_known = true,
		.qp.path_mtu_bytes = 4096,
		.qp.sends_known = true,
		.qp.ack_timeout = 14,
		.qp.retry_count = 4,
		.qp.rnr_retry = 6,
		.qp.min_rnr_timer = 12,
		.qp.initiator_depth = 16,
		.memlock_known = true,
		.locked_bytes = 10,
		.lock_limit_bytes = UINT64_MAX,
		.netroute_known = true,
		.netroute = {.netdev = "eth0", .neighbour = "reachable"},
		.netroute_has_rdma = true,
	};

	memcpy(facts.qp.sgid.raw, v4, sizeof(v4));
	memcpy(facts.qp.dgid, v4, sizeof(v4));
	return facts;
}

static bool is(const struct vbd_verdict *verdict, enum vbd_finding_code code)
{
	return verdict->row == &vbd_finding_rows[code];
}

static const struct vbd_verdict *find(
	const struct vbd_verdicts *verdicts, enum vbd_finding_code code)
{
	for (size_t i = 0; i < verdicts->finding_count; i++) {
		if (is(&verdicts->findings[i], code))
			return &verdicts->findings[i];
	}
	return NULL;
}

/* Asserts the finding @code and no other, apart from those that are always there. */
static void assert_only(const struct vbd_facts *facts, enum vbd_finding_code code)
{
	struct vbd_verdicts verdicts;

	vbd_judge(facts, &verdicts);
	for (size_t i = 0; i < verdicts.finding_count; i++) {
		const struct vbd_verdict *each = &verdicts.findings[i];

		if (!is(each, VBD_FINDING_DEAD_PEER) && !is(each, VBD_FINDING_RNR_TIMER) &&
			!is(each, code))
			fail_msg("%s: %s", each->row->name, each->text);
	}
	assert_non_null(find(&verdicts, code));
}

TEST(test_facts__each_code_says_something_in_the_same_form)
{
	for (unsigned int i = 0; i < VBD_FINDING_COUNT; i++) {
		enum vbd_finding_code code = (enum vbd_finding_code)i;
		const char *when = vbd_finding_rows[code].when;
		const char *hint = vbd_finding_rows[code].advice;

		assert_int_equal(hint[strlen(hint) - 1], '.');
		assert_int_not_equal(when[strlen(when) - 1], '.');
		assert_true(i == 0 ||
			    vbd_finding_rows[code].severity >=
				    vbd_finding_rows[(enum vbd_finding_code)(i - 1)].severity);
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(vbd_finding_rows[code].name,
				vbd_finding_rows[(enum vbd_finding_code)k].name);
	}
}

TEST(test_facts__the_contract_has_the_same_codes)
{
	struct openapi_enum contract;

	openapi_read_enum("FindingCode", &contract);
	assert_int_equal(contract.count, VBD_FINDING_COUNT);
	for (unsigned int i = 0; i < VBD_FINDING_COUNT; i++)
		assert_string_equal(
			contract.values[i], vbd_finding_rows[(enum vbd_finding_code)i].name);
}

TEST(test_facts__a_healthy_connection_has_only_times)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;

	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.finding_count, 2);
	assert_true(is(&verdicts.findings[0], VBD_FINDING_DEAD_PEER));
	assert_non_null(strstr(verdicts.findings[0].text, "336 ms"));
	assert_non_null(strstr(verdicts.findings[0].text, "x 5 tries"));
	assert_non_null(strstr(verdicts.findings[1].text, "0.64 ms"));
}

TEST(test_facts__of_nothing_nothing_follows)
{
	const struct vbd_facts facts = {0};
	struct vbd_verdicts verdicts;

	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.finding_count, 0);
}

TEST(test_facts__a_dead_peer_takes_the_ack_timeout_for_each_try)
{
	struct vbd_facts facts = good();
	uint64_t ms = 0;

	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 336);
	facts.qp.retry_count = 0;
	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 68);
	facts.qp.ack_timeout = 1; /* 8 us: rounded up */
	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 1);
	facts.qp.ack_timeout = 31;
	facts.qp.retry_count = 6;
	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 61572652);
	assert_only(&facts, VBD_FINDING_DEAD_PEER_SLOW);
}

TEST(test_facts__a_transfer_that_its_own_window_holds_back_is_told)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;
	const struct vbd_verdict *finding;

	facts.incident.outcome = VBD_OUTCOME_STUCK;
	facts.incident.transfer = 7;
	facts.incident.window = 4;
	facts.incident.requests_left = 10;
	vbd_judge(&facts, &verdicts);
	finding = find(&verdicts, VBD_FINDING_WINDOW_FULL);
	assert_non_null(finding);
	assert_non_null(strstr(finding->text, "Transfer 7 has 4 work requests outstanding"));
	assert_non_null(strstr(finding->text, "6 more wait"));
	facts.incident.requests_left = 4;
	vbd_judge(&facts, &verdicts);
	assert_null(find(&verdicts, VBD_FINDING_WINDOW_FULL));
}

TEST(test_facts__polling_without_a_pause_is_told_with_its_cost)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;
	const struct vbd_verdict *finding;

	facts.busy_on_worker = 3;
	facts.spun_ms = 12000;
	vbd_judge(&facts, &verdicts);
	finding = find(&verdicts, VBD_FINDING_POLLED_BUSY);
	assert_non_null(finding);
	assert_non_null(strstr(finding->text, "3 such queue pairs"));
	assert_non_null(strstr(finding->text, "12 s"));
	facts.open = false;
	vbd_judge(&facts, &verdicts);
	assert_null(find(&verdicts, VBD_FINDING_POLLED_BUSY));
}

/* Only rdma_rxe repeats for ever at 7; rnr_retry has a value for ever on every device. */
TEST(test_facts__seven_retries_are_counted_elsewhere_than_on_soft_roce)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;
	uint64_t ms = 0;

	facts.qp.retry_count = 7;
	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 537);
	vbd_judge(&facts, &verdicts);
	assert_null(find(&verdicts, VBD_FINDING_DEAD_PEER_FOR_EVER));
	assert_non_null(strstr(find(&verdicts, VBD_FINDING_DEAD_PEER)->text, "x 8 tries"));
	facts.qp.soft_roce = true;
	vbd_judge(&facts, &verdicts);
	assert_null(find(&verdicts, VBD_FINDING_DEAD_PEER));
	assert_non_null(strstr(find(&verdicts, VBD_FINDING_DEAD_PEER_FOR_EVER)->text,
		"retry_count is 7, which means for ever on Soft-RoCE."));
	facts.qp.retry_count = 6;
	assert_true(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_int_equal(ms, 470);
}

TEST(test_facts__what_never_ends_has_no_time)
{
	struct vbd_facts facts = good();
	uint64_t ms = 1234;

	facts.qp.soft_roce = true;
	facts.qp.retry_count = 7;
	assert_false(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_only(&facts, VBD_FINDING_DEAD_PEER_FOR_EVER);
	facts = good();
	facts.qp.ack_timeout = 0;
	assert_false(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_only(&facts, VBD_FINDING_DEAD_PEER_FOR_EVER);
	facts = good();
	facts.reliable = false;
	assert_false(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	facts = good();
	facts.qp.sends_known = false;
	assert_false(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	facts = good();
	facts.iwarp = true;
	assert_false(vbd_facts_dead_peer_detect_ms(&facts, &ms));
	assert_only(&facts, VBD_FINDING_DEAD_PEER_TCP);
	assert_int_equal(ms, 1234);
}

TEST(test_facts__timers_that_hurt_are_told)
{
	struct vbd_facts facts = good();

	facts.qp.min_rnr_timer = 0;
	assert_only(&facts, VBD_FINDING_RNR_TIMER_LONG);
	facts = good();
	facts.qp.rnr_retry = 7;
	assert_only(&facts, VBD_FINDING_RNR_FOR_EVER);
	facts = good();
	facts.qp.initiator_depth = 0;
	assert_only(&facts, VBD_FINDING_NO_READS);
	facts = good();
	facts.watched = false;
	assert_only(&facts, VBD_FINDING_IDLE_BLIND);
}

TEST(test_facts__device_and_port_are_looked_at)
{
	struct vbd_facts facts = good();

	facts.device_removed = true;
	assert_only(&facts, VBD_FINDING_DEVICE_REMOVED);
	facts = good();
	facts.port.state = IBV_PORT_DOWN;
	assert_only(&facts, VBD_FINDING_PORT_NOT_ACTIVE);
	facts = good();
	facts.port_fell = true;
	assert_only(&facts, VBD_FINDING_PORT_WENT_DOWN);
	facts = good();
	facts.qp.path_mtu_bytes = 1024;
	assert_only(&facts, VBD_FINDING_MTU_BELOW_PORT);
	facts.port.active_mtu_bytes = 1024;
	assert_only(&facts, VBD_FINDING_MTU_OF_PORT);
	facts = good();
	facts.qp.path_mtu_bytes = 1024;
	facts.mtu_asked = true;
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
}

/* Each side knows of the other only what the messages of the CM tell. */
TEST(test_facts__sides_that_differ_are_told_before_the_first_byte)
{
	struct vbd_facts facts = good();

	facts.port.active_mtu_bytes = facts.port.max_mtu_bytes = 1024;
	assert_only(&facts, VBD_FINDING_MTU_ABOVE_PORT);
	facts = good();
	facts.mtu_asked = true;
	facts.qp.path_mtu_bytes = 1024;
	facts.cm_mtu_bytes = 4096;
	assert_only(&facts, VBD_FINDING_MTU_LIMITED_HERE);
	facts = good();
	facts.qp.responder_resources = 4;
	facts.peer_reads = 16;
	assert_only(&facts, VBD_FINDING_PEER_READS_MORE);
	facts.peer_reads = 4;
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
	facts.qp.retry_count = 0;
	assert_only(&facts, VBD_FINDING_RETRY_NONE);
	facts = good();
	facts.qp.rnr_retry = 0;
	assert_only(&facts, VBD_FINDING_RNR_NONE);
}

TEST(test_facts__gids_of_both_ends_are_compared)
{
	struct vbd_facts facts = good();

	facts.sgid_gone = true;
	assert_only(&facts, VBD_FINDING_GID_GONE);
	facts = good();
	facts.qp.sgid.type = "roce_v1";
	assert_only(&facts, VBD_FINDING_GID_ROCE_V1);
	facts = good();
	memcpy(facts.qp.dgid, link_local, sizeof(link_local));
	assert_only(&facts, VBD_FINDING_GID_SCOPES_DIFFER);
	memcpy(facts.qp.sgid.raw, link_local, sizeof(link_local));
	assert_only(&facts, VBD_FINDING_GID_LINK_LOCAL);
	facts = good();
	facts.qp.sgid_known = false;
	facts.sgid_none = true;
	assert_only(&facts, VBD_FINDING_NO_GID);
	/* On InfiniBand a link-local GID is normal. */
	facts = good();
	facts.qp.sgid.type = "ib";
	memcpy(facts.qp.sgid.raw, link_local, sizeof(link_local));
	memcpy(facts.qp.dgid, link_local, sizeof(link_local));
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
}

TEST(test_facts__the_way_is_looked_at)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;

	facts.netroute.route_errnum = ENETUNREACH;
	assert_only(&facts, VBD_FINDING_NO_ROUTE);
	facts = good();
	facts.netroute_has_rdma = false;
	assert_only(&facts, VBD_FINDING_ROUTE_WITHOUT_RDMA);
	facts = good();
	(void)snprintf(facts.netroute.netdev, sizeof(facts.netroute.netdev), "eth1");
	assert_only(&facts, VBD_FINDING_ROUTE_MOVED);
	facts = good();
	facts.netroute.neighbour = "failed";
	assert_only(&facts, VBD_FINDING_NEIGHBOUR_FAILED);
	facts.netroute.neighbour = "incomplete";
	assert_only(&facts, VBD_FINDING_NEIGHBOUR_UNKNOWN);
	facts.netroute.neighbour =
		"none"; /* a kernel that needs no neighbour any more forgets it */
	vbd_judge(&facts, &verdicts);
	assert_null(find(&verdicts, VBD_FINDING_NEIGHBOUR_UNKNOWN));
	facts.destination = true;
	assert_only(&facts, VBD_FINDING_NEIGHBOUR_UNKNOWN);
	facts.destination = false;
	facts.netroute.local = true;
	facts.netroute_has_rdma = false;
	assert_only(&facts, VBD_FINDING_SAME_HOST);
	facts = good();
	facts.netroute.gateway = true;
	assert_only(&facts, VBD_FINDING_BEHIND_GATEWAY);
	facts.qp.sgid.type = "roce_v1";
	vbd_judge(&facts, &verdicts);
	assert_non_null(find(&verdicts, VBD_FINDING_GATEWAY_WITHOUT_IP));
}

TEST(test_facts__limits_that_are_near_are_told)
{
	struct vbd_facts facts = good();

	facts.lock_limit_bytes = 12;
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
	facts.lock_limit_bytes = 11;
	assert_only(&facts, VBD_FINDING_MEMLOCK_NEAR);
	facts.lock_limit_bytes = 0;
	assert_only(&facts, VBD_FINDING_MEMLOCK_NEAR);
	facts = good();
	facts.backlog = 4;
	facts.waiting = 3;
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
	facts.waiting = 4;
	assert_only(&facts, VBD_FINDING_BACKLOG_FULL);
	facts = good();
	facts.inbox_capacity = 4;
	facts.inbox_messages = 4;
	assert_only(&facts, VBD_FINDING_INBOX_FULL);
	facts = good();
	facts.deadline_ms = 1000;
	facts.waited_ms = 500;
	assert_only(&facts, VBD_FINDING_DEAD_PEER);
	facts.waited_ms = 501;
	assert_only(&facts, VBD_FINDING_DEADLINE_NEAR);
	facts = good();
	facts.lost_packets = 1;
	assert_only(&facts, VBD_FINDING_PACKETS_LOST);
}

TEST(test_facts__flushes_are_counted_and_blamed_on_nobody)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;

	facts.open = false;
	facts.established = false;
	facts.flushed_sends = 63;
	facts.flushed_receives = 16;
	assert_only(&facts, VBD_FINDING_FLUSHED);
	facts.hung_up = true;
	vbd_judge(&facts, &verdicts);
	assert_int_equal(verdicts.finding_count, 2);
	assert_true(is(&verdicts.findings[0], VBD_FINDING_PEER_BUSY_HANG_UP));
	assert_non_null(strstr(verdicts.findings[0].text, "63"));
}

TEST(test_facts__the_worst_stands_first)
{
	struct vbd_facts facts = good();
	struct vbd_verdicts verdicts;

	facts.qp.rnr_retry = 7;
	facts.qp.min_rnr_timer = 0;
	facts.port.state = IBV_PORT_DOWN;
	facts.netroute.neighbour = "failed";
	facts.qp.sgid.type = "roce_v1";
	vbd_judge(&facts, &verdicts);
	assert_true(is(&verdicts.findings[0], VBD_FINDING_PORT_NOT_ACTIVE));
	for (size_t i = 1; i < verdicts.finding_count; i++)
		assert_true(verdicts.findings[i - 1].row < verdicts.findings[i].row);
}
