/* SPDX-License-Identifier: Apache-2.0 */
/* The verbsd on both sides of a connection tell each other why it ended. */
#include "base/clock.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/memory/shared.h"
#include "daemon/memory/windows.h"
#include "daemon/observe/explain.h"
#include "daemon/observe/report.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>

#define SIZE 4096

static struct sockaddr_in host(const char *text)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(9)};

	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return addr;
}

/* The report of the side that @connection is connected to, whose read of @length_bytes was refused.
 */
static struct vbd_report refused_read(const struct vbd_connection *connection, uint64_t addr,
	uint32_t rkey, uint64_t length_bytes)
{
	return (struct vbd_report){
		.known = true,
		.ended = true,
		.failed = true,
		.lqpn = connection->conn->qp.info.rqpn,
		.rqpn = connection->conn->qp.info.lqpn,
		.reason = VBD_REASON_REMOTE_ACCESS,
		.op = VBD_OP_READ,
		.remote_addr = addr,
		.rkey = rkey,
		.length_bytes = length_bytes,
	};
}

static struct vbd_report answer(struct svc *svc, const char *from, const struct vbd_report *theirs)
{
	const struct sockaddr_in peer = host(from);
	struct vbd_report ours = {.known = true};

	vbd_report_answer(svc->daemon, (const struct sockaddr *)&peer, "fake0", theirs, &ours);
	return ours;
}

SVC_TEST(test_reports__both_queue_pairs_and_the_address_name_a_connection)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct sockaddr_in peer = host("10.0.0.1");
	struct vbd_report theirs = refused_read(pair.passive, 0, 0, 0);
	struct vbd_report ours;

	ours = answer(svc, "10.0.0.1", &theirs);
	assert_true(ours.known);
	assert_false(ours.ended);
	assert_int_equal(ours.lqpn, pair.passive->conn->qp.info.lqpn);
	assert_int_equal(ours.recv_size_bytes, pair.passive->conn->params.qp.recv_size_bytes);
	assert_int_equal(ours.path_mtu_bytes, pair.passive->conn->qp.info.path_mtu_bytes);
	assert_non_null(pair.passive->peer_report);
	assert_null(pair.active->peer_report);
	assert_false(answer(svc, "10.0.0.2", &theirs).known);
	(void)vbd_report_answer(
		svc->daemon, (const struct sockaddr *)&peer, "fake1", &theirs, &ours);
	assert_false(ours.known);
	(void)vbd_report_answer(svc->daemon, (const struct sockaddr *)&peer, NULL, &theirs, &ours);
	assert_false(ours.known);
	theirs.lqpn++;
	assert_false(answer(svc, "10.0.0.1", &theirs).known);
	theirs.lqpn--;
	theirs.rqpn += 1000;
	assert_false(answer(svc, "10.0.0.1", &theirs).known);
}

SVC_TEST(test_reports__an_end_is_told_with_its_reason)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_report theirs = refused_read(pair.active, 0, 0, 0);
	struct vbd_report ours;

	svc_close(svc, pair.active);
	ours = answer(svc, "10.0.0.1", &theirs);
	assert_true(ours.known && ours.ended);
	assert_false(ours.failed);
	assert_int_equal(ours.reason, VBD_REASON_LOCAL_CLOSE);
	SVC_UNTIL(svc, pair.passive->object.ended);
}

/* The peer is established as soon as it has the answer, before this side hears so. */
SVC_TEST(test_reports__an_end_before_the_peer_confirms_is_told)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection *passive;
	struct vbd_report theirs, ours;

	fake_loopback(false);
	(void)fake_connect_request(listener->cm.cm_id, svc->device);
	SVC_UNTIL(svc, listener->gate.connections == 1);
	passive = svc_newest_of(svc, listener);
	SVC_UNTIL(svc, passive->conn->qp.info.rqpn);
	assert_int_equal(passive->conn->state, VBD_CONN_ACCEPTING);
	theirs = refused_read(passive, 0, 0, 0);
	vbd_connection_close(passive);
	ours = answer(svc, "10.0.0.254", &theirs);
	assert_true(ours.known && ours.ended);
	assert_int_equal(ours.reason, VBD_REASON_LOCAL_CLOSE);
}

/* The verdict of this side, which the peer is never told. */
static enum vbd_report_memory verdict(const struct vbd_connection *connection)
{
	return connection->peer_report ? connection->peer_report->memory
				       : VBD_REPORT_MEMORY_UNJUDGED;
}

/* A peer may claim a request that was never made, to learn keys by the verdict. */
SVC_TEST(test_reports__a_claim_without_a_refusal_here_is_not_judged)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_buffer *buffer = svc_buffer(svc, "open", SIZE, VBD_ACCESS_REMOTE_READ);
	uint64_t addr = (uintptr_t)buffer->mem.addr;

	for (uint32_t guess = 0; guess < 256; guess++) {
		struct vbd_report theirs =
			refused_read(pair.passive, addr, buffer->mem.rkey - 128 + guess, 8);
		struct vbd_report ours = answer(svc, "10.0.0.1", &theirs);

		assert_true(ours.known);
		assert_false(ours.refused || ours.ended);
		assert_int_equal(verdict(pair.passive), VBD_REPORT_MEMORY_UNJUDGED);
	}
	assert_int_equal(svc->daemon->reports_refused, 256);
	svc_close(svc, pair.passive);
	SVC_UNTIL(svc, pair.active->object.ended);
}

/* The bytes of the answer are the same for a key that opens memory, and for one that does not. */
SVC_TEST(test_reports__a_peer_is_told_that_it_was_refused_and_no_more)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	const struct vbd_buffer *buffer = svc_buffer(svc, "open", SIZE, VBD_ACCESS_REMOTE_READ);
	uint8_t bytes[3][VBD_REPORT_BYTES];

	for (uint32_t i = 0; i < VBD_ARRAY_LEN(bytes); i++) {
		struct svc_pair pair = svc_pair(svc, listener);
		struct vbd_report theirs = refused_read(pair.passive, (uintptr_t)buffer->mem.addr,
			buffer->mem.rkey + i / 2, 8 + i % 2 * SIZE);
		struct vbd_report ours;

		fake_qp_to_err(pair.passive->conn->qp.ibv_qp);
		ours = answer(svc, "10.0.0.1", &theirs);
		assert_true(ours.known && ours.refused);
		assert_int_not_equal(verdict(pair.passive), VBD_REPORT_MEMORY_UNJUDGED);
		ours.lqpn = ours.rqpn = 0;
		ours.uptime_ms = 0;
		vbd_report_write(&ours, bytes[i]);
		assert_memory_equal(bytes[i], bytes[0], VBD_REPORT_BYTES);
		SVC_UNTIL(svc, pair.passive->object.ended);
		svc_close(svc, pair.active);
	}
	assert_int_equal(svc->daemon->reports_refused, 0);
}

SVC_TEST(test_reports__a_host_that_reports_without_end_is_not_answered)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_report unknown = {.op = -1, .lqpn = 1, .rqpn = 1};
	const struct sockaddr_in6 other = {
		.sin6_family = AF_INET6, .sin6_addr.s6_addr = {0xfe, 0x80, [15] = 7}};
	unsigned int asked = 0;
	struct vbd_report ours;

	while (!svc->daemon->reports_refused && asked++ < 100000)
		(void)answer(svc, "10.0.0.1", &unknown);
	assert_in_range(asked, 500, 99999);
	assert_false(pair.passive->peer_report);
	assert_true(vbd_report_answer(
		svc->daemon, (const struct sockaddr *)&other, "fake0", &unknown, &ours));
	svc_close(svc, pair.passive);
	SVC_UNTIL(svc, pair.active->object.ended);
}

SVC_TEST(test_reports__only_memory_of_the_connections_owner_is_judged)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_buffer *buffer = svc_buffer(svc, "open", SIZE, VBD_ACCESS_REMOTE_READ);
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(&svc->daemon->callers, "bob");
	struct vbd_caller *control = vbd_callers_get(&svc->daemon->callers, "control");
	const struct {
		struct vbd_caller *connection, *memory;
		bool shared; /* the memory */
		enum vbd_report_memory verdict;
	} rows[] = {
		{NULL, bob, false, VBD_REPORT_MEMORY_NO_SUCH_KEY},
		{NULL, NULL, false, VBD_REPORT_MEMORY_PAST_END},
		{bob, NULL, false, VBD_REPORT_MEMORY_NO_SUCH_KEY},
		{bob, alice, false, VBD_REPORT_MEMORY_NO_SUCH_KEY},
		{bob, bob, false, VBD_REPORT_MEMORY_PAST_END},
		{bob, NULL, true, VBD_REPORT_MEMORY_PAST_END},
		{control, NULL, false, VBD_REPORT_MEMORY_PAST_END},
		{control, alice, false, VBD_REPORT_MEMORY_PAST_END},
	};

	alice->role = bob->role = VBD_ROLE_OPERATE;
	control->role = VBD_ROLE_CONTROL;
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct svc_pair pair = svc_pair(svc, listener);
		const struct vbd_report theirs = refused_read(
			pair.passive, (uintptr_t)buffer->mem.addr, buffer->mem.rkey, SIZE + 1);

		pair.passive->object.owner = rows[i].connection;
		buffer->object.owner = rows[i].memory;
		buffer->object.shared = rows[i].shared;
		pair.passive->conn->refusal = VBD_REFUSAL_QP_STATE;
		(void)answer(svc, "10.0.0.1", &theirs);
		assert_int_equal(verdict(pair.passive), rows[i].verdict);
		pair.passive->object.owner = buffer->object.owner = NULL;
		svc_close(svc, pair.passive);
		SVC_UNTIL(svc, pair.active->object.ended);
	}
	buffer->object.shared = false;
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
	vbd_caller_unref(control);
}

static void judged(struct svc *svc, struct vbd_listener *listener, struct vbd_report theirs,
	enum vbd_report_memory memory, uint64_t over_bytes)
{
	struct svc_pair pair = svc_pair(svc, listener);

	theirs.lqpn = pair.passive->conn->qp.info.rqpn;
	theirs.rqpn = pair.passive->conn->qp.info.lqpn;
	svc_close(svc, pair.passive);
	pair.passive->conn->refusal = VBD_REFUSAL_QP_STATE;
	assert_true(answer(svc, "10.0.0.1", &theirs).refused);
	assert_string_equal(
		vbd_report_memory_name(verdict(pair.passive)), vbd_report_memory_name(memory));
	assert_int_equal(pair.passive->peer_report->over_bytes, over_bytes);
	SVC_UNTIL(svc, pair.active->object.ended);
}

SVC_TEST(test_reports__a_refused_request_is_judged_to_the_byte)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair pair = svc_pair(svc, listener);
	const struct vbd_buffer *buffer =
		svc_buffer(svc, "open", SIZE, VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_ATOMIC);
	uint64_t addr = (uintptr_t)buffer->mem.addr;
	struct vbd_report theirs = refused_read(pair.passive, addr, buffer->mem.rkey, SIZE);

	judged(svc, listener, theirs, VBD_REPORT_MEMORY_GRANTED, 0);
	theirs.length_bytes = SIZE + 1;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_PAST_END, 1);
	theirs.remote_addr = addr + SIZE;
	theirs.length_bytes = 8;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_PAST_END, 8);
	theirs.remote_addr = addr - 1;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_PAST_END, 0);
	theirs.remote_addr = UINT64_MAX;
	theirs.length_bytes = UINT64_MAX;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_PAST_END, 0);
	theirs.remote_addr = addr;
	theirs.length_bytes = 8;
	theirs.op = VBD_OP_WRITE;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_NO_ACCESS, 0);
	theirs.op = VBD_OP_FETCH_ADD;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_GRANTED, 0);
	theirs.op = VBD_OP_SEND;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_UNJUDGED, 0);
	theirs.op = -1;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_UNJUDGED, 0);
	theirs.op = VBD_OP_READ;
	theirs.rkey += 1;
	judged(svc, listener, theirs, VBD_REPORT_MEMORY_NO_SUCH_KEY, 0);
}

/* Judges as if the device had just refused the first request of the connection. */
static struct vbd_peer_report judge_anew(
	struct svc *svc, const struct vbd_connection *connection, const struct vbd_report *theirs)
{
	connection->conn->refusal = VBD_REFUSAL_QP_STATE;
	if (connection->peer_report) {
		connection->peer_report->memory = VBD_REPORT_MEMORY_UNJUDGED;
		connection->peer_report->over_bytes = 0;
		connection->peer_report->theirs.ended = false;
	}
	assert_true(answer(svc, "10.0.0.1", theirs).known);
	return *connection->peer_report;
}

/* The device may refuse after the peer has reported: the reply to a later question is judged. */
SVC_TEST(test_reports__a_reply_is_judged_like_a_report)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_report theirs = refused_read(pair.passive, 0, 4711, 8);

	assert_true(answer(svc, "10.0.0.1", &theirs).known);
	assert_int_equal(pair.passive->peer_report->memory, VBD_REPORT_MEMORY_UNJUDGED);
	pair.passive->conn->refusal = VBD_REFUSAL_QP_STATE;
	vbd_report_take(pair.passive, &theirs);
	assert_int_equal(pair.passive->peer_report->memory, VBD_REPORT_MEMORY_NO_SUCH_KEY);
}

SVC_TEST(test_reports__a_window_is_judged_like_a_buffer)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_window_spec spec = {
		.buffer = svc_buffer(svc, "open", 2 * SIZE, VBD_ACCESS_MW_BIND),
		.connection = pair.passive,
		.range = {.type = 1,
			.offset = SIZE,
			.length_bytes = 100,
			.access = VBD_ACCESS_REMOTE_READ},
		.timeout_ms = 5000,
	};
	struct vbd_window_record *record = NULL;
	struct vbd_peer_report ours;
	struct vbd_report theirs;

	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	theirs = refused_read(pair.passive, record->addr, record->window.rkey, 100);
	ours = judge_anew(svc, pair.passive, &theirs);
	assert_int_equal(ours.memory, VBD_REPORT_MEMORY_GRANTED);
	theirs.length_bytes = 103;
	ours = judge_anew(svc, pair.passive, &theirs);
	assert_int_equal(ours.memory, VBD_REPORT_MEMORY_PAST_END);
	assert_int_equal(ours.over_bytes, 3);
	theirs.op = VBD_OP_WRITE_IMM;
	assert_int_equal(
		judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_NO_ACCESS);
	theirs.rkey++;
	assert_int_equal(
		judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_NO_SUCH_KEY);
	theirs.rkey--;
	vbd_object_delete(&record->object);
	SVC_UNTIL(svc, svc->daemon->windows_revoked == 1);
	assert_int_equal(
		judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_NO_SUCH_KEY);
}

/* An ended connection is in no domain any more, but was in that of its request. */
SVC_TEST(test_reports__memory_of_another_domain_is_not_granted)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_buffer_spec in_pd = {.size_bytes = 64, .access = VBD_ACCESS_REMOTE_READ};
	struct vbd_buffer *buffers[2] = {NULL};
	struct vbd_shared *pd = NULL;

	assert_int_equal(
		vbd_pd_request(svc->daemon, &svc->origin, "other", "", &pd, &svc->err), VBD_OK);
	for (int i = 0; i < 2; i++) {
		in_pd.pd_id = i ? pd->object.id : 0;
		assert_int_equal(
			vbd_buffer_create(svc->daemon, &in_pd, &buffers[i], &svc->err), VBD_OK);
		SVC_UNTIL(svc, buffers[i]->state == VBD_BUFFER_READY);
	}
	for (int i = 0; i < 2; i++) {
		struct vbd_connection *passive;
		struct vbd_report theirs;
		struct svc_pair pair;

		spec.params.qp.pd_id = i ? pd->object.id : 0;
		pair = svc_pair(svc, svc_listen(svc, &spec));
		passive = pair.passive;
		for (int ended = 0; ended < 2; ended++) {
			const struct vbd_qp_params asked = passive->conn->params.qp;

			/* A queue pair that lives tells its domain, whatever was asked for. */
			if (!ended)
				passive->conn->params.qp.srq_id = 7;
			if (!ended)
				passive->conn->params.qp.pd_id = 0;
			for (int j = 0; j < 2; j++) {
				theirs = refused_read(passive, (uintptr_t)buffers[j]->mem.addr,
					buffers[j]->mem.rkey, 8);
				assert_int_equal(judge_anew(svc, passive, &theirs).memory,
					i == j ? VBD_REPORT_MEMORY_GRANTED
					       : VBD_REPORT_MEMORY_OTHER_PD);
			}
			passive->conn->params.qp = asked;
			if (!ended)
				svc_close(svc, passive);
		}
		/* The domain of an SRQ is not known any more. */
		passive->conn->params.qp.pd_id = 0;
		passive->conn->params.qp.srq_id = 7;
		assert_int_equal(
			judge_anew(svc, passive, &theirs).memory, VBD_REPORT_MEMORY_GRANTED);
		passive->conn->params.qp.srq_id = 0;
		SVC_UNTIL(svc, pair.active->object.ended);
	}
}

/* The control thread does not go through all of them. */
SVC_TEST(test_reports__among_very_many_buffers_nothing_is_judged)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_report theirs = refused_read(pair.passive, 0, 4711, 8);

	for (int i = 0; i < 255; i++)
		(void)svc_buffer(svc, "", 8, VBD_ACCESS_REMOTE_READ);
	assert_int_equal(
		judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_NO_SUCH_KEY);
	for (int i = 0; i < 50; i++)
		(void)svc_buffer(svc, "", 8, VBD_ACCESS_REMOTE_READ);
	assert_int_equal(judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_UNJUDGED);
}

SVC_TEST(test_reports__the_first_verdict_stays)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_buffer *buffer = svc_buffer(svc, "open", SIZE, VBD_ACCESS_REMOTE_READ);
	uint64_t addr = (uintptr_t)buffer->mem.addr;
	struct vbd_report theirs = refused_read(pair.passive, addr, buffer->mem.rkey + 77, 8);

	assert_int_equal(
		judge_anew(svc, pair.passive, &theirs).memory, VBD_REPORT_MEMORY_NO_SUCH_KEY);
	theirs.rkey = buffer->mem.rkey;
	theirs.op = VBD_OP_WRITE;
	theirs.length_bytes = SIZE * 2;
	(void)answer(svc, "10.0.0.1", &theirs);
	assert_int_equal(verdict(pair.passive), VBD_REPORT_MEMORY_NO_SUCH_KEY);
	/* Explanations tell the request that was judged. */
	assert_int_equal(pair.passive->peer_report->theirs.rkey, buffer->mem.rkey + 77);
	assert_int_equal(pair.passive->peer_report->theirs.op, VBD_OP_READ);
	assert_int_equal(pair.passive->peer_report->theirs.length_bytes, 8);
	svc_close(svc, pair.passive);
	SVC_UNTIL(svc, pair.active->object.ended);
}

static void reply(struct vbd_pv_answer *answer, bool known, uint64_t uptime_ms)
{
	const struct vbd_report report = {.known = known, .op = -1, .uptime_ms = uptime_ms};
	struct vbd_pv_reply *next = &answer->replies[answer->reply_count++];

	next->count = VBD_REPORT_BYTES;
	vbd_report_write(&report, next->bytes);
}

SVC_TEST(test_reports__of_several_verbsd_the_one_that_knows_or_the_youngest_counts)
{
	struct vbd_pv_answer answer = {.reply_count = 0};
	struct vbd_report report = {.uptime_ms = 1};

	assert_false(vbd_report_choose(&answer, &report));
	answer.reply_count = 1; /* not a report */
	assert_false(vbd_report_choose(&answer, &report));
	reply(&answer, false, 50);
	assert_true(vbd_report_choose(&answer, &report));
	assert_int_equal(report.uptime_ms, 50);
	reply(&answer, false, 70);
	assert_true(vbd_report_choose(&answer, &report));
	assert_int_equal(report.uptime_ms, 50);
	answer.reply_count = 1;
	reply(&answer, false, 70);
	reply(&answer, false, 50);
	assert_true(vbd_report_choose(&answer, &report));
	assert_int_equal(report.uptime_ms, 50);
	reply(&answer, true, 90);
	assert_true(vbd_report_choose(&answer, &report));
	assert_int_equal(report.uptime_ms, 90);
	assert_true(report.known);
}

SVC_TEST(test_reports__a_reply_of_another_version_is_passed_over)
{
	struct vbd_pv_answer answer = {.reply_count = 0};
	struct vbd_report report;

	reply(&answer, true, 90);
	answer.replies[0].bytes[4] = 2;
	assert_false(vbd_report_choose(&answer, &report));
	reply(&answer, false, 70);
	assert_true(vbd_report_choose(&answer, &report));
	assert_int_equal(report.uptime_ms, 70);
}

SVC_TEST(test_reports__a_daemon_does_not_answer_itself_about_another_one)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct sockaddr_in peer = host("10.0.0.1");
	struct vbd_report theirs = refused_read(pair.passive, 0, 0, 0);
	struct vbd_report ours;

	/* Its other side is in the same daemon, which answers for it. */
	assert_true(answer(svc, "10.0.0.1", &theirs).known);
	/* The other side of this one was in another daemon. */
	theirs.lqpn = pair.active->conn->qp.info.lqpn;
	theirs.rqpn = pair.active->conn->qp.info.rqpn;
	vbd_peer_reports_forget(pair.passive);
	assert_false(vbd_report_answer(
		svc->daemon, (const struct sockaddr *)&peer, "fake0", &theirs, &ours));
}

static bool is_anew(const struct vbd_connection *connection, uint64_t uptime_ms)
{
	static struct vbd_facts facts; /* too large for a stack frame */
	static struct vbd_look look;

	facts = (struct vbd_facts){0};
	look = (struct vbd_look){.replied = true, .report.uptime_ms = uptime_ms};
	vbd_explain_take(connection, &look, &facts);
	assert_true(facts.peer_replied);
	assert_false(facts.peer_report.known);
	return facts.peer_anew;
}

SVC_TEST(test_reports__a_verbsd_that_is_younger_than_the_connection_was_started_anew)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	pair.active->conn->established_ns = vbd_clock_mono_ns() - 3600 * VBD_NS_PER_S;
	assert_true(is_anew(pair.active, 3599 * 1000));
	assert_false(is_anew(pair.active, 7200 * 1000));
	pair.active->conn->established_ns = 0;
	assert_false(is_anew(pair.active, 0));
}

/* The kernel gives numbers of queue pairs again, and a report of the later connection comes. */
SVC_TEST(test_reports__the_later_of_two_with_the_same_numbers_is_found)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection *before = svc_pair(svc, listener).passive;
	struct vbd_connection *after = svc_pair(svc, listener).passive;
	const struct vbd_report theirs = refused_read(before, 0, 0, 0);
	const struct vbd_qp_info own = after->conn->qp.info;

	assert_true(answer(svc, "10.0.0.1", &theirs).known);
	assert_non_null(before->peer_report);
	vbd_peer_reports_forget(after);
	after->conn->qp.info.lqpn = theirs.rqpn;
	after->conn->qp.info.rqpn = theirs.lqpn;
	vbd_peer_reports_expect(after);
	assert_true(answer(svc, "10.0.0.1", &theirs).known);
	assert_non_null(after->peer_report);
	/* The earlier one keeps what it was told. */
	assert_non_null(before->peer_report);
	vbd_peer_reports_forget(after);
	assert_null(vbd_peer_reports_find(svc->daemon, "fake0", theirs.rqpn, theirs.lqpn));
	after->conn->qp.info = own;
}

SVC_TEST(test_reports__the_next_port_serves_where_one_is_taken)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;

	svc->config.peer_reports = false;
	svc_restart(svc);
	spec.port = VBD_PV_REPORT_PORT;
	listener = svc_listen(svc, &spec);
	svc->config.peer_reports = true;
	(void)svc_pair(svc, listener);
	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
	assert_non_null(fake_id_listening(VBD_PV_REPORT_PORT + 1));
	(void)svc_pair(svc, listener);
	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
	assert_null(fake_id_listening(VBD_PV_REPORT_PORT + 2));
}

/* The peers of the run before ask there. */
SVC_TEST(test_reports__a_port_is_open_before_there_is_a_connection)
{
	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
	assert_non_null(fake_id_listening(VBD_PV_REPORT_PORT));
	(void)svc_pair(svc, svc_listen(svc, NULL));
	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
	svc_stop(svc);
	fake_device_unplug(svc->device);
	assert_true(svc_start(svc));
	assert_int_equal(svc->daemon->fabric->report_port_count, 0);
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
}

/* librdmacm may learn of a device later than verbsd. */
SVC_TEST(test_reports__a_port_that_can_not_be_opened_is_tried_again)
{
	svc_stop(svc);
	fake_device_unplug(svc->device);
	assert_true(svc_start(svc));
	svc->device = fake_device_add("fake0");
	fake_fail_next("rdma_bind_addr", ENODEV);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(svc->daemon->fabric->report_port_count, 0);
	SVC_UNTIL(svc, svc->daemon->fabric->report_port_count == 1);
	assert_non_null(fake_id_listening(VBD_PV_REPORT_PORT));
}

SVC_TEST(test_reports__the_port_goes_with_the_device)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	assert_int_equal(svc->daemon->fabric->report_port_count, 1);
	fake_device_cm_removal(svc->device);
	SVC_UNTIL(svc, pair.active->object.ended && pair.passive->object.ended);
	assert_int_equal(svc->daemon->fabric->report_port_count, 0);
	SVC_UNTIL(svc, !fake_id_listening(VBD_PV_REPORT_PORT));
}

SVC_TEST(test_reports__the_configuration_can_say_no)
{
	struct vbd_pv_question question = {0};
	struct svc_pair pair;

	svc->config.peer_reports = false;
	svc_restart(svc);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	assert_int_equal(svc->daemon->fabric->report_port_count, 0);
	assert_null(fake_id_listening(VBD_PV_REPORT_PORT));
	vbd_report_question(pair.active, false, &question);
	assert_int_equal(question.count, 0);
	assert_false(answer(svc, "10.0.0.1", &(const struct vbd_report){.lqpn = 1}).known);
	vbd_report_question(pair.active, true, &question);
	assert_int_equal(question.count, 0);
}

/* --- the stop of the daemon ------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	((struct svc *)arg)->stopped = true;
}

static void stop(struct svc *svc)
{
	vbd_daemon_stop(svc->daemon, on_stopped, svc);
	SVC_UNTIL(svc, svc->stopped);
	assert_true(vbd_daemon_is_drained(svc->daemon));
}

SVC_TEST(test_reports__a_stop_is_told_before_anybody_asks)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	stop(svc);
	assert_int_equal(fake_questions(), 2);
	for (int i = 0; i < 2; i++) {
		const struct vbd_peer_report *report =
			(i ? pair.active : pair.passive)->peer_report;

		assert_non_null(report);
		assert_true(report->theirs.known && report->theirs.ended);
		assert_false(report->theirs.failed);
		assert_int_equal(report->theirs.reason, VBD_REASON_STOPPING);
	}
	assert_false(vbd_daemon_leaves(svc->daemon));
}

SVC_TEST(test_reports__a_stop_tells_of_connections_that_are_established)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair ended = svc_pair(svc, listener);
	struct vbd_connection_spec spec = svc_spec_to(listener);

	svc_close(svc, ended.active);
	SVC_UNTIL(svc, ended.passive->object.ended);
	fake_block("rdma_connect");
	(void)svc_connect(svc, &spec);
	stop(svc);
	assert_int_equal(fake_questions(), 0);
}

SVC_TEST(test_reports__a_stop_tells_of_the_newest_connections_only)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair first = svc_pair(svc, listener), last = first;

	for (int i = 0; i < VBD_FAREWELLS_MAX / 2; i++)
		last = svc_pair(svc, listener);
	stop(svc);
	assert_int_equal(fake_questions(), VBD_FAREWELLS_MAX);
	assert_null(first.active->peer_report);
	assert_null(first.passive->peer_report);
	assert_non_null(last.active->peer_report);
}

/* The thread that asks has not ended, and librdmacm must stay as it is. */
SVC_TEST(test_reports__a_peer_that_is_silent_does_not_hold_the_stop)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	fake_peers_mute(true);
	stop(svc);
	assert_int_equal(fake_questions(), 2);
	assert_null(pair.active->peer_report);
	assert_true(vbd_daemon_leaves(svc->daemon));
}

SVC_TEST(test_reports__a_stop_without_time_tells_nothing)
{
	svc->config.shutdown_timeout_ms = 7;
	svc_restart(svc);
	(void)svc_pair(svc, svc_listen(svc, NULL));
	fake_peers_mute(true);
	vbd_daemon_stop(svc->daemon, on_stopped, svc);
	SVC_UNTIL(svc, svc->stopped);
	assert_int_equal(fake_questions(), 0);
}
